//===- PipelinePartitioning.cpp - a training step cut into stages ---------===//

#include "passes/pipeline/DecodeStages.h"
#include "passes/pipeline/Generators.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/Simulator.h"
#include "passes/pipeline/StageBuilder.h"
#include "passes/pipeline/StageCosts.h"

#include "dialects/Dist/Placement.h"
#include "dialects/Dist/Prediction.h"

#include "llvm/Support/FormatVariadic.h"

namespace baton::pipeline {
#define GEN_PASS_DEF_PIPELINEPARTITIONING
#include "passes/pipeline/Passes.h.inc"
} // namespace baton::pipeline

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::pipeline;

//===----------------------------------------------------------------------===//
// All positions
//===----------------------------------------------------------------------===//

namespace {

/// A program on its way.
class Partition {
public:
  Partition(ProgramOp program, Schedule schedule, StringRef axis,
            ArrayRef<int64_t> layers)
      : program(program), schedule(std::move(schedule)), axis(axis),
        layers(layers), layout(program), builder(program.getContext()) {}

  LogicalResult run();
  void explain();
  /// Notes on the schedule which part of a step stages idle, if products take
  /// all of its time.
  void predict();

  SmallVector<StageOp> stages;

private:
  int64_t firstLayerAt(int position) const;
  void writeSchedule();
  void writeStages();
  void writeSums();

  ProgramOp program;
  Schedule schedule;
  StringRef axis;
  ArrayRef<int64_t> layers;
  Layout layout;
  OpBuilder builder;
};

} // namespace

/// Of the first stack there; 0 without one.
int64_t Partition::firstLayerAt(int position) const {
  for (Operation *op : layout.phase(PhaseKind::forward))
    if (auto stack = dyn_cast<StackOp>(op)) {
      Segment segment = layout.segmentOf(stack, position);
      if (segment.size())
        return stack.getFirstLayer() +
               segment.begin * stack.getLayersPerIteration();
    }
  return 0;
}

void Partition::writeSchedule() {
  SmallVector<Attribute> tables;
  for (const Table &table : schedule.tables)
    tables.push_back(builder.getStringAttr(toText(table)));
  builder.create<ScheduleOp>(
      program.getLoc(), schedule.name, axis, schedule.microbatches,
      schedule.chunks, schedule.fused,
      SmallVector<int64_t>(schedule.inFlight.begin(), schedule.inFlight.end()),
      builder.getArrayAttr(tables));
}

/// Whether two stages do the same.
static bool areEqual(StageOp a, StageOp b) {
  return a.getResultTypes() == b.getResultTypes() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// Layers of each position count from its first one, until it is known which
/// positions are alike.
void Partition::writeStages() {
  Operation *terminator = program.getBody().front().getTerminator();
  std::vector<SmallVector<int64_t>> positions, offsets;
  for (int position = 0; position < schedule.countPositions(); ++position) {
    SmallVector<Type> losses;
    SmallVector<Attribute> placements;
    for (Value loss : terminator->getOperands())
      if (layout.positionOf(loss.getDefiningOp()) == position) {
        losses.push_back(loss.getType());
        placements.push_back(placementOf(loss));
      }
    int64_t firstLayer = firstLayerAt(position);
    auto stage = builder.create<StageOp>(program.getLoc(), losses,
                                         ArrayRef<int64_t>(position),
                                         ArrayRef<int64_t>(0));
    if (placements != SmallVector<Attribute>(
                          losses.size(), replicated(program.getContext(), 1)))
      stage->setAttr(kPlacements, builder.getArrayAttr(placements));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&stage.getBody().emplaceBlock());
      StageBuilder(layout, program, position, schedule.countPositions(),
                   schedule.fused, firstLayer, builder)
          .build();
    }
    size_t same = 0;
    while (same < stages.size() && (offsets[same].front() > firstLayer ||
                                    !areEqual(stages[same], stage)))
      ++same;
    if (same == stages.size()) {
      stages.push_back(stage);
      positions.emplace_back();
      offsets.emplace_back();
    } else {
      stage.erase();
    }
    positions[same].push_back(position);
    offsets[same].push_back(firstLayer);
  }
  for (auto [stage, at, firstLayers] : llvm::zip(stages, positions, offsets)) {
    int64_t first = firstLayers.front();
    stage.walk([&](StackOp stack) {
      stack.setFirstLayer(stack.getFirstLayer() + first);
    });
    for (int64_t &layer : firstLayers)
      layer -= first;
    stage.setPositions(at);
    stage.setOffsets(firstLayers);
  }
}

/// "a.{layer+1}.b" of a layer.
static std::string nameOf(StringRef name, int64_t layer) {
  std::string text;
  while (true) {
    auto [before, rest] = name.split("{layer");
    text += before;
    if (before.size() == name.size())
      return text;
    auto [more, after] = rest.split("}");
    int64_t add = 0;
    more.drop_front(more.starts_with("+")).getAsInteger(10, add);
    text += std::to_string(layer + add);
    name = after;
  }
}

/// Parameters to whose gradient several stages contribute.
void Partition::writeSums() {
  struct Shared {
    ParameterOp parameter;
    llvm::SmallSetVector<int64_t, 4> stages;
  };
  // By all that says which part of which tensor it is.
  llvm::MapVector<Attribute, Shared> found;
  auto add = [&](ParameterOp parameter, int64_t layer, int64_t stage) {
    SmallVector<Attribute> sources;
    for (auto source : parameter.getSources().getAsRange<StringAttr>())
      sources.push_back(
          builder.getStringAttr(nameOf(source.getValue(), layer)));
    NamedAttrList attributes(parameter->getAttrDictionary());
    attributes.set(parameter.getSourcesAttrName(),
                   builder.getArrayAttr(sources));
    Shared &shared = found[attributes.getDictionary(builder.getContext())];
    shared.parameter = parameter;
    shared.stages.insert(stage);
  };
  for (StageOp op : stages)
    op.walk([&](GradientOp gradient) {
      auto parameter = gradient.getParameter().getDefiningOp<ParameterOp>();
      auto stack = dyn_cast<StackOp>(gradient->getParentOp());
      for (auto [position, offset] :
           llvm::zip(op.getPositions(), op.getOffsets())) {
        int64_t stage = schedule.stageOf(int(position));
        for (int64_t i = 0; i < (stack ? int64_t(stack.getRepeat()) : 1); ++i)
          add(parameter,
              stack ? int64_t(stack.getFirstLayer()) + offset +
                          i * int64_t(stack.getLayersPerIteration())
                    : 0,
              stage);
      }
    });
  for (auto &[attributes, shared] : found) {
    if (shared.stages.size() < 2)
      continue;
    auto parameter =
        cast<ParameterOp>(builder.clone(*shared.parameter.getOperation()));
    parameter.setSourcesAttr(cast<ArrayAttr>(
        cast<DictionaryAttr>(attributes).get(parameter.getSourcesAttrName())));
    SmallVector<int64_t> over = shared.stages.takeVector();
    llvm::sort(over);
    auto type = cast<StepTensorType>(parameter.getType());
    builder.create<SumGradientsOp>(
        parameter.getLoc(), parameter, over,
        countBytes(type.withElementType(builder.getF32Type()),
                   placementOf(parameter), findMesh(program)));
  }
}

LogicalResult Partition::run() {
  if (failed(layout.analyze()) ||
      failed(layout.cut(schedule.countPositions(), layers)))
    return failure();
  Block &block = program.getBody().front();
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    old.push_back(&op);
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  writeSchedule();
  writeStages();
  writeSums();
  for (StageOp stage : stages)
    if (stage.getNumResults())
      terminator->setOperands(stage.getResults());
  for (Operation *op : llvm::reverse(old))
    op->erase();
  return success();
}

/// What the products of each position cost.
static PipelineCosts productsOf(ArrayRef<StageOp> stages,
                                const Schedule &schedule) {
  PipelineCosts products;
  products.positions.resize(schedule.countPositions());
  for (StageOp stage : stages) {
    PositionCosts costs = costsOf(stage);
    for (int64_t position : stage.getPositions())
      products.positions[position] = costs;
  }
  return products;
}

void Partition::predict() {
  double bubble = simulate(schedule, productsOf(stages, schedule)).bubble;
  findSchedule(program)->setAttr(kBubble, builder.getF64FloatAttr(bubble));
}

/// A remark for each position: its layers, and its part of all work; and one
/// for what the schedule makes of these.
void Partition::explain() {
  double all = 0;
  std::vector<std::pair<StageOp, double>> work(schedule.countPositions());
  PipelineCosts products = productsOf(stages, schedule);
  for (StageOp stage : stages)
    for (int64_t position : stage.getPositions()) {
      const PositionCosts &costs = products.positions[position];
      work[position] = {stage, costs.forward + costs.input + costs.weight};
      all += work[position].second;
    }
  for (auto [position, entry] : llvm::enumerate(work)) {
    auto [stage, flops] = entry;
    auto remark = emitRemark(program.getLoc());
    remark << "position " << position << ":";
    size_t index = llvm::find(stage.getPositions(), int64_t(position)) -
                   stage.getPositions().begin();
    for (auto stack : stage.getBody().getOps<StackOp>()) {
      if (stack.getReverse())
        continue;
      int64_t first = stack.getFirstLayer() + stage.getOffsets()[index];
      int64_t layers = stack.getRepeat() * stack.getLayersPerIteration();
      remark << " layers " << first << " to " << first + layers - 1 << ",";
    }
    remark << llvm::formatv(" {0:F1} % of the products",
                            all > 0 ? 100 * flops / all : 0)
                  .str();
  }
  Timeline timeline = simulate(schedule, products);
  auto most = llvm::max_element(timeline.peakActivations);
  emitRemark(program.getLoc())
      << "schedule '" << schedule.name << "': stages idle "
      << llvm::formatv("{0:F1}", 100 * timeline.bubble).str()
      << " % of a step if products take all of its time; stage "
      << most - timeline.peakActivations.begin()
      << " keeps the most between phases, "
      << llvm::formatv("{0:F0}", *most).str()
      << " bytes for each row of a microbatch";
}

namespace {
struct PipelinePartitioning
    : pipeline::impl::PipelinePartitioningBase<PipelinePartitioning> {
  using PipelinePartitioningBase::PipelinePartitioningBase;

  /// Whether nothing lies sharded over the axis yet.
  LogicalResult checkAxis(ProgramOp program, StringAttr name) {
    WalkResult result = program->walk([&](Operation *op) {
      bool used = false;
      op->getAttrDictionary().walk([&](PlacementAttr placement) {
        used |= llvm::is_contained(placement.getPartialAxes(), name);
        for (DimensionAttr dimension : placement.getDimensions())
          used |= llvm::is_contained(dimension.getAxes(), name);
      });
      if (!used)
        return WalkResult::advance();
      op->emitOpError() << "lies sharded over " << name
                        << ", whose ranks are to be stages";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Whether weight phases have what is to wait.
  LogicalResult checkForm(ProgramOp program, const Schedule &schedule) {
    if (schedule.fused)
      return success();
    WalkResult result = program.walk([&](GradientOp gradient) {
      auto stack = dyn_cast<StackOp>(gradient->getParentOp());
      if (!stack || !stack.getNumResults())
        return WalkResult::advance();
      gradient.emitOpError()
          << "stands among gradients of inputs; schedule '" << schedule.name
          << "' wants them apart: differentiate=split";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = findMesh(module);
    auto name = StringAttr::get(&getContext(), axis);
    if (!mesh || !mesh.getSize(name)) {
      module.emitError() << "no dist.mesh of the module has an axis " << name
                         << " for stages";
      return signalPassFailure();
    }
    std::string error;
    std::optional<Schedule> made =
        makeSchedule(schedule, int(mesh.getSize(name)), microbatches, error);
    if (!made) {
      module.emitError() << error;
      return signalPassFailure();
    }
    for (auto program :
         llvm::make_early_inc_range(module.getOps<ProgramOp>())) {
      if (!program.getTraining()) {
        FailureOr<SmallVector<ProgramOp>> parts = failure();
        if (succeeded(checkAxis(program, name)))
          parts = cutDecoding(program, {name, mesh.getSize(name)}, layers);
        if (failed(parts))
          return signalPassFailure();
        numStages += parts->size();
        for (ProgramOp part : *parts)
          numMessages += llvm::range_size(part.getOps<SendOp>());
        continue;
      }
      if (findSchedule(program)) {
        program.emitOpError() << "has stages already";
        return signalPassFailure();
      }
      Partition partition(program, *made, axis, layers);
      if (failed(checkAxis(program, name)) ||
          failed(checkForm(program, *made)) || failed(partition.run()))
        return signalPassFailure();
      partition.predict();
      if (explain)
        partition.explain();
      numStages += partition.stages.size();
      program.walk([&](SendOp) { ++numMessages; });
    }
  }
};
} // namespace

//===- StagePrograms.cpp - programs for the stages of a pipeline ----------===//

#include "passes/stages/StagePrograms.h"

#include "passes/collectives/RankSums.h"
#include "passes/collectives/StepSums.h"
#include "passes/tiling/Places.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/updates/Updates.h"

#include "dialects/Dist/Prediction.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using event::ExchangeKind;
using event::MessageDirection;
using event::MessagePeer;

/// What ranks give one another has a cache line at least.
static constexpr int64_t kLine = 16;

static model::ParameterOp parameterOf(model::GradientOp gradient) {
  return gradient.getParameter().getDefiningOp<model::ParameterOp>();
}

static constexpr StringLiteral kActivations = "activations",
                               kGradients = "gradients",
                               kShared = "shared gradients";

//===----------------------------------------------------------------------===//
// One program
//===----------------------------------------------------------------------===//

/// A program that is being made.
class StagePrograms::Plan {
public:
  /// `stage` is null for a program of all ranks.
  Plan(StagePrograms &owner, event::ProgramOp program, dist::StageOp stage)
      : owner(owner), plan(program, owner.sizes), tiler(plan) {
    plan.isTraining = true;
    // All programs of a rank call this alike.
    for (StringRef name : {"summary", "losses", "norms", "places"}) {
      plan.reserve(name);
      plan.reserve((name + "_memory").str());
    }
    plan.beginSegment("begin", 1, owner.model.getLoc());
    tiler.places = &places.emplace(plan, owner.model, owner.mesh, "places");
    tiler.sums = &sums.emplace(tiler, owner.mesh, *places);
    training.emplace(tiler, owner.model, &owner.names, stage);
    tiler.training = &*training;
    // Phases exchange what ranks then keep only parts of.
    training->rankSums->only(RankSums::Sums::Kept);
    summary = slotted(
        "summary",
        vector(1, Training::summarySize(Training::countLosses(owner.model))),
        "summary");
    summary.buffer.setCarry(event::Carry::renewed);
  }

  /// Of a stage, what is there of it is `part`; else it is all ranks'.
  static FailureOr<std::unique_ptr<Plan>>
  begin(StagePrograms &owner, StringRef part,
        std::optional<unsigned> stage = {}) {
    std::string name =
        ((stage ? "stage" + std::to_string(*stage) + "." : "") + part).str();
    FailureOr<event::ProgramOp> program = owner.create(name);
    if (failed(program))
      return failure();
    Builder builder(program->getContext());
    (*program)->setAttr("event.part", builder.getStringAttr(part));
    if (stage)
      (*program)->setAttr("event.stage", builder.getI64IntegerAttr(*stage));
    return std::make_unique<Plan>(
        owner, *program, stage ? owner.stages[*stage] : dist::StageOp());
  }
  LogicalResult end() { return owner.finish(plan); }

  Location location() const { return owner.model.getLoc(); }
  model::StepTensorType vector(int64_t rows, int64_t columns) {
    return model::StepTensorType::get(plan.context(), {rows, columns},
                                      Float32Type::get(plan.context()));
  }
  DictionaryAttr describe(StringRef role, StringRef slot) {
    Builder builder(plan.context());
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("role", builder.getStringAttr(role))};
    if (!slot.empty())
      entries.push_back(
          builder.getNamedAttr("slot", builder.getStringAttr(slot)));
    return builder.getDictionaryAttr(entries);
  }
  /// A persistent buffer in a storage, both of reserved names.
  View slotted(StringRef name, model::StepTensorType type, StringRef role,
               StringRef slot = {}) {
    int64_t bytes = 4;
    for (int64_t extent : type.getShape())
      bytes *= extent;
    StringAttr storage =
        plan.storage((name + "_memory").str(), bytes, location(),
                     /*isReserved=*/true);
    return plan.persistent(name, type, 1, storage, describe(role, slot),
                           location());
  }
  View keep(StringRef name, Value value, int64_t layers = 1) {
    return plan.kept(
        plan.uniqueName(name), cast<model::StepTensorType>(value.getType()),
        layers, describe("kept", "flight"), value.getLoc(), isOfPlaces(value));
  }
  void message(MessageDirection direction, ArrayRef<View> tensors,
               MessagePeer peer, StringRef channel) {
    std::string name = (event::stringifyMessageDirection(direction) + "." +
                        StringRef(channel).split(' ').first)
                           .str();
    plan.phase(plan.uniqueName(name), location(), {plan.constant(1)}, {1})
        .message(direction, tensors, peer, owner.schedule.getAxisAttr(),
                 channel);
  }
  void bindSaved(const Part &part, const Kept &kept);
  SmallVector<std::pair<Value, View>> bindKept(const Part &part,
                                               const Kept &kept);
  LogicalResult receive(ArrayRef<dist::ReceiveOp> receives, MessagePeer from,
                        StringRef channel);
  LogicalResult send(ArrayRef<dist::SendOp> sends, MessagePeer to,
                     StringRef channel);
  void sumLosses(Value loss);
  /// Gradients of the stage's parameters, as its other programs leave them.
  SmallVector<std::pair<model::GradientOp, Trainable *>>
  gradientsOf(dist::StageOp op) {
    SmallVector<std::pair<model::GradientOp, Trainable *>> result;
    op.walk([&](model::GradientOp gradient) {
      tiler.stack = gradient->getParentOfType<model::StackOp>();
      Trainable &trainable = training->trainable(gradient.getParameter());
      trainable.hasGradient = true;
      result.push_back({gradient, &trainable});
    });
    tiler.stack = {};
    return result;
  }
  /// Hands the stage's gradients, which are complete, to the sums over ranks.
  LogicalResult contribute(dist::StageOp op, RankSums::Sums which) {
    RankSums &rankSums = *training->rankSums;
    rankSums.only(which);
    auto gradients = gradientsOf(op);
    for (bool inStacks : {true, false}) {
      model::StackOp stack;
      if (!inStacks)
        plan.beginSegment(plan.uniqueName("gradients"), 1, location());
      for (auto [gradient, trainable] : gradients) {
        auto own = gradient->getParentOfType<model::StackOp>();
        if (bool(own) != inStacks)
          continue;
        if (own != stack) {
          rankSums.flush();
          plan.beginSegment(plan.uniqueName("gradients"), own.getRepeat(),
                            own.getLoc(), own.getReverse());
          tiler.stack = stack = own;
        }
        if (failed(rankSums.contributed(gradient, *trainable)))
          return failure();
      }
      rankSums.flush();
      tiler.stack = {};
    }
    return success();
  }
  /// [1, kLine]: the sum of `count` numbers, `stride` apart, and zeros; in
  /// steps of so many tasks.
  void sum(const View &out, const View &numbers, int64_t stride, int64_t count,
           AffineExpr tasks) {
    PhaseBuilder phase =
        plan.phase(plan.uniqueName(numbers.buffer.getSymName().str() + ".sum"),
                   location(), {tasks}, {1});
    Box all = phase.whole(numbers);
    phase.writes(out, phase.whole(out));
    phase.reads(numbers, all);
    phase.call("sum_numbers",
               {phase.address(out, phase.whole(out)), phase.integer(kLine),
                phase.address(numbers, all), phase.integer(stride),
                phase.integer(count)});
  }
  /// What every rank along some axes has: [ranks, kLine].
  View gather(const View &own, ArrayRef<StringRef> axes, StringRef purpose) {
    Builder builder(plan.context());
    SmallVector<StringAttr> names;
    for (StringRef axis : axes)
      names.push_back(builder.getStringAttr(axis));
    int64_t ranks = owner.mesh.countRanks(names);
    View all =
        plan.received((purpose + ".ranks").str(), ranks, kLine, 1, location());
    PhaseBuilder phase =
        plan.phase(plan.uniqueName((purpose + ".gather").str()), location(),
                   {plan.constant(1)}, {1});
    phase.reads(own, phase.whole(own));
    phase.writes(all, phase.whole(all));
    phase.exchange(ExchangeKind::all_gather, builder.getStrArrayAttr(axes),
                   purpose, phase.transfer(own, all, ranks * kLine, kLine));
    return all;
  }

  StagePrograms &owner;
  PlanBuilder plan;
  Tiler tiler;
  std::optional<RankPlaces> places;
  std::optional<StepSums> sums;
  std::optional<Training> training;
  /// What all programs hand to the runtime, and one writes.
  View summary;
};

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

StagePrograms::StagePrograms(model::ProgramOp model, const TileSizes &sizes,
                             Create create, Finish finish)
    : model(model),
      schedule(*model.getBody().getOps<dist::ScheduleOp>().begin()),
      mesh(dist::findMesh(model)), sizes(sizes), create(std::move(create)),
      finish(std::move(finish)),
      stages(model.getBody().getOps<dist::StageOp>()) {}

/// In the order of positions, as they come.
void StagePrograms::nameParameters() {
  SmallVector<std::pair<int64_t, dist::StageOp>> order;
  for (dist::StageOp stage : stages)
    order.push_back({stage.getPositions().front(), stage});
  llvm::sort(order, llvm::less_first());
  for (auto &[position, stage] : order)
    stage.walk<WalkOrder::PreOrder>([&](model::ParameterOp parameter) {
      names.add(keyOf(parameter), parameter);
    });
}

/// The places of the first position and of the last one are neighbours, and no
/// others can be.
LogicalResult StagePrograms::checkShared() {
  int64_t last = schedule.countPositions() - 1;
  SmallVector<int64_t> ends = {0, schedule.countStages() - 1};
  for (auto sum : model.getBody().getOps<dist::SumGradientsOp>()) {
    Attribute key =
        keyOf(sum.getParameter().getDefiningOp<model::ParameterOp>());
    bool fits = ArrayRef<int64_t>(sum.getStages()) == ArrayRef(ends);
    unsigned found = 0;
    for (dist::StageOp stage : stages)
      stage.walk([&](model::GradientOp gradient) {
        if (keyOf(parameterOf(gradient)) == key && ++found)
          fits &= !gradient->getParentOfType<model::StackOp>() &&
                  (stage.getPositions() == ArrayRef<int64_t>(0) ||
                   stage.getPositions() == ArrayRef<int64_t>(last));
      });
    if (!fits || found < 2)
      return sum.emitOpError()
             << "cannot be tiled: so far only the first position and the last "
                "one add up a gradient";
    shared.push_back(key);
  }
  return success();
}

SmallVector<StagePrograms::Part> StagePrograms::partsOf(dist::StageOp stage) {
  SmallVector<Part> parts;
  for (Operation &op : stage.getBody().front()) {
    if (auto phase = dyn_cast<dist::PhaseOp>(op)) {
      bool joins =
          schedule.getFused() && phase.getPhase() == dist::PhaseKind::weight;
      if (!joins)
        parts.push_back({dist::stringifyPhaseKind(phase.getPhase()), {}});
      if (joins)
        parts.back().name = "backward";
      continue;
    }
    if (!isa<dist::StageEndOp>(op))
      parts.back().ops.push_back(&op);
  }
  return parts;
}

FailureOr<StagePrograms::Kept>
StagePrograms::keptBetween(dist::StageOp stage, ArrayRef<Part> parts) {
  Kept kept;
  llvm::DenseMap<Operation *, size_t> place;
  llvm::DenseMap<StringAttr, std::pair<size_t, model::SaveOp>> saves;
  llvm::DenseMap<Attribute, size_t> contributed;
  Operation *wrong = nullptr;
  for (auto [index, part] : llvm::enumerate(parts))
    for (Operation *op : part.ops) {
      place[op] = index;
      op->walk([&, index = index](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          auto maker = place.find(operand.getDefiningOp());
          if (maker != place.end() && maker->second != index &&
              !kept.values.count(operand))
            kept.values[operand] =
                "kept." + std::to_string(kept.values.size() + 1);
        }
        if (auto save = dyn_cast<model::SaveOp>(inner))
          saves[save.getNameAttr()] = {index, save};
        if (auto saved = dyn_cast<model::SavedOp>(inner)) {
          auto [from, save] = saves.lookup(saved.getNameAttr());
          if (save && from != index)
            kept.saved[saved.getNameAttr()] = save;
        }
        if (auto gradient = dyn_cast<model::GradientOp>(inner)) {
          auto [first, isNew] =
              contributed.try_emplace(keyOf(parameterOf(gradient)), index);
          if (!isNew && first->second != index)
            wrong = gradient;
        }
      });
    }
  if (wrong)
    return wrong->emitOpError() << "cannot be tiled: two phases of a stage add "
                                   "to the gradient of one parameter";
  return kept;
}

//===----------------------------------------------------------------------===//
// A microbatch's phases
//===----------------------------------------------------------------------===//

bool tasks::isPlain(const View &view) {
  ArrayRef<int64_t> shape = view.type.getShape(),
                    capacity = view.buffer.getCapacity();
  MLIRContext *context = view.map.getContext();
  AffineExpr column = getAffineConstantExpr(0, context);
  int64_t width = 1;
  for (auto [i, extent] : llvm::enumerate(shape.drop_front())) {
    if (model::isSymbol(extent))
      return false;
    column = column * extent + getAffineDimExpr(i + 1, context);
    width *= extent;
  }
  SmallVector<AffineExpr> index = {getAffineDimExpr(0, context)};
  if (shape.size() > 1)
    index.push_back(column);
  return capacity.size() == index.size() &&
         (index.size() == 1 || capacity[1] == width) &&
         view.buffer.getLayers() == 1 &&
         simplifyAffineMap(view.map) ==
             simplifyAffineMap(AffineMap::get(shape.size(), event::kStepSymbols,
                                              index, context));
}

namespace {
/// What the ops of a part are beside what is computed.
struct Traffic {
  SmallVector<Operation *> computed;
  SmallVector<dist::ReceiveOp> receives;
  SmallVector<dist::SendOp> sends;

  explicit Traffic(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      if (auto receive = dyn_cast<dist::ReceiveOp>(op))
        receives.push_back(receive);
      else if (auto send = dyn_cast<dist::SendOp>(op))
        sends.push_back(send);
      else
        computed.push_back(op);
  }
};
} // namespace

/// What other parts' stacks save for those here, or these for them.
void StagePrograms::Plan::bindSaved(const Part &part, const Kept &kept) {
  llvm::DenseSet<StringAttr> named;
  for (Operation *op : part.ops)
    op->walk([&](Operation *inner) {
      if (auto save = dyn_cast<model::SaveOp>(inner))
        named.insert(save.getNameAttr());
      if (auto from = dyn_cast<model::SavedOp>(inner))
        named.insert(from.getNameAttr());
    });
  for (const auto &[name, save] : kept.saved)
    if (named.contains(name)) {
      model::SaveOp op = save;
      training->saved[name] =
          keep("kept." + name.str(), op.getX(),
               op->getParentOfType<model::StackOp>().getRepeat());
    }
}

/// Views of values that are kept and that the part has to do with. Returns
/// those of values that are made here, and have to be there at its end.
SmallVector<std::pair<Value, View>>
StagePrograms::Plan::bindKept(const Part &part, const Kept &kept) {
  llvm::SmallPtrSet<Operation *, 32> here(part.ops.begin(), part.ops.end());
  llvm::DenseSet<Value> read;
  for (Operation *op : part.ops)
    op->walk([&](Operation *inner) {
      read.insert(inner->operand_begin(), inner->operand_end());
    });
  SmallVector<std::pair<Value, View>> results;
  for (const auto &[value, name] : kept.values) {
    Operation *maker = Value(value).getDefiningOp();
    bool isMade = here.contains(maker);
    if (!isMade && !read.contains(value))
      continue;
    View view = keep(name, value);
    if (!isMade || isa<dist::ReceiveOp>(maker))
      tiler.views[value] = view;
    else
      results.push_back({value, view});
    if (isMade && !isViewOp(maker) &&
        !isa<dist::ReceiveOp, model::StackOp>(maker))
      tiler.destinations.try_emplace(value, view);
  }
  return results;
}

LogicalResult StagePrograms::Plan::receive(ArrayRef<dist::ReceiveOp> receives,
                                           MessagePeer from,
                                           StringRef channel) {
  SmallVector<View> received;
  for (dist::ReceiveOp receive : receives) {
    View &view = tiler.views[receive.getResult()];
    if (!view.buffer)
      view = plan.transient(
          plan.uniqueName("received"),
          cast<model::StepTensorType>(receive.getResult().getType()),
          receive.getLoc());
    if (!isPlain(view))
      return receive.emitOpError()
             << "cannot be tiled: its rows are not all of one length";
    received.push_back(view);
  }
  if (!received.empty())
    message(MessageDirection::receive, received, from, channel);
  return success();
}

LogicalResult StagePrograms::Plan::send(ArrayRef<dist::SendOp> sends,
                                        MessagePeer to, StringRef channel) {
  SmallVector<View> sent;
  for (dist::SendOp send : sends) {
    View view = tiler.viewOf(send.getX());
    if (!isPlain(view)) {
      View copy =
          plan.transient(plan.uniqueName("sent"), view.type, send.getLoc());
      if (!isPlain(copy))
        return send.emitOpError()
               << "cannot be tiled: its rows are not all of one length";
      if (failed(
              tileCopy(send, plan.uniqueName("send.copy"), view, copy, tiler)))
        return failure();
      view = copy;
    }
    sent.push_back(view);
  }
  if (!sent.empty())
    message(MessageDirection::send, sent, to, channel);
  return success();
}

/// The sum of a microbatch's losses, one a row.
void StagePrograms::Plan::sumLosses(Value loss) {
  View sum = slotted("losses", vector(1, kLine), "loss", "microbatch");
  sum.buffer.setCarry(event::Carry::renewed);
  PhaseBuilder phase = plan.phase(plan.uniqueName("loss.sum"), loss.getLoc(),
                                  {plan.constant(1)}, {1});
  sumColumns(phase, tiler.viewOf(loss), phase.count(plan.extent(model::kRows)),
             sum, kLine);
}

LogicalResult StagePrograms::addPart(dist::StageOp stage, unsigned number,
                                     const Part &part, const Kept &kept) {
  auto begun = Plan::begin(*this, part.name, number);
  if (failed(begun))
    return failure();
  Plan &program = **begun;
  Tiler &tiler = program.tiler;
  program.bindSaved(part, kept);
  auto results = program.bindKept(part, kept);

  bool isForward =
      part.name == dist::stringifyPhaseKind(dist::PhaseKind::forward);
  StringRef channel = isForward ? kActivations : kGradients;
  MessagePeer from = isForward ? MessagePeer::previous : MessagePeer::next,
              to = isForward ? MessagePeer::next : MessagePeer::previous;
  Traffic traffic(part.ops);
  if (failed(program.receive(traffic.receives, from, channel)))
    return failure();
  tiler.sums->begin(traffic.computed);
  program.training->rankSums->gatherParameters(traffic.computed);
  if (failed(tileOps(traffic.computed, tiler)))
    return failure();
  // What stacks share, and what stands outside of them.
  for (int times = 0; times < 2; ++times)
    program.training->rankSums->flush();
  for (auto &[value, view] : results)
    if (View made = tiler.viewOf(value); made.buffer != view.buffer)
      if (failed(tileCopy(value.getDefiningOp(),
                          program.plan.uniqueName("keep"), made, view, tiler)))
        return failure();
  if (failed(program.send(traffic.sends, to, channel)))
    return failure();
  if (isForward && stage.getNumResults())
    program.sumLosses(stage.getBody().front().getTerminator()->getOperand(0));
  program.training->advance(program.summary, program.location());
  return program.end();
}

//===----------------------------------------------------------------------===//
// The end of a step
//===----------------------------------------------------------------------===//

/// Sums of gradients that the first position has, and the last one, too.
void StagePrograms::addShared(dist::StageOp stage, Plan &program) {
  bool isFirst = stage.getPositions().front() == 0;
  PlanBuilder &plan = program.plan;
  llvm::DenseSet<Attribute> added;
  for (auto [gradient, trainable] : program.gradientsOf(stage)) {
    Attribute key = keyOf(parameterOf(gradient));
    if (!llvm::is_contained(shared, key) || !added.insert(key).second)
      continue;
    // Both have the same sum then.
    trainable->isCounted = isFirst;
    MessagePeer peer = isFirst ? MessagePeer::previous : MessagePeer::next;
    // Of what ranks have parts of, parts are exchanged.
    const Shard *shard = trainable->shard;
    ArrayRef<int64_t> shape = trainable->gradient.type.getShape();
    int64_t rows = shape.size() == 2 ? shape[0] : 1, columns = shape.back();
    StringAttr memory = trainable->gradientStorage;
    if (shard) {
      rows = shard->count;
      columns = shard->blocks.size;
      memory = View(shard->gradient).buffer.getStorageAttr().getAttr();
    }
    View flat = plan.persistent(plan.uniqueName(trainable->name + ".shared"),
                                program.vector(rows, columns), 1, memory,
                                DictionaryAttr(), trainable->location);
    // Behind the rank's weights.
    if (shard && !shard->parts.gradient)
      flat.buffer.setOffset(shard->part());
    View other =
        plan.transient(plan.uniqueName(trainable->name + ".received"),
                       program.vector(rows, columns), trainable->location);
    program.message(MessageDirection::send, {flat}, peer, kShared);
    program.message(MessageDirection::receive, {other}, peer, kShared);
    int64_t size = std::max<int64_t>(1, kTileElements / columns),
            tiles = ceilDiv(rows, size);
    PhaseBuilder phase = plan.phase(
        plan.uniqueName(trainable->name + ".add_shared"), trainable->location,
        {plan.symbol(event::kOutputs) * tiles}, {tiles});
    Box in = rowsOfTask(phase, flat, size);
    phase.reads(flat, in);
    phase.reads(other, in);
    phase.writes(flat, in);
    phase.call("add", {phase.address(flat, in), phase.stride(flat, 0),
                       phase.address(flat, in), phase.stride(flat, 0),
                       phase.address(other, in), phase.stride(other, 0),
                       countOf(phase, 0, size, rows), phase.integer(columns)});
  }
}

LogicalResult StagePrograms::addNorm(dist::StageOp stage, unsigned number) {
  auto begun = Plan::begin(*this, "norm", number);
  if (failed(begun))
    return failure();
  Plan &program = **begun;
  PlanBuilder &plan = program.plan;
  Training &training = *program.training;
  // Of ranks with other sequences first: all of a position have the same then.
  if (failed(program.contribute(stage, RankSums::Sums::AtEnd)))
    return failure();
  training.rankSums->finish(program.location());
  plan.beginSegment("norm", 1, program.location());
  addShared(stage, program);
  View partials = training.squares(program.location());
  View own =
      program.slotted("norms", program.vector(1, kLine), "norm", "chunk");
  program.sum(own, partials, 1, partials.type.getDimension(1),
              plan.symbol(event::kOutputs));
  training.advance(program.summary, program.location());
  return program.end();
}

LogicalResult StagePrograms::addUpdate(dist::StageOp stage, unsigned number) {
  auto begun = Plan::begin(*this, "update", number);
  if (failed(begun))
    return failure();
  Plan &program = **begun;
  if (failed(program.contribute(stage, RankSums::Sums::AreThere)))
    return failure();
  program.training->rankSums->flush();
  program.plan.beginSegment("update", 1, program.location());
  auto rules = program.training->rules(program.location());
  if (failed(rules) || failed(program.training->update(*rules, program.summary,
                                                       program.location())))
    return failure();
  program.training->advance(program.summary, program.location());
  return program.end();
}

/// Sums over all microbatches, stages and parts of the batch, in their order.
LogicalResult StagePrograms::addAgreement() {
  auto begun = Plan::begin(*this, "agreement");
  if (failed(begun))
    return failure();
  Plan &program = **begun;
  PlanBuilder &plan = program.plan;
  int64_t microbatches = schedule.getMicrobatches(),
          chunks = schedule.getChunks();
  View losses =
      program.slotted("losses", program.vector(microbatches, kLine), "loss");
  // Where no program of the rank's computes any, it holds the zeros that it
  // began with.
  losses.buffer.setCarry(event::Carry::renewed);
  View norms = program.slotted("norms", program.vector(chunks, kLine), "norm");
  View loss = plan.received("loss.own", 1, kLine, 1, program.location()),
       norm = plan.received("norm.own", 1, kLine, 1, program.location());
  // Who has no loss has zeros.
  View columns = losses;
  columns.type =
      losses.type.withShape({microbatches, Training::countLosses(model)});
  {
    PhaseBuilder phase =
        plan.phase(plan.uniqueName("losses.sum"), program.location(),
                   {plan.constant(1)}, {1});
    sumColumns(phase, columns, phase.integer(microbatches), loss, kLine);
  }
  program.sum(norm, norms, kLine, chunks, plan.constant(1));
  // Ranks along other axes have the same rows, and each the whole loss.
  SmallVector<StringRef> axes;
  for (auto axis : mesh.getNames().getAsRange<StringAttr>())
    if (mesh.isBatch(axis) || axis == schedule.getAxisAttr())
      axes.push_back(axis.getValue());
  View allLosses = program.gather(loss, axes, "loss");
  View allNorms = program.gather(norm, schedule.getAxis(), "norm");
  View each = allLosses;
  each.type = each.type.withShape(
      {each.type.getDimension(0), Training::countLosses(model)});
  program.training->summarize(each, allNorms, program.location(),
                              program.summary);
  program.training->advance(program.summary, program.location());
  if (failed(program.end()))
    return failure();
  plan.program->setAttr("event.pipeline", describe());
  return success();
}

/// What the runtime has to know to run the tables.
DictionaryAttr StagePrograms::describe() {
  Builder builder(model.getContext());
  SmallVector<Attribute> entries;
  for (dist::StageOp stage : stages)
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("positions", stage.getPositionsAttr()),
         builder.getNamedAttr("offsets", stage.getOffsetsAttr())}));
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr("schedule", schedule.getNameAttr()),
      builder.getNamedAttr("axis", schedule.getAxisAttr()),
      builder.getNamedAttr("microbatches", schedule.getMicrobatchesAttr()),
      builder.getNamedAttr("chunks", schedule.getChunksAttr()),
      builder.getNamedAttr("fused", builder.getBoolAttr(schedule.getFused())),
      builder.getNamedAttr("in_flight", schedule.getInFlightAttr()),
      builder.getNamedAttr("tables", schedule.getTablesAttr()),
      builder.getNamedAttr("stages", builder.getArrayAttr(entries))};
  if (Attribute bubble = schedule->getAttr(dist::kBubble))
    attributes.push_back(builder.getNamedAttr("bubble", bubble));
  return builder.getDictionaryAttr(attributes);
}

LogicalResult StagePrograms::build() {
  nameParameters();
  if (failed(checkShared()) || failed(addAgreement()))
    return failure();
  for (auto [number, stage] : llvm::enumerate(stages)) {
    SmallVector<Part> parts = partsOf(stage);
    FailureOr<Kept> kept = keptBetween(stage, parts);
    if (failed(kept))
      return failure();
    for (const Part &part : parts)
      if (failed(addPart(stage, number, part, *kept)))
        return failure();
    if (failed(addNorm(stage, number)) || failed(addUpdate(stage, number)))
      return failure();
  }
  return success();
}

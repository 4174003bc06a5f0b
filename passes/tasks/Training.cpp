//===- Training.cpp - what a training program keeps, and its update -------===//

#include "passes/tasks/Training.h"

#include "passes/tasks/RankSums.h"
#include "passes/tasks/TilingPieces.h"
#include "passes/tasks/Updates.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static model::StepTensorType typeOf(Value value) {
  return cast<model::StepTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Parameters, inputs
//===----------------------------------------------------------------------===//

/// The memory that a value of this type takes, in bytes.
static int64_t bytesOf(model::StepTensorType type, PlanBuilder &plan) {
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t dimension : type.getShape())
    bytes *= plan.bound(dimension);
  return bytes;
}

Training::~Training() = default;

Training::Training(Tiler &tiler, model::ProgramOp model,
                   const ParameterNames *names)
    : tiler(tiler), names(names), optimizer(std::make_unique<Optimizer>(
                                      model->getParentOfType<ModuleOp>())) {
  PlanBuilder &plan = tiler.plan;
  // Programs of one stage know its parameters by their names.
  if (names)
    for (const auto &[key, name] : *names)
      for (StringRef suffix :
           {".weights", ".gradient", ".weights_memory", ".gradient_memory"})
        plan.reserve(name + suffix.str());
  if (dist::MeshOp mesh = dist::findMesh(model))
    rankSums =
        std::make_unique<RankSums>(tiler, model, mesh, plan.tiles().bucket);
  Builder builder(plan.context());
  Location location = model.getLoc();
  auto provided = [&](StringRef name, model::StepTensorType type,
                      ArrayAttr names = {}) {
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("role", builder.getStringAttr("input"))};
    if (names)
      entries.push_back(builder.getNamedAttr("numbers", names));
    View view = plan.persistent(plan.uniqueName(name), type, 1, StringAttr(),
                                builder.getDictionaryAttr(entries), location);
    inputs.push_back(view);
    return view;
  };
  Block &block = model.getBody().front();
  for (auto [name, argument] :
       llvm::zip(ArrayRef<StringRef>{"tokens", "positions", "targets",
                                     "target_weights"},
                 block.getArguments()))
    tiler.views[argument] = provided(name, typeOf(argument));
  auto vector = [&](int64_t count, Type element) {
    return model::StepTensorType::get(plan.context(), {count}, element);
  };
  accumulate = provided("accumulate", vector(1, builder.getI32Type()));
  numbers =
      provided("numbers", vector(optimizer->count(), builder.getF32Type()),
               optimizer->describe());
}

Trainable &Training::trainable(Value value) {
  PlanBuilder &plan = tiler.plan;
  auto parameter = value.getDefiningOp<model::ParameterOp>();
  DictionaryAttr description = tiler.describe(value);
  std::unique_ptr<Trainable> &entry = trainables[description];
  if (entry)
    return *entry;
  entry = std::make_unique<Trainable>();
  Trainable &made = *entry;
  Builder builder(plan.context());
  made.location = value.getLoc();
  made.name = names ? names->find(parameter->getAttrDictionary())->second
                    : plan.uniqueName(nameOf(parameter));
  made.layers = tiler.layersOf(value);
  made.description = description;
  Type stored = typeOf(value).getElementType();
  made.products = stored.isBF16() ? "_bf16" : stored.isF16() ? "_f16" : "";
  auto type = typeOf(value).withElementType(builder.getF32Type());
  int64_t bytes = bytesOf(type, plan) * made.layers;
  auto shaped = [&](StringRef name, StringRef role, StringAttr &storage) {
    storage = plan.storage((name + "_memory").str(), bytes, made.location,
                           /*isReserved=*/names);
    SmallVector<NamedAttribute> entries(description.getValue());
    entries.push_back(
        builder.getNamedAttr("role", builder.getStringAttr(role)));
    return plan.persistent(names ? name.str() : plan.uniqueName(name), type,
                           made.layers, storage,
                           builder.getDictionaryAttr(entries), made.location);
  };
  made.weight = shaped(made.name + ".weights", "parameter", made.weightStorage);
  made.gradient =
      shaped(made.name + ".gradient", "gradient", made.gradientStorage);
  return made;
}

void Training::keep(model::SaveOp save) {
  Value x = save.getX();
  View &view = saved[save.getName()];
  if (!view.buffer)
    view = tiler.plan.transient(
        tiler.plan.uniqueName(save.getName().str() + ".saved"), typeOf(x),
        save.getLoc(), tiler.stack.getRepeat());
  Operation *maker = x.getDefiningOp();
  if (maker && !isViewOp(maker))
    tiler.destinations.try_emplace(x, view);
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

namespace {
/// A gradient of all layers as a matrix, cut into tiles of rows.
struct Flat {
  Trainable *trainable;
  int64_t rows, columns, size;

  explicit Flat(Trainable &trainable) : trainable(&trainable) {
    ArrayRef<int64_t> shape = trainable.gradient.type.getShape();
    columns = shape.back();
    rows = trainable.layers * (shape.size() == 2 ? shape[0] : 1);
    size = std::max<int64_t>(1, kTileElements / columns);
  }
  int64_t tiles() const { return ceilDiv(rows, size); }
};
} // namespace

/// What a parameter is called: in the checkpoint, and in the program.
static std::vector<std::string> namesOf(const Trainable &trainable) {
  std::vector<std::string> names = {trainable.name};
  DictionaryAttr description = trainable.description;
  description.walk([&](StringAttr text) { names.push_back(text.str()); });
  return names;
}

View Training::squares(Location location) {
  PlanBuilder &plan = tiler.plan;
  auto f32 = Float32Type::get(plan.context());
  SmallVector<Flat> all;
  int64_t count = 0;
  for (auto &[key, trainable] : trainables)
    if (trainable->hasGradient && trainable->isCounted) {
      all.push_back(Flat(*trainable));
      count += all.back().tiles();
    }
  View partials = plan.transient(
      plan.uniqueName("norm.partial"),
      model::StepTensorType::get(plan.context(), {1, count}, f32), location);
  int64_t first = 0;
  for (const Flat &flat : all) {
    Trainable &trainable = *flat.trainable;
    View gradient = plan.persistent(
        plan.uniqueName(trainable.name + ".gradients"),
        model::StepTensorType::get(plan.context(), {flat.rows, flat.columns},
                                   f32),
        1, trainable.gradientStorage, DictionaryAttr(), trainable.location);
    // Steps that only add to gradients have no outputs, and no tasks here.
    PhaseBuilder phase = plan.phase(
        plan.uniqueName(trainable.name + ".sum_squares"), trainable.location,
        {plan.symbol(event::kOutputs) * flat.tiles()}, {flat.tiles()});
    Box in = rowsOfTask(phase, gradient, flat.size),
        out = phase.whole(partials);
    out.low[1] = phase.coordinate(0) + first;
    out.high[1] = out.low[1] + 1;
    phase.reads(gradient, in);
    phase.writes(partials, out);
    phase.call("sum_squares",
               {phase.address(partials, out), phase.address(gradient, in),
                phase.stride(gradient, 0),
                countOf(phase, 0, flat.size, flat.rows),
                phase.integer(flat.columns)});
    first += flat.tiles();
  }
  return partials;
}

View Training::summarize(const View &loss, const View &partials,
                         Location location, View into) {
  PlanBuilder &plan = tiler.plan;
  View summary = into;
  if (!summary.buffer)
    summary = plan.transient(
        plan.uniqueName("summary"),
        model::StepTensorType::get(plan.context(), {1, 4},
                                   Float32Type::get(plan.context())),
        location);
  PhaseBuilder phase = plan.phase(plan.uniqueName("summary.sum"), location,
                                  {plan.constant(1)}, {1});
  int64_t count = 1;
  for (int64_t extent : partials.type.getShape())
    count *= extent;
  Box box = phase.whole(partials), out = phase.whole(summary),
      limit = phase.whole(numbers);
  box.high.back() =
      plan.symbol(event::kOutputs) * partials.type.getShape().back();
  limit.low[0] = phase.constant(Optimizer::kClip);
  limit.high[0] = phase.constant(Optimizer::kLossScale + 1);
  SmallVector<Attribute> operands;
  phase.writes(summary, out);
  operands.push_back(phase.address(summary, out));
  appendRead(phase, loss, phase.whole(loss), operands);
  operands.push_back(phase.count(plan.extent(loss.type.getDimension(0))));
  phase.reads(partials, box);
  phase.reads(numbers, limit);
  operands.append({phase.address(partials, box),
                   phase.count(plan.symbol(event::kOutputs) * count),
                   phase.address(numbers, limit)});
  phase.call("step_summary", operands);
  return summary;
}

FailureOr<Training::Rules> Training::rules(Location location) {
  Rules rules;
  for (auto &[key, trainable] : trainables) {
    if (!trainable->hasGradient)
      continue;
    update::GroupOp group = optimizer->groupOf(
        namesOf(*trainable), trainable->weight.type.getRank());
    if (!group)
      return emitError(location)
             << "cannot be tiled: no update.group fits the parameter "
             << trainable->name << ", which has a gradient";
    auto &list = takesLayersTogether(optimizer->ruleOf(group))
                     ? rules.together
                     : rules.apart[trainable->layers];
    list.push_back({trainable.get(), group});
  }
  return rules;
}

LogicalResult Training::update(const Rules &rules, const View &summary,
                               Location location) {
  PlanBuilder &plan = tiler.plan;
  UpdateInputs read{*optimizer, numbers, summary};
  for (auto [trainable, group] : rules.together)
    if (failed(tileUpdate(*trainable, group, read, plan)))
      return failure();
  for (auto &[layers, list] : rules.apart) {
    plan.beginSegment("update." + std::to_string(layers), layers, location);
    for (auto [trainable, group] : list)
      if (failed(tileUpdate(*trainable, group, read, plan)))
        return failure();
  }
  if (!rules.apart.empty())
    plan.beginSegment("advance", 1, location);
  return success();
}

void Training::advance(const View &summary, Location location) {
  // What the runtime writes for the next step, nobody reads any more.
  PlanBuilder &plan = tiler.plan;
  PhaseBuilder phase =
      plan.phase(plan.uniqueName("advance"), location, {plan.constant(1)}, {1});
  phase.reads(summary, phase.whole(summary));
  for (const View &input : inputs)
    phase.writes(input, phase.whole(input));
  phase.advance(summary);
}

LogicalResult Training::finish(const View &loss, Location location) {
  PlanBuilder &plan = tiler.plan;
  FailureOr<Rules> found = rules(location);
  if (failed(found))
    return failure();
  if (found->together.empty() && found->apart.empty())
    return emitError(location) << "cannot be tiled: no parameter has a "
                                  "gradient; differentiate comes before "
                                  "tile-tasks";

  if (rankSums)
    rankSums->finish(location);
  plan.beginSegment("update", 1, location);
  // While ranks wait for one another, squares are summed.
  View losses = rankSums ? rankSums->gatherLoss(loss, location) : loss;
  View partials = squares(location);
  View summary = summarize(losses, partials, location);
  if (failed(update(*found, summary, location)))
    return failure();
  advance(summary, location);
  return success();
}

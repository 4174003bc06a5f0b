//===- Training.cpp - what a training program keeps, and its update -------===//

#include "passes/tiling/Training.h"

#include "passes/collectives/RankSums.h"
#include "passes/tiling/Places.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/updates/Updates.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

//===----------------------------------------------------------------------===//
// Parameters, inputs
//===----------------------------------------------------------------------===//

static int64_t elementsOf(model::StepTensorType type) {
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    elements *= extent;
  return elements;
}

/// Ranks exchange runs of so many numbers.
static constexpr int64_t kAligned = 16;

/// The memory that a value of this type takes, in bytes.
static int64_t bytesOf(model::StepTensorType type, PlanBuilder &plan) {
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t dimension : type.getShape())
    bytes *= plan.bound(dimension);
  return bytes;
}

/// What a parameter is called: in the checkpoint, and in the program.
static std::vector<std::string> namesOf(const Trainable &trainable) {
  std::vector<std::string> names = {trainable.name};
  DictionaryAttr description = trainable.description;
  description.walk([&](StringAttr text) { names.push_back(text.str()); });
  return names;
}

void ParameterNames::add(Attribute key, model::ParameterOp parameter) {
  std::string &name = names[key];
  if (!name.empty())
    return;
  std::string base = nameOf(parameter);
  name = base;
  for (unsigned suffix = 2; !taken.insert(name).second; ++suffix)
    name = base + "." + std::to_string(suffix);
}

Training::~Training() = default;

Attribute tasks::keyOf(model::ParameterOp parameter) {
  NamedAttrList attributes(parameter->getAttrDictionary());
  attributes.erase(dist::kGathered);
  // Another stack has tensors of other layers by the same names.
  if (auto stack = parameter->getParentOfType<model::StackOp>())
    if (Attribute whole = stack->getAttr(dist::kPartOf))
      attributes.set(dist::kPartOf, whole);
  return attributes.getDictionary(parameter->getContext());
}

Training::Training(Tiler &tiler, model::ProgramOp model,
                   const ParameterNames *names, Operation *stage)
    : tiler(tiler), names(names), optimizer(std::make_unique<Optimizer>(
                                      model->getParentOfType<ModuleOp>())) {
  PlanBuilder &plan = tiler.plan;
  // Programs of one stage know its parameters by their names.
  if (names)
    for (const auto &[key, name] : *names)
      for (StringRef suffix : {".weights", ".gradient", ".weights_part",
                               ".gradient_part", ".received"}) {
        plan.reserve(name + suffix.str());
        plan.reserve(name + suffix.str() + "_memory");
      }
  mesh = dist::findMesh(model);
  if (mesh)
    rankSums = std::make_unique<RankSums>(
        tiler, stage ? stage : model.getOperation(), mesh, plan.tiles().bucket,
        [this](const Trainable &trainable) {
          update::GroupOp group =
              optimizer->groupOf(namesOf(trainable), trainable.rank());
          return group && canBeCut(optimizer->ruleOf(group), trainable);
        });
  model.walk([&](model::ParameterOp op) {
    tiler.stack = op->getParentOfType<model::StackOp>();
    Attribute description = tiler.describe(op.getResult());
    parameters.insert(description);
    own.add(description, op);
  });
  tiler.stack = {};
  model.walk([&](model::GradientOp op) {
    Attribute key =
        keyOf(op.getParameter().getDefiningOp<model::ParameterOp>());
    changed.insert(key);
    if (!op.getGradient().getDefiningOp<model::RouterLoadsOp>())
      ofLosses.insert(key);
  });
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
  SmallVector<StringRef> given = {"tokens", "positions", "targets",
                                  "target_weights"};
  if (block.getNumArguments() == given.size() + 1)
    given.push_back("preferences");
  else
    given.append({"teacher_tokens", "teacher_numbers"});
  for (auto [name, argument] : llvm::zip(given, block.getArguments()))
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
  made.name = (names ? names->of(keyOf(parameter)) : own.of(description)).str();
  made.layers = tiler.layersOf(value);
  made.isOfSeveral = parameter.isOfSeveral();
  made.between = betweenPrograms();
  made.description = description;
  if (parameter.getShards()) {
    const int64_t rank = typeOf(value).getRank();
    made.shards = describeShards(parameter, std::max<int64_t>(2 - rank, 0));
    made.ownShards = describeShards(parameter);
    made.axes = builder.getArrayAttr(parameter.getShardAxes());
    for (auto shard : parameter.getShardsAttr().getAsRange<model::ShardAttr>())
      made.cutsMatrices |= !made.isOfSeveral || shard.getDimension() > 0;
  }
  Type stored = typeOf(value).getElementType();
  made.productFormat = stored.isBF16()  ? "bf16"
                       : stored.isF16() ? "f16"
                                        : "f32";
  auto type = typeOf(value).withElementType(builder.getF32Type());
  made.weight.type = type;
  if (update::GroupOp group = optimizer->groupOf(namesOf(made), made.rank()))
    made.unit = cutUnitOf(optimizer->ruleOf(group), made);
  std::optional<Kept> parts =
      rankSums ? rankSums->partsOf(made) : std::optional<Kept>();
  auto shaped = [&](StringRef name, StringRef role, StringAttr &storage,
                    bool isKept, int64_t others) {
    // Of what a rank keeps only a part of, there are few layers at a time.
    int64_t layers = isKept ? made.layers : others;
    storage = plan.storage((name + "_memory").str(),
                           bytesOf(type, plan) * layers, made.location,
                           /*isReserved=*/names);
    SmallVector<NamedAttribute> entries(description.getValue());
    entries.push_back(
        builder.getNamedAttr("role", builder.getStringAttr(role)));
    return plan.persistent(
        names ? name.str() : plan.uniqueName(name), type, layers, storage,
        isKept ? builder.getDictionaryAttr(entries) : DictionaryAttr(),
        made.location);
  };
  made.isFresh = parts && parts->gradient;
  bool isGathered = parts && parts->weight;
  int64_t gathered = std::min(plan.tiles().gatheredLayers, made.layers);
  made.isRing = isGathered && gathered > 1;
  made.weight = shaped(made.name + ".weights", "parameter", made.weightStorage,
                       !isGathered, gathered);
  made.weight.buffer.setRing(made.isRing);
  // The step reads some that nothing changes.
  const bool isChanged = changed.contains(keyOf(parameter));
  if (!isGathered)
    made.weight.buffer.setCarry(isChanged ? event::Carry::renewed
                                          : event::Carry::kept);
  if (!isChanged)
    return made;
  made.isCounted = ofLosses.contains(keyOf(parameter));
  made.gradient = shaped(made.name + ".gradient", "gradient",
                         made.gradientStorage, !made.isFresh, 1);
  if (parts) {
    // These are of the rank's own rows.
    made.gradient.buffer.removeDescriptionAttr();
    if (made.between && !made.isFresh)
      made.gradient.buffer.setDescriptionAttr(made.between);
    rankSums->split(made, *parts);
  }
  return made;
}

// A gradient begins as the sum of no rows: as zeros, or as what the
// microbatches before have left. There are no rows to read; the weight stands
// for them.
static void begin(Trainable &target, PlanBuilder &plan, Training &training) {
  const View &gradient = target.gradient, &weight = target.weight;
  int64_t rows =
              gradient.type.getRank() > 1 ? gradient.type.getDimension(0) : 1,
          columns = elementsOf(gradient.type) / rows;
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(target.name + ".begin"), target.location,
                 {plan.constant(rows)}, {rows});
  Box box = phase.whole(gradient), none = phase.whole(weight);
  if (gradient.type.getRank() > 1)
    for (Box *tile : {&box, &none})
      narrow(*tile, 0, phase.coordinate(0), 1);
  phase.reads(weight, none);
  Attribute adds = contribute(target, phase, box, training);
  phase.call("sum_rows", {phase.address(gradient, box),
                          phase.address(weight, none), phase.integer(columns),
                          phase.integer(0), phase.integer(columns), adds});
}

void Training::beginShared(model::StackOp stack) {
  if (stack.getRepeat() < 2 || rankSums)
    return;
  llvm::SaveAndRestore inStack(tiler.stack, stack);
  for (auto op : stack.getBody().front().getOps<model::GradientOp>()) {
    if (tiler.layersOf(op.getParameter()) > 1)
      continue;
    if (Trainable &target = trainable(op.getParameter()); !target.hasGradient)
      begin(target, tiler.plan, *this);
  }
}

View Training::never() {
  PlanBuilder &plan = tiler.plan;
  // Nobody writes there.
  if (!zero.buffer)
    zero = plan.persistent(
        plan.uniqueName("never"),
        model::StepTensorType::get(plan.context(), {1},
                                   IntegerType::get(plan.context(), 32)),
        1, StringAttr(), betweenPrograms(), tiler.plan.program.getLoc());
  zero.buffer.setCarry(event::Carry::kept);
  return zero;
}

void Training::keep(model::SaveOp save) {
  Value x = save.getX();
  View &view = saved[save.getName()];
  if (!view.buffer) {
    std::string name = tiler.plan.uniqueName(save.getName().str() + ".saved");
    int64_t layers = tiler.stack.getRepeat();
    view = isOfPlaces(x)
               ? tiler.plan.places(name, typeOf(x), save.getLoc(), layers)
               : tiler.plan.transient(name, typeOf(x), save.getLoc(), layers);
  }
  Operation *maker = x.getDefiningOp();
  if (maker && !isViewOp(maker))
    tiler.destinations.try_emplace(x, view);
}

template <typename Users>
static Trainable *findTarget(Operation *op, Users users, Training &training) {
  for (Operation *user : users)
    if (auto gradient = dyn_cast<model::GradientOp>(user))
      return &training.trainable(gradient.getParameter());
  op->emitOpError() << "cannot be tiled: its result is no parameter's gradient";
  return nullptr;
}

Trainable *tasks::targetOf(Operation *op, Training &training) {
  return findTarget(op, op->getUsers(), training);
}

Trainable *tasks::targetOf(OpResult result, Training &training) {
  return findTarget(result.getOwner(), result.getUsers(), training);
}

Attribute tasks::contribute(Trainable &target, PhaseBuilder &phase,
                            const Box &tile, Training &training) {
  bool adds = std::exchange(target.hasGradient, true);
  const View &says = target.isFresh ? training.never() : training.accumulate;
  // A fresh gradient is begun anew by whoever comes first.
  if (adds)
    phase.reads(target.gradient, tile);
  else if (!target.isFresh)
    phase.reads(target.gradient, tile, {.condition = &says});
  phase.writes(target.gradient, tile);
  if (adds)
    return phase.null();
  Box all = phase.whole(says);
  phase.reads(says, all);
  return phase.address(says, all);
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

DictionaryAttr Training::betweenPrograms() const {
  if (!names)
    return {};
  Builder builder(tiler.plan.context());
  return builder.getDictionaryAttr(
      builder.getNamedAttr("role", builder.getStringAttr("kept")));
}

// Ranks exchange whole cache lines.
View Training::alignedNumbers(StringRef name, int64_t count,
                              Location location) {
  PlanBuilder &plan = tiler.plan;
  auto row = [&](int64_t numbers) {
    return model::StepTensorType::get(plan.context(), {1, numbers},
                                      Float32Type::get(plan.context()));
  };
  int64_t aligned = llvm::alignTo(count, kAligned);
  StringAttr storage = plan.storage((name + "_memory").str(),
                                    aligned * int64_t(sizeof(float)), location);
  View numbers = plan.persistent(name, row(aligned), 1, storage,
                                 betweenPrograms(), location);
  if (aligned == count)
    return numbers;
  View padding = plan.persistent(plan.uniqueName((name + ".padding").str()),
                                 row(aligned - count), 1, storage,
                                 betweenPrograms(), location);
  padding.buffer.setOffset(count);
  padding.buffer.setCarry(event::Carry::kept);
  return numbers;
}

// A norm is the sum of the parameters' sums, each of which is that of its
// blocks' in ascending order, of each block all layers: so ranks that have some
// blocks of all layers only have to put theirs behind one another. Of
// parameters of which ranks compute parts, blocks are those of each part, one
// part behind the other.
View Training::squares(Location location) {
  PlanBuilder &plan = tiler.plan;
  auto matrix = [&](int64_t rows, int64_t columns) {
    return model::StepTensorType::get(plan.context(), {rows, columns},
                                      Float32Type::get(plan.context()));
  };
  std::deque<RankSums::Gathered> sums;
  SmallVector<RankSums::Gathered *> sharded, cut;
  SmallVector<ArrayAttr> cutOver;
  for (Attribute description : parameters) {
    auto found = trainables.find(description);
    if (found == trainables.end() || !found->second->hasGradient ||
        !found->second->isCounted)
      continue;
    Trainable *trainable = found->second.get();
    const Shard *shard = trainable->shard;
    Blocks blocks(elementsOf(trainable->gradient.type), trainable->unit);
    int64_t layers = trainable->layers,
            count = shard ? shard->count : blocks.count;
    // Where a part is not kept by itself, a layer is all that was received, and
    // the sum its second row.
    int64_t first = 0, length = shard ? shard->part() : blocks.elements;
    if (shard && !shard->parts.gradient) {
      first = shard->part();
      length = shard->ranks * shard->part();
    }
    View gradient = plan.persistent(
        plan.uniqueName(trainable->name + ".gradients"), matrix(layers, length),
        1,
        shard ? View(shard->gradient).buffer.getStorageAttr().getAttr()
              : trainable->gradientStorage,
        DictionaryAttr(), trainable->location);
    std::string name = plan.uniqueName(trainable->name + ".squares");
    bool isPart = shard || trainable->axes;
    View squares =
        isPart ? alignedNumbers(name, count * layers, trainable->location)
               : plan.transient(name, matrix(1, count * layers),
                                trainable->location);
    // Steps that only add to gradients have no outputs, and no tasks here.
    PhaseBuilder phase = plan.phase(
        plan.uniqueName(trainable->name + ".sum_squares"), trainable->location,
        {plan.symbol(event::kOutputs) * layers, plan.constant(count)},
        {layers, count});
    Box in = rowsOfTask(phase, gradient, 1), out = phase.whole(squares);
    AffineExpr begin = phase.coordinate(1) * blocks.size;
    in.low[1] = begin + first;
    in.high[1] = in.low[1] + blocks.size;
    out.low[1] = phase.coordinate(1) * layers + phase.coordinate(0);
    out.high[1] = out.low[1] + 1;
    phase.reads(gradient, in);
    phase.writes(squares, out);
    phase.call("sum_squares",
               {phase.address(squares, out), phase.address(gradient, in),
                shard ? phase.integer(blocks.size)
                      : countOf(phase, 1, blocks.size, blocks.elements),
                phase.integer(blocks.columns)});
    RankSums::Gathered &sum = sums.emplace_back(RankSums::Gathered{
        trainable->name, shard ? shard->axes : trainable->axes, squares});
    if (shard)
      sharded.push_back(&sum);
    if (trainable->axes) {
      cut.push_back(&sum);
      cutOver.push_back(trainable->axes);
    }
  }
  if (!sharded.empty())
    rankSums->gatherNumbers(sharded, location);
  for (auto [sum, axes] : llvm::zip(cut, cutOver))
    sum->axes = axes;
  if (!cut.empty())
    rankSums->gatherNumbers(cut, location);

  View partials = plan.transient(plan.uniqueName("norm.partial"),
                                 matrix(1, sums.size()), location);
  PhaseBuilder phase = plan.phase(plan.uniqueName("norm.sum"), location,
                                  {plan.symbol(event::kOutputs)}, {1});
  for (auto [i, sum] : llvm::enumerate(sums)) {
    const View &squares = sum.numbers;
    Box out = phase.whole(partials), in = phase.whole(squares);
    out.low[1] = phase.constant(i);
    out.high[1] = phase.constant(i + 1);
    phase.reads(squares, in);
    phase.writes(partials, out);
    phase.call("sum_numbers", {phase.address(partials, out), phase.integer(1),
                               phase.address(squares, in), phase.integer(1),
                               phase.integer(elementsOf(squares.type))});
  }
  return partials;
}

int64_t Training::countLosses(model::ProgramOp model) {
  int64_t losses = 1;
  model.walk([&](model::RouterLossOp) { losses = model::kRouterLosses; });
  model.walk(
      [&](model::PreferenceLossOp) { losses = model::kPreferenceLosses; });
  if (model.getTraining() && model.getBody().getNumArguments() == 6)
    losses = model::kTeacherLosses;
  return losses;
}

View Training::summarize(const View &loss, const View &partials,
                         Location location, View into) {
  PlanBuilder &plan = tiler.plan;
  View summary = into;
  if (!summary.buffer)
    summary =
        plan.transient(plan.uniqueName("summary"),
                       model::StepTensorType::get(
                           plan.context(), {1, summarySize(countColumns(loss))},
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
  operands.append({phase.count(plan.extent(loss.type.getDimension(0))),
                   phase.integer(countColumns(loss))});
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
    update::GroupOp group =
        optimizer->groupOf(namesOf(*trainable), trainable->rank());
    if (!group)
      return emitError(location)
             << "cannot be tiled: no update.group fits the parameter "
             << trainable->name << ", which has a gradient";
    if (trainable->shard) {
      rules.parts[trainable.get()] = group;
      continue;
    }
    auto &list = takesLayersTogether(optimizer->ruleOf(group), *trainable)
                     ? rules.together
                     : rules.apart[trainable->matrices()];
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
  if (rankSums && failed(rankSums->updateShards(
                      [&](Trainable &trainable) {
                        return tileUpdate(trainable,
                                          rules.parts.lookup(&trainable), read,
                                          plan);
                      },
                      location)))
    return failure();
  if (!rules.apart.empty() || !rules.parts.empty())
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
  if (rankSums)
    rankSums->finish(location);
  FailureOr<Rules> found = rules(location);
  if (failed(found))
    return failure();
  if (found->together.empty() && found->apart.empty() && found->parts.empty())
    return emitError(location) << "cannot be tiled: no parameter has a "
                                  "gradient; differentiate comes before "
                                  "tile-tasks";

  plan.beginSegment("update", 1, location);
  // While ranks wait for one another, squares are summed.
  View losses = rankSums ? rankSums->gatherLoss(loss, location) : loss;
  View summary = summarize(losses, squares(location), location);
  if (failed(update(*found, summary, location)))
    return failure();
  advance(summary, location);
  return success();
}

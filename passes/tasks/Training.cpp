//===- Training.cpp - what a training program keeps, and its update -------===//

#include "passes/tasks/TrainingRules.h"

#include "passes/tasks/TilingPieces.h"

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

Training::Training(Tiler &tiler, model::ProgramOp model) : tiler(tiler) {
  PlanBuilder &plan = tiler.plan;
  Builder builder(plan.context());
  Location location = model.getLoc();
  auto provided = [&](StringRef name, model::StepTensorType type) {
    View view = plan.persistent(plan.uniqueName(name), type, 1, StringAttr(),
                                builder.getDictionaryAttr(builder.getNamedAttr(
                                    "role", builder.getStringAttr("input"))),
                                location);
    inputs.push_back(view);
    return view;
  };
  Block &block = model.getBody().front();
  for (auto [name, argument] :
       llvm::zip(ArrayRef<StringRef>{"tokens", "positions", "targets",
                                     "target_weights"},
                 block.getArguments()))
    tiler.views[argument] = provided(name, typeOf(argument));
  auto numbers = [&](StringRef name, int64_t count, Type element) {
    return provided(
        name, model::StepTensorType::get(plan.context(), {count}, element));
  };
  accumulate = numbers("accumulate", 1, builder.getI32Type());
  // Of the update; see baton_task_adamw.
  scalars = numbers("scalars", 8, builder.getF32Type());
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
  made.name = plan.uniqueName(nameOf(parameter));
  made.layers = tiler.layersOf(value);
  auto type = typeOf(value).withElementType(builder.getF32Type());
  int64_t bytes = bytesOf(type, plan) * made.layers;
  auto shaped = [&](StringRef name, StringRef role, StringAttr &storage) {
    storage = plan.storage((name + "_memory").str(), bytes, made.location);
    SmallVector<NamedAttribute> entries(description.getValue());
    entries.push_back(
        builder.getNamedAttr("role", builder.getStringAttr(role)));
    return plan.persistent(plan.uniqueName(name), type, made.layers, storage,
                           builder.getDictionaryAttr(entries), made.location);
  };
  made.weight = shaped(made.name + ".weights", "parameter", made.weightStorage);
  made.gradient =
      shaped(made.name + ".gradient", "gradient", made.gradientStorage);
  return made;
}

void Training::keep(model::SaveOp save) {
  Value x = save.getX();
  View view = tiler.plan.transient(
      tiler.plan.uniqueName(save.getName().str() + ".saved"), typeOf(x),
      save.getLoc(), tiler.stack.getRepeat());
  saved[save.getName()] = view;
  Operation *maker = x.getDefiningOp();
  if (maker && !isViewOp(maker))
    tiler.destinations.try_emplace(x, view);
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

namespace {
/// A parameter of all layers as a matrix, cut into tiles of rows.
struct Flat {
  Trainable *trainable;
  int64_t rows, columns, size;

  explicit Flat(Trainable &trainable) : trainable(&trainable) {
    ArrayRef<int64_t> shape = trainable.weight.type.getShape();
    columns = shape.back();
    rows = trainable.layers * (shape.size() == 2 ? shape[0] : 1);
    // As many elements as a core's cache holds a few times.
    size = std::max<int64_t>(1, 16384 / columns);
  }
  int64_t tiles() const { return ceilDiv(rows, size); }
};
} // namespace

LogicalResult Training::finish(const View &loss, Location location) {
  PlanBuilder &plan = tiler.plan;
  Builder builder(plan.context());
  plan.beginSegment("update", 1, location);
  auto f32 = [&](ArrayRef<int64_t> shape) {
    return model::StepTensorType::get(plan.context(), shape,
                                      builder.getF32Type());
  };
  // Steps that only add to gradients have no outputs, and no tasks below.
  AffineExpr updates = plan.symbol(event::kOutputs);
  SmallVector<Flat> all;
  int64_t count = 0;
  for (auto &[key, trainable] : trainables) {
    if (!trainable->hasGradient)
      continue;
    all.push_back(Flat(*trainable));
    count += all.back().tiles();
  }
  if (all.empty())
    return emitError(location) << "cannot be tiled: no parameter has a "
                                  "gradient; differentiate comes before "
                                  "tile-tasks";
  auto flatView = [&](const Flat &flat, StringRef name, StringAttr storage) {
    return plan.persistent(plan.uniqueName(name),
                           f32({flat.rows, flat.columns}), 1, storage,
                           DictionaryAttr(), flat.trainable->location);
  };
  auto updatePhase = [&](const Flat &flat, StringRef what) {
    return plan.phase(plan.uniqueName((flat.trainable->name + what).str()),
                      flat.trainable->location, {updates * flat.tiles()},
                      {flat.tiles()});
  };

  View partials = plan.transient(plan.uniqueName("norm.partial"),
                                 f32({1, count}), location);
  int64_t first = 0;
  SmallVector<View> gradients;
  for (const Flat &flat : all) {
    View gradient = flatView(flat, flat.trainable->name + ".gradients",
                             flat.trainable->gradientStorage);
    gradients.push_back(gradient);
    PhaseBuilder phase = updatePhase(flat, ".sum_squares");
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

  // Loss, gradient's norm, and the factor that clips it.
  View summary =
      plan.transient(plan.uniqueName("summary"), f32({1, 4}), location);
  {
    PhaseBuilder phase = plan.phase(plan.uniqueName("summary.sum"), location,
                                    {plan.constant(1)}, {1});
    Box box = phase.whole(partials), out = phase.whole(summary);
    box.high[1] = updates * count;
    SmallVector<Attribute> operands;
    phase.writes(summary, out);
    operands.push_back(phase.address(summary, out));
    appendRead(phase, loss, phase.whole(loss), operands);
    operands.push_back(phase.count(plan.extent(model::kRows)));
    phase.reads(partials, box);
    operands.append({phase.address(partials, box), phase.count(box.high[1]),
                     readAll(phase, scalars)});
    phase.call("step_summary", operands);
  }

  SmallVector<View> changed;
  for (auto [flat, gradient] : llvm::zip(all, gradients)) {
    Trainable &trainable = *flat.trainable;
    View weight =
        flatView(flat, trainable.name + ".flat", trainable.weightStorage);
    changed.push_back(weight);
    PhaseBuilder phase = updatePhase(flat, ".update");
    SmallVector<Attribute> operands;
    auto change = [&](const View &view) {
      Box box = rowsOfTask(phase, view, flat.size);
      phase.reads(view, box);
      appendWrite(phase, view, box, operands);
    };
    change(weight);
    for (StringRef name : {"exp_avg", "exp_avg_sq"})
      change(plan.persistent(
          plan.uniqueName((trainable.name + "." + name).str()),
          f32({flat.rows, flat.columns}), 1, StringAttr(),
          builder.getDictionaryAttr(
              {builder.getNamedAttr("role", builder.getStringAttr("optimizer")),
               builder.getNamedAttr("of",
                                    builder.getStringAttr(trainable.name))}),
          trainable.location));
    appendRead(phase, gradient, rowsOfTask(phase, gradient, flat.size),
               operands);
    operands.append({countOf(phase, 0, flat.size, flat.rows),
                     phase.integer(flat.columns), readAll(phase, scalars),
                     readAll(phase, summary),
                     phase.integer32(trainable.weight.type.getRank() > 1)});
    phase.call("adamw", operands);
  }

  // What the runtime writes for the next step, nobody reads any more.
  PhaseBuilder phase =
      plan.phase(plan.uniqueName("advance"), location, {plan.constant(1)}, {1});
  phase.reads(summary, phase.whole(summary));
  for (const View &input : inputs)
    phase.writes(input, phase.whole(input));
  phase.advance(summary);
  return success();
}

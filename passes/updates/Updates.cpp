//===- Updates.cpp - the phases of update rules ---------------------------===//

#include "passes/updates/Updates.h"

#include "passes/collectives/Shards.h"
#include "passes/tiling/Products.h"
#include "passes/updates/UpdateBody.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

//===----------------------------------------------------------------------===//
// Groups and numbers
//===----------------------------------------------------------------------===//

static bool isGiven(update::NumberOp number) {
  return !number.getInitial().has_value();
}

Optimizer::Optimizer(ModuleOp module) : module(module) {
  for (auto rule : module.getOps<update::RuleOp>())
    for (auto number : rule.getBody().getOps<update::NumberOp>())
      if (!isGiven(number) &&
          llvm::none_of(numbers, [&](update::NumberOp known) {
            return known->getParentOp() == rule &&
                   known.getName() == number.getName();
          }))
        numbers.push_back(number);
}

update::GroupOp Optimizer::groupOf(ArrayRef<std::string> names,
                                   int64_t rank) const {
  for (auto group : module.getOps<update::GroupOp>())
    if (update::fits(group, names, rank))
      return group;
  return {};
}

unsigned Optimizer::numberOf(update::GroupOp group) const {
  unsigned number = 1;
  for (auto other : module.getOps<update::GroupOp>()) {
    if (other == group)
      break;
    ++number;
  }
  return number;
}

update::RuleOp Optimizer::ruleOf(update::GroupOp group) const {
  return module.lookupSymbol<update::RuleOp>(group.getRuleAttr());
}

int64_t Optimizer::place(update::NumberOp number) const {
  if (isGiven(number))
    return number.getName() == update::kStep ? 0 : 1;
  const auto *found = llvm::find_if(numbers, [&](update::NumberOp known) {
    return known->getParentOp() == number->getParentOp() &&
           known.getName() == number.getName();
  });
  return kOwn + (found - numbers.begin());
}

ArrayAttr Optimizer::describe() const {
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  auto add = [&](StringRef name, FloatAttr initial) {
    SmallVector<NamedAttribute> entry = {
        builder.getNamedAttr("name", builder.getStringAttr(name))};
    if (initial)
      entry.push_back(builder.getNamedAttr("default", initial));
    entries.push_back(builder.getDictionaryAttr(entry));
  };
  add(update::kStep, {});
  add(update::kLearningRate, {});
  add("clip", {});
  add("loss_scale", {});
  for (update::NumberOp number : numbers)
    add((number->getParentOfType<update::RuleOp>().getSymName() + "." +
         number.getName())
            .str(),
        number.getInitialAttr());
  return builder.getArrayAttr(entries);
}

bool tasks::takesLayersTogether(update::RuleOp rule) {
  size_t passes = 0;
  bool elementwise = true;
  for (Operation &op : rule.getBody().front()) {
    elementwise &= !isa<update::SumOp, update::ProductOp, update::ExtentOp>(op);
    passes += isa<update::MapOp>(op);
  }
  return elementwise && passes == 1;
}

//===----------------------------------------------------------------------===//
// One parameter's update
//===----------------------------------------------------------------------===//

namespace {

class Update : public NumberSources {
public:
  Update(Trainable &trainable, update::GroupOp group,
         const UpdateInputs &inputs, PlanBuilder &plan)
      : trainable(trainable), group(group), inputs(inputs), plan(plan),
        rule(inputs.optimizer.ruleOf(group)),
        together(takesLayersTogether(rule) && !trainable.shard) {}

  LogicalResult run();

  std::optional<float> constant(update::NumberOp number) override;
  NumberSource source(update::NumberOp number) override;
  NumberSource source(OpResult sum) override;
  float extent(update::ExtentOp extent) override;
  NumberSource factor() override { return {"summary", inputs.summary, {0, 2}}; }
  NumberSource changes() override {
    return {"summary", inputs.summary, {0, 3}};
  }

private:
  model::StepTensorType matrix(int64_t rows, int64_t columns) const {
    return model::StepTensorType::get(plan.context(), {rows, columns},
                                      Float32Type::get(plan.context()));
  }
  /// How often the rule goes through a matrix, or through a rank's part of one
  /// layer.
  int64_t iterations() const {
    return trainable.shard ? trainable.layers : trainable.matrices();
  }
  View kept(StringRef name, const View &like, StringAttr storage,
            DictionaryAttr description);
  LogicalResult expectWhole();
  void bindArguments();
  void takeOwn(PhaseBuilder &phase, int64_t size);
  std::string nextName();
  PhaseBuilder phase(const std::string &name, int64_t tiles);
  LogicalResult tile(update::MapOp op);
  LogicalResult tile(update::SumOp op);
  LogicalResult tile(update::ProductOp op);
  LogicalResult expectOneShape(Operation *op, const View &like);
  std::string argumentName(Value value);
  BodyArgument tileOf(PhaseBuilder &phase, Value value, int64_t size);
  SmallVector<BodyArgument> readTiles(Operation *op, PhaseBuilder &phase,
                                      int64_t size);
  std::optional<unsigned> gradientOf(Operation *op);
  void call(UpdateBody &body, PhaseBuilder &phase, int64_t tiles,
            const std::string &suffix);

  Trainable &trainable;
  update::GroupOp group;
  const UpdateInputs &inputs;
  PlanBuilder &plan;
  update::RuleOp rule;
  /// All layers are one matrix; and rows are columns for the rule.
  bool together, turned = false;
  llvm::DenseMap<Value, View> views;
  /// Sums of each sum op: [1, results].
  llvm::DenseMap<Operation *, View> sums;
  unsigned passes = 0;
};

} // namespace

View Update::kept(StringRef name, const View &like, StringAttr storage,
                  DictionaryAttr description) {
  return plan.persistent(plan.uniqueName((trainable.name + "." + name).str()),
                         like.type, together ? 1 : iterations(), storage,
                         description, trainable.location);
}

void Update::bindArguments() {
  ArrayRef<int64_t> shape = trainable.weight.type.getShape();
  int64_t columns = shape.back(),
          rows = trainable.rank() > 1 ? shape[shape.size() - 2] : 1;
  turned = rule.getWide() && rows > columns;
  SmallVector<int64_t> layerShape = {rows, columns};
  if (trainable.isOfSeveral)
    layerShape.assign(shape.begin(), shape.end());
  View like;
  like.type = matrix(together ? rows * trainable.matrices() : rows, columns);
  Builder builder(plan.context());
  NamedAttrList described;
  described.set("role", builder.getStringAttr("optimizer"));
  described.set("of", builder.getStringAttr(trainable.name));
  if (const Shard *shard = trainable.shard) {
    like.type = shard->weight.type;
    views[rule.getParameter()] = shard->weight;
    views[rule.getGradient()] = shard->gradient;
    shard->describe(described, layerShape);
  } else {
    views[rule.getParameter()] =
        kept("matrix", like, trainable.weightStorage, DictionaryAttr());
    views[rule.getGradient()] = kept(
        "matrix_gradient", like, trainable.gradientStorage, DictionaryAttr());
    if (trainable.shards) {
      // As the parameter is cut, with each layer by itself.
      described.set("shards", trainable.shards);
      described.set("shape", builder.getI64ArrayAttr(layerShape));
      described.set("layers", builder.getI64IntegerAttr(trainable.layers));
    }
  }
  for (auto [i, state] :
       llvm::enumerate(rule.getStates().getAsRange<StringAttr>())) {
    View view = kept(state.getValue(), like, StringAttr(),
                     described.getDictionary(plan.context()));
    view.buffer.setCarry(event::Carry::renewed);
    views[rule.getBody().getArgument(2 + i)] = view;
  }
  // New values are written over the old ones.
  for (auto [i, value] : llvm::enumerate(rule.getReturn().getValues()))
    views[value] = views[rule.getBody().getArgument(i ? i + 1 : 0)];
}

/// A part of a parameter is updated as the whole is, as long as no number is
/// computed of all of it.
LogicalResult Update::expectWhole() {
  if (!trainable.cutsMatrices)
    return success();
  for (Operation &op : rule.getBody().front())
    if (isa<update::SumOp, update::ProductOp, update::ExtentOp>(op))
      return op.emitOpError()
             << "cannot be tiled for " << trainable.name
             << ": it is of the whole parameter, of which each rank of "
             << trainable.axes << " has a part";
  return success();
}

LogicalResult Update::run() {
  if (failed(expectWhole()))
    return failure();
  bindArguments();
  for (Operation &op : rule.getBody().front()) {
    LogicalResult result = success();
    if (auto map = dyn_cast<update::MapOp>(op))
      result = tile(map);
    else if (auto sum = dyn_cast<update::SumOp>(op))
      result = tile(sum);
    else if (auto product = dyn_cast<update::ProductOp>(op))
      result = tile(product);
    if (failed(result))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::optional<float> Update::constant(update::NumberOp number) {
  if (auto numbers = group.getNumbers())
    if (auto fixed = numbers->getAs<FloatAttr>(number.getName()))
      return fixed.getValue().convertToFloat();
  return std::nullopt;
}

NumberSource Update::source(update::NumberOp number) {
  return {"numbers", inputs.numbers, {inputs.optimizer.place(number)}};
}

NumberSource Update::source(OpResult sum) {
  unsigned number = 0;
  for (Operation &op : rule.getBody().front()) {
    if (&op == sum.getOwner())
      break;
    number += isa<update::SumOp>(op);
  }
  return {"sum." + std::to_string(number),
          sums.lookup(sum.getOwner()),
          {0, int64_t(sum.getResultNumber())}};
}

float Update::extent(update::ExtentOp extent) {
  bool rows = (extent.getDimension() == 0) != turned;
  return views.lookup(extent.getTensor()).type.getDimension(rows ? 0 : 1);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// What a pass over a parameter is called, after the parameter.
std::string Update::nextName() {
  std::string name = "." + rule.getSymName().str();
  unsigned number = passes++;
  return number ? name + "." + std::to_string(number + 1) : name;
}

/// What an argument of a body is called: values that share memory alike.
std::string Update::argumentName(Value value) {
  auto returned = rule.getReturn().getValues();
  if (auto found = llvm::find(returned, value); found != returned.end()) {
    unsigned number = found - returned.begin();
    value = rule.getBody().getArgument(number ? number + 1 : 0);
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    if (number < 2)
      return number ? "gradient" : "parameter";
    return "state." +
           cast<StringAttr>(rule.getStates()[number - 2]).getValue().str();
  }
  unsigned number = 0;
  for (Operation &op : rule.getBody().front()) {
    if (&op == value.getDefiningOp())
      break;
    ++number;
  }
  return "value." + std::to_string(number) + "." +
         std::to_string(cast<OpResult>(value).getResultNumber());
}

PhaseBuilder Update::phase(const std::string &name, int64_t tiles) {
  // Steps that only add to gradients have no outputs, and no tasks here.
  return plan.phase(plan.uniqueName(trainable.name + name), trainable.location,
                    {plan.symbol(event::kOutputs) * tiles}, {tiles});
}

LogicalResult Update::expectOneShape(Operation *op, const View &like) {
  for (Value input : op->getOperands()) {
    const View &view = views[input];
    if (view.type == like.type)
      continue;
    return op->emitOpError()
           << "cannot be tiled for " << trainable.name
           << ": it goes through tensors of different shapes, " << like.type
           << " and " << view.type;
  }
  return success();
}

/// Which operand is to be scaled.
std::optional<unsigned> Update::gradientOf(Operation *op) {
  if (rule.getUnscaled())
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == Value(rule.getGradient()))
      return operand.getOperandNumber();
  return std::nullopt;
}

/// One of the tensors that a pass goes through.
BodyArgument Update::tileOf(PhaseBuilder &phase, Value value, int64_t size) {
  const View &view = views[value];
  return {argumentName(value), view, rowsOfTask(phase, view, size)};
}

SmallVector<BodyArgument> Update::readTiles(Operation *op, PhaseBuilder &phase,
                                            int64_t size) {
  SmallVector<BodyArgument> tiles;
  for (Value input : op->getOperands()) {
    tiles.push_back(tileOf(phase, input, size));
    tiles.back().read = true;
  }
  return tiles;
}

void Update::call(UpdateBody &body, PhaseBuilder &phase, int64_t tiles,
                  const std::string &name) {
  SmallVector<Attribute> operands;
  for (const BodyArgument &argument : body.arguments()) {
    if (argument.read && !phase.isWritten(argument.view, argument.box))
      phase.reads(argument.view, argument.box);
    if (argument.written)
      phase.writes(argument.view, argument.box);
    appendMemref(phase, argument.view, argument.box, operands);
  }
  // Parameters of one shape and group have their bodies in common.
  const model::StepTensorType &shape = views[rule.getParameter()].type;
  std::string symbol = name.substr(1) + "." +
                       std::to_string(shape.getDimension(0)) + "x" +
                       std::to_string(shape.getDimension(1));
  if (group.getNumbers())
    symbol += ".group" + std::to_string(inputs.optimizer.numberOf(group));
  phase.call(symbol, operands);
  if (plan.program->getParentOfType<ModuleOp>().lookupSymbol(symbol))
    return;
  body.finish(symbol,
              AffineMap::get(0, event::kStepSymbols,
                             {plan.symbol(event::kOutputs) * tiles},
                             plan.context()),
              plan.program);
}

/// Where a rank has a part, its weights are taken from those of all.
void Update::takeOwn(PhaseBuilder &phase, int64_t size) {
  const Shard &shard = *trainable.shard;
  Box own = rowsOfTask(phase, shard.weight, size),
      whole = phase.whole(trainable.weight), place = phase.whole(shard.place);
  AffineExpr first = phase.coordinate(0) * (size * shard.blocks.size);
  phase.writes(shard.weight, own);
  phase.reads(trainable.weight, whole);
  phase.reads(shard.place, place);
  phase.call("take_part",
             {phase.address(shard.weight, own),
              phase.address(trainable.weight, whole),
              phase.integer(shard.blocks.elements), phase.integer(shard.part()),
              phase.count({first}),
              phase.count({phase.constant(size * shard.blocks.size),
                           phase.constant(shard.part()) - first}),
              phase.address(shard.place, place)});
}

LogicalResult Update::tile(update::MapOp op) {
  View like = views[op.getInputs().front()];
  if (failed(expectOneShape(op, like)))
    return failure();
  int64_t rows = like.type.getDimension(0);
  int64_t size =
      std::max<int64_t>(1, kTileElements / like.type.getDimension(1));
  std::string name = nextName();
  PhaseBuilder pass = phase(name, ceilDiv(rows, size));
  if (trainable.shard && !trainable.shard->parts.weight)
    takeOwn(pass, size);
  SmallVector<BodyArgument> outputs;
  bool guarded = false;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    View &view = views[result];
    bool isKept = view.buffer != nullptr;
    guarded |= isKept;
    if (!isKept)
      view = plan.transient(plan.uniqueName(trainable.name + name + ".result"),
                            like.type, trainable.location);
    outputs.push_back(tileOf(pass, result, size));
    outputs.back().written = true;
  }
  UpdateBody body(pass, *this, op.getLoc(), plan.context());
  body.map(op.getBody(), readTiles(op, pass, size), outputs, gradientOf(op),
           guarded);
  call(body, pass, ceilDiv(rows, size), name);
  return success();
}

LogicalResult Update::tile(update::SumOp op) {
  View like = views[op.getInputs().front()];
  if (failed(expectOneShape(op, like)))
    return failure();
  int64_t rows = like.type.getDimension(0), width = op.getNumResults();
  int64_t size =
      std::max<int64_t>(1, kTileElements / like.type.getDimension(1));
  int64_t tiles = ceilDiv(rows, size);
  std::string name = nextName();
  View partials =
      plan.transient(plan.uniqueName(trainable.name + name + ".partial"),
                     matrix(tiles, width), trainable.location);
  {
    PhaseBuilder pass = phase(name, tiles);
    UpdateBody body(pass, *this, op.getLoc(), plan.context());
    BodyArgument part{"partials", partials, rowsOfTask(pass, partials, 1),
                      false, true};
    body.sum(op.getBody(), readTiles(op, pass, size), gradientOf(op), part);
    call(body, pass, tiles, name);
  }
  View total = plan.transient(plan.uniqueName(trainable.name + name + ".sums"),
                              matrix(1, width), trainable.location);
  name += ".total";
  PhaseBuilder pass = phase(name, 1);
  UpdateBody body(pass, *this, op.getLoc(), plan.context());
  body.total({"partials", partials, pass.whole(partials), true}, tiles, width,
             {"sums", total, pass.whole(total), false, true});
  call(body, pass, 1, name);
  sums[op] = total;
  return success();
}

LogicalResult Update::tile(update::ProductOp op) {
  // What is stored transposed is multiplied in the other order:
  // transposed(left right) = transposed(right) transposed(left).
  Value left = turned ? op.getRight() : op.getLeft();
  Value right = turned ? op.getLeft() : op.getRight();
  bool leftTransposed = turned ? op.getTransposeRight() : op.getTransposeLeft();
  bool rightTransposed =
      turned ? op.getTransposeLeft() : op.getTransposeRight();
  const View &a = views[left], &b = views[right];
  auto extents = [](const View &view, bool transposed) {
    int64_t rows = view.type.getDimension(0),
            columns = view.type.getDimension(1);
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  auto [n, depth] = extents(a, leftTransposed);
  auto [otherDepth, k] = extents(b, rightTransposed);
  if (depth != otherDepth)
    return op.emitOpError() << "cannot be tiled for " << trainable.name
                            << ": the matrices' inner dimensions are " << depth
                            << " and " << otherDepth;
  std::string name = plan.uniqueName(trainable.name + nextName());
  View out = plan.transient(name, matrix(n, k), trainable.location);
  int64_t height = plan.tiles().linearRows, width = plan.tiles().linearColumns;
  PhaseBuilder pass =
      plan.phase(name, trainable.location,
                 {plan.symbol(event::kOutputs) * ceilDiv(n, height),
                  plan.constant(ceilDiv(k, width))},
                 {ceilDiv(n, height), ceilDiv(k, width)});
  Box rows = pass.whole(a), columns = pass.whole(b), box = pass.whole(out);
  narrow(rows, leftTransposed ? 1 : 0, pass.coordinate(0), height);
  narrow(columns, rightTransposed ? 0 : 1, pass.coordinate(1), width);
  narrow(box, 0, pass.coordinate(0), height);
  narrow(box, 1, pass.coordinate(1), width);
  Matrix first = readMatrix(pass, a, rows),
         second = readMatrix(pass, b, columns);
  if (leftTransposed)
    first = first.transposed();
  if (rightTransposed)
    second = second.transposed();
  pass.writes(out, box);
  pass.needsScratch(productScratch(width));
  pass.call("product",
            {pass.address(out, box), pass.stride(out, 0), first.pointer,
             first.first, first.second, second.pointer, second.first,
             second.second, pass.null(), pass.null(), pass.integer(0),
             countOf(pass, 0, height, n), countOf(pass, 1, width, k),
             pass.integer(depth), pass.scratch(0)});
  views[op.getResult()] = out;
  return success();
}

LogicalResult tasks::tileUpdate(Trainable &trainable, update::GroupOp group,
                                const UpdateInputs &inputs, PlanBuilder &plan) {
  return Update(trainable, group, inputs, plan).run();
}

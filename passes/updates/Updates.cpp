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
  for (auto rule : module.getOps<update::RuleOp>()) {
    for (auto table : rule.getBody().getOps<update::WeightsOp>())
      if (llvm::none_of(weights, [&](update::WeightsOp known) {
            return known.getName() == table.getName();
          }))
        weights.push_back(table);
    for (auto number : rule.getBody().getOps<update::NumberOp>())
      if (!isGiven(number) &&
          llvm::none_of(numbers, [&](update::NumberOp known) {
            return known->getParentOp() == rule &&
                   known.getName() == number.getName();
          }))
        numbers.push_back(number);
  }
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

int64_t Optimizer::place(update::WeightsOp table) const {
  int64_t place = kOwn + numbers.size();
  for (update::WeightsOp known : weights) {
    if (known.getName() == table.getName())
      break;
    place += known.getCount();
  }
  return place;
}

int64_t Optimizer::count() const {
  int64_t count = kOwn + numbers.size();
  for (update::WeightsOp table : weights)
    count += table.getCount();
  return count;
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
  for (update::WeightsOp table : weights) {
    SmallVector<NamedAttribute> entry = {
        builder.getNamedAttr("name", table.getNameAttr()),
        builder.getNamedAttr(
            "shape", builder.getI64ArrayAttr(
                         cast<RankedTensorType>(table.getType()).getShape()))};
    if (std::optional<ArrayRef<float>> initial = table.getInitial())
      entry.push_back(
          builder.getNamedAttr("default", builder.getF32ArrayAttr(*initial)));
    entries.push_back(builder.getDictionaryAttr(entry));
  }
  return builder.getArrayAttr(entries);
}

/// Rows and columns of a matrix of a parameter; a vector is one row.
static std::pair<int64_t, int64_t> matrixOf(const Trainable &trainable) {
  ArrayRef<int64_t> shape = trainable.weight.type.getShape();
  return {trainable.rank() > 1 ? shape[shape.size() - 2] : 1, shape.back()};
}

/// Whether a rule takes a parameter transposed.
static bool isTurned(update::RuleOp rule, const Trainable &trainable) {
  auto [rows, columns] = matrixOf(trainable);
  return rule.getWide() && rows > columns;
}

/// Rows and columns, in memory, of the blocks that a rule's states are kept in;
/// none where they are F32. Of a matrix of one row blocks have one.
static std::optional<std::pair<int64_t, int64_t>>
blocksOf(update::RuleOp rule, const Trainable &trainable) {
  update::FormatOp format = rule.getAnyFormat();
  if (!format)
    return std::nullopt;
  std::pair<int64_t, int64_t> blocks = {format.getBlockRows(),
                                        format.getBlockColumns()};
  if (isTurned(rule, trainable))
    std::swap(blocks.first, blocks.second);
  if (matrixOf(trainable).first == 1)
    blocks.first = 1;
  return blocks;
}

CutUnit tasks::cutUnitOf(update::RuleOp rule, const Trainable &trainable) {
  auto blocks = blocksOf(rule, trainable);
  if (!blocks)
    return {};
  auto [rows, columns] = matrixOf(trainable);
  // A row of a vector's blocks is one of them.
  if (rows == 1)
    return {blocks->second, 0};
  return {blocks->first * columns, columns};
}

bool tasks::canBeCut(update::RuleOp rule, const Trainable &trainable) {
  if (!isElementwise(rule))
    return false;
  auto blocks = blocksOf(rule, trainable);
  if (!blocks)
    return true;
  // Experts lie behind one another in what is cut.
  auto [rows, columns] = matrixOf(trainable);
  bool isDivided = rows == 1 ? columns % blocks->second : rows % blocks->first;
  return !(trainable.isOfSeveral && isDivided) &&
         update::keepsZeros(*rule.getBody().getOps<update::MapOp>().begin(),
                            rule);
}

bool tasks::takesLayersTogether(update::RuleOp rule,
                                const Trainable &trainable) {
  auto blocks = blocksOf(rule, trainable);
  return isElementwise(rule) &&
         (!blocks || matrixOf(trainable).first % blocks->first == 0);
}

bool tasks::isElementwise(update::RuleOp rule) {
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
        together(takesLayersTogether(rule, trainable) && !trainable.shard),
        blocks(blocksOf(rule, trainable)) {}

  LogicalResult run();

  std::optional<float> constant(update::NumberOp number) override;
  NumberSource source(update::NumberOp number) override;
  NumberSource source(OpResult sum) override;
  NumberSource source(update::WeightsOp weights) override;
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
  FailureOr<ArrayAttr> shardsOfScales(ArrayAttr shards, size_t rank);
  LogicalResult bindArguments();
  LogicalResult keepState(unsigned number, const View &like,
                          ArrayRef<int64_t> layerShape,
                          const NamedAttrList &described);
  int64_t rowsOfTile(int64_t columns) const;
  void takeOwn(PhaseBuilder &phase, int64_t size);
  std::string nextName();
  PhaseBuilder phase(const std::string &name, int64_t tiles);
  LogicalResult tile(update::MapOp op);
  LogicalResult tile(update::SumOp op);
  LogicalResult tile(update::ProductOp op);
  LogicalResult tileAlong(update::SumOp op);
  /// Rows and columns, in memory, of a pass over an op's inputs, some of which
  /// may have one for all. Reports inputs of other shapes.
  FailureOr<std::pair<int64_t, int64_t>> shapeOf(Operation *op);
  /// Whether a tensor has several rows, or columns, in memory.
  bool has(Type tensor, unsigned dimension) const {
    return update::has(tensor, turned ? 1 - dimension : dimension);
  }
  std::string argumentName(Value value);
  BodyArgument tileOf(PhaseBuilder &phase, Value value, int64_t size);
  BodyArguments readTiles(Operation *op, PhaseBuilder &phase, int64_t size);
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
  /// Of states that are not in F32.
  std::optional<std::pair<int64_t, int64_t>> blocks;
  llvm::DenseMap<Value, View> views;
  /// Scales of those that are kept in blocks.
  llvm::DenseMap<Value, View> scales;
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

/// How ranks have parts of scales, of which a dimension has one for each block.
/// Reports where a part of the parameter has a part of a block.
FailureOr<ArrayAttr> Update::shardsOfScales(ArrayAttr shards, size_t rank) {
  if (!shards)
    return shards;
  Builder builder(plan.context());
  ArrayRef<int64_t> shape = trainable.weight.type.getShape();
  // What is cut last leaves the parameter's own extents.
  SmallVector<int64_t> left = {1, 1};
  std::tie(left[0], left[1]) = matrixOf(trainable);
  if (rank > left.size())
    left.insert(left.begin(), shape.begin(), shape.end() - 2);
  SmallVector<Attribute> result;
  for (auto shard : llvm::reverse(shards.getAsRange<event::ShardAttr>())) {
    auto dimension = static_cast<size_t>(shard.getDimension());
    int64_t extent = shard.getExtent(),
            part = std::exchange(left[dimension], extent);
    IntegerAttr granularity = shard.getGranularity();
    int64_t step = granularity ? granularity.getInt() : part;
    // Experts are whole.
    int64_t block = dimension + 2 < rank    ? 1
                    : dimension + 2 == rank ? blocks->first
                                            : blocks->second;
    if (step % block)
      return emitError(trainable.location)
             << "cannot be tiled for " << trainable.name << ": ranks of "
             << shard.getAxes() << " have parts of " << extent
             << (dimension + 2 == rank ? " rows" : " columns")
             << " that begin at multiples of " << step << ", and @"
             << rule.getSymName() << " keeps states in blocks of " << block
             << "; give the parameter another rule by an update.group, or use "
                "another mesh";
    result.push_back(event::ShardAttr::get(
        plan.context(), shard.getDimension(), ceilDiv(extent, block),
        shard.getAxes(),
        granularity ? builder.getI64IntegerAttr(step / block) : granularity,
        shard.getUnits()));
  }
  std::reverse(result.begin(), result.end());
  return builder.getArrayAttr(result);
}

/// Makes the memory of a state: of numbers, or of codes and scales.
LogicalResult Update::keepState(unsigned number, const View &like,
                                ArrayRef<int64_t> layerShape,
                                const NamedAttrList &described) {
  Value state = rule.getBody().getArgument(2 + number);
  StringRef name = cast<StringAttr>(rule.getStates()[number]).getValue();
  update::FormatOp format = rule.getFormat(state);
  Builder builder(plan.context());
  auto keep = [&](StringRef name, const View &like,
                  const NamedAttrList &described) {
    View view =
        kept(name, like, StringAttr(), described.getDictionary(plan.context()));
    view.buffer.setCarry(event::Carry::renewed);
    return view;
  };
  if (!format) {
    // Of vectors one row, or one column, of each matrix.
    View own = like;
    SmallVector<int64_t> shape(like.type.getShape()), layer(layerShape);
    NamedAttrList ofState = described;
    for (unsigned d : {0, 1})
      if (!has(state.getType(), d))
        shape[d] = layer[layer.size() - 2 + d] = 1;
    own.type = like.type.withShape(shape);
    if (described.get("shape") && !trainable.shard)
      ofState.set("shape", builder.getI64ArrayAttr(layer));
    views[state] = keep(name, own, ofState);
    return success();
  }
  View codes = like;
  codes.type = like.type.withElementType(builder.getI8Type());
  NamedAttrList ofCodes = described, ofScales = described;
  if (format.isUnsigned())
    ofCodes.set("element", builder.getStringAttr("u8"));
  views[state] = keep(name, codes, ofCodes);

  auto scalesOf = [&](int64_t rows, int64_t columns) {
    return SmallVector<int64_t>{ceilDiv(rows, blocks->first),
                                ceilDiv(columns, blocks->second)};
  };
  ArrayRef<int64_t> shape = like.type.getShape();
  SmallVector<int64_t> layer(layerShape.drop_back(2));
  llvm::append_range(layer,
                     scalesOf(layerShape[layer.size()], layerShape.back()));
  if (trainable.shard || trainable.shards) {
    FailureOr<ArrayAttr> shards = shardsOfScales(
        layer.size() == 2 ? trainable.shards : trainable.ownShards,
        layer.size());
    if (failed(shards))
      return failure();
    if (const Shard *shard = trainable.shard) {
      int64_t size = shard->blocks.size, columns = layerShape.back();
      shard->describe(ofScales, layer,
                      trainable.unit.columns
                          ? size / (blocks->first * columns) * layer.back()
                          : size / blocks->second,
                      *shards);
    } else {
      ofScales.set("shards", *shards);
      ofScales.set("shape", builder.getI64ArrayAttr(layer));
    }
  }
  View scaleLike = like;
  scaleLike.type = like.type.withShape(scalesOf(shape[0], shape[1]));
  scales[state] = keep((name + ".scale").str(), scaleLike, ofScales);
  return success();
}

LogicalResult Update::bindArguments() {
  auto [rows, columns] = matrixOf(trainable);
  turned = isTurned(rule, trainable);
  SmallVector<int64_t> layerShape = {rows, columns};
  if (trainable.isOfSeveral) {
    ArrayRef<int64_t> shape = trainable.weight.type.getShape();
    layerShape.assign(shape.begin(), shape.end());
  }
  View like;
  like.type = matrix(together ? rows * trainable.matrices() : rows, columns);
  Builder builder(plan.context());
  NamedAttrList described;
  described.set("role", builder.getStringAttr("optimizer"));
  described.set("of", builder.getStringAttr(trainable.name));
  if (const Shard *shard = trainable.shard) {
    for (auto [value, part] :
         {std::pair<Value, View>{rule.getParameter(), shard->weight},
          {rule.getGradient(), shard->gradient}})
      views[value] = trainable.unit.columns
                         ? shard->inRows(part, trainable.unit.columns)
                         : part;
    like.type = views[rule.getParameter()].type;
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
  for (unsigned i = 0; i < rule.getStates().size(); ++i)
    if (failed(keepState(i, like, layerShape, described)))
      return failure();
  // New values are written over the old ones.
  for (auto [i, value] : llvm::enumerate(rule.getReturn().getValues())) {
    Value old = rule.getBody().getArgument(i ? i + 1 : 0);
    views[value] = views[old];
    if (scales.contains(old))
      scales[value] = scales[old];
  }
  return success();
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
  if (failed(expectWhole()) || failed(bindArguments()))
    return failure();
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

NumberSource Update::source(update::WeightsOp weights) {
  return {"numbers", inputs.numbers, {inputs.optimizer.place(weights)}};
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

FailureOr<std::pair<int64_t, int64_t>> Update::shapeOf(Operation *op) {
  int64_t shape[2] = {1, 1};
  for (unsigned d : {0, 1})
    for (Value input : op->getOperands())
      if (has(input.getType(), d)) {
        shape[d] = views[input].type.getDimension(d);
        break;
      }
  for (Value input : op->getOperands()) {
    const View &view = views[input];
    for (unsigned d : {0, 1})
      if (has(input.getType(), d) && view.type.getDimension(d) != shape[d])
        return op->emitOpError()
               << "cannot be tiled for " << trainable.name
               << ": it goes through tensors of different shapes, "
               << matrix(shape[0], shape[1]) << " and " << view.type;
  }
  return std::pair(shape[0], shape[1]);
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
  bool hasRows = has(value.getType(), 0);
  BodyArgument tile = {argumentName(value), view,
                       hasRows ? rowsOfTask(phase, view, size)
                               : phase.whole(view)};
  tile.hasRows = hasRows;
  tile.hasColumns = has(value.getType(), 1);
  if (update::FormatOp format = rule.getFormat(value)) {
    const View &scale = scales[value];
    tile.scales = {format, scale,
                   rowsOfTask(phase, scale, size / blocks->first),
                   blocks->first, blocks->second};
  }
  return tile;
}

/// Of a pass over such tensors: whole blocks.
int64_t Update::rowsOfTile(int64_t columns) const {
  int64_t rows = std::max<int64_t>(1, kTileElements / columns);
  return blocks ? llvm::alignTo(rows, blocks->first) : rows;
}

BodyArguments Update::readTiles(Operation *op, PhaseBuilder &phase,
                                int64_t size) {
  BodyArguments tiles;
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
  if (int64_t bytes = body.scratchBytes()) {
    phase.needsScratch(bytes);
    Attribute pointer = phase.scratch(0);
    operands.append({pointer, pointer, phase.integer(0), phase.integer(bytes),
                     phase.integer(1)});
  }
  // Parameters of one shape and group have their bodies in common.
  const model::StepTensorType &shape = views[rule.getParameter()].type;
  std::string symbol = name.substr(1) + "." +
                       std::to_string(shape.getDimension(0)) + "x" +
                       std::to_string(shape.getDimension(1));
  if (blocks)
    symbol += ".blocks" + std::to_string(blocks->first) + "x" +
              std::to_string(blocks->second);
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
  const View &weight = views[rule.getParameter()];
  Box own = rowsOfTask(phase, weight, size),
      whole = phase.whole(trainable.weight), place = phase.whole(shard.place);
  int64_t elements = size * weight.type.getDimension(1);
  AffineExpr first = phase.coordinate(0) * elements;
  phase.writes(weight, own);
  phase.reads(trainable.weight, whole);
  phase.reads(shard.place, place);
  phase.call("take_part", {phase.address(weight, own),
                           phase.address(trainable.weight, whole),
                           phase.integer(shard.blocks.elements),
                           phase.integer(shard.part()), phase.count({first}),
                           phase.count({phase.constant(elements),
                                        phase.constant(shard.part()) - first}),
                           phase.address(shard.place, place)});
}

LogicalResult Update::tile(update::MapOp op) {
  auto shape = shapeOf(op);
  if (failed(shape))
    return failure();
  auto [rows, columns] = *shape;
  int64_t size = rowsOfTile(columns);
  std::string name = nextName();
  PhaseBuilder pass = phase(name, ceilDiv(rows, size));
  if (trainable.shard && !trainable.shard->parts.weight)
    takeOwn(pass, size);
  BodyArguments outputs;
  bool guarded = false;
  for (Value result : op.getResults()) {
    View &view = views[result];
    bool isKept = view.buffer != nullptr;
    guarded |= isKept;
    if (!isKept)
      view = plan.transient(plan.uniqueName(trainable.name + name + ".result"),
                            matrix(rows, columns), trainable.location);
    outputs.push_back(tileOf(pass, result, size));
    outputs.back().written = true;
  }
  UpdateBody body(pass, *this, op.getLoc(), plan.context());
  body.map(op.getBody(), readTiles(op, pass, size), outputs, gradientOf(op),
           guarded);
  call(body, pass, ceilDiv(rows, size), name);
  return success();
}

/// Sums of rows are the task's that has the rows; of columns each task leaves
/// those of its rows, which another one adds up.
LogicalResult Update::tileAlong(update::SumOp op) {
  auto shape = shapeOf(op);
  if (failed(shape))
    return failure();
  auto [rows, columns] = *shape;
  bool ofRows = has(op.getResultTypes().front(), 0);
  int64_t size = rowsOfTile(columns), tiles = ceilDiv(rows, size);
  std::string name = nextName();
  auto transient = [&](StringRef suffix, model::StepTensorType type) {
    return plan.transient(
        plan.uniqueName((trainable.name + name + suffix).str()), type,
        trainable.location);
  };
  BodyArguments partials, sums;
  {
    PhaseBuilder pass = phase(name, tiles);
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      views[result] =
          transient(".sums", ofRows ? matrix(rows, 1) : matrix(1, columns));
      if (ofRows) {
        sums.push_back(tileOf(pass, result, size));
        sums.back().written = true;
        continue;
      }
      View partial = transient(".partial", matrix(tiles, columns));
      partials.push_back({"partials." + std::to_string(i), partial,
                          rowsOfTask(pass, partial, 1), false, true});
    }
    UpdateBody body(pass, *this, op.getLoc(), plan.context());
    if (ofRows)
      body.sumRows(op.getBody(), readTiles(op, pass, size), gradientOf(op),
                   sums);
    else
      body.sumColumns(op.getBody(), readTiles(op, pass, size), gradientOf(op),
                      partials);
    call(body, pass, tiles, name);
  }
  if (ofRows)
    return success();
  name += ".total";
  PhaseBuilder pass = phase(name, 1);
  for (auto [partial, result] : llvm::zip_equal(partials, op.getResults())) {
    partial.box = pass.whole(partial.view);
    std::swap(partial.read, partial.written);
    sums.push_back(tileOf(pass, result, 1));
    sums.back().written = true;
  }
  UpdateBody body(pass, *this, op.getLoc(), plan.context());
  body.totalColumns(partials, sums);
  call(body, pass, 1, name);
  return success();
}

LogicalResult Update::tile(update::SumOp op) {
  if (op.getDimension())
    return tileAlong(op);
  auto shape = shapeOf(op);
  if (failed(shape))
    return failure();
  auto [rows, columns] = *shape;
  int64_t width = op.getNumResults(), size = rowsOfTile(columns);
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

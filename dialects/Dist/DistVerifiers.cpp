//===- DistVerifiers.cpp - what the dist dialect promises -----------------===//
//
// Each check is a line under **Constraints** in DistOps.td and a case in
// test/dialects/Dist/errors.mlir.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Placement.h"
#include "dialects/Dist/Prediction.h"

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// A placement for each value.
static LogicalResult verifyList(Operation *op, NamedAttribute attribute,
                                TypeRange types) {
  auto emitError = [&] {
    return op->emitError() << "'" << attribute.getName().getValue() << "': ";
  };
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!list || list.size() != types.size() ||
      !llvm::all_of(list, llvm::IsaPred<PlacementAttr>))
    return emitError() << "expected " << types.size()
                       << " placements in brackets";
  MeshOp mesh = findMesh(op);
  for (auto [type, placement] : llvm::zip(types, list))
    if (failed(verifyPlacement(emitError, type, cast<PlacementAttr>(placement),
                               mesh)))
      return failure();
  return success();
}

static LogicalResult verifyAxes(Operation *op, NamedAttribute attribute) {
  auto emitError = [&] {
    return op->emitError() << "'" << attribute.getName().getValue() << "': ";
  };
  auto axes = dyn_cast<ArrayAttr>(attribute.getValue());
  MeshOp mesh = findMesh(op);
  if (!axes || axes.empty() || !llvm::all_of(axes, llvm::IsaPred<StringAttr>))
    return emitError() << "expected names of axes in brackets";
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!mesh || !mesh.getSize(cast<StringAttr>(axis)))
      return emitError() << "there is no axis " << axis;
    if (llvm::is_contained(axes.getValue().take_front(i), axis))
      return emitError() << "axis " << axis << " occurs twice";
  }
  return success();
}

static LogicalResult verifyJoined(AllReduceOp op) {
  auto before = [](AllReduceOp op) {
    return dyn_cast_or_null<AllReduceOp>(op->getPrevNode());
  };
  AllReduceOp other = before(op);
  if (!other || other.getAxes() != op.getAxes())
    return op.emitOpError()
           << "is joined to no all_reduce over " << op.getAxes();
  for (; other; other = other->hasAttr(kJoined) ? before(other) : nullptr)
    if (op.getX() == other.getResult())
      return op.emitOpError() << "is joined to the all_reduce that makes its x";
  return success();
}

static LogicalResult verifyPosition(ProgramOp program, Attribute attribute) {
  auto entries = dyn_cast<ArrayAttr>(attribute);
  auto axis = entries && entries.size() == 2 ? dyn_cast<StringAttr>(entries[0])
                                             : StringAttr();
  auto index = axis ? dyn_cast<IntegerAttr>(entries[1]) : IntegerAttr();
  MeshOp mesh = findMesh(program);
  if (index && index.getType().isInteger(64) && mesh && index.getInt() >= 0 &&
      index.getInt() < mesh.getSize(axis) && !program.getTraining())
    return success();
  return program.emitError()
         << "'" << kPosition
         << "': expected an axis of the mesh and a place on it, of a program "
            "that decodes";
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kPlacements || name == kComputed)
    return verifyList(op, attribute, op->getResultTypes());
  if (name == kOperands)
    return verifyList(op, attribute, op->getOperandTypes());
  if (name == kArguments && isa<ProgramOp>(op))
    return verifyList(op, attribute, op->getRegion(0).getArgumentTypes());
  if (name == kGradient && isa<GradientOp>(op))
    return verifyList(op,
                      {attribute.getName(),
                       ArrayAttr::get(getContext(), {attribute.getValue()})},
                      op->getOperand(0).getType());
  if (auto sum = dyn_cast<AllReduceOp>(op); sum && name == kJoined)
    return verifyJoined(sum);
  if ((name == kPlanned && isa<ProgramOp>(op)) ||
      (name == kSummed && isa<GradientOp>(op)) ||
      (name == kGathered && isa<ParameterOp>(op)))
    return verifyAxes(op, attribute);
  if (name == kScattered && isa<GradientOp>(op)) {
    auto when = dyn_cast<StringAttr>(attribute.getValue());
    if (when && (when == "update" || when == "step") && op->hasAttr(kSummed))
      return success();
    return op->emitError() << "'" << kScattered
                           << "': expected \"update\" or \"step\", beside '"
                           << kSummed << "'";
  }
  if (name == kScatteredOver && isa<GradientOp>(op)) {
    if (failed(verifyAxes(op, attribute)))
      return failure();
    auto axes = cast<ArrayAttr>(attribute.getValue());
    auto summed = op->getAttrOfType<ArrayAttr>(kSummed);
    if (op->hasAttr(kScattered) && summed && axes.size() < summed.size() &&
        llvm::all_of(axes, [&](Attribute axis) {
          return llvm::is_contained(summed, axis);
        }))
      return success();
    return op->emitError() << "'" << kScatteredOver
                           << "': expected some axes of '" << kSummed
                           << "', not all, beside '" << kScattered << "'";
  }
  if (name == kPartOf && isa<StackOp>(op)) {
    auto layer = dyn_cast<IntegerAttr>(attribute.getValue());
    // A program that decodes is one place's, without stages in it.
    auto program = op->getParentOfType<ProgramOp>();
    const bool isOfPlace = op->getParentOfType<StageOp>() ||
                           (program && program->hasAttr(kPosition));
    if (layer && layer.getInt() > 0 && isOfPlace)
      return success();
    return op->emitError() << "'" << kPartOf
                           << "': expected a layer after the first, of a stack "
                              "in a stage, or in a program of a position";
  }
  if (auto program = dyn_cast<ProgramOp>(op); program && name == kPosition)
    return verifyPosition(program, attribute.getValue());
  if (name == kBubble && isa<ScheduleOp>(op) &&
      isa<FloatAttr>(attribute.getValue()))
    return success();
  if (name == kSharedHeads &&
      isa<SequenceAttentionOp, AttentionOp, AttentionQueryGradientOp,
          AttentionKeyValueGradientOp>(op) &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitError() << "'" << name << "' is no attribute that '"
                         << op->getName() << "' has";
}

LogicalResult MeshOp::verify() {
  auto module = dyn_cast<ModuleOp>((*this)->getParentOp());
  if (!module)
    return emitOpError() << "stands outside of a module";
  if (*module.getOps<MeshOp>().begin() != *this)
    return emitOpError() << "is the module's second mesh";
  ArrayRef<int64_t> sizes = getSizes();
  if (sizes.empty() || sizes.size() != getNames().size())
    return emitOpError() << "has " << getNames().size() << " names and "
                         << sizes.size() << " sizes, expected one or more axes";
  int64_t ranks = 1;
  for (auto [i, name] : llvm::enumerate(getNames())) {
    if (llvm::is_contained(ArrayRef(getNames().getValue()).take_front(i), name))
      return emitOpError() << "has two axes " << name;
    if (sizes[i] < 1)
      return emitOpError() << "axis " << name << " has size " << sizes[i]
                           << ", expected at least 1";
    if (sizes[i] > (1 << 20) / ranks)
      return emitOpError() << "has more than 1048576 ranks";
    ranks *= sizes[i];
  }
  for (auto name : getBatch().getAsRange<StringAttr>())
    if (!getSize(name))
      return emitOpError() << "has no axis " << name << " for batches";
  return success();
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static SmallVector<StringAttr> axesOf(ArrayAttr axes) {
  return llvm::to_vector(axes.getAsRange<StringAttr>());
}

/// Both placements are ones of this type.
template <typename OpT>
static LogicalResult verifyPlacements(OpT op, Type type) {
  auto emitError = [&] { return op.emitOpError(); };
  MeshOp mesh = findMesh(op);
  return success(
      succeeded(verifyPlacement(emitError, type, op.getFrom(), mesh)) &&
      succeeded(verifyPlacement(emitError, type, op.getTo(), mesh)));
}

template <typename OpT> static LogicalResult verifyPlacements(OpT op) {
  return verifyPlacements(op, op.getX().getType());
}

/// The dimension without its last axes; null if they are others.
static DimensionAttr withoutLast(DimensionAttr dimension,
                                 ArrayRef<StringAttr> axes) {
  ArrayRef<StringAttr> all = dimension.getAxes();
  if (axes.empty() || all.size() < axes.size() ||
      all.take_back(axes.size()) != axes)
    return {};
  ArrayRef<StringAttr> rest = all.drop_back(axes.size());
  if (!rest.empty() && dimension.isRagged())
    return {};
  return DimensionAttr::getShard(dimension.getContext(), rest);
}

/// A placement without the last axes of a dimension; null if it has others.
static PlacementAttr withoutLast(PlacementAttr placement, int64_t index,
                                 ArrayRef<StringAttr> axes) {
  if (index < 0 || index >= int64_t(placement.getDimensions().size()))
    return {};
  DimensionAttr rest = withoutLast(placement.getDimensions()[index], axes);
  return rest ? placement.withDimension(index, rest) : PlacementAttr();
}

/// A placement without some partial axes; null if they are not partial.
static PlacementAttr withoutPartial(PlacementAttr placement,
                                    ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> rest;
  for (StringAttr axis : placement.getPartialAxes())
    if (!llvm::is_contained(axes, axis))
      rest.push_back(axis);
  if (axes.empty() ||
      rest.size() + axes.size() != placement.getPartialAxes().size())
    return {};
  return placement.withPartial(
      rest.empty() ? Reduction::sum : placement.getReduction(), rest);
}

template <typename OpT>
static LogicalResult expectMove(OpT op, PlacementAttr from, PlacementAttr to) {
  if (from && from == to)
    return success();
  return op.emitOpError() << "over " << op.getAxes() << " does not lead from "
                          << op.getFrom() << " to " << op.getTo();
}

template <typename OpT>
static LogicalResult expectPayload(OpT op, Value tensor,
                                   PlacementAttr placement) {
  std::string bytes = countBytes(cast<StepTensorType>(tensor.getType()),
                                 placement, findMesh(op));
  if (op.getPayload() == bytes)
    return success();
  return op.emitOpError() << "has payload '" << op.getPayload()
                          << "', expected '" << bytes << "'";
}

LogicalResult ReshardOp::verify() {
  if (failed(verifyPlacements(*this)))
    return failure();
  PlacementAttr from = getFrom(), to = getTo();
  for (StringAttr axis : to.getPartialAxes())
    if (to.getReduction() != Reduction::sum &&
        !llvm::is_contained(from.getPartialAxes(), axis))
      return emitOpError() << "makes a partial maximum over " << axis
                           << ", expected a sum";
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyPlacements(*this)) ||
      failed(expectMove(*this, withoutPartial(getFrom(), axesOf(getAxes())),
                        getTo())))
    return failure();
  return expectPayload(*this, getX(), getFrom());
}

/// In the program of all ranks a value stays of its type; in that of one, rows
/// or numbers become a part of them, or a part all.
template <typename OpT>
static LogicalResult expectLocalTypes(OpT op, Type whole, Type part) {
  if (whole == part)
    return success();
  auto type = dyn_cast<StepTensorType>(whole);
  int64_t dimension = op.getDimensionAttr().getInt();
  int64_t ranks = findMesh(op).countRanks(axesOf(op.getAxes()));
  if (type && dimension >= 0 && dimension < type.getRank()) {
    SmallVector<int64_t> shape(type.getShape());
    int64_t &size = shape[dimension];
    if (size == kRows)
      size = partOfRows(ranks);
    else if (!isSymbol(size) && size % ranks == 0)
      size /= ranks;
    if (type.withShape(shape) == part)
      return success();
  }
  return op.emitOpError() << "makes " << op.getResult().getType() << " of "
                          << op.getX().getType() << " over " << ranks
                          << " ranks";
}

LogicalResult AllGatherOp::verify() {
  int64_t dimension = getDimensionAttr().getInt();
  if (failed(verifyPlacements(*this, getResult().getType())) ||
      failed(expectMove(*this,
                        withoutLast(getFrom(), dimension, axesOf(getAxes())),
                        getTo())) ||
      failed(expectLocalTypes(*this, getResult().getType(), getX().getType())))
    return failure();
  return expectPayload(*this, getResult(), getTo());
}

LogicalResult ReduceScatterOp::verify() {
  SmallVector<StringAttr> axes = axesOf(getAxes());
  int64_t dimension = getDimensionAttr().getInt();
  if (failed(verifyPlacements(*this)) ||
      failed(expectMove(*this, withoutPartial(getFrom(), axes),
                        withoutLast(getTo(), dimension, axes))) ||
      failed(expectLocalTypes(*this, getX().getType(), getResult().getType())))
    return failure();
  return expectPayload(*this, getX(), getFrom());
}

LogicalResult AllToAllOp::verify() {
  SmallVector<StringAttr> axes = axesOf(getAxes());
  int64_t source = getSourceAttr().getInt();
  int64_t dimension = getDimensionAttr().getInt();
  if (failed(verifyPlacements(*this)) ||
      failed(expectMove(*this, withoutLast(getFrom(), source, axes),
                        withoutLast(getTo(), dimension, axes))) ||
      failed(expectLocalTypes(*this, getX().getType(), getResult().getType())))
    return failure();
  return expectPayload(*this, getX(), getFrom());
}

LogicalResult dist::SliceOp::verify() {
  int64_t dimension = getDimensionAttr().getInt();
  if (failed(verifyPlacements(*this)) ||
      failed(expectMove(*this, getFrom(),
                        withoutLast(getTo(), dimension, axesOf(getAxes())))))
    return failure();
  return expectLocalTypes(*this, getX().getType(), getResult().getType());
}

LogicalResult FirstRankOp::verify() {
  if (failed(verifyPlacements(*this)))
    return failure();
  if (getTo().getReduction() != Reduction::sum)
    return emitOpError() << "makes a partial maximum, expected a sum";
  return expectMove(*this, getFrom(),
                    withoutPartial(getTo(), axesOf(getAxes())));
}

//===----------------------------------------------------------------------===//
// Rows that go to experts of other ranks
//===----------------------------------------------------------------------===//

int64_t ExchangeCountsOp::countExperts() { return shapeOf(getResult())[0] - 2; }

int64_t ExchangeCountsOp::countRanks() {
  return findMesh(*this).countRanks(axesOf(getAxes()));
}

int64_t ExchangeCountsOp::countChoices() {
  return shapeOf(getBounds().getDefiningOp<DispatchOp>().getExperts())[1];
}

static LogicalResult expectPayload(Operation *op, StringRef payload,
                                   Value tensor) {
  auto type = cast<StepTensorType>(tensor.getType());
  std::string bytes = countBytes(
      type, replicated(op->getContext(), type.getRank()), findMesh(op));
  if (payload == bytes)
    return success();
  return op->emitOpError() << "has payload '" << payload << "', expected '"
                           << bytes << "'";
}

static LogicalResult expectTensors(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (!isa<StepTensorType>(type))
      return op->emitOpError() << type << " is no tensor";
  for (Type type : op->getResultTypes())
    if (!isa<StepTensorType>(type))
      return op->emitOpError() << type << " is no tensor";
  return success();
}

/// The ranks of axes that exchange rows.
static FailureOr<int64_t> countExchanging(Operation *op, ArrayAttr axes) {
  MeshOp mesh = findMesh(op);
  const int64_t ranks = mesh ? mesh.countRanks(axesOf(axes)) : 0;
  for (StringAttr axis : axesOf(axes))
    if (!mesh || !mesh.getSize(axis))
      return op->emitOpError() << "there is no axis " << axis;
  if (axes.empty())
    return op->emitOpError() << "is over no axis";
  return ranks;
}

LogicalResult ExchangeCountsOp::verify() {
  FailureOr<int64_t> ranks = countExchanging(*this, getAxes());
  if (failed(ranks) || failed(expectTensors(*this)))
    return failure();
  auto dispatch = getBounds().getDefiningOp<DispatchOp>();
  if (!dispatch || dispatch.getBounds() != getBounds() || dispatch.getAxes())
    return emitOpError() << "bounds are not made by model.dispatch of all "
                            "experts";
  const int64_t experts = dispatch.countExperts();
  if (experts % *ranks)
    return emitOpError() << *ranks << " ranks do not divide " << experts
                         << " experts";
  const int64_t own = experts / *ranks;
  for (Value value : getResults())
    if (!cast<StepTensorType>(value.getType()).getElementType().isInteger(32))
      return emitOpError() << "results are not i32";
  if (failed(expectShape(*this, "the result", getResult(), {own + 2})) ||
      failed(expectShape(*this, "counts", getCounts(),
                         {*ranks, int64_t(llvm::alignTo(own, 16))})))
    return failure();
  return expectPayload(*this, getPayload(), getCounts());
}

/// `home` is of a rank's own rows, `far` of what it has received.
template <typename OpT>
static LogicalResult verifyRowExchange(OpT op, Value home, Value far) {
  if (failed(expectTensors(op)))
    return failure();
  auto counts = op.getReceived().template getDefiningOp<ExchangeCountsOp>();
  if (!counts || counts.getResult() != op.getReceived() ||
      counts.getCounts() != op.getCounts() ||
      counts.getBounds() != op.getBounds() || counts.getAxes() != op.getAxes())
    return op.emitOpError() << "received and counts are not made by one "
                               "dist.exchange_counts of bounds over "
                            << op.getAxes();
  const int64_t k = counts.countChoices();
  ArrayRef<int64_t> shape = shapeOf(home);
  if (shape.size() != 3 || isSymbol(shape[2]))
    return op.emitOpError() << "places of rows have shape " << text(shape)
                            << ", expected [rows, k, width]";
  if (failed(expectShape(op, "the value of a rank's own rows", home,
                         {kRows, k, shape[2]})) ||
      failed(expectShape(op, "the value of received rows", far,
                         {kRows, k * counts.countRanks(), shape[2]})) ||
      failed(expectFloat32(op, "x", op.getX())) ||
      failed(expectFloat32(op, "the result", op.getResult())))
    return failure();
  return expectPayload(op, op.getPayload(), home);
}

LogicalResult DispatchRowsOp::verify() {
  return verifyRowExchange(*this, getX(), getResult());
}

LogicalResult CombineRowsOp::verify() {
  return verifyRowExchange(*this, getResult(), getX());
}

//===----------------------------------------------------------------------===//
// Cross-entropy over a sharded vocabulary
//===----------------------------------------------------------------------===//

/// A number for every row, or two.
static LogicalResult expectNumbers(Operation *op, StringRef what, Value value,
                                   ArrayRef<int64_t> shape) {
  if (!isa<StepTensorType>(value.getType()))
    return op->emitOpError() << what << " is no tensor";
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectFloat32(op, what, value);
}

static LogicalResult expectIndexRows(Operation *op, Value targets) {
  if (!isa<StepTensorType>(targets.getType()))
    return op->emitOpError() << "targets are no tensor";
  return expectIndices(op, "targets", targets);
}

template <typename OpT> static LogicalResult verifyLogits(OpT op) {
  auto x = dyn_cast<StepTensorType>(op.getX().getType());
  auto weight = dyn_cast<StepTensorType>(op.getWeight().getType());
  if (!x || x.getRank() != 2 || x.getDimension(0) != kRows ||
      isSymbol(x.getDimension(1)) || !x.getElementType().isF32())
    return op.emitOpError()
           << "x is " << op.getX().getType() << ", expected [rows, K] in f32";
  if (!weight || weight.getRank() != 2 || !weight.isStatic() ||
      weight.getDimension(1) != x.getDimension(1))
    return op.emitOpError() << "the weight is " << op.getWeight().getType()
                            << ", expected [V, " << x.getDimension(1) << "]";
  if (Value bias = op.getBias()) {
    if (!isa<StepTensorType>(bias.getType()))
      return op.emitOpError() << "the bias is no tensor";
    if (failed(expectShape(op, "the bias", bias, {weight.getDimension(0)})))
      return failure();
  }
  if (failed(expectFinite(op, "scale", op.getScale())))
    return failure();
  return expectNotNegative(op, "softcap", op.getSoftcap());
}

/// Nothing, or a teacher's tokens and numbers.
static LogicalResult verifyTeacher(Operation *op, OperandRange teacher) {
  if (teacher.empty())
    return success();
  auto tokens = teacher.size() == 2
                    ? dyn_cast<StepTensorType>(teacher[0].getType())
                    : StepTensorType();
  if (!tokens || tokens.getRank() != 2 || tokens.getDimension(0) != kRows ||
      tokens.getDimension(1) < 1 || !tokens.getElementType().isInteger(32))
    return op->emitOpError()
           << "a teacher is its tokens, [rows, N] in i32, and its numbers";
  return expectNumbers(op, "the teacher's numbers", teacher[1],
                       {kRows, tokens.getDimension(1) + kTeacherNumbers});
}

/// What there is of a row without a teacher, and with one.
static Shape maximaOf(OperandRange teacher) {
  return teacher.empty() ? Shape({kRows}) : Shape({kRows, kTeacherMaxima});
}
static Shape sumsOf(OperandRange teacher) {
  return {kRows, teacher.empty() ? 2 : kTeacherSums};
}

LogicalResult LogitMaximumOp::verify() {
  if (failed(verifyLogits(*this)) || failed(verifyTeacher(*this, getTeacher())))
    return failure();
  return expectNumbers(*this, "the result", getResult(),
                       maximaOf(getTeacher()));
}

LogicalResult LogitSumsOp::verify() {
  if (failed(verifyLogits(*this)) ||
      failed(verifyTeacher(*this, getTeacher())) ||
      failed(expectIndexRows(*this, getTargets())) ||
      failed(expectNumbers(*this, "the maximum", getMaximum(),
                           maximaOf(getTeacher()))))
    return failure();
  return expectNumbers(*this, "the result", getResult(), sumsOf(getTeacher()));
}

LogicalResult LossesOp::verify() {
  if (failed(expectNumbers(*this, "the maximum", getMaximum(),
                           maximaOf(getTeacher()))) ||
      failed(expectNumbers(*this, "sums", getSums(), sumsOf(getTeacher()))) ||
      failed(expectNumbers(*this, "weights", getWeights(), {kRows})))
    return failure();
  if (getTeacher().empty())
    return expectNumbers(*this, "the result", getResult(), {kRows});
  auto numbers = getTeacher().size() == 1
                     ? dyn_cast<StepTensorType>(getTeacher()[0].getType())
                     : StepTensorType();
  if (!numbers || numbers.getRank() != 2 || numbers.getDimension(0) != kRows ||
      numbers.getDimension(1) <= kTeacherNumbers ||
      !numbers.getElementType().isF32())
    return emitOpError() << "a teacher is its numbers, [rows, N + "
                         << kTeacherNumbers << "] in f32";
  return expectNumbers(*this, "the result", getResult(),
                       {kRows, kTeacherLosses});
}

LogicalResult LossGradientsOp::verify() {
  if (failed(verifyLogits(*this)) ||
      failed(expectIndexRows(*this, getTargets())) ||
      failed(verifyTeacher(*this, getTeacher())) ||
      failed(expectNumbers(*this, "weights", getWeights(), {kRows})) ||
      failed(expectNumbers(*this, "the maximum", getMaximum(),
                           maximaOf(getTeacher()))) ||
      failed(expectNumbers(*this, "sums", getSums(), sumsOf(getTeacher()))))
    return failure();
  if (getDx().getType() != getX().getType())
    return emitOpError() << "dx is " << getDx().getType() << ", expected "
                         << getX().getType();
  if (failed(
          expectNumbers(*this, "dweight", getDweight(), shapeOf(getWeight()))))
    return failure();
  if (!getBias() != !getDbias())
    return emitOpError() << "has a bias without a dbias, or the other way "
                            "round, expected both or neither";
  return getBias() ? expectNumbers(*this, "dbias", getDbias(),
                                   {shapeOf(getWeight())[0]})
                   : success();
}

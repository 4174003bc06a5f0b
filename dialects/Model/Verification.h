//===- Verification.h - pieces of the model ops' verifiers ----------------===//

#ifndef BATON_DIALECTS_MODEL_VERIFICATION_H
#define BATON_DIALECTS_MODEL_VERIFICATION_H

#include "dialects/Model/Model.h"

namespace baton::model {

using Shape = mlir::SmallVector<int64_t, 4>;
using mlir::APFloat;
using mlir::ArrayRef;
using mlir::cast;
using mlir::failed;
using mlir::failure;
using mlir::FloatType;
using mlir::isa;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::StringRef;
using mlir::success;
using mlir::Type;
using mlir::Value;

inline std::string text(ArrayRef<int64_t> shape) {
  std::string result = "[";
  for (auto [i, dimension] : llvm::enumerate(shape))
    result += (i ? ", " : "") + dimensionName(dimension);
  return result + "]";
}

/// `what` has exactly this shape.
inline LogicalResult expectShape(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> shape) {
  auto type = cast<StepTensorType>(value.getType());
  if (type.getShape() == shape)
    return success();
  return op->emitOpError() << what << " has shape " << text(type.getShape())
                           << ", expected " << text(shape);
}

inline LogicalResult expectRank(Operation *op, StringRef what, Value value,
                                int64_t rank) {
  auto type = cast<StepTensorType>(value.getType());
  if (type.getRank() == rank)
    return success();
  return op->emitOpError() << what << " has " << type.getRank()
                           << " dimensions, expected " << rank;
}

inline LogicalResult expectFloat32(Operation *op, StringRef what, Value value) {
  Type element = cast<StepTensorType>(value.getType()).getElementType();
  if (element.isF32())
    return success();
  return op->emitOpError() << what << " has " << element
                           << " elements, expected f32";
}

inline LogicalResult expectFloating(Operation *op, StringRef what,
                                    Value value) {
  Type element = cast<StepTensorType>(value.getType()).getElementType();
  if (isa<FloatType>(element))
    return success();
  return op->emitOpError() << what << " has " << element
                           << " elements, expected floating-point";
}

/// The elements of a matrix that linears, or embeddings that share one, read.
inline LogicalResult expectWeight(Operation *op, StringRef what, Value value) {
  Type element = cast<StepTensorType>(value.getType()).getElementType();
  if (isa<FloatType, QuantizedType>(element))
    return success();
  return op->emitOpError() << what << " has " << element
                           << " elements, expected floating-point or quantised";
}

inline LogicalResult expectSameType(Operation *op, Value lhs, Value rhs) {
  if (lhs.getType() == rhs.getType())
    return success();
  return op->emitOpError() << "types differ: " << lhs.getType() << " and "
                           << rhs.getType();
}

inline LogicalResult expectTypeOf(Operation *op, StringRef what, Value value,
                                  StringRef other, Value model) {
  if (value.getType() == model.getType())
    return success();
  return op->emitOpError() << what << " has type " << value.getType()
                           << ", expected that of " << other << ", "
                           << model.getType();
}

inline LogicalResult expectStatic(Operation *op, StringRef what, Value value) {
  if (cast<StepTensorType>(value.getType()).isStatic())
    return success();
  return op->emitOpError() << what << " has a dimension that only a step knows";
}

inline LogicalResult expectFinite(Operation *op, StringRef what,
                                  const APFloat &value) {
  if (value.isFinite())
    return success();
  return op->emitOpError() << what << " is not finite";
}

inline LogicalResult expectNotNegative(Operation *op, StringRef what,
                                       const APFloat &value) {
  if (value.isFinite() && !(value.isNegative() && !value.isZero()))
    return success();
  return op->emitOpError() << what << " is negative or not finite";
}

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<StepTensorType>(value.getType()).getShape();
}

inline LogicalResult verifySameTypeUnary(Operation *op, Value x, Value result) {
  if (failed(expectSameType(op, x, result)))
    return failure();
  return expectFloating(op, "operand", x);
}

inline LogicalResult verifySameTypeBinary(Operation *op, Value lhs, Value rhs,
                                          Value result) {
  if (failed(expectSameType(op, lhs, rhs)))
    return failure();
  return verifySameTypeUnary(op, lhs, result);
}

/// Scores of every head's rows for positions.
inline LogicalResult verifyMask(Operation *op, StringRef what, Value x,
                                Value result) {
  if (failed(expectRank(op, what, x, 3)) ||
      failed(expectFloat32(op, what, x)) ||
      failed(expectSameType(op, x, result)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  if (isSymbol(shape[0]) || shape[1] != kRows || shape[2] != kKv)
    return op->emitOpError() << what << " has shape " << text(shape)
                             << ", expected [heads, rows, kv]";
  return success();
}

/// `what` is [rows, heads, dim] in f32, the latter two numbers.
inline LogicalResult expectHeads(Operation *op, StringRef what, Value value) {
  if (failed(expectRank(op, what, value, 3)) ||
      failed(expectFloat32(op, what, value)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape[0] == kRows && !isSymbol(shape[1]) && !isSymbol(shape[2]))
    return success();
  return op->emitOpError() << what << " has shape " << text(shape)
                           << ", expected [rows, heads, dim]";
}

/// A number for every row.
inline LogicalResult expectIndices(Operation *op, StringRef what, Value value) {
  if (failed(expectShape(op, what, value, {kRows})))
    return failure();
  if (cast<StepTensorType>(value.getType()).getElementType().isInteger(32))
    return success();
  return op->emitOpError() << what << " are not i32";
}

/// x is [R, K], R a symbol, in f32.
inline LogicalResult expectRowsByWidth(Operation *op, Value x) {
  if (failed(expectRank(op, "x", x, 2)) || failed(expectFloat32(op, "x", x)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  if (!isSymbol(shape[0]) || isSymbol(shape[1]))
    return op->emitOpError() << "x has shape " << text(shape)
                             << ", expected a symbol and a number";
  return success();
}

/// What a row's norm divides by.
inline LogicalResult verifySquares(Operation *op, StringRef what, Value squares,
                                   Value x) {
  if (failed(expectShape(op, what, squares, {shapeOf(x)[0], 1})))
    return failure();
  return expectFloat32(op, what, squares);
}

inline LogicalResult verifyNormEnd(Operation *op, Value x, Value squares,
                                   int64_t width, const APFloat &epsilon) {
  if (failed(expectRowsByWidth(op, x)) ||
      failed(verifySquares(op, "the squares", squares, x)) ||
      failed(expectNotNegative(op, "epsilon", epsilon)))
    return failure();
  if (width < 1)
    return op->emitOpError() << "width is " << width << ", expected at least 1";
  return success();
}

inline LogicalResult verifyRope(Operation *op, Value x, Value table,
                                Value result) {
  if (failed(expectRank(op, "x", x, 3)) || failed(expectFloat32(op, "x", x)) ||
      failed(expectSameType(op, x, result)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x), angles = shapeOf(table);
  if (shape[0] != kRows || isSymbol(shape[1]) || isSymbol(shape[2]))
    return op->emitOpError() << "x has shape " << text(shape)
                             << ", expected [rows, heads, head_dim]";
  if (angles.size() != 2 || angles[0] != kRows || isSymbol(angles[1]) ||
      angles[1] % 2)
    return op->emitOpError() << "the table has shape " << text(angles)
                             << ", expected [rows, 2 n]";
  if (angles[1] > shape[2])
    return op->emitOpError() << "the table rotates " << angles[1]
                             << " dimensions of heads that have " << shape[2];
  return expectFloat32(op, "the table", table);
}

inline LogicalResult verifyGate(Operation *op, Value gate,
                                ArrayRef<int64_t> x) {
  ArrayRef<int64_t> shape = shapeOf(gate);
  if (shape != x && shape != x.drop_back())
    return op->emitOpError()
           << "the gate has shape " << text(shape) << ", expected "
           << text(x.drop_back()) << " or " << text(x);
  return expectFloat32(op, "the gate", gate);
}

/// One for each query head.
inline LogicalResult verifySinks(Operation *op, Value sinks, int64_t heads) {
  if (failed(expectShape(op, "sinks", sinks, {heads})))
    return failure();
  return expectFloat32(op, "sinks", sinks);
}

/// x [rows, heads, dim], and a gate for each of its heads or elements.
inline LogicalResult verifyGated(Operation *op, Value x, Value gate) {
  if (failed(expectHeads(op, "x", x)))
    return failure();
  return verifyGate(op, gate, shapeOf(x));
}

/// x [rows, heads, dim] goes to a state that has a name.
template <typename OpT> LogicalResult verifyAppend(OpT op) {
  if (failed(expectHeads(op, "x", op.getX())))
    return failure();
  if (op.getState().empty())
    return op.emitOpError() << "the state has no name";
  return success();
}

/// q [rows, heads, dim] attends to k and v of all `positions`, a symbol; as
/// many of its heads share each of theirs.
template <typename OpT>
LogicalResult verifyAttention(OpT op, int64_t positions) {
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"k", op.getK()}, {"v", op.getV()}})
    if (failed(expectRank(op, name, value, 3)) ||
        failed(expectFloat32(op, name, value)))
      return failure();
  if (failed(expectHeads(op, "q", op.getQ())))
    return failure();
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK()),
                    v = shapeOf(op.getV());
  if (isSymbol(k[1]) || isSymbol(v[2]))
    return op.emitOpError()
           << "k has shape " << text(k) << " and v " << text(v)
           << ", expected [" << dimensionName(positions) << ", heads, dim]";
  if (failed(expectShape(op, "k", op.getK(), {positions, k[1], q[2]})) ||
      failed(expectShape(op, "v", op.getV(), {positions, k[1], v[2]})))
    return failure();
  if (q[1] % k[1])
    return op.emitOpError() << q[1] << " query heads are no multiple of "
                            << k[1] << " key/value heads";
  if (op.getWindowAttr().getInt() < 0)
    return op.emitOpError() << "window is negative";
  if (failed(expectFinite(op, "scale", op.getScale())))
    return failure();
  return expectNotNegative(op, "softcap", op.getSoftcap());
}

/// Its result [rows, heads, dim of v], and a gate for that if it has one.
template <typename OpT> LogicalResult verifyAttended(OpT op) {
  Value result = op.getResult();
  if (failed(
          expectShape(op, "the result", result,
                      {kRows, shapeOf(op.getQ())[1], shapeOf(op.getV())[2]})) ||
      failed(expectFloat32(op, "the result", result)))
    return failure();
  if (op.getGate() && failed(verifyGate(op, op.getGate(), shapeOf(result))))
    return failure();
  return op.getSinks() ? verifySinks(op, op.getSinks(), shapeOf(op.getQ())[1])
                       : success();
}

/// That no result of a program that decodes depends on how a prompt is cut into
/// steps.
LogicalResult verifyCausality(ProgramOp program);

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_VERIFICATION_H

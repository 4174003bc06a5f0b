//===- BodyExpressions.cpp - ops of task bodies as expressions of C++ -----===//

#include "codegen/cuda/BodyExpressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace baton;
using namespace baton::cuda;
using llvm::formatv;

/// Elements of the vectors that have C++: one for each of as many threads.
static constexpr int64_t kLanes = 16;

bool cuda::isVector(Type type) { return isa<VectorType>(type); }

Type cuda::ownType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

std::string cuda::typeName(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    bool fits = vector.getRank() == 1 && !vector.isScalable() &&
                vector.getDimSize(0) == kLanes;
    return fits ? typeName(vector.getElementType()) : "";
  }
  if (auto memref = dyn_cast<MemRefType>(type)) {
    std::string element = typeName(memref.getElementType());
    return element.empty() ? element
                           : formatv("baton::cuda::View<{0}, {1}>", element,
                                     memref.getRank())
                                 .str();
  }
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isF16() || type.isBF16())
    return "uint16_t";
  if (type.isIndex())
    return "int64_t";
  if (type.isInteger(1))
    return "bool";
  for (unsigned width : {8, 16, 32, 64})
    if (type.isInteger(width))
      return formatv("int{0}_t", width).str();
  return "";
}

static bool isNarrow(Type type) {
  return ownType(type).isF16() || ownType(type).isBF16();
}

static std::string unsignedName(Type type) {
  return ownType(type).isInteger(1) ? "bool" : "u" + typeName(type);
}

static std::string spell(const llvm::APFloat &value, Type type) {
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  if (isNarrow(type))
    return std::to_string(bits);
  if (type.isF64())
    return formatv("baton::cuda::bits_as<double>(uint64_t({0:x}))", bits);
  if (!value.isFinite())
    return formatv("__uint_as_float({0:x}u)", bits);
  // Hexadecimal: exact.
  char digits[64];
  value.convertToHexString(digits, 0, false,
                           llvm::APFloat::rmNearestTiesToEven);
  return std::string(digits) + "f";
}

namespace {
/// Of the values that names have.
class Expressions {
public:
  explicit Expressions(Names names) : names(names) {}

  std::optional<std::string> of(Operation &op);

private:
  std::optional<std::string> arithmetic(Operation &op);
  std::optional<std::string> mathematics(Operation &op);
  std::optional<std::string> conversion(Operation &op);
  /// A floating-point operand as float, and a result as it is kept.
  std::string widened(Value value) const;
  static std::string narrowed(Type type, const std::string &text);

  Names names;
};
} // namespace

std::string Expressions::widened(Value value) const {
  Type type = ownType(value.getType());
  if (type.isF16())
    return "baton::cuda::from_half(" + names(value) + ")";
  if (type.isBF16())
    return "baton::cuda::from_bfloat(" + names(value) + ")";
  return names(value);
}

std::string Expressions::narrowed(Type whole, const std::string &text) {
  Type type = ownType(whole);
  if (type.isF16())
    return "baton::cuda::to_half(" + text + ")";
  if (type.isBF16())
    return "baton::cuda::to_bfloat(" + text + ")";
  return text;
}

std::optional<std::string> Expressions::of(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue())) {
      if (constant.getType().isInteger(1))
        return integer.getValue().isZero() ? "false" : "true";
      // The least number of a type has no literal.
      return formatv("{0}({1}ull)", typeName(constant.getType()),
                     integer.getValue().sextOrTrunc(64).getZExtValue())
          .str();
    }
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      return spell(real.getValue(), constant.getType());
    if (auto all = dyn_cast<SplatElementsAttr>(constant.getValue())) {
      Type type = ownType(constant.getType());
      if (isa<FloatType>(type))
        return spell(all.getSplatValue<llvm::APFloat>(), type);
      if (type.isInteger(1))
        return all.getSplatValue<bool>() ? "true" : "false";
      if (type.isIntOrIndex())
        return formatv("{0}({1}ull)", typeName(type),
                       all.getSplatValue<llvm::APInt>()
                           .sextOrTrunc(64)
                           .getZExtValue())
            .str();
    }
    return std::nullopt;
  }
  if (auto constant = dyn_cast<index::ConstantOp>(op))
    return std::to_string(constant.getValue().getSExtValue());
  for (auto Print : {&Expressions::arithmetic, &Expressions::conversion,
                     &Expressions::mathematics})
    if (auto text = (this->*Print)(op))
      return text;
  return std::nullopt;
}

/// With a and b, operands as they are, {0} and {1}; `type` is what integers
/// are computed in: overflow wraps.
static std::optional<std::string> integerFormat(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<std::string>>(&op)
      .Case<arith::AddIOp, index::AddOp>(
          [](auto) { return "{2}({0}) + {2}({1})"; })
      .Case<arith::SubIOp, index::SubOp>(
          [](auto) { return "{2}({0}) - {2}({1})"; })
      .Case<arith::MulIOp, index::MulOp>(
          [](auto) { return "{2}({0}) * {2}({1})"; })
      .Case<arith::AndIOp, index::AndOp>(
          [](auto) { return "{2}({0}) & {2}({1})"; })
      .Case<arith::OrIOp, index::OrOp>(
          [](auto) { return "{2}({0}) | {2}({1})"; })
      .Case<arith::XOrIOp, index::XOrOp>(
          [](auto) { return "{2}({0}) ^ {2}({1})"; })
      .Case<arith::ShLIOp, index::ShlOp>(
          [](auto) { return "{2}({0}) << {2}({1})"; })
      .Case<arith::ShRUIOp, index::ShrUOp>(
          [](auto) { return "{2}({0}) >> {2}({1})"; })
      .Case<arith::ShRSIOp, index::ShrSOp>(
          [](auto) { return "{0} >> {2}({1})"; })
      .Case<arith::DivUIOp, index::DivUOp>(
          [](auto) { return "{2}({0}) / {2}({1})"; })
      .Case<arith::RemUIOp, index::RemUOp>(
          [](auto) { return "{2}({0}) % {2}({1})"; })
      .Case<arith::DivSIOp, index::DivSOp>([](auto) { return "{0} / {1}"; })
      .Case<arith::RemSIOp, index::RemSOp>([](auto) { return "{0} % {1}"; })
      .Case<arith::FloorDivSIOp, index::FloorDivSOp>(
          [](auto) { return "baton::cuda::floor_divided({0}, {1})"; })
      .Case<arith::CeilDivSIOp, index::CeilDivSOp>(
          [](auto) { return "baton::cuda::ceil_divided({0}, {1})"; })
      .Case<arith::MaxSIOp, index::MaxSOp>(
          [](auto) { return "{0} > {1} ? {0} : {1}"; })
      .Case<arith::MinSIOp, index::MinSOp>(
          [](auto) { return "{0} < {1} ? {0} : {1}"; })
      .Case<arith::MaxUIOp, index::MaxUOp>(
          [](auto) { return "{2}({0}) > {2}({1}) ? {0} : {1}"; })
      .Case<arith::MinUIOp, index::MinUOp>(
          [](auto) { return "{2}({0}) < {2}({1}) ? {0} : {1}"; })
      .Default([](Operation *) { return std::nullopt; });
}

/// Of two operands as float or double.
static std::optional<std::string> realFormat(Operation &op) {
  bool isDouble =
      op.getNumResults() && ownType(op.getResult(0).getType()).isF64();
  return llvm::TypeSwitch<Operation *, std::optional<std::string>>(&op)
      .Case<arith::AddFOp>([](auto) { return "{0} + {1}"; })
      .Case<arith::SubFOp>([](auto) { return "{0} - {1}"; })
      .Case<arith::MulFOp>([](auto) { return "{0} * {1}"; })
      .Case<arith::DivFOp>([](auto) { return "{0} / {1}"; })
      .Default([&](Operation *) -> std::optional<std::string> {
        if (isDouble)
          return std::nullopt;
        return llvm::TypeSwitch<Operation *, std::optional<std::string>>(&op)
            .Case<arith::MaximumFOp>(
                [](auto) { return "baton::cuda::maximum({0}, {1})"; })
            .Case<arith::MinimumFOp>(
                [](auto) { return "baton::cuda::minimum({0}, {1})"; })
            .Case<arith::MaxNumFOp>(
                [](auto) { return "baton::cuda::maximum_number({0}, {1})"; })
            .Case<arith::MinNumFOp>(
                [](auto) { return "baton::cuda::minimum_number({0}, {1})"; })
            .Case<arith::RemFOp>([](auto) { return "fmodf({0}, {1})"; })
            .Case<math::CopySignOp>([](auto) { return "copysignf({0}, {1})"; })
            .Default([](Operation *) { return std::nullopt; });
      });
}

static StringRef predicateFormat(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return "false";
  case P::OEQ:
    return "{0} == {1}";
  case P::OGT:
    return "{0} > {1}";
  case P::OGE:
    return "{0} >= {1}";
  case P::OLT:
    return "{0} < {1}";
  case P::OLE:
    return "{0} <= {1}";
  case P::ONE:
    return "{0} < {1} || {0} > {1}";
  case P::ORD:
    return "{0} == {0} && {1} == {1}";
  case P::UEQ:
    return "!({0} < {1} || {0} > {1})";
  case P::UGT:
    return "!({0} <= {1})";
  case P::UGE:
    return "!({0} < {1})";
  case P::ULT:
    return "!({0} >= {1})";
  case P::ULE:
    return "!({0} > {1})";
  case P::UNE:
    return "{0} != {1}";
  case P::UNO:
    return "{0} != {0} || {1} != {1}";
  case P::AlwaysTrue:
    return "true";
  }
  llvm_unreachable("every predicate is one of the above");
}

static StringRef predicateFormat(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "{0} == {1}";
  case P::ne:
    return "{0} != {1}";
  case P::slt:
    return "{0} < {1}";
  case P::sle:
    return "{0} <= {1}";
  case P::sgt:
    return "{0} > {1}";
  case P::sge:
    return "{0} >= {1}";
  case P::ult:
    return "{2}({0}) < {2}({1})";
  case P::ule:
    return "{2}({0}) <= {2}({1})";
  case P::ugt:
    return "{2}({0}) > {2}({1})";
  case P::uge:
    return "{2}({0}) >= {2}({1})";
  }
  llvm_unreachable("every predicate is one of the above");
}

std::optional<std::string> Expressions::arithmetic(Operation &op) {
  auto filled = [](StringRef format, const std::string &a, const std::string &b,
                   const std::string &type) {
    return formatv(format.str().c_str(), a, b, type).str();
  };
  if (auto format = integerFormat(op)) {
    Type type = op.getOperand(0).getType();
    return typeName(op.getResult(0).getType()) + "(" +
           filled(*format, names(op.getOperand(0)), names(op.getOperand(1)),
                  unsignedName(type)) +
           ")";
  }
  // Of F16 and BF16, rounding F32's result gives the same as one rounding.
  if (auto format = realFormat(op))
    return narrowed(op.getResult(0).getType(),
                    filled(*format, widened(op.getOperand(0)),
                           widened(op.getOperand(1)), ""));
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return filled(predicateFormat(compare.getPredicate()),
                  widened(compare.getLhs()), widened(compare.getRhs()), "");
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return filled(predicateFormat(compare.getPredicate()),
                  names(compare.getLhs()), names(compare.getRhs()),
                  unsignedName(compare.getLhs().getType()));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return names(select.getCondition()) + " ? " + names(select.getTrueValue()) +
           " : " + names(select.getFalseValue());
  if (isa<arith::NegFOp>(op))
    return narrowed(op.getResult(0).getType(), "-" + widened(op.getOperand(0)));
  return std::nullopt;
}

std::optional<std::string> Expressions::conversion(Operation &op) {
  if (op.getNumOperands() != 1)
    return std::nullopt;
  Type from = ownType(op.getOperand(0).getType()),
       to = ownType(op.getResult(0).getType());
  std::string value = names(op.getOperand(0));
  auto cast = [](const std::string &type, const std::string &text) {
    return type + "(" + text + ")";
  };
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, index::CastSOp>(
          op)) {
    if (to.isInteger(1))
      return "(" + value + " & 1) != 0";
    // A bit that is set is -1.
    return from.isInteger(1) ? "-" + cast(typeName(to), value)
                             : cast(typeName(to), value);
  }
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp, index::CastUOp>(op))
    return cast(typeName(to), cast(unsignedName(from), value));
  if (isa<arith::SIToFPOp>(op) && !isNarrow(to) && !from.isInteger(1))
    return cast(typeName(to), value);
  if (isa<arith::UIToFPOp>(op) && !isNarrow(to))
    return cast(typeName(to), cast(unsignedName(from), value));
  if (isa<arith::FPToSIOp>(op))
    return cast(typeName(to), widened(op.getOperand(0)));
  if (isa<arith::FPToUIOp>(op))
    return cast(typeName(to),
                cast(unsignedName(to), widened(op.getOperand(0))));
  if (isa<arith::ExtFOp>(op))
    return cast(typeName(to), widened(op.getOperand(0)));
  if (isa<arith::TruncFOp>(op) && from.isF32())
    return narrowed(to, value);
  if (isa<arith::TruncFOp>(op) && to.isF32())
    return cast("float", value);
  if (isa<arith::BitcastOp>(op))
    return "baton::cuda::bits_as<" + typeName(to) + ">(" + value + ")";
  return std::nullopt;
}

/// Functions whose result is the exact one, rounded, but for powers.
std::optional<std::string> Expressions::mathematics(Operation &op) {
  if (op.getNumResults() != 1)
    return std::nullopt;
  Type type = ownType(op.getResult(0).getType());
  if (!type.isF32() && !type.isF64())
    return std::nullopt;
  std::string suffix = type.isF32() ? "f(" : "(";
  StringRef function = llvm::TypeSwitch<Operation *, StringRef>(&op)
                           .Case<math::AbsFOp>([](auto) { return "fabs"; })
                           .Case<math::SqrtOp>([](auto) { return "sqrt"; })
                           .Case<math::FloorOp>([](auto) { return "floor"; })
                           .Case<math::CeilOp>([](auto) { return "ceil"; })
                           .Case<math::TruncOp>([](auto) { return "trunc"; })
                           .Case<math::RoundOp>([](auto) { return "round"; })
                           .Case<math::RoundEvenOp>([](auto) { return "rint"; })
                           .Case<math::FmaOp>([](auto) { return "fma"; })
                           // Each platform's own.
                           .Case<math::PowFOp>([](auto) { return "pow"; })
                           .Default([](Operation *) { return ""; });
  if (isa<math::RsqrtOp>(op))
    return "1 / sqrt" + suffix + names(op.getOperand(0)) + ")";
  if (function.empty())
    return std::nullopt;
  SmallVector<std::string> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(names(operand));
  return (function + suffix + llvm::join(arguments, ", ") + ")").str();
}

std::optional<std::string> cuda::expressionOf(Operation &op, Names names) {
  return Expressions(names).of(op);
}

//===- Spelling.cpp - pieces of a plan as pieces of C++ -------------------===//

#include "codegen/cuda/Spelling.h"

#include "dialects/Event/Event.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;

static StringRef symbolName(unsigned position) {
  static constexpr StringRef names[kStepSymbols] = {"rows", "past", "outputs"};
  return names[position];
}

std::string cuda::spell(mlir::AffineExpr expression) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression))
    return std::to_string(constant.getValue());
  if (auto dimension = mlir::dyn_cast<mlir::AffineDimExpr>(expression))
    return "t" + std::to_string(dimension.getPosition());
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbolName(symbol.getPosition()).str();
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expression);
  std::string left = spell(binary.getLHS()), right = spell(binary.getRHS());
  switch (binary.getKind()) {
  case mlir::AffineExprKind::Add:
    return "(" + left + " + " + right + ")";
  case mlir::AffineExprKind::Mul:
    return left + " * " + right;
  case mlir::AffineExprKind::FloorDiv:
    return "baton_floor_div(" + left + ", " + right + ")";
  case mlir::AffineExprKind::CeilDiv:
    return "baton_ceil_div(" + left + ", " + right + ")";
  case mlir::AffineExprKind::Mod:
    return "baton_mod(" + left + ", " + right + ")";
  default:
    llvm_unreachable("every binary affine expression is one of the above");
  }
}

SmallVector<std::string> cuda::spell(mlir::AffineMap map) {
  SmallVector<std::string> results;
  for (mlir::AffineExpr expression : map.getResults())
    results.push_back(spell(expression));
  return results;
}

std::string cuda::braces(ArrayRef<std::string> items) {
  return "{" + join(items, ", ") + "}";
}
std::string cuda::braces(ArrayRef<int64_t> items) {
  return braces(
      map_to_vector(items, [](int64_t item) { return std::to_string(item); }));
}

std::string cuda::spell(const APFloat &value) {
  if (!value.isFinite())
    return formatv("__uint_as_float({0:x}u)",
                   value.bitcastToAPInt().getZExtValue());
  // Hexadecimal: exact.
  char digits[64];
  value.convertToHexString(digits, 0, false, APFloat::rmNearestTiesToEven);
  return std::string(digits) + "f";
}

StringRef cuda::elementType(mlir::Type element) {
  if (element.isF32())
    return "float";
  unsigned width = element.getIntOrFloatBitWidth();
  switch (width) {
  case 8:
    return "int8_t";
  case 16:
    return "uint16_t";
  case 32:
    return "int32_t";
  default:
    return "int64_t";
  }
}

std::string cuda::identifier(StringRef name) {
  std::string result;
  for (char c : name)
    result += isAlnum(c) ? c : '_';
  return result;
}

//===- LibraryCalls.cpp - what task bodies may call of the library --------===//

#include "dialects/Event/LibraryCalls.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace baton::event;
using llvm::StringLiteral;

static constexpr StringLiteral kRowsByWidth[] = {"rows", "width"};
static constexpr StringLiteral kWidth[] = {"width"};
static constexpr StringLiteral kRowsByDepth[] = {"rows", "depth"};
static constexpr StringLiteral kColumnsByDepth[] = {"columns", "depth"};
static constexpr StringLiteral kColumns[] = {"columns"};
static constexpr StringLiteral kRowsByColumns[] = {"rows", "columns"};
static constexpr StringLiteral kQueries[] = {"rows", "heads", "width"};
static constexpr StringLiteral kKeys[] = {"positions", "groups", "width"};
static constexpr StringLiteral kValues[] = {"positions", "groups",
                                            "value_width"};
static constexpr StringLiteral kAttended[] = {"rows", "heads", "value_width"};

static constexpr LibraryOperand kNormInputs[] = {{"x", kRowsByWidth},
                                                 {"weight", kWidth}};
static constexpr LibraryOperand kLayerNormInputs[] = {
    {"x", kRowsByWidth}, {"weight", kWidth}, {"bias", kWidth}};
static constexpr LibraryOperand kSoftmaxInputs[] = {{"x", kRowsByWidth}};
static constexpr LibraryOperand kLinearInputs[] = {
    {"x", kRowsByDepth},
    {"weight", kColumnsByDepth, /*mayBeNarrow=*/true},
    {"bias", kColumns}};
static constexpr LibraryOperand kAttentionInputs[] = {
    {"queries", kQueries}, {"keys", kKeys}, {"values", kValues}};

static constexpr LibraryNumber kEpsilon[] = {{"epsilon"}};
static constexpr LibraryNumber kAttentionNumbers[] = {
    {"scale", /*isInteger=*/false, /*isOptional=*/false,
     /*mayBeNegative=*/true},
    {"softcap", /*isInteger=*/false, /*isOptional=*/true},
    {"window", /*isInteger=*/true, /*isOptional=*/true}};

static constexpr LibraryFunction kFunctions[] = {
    {"rms_norm",
     kNormInputs,
     {"out", kRowsByWidth},
     /*isLastOptional=*/false,
     /*isInPlace=*/true,
     /*takesScratch=*/false,
     kEpsilon},
    {"layer_norm",
     kLayerNormInputs,
     {"out", kRowsByWidth},
     /*isLastOptional=*/true,
     /*isInPlace=*/true,
     /*takesScratch=*/false,
     kEpsilon},
    {"softmax",
     kSoftmaxInputs,
     {"out", kRowsByWidth},
     /*isLastOptional=*/false,
     /*isInPlace=*/true},
    {"linear",
     kLinearInputs,
     {"out", kRowsByColumns},
     /*isLastOptional=*/true},
    {"attention",
     kAttentionInputs,
     {"out", kAttended},
     /*isLastOptional=*/false,
     /*isInPlace=*/false,
     /*takesScratch=*/true,
     kAttentionNumbers},
};

llvm::ArrayRef<LibraryFunction> baton::event::libraryFunctions() {
  return kFunctions;
}

const LibraryFunction *baton::event::findLibraryFunction(StringRef name) {
  const auto *found = llvm::find_if(
      kFunctions, [&](const LibraryFunction &f) { return f.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

/// The call's operands as the function has them.
static SmallVector<std::pair<const LibraryOperand *, Value>>
operandsOf(LibraryCallOp call, const LibraryFunction &function) {
  SmallVector<std::pair<const LibraryOperand *, Value>> operands = {
      {&function.output, call.getOutputs().front()}};
  for (auto [operand, value] : llvm::zip(function.inputs, call.getInputs()))
    operands.push_back({&operand, value});
  return operands;
}

void baton::event::forEachSize(
    LibraryCallOp call,
    llvm::function_ref<void(StringRef, StringRef, Value, unsigned)> visit) {
  const LibraryFunction *function = findLibraryFunction(call.getCallee());
  for (auto [operand, value] : operandsOf(call, *function))
    for (auto [dimension, name] : llvm::enumerate(operand->sizes))
      visit(operand->name, name, value, dimension);
}

bool baton::event::isWeightOfLinears(BlockArgument argument) {
  bool isRead = false;
  for (OpOperand &use : argument.getUses()) {
    if (isa<memref::DimOp>(use.getOwner()))
      continue;
    auto call = dyn_cast<LibraryCallOp>(use.getOwner());
    if (!call || call.getCallee() != "linear" || use.getOperandNumber() != 1)
      return false;
    isRead = true;
  }
  return isRead;
}

double LibraryCallOp::getNumber(StringRef name) {
  Attribute given = (*this)->getAttr(name);
  if (auto real = dyn_cast_or_null<FloatAttr>(given))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(given))
    return static_cast<double>(integer.getInt());
  return 0;
}

void LibraryCallOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &input : getInputsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &input);
  for (OpOperand &output : getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &output);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static std::string
namesOf(llvm::iterator_range<const LibraryFunction *> functions) {
  return llvm::join(
      llvm::map_range(functions, [](const auto &f) { return f.name.str(); }),
      ", ");
}

static LogicalResult failUnknown(LibraryCallOp call) {
  const LibraryFunction *nearest =
      std::min_element(std::begin(kFunctions), std::end(kFunctions),
                       [&](const LibraryFunction &a, const LibraryFunction &b) {
                         return a.name.edit_distance(call.getCallee()) <
                                b.name.edit_distance(call.getCallee());
                       });
  return call.emitOpError()
         << "names '" << call.getCallee()
         << "', which task bodies cannot call; the nearest name is '"
         << nearest->name << "', and there are "
         << namesOf({std::begin(kFunctions), std::end(kFunctions)});
}

/// "x [rows, width], weight [width]"
static std::string spelled(llvm::ArrayRef<LibraryOperand> operands) {
  return llvm::join(llvm::map_range(operands,
                                    [](const LibraryOperand &operand) {
                                      return operand.name.str() + " [" +
                                             llvm::join(operand.sizes, ", ") +
                                             "]";
                                    }),
                    ", ");
}

static LogicalResult verifyCount(LibraryCallOp call,
                                 const LibraryFunction &function) {
  const size_t given = call.getInputs().size(), all = function.inputs.size();
  if (given == all || (function.isLastOptional && given == all - 1)) {
    if (call.getOutputs().size() == 1)
      return success();
    return call.emitOpError()
           << "has " << call.getOutputs().size() << " outputs, '"
           << function.name << "' writes one: " << spelled(function.output);
  }
  InFlightDiagnostic error = call.emitOpError()
                             << "has " << given << " inputs, '" << function.name
                             << "' reads " << spelled(function.inputs);
  if (function.isLastOptional)
    error << ", of which the last may be left out";
  return error;
}

static LogicalResult verifyType(LibraryCallOp call,
                                const LibraryFunction &function,
                                const LibraryOperand &operand, Type type) {
  auto fail = [&](const Twine &expected) {
    return call.emitOpError()
           << "operand '" << operand.name << "' of '" << function.name
           << "' is " << type << ", expected " << expected;
  };
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() != int64_t(operand.sizes.size()))
    return fail("a memref [" + llvm::join(operand.sizes, ", ") + "]");
  Type element = memref.getElementType();
  const bool isNarrow = element.isF16() || element.isBF16();
  if (!element.isF32() && !element.isF64() &&
      !(operand.mayBeNarrow && isNarrow))
    return fail(operand.mayBeNarrow ? "elements of f32, bf16 or f16"
                                    : "elements of f32");
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(memref, strides, offset)) ||
      strides.back() != 1)
    return fail(
        "a last stride of 1 in its type, as in strided<[" +
        llvm::join(SmallVector<StringRef>(operand.sizes.size() - 1, "?"),
                   ", ") +
        (operand.sizes.size() > 1 ? ", 1]>" : "1]>"));
  return success();
}

/// Real numbers have one width, and sizes of one name are one size.
static LogicalResult verifyAgreement(LibraryCallOp call,
                                     const LibraryFunction &function) {
  Type real;
  for (auto [operand, value] : operandsOf(call, function)) {
    Type element = cast<MemRefType>(value.getType()).getElementType();
    if (operand->mayBeNarrow && (element.isF16() || element.isBF16()))
      continue;
    if (real && real != element)
      return call.emitOpError()
             << "operand '" << operand->name << "' of '" << function.name
             << "' holds " << element << ", the output " << real;
    real = element;
  }
  struct Known {
    int64_t size;
    StringRef operand;
  };
  llvm::StringMap<Known> sizes;
  for (auto [operand, value] : operandsOf(call, function))
    for (auto [name, size] : llvm::zip(
             operand->sizes, cast<MemRefType>(value.getType()).getShape())) {
      if (ShapedType::isDynamic(size))
        continue;
      auto [known, isNew] = sizes.insert({name, {size, operand->name}});
      if (!isNew && known->second.size != size)
        return call.emitOpError()
               << "operand '" << operand->name << "' of '" << function.name
               << "' has " << size << " " << name << ", '"
               << known->second.operand << "' has " << known->second.size;
    }
  return success();
}

static LogicalResult verifyNumbers(LibraryCallOp call,
                                   const LibraryFunction &function) {
  auto listed = [&] {
    return function.numbers.empty()
               ? std::string("none")
               : llvm::join(llvm::map_range(
                                function.numbers,
                                [](auto &number) { return number.name.str(); }),
                            ", ");
  };
  for (NamedAttribute attribute : call->getDiscardableAttrs())
    if (llvm::none_of(function.numbers, [&](const LibraryNumber &number) {
          return number.name == attribute.getName();
        }))
      return call.emitOpError()
             << "has the attribute '" << attribute.getName().getValue()
             << "', '" << function.name << "' takes " << listed();
  for (const LibraryNumber &number : function.numbers) {
    Attribute given = call->getAttr(number.name);
    if (!given && number.isOptional)
      continue;
    bool fits = false;
    if (auto real = dyn_cast_or_null<FloatAttr>(given))
      fits = !number.isInteger && real.getValue().isFinite() &&
             (real.getType().isF32() || real.getType().isF64());
    if (auto integer = dyn_cast_or_null<IntegerAttr>(given))
      fits = number.isInteger && integer.getType().isInteger(64);
    if (fits && (number.mayBeNegative || call.getNumber(number.name) >= 0))
      continue;
    InFlightDiagnostic error = call.emitOpError();
    if (given)
      error << "has " << number.name << " = " << given;
    else
      error << "has no " << number.name;
    return error << ", '" << function.name << "' takes "
                 << (number.isInteger       ? "an i64 of at least 0"
                     : number.mayBeNegative ? "a finite f32"
                                            : "a finite f32 of at least 0");
  }
  return success();
}

static LogicalResult verifyMemory(LibraryCallOp call,
                                  const LibraryFunction &function) {
  Value output = call.getOutputs().front();
  for (auto [i, input] : llvm::enumerate(call.getInputs())) {
    const bool isAllowed = function.isInPlace && i == 0 && input == output;
    if (rootOf(input) == rootOf(output) && !isAllowed)
      return call.emitOpError()
             << "writes memory that '" << function.inputs[i].name
             << "' is part of"
             << (function.isInPlace && i == 0
                     ? "; '" + function.name.str() +
                           "' may write all of it, "
                           "through the same memref, or other memory"
                     : "");
  }
  auto body = call->getParentOfType<BodyOp>();
  for (Value operand : call->getOperands()) {
    auto memory = rootOf(operand).getDefiningOp<memref::AllocaOp>();
    if (memory && memory->getParentOp() != body)
      return call.emitOpError() << "is given memory that is not allocated at "
                                << "the top of the body, so that threads do "
                                << "not share it; move the memref.alloca there";
  }
  return success();
}

LogicalResult LibraryCallOp::verify() {
  Operation *parent = (*this)->getParentOp();
  while (isa_and_nonnull<scf::ForOp, scf::IfOp, affine::AffineForOp,
                         affine::AffineIfOp>(parent) &&
         parent->getNumResults() == 0)
    parent = parent->getParentOp();
  if (!isa_and_nonnull<BodyOp>(parent))
    return emitOpError() << "stands in '" << parent->getName()
                         << "', expected an event.body, or in it scf.for, "
                         << "scf.if, affine.for or affine.if without results";
  const LibraryFunction *function = findLibraryFunction(getCallee());
  if (!function)
    return failUnknown(*this);
  if (failed(verifyCount(*this, *function)))
    return failure();
  for (auto [operand, value] : operandsOf(*this, *function))
    if (failed(verifyType(*this, *function, *operand, value.getType())))
      return failure();
  return success(succeeded(verifyAgreement(*this, *function)) &&
                 succeeded(verifyNumbers(*this, *function)) &&
                 succeeded(verifyMemory(*this, *function)));
}

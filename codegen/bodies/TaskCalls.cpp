//===- TaskCalls.cpp - calls of task bodies, their operands by name -------===//

#include "codegen/bodies/TaskCalls.h"

#include "runtime/weight_formats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace llvm;
using namespace baton;
using namespace baton::bodies;
using namespace baton::event;

namespace {

struct FunctionName {
  StringLiteral name;
  Kind kind;
  StringLiteral suffix, format;
};

#define GET_BODY_SIGNATURES
#include "codegen/bodies/Table.inc"
#undef GET_BODY_SIGNATURES

} // namespace

bool bodies::isWritten(Role role) {
  return role == Role::Output || role == Role::PartialOutput ||
         role == Role::Updated || role == Role::Accumulated ||
         role == Role::IntegerOutput || role == Role::PartialIntegerOutput;
}

bool bodies::isRead(Role role) {
  return role == Role::Updated || role == Role::Accumulated ||
         role == Role::Input || role == Role::PartialInput ||
         role == Role::Keys || role == Role::State || role == Role::Weight ||
         role == Role::Matrix || role == Role::Integers ||
         role == Role::PartialIntegers || role == Role::Flag;
}

bool bodies::isPartial(Role role) {
  return role == Role::PartialInput || role == Role::PartialOutput ||
         role == Role::PartialIntegers || role == Role::PartialIntegerOutput;
}

const Signature &bodies::signatureOf(Kind kind) {
  return kSignatures[static_cast<unsigned>(kind)];
}

std::optional<BodyFunction> bodies::lookUp(StringRef callee) {
  static const StringMap<const FunctionName *> functions = [] {
    StringMap<const FunctionName *> byName;
    for (const FunctionName &function : kFunctions)
      byName[function.name] = &function;
    return byName;
  }();
  bool isDouble = callee.consume_back("_f64");
  auto found = functions.find(callee);
  if (found == functions.end() && isDouble)
    found = functions.find((callee + "_f32").str());
  if (found == functions.end())
    return std::nullopt;
  return BodyFunction{found->second->kind, found->second->format, isDouble};
}

std::string bodies::functionName(StringRef body, StringRef format) {
  for (const FunctionName &function : kFunctions)
    if (signatureOf(function.kind).name == body && function.format == format)
      return function.name.str();
  llvm_unreachable("each body has its formats' functions");
}

std::string bodies::inDouble(StringRef callee) {
  for (const FunctionName &function : kFunctions)
    if (function.name == callee && function.format == "f32")
      callee.consume_back(function.suffix);
  return (callee + "_f64").str();
}

bool bodies::isTuned(StringRef callee, StringRef target, StringRef tuning) {
  struct Tuning {
    StringLiteral callee, target, name;
  };
  static constexpr Tuning kTunings[] = {
#define GET_BODY_TUNINGS
#include "codegen/bodies/Table.inc"
#undef GET_BODY_TUNINGS
  };
  return any_of(kTunings, [&](const Tuning &known) {
    return known.callee == callee && known.target == target &&
           known.name == tuning;
  });
}

std::optional<BodyFunction> bodies::lookUp(CallOp op) {
  std::optional<BodyFunction> function = lookUp(op.getCallee());
  if (!function ||
      signatureOf(function->kind).operands.size() != op.getOperands_().size())
    return std::nullopt;
  return function;
}

mlir::Attribute bodies::operandNamed(CallOp op, StringRef name) {
  if (std::optional<BodyFunction> function = lookUp(op))
    for (auto [operand, attribute] :
         zip_equal(signatureOf(function->kind).operands, op.getOperands_()))
      if (operand.name == name)
        return attribute;
  return {};
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {
/// What a body takes in the place of an operand, and whether it is that.
struct Expectation {
  const char *what;
  bool isMet;
};
} // namespace

template <typename SymbolT>
static mlir::Type elementOf(CallOp op, mlir::FlatSymbolRefAttr symbol) {
  auto found = mlir::SymbolTable::lookupNearestSymbolFrom<SymbolT>(op, symbol);
  return found ? found.getElement() : mlir::Type();
}

/// The type of what a pointer points to; null of scratch and null pointers.
static mlir::Type pointeeOf(CallOp op, mlir::Attribute operand) {
  if (auto address = mlir::dyn_cast<AddressAttr>(operand))
    return elementOf<BufferOp>(op, address.getBuffer());
  if (auto weight = mlir::dyn_cast<WeightAttr>(operand))
    return elementOf<ParameterOp>(op, weight.getParameter());
  return {};
}

static Expectation expect(const OperandSignature &operand,
                          mlir::Attribute given) {
  bool isAddress = mlir::isa<AddressAttr>(given),
       isScratch = mlir::isa<ScratchAttr>(given),
       isWeight = mlir::isa<WeightAttr>(given);
  auto isInteger = [&](unsigned width) {
    auto number = mlir::dyn_cast<mlir::IntegerAttr>(given);
    return number && number.getType().isInteger(width);
  };
  switch (operand.role) {
  case Role::Output:
  case Role::PartialOutput:
  case Role::Updated:
  case Role::Accumulated:
    return {"an address or scratch, which is written", isAddress || isScratch};
  case Role::Input:
    return {"an address, scratch or a weight",
            isAddress || isScratch || isWeight};
  case Role::PartialInput:
  case Role::Keys:
  case Role::State:
  case Role::Integers:
  case Role::IntegerOutput:
  case Role::PartialIntegers:
  case Role::PartialIntegerOutput:
  case Role::Flag:
    return {"an address", isAddress};
  case Role::Weight:
  case Role::Matrix:
    return {"a weight or an address", isWeight || isAddress};
  case Role::Scratch:
    return {"scratch", isScratch};
  case Role::Stride:
    return {"a stride or an i64",
            mlir::isa<StrideAttr>(given) || isInteger(64)};
  case Role::Count:
    return {"a count or an i64", mlir::isa<CountAttr>(given) || isInteger(64)};
  case Role::Number:
    return {"a real number", mlir::isa<mlir::FloatAttr>(given)};
  case Role::Choice:
    return {"an i32", isInteger(32)};
  }
  llvm_unreachable("every role is listed");
}

/// What a pointer points to, by the function's variant.
static std::string expectedPointee(const OperandSignature &operand,
                                   const BodyFunction &function) {
  const Role role = operand.role;
  if (operand.isStored && function.format != "f32")
    return function.format == "bf16" ? "bf16" : "i8";
  if (role == Role::Integers || role == Role::IntegerOutput ||
      role == Role::PartialIntegers || role == Role::PartialIntegerOutput ||
      role == Role::Flag)
    return "i32";
  if (role == Role::Matrix && function.format != "f32") {
    const blocks::Format *blocks =
        blocks::find_format(std::string_view(function.format));
    return (blocks && !blocks->is_plain) || function.format == "mixed"
               ? "i8"
               : function.format.str();
  }
  return function.isDouble ? "f64" : "f32";
}

/// What blocks a body takes that are not the given ones, or nothing: those that
/// its variant names, and of products of bytes only whole numbers, beside which
/// partly_integer_linear takes numbers as they are.
static std::string takesOtherBlocks(CallOp op, const BodyFunction &function,
                                    mlir::Attribute given) {
  auto weight = mlir::dyn_cast<WeightAttr>(given);
  if (!weight)
    return {};
  auto parameter = mlir::SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      op, weight.getParameter());
  auto form =
      parameter ? mlir::dyn_cast_if_present<BlocksAttr>(parameter.getFormAttr())
                : BlocksAttr();
  if (!form)
    return {};
  if (form.getVariant() != function.format)
    return ("blocks of " + function.format).str();
  const StringRef body = signatureOf(function.kind).name;
  const bool isPartly = body.starts_with("partly_integer_");
  if (!isPartly && !body.starts_with("integer_"))
    return {};
  const StringRef list = form.getFormats();
  for (const blocks::Format *format :
       blocks::listed_formats({list.data(), list.size()}))
    if (!format->is_integer && !(isPartly && format->is_plain))
      return isPartly ? "blocks of whole numbers, and numbers as they are"
                      : "blocks of whole numbers";
  return {};
}

static Error checkOperand(CallOp op, const BodyFunction &function,
                          const OperandSignature &operand,
                          mlir::Attribute given) {
  auto fail = [&](const Twine &expected) {
    return createStringError(
        "operand '" + operand.name + "' is " + to_string(given) + ", " +
        signatureOf(function.kind).name + " takes " + expected +
        (operand.isNullable ? ", or null" : ""));
  };
  if (operand.isNullable && mlir::isa<NullAttr>(given))
    return Error::success();
  Expectation expectation = expect(operand, given);
  if (!expectation.isMet)
    return fail(expectation.what);
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(given);
      number && number.getType().isF64() != function.isDouble)
    return fail(function.isDouble ? "an f64" : "an f32");
  if (mlir::Type pointee = pointeeOf(op, given)) {
    std::string expected = expectedPointee(operand, function);
    if (to_string(pointee) != expected)
      return fail(expected + " there, and it holds " + to_string(pointee));
  }
  if (operand.role == Role::Matrix)
    if (std::string taken = takesOtherBlocks(op, function, given);
        !taken.empty())
      return fail(taken);
  return Error::success();
}

int64_t bodies::matrixOverhead(CallOp op) {
  std::optional<BodyFunction> function = lookUp(op);
  if (!function)
    return 0;
  for (auto [operand, given] :
       zip(signatureOf(function->kind).operands, op.getOperands_())) {
    auto weight = mlir::dyn_cast<WeightAttr>(given);
    if (operand.role != Role::Matrix || !weight)
      continue;
    auto parameter = mlir::SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
        op, weight.getParameter());
    if (parameter && parameter.getFormAttr())
      return parameter.getFormAttr().countOverhead();
  }
  return 0;
}

Error bodies::checkCall(CallOp op) {
  std::optional<BodyFunction> function = lookUp(op.getCallee());
  if (!function)
    return createStringError("the task library has no baton_task_" +
                             op.getCallee());
  const Signature &signature = signatureOf(function->kind);
  mlir::ArrayAttr operands = op.getOperands_();
  if (signature.operands.size() != operands.size()) {
    std::string names =
        join(map_range(signature.operands,
                       [](const OperandSignature &o) { return o.name.str(); }),
             ", ");
    return createStringError("has " + Twine(operands.size()) + " operands, " +
                             signature.name + " takes " +
                             Twine(signature.operands.size()) + ": " + names);
  }
  for (auto [operand, given] : zip_equal(signature.operands, operands))
    if (Error error = checkOperand(op, *function, operand, given))
      return error;
  return Error::success();
}

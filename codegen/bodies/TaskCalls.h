//===- TaskCalls.h - calls of task bodies, their operands by name ---------===//
//
// What codegen/bodies/*.td declare, for the compiler: which bodies there are,
// what their operands are to them, and a class of accessors for the calls of
// each (LinearCall). Bodies that users wrote (event.body) are none of these.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_BODIES_TASKCALLS_H
#define BATON_CODEGEN_BODIES_TASKCALLS_H

#include "dialects/Event/Event.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <optional>
#include <string>

namespace baton::bodies {

/// A body, whatever its variant.
enum class Kind {
#define GET_BODY_KINDS
#include "codegen/bodies/Table.inc"
#undef GET_BODY_KINDS
};

/// What an operand is to a body; see codegen/bodies/Body.td.
enum class Role {
  Output,
  PartialOutput,
  Updated,
  Accumulated,
  Input,
  PartialInput,
  Keys,
  State,
  Weight,
  Matrix,
  Integers,
  IntegerOutput,
  PartialIntegers,
  PartialIntegerOutput,
  Flag,
  Scratch,
  Stride,
  Count,
  Number,
  Choice
};

bool isWritten(Role role);
bool isRead(Role role);
/// Whether it is some of its elements only, by what other operands hold.
bool isPartial(Role role);

struct OperandSignature {
  llvm::StringLiteral name;
  Role role;
  bool isNullable;
  /// Whether its elements are those of the function's variant, as a matrix's
  /// are.
  bool isStored;
};

struct Signature {
  /// "linear".
  llvm::StringLiteral name;
  llvm::ArrayRef<OperandSignature> operands;
  /// Inputs that the first operand may be, pointer and stride.
  llvm::ArrayRef<llvm::StringLiteral> inPlace;
  /// Its operations are a matrix product's.
  bool isProduct;
  /// Task libraries that have it: "cpu", "cuda".
  llvm::ArrayRef<llvm::StringLiteral> libraries;
};

const Signature &signatureOf(Kind kind);

/// What a call names: a body in one of its variants.
struct BodyFunction {
  Kind kind;
  /// What its weights are stored as, which is their type's name in a plan, or
  /// its factors are rounded to: "f32", "bf16" or "f16".
  llvm::StringRef format;
  /// Of the library in F64.
  bool isDouble;
};

/// The library's function of that name, as calls have it ("linear_bf16").
std::optional<BodyFunction> lookUp(llvm::StringRef callee);

/// How calls name `body` ("linear") for weights of a type ("bf16"), or one with
/// factors rounded to it.
std::string functionName(llvm::StringRef body, llvm::StringRef format);

/// How they name the same function of the library in F64.
std::string inDouble(llvm::StringRef callee);

/// Whether a target has a body of its own for `callee`, by the name of the way
/// in which it is tuned.
bool isTuned(llvm::StringRef callee, llvm::StringRef target,
             llvm::StringRef tuning);

/// Columns of a gated linear's tile that reads as many weights as a linear's of
/// `linearColumns`: it reads two weights, and whole panels.
inline int64_t gatedColumns(int64_t linearColumns) {
  constexpr int64_t panel = 16;
  return std::max(panel, linearColumns / 2 / panel * panel);
}

/// A call of a body, whose operands derived classes name.
class TaskCall {
public:
  TaskCall() = default;
  explicit TaskCall(event::CallOp op) : op(op) {}

  explicit operator bool() const { return static_cast<bool>(op); }
  event::CallOp getOp() const { return op; }

protected:
  mlir::Attribute operand(unsigned index) const {
    event::CallOp call = op;
    return call.getOperands_()[index];
  }

private:
  event::CallOp op;
};

#include "codegen/bodies/Calls.inc"

/// What the call names, if it has as many operands as that takes.
std::optional<BodyFunction> lookUp(event::CallOp op);

/// The call as one of that body; null if it is none.
template <typename CallT> CallT dynCall(event::CallOp op) {
  std::optional<BodyFunction> function = op ? lookUp(op) : std::nullopt;
  return function && function->kind == CallT::kKind ? CallT(op) : CallT();
}

/// The operand of that name, if the call's body has one.
mlir::Attribute operandNamed(event::CallOp op, llvm::StringRef name);

/// What the form of the call's matrix has for each output besides weights; 0 of
/// a call without such an operand.
int64_t matrixOverhead(event::CallOp op);

/// Whether the call's operands are as many as its body takes, and each can have
/// its role. A call of no body of the library is an error, too.
llvm::Error checkCall(event::CallOp op);

} // namespace baton::bodies

#endif // BATON_CODEGEN_BODIES_TASKCALLS_H

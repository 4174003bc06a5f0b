//===- elementwise.cpp - element-wise ops ---------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Places.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::Elementwise op, Tiler &tiler) {
  return tileElementwise(op, tiler);
}

/// Whether the body of an op may write over the input that the operand is.
static bool isWrittenInPlace(model::Elementwise op, OpOperand &written) {
  std::optional<bodies::BodyFunction> body = bodies::lookUp(op.getBody());
  if (!body)
    return false;
  unsigned n = written.getOperandNumber();
  const bodies::Signature &signature = bodies::signatureOf(body->kind);
  for (const bodies::OperandSignature &operand : signature.operands)
    if (operand.role == bodies::Role::Input && n-- == 0)
      return llvm::is_contained(signature.inPlace, operand.name);
  return false;
}

void tasks::addElementwise(TilingRules &rules) {
  rules.add<model::Elementwise>(tile);
  rules.mayWriteOver<model::Elementwise>(isWrittenInPlace);
}

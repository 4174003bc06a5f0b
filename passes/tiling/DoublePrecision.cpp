//===- DoublePrecision.cpp - a plan that computes in F64 ------------------===//

#include "passes/tiling/DoublePrecision.h"

#include "codegen/bodies/TaskCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;

static FloatAttr widened(FloatAttr number) {
  return FloatAttr::get(Float64Type::get(number.getContext()),
                        number.getValueAsDouble());
}

/// F64 for F32 in types and in the constants of them.
static AttrTypeReplacer makeReplacer() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](Type type) -> std::optional<Type> {
    if (!type.isF32())
      return std::nullopt;
    return Float64Type::get(type.getContext());
  });
  replacer.addReplacement([](FloatAttr number) -> std::optional<Attribute> {
    if (!number.getType().isF32())
      return std::nullopt;
    return widened(number);
  });
  replacer.addReplacement(
      [](DenseFPElementsAttr numbers) -> std::optional<Attribute> {
        if (!numbers.getElementType().isF32())
          return std::nullopt;
        return numbers.mapValues(
            Float64Type::get(numbers.getContext()), [](const APFloat &value) {
              return APFloat(value.convertToDouble()).bitcastToAPInt();
            });
      });
  return replacer;
}

static LogicalResult makeDouble(BodyOp body, AttrTypeReplacer &replacer) {
  auto looks = body.walk([](arith::BitcastOp op) {
    if (!getElementTypeOrSelf(op.getIn()).isF32() &&
        !getElementTypeOrSelf(op.getOut()).isF32())
      return WalkResult::advance();
    op.emitOpError() << "has the bits of an f32, which the program, in f64, "
                        "does not have";
    return WalkResult::interrupt();
  });
  if (looks.wasInterrupted())
    return failure();
  for (Operation &op : body.getBody().front())
    replacer.recursivelyReplaceElementsIn(&op, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  for (BlockArgument argument : body.getBody().getArguments())
    argument.setType(replacer.replace(argument.getType()));
  body.walk([](Operation *op) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      return;
    Value from = op->getOperand(0), to = op->getResult(0);
    if (from.getType() == to.getType()) {
      // What was computed in F64 already.
      to.replaceAllUsesWith(from);
      op->erase();
    } else if (isa<arith::TruncFOp>(op) && getElementTypeOrSelf(from).isF64() &&
               !getElementTypeOrSelf(to).isF32()) {
      // By way of F32: not every machine's library goes there from F64.
      OpBuilder builder(op);
      Type single = builder.getF32Type();
      if (auto vector = dyn_cast<VectorType>(from.getType()))
        single = vector.clone(single);
      op->setOperand(
          0, builder.create<arith::TruncFOp>(op->getLoc(), single, from));
    }
  });
  return success();
}

/// `body` is null of the library's.
static void makeDouble(CallOp call, BodyOp body) {
  Builder builder(call.getContext());
  if (!body)
    call.setCallee(bodies::inDouble(call.getCallee()));
  SmallVector<Attribute> operands;
  for (Attribute operand : call.getOperands_()) {
    if (auto number = dyn_cast<FloatAttr>(operand))
      operand = widened(number);
    else if (auto scratch = dyn_cast<ScratchAttr>(operand))
      operand = ScratchAttr::get(call.getContext(), 2 * scratch.getOffset());
    operands.push_back(operand);
  }
  // Scratch comes last, as a memref of bytes: its size, then its stride.
  if (body && body.usesScratch()) {
    Attribute &bytes = operands[operands.size() - 2];
    bytes = builder.getI64IntegerAttr(2 * cast<IntegerAttr>(bytes).getInt());
  }
  call.setOperands_Attr(builder.getArrayAttr(operands));
}

LogicalResult tasks::makeDouble(BodyOp body) {
  AttrTypeReplacer replacer = makeReplacer();
  return ::makeDouble(body, replacer);
}

LogicalResult tasks::makeDouble(ProgramOp program) {
  Builder builder(program.getContext());
  Type f64 = builder.getF64Type();
  AttrTypeReplacer replacer = makeReplacer();
  llvm::StringMap<BodyOp> bodies;
  for (auto body : program->getParentOfType<ModuleOp>().getOps<BodyOp>()) {
    if (failed(::makeDouble(body, replacer)))
      return failure();
    bodies[body.getSymName()] = body;
  }

  // Several buffers may have one storage.
  llvm::StringSet<> storages;
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (!buffer.getElement().isF32())
      continue;
    buffer.setElement(f64);
    if (auto storage = buffer.getStorage())
      storages.insert(*storage);
  }
  for (auto storage : program.getBody().getOps<StorageOp>())
    if (storages.contains(storage.getSymName()))
      storage.setBytes(2 * storage.getBytes());
  for (auto parameter : program.getBody().getOps<ParameterOp>()) {
    if (!parameter.getElement().isF32())
      continue;
    parameter.setElement(f64);
  }
  program.walk([&](CallOp call) {
    ::makeDouble(call, bodies.lookup(call.getCallee()));
  });
  program.setScratchBytes(2 * program.getScratchBytes());
  return success();
}

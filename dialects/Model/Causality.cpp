//===- Causality.cpp - what a row may depend on ---------------------------===//
//
// A step gets a part of a prompt, of any length. A row's result is the same in
// any, if it depends on no row behind it. A state ends with the step's last
// row, so whoever sums over its positions has to leave out those behind the
// row's own: by factors that are zero there. They come from a mask.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/Verification.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton::model;

/// Whether elements at positions behind a row's own are minus infinity.
static bool isMasked(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MaskOp, CustomOp>([](auto) { return true; })
      .Case([](ScaleOp scale) {
        return scale.getFactor().convertToDouble() > 0 &&
               isMasked(scale.getX());
      })
      .Case([](AddOp sum) {
        return isMasked(sum.getLhs()) || isMasked(sum.getRhs());
      })
      .Case<ReshapeOp, TransposeOp, SliceOp, BroadcastOp>(
          [](auto view) { return isMasked(view->getOperand(0)); })
      .Default(false);
}

/// Whether they are zero. What a body of the user's makes is the user's to
/// know.
static bool isZeroBehind(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](CustomOp) { return true; })
      .Case([](SoftmaxOp softmax) { return isMasked(softmax.getX()); })
      .Case([](ActivateOp activate) {
        if (activate.getActivation() == Activation::relu)
          return isMasked(activate.getX()) || isZeroBehind(activate.getX());
        return isZeroBehind(activate.getX());
      })
      .Case([](MulOp product) {
        return isZeroBehind(product.getLhs()) || isZeroBehind(product.getRhs());
      })
      .Case([](AddOp sum) {
        return isZeroBehind(sum.getLhs()) && isZeroBehind(sum.getRhs());
      })
      .Case<ScaleOp, TanhOp, ReshapeOp, TransposeOp, SliceOp, BroadcastOp>(
          [](auto each) { return isZeroBehind(each->getOperand(0)); })
      .Default(false);
}

static LogicalResult refuse(Operation *op, int64_t dimension) {
  if (dimension == kKv)
    return op->emitOpError()
           << "reads positions behind a row's own, so that its result depends "
              "on how a prompt is cut into steps: mask the scores (model.mask) "
              "before";
  return op->emitOpError()
         << "goes over the rows of a step, so that its result "
            "depends on how a prompt is cut into steps: rows "
            "see others through a state (model.kv_append)";
}

LogicalResult baton::model::verifyCausality(ProgramOp program) {
  WalkResult result = program.walk([](Operation *op) {
    bool causal = true;
    int64_t dimension = 0;
    if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
      dimension = shapeOf(softmax.getX()).back();
      causal = dimension == kKv && isMasked(softmax.getX());
    } else if (auto product = dyn_cast<MatmulOp>(op)) {
      dimension = shapeOf(product.getLhs())[2];
      causal = dimension == kKv && (isZeroBehind(product.getLhs()) ||
                                    isZeroBehind(product.getRhs()));
    }
    if (!isSymbol(dimension) || causal || succeeded(refuse(op, dimension)))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===- ModelOps.cpp - what the model dialect's ops say of themselves ------===//

#include "dialects/Model/Model.h"
#include "dialects/Model/Verification.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace baton::model;

void ProgramOp::readPositions(Value positions) {
  for (auto op : all<RopeTableOp>())
    op.getPositionsMutable().assign(positions);
  for (auto op : all<PositionEmbeddingOp>()) {
    OpBuilder builder(op);
    auto embedding =
        builder.create<EmbeddingOp>(op.getLoc(), op.getType(), positions,
                                    op.getTable(), llvm::APFloat(1.0f));
    op.replaceAllUsesWith(embedding.getResult());
    op.erase();
  }
}

YieldOp StackOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

#include "dialects/Model/Elementwise.cpp.inc"
#include "dialects/Model/Segments.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Model/ModelOps.cpp.inc"

StringRef ActivateOp::getBody() {
  return getActivation() == Activation::identity
             ? "copy"
             : stringifyActivation(getActivation());
}

StringRef CustomOp::getState(unsigned result) {
  return getStates() ? cast<StringAttr>((*getStates())[result]).getValue()
                     : StringRef();
}

void CustomOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (!getState(i).empty())
      effects.emplace_back(MemoryEffects::Write::get());
}

SmallVector<Attribute> ScaleOp::getBodyNumbers() { return {getFactorAttr()}; }

SmallVector<Attribute> ActivateGradientOp::getBodyNumbers() {
  return {Builder(getContext())
              .getI32IntegerAttr(static_cast<int32_t>(getActivation()))};
}

void ParameterOp::build(OpBuilder &, OperationState &state, Type result,
                        ArrayAttr sources, bool transposed) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sources = sources;
  if (transposed)
    properties.transposed = UnitAttr::get(result.getContext());
  state.addTypes(result);
}

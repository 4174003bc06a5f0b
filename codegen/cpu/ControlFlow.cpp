//===- ControlFlow.cpp - structured loops and branches on an IRBuilder ----===//

#include "codegen/cpu/ControlFlow.h"

using namespace llvm;

/// A new block at the end of the function that the builder is in.
static BasicBlock *appendBlock(IRBuilderBase &builder, const Twine &name) {
  return BasicBlock::Create(builder.getContext(), name,
                            builder.GetInsertBlock()->getParent());
}

/// Metadata that keeps a loop as it is. Its first operand is the node itself.
static MDNode *createUnrollDisable(LLVMContext &context) {
  MDNode *disable =
      MDNode::get(context, MDString::get(context, "llvm.loop.unroll.disable"));
  MDNode *loop = MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  return loop;
}

void baton::cpu::emitLoop(IRBuilderBase &builder, const Twine &name,
                          Value *first, Value *last, Value *step,
                          function_ref<void(Value *)> body,
                          Unrolling unrolling) {
  BasicBlock *before = builder.GetInsertBlock();
  BasicBlock *head = appendBlock(builder, name + ".head");
  BasicBlock *inside = appendBlock(builder, name + ".body");
  BasicBlock *after = appendBlock(builder, name + ".end");

  builder.CreateBr(head);
  builder.SetInsertPoint(head);
  PHINode *index = builder.CreatePHI(first->getType(), 2, name);
  index->addIncoming(first, before);
  builder.CreateCondBr(builder.CreateICmpSLT(index, last), inside, after);

  builder.SetInsertPoint(inside);
  body(index);
  // Neither bound is near the type's limit, so the sum does not wrap.
  Value *next = builder.CreateNSWAdd(index, step);
  index->addIncoming(next, builder.GetInsertBlock());
  BranchInst *latch = builder.CreateBr(head);
  if (unrolling == Unrolling::Forbidden)
    latch->setMetadata(LLVMContext::MD_loop,
                       createUnrollDisable(builder.getContext()));

  builder.SetInsertPoint(after);
}

void baton::cpu::emitLoopWhileBelow(IRBuilderBase &builder, const Twine &name,
                                    function_ref<Value *()> take, Value *last,
                                    function_ref<void(Value *)> body) {
  BasicBlock *head = appendBlock(builder, name + ".head");
  BasicBlock *inside = appendBlock(builder, name + ".body");
  BasicBlock *after = appendBlock(builder, name + ".end");
  builder.CreateBr(head);
  builder.SetInsertPoint(head);
  Value *index = take();
  builder.CreateCondBr(builder.CreateICmpSLT(index, last), inside, after);
  builder.SetInsertPoint(inside);
  body(index);
  builder.CreateBr(head);
  builder.SetInsertPoint(after);
}

void baton::cpu::emitLoopNest(IRBuilderBase &builder, const Twine &name,
                              ArrayRef<Value *> low, ArrayRef<Value *> high,
                              function_ref<void(ArrayRef<Value *>)> body) {
  SmallVector<Value *> index;
  auto emitDimension = [&](auto &self) -> void {
    size_t dimension = index.size();
    if (dimension == low.size())
      return body(index);
    emitLoop(builder, name, low[dimension], high[dimension],
             builder.getInt64(1), [&](Value *value) {
               index.push_back(value);
               self(self);
               index.pop_back();
             });
  };
  emitDimension(emitDimension);
}

void baton::cpu::emitIf(IRBuilderBase &builder, const Twine &name,
                        Value *condition, function_ref<void()> body) {
  BasicBlock *inside = appendBlock(builder, name);
  BasicBlock *after = appendBlock(builder, name + ".end");
  builder.CreateCondBr(condition, inside, after);
  builder.SetInsertPoint(inside);
  body();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

Value *baton::cpu::emitRowMajorIndex(IRBuilderBase &builder,
                                     ArrayRef<Value *> index,
                                     ArrayRef<int64_t> extents) {
  Value *position = builder.getInt64(0);
  for (auto [value, extent] : zip_equal(index, extents))
    position = builder.CreateAdd(
        builder.CreateMul(position, builder.getInt64(extent)), value);
  return position;
}

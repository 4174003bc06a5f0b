//===- WideAccesses.cpp - vectors that the thread sanitizer would not see -===//

#include "codegen/cpu/WideAccesses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Whether the sanitizer itself has no function for an access of this size.
static bool isWide(TypeSize size) {
  return !size.isScalable() &&
         !is_contained({1, 2, 4, 8, 16}, size.getFixedValue());
}

bool baton::cpu::isPrivate(const Value *address) {
  return isa<AllocaInst>(getUnderlyingObject(address));
}

PreservedAnalyses
baton::cpu::WideAccessPass::run(Function &function,
                                FunctionAnalysisManager &analyses) {
  if (!function.hasFnAttribute(Attribute::SanitizeThread))
    return PreservedAnalyses::all();
  Module &module = *function.getParent();
  const DataLayout &layout = module.getDataLayout();
  SmallVector<Instruction *> accesses;
  for (Instruction &instruction : instructions(function))
    if (isa<LoadInst, StoreInst>(instruction) &&
        isWide(layout.getTypeStoreSize(getLoadStoreType(&instruction))) &&
        !isPrivate(getLoadStorePointerOperand(&instruction)))
      accesses.push_back(&instruction);

  for (Instruction *access : accesses) {
    // Placed before the access, the report's stack shows its line.
    IRBuilder<> builder(access);
    AttributeList attributes = AttributeList().addFnAttribute(
        module.getContext(), Attribute::NoUnwind);
    FunctionCallee announce = module.getOrInsertFunction(
        isa<StoreInst>(access) ? "__tsan_write_range" : "__tsan_read_range",
        attributes, builder.getVoidTy(), builder.getPtrTy(),
        builder.getInt64Ty());
    builder.CreateCall(
        announce,
        {getLoadStorePointerOperand(access),
         builder.getInt64(layout.getTypeStoreSize(getLoadStoreType(access)))});
  }
  return accesses.empty() ? PreservedAnalyses::all()
                          : PreservedAnalyses::none();
}

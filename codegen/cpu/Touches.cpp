//===- Touches.cpp - tasks say what they load and store -------------------===//

#include "codegen/cpu/Touches.h"
#include "codegen/cpu/WideAccesses.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace {

/// One access; computes what is announced where the builder stands.
struct Touch {
  Value *address;
  bool writes;
  function_ref<Value *(IRBuilderBase &)> bytes;
};

class Announcer {
public:
  explicit Announcer(Function &function)
      : module(*function.getParent()), layout(module.getDataLayout()) {}

  /// Whether the instruction touched memory of others.
  bool announce(Instruction &instruction);

private:
  bool announceVector(IntrinsicInst &call);
  void emit(Instruction &before, Touch touch);
  Value *sizeOf(IRBuilderBase &builder, Type *type) {
    return builder.getInt64(layout.getTypeStoreSize(type).getFixedValue());
  }

  Module &module;
  const DataLayout &layout;
};

} // namespace

void Announcer::emit(Instruction &before, Touch touch) {
  IRBuilder<> builder(&before);
  Type *byte = builder.getInt8Ty();
  LoadInst *wanted = builder.CreateAlignedLoad(
      byte, module.getOrInsertGlobal("baton_touches_wanted", byte), Align(1));
  wanted->setAtomic(AtomicOrdering::Monotonic);
  Instruction *then = SplitBlockAndInsertIfThen(
      builder.CreateIsNotNull(wanted), &before, /*Unreachable=*/false,
      MDBuilder(module.getContext()).createUnlikelyBranchWeights());
  builder.SetInsertPoint(then);
  AttributeList attributes =
      AttributeList().addFnAttribute(module.getContext(), Attribute::NoUnwind);
  FunctionCallee announced = module.getOrInsertFunction(
      "baton_touch", attributes, builder.getVoidTy(), builder.getPtrTy(),
      builder.getInt64Ty(), builder.getInt32Ty());
  builder.CreateCall(announced, {touch.address, touch.bytes(builder),
                                 builder.getInt32(touch.writes)});
}

/// Accesses of some lanes of a vector.
bool Announcer::announceVector(IntrinsicInst &call) {
  auto lanesOf = [](Type *type) {
    return cast<FixedVectorType>(type)->getNumElements();
  };
  auto maskOf = [&](unsigned argument) { return call.getArgOperand(argument); };
  switch (call.getIntrinsicID()) {
  case Intrinsic::masked_load:
  case Intrinsic::masked_store: {
    bool writes = call.getIntrinsicID() == Intrinsic::masked_store;
    Value *mask = maskOf(writes ? 3 : 2);
    Type *type = writes ? call.getArgOperand(0)->getType() : call.getType();
    unsigned lanes = lanesOf(type);
    // Up to the last lane of the mask.
    emit(call,
         {call.getArgOperand(writes ? 1 : 0), writes,
          [&](IRBuilderBase &builder) -> Value * {
            Value *bits = builder.CreateBitCast(mask, builder.getIntNTy(lanes));
            Value *unused = builder.CreateBinaryIntrinsic(Intrinsic::ctlz, bits,
                                                          builder.getFalse());
            Value *used = builder.CreateSub(
                builder.getInt64(lanes),
                builder.CreateZExtOrTrunc(unused, builder.getInt64Ty()));
            return builder.CreateMul(used,
                                     sizeOf(builder, type->getScalarType()));
          }});
    return true;
  }
  case Intrinsic::masked_gather:
  case Intrinsic::masked_scatter: {
    bool writes = call.getIntrinsicID() == Intrinsic::masked_scatter;
    Value *addresses = call.getArgOperand(writes ? 1 : 0);
    Value *mask = maskOf(writes ? 3 : 2);
    Type *type = writes ? call.getArgOperand(0)->getType() : call.getType();
    for (unsigned lane = 0; lane < lanesOf(type); ++lane) {
      IRBuilder<> builder(&call);
      emit(call, {builder.CreateExtractElement(addresses, lane), writes,
                  [&](IRBuilderBase &builder) -> Value * {
                    return builder.CreateSelect(
                        builder.CreateExtractElement(mask, lane),
                        sizeOf(builder, type->getScalarType()),
                        builder.getInt64(0));
                  }});
    }
    return true;
  }
  default:
    return false;
  }
}

bool Announcer::announce(Instruction &instruction) {
  if (isa<LoadInst, StoreInst>(instruction)) {
    Value *address = getLoadStorePointerOperand(&instruction);
    if (baton::cpu::isPrivate(address))
      return false;
    emit(instruction,
         {address, isa<StoreInst>(instruction), [&](IRBuilderBase &builder) {
            return sizeOf(builder, getLoadStoreType(&instruction));
          }});
    return true;
  }
  if (auto *block = dyn_cast<MemIntrinsic>(&instruction)) {
    auto length = [&](IRBuilderBase &builder) {
      return builder.CreateZExtOrTrunc(block->getLength(),
                                       builder.getInt64Ty());
    };
    auto *copy = dyn_cast<MemTransferInst>(block);
    bool reads = copy && !baton::cpu::isPrivate(copy->getSource()),
         writes = !baton::cpu::isPrivate(block->getDest());
    if (reads)
      emit(instruction, {copy->getSource(), /*writes=*/false, length});
    if (writes)
      emit(instruction, {block->getDest(), /*writes=*/true, length});
    return reads || writes;
  }
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return announceVector(*call);
  return false;
}

PreservedAnalyses
baton::cpu::TouchPass::run(Function &function,
                           FunctionAnalysisManager &analyses) {
  if (!function.hasFnAttribute(Attribute::SanitizeAddress))
    return PreservedAnalyses::all();
  SmallVector<Instruction *> accesses;
  for (Instruction &instruction : instructions(function))
    if (instruction.mayReadOrWriteMemory())
      accesses.push_back(&instruction);
  Announcer announcer(function);
  bool changed = false;
  for (Instruction *access : accesses)
    changed |= announcer.announce(*access);
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

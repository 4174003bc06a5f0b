//===- Bodies.cpp - task bodies that users wrote, as LLVM IR --------------===//

#include "codegen/cpu/Bodies.h"

#include "codegen/cpu/Contractions.h"
#include "codegen/cpu/Reductions.h"
#include "codegen/plan/BodyFunctions.h"
#include "codegen/plan/LibraryCalls.h"
#include "dialects/Event/Event.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/RuntimeOpVerification.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/IRBuilder.h"

#include <unistd.h>

using namespace mlir;
using namespace baton;
using namespace baton::event;
using llvm::Expected;

namespace {
/// Calls of the task library as it takes them: pointers, and i64 for indices.
struct CallLibrary : public PassWrapper<CallLibrary, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CallLibrary)
  StringRef getArgument() const override { return "call-library"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> declared;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isDeclaration())
        declared.push_back(function);
    SmallVector<func::CallOp> calls;
    getOperation().walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::FuncOp function : declared)
      declare(function);
    for (func::CallOp call : calls) {
      OpBuilder builder(call);
      SmallVector<Value> operands;
      for (Value operand : call.getOperands())
        operands.push_back(passed(builder, call.getLoc(), operand));
      builder.create<LLVM::CallOp>(call.getLoc(), TypeRange(),
                                   call.getCalleeAttr(), operands);
      call.erase();
    }
  }

private:
  static void declare(func::FuncOp function) {
    OpBuilder builder(function);
    SmallVector<Type> types;
    for (Type type : function.getArgumentTypes())
      types.push_back(isa<MemRefType>(type)
                          ? LLVM::LLVMPointerType::get(type.getContext())
                      : type.isIndex() ? builder.getI64Type()
                                       : type);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(builder.getContext()), types);
    std::string name = function.getSymName().str();
    Location location = function.getLoc();
    function.erase();
    builder.setInsertionPointToEnd(builder.getBlock());
    builder.create<LLVM::LLVMFuncOp>(location, name, type);
  }

  static Value passed(OpBuilder &builder, Location location, Value operand) {
    auto toInteger = [&](Value index) -> Value {
      return builder.create<arith::IndexCastOp>(location, builder.getI64Type(),
                                                index);
    };
    if (operand.getType().isIndex())
      return toInteger(operand);
    auto memref = dyn_cast<MemRefType>(operand.getType());
    if (!memref)
      return operand;
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    if (plan::isNull(operand))
      return builder.create<LLVM::ZeroOp>(location, pointer);
    Value root = operand;
    while (!isa_and_nonnull<memref::ViewOp>(root.getDefiningOp())) {
      auto part = root.getDefiningOp<ViewLikeOpInterface>();
      if (!part)
        break;
      root = part.getViewSource();
    }
    // A temporary begins behind its memory's pointer, which the expansion of
    // metadata takes for its own.
    auto temporary = root.getDefiningOp<memref::ViewOp>();
    Value base = builder.create<LLVM::IntToPtrOp>(
        location, pointer,
        toInteger(builder.create<memref::ExtractAlignedPointerAsIndexOp>(
            location, temporary ? temporary.getSource() : root)));
    if (temporary)
      base = builder.create<LLVM::GEPOp>(
          location, pointer, builder.getI8Type(), base,
          ValueRange{toInteger(temporary.getByteShift())});
    Value offset =
        builder.create<memref::ExtractStridedMetadataOp>(location, operand)
            .getOffset();
    return builder.create<LLVM::GEPOp>(location, pointer,
                                       memref.getElementType(), base,
                                       ValueRange{toInteger(offset)});
  }
};
} // namespace

namespace {
/// F32 to BF16 by whole numbers: LLVM would call a function that programs lack.
struct RoundToBFloat16
    : public PassWrapper<RoundToBFloat16, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RoundToBFloat16)
  StringRef getArgument() const override { return "round-to-bfloat16"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

/// Passes from the ops of bodies to LLVM's.
static void addLowering(PassManager &manager, bool checked) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // Checks are of the plain loops.
  if (!checked)
    cpu::addContractions(functions);
  functions.addPass(plan::createFuseProductsPass());
  if (!checked)
    cpu::addReductions(functions);
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(createConvertVectorToSCFPass());
  functions.addPass(createLowerAffinePass());
  if (checked)
    functions.addPass(createGenerateRuntimeVerificationPass());
  functions.addPass(plan::createApproximateFunctionsPass());
  functions.addPass(std::make_unique<RoundToBFloat16>());
  functions.addPass(plan::createPlaceTemporariesPass());
  manager.addPass(std::make_unique<CallLibrary>());
  manager.addPass(createConvertSCFToCFPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
}

/// A failed check says why before the program aborts, which loses what puts has
/// only buffered: it goes to standard error, where reports of sanitizers go.
static void reportUnbuffered(llvm::Module &module) {
  llvm::Function *puts = module.getFunction("puts");
  if (!puts)
    return;
  llvm::IRBuilder<> builder(module.getContext());
  llvm::FunctionCallee print = module.getOrInsertFunction(
      "dprintf",
      llvm::FunctionType::get(builder.getInt32Ty(),
                              {builder.getInt32Ty(), builder.getPtrTy()},
                              /*isVarArg=*/true));
  for (llvm::User *user : llvm::make_early_inc_range(puts->users())) {
    auto *call = cast<llvm::CallInst>(user);
    builder.SetInsertPoint(call);
    builder.CreateCall(print, {builder.getInt32(STDERR_FILENO),
                               builder.CreateGlobalStringPtr("%s\n"),
                               call->getArgOperand(0)});
    call->eraseFromParent();
  }
  puts->eraseFromParent();
}

Expected<std::unique_ptr<llvm::Module>>
baton::cpu::lowerBodies(ModuleOp source, bool checked,
                        llvm::LLVMContext &llvmContext) {
  auto made = plan::makeBodyFunctions(source, checked);
  if (!made)
    return made.takeError();
  OwningOpRef<ModuleOp> &module = *made;
  if (!module)
    return nullptr;
  MLIRContext *context = source.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  memref::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  linalg::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  context->appendDialectRegistry(registry);

  std::unique_ptr<llvm::Module> code;
  if (llvm::Error error = plan::compileBodies(source, [&] {
        PassManager manager(context);
        addLowering(manager, checked);
        if (succeeded(manager.run(*module)))
          code = translateModuleToLLVMIR(*module, llvmContext, "bodies");
        return success(code != nullptr);
      }))
    return std::move(error);
  reportUnbuffered(*code);
  return code;
}

//===- Bodies.cpp - task bodies that users wrote, as LLVM IR --------------===//

#include "codegen/cpu/Bodies.h"

#include "codegen/cpu/Contractions.h"
#include "codegen/plan/BodyFunctions.h"
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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/RuntimeOpVerification.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/IRBuilder.h"

#include <unistd.h>

using namespace mlir;
using namespace baton;
using namespace baton::event;
using llvm::Expected;

/// Passes from the ops of bodies to LLVM's.
static void addLowering(PassManager &manager, bool checked) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // Checks are of the plain loops.
  if (!checked)
    cpu::addContractions(functions);
  functions.addPass(plan::createFuseProductsPass());
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(createConvertVectorToSCFPass());
  functions.addPass(createLowerAffinePass());
  if (checked)
    functions.addPass(createGenerateRuntimeVerificationPass());
  functions.addPass(plan::createApproximateFunctionsPass());
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
  OwningOpRef<ModuleOp> module = plan::makeBodyFunctions(source);
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

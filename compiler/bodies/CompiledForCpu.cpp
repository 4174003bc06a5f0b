//===- CompiledForCpu.cpp - a task body that the CPU can call
//--------------===//

#include "codegen/cpu/Bodies.h"
#include "codegen/cpu/Emit.h"
#include "codegen/cpu/Optimize.h"
#include "codegen/cpu/Target.h"
#include "compiler/bodies/Compiled.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace baton;
using namespace baton::checks;
using llvm::Error;
using llvm::Expected;

static constexpr char kCall[] = "baton_call";

/// A function that takes the arguments of a body's as words in memory.
static void addCall(llvm::Module &module, llvm::Function *body) {
  llvm::IRBuilder<> builder(module.getContext());
  auto *call = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()},
                              /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, kCall, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "entry", call));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : body->args())
    arguments.push_back(builder.CreateLoad(
        argument.getType(),
        builder.CreateConstGEP1_64(builder.getInt64Ty(), call->getArg(0),
                                   argument.getArgNo())));
  builder.CreateCall(body, arguments);
  builder.CreateRetVoid();
  // Optimisation keeps what programs have, and what is used.
  llvm::appendToUsed(module, {call});
}

/// The object of a body.
static Expected<llvm::SmallString<0>> compile(const Body &body) {
  auto alone = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::ModuleOp::create(body.op->getLoc()));
  alone->getBody()->push_back(body.op->clone());
  cpu::TargetOptions options;
  Expected<cpu::Target> target = cpu::resolveTarget(options);
  if (!target)
    return target.takeError();
  auto machine = cpu::createTargetMachine(*target, options.optimization);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto module = cpu::lowerBodies(*alone, /*checked=*/false, context);
  if (!module)
    return module.takeError();
  (*module)->setTargetTriple(target->triple);
  (*module)->setDataLayout((*machine)->createDataLayout());
  addCall(**module, (*module)->getFunction("baton_task_" + body.name));
  if (Error error = cpu::optimize(**module, **machine, options))
    return std::move(error);
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  if (Error error =
          cpu::emitObject(**module, *target, options.optimization, stream))
    return std::move(error);
  return object;
}

Expected<Call> checks::compileForCpu(const Body &body) {
  auto object = compile(body);
  if (!object)
    return object.takeError();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  if (Error error = (*jit)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object->str(), body.name)))
    return std::move(error);
  auto symbol = (*jit)->lookup(kCall);
  if (!symbol)
    return symbol.takeError();
  auto *call = symbol->toPtr<void (*)(const int64_t *)>();
  return [jit = std::move(*jit), call](const std::vector<int64_t> &words) {
    call(words.data());
  };
}

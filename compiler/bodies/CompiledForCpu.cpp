//===- CompiledForCpu.cpp - a task body that the CPU can call
//--------------===//

#include "codegen/cpu/Bodies.h"
#include "codegen/cpu/Emit.h"
#include "codegen/cpu/Optimize.h"
#include "codegen/cpu/Target.h"
#include "codegen/cpu/TaskLibrary.h"
#include "codegen/plan/BodyFunctions.h"
#include "compiler/bodies/Compiled.h"
#include "passes/tiling/BodyScratch.h"

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
static Expected<llvm::SmallString<0>> compile(const Body &body,
                                              const TaskLibraries &libraries) {
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
  auto library = cpu::TaskLibrary::load(libraries.inF32, **module);
  if (!library)
    return library.takeError();
  if (Error error = library->addInF64(libraries.inF64, **module))
    return std::move(error);
  if (Error error = std::move(*library).linkInto(**module))
    return std::move(error);
  if (Error error = cpu::optimize(**module, **machine, options))
    return std::move(error);
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  if (Error error =
          cpu::emitObject(**module, *target, options.optimization, stream))
    return std::move(error);
  return object;
}

Expected<Call> checks::withScratch(const Body &body, Call call) {
  auto op = llvm::cast<event::BodyOp>(body.op);
  if (!op.usesScratch())
    return call;
  // Where a size has no bound, that is said before anything runs.
  auto alone =
      mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp::create(op.getLoc()));
  if (Error error = plan::compileBodies(*alone, [&] {
        return mlir::success(succeeded(
            tasks::scratchOf(op, [](unsigned, unsigned) { return 1; })));
      }))
    return std::move(error);
  llvm::SmallVector<size_t> sizes;
  size_t word = 0;
  for (const Argument &argument : body.arguments) {
    sizes.push_back(word + 3);
    word += 3 + 2 * argument.rank();
  }
  return [op, sizes = std::move(sizes), call = std::move(call),
          fill = uint8_t(0)](const std::vector<int64_t> &words) mutable {
    const int64_t bytes = *tasks::scratchOf(
        op,
        [&](unsigned argument, unsigned dimension) -> std::optional<int64_t> {
          return words[sizes[argument] + dimension];
        });
    // No memory behind it is its own.
    std::vector<char> scratch(bytes + 64, char(fill += 77));
    auto begin = llvm::alignAddr(scratch.data(), llvm::Align(64));
    std::vector<int64_t> all(words);
    llvm::append_values(all, int64_t(begin), int64_t(begin), 0, bytes, 1);
    call(all);
  };
}

Expected<Call> checks::compileForCpu(const Body &body,
                                     const TaskLibraries &libraries) {
  auto object = compile(body, libraries);
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
  return withScratch(
      body, [jit = std::move(*jit), call](const std::vector<int64_t> &words) {
        call(words.data());
      });
}

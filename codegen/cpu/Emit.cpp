//===- Emit.cpp - from a proved plan to native code -----------------------===//

#include "codegen/cpu/Emit.h"
#include "codegen/cpu/Bodies.h"
#include "codegen/cpu/Optimize.h"
#include "codegen/cpu/ProgramEmitter.h"
#include "codegen/cpu/Target.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace baton::event;

/// Defines baton_metadata and baton_metadata_size.
static void emitMetadata(Module &module, StringRef metadata) {
  LLVMContext &context = module.getContext();
  Constant *text = ConstantDataArray::getString(context, metadata,
                                                /*AddNull=*/false);
  auto *size = ConstantInt::get(Type::getInt64Ty(context), metadata.size());
  new GlobalVariable(module, text->getType(), /*isConstant=*/true,
                     GlobalValue::ExternalLinkage, text, "baton_metadata");
  new GlobalVariable(module, size->getType(), /*isConstant=*/true,
                     GlobalValue::ExternalLinkage, size, "baton_metadata_size");
}

/// What makes a plan unfit for code generation as a whole.
static Error checkProgram(ProgramOp program) {
  if (!program.getProof())
    return createStringError("program @" + program.getSymName() +
                             " has no proof; run event-verify first");
  if (!program.getBody().getOps<ScheduleOp>().empty())
    return createStringError(
        "program @" + program.getSymName() +
        " has an explicit schedule for one step; code is generated for every "
        "step and number of workers, remove the event.schedule");
  return Error::success();
}

/// LLVM's verifier: a failure is a defect of this code generator.
static Error verify(const Module &module) {
  std::string message;
  raw_string_ostream stream(message);
  if (!verifyModule(module, &stream))
    return Error::success();
  return createStringError("generated code is malformed: " +
                           StringRef(message).split('\n').first);
}

Expected<std::unique_ptr<Module>>
baton::cpu::emitModule(ProgramOp program, StringRef metadata,
                       const Target &target, const TargetOptions &options,
                       LLVMContext &context) {
  if (Error error = checkProgram(program))
    return error;
  Expected<std::unique_ptr<TargetMachine>> machine =
      createTargetMachine(target, options.optimization);
  if (!machine)
    return machine.takeError();

  // A fixed name: it ends up in the object's symbol table.
  auto module = std::make_unique<Module>("baton_program", context);
  module->setTargetTriple(target.triple);
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(PICLevel::BigPIC);
  module->setPIELevel(PIELevel::Large);
  Expected<TaskLibrary> library = TaskLibrary::load(options.library, *module);
  if (!library)
    return library.takeError();

  auto bodies = lowerBodies(program, !options.sanitize.empty(), context);
  if (!bodies)
    return bodies.takeError();
  if (*bodies)
    if (Error error = library->add(std::move(*bodies)))
      return error;

  emitMetadata(*module, metadata);
  ProgramTypes types(context);
  ProgramLayout layout(program);
  if (Error error = emitProgram({*module, types, layout, *library}, program))
    return error;
  if (Error error = std::move(*library).linkInto(*module))
    return error;
  if (Error error = verify(*module))
    return error;
  if (Error error = optimize(*module, **machine, options))
    return error;
  return module;
}

Error baton::cpu::emitObject(Module &module, const Target &target,
                             raw_pwrite_stream &stream) {
  Expected<std::unique_ptr<TargetMachine>> machine =
      createTargetMachine(target, /*optimization=*/3);
  if (!machine)
    return machine.takeError();
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::ObjectFile))
    return createStringError("no object files for '" + target.triple + "'");
  passes.run(module);
  return Error::success();
}

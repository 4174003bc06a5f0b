//===- Emit.cpp - from a proved plan to native code -----------------------===//

#include "codegen/cpu/Emit.h"
#include "codegen/cpu/Bodies.h"
#include "codegen/cpu/Optimize.h"
#include "codegen/cpu/ProgramEmitter.h"
#include "codegen/cpu/Target.h"
#include "codegen/plan/Description.h"
#include "codegen/plan/PlanChecks.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;

/// LLVM's verifier: a failure is a defect of this code generator.
static Error verify(const Module &module) {
  std::string message;
  raw_string_ostream stream(message);
  if (!verifyModule(module, &stream))
    return Error::success();
  return createStringError("generated code is malformed: " +
                           StringRef(message).split('\n').first);
}

namespace baton::cpu {

/// One program is baton_program, several are in a table.
static Expected<std::unique_ptr<Module>>
emit(ArrayRef<plan::ProgramLayout> layouts, bool isTable, StringRef metadata,
     const Target &target, const TargetOptions &options, LLVMContext &context) {
  ProgramOp first = layouts.front().program;
  for (const plan::ProgramLayout &layout : layouts)
    if (Error error = plan::checkProgram(layout.program))
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

  if (plan::computesInF64(first))
    if (Error error = library->addInF64(options.libraryInF64, *module))
      return error;

  auto bodies = lowerBodies(first->getParentOfType<mlir::ModuleOp>(),
                            !options.sanitize.empty(), context);
  if (!bodies)
    return bodies.takeError();
  if (*bodies)
    if (Error error = library->add(std::move(*bodies)))
      return error;

  plan::emitDescription(
      *module, metadata,
      !isTable                         ? "baton_make_host_execution"
      : first->hasAttr("event.stages") ? "baton_make_decoding_stage"
                                       : "baton_make_stage_execution",
      first->hasAttr("event.batch"), first->hasAttr("event.longest_sequence"));
  ProgramTypes types(context);
  CalledBodies called(*module);
  std::vector<std::string> symbols;
  for (auto [i, layout] : enumerate(layouts)) {
    symbols.push_back(isTable ? "baton_program_" + std::to_string(i)
                              : "baton_program");
    if (Error error =
            emitProgram({*module, types, layout, *library, called,
                         /*declaresAccesses=*/options.sanitize == "address"},
                        layout.program, symbols.back()))
      return error;
  }
  if (isTable)
    plan::emitProgramTable(*module, symbols);
  called.finish();
  if (Error error = std::move(*library).linkInto(*module))
    return error;
  if (Error error = verify(*module))
    return error;
  if (Error error = optimize(*module, **machine, options))
    return error;
  return module;
}

} // namespace baton::cpu

Expected<std::unique_ptr<Module>>
baton::cpu::emitModule(ProgramOp program, StringRef metadata,
                       const Target &target, const TargetOptions &options,
                       LLVMContext &context) {
  return emit(plan::ProgramLayout(program), /*isTable=*/false, metadata, target,
              options, context);
}

Expected<std::unique_ptr<Module>>
baton::cpu::emitModule(ArrayRef<plan::ProgramLayout> programs,
                       StringRef metadata, const Target &target,
                       const TargetOptions &options, LLVMContext &context) {
  return emit(programs, /*isTable=*/true, metadata, target, options, context);
}

Error baton::cpu::emitObject(Module &module, const Target &target,
                             int optimization, raw_pwrite_stream &stream) {
  Expected<std::unique_ptr<TargetMachine>> machine =
      createTargetMachine(target, optimization);
  if (!machine)
    return machine.takeError();
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::ObjectFile))
    return createStringError("no object files for '" + target.triple + "'");
  passes.run(module);
  return Error::success();
}

//===- emit-unproved.cpp - an executable of a plan that nothing proved ----===//
//
//     emit-unproved PLAN.mlir EXECUTABLE SANITIZER INSTALLATION
//
// Emits an edited plan whose `proof` attribute is a lie, with a sanitizer in
// it: batonc, which proves every plan itself, would refuse. The tests plant
// races and overflows this way and demand that the sanitizers report them.
// INSTALLATION is the folder lib/baton that batonc would use.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Emit.h"
#include "codegen/link/Link.h"
#include "codegen/plan/Metadata.h"
#include "compiler/Installation.h"
#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

using namespace baton;

static llvm::Error emit(event::ProgramOp program, llvm::StringRef output,
                        const std::string &sanitize,
                        const compiler::Installation &installation) {
  cpu::TargetOptions options;
  options.sanitize = sanitize;
  options.library = installation.cpuLibrary();
  auto target = cpu::resolveTarget(options);
  if (!target)
    return target.takeError();

  nlohmann::json metadata = plan::planMetadata(program);
  metadata["format"] = 1;
  metadata["model"] = {{"vocabulary", metadata["logits"]["vocabulary"]}};
  llvm::LLVMContext context;
  auto module =
      cpu::emitModule(program, metadata.dump(), *target, options, context);
  if (!module)
    return module.takeError();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  if (llvm::Error error = cpu::emitObject(**module, *target, stream))
    return error;

  link::LinkOptions linkOptions;
  linkOptions.sanitize = sanitize;
  linkOptions.archives = installation.archives(sanitize);
  return link::linkExecutable(llvm::StringRef(object.data(), object.size()),
                              output, linkOptions);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    llvm::errs() << "usage: emit-unproved PLAN.mlir EXECUTABLE SANITIZER "
                    "INSTALLATION\n";
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<event::EventDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  event::ProgramOp program = *module->getOps<event::ProgramOp>().begin();
  if (llvm::Error error = emit(program, argv[2], argv[3], {argv[4]})) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}

//===- ObjectKey.cpp - what an object's bytes depend on -------------------===//

#include "compiler/targets/cpu/ObjectKey.h"

#include "codegen/link/Cache.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

using namespace baton;
using namespace llvm;

/// A hash of the code generator, made when Baton is built: what a pass does
/// shows in the plan.
static constexpr char kCodeGenerator[] =
#include "compiler/CodeGenerator.inc"
    ;

/// The library with LLVM's code generator.
static std::optional<std::string> identityOfLlvm() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&llvm::parseIRFile), &info))
    return std::nullopt;
  return link::Cache::identityOf(info.dli_fname);
}

std::optional<std::string>
compiler::objectKey(ArrayRef<plan::ProgramLayout> layouts, StringRef metadata,
                    const cpu::Target &target,
                    const cpu::TargetOptions &options) {
  std::optional<std::string> llvm = identityOfLlvm();
  auto library = MemoryBuffer::getFile(options.library);
  auto libraryInF64 = MemoryBuffer::getFile(options.libraryInF64);
  if (!llvm || !library || !libraryInF64)
    return std::nullopt;
  // Programs, and task bodies of users beside them.
  std::string plans;
  raw_string_ostream stream(plans);
  SmallPtrSet<mlir::Operation *, 4> printed;
  for (const plan::ProgramLayout &layout : layouts) {
    event::ProgramOp program = layout.program;
    mlir::Operation *module = program->getParentOp();
    if (printed.insert(module).second)
      module->print(stream);
    stream << "\n@" << program.getSymName() << '\n';
  }
  // Checks in these say where they stand.
  if (!options.sanitize.empty())
    for (mlir::Operation *module : printed)
      for (event::BodyOp body : module->getRegion(0).getOps<event::BodyOp>())
        body->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  std::string level = std::to_string(options.optimization);
  return link::Cache::key({kCodeGenerator, *llvm, (*library)->getBuffer(),
                           (*libraryInF64)->getBuffer(), target.triple,
                           target.cpu, target.features, options.sanitize, level,
                           metadata, plans});
}

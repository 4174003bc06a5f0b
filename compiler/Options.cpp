//===- Options.cpp - what a user asks the compiler for --------------------===//

#include "compiler/Options.h"

#include "compiler/Installation.h"
#include "runtime/weights/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;

int64_t baton::compiler::countStages(const CompileOptions &options) {
  for (const MeshAxis &axis : options.mesh)
    if (axis.name == kPipelineAxis)
      return axis.size;
  return 1;
}

Error baton::compiler::findOptimizer(CompileOptions &options,
                                     const Installation &installation) {
  llvm::StringRef name = options.optimizer;
  auto known = installation.optimizers();
  if (name.ends_with(".mlir"))
    options.optimizerFile = name.str();
  else if (name.empty() || llvm::is_contained(known, name))
    options.optimizerFile =
        installation.optimizer(name.empty() ? "adamw" : name.str());
  else
    return createStringError("--optimizer=" + name + " is unknown; there is " +
                             llvm::join(known, ", ") +
                             ", and FILE.mlir of rules and groups" +
                             baton::nearest_text(name.str(), known));
  return Error::success();
}

//===- Importer.h - from a Hugging Face folder to a model.program ---------===//
//
// Reads a checkpoint's config.json, never its weights. Each model family is
// one file in this folder; see Family.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_MODELS_IMPORTER_H
#define BATON_MODELS_IMPORTER_H

#include "models/ImportOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace baton::models {

/// Reads `folder`/config.json and builds a verified module that holds one
/// model.program in primitive form. Loads the model dialect into `context`.
/// On error returns null and sets `error` to one line that names the file and
/// field, or the flag, at fault. Throws nothing.
mlir::OwningOpRef<mlir::ModuleOp> importFolder(mlir::MLIRContext &context,
                                               llvm::StringRef folder,
                                               const ImportOptions &options,
                                               std::string &error);

/// The values of config.json's `model_type` that have an importer, sorted.
std::vector<std::string> families();

} // namespace baton::models

#endif // BATON_MODELS_IMPORTER_H

//===- Importer.h - from a checkpoint to a model.program ------------------===//
//
// Reads a checkpoint's config.json, or a GGUF file's metadata, and where
// weights are quantised what the files' headers say of them, never a weight.
// Each model family is one file in this folder; see Family.h.
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

/// Reads `path`/config.json, or the GGUF file that find_gguf() finds by `path`,
/// and builds a verified module that holds one model.program in primitive form.
/// Loads the model dialect into `context`. On error returns null and sets
/// `error` to one line that names the file and field, or the flag, at fault.
/// Throws nothing.
mlir::OwningOpRef<mlir::ModuleOp> importFolder(mlir::MLIRContext &context,
                                               llvm::StringRef path,
                                               const ImportOptions &options,
                                               std::string &error);

/// Whether it is a GGUF file, by its first bytes, or its name.
bool isGgufFile(llvm::StringRef path);

/// The values of config.json's `model_type` that have an importer, sorted.
std::vector<std::string> families();

} // namespace baton::models

#endif // BATON_MODELS_IMPORTER_H

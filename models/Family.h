//===- Family.h - what one model family's file provides -------------------===//
//
// A family is one file X.cpp that defines `const Family baton::models::XFamily`
// and is named in this folder's CMakeLists.txt, which generates Families.inc.
// (Constructors that register themselves would be dropped from a static
// library.)
//
//===----------------------------------------------------------------------===//

#ifndef BATON_MODELS_FAMILY_H
#define BATON_MODELS_FAMILY_H

#include "models/Config.h"
#include "models/ImportOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace baton::models {

struct Family {
  /// The value of config.json's `model_type`.
  const char *modelType;
  /// The transformers class whose weights it reads.
  const char *architecture;
  /// Builds the module. Throws ConfigError, and does so before it builds.
  mlir::OwningOpRef<mlir::ModuleOp> (*build)(mlir::MLIRContext &,
                                             const Config &,
                                             const ImportOptions &);
  /// The `model_type` of models that hold this one beside what reads images,
  /// which are refused, if there are such.
  const char *wrapper = nullptr;
};

#define BATON_MODEL_FAMILY(NAME) extern const Family NAME##Family;
#include "models/Families.inc"
#undef BATON_MODEL_FAMILY

/// The longest sequence: the option, or the config's `limitName`, which the
/// option may not exceed. Throws ConfigError.
int64_t maxSeqOption(const Config &config, const ImportOptions &options,
                     const char *limitName);

/// The element type of linear weights and embedding tables: the option, or the
/// config's `dtype` or `torch_dtype`, or f32. Throws ConfigError.
mlir::FloatType weightTypeOption(mlir::MLIRContext &context,
                                 const Config &config,
                                 const ImportOptions &options);

} // namespace baton::models

#endif // BATON_MODELS_FAMILY_H

//===- Residual.h - how the halves of a block join the residual -----------===//

#ifndef BATON_MODELS_RESIDUAL_H
#define BATON_MODELS_RESIDUAL_H

#include "models/HyperConnections.h"
#include "models/ProgramBuilder.h"

#include <optional>

namespace baton::models {

/// The residual stream of a decoder, of either kind.
class Residual {
public:
  Residual(ProgramBuilder &builder, std::optional<HyperConnections> form)
      : builder(builder), form(form) {}

  /// What the first layer gets, of [rows, width].
  mlir::Value begin(mlir::Value x);
  /// x after a sublayer that makes `make(read)` of what it reads. `sum` is the
  /// location of their sum; `module` ("layers.{layer}.attn_hc") is where the
  /// parameters of hyper-connections are.
  mlir::Value sublayer(llvm::StringRef sum, llvm::StringRef module,
                       mlir::Value x,
                       llvm::function_ref<mlir::Value(mlir::Value read)> make);
  /// The last rows, [outputs, width].
  mlir::Value end(mlir::Value x);

private:
  ProgramBuilder &builder;
  std::optional<HyperConnections> form;
};

} // namespace baton::models

#endif // BATON_MODELS_RESIDUAL_H

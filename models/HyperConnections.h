//===- HyperConnections.h - how the halves of a block join the residual ---===//
//
// A checkpoint of any family may have, in config.json,
//
//   "hyper_connections": {"streams": 4, "mode": "sinkhorn", "iterations": 10,
//                         "epsilon": 1e-6, "norm_epsilon": 1e-5}
//
// Its residual stream is `streams` wide: see docs/hyper-connections.md. Without
// the field a sublayer's result is added to what it read, as usual.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_MODELS_HYPERCONNECTIONS_H
#define BATON_MODELS_HYPERCONNECTIONS_H

#include "models/Config.h"
#include "models/ProgramBuilder.h"

#include <optional>

namespace baton::models {

/// What the field says, checked.
struct HyperConnections {
  int64_t streams;
  model::Mixing mixing;
  int64_t iterations;
  float epsilon, normEpsilon;
};

/// Throws ConfigError. `normEpsilon` is that of the model's other norms.
std::optional<HyperConnections>
readHyperConnections(const Config &config, int64_t width, float normEpsilon);

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

#endif // BATON_MODELS_HYPERCONNECTIONS_H

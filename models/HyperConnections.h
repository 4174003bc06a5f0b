//===- HyperConnections.h - how wide a residual stream is, and its maps ---===//
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

#include "dialects/Model/Model.h"
#include "models/Config.h"

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

} // namespace baton::models

#endif // BATON_MODELS_HYPERCONNECTIONS_H

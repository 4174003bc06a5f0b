//===- RopeFrequencies.h - rotary angles per position, as HF scales them --===//

#ifndef BATON_MODELS_ROPEFREQUENCIES_H
#define BATON_MODELS_ROPEFREQUENCIES_H

#include "models/Config.h"

#include <vector>

namespace baton::models {

/// The angle per position, in radians, of each of `headDim` / 2 pairs.
///
/// Reads `rope_theta` and `rope_scaling`, or `rope_parameters`, which newer
/// configs hold instead; of the scalings "default", "linear" and "llama3".
/// Arithmetic is in F32 in the order of transformers' modeling_rope_utils, as
/// a difference in the last bit of a frequency grows with the position.
/// "llama3" is that of Llama 3.1: wavelengths past the original context are
/// stretched by `factor`, short ones kept, those between interpolated.
///
/// Throws ConfigError. `headDim` is even.
std::vector<float> ropeFrequencies(const Config &config, int64_t headDim);

} // namespace baton::models

#endif // BATON_MODELS_ROPEFREQUENCIES_H

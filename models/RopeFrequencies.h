//===- RopeFrequencies.h - rotary angles per position, as HF scales them --===//

#ifndef BATON_MODELS_ROPEFREQUENCIES_H
#define BATON_MODELS_ROPEFREQUENCIES_H

#include "models/Config.h"

#include <vector>

namespace baton::models {

struct RopeAngles {
  /// The angle per position, in radians, of each pair that turns.
  std::vector<float> frequencies;
  /// Multiplies cosines and sines.
  float scale = 1;
};

/// What a family's config means where it is silent, and how it spells things.
struct RopeDefaults {
  const char *baseField = "rope_theta";
  double base = 10000;
  /// The scaling of older configs, or null where there is none.
  const char *scalingField = "rope_scaling";
  /// Whose entry of `rope_parameters` holds what is meant, of "full_attention"
  /// and "sliding_attention"; null where it holds fields itself.
  const char *layerType = nullptr;
  /// The part of a head that turns.
  double partialRotaryFactor = 1;
  /// Whether the config may say otherwise, and ask for "longrope".
  bool mayBePartial = false, mayBeLong = false;
};

/// Reads `rope_theta` and `rope_scaling`, or as the family calls them, or
/// `rope_parameters`, which newer configs hold instead; of the scalings
/// "default", "linear", "llama3" and "yarn", and where the family has it
/// "longrope" instead of the last.
/// Arithmetic is in F32 in the order of transformers' modeling_rope_utils, as a
/// difference in the last bit of a frequency grows with the position.
///
/// "llama3" is that of Llama 3.1: wavelengths past the original context are
/// stretched by `factor`, short ones kept, those between interpolated.
/// "yarn" (YaRN, Peng et al., 2023): pairs that turn less than `beta_slow`
/// times within the original context are stretched by `factor`, those that turn
/// more than `beta_fast` times kept, those between interpolated by their
/// number. "longrope" (LongRoPE, Ding et al., 2024) has a factor for every
/// frequency, and others for sequences past the original context; such a
/// sequence length is refused, as one program would need both. "factors" is
/// Baton's own: `factors` has a divisor for every frequency, as
/// rope_freqs.weight of a GGUF file does.
///
/// Throws ConfigError.
RopeAngles ropeAngles(const Config &config, int64_t headDim, int64_t maxSeq,
                      const RopeDefaults &defaults = {});

} // namespace baton::models

#endif // BATON_MODELS_ROPEFREQUENCIES_H

//===- GgufConfig.h - the config that a GGUF file's metadata stand for ----===//

#ifndef BATON_MODELS_GGUFCONFIG_H
#define BATON_MODELS_GGUFCONFIG_H

#include "models/Config.h"

#include "runtime/weights/gguf_model.h"

namespace baton::models {

/// The fields that transformers' config.json has for the model, by the
/// metadata, and by which tensors there are and their shapes. Errors of the
/// config name the file and the metadata's key. Throws ConfigError or Error for
/// a key of the architecture that is not known, and for what is not built.
///
/// Of tensors' bytes those of Llama's rope_freqs.weight and Phi-3's
/// rope_factors_*.weight are read, a number for each frequency.
Config ggufConfig(const GgufModel &model);

/// What linear weights and tables are computed in without --dtype: "float32",
/// "bfloat16" or "float16", as `dtype` of config.json has it.
const char *ggufWeightType(const GgufModel &model);

} // namespace baton::models

#endif // BATON_MODELS_GGUFCONFIG_H

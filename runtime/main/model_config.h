//===- model_config.h - the config.json that checkpoints get --------------===//

#ifndef BATON_RUNTIME_MAIN_MODEL_CONFIG_H
#define BATON_RUNTIME_MAIN_MODEL_CONFIG_H

#include "runtime/decode/metadata.h"

#include <filesystem>

namespace baton {

/// Throws Error unless the folder has a config.json, if the program was compiled
/// from one, that says nothing else of the model's type, layers, width and
/// vocabulary than the program was compiled for. Checkpoints get a copy of it,
/// and are read by it.
void check_model_config(const Metadata &metadata,
                        const std::filesystem::path &folder);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MODEL_CONFIG_H

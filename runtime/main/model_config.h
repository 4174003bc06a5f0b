//===- model_config.h - the config.json that checkpoints get --------------===//

#ifndef BATON_RUNTIME_MAIN_MODEL_CONFIG_H
#define BATON_RUNTIME_MAIN_MODEL_CONFIG_H

#include "runtime/execute/metadata.h"

#include <filesystem>
#include <string>

namespace baton {

/// Throws Error unless the folder has a config.json, if the program was
/// compiled from one, that says nothing else of the model's type, layers, width
/// and vocabulary than the program was compiled for. Checkpoints get a copy of
/// it, and are read by it. Returns it, or null.
nlohmann::json check_model_config(const Metadata &metadata,
                                  const std::filesystem::path &folder);

/// What it says of dropout, of which training has none: "attn_pdrop 0.1,
/// resid_pdrop 0.1"; empty where it says nothing, or 0.
std::string dropout_text(const nlohmann::json &config);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MODEL_CONFIG_H

//===- ImportOptions.h - what a user says of a model ----------------------===//

#ifndef BATON_MODELS_IMPORTOPTIONS_H
#define BATON_MODELS_IMPORTOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>

namespace baton::models {

struct ImportOptions {
  /// Longest sequence, in tokens; the config's limit when absent.
  std::optional<int64_t> maxSeq;
  /// Element type of linear weights and embedding tables: "auto" (also when
  /// absent) takes the config's, else "f32", "bf16", "f16" or "f64".
  std::optional<std::string> dtype;
};

} // namespace baton::models

#endif // BATON_MODELS_IMPORTOPTIONS_H

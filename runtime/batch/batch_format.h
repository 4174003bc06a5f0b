//===- batch_format.h - how lines of a file of requests are read ----------===//

#ifndef BATON_RUNTIME_BATCH_BATCH_FORMAT_H
#define BATON_RUNTIME_BATCH_BATCH_FORMAT_H

#include "runtime/batch/adapter_shelf.h"
#include "runtime/batch/api_lines.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/tokenizer/tokenizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// What requests need to be understood.
struct BatchFormat {
  BatchCapacities shape;
  /// Lines are texts to score.
  bool scores = false;
  /// Of requests that do not say.
  uint64_t max_new_tokens = 1;
  /// Of all.
  std::vector<int32_t> stop_tokens = {};
  /// What makes tokens of text; or, with `bytes`, each byte is one.
  std::optional<Tokenizer> tokenizer = {};
  bool bytes = false;
  /// Why there is no tokenizer, and what to do.
  std::string no_tokenizer = {};
  /// Those that requests may name; or null.
  std::shared_ptr<AdapterShelf> adapters = {};
  /// What reads requests to other paths than /v1/completions; or null.
  std::shared_ptr<const ApiLines> api = {};
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_BATCH_FORMAT_H

//===- prompt_json.h - texts of requests, as text or as tokens ------------===//

#ifndef BATON_RUNTIME_SERVE_PROMPT_JSON_H
#define BATON_RUNTIME_SERVE_PROMPT_JSON_H

#include "runtime/batch/batch_format.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace baton {

/// A text; a list of token ids and texts, one behind the other; or
/// {"prompt_string": TEXT} or {"content": [{"type": "text", "text": TEXT}]}.
/// Throws Error that begins with the key.
std::vector<int32_t> read_text(const std::string &key,
                               const nlohmann::ordered_json &value,
                               const BatchFormat &format);

/// Of one of these, or of a list of them.
std::vector<std::vector<int32_t>>
read_texts(const std::string &key, const nlohmann::ordered_json &value,
           const BatchFormat &format);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_PROMPT_JSON_H

//===- stop_tokens.cpp - the tokens that end a text ----------------------===//

#include "runtime/decode/stop_tokens.h"

#include "runtime/error.h"
#include "runtime/tokenizer/gguf_vocabulary.h"
#include "runtime/weights/gguf_model.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <limits>

namespace baton {

std::vector<int32_t> read_stop_tokens(const std::filesystem::path &checkpoint) {
  if (const auto file = find_gguf(checkpoint))
    return read_gguf_stop_tokens(*GgufFile::open(*file));
  for (const char *name : {"generation_config.json", "config.json"}) {
    std::filesystem::path path = checkpoint / name;
    std::error_code absent;
    auto status = std::filesystem::status(path, absent);
    if (!std::filesystem::exists(status))
      continue;
    // A pipe would block.
    if (!std::filesystem::is_regular_file(status))
      throw Error(path.string() + ": is not a plain file");
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
      throw Error(path.string() + ": cannot be read");
    nlohmann::json config = nlohmann::json::parse(stream, nullptr, false);
    if (!config.is_object())
      throw Error(path.string() + ": is not a JSON object");
    auto entry = config.find("eos_token_id");
    if (entry == config.end() || entry->is_null())
      continue;
    nlohmann::json list =
        entry->is_array() ? *entry : nlohmann::json::array({*entry});
    std::vector<int32_t> tokens;
    for (const nlohmann::json &token : list) {
      if (!token.is_number_unsigned() ||
          token.get<uint64_t>() > std::numeric_limits<int32_t>::max())
        throw Error(path.string() +
                    ": eos_token_id is neither a token id nor a list of them");
      tokens.push_back(token.get<int32_t>());
    }
    return tokens;
  }
  return {};
}

} // namespace baton

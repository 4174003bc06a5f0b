//===- stop_tokens.h - the tokens that end a text ------------------------===//

#ifndef BATON_RUNTIME_DECODE_STOP_TOKENS_H
#define BATON_RUNTIME_DECODE_STOP_TOKENS_H

#include <cstdint>
#include <filesystem>
#include <vector>

namespace baton {

/// "eos_token_id", an id or a list of ids, of the checkpoint's
/// generation_config.json or, when that has none, of its config.json. Empty
/// when neither names one. Throws Error for a file that is there and damaged.
/// Of a model that is a GGUF file, see read_gguf_stop_tokens().
std::vector<int32_t> read_stop_tokens(const std::filesystem::path &checkpoint);

} // namespace baton

#endif // BATON_RUNTIME_DECODE_STOP_TOKENS_H

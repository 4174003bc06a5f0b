//===- stream_decoder.cpp - tokens to text, as they come -----------------===//

#include "runtime/tokenizer/stream_decoder.h"

#include "runtime/tokenizer/utf8.h"

#include <utility>

namespace baton {

StreamDecoder::StreamDecoder(Tokenizer tokenizer, bool skip_special_tokens)
    : tokenizer(std::move(tokenizer)),
      skip_special_tokens(skip_special_tokens) {}

std::string StreamDecoder::push(int32_t token) {
  if (skip_special_tokens && tokenizer.is_special(token))
    return {};
  pending += tokenizer.token_bytes(token);
  size_t whole = 0;
  while (whole < pending.size()) {
    const Utf8Sequence first =
        first_sequence(std::string_view(pending).substr(whole));
    if (first.kind == Utf8Sequence::Incomplete)
      break;
    whole += first.bytes;
  }
  const std::string text = replace_ill_formed(pending.substr(0, whole));
  pending.erase(0, whole);
  return text;
}

std::string StreamDecoder::finish() {
  return replace_ill_formed(std::exchange(pending, {}));
}

} // namespace baton

//===- stream_decoder.h - tokens to text, as they come -------------------===//
//
// One character may be spread over several tokens. What is shown while tokens
// are generated must not end in the middle of one, and joined it must be what
// decoding all tokens at once, as the continuation of a text, gives.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_STREAM_DECODER_H
#define BATON_RUNTIME_TOKENIZER_STREAM_DECODER_H

#include "runtime/tokenizer/tokenizer.h"

#include <cstdint>
#include <string>

namespace baton {

class StreamDecoder {
public:
  explicit StreamDecoder(Tokenizer tokenizer, bool skip_special_tokens = false);

  /// The whole characters that this token completes; bytes that cannot become
  /// one any more are U+FFFD. Empty while a character is incomplete.
  std::string push(int32_t token);

  /// What is still held back: U+FFFD for an incomplete character, or nothing.
  /// The decoder is then as new.
  std::string finish();

private:
  Tokenizer tokenizer;
  bool skip_special_tokens;
  /// The beginning of a character, at most three bytes.
  std::string pending;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_STREAM_DECODER_H

//===- text_stream.h - tokens to text that may end with a string ----------===//

#ifndef BATON_RUNTIME_SERVE_TEXT_STREAM_H
#define BATON_RUNTIME_SERVE_TEXT_STREAM_H

#include "runtime/tokenizer/stream_decoder.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// Text is handed out as soon as it cannot be the beginning of a string that
/// ends it. Joined it is the text before the first of these strings, wherever
/// it is cut into tokens.
class TextStream {
public:
  /// `kept_tokens`: special ones that have text all the same. Without a
  /// tokenizer there is no text.
  TextStream(const std::optional<Tokenizer> &tokenizer,
             std::vector<std::string> stop_strings,
             std::vector<int32_t> kept_tokens = {});

  /// Empty behind a string that ends the text.
  std::string push(int32_t token);
  /// What was held back; no token follows.
  std::string finish();

  /// The string that has ended the text, or null.
  const std::string *stopped_by() const {
    return stopped ? &stop_strings[*stopped] : nullptr;
  }

private:
  std::string pass(std::string &&text, bool is_last);

  std::optional<StreamDecoder> decoder;
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> stop_strings;
  std::vector<int32_t> kept_tokens;
  std::string held;
  std::optional<size_t> stopped;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_TEXT_STREAM_H

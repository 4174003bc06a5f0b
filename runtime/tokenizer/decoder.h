//===- decoder.h - what tokens stand for in text -------------------------===//
//
// The "decoder" of a tokenizer.json: from the spelling of a token to its bytes,
// and what is taken from the beginning of a text.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_DECODER_H
#define BATON_RUNTIME_TOKENIZER_DECODER_H

#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/regex.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

class Decoder {
public:
  /// Reads a "decoder". Supported are ByteLevel, Metaspace, and Sequences of
  /// Replace, ByteFallback, Fuse and a Strip at the beginning that comes last;
  /// throws Error for everything else.
  explicit Decoder(const JsonView &description);

  /// Spellings are in the alphabet of bytes.
  bool is_byte_level() const { return byte_level; }

  /// The bytes of a token by its spelling.
  std::string bytes(std::string_view spelling) const;

  /// Takes from the beginning of a whole text what the encoder put there; it
  /// changes nothing in the middle of one. `first_token` is the number of bytes
  /// of its first token.
  void strip_start(std::string &text, size_t first_token) const;

private:
  void read(const JsonView &description);

  bool byte_level = false;
  bool byte_fallback = false;
  std::vector<std::function<std::string(std::string_view)>> replacements;
  /// At most so many of this character at the beginning of a text ...
  std::string stripped;
  size_t strip_count = 0;
  /// ... or all spaces of the first token.
  bool strip_first_token = false;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_DECODER_H

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
  /// Tokens are their spellings, with spaces between them.
  Decoder();
  /// Reads a "decoder". Supported are ByteLevel, Metaspace, and Sequences of
  /// Replace, ByteFallback, Fuse and, behind Fuse, a Strip at the beginning
  /// that comes last; throws Error for everything else.
  explicit Decoder(const JsonView &description);

  /// The bytes of a token by its spelling.
  std::string bytes(std::string_view spelling) const;

  /// Those of the first token of a text, which may be others.
  std::string first_bytes(std::string_view spelling) const;
  bool first_differs() const { return strips_first; }

  /// Takes from the beginning of a whole text what the encoder put there; it
  /// changes nothing in the middle of one.
  void strip_start(std::string &text) const;

private:
  /// One step from a spelling to bytes, of the first token and of others.
  using Replacement = std::function<std::string(std::string_view, bool first)>;

  void read(const JsonView &description);
  std::string bytes(std::string_view spelling, bool first) const;

  bool byte_level = false;
  bool byte_fallback = false;
  bool fused = false;
  bool strips_first = false;
  std::vector<Replacement> replacements;
  /// At most so many of this character at the beginning of a text.
  std::string stripped;
  size_t strip_count = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_DECODER_H

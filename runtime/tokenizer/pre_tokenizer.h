//===- pre_tokenizer.h - cuts text into the words that are encoded -------===//
//
// The "pre_tokenizer" of a tokenizer.json: a chain of splits. Tokens never
// reach across a border that it makes.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_PRE_TOKENIZER_H
#define BATON_RUNTIME_TOKENIZER_PRE_TOKENIZER_H

#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/regex.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

class PreTokenizer {
public:
  /// Cuts nothing.
  PreTokenizer() = default;
  /// Reads a "pre_tokenizer". Supported are Split, CharDelimiterSplit, Digits,
  /// Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, Metaspace,
  /// ByteLevel and Sequences of them; throws Error for everything else.
  explicit PreTokenizer(const JsonView &description);

  /// Words are bytes, and the vocabulary spells them in the alphabet of bytes.
  bool is_byte_level() const { return !steps.empty() && steps.back().bytes; }

  /// Calls the sink with every word of well-formed UTF-8 text, in order. A word
  /// lives as long as the call, and is never empty. `at_start`: nothing comes
  /// before the text, not even an added token.
  void split(std::string_view text, bool at_start,
             const std::function<void(std::string_view word)> &sink) const;

private:
  using Sink = std::function<void(std::string_view)>;

  /// Which pieces of the text, matches and what lies between them, are one word
  /// with the piece before.
  enum class Behavior { Isolated, Removed, WithPrevious, WithNext, Contiguous };
  struct Split {
    Regex regex;
    Behavior behavior;
    /// What lies between matches counts as a match, and matches do not.
    bool inverted = false;
  };
  /// Spaces become another character, which may also begin the text.
  struct Metaspace {
    std::string replacement;
    enum { Always, First, Never } prepend;
  };
  struct Step {
    std::optional<Metaspace> metaspace;
    std::optional<Split> split;
    /// ByteLevel: the steps behind it split its bytes as they are spelled.
    bool bytes = false;
    /// ByteLevel's: a space begins every piece.
    bool prefix_space = false;
  };

  void read(const JsonView &description);
  static Behavior read_behavior(const JsonView &description);
  void read_metaspace(const JsonView &description);
  void read_byte_level(const JsonView &description);
  void add_split(Regex regex, Behavior behavior, bool inverted = false);
  void split_from(size_t step, std::string_view text, bool at_start,
                  const Sink &sink) const;

  std::vector<Step> steps;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_PRE_TOKENIZER_H

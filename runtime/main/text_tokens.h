//===- text_tokens.h - how the text of a command becomes tokens -----------===//
//
// One rule for all commands that take text. The tokenizer.json of the model's
// folder makes tokens of it, or where the model is a GGUF file what that says.
// Where the folder has no tokenizer, each byte is the token of its number, and
// a note says so.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_TEXT_TOKENS_H
#define BATON_RUNTIME_MAIN_TEXT_TOKENS_H

#include "runtime/tokenizer/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

struct TextTokens {
  Tokenizer tokenizer;
  /// Nothing but bytes: the tokenizer spells them, and encodes no others.
  bool bytes;

  std::vector<int32_t> encode(std::string_view text) const;
};

/// A flag that gives text, and what can be given in its place.
struct TextFlag {
  std::string flag, instead;
};

/// The tokenizer of a model's folder or GGUF file; nothing where a folder has
/// no tokenizer.json. Throws Error for one that is not understood.
std::optional<Tokenizer> find_tokenizer(const std::filesystem::path &path);

/// Those of a model, and of text that a flag gives. Writes the note if `notes`
/// are wanted. Throws Error, naming the file or the flag and what to give
/// instead, for a tokenizer.json that is not understood, another kind of
/// tokenizer, and a vocabulary that does not have all bytes.
TextTokens find_text_tokens(const std::filesystem::path &path,
                            uint64_t vocabulary, const TextFlag &text,
                            bool notes);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TEXT_TOKENS_H

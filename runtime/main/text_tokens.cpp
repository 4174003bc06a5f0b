//===- text_tokens.cpp - how the text of a command becomes tokens ---------===//

#include "runtime/main/text_tokens.h"

#include "runtime/error.h"
#include "runtime/weights/gguf_model.h"

#include <cstdio>

namespace baton {

namespace fs = std::filesystem;

/// Whoever has one of these means other tokens than bytes.
static constexpr const char *other_tokenizers[] = {
    "tokenizer.model", "tokenizer_config.json", "vocab.json",
    "vocab.txt",       "spiece.model",          "tekken.json"};

std::vector<int32_t> TextTokens::encode(std::string_view text) const {
  if (!bytes)
    return tokenizer.encode(text);
  // Also those that are no UTF-8, as when a data set is read.
  std::vector<int32_t> tokens;
  for (unsigned char byte : text)
    tokens.push_back(byte);
  return tokens;
}

std::optional<Tokenizer> find_tokenizer(const fs::path &path) {
  if (const auto file = find_gguf(path))
    return Tokenizer::of_gguf(*GgufFile::open(*file));
  const fs::path file = path / "tokenizer.json";
  std::error_code failure;
  if (!fs::exists(file, failure))
    return std::nullopt;
  return Tokenizer::load(file);
}

TextTokens find_text_tokens(const fs::path &path, uint64_t vocabulary,
                            const TextFlag &text, bool notes) {
  const std::string instead = "; give " + text.instead;
  try {
    if (auto tokenizer = find_tokenizer(path))
      return {std::move(*tokenizer), false};
  } catch (const Error &error) {
    throw Error(error.what() + instead);
  }
  const fs::path file = path / "tokenizer.json";
  std::error_code failure;
  for (const char *name : other_tokenizers)
    if (fs::exists(path / name, failure))
      throw Error(file.string() + ": no such file, and " + name +
                  " beside it cannot be read" + instead);
  if (vocabulary < bytes_as_tokens)
    throw Error(file.string() +
                ": no such file; without it each byte is a token, but the "
                "model's vocabulary is " +
                std::to_string(vocabulary) + instead);
  if (notes)
    std::fprintf(stderr, "note: %s: no such file; each byte of %s is a token\n",
                 file.c_str(), text.flag.c_str());
  return {Tokenizer::of_bytes(), true};
}

} // namespace baton

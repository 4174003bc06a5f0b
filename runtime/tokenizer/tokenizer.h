//===- tokenizer.h - text to tokens and back -----------------------------===//
//
// Byte-pair encoding as described by a Hugging Face tokenizer.json, in its two
// ways: over bytes (GPT-2, Llama 3, Qwen) and, as SentencePiece has it, over
// characters that fall back on bytes (Llama 2, Mistral, Gemma, Phi-3). Added
// tokens are cut out of the text, the rest is normalized and split into words,
// and words are encoded by merges.
//
// Supported: model BPE; the normalizers, pre-tokenizers and decoders that
// normalizer.h, pre_tokenizer.h and decoder.h name; added tokens with all their
// options; post-processors ByteLevel, TemplateProcessing, BertProcessing,
// RobertaProcessing and Sequence. Everything else is refused by name.
// "truncation" and "padding" are ignored: they belong to batches for training.
//
// Tokens are those of the tokenizers library, also where a vocabulary lacks
// bytes, characters or merges; so is text, but for tokens of bytes in a row
// that are no text (decode()).
//
// Unicode properties are those of the PCRE2 that Baton is built with (Unicode
// 14 for 10.42); characters assigned later may be split differently.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_TOKENIZER_H
#define BATON_RUNTIME_TOKENIZER_TOKENIZER_H

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

class GgufFile;

/// How many tokens there are where each byte is one.
inline constexpr uint64_t bytes_as_tokens = 256;

/// Immutable; copies share their tables, and threads may use one at once.
class Tokenizer {
public:
  /// Reads a tokenizer.json. Throws Error, naming the file and the place in it,
  /// when it cannot be read, contradicts itself or uses what is not supported.
  static Tokenizer load(const std::filesystem::path &file);
  /// The same for the text of such a file; `name` stands for it in errors.
  static Tokenizer parse(std::string_view json, const std::string &name);
  /// Reads what the metadata of a GGUF file say (gguf_vocabulary.h). Throws
  /// Error that names the file and the key.
  static Tokenizer of_gguf(const GgufFile &file);
  /// Each byte is the token of its number.
  static Tokenizer of_bytes();

  /// The tokens of a text. Ill-formed UTF-8 is read as U+FFFD (see utf8.h).
  /// With `add_special_tokens`, those that the post-processor puts around a
  /// text, such as the one that begins a sequence, are included. Throws Error
  /// when a regular expression of the file needs too much memory on this text,
  /// or it has a character without a token and the file names an unknown token
  /// that there is not.
  std::vector<int32_t> encode(std::string_view utf8,
                              bool add_special_tokens = true) const;

  /// The text of some tokens; `at_start`, a space that the encoder puts at the
  /// beginning of a text is left out. Bytes that are no UTF-8 become U+FFFD,
  /// also where the library replaces all bytes around them: what is shown token
  /// by token must be the same.
  /// Ids that no token has stand for nothing: models may have more rows than
  /// tokens.
  std::string decode(std::span<const int32_t> tokens,
                     bool skip_special_tokens = false,
                     bool at_start = true) const;

  /// The bytes of one token, which need not be whole characters; empty for an
  /// id that no token has. Lives as long as the tokenizer.
  std::string_view token_bytes(int32_t token) const;

  bool is_special(int32_t token) const;

  /// The token whose spelling in the file is `content`, for example
  /// "<|end_of_text|>".
  std::optional<int32_t> token_id(std::string_view content) const;

private:
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables);

  std::shared_ptr<const Tables> tables;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_TOKENIZER_H

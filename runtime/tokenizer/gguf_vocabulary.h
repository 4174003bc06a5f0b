//===- gguf_vocabulary.h - the tokenizer that a GGUF file describes ------===//
//
// A GGUF file names its tokenizer: by tokenizer.ggml.model its kind, "gpt2" for
// byte-level byte-pair encoding and "llama" for SentencePiece's with scores,
// and by tokenizer.ggml.pre how text is cut into words. What that means is
// spelled out here as the tokenizer.json of the models that have it, without
// the part that has a line for each token.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_GGUF_VOCABULARY_H
#define BATON_RUNTIME_TOKENIZER_GGUF_VOCABULARY_H

#include "runtime/tokenizer/byte_pair_encoding.h"
#include "runtime/weights/gguf.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct GgufVocabulary {
  /// A tokenizer.json without "model".
  nlohmann::json description;
  BytePairModel model;
};

/// Throws Error that names the file and the key, for a file without a
/// tokenizer, for one that contradicts itself, and for a kind of tokenizer or
/// of words that is not known. The texts are the file's.
GgufVocabulary read_gguf_vocabulary(const GgufFile &file);

/// How a byte-level tokenizer cuts text into words.
struct GgufWords {
  /// Of a Split before ByteLevel; empty where ByteLevel's own pattern cuts.
  std::string pattern;
  bool digits = false;
  bool composes = false;
  bool ignore_merges = false;
};

/// The value of tokenizer.ggml.pre that llama.cpp and this reader take for such
/// words; nothing where there is none.
std::optional<std::string> find_gguf_words(const GgufWords &words);

/// The tokens that end a text: those that the file names, of a text
/// (eos_token_id), of a turn and of a message (eot_token_id, eom_token_id), and
/// special tokens that are spelled like ones that end a turn, as llama.cpp
/// finds them: files do not name all. Throws Error as above.
std::vector<int32_t> read_gguf_stop_tokens(const GgufFile &file);

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_GGUF_VOCABULARY_H

//===- gguf_vocabulary.cpp - the tokenizer that a GGUF file describes ----===//

#include "runtime/tokenizer/gguf_vocabulary.h"

#include "runtime/tokenizer/utf8.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

namespace {

using nlohmann::json;

/// Of tokenizer.ggml.token_type.
enum TokenKind : int64_t { Normal = 1, Unknown = 2, Control = 3, UserDefined };

/// Patterns of published tokenizer.json files.
constexpr const char *llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *qwen2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *gpt4o_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *tekken_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char *deepseek3_words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A way to cut text into words, before each word's bytes are encoded.
struct Words {
  const char *name;
  /// Null where ByteLevel's own pattern cuts.
  const char *pattern = nullptr;
  /// What cuts before that, in turn, where there is more.
  const char *before[2] = {};
  /// Each digit is a word.
  bool digits = false;
  bool composes = false;
  /// A word that is a token is that token.
  bool ignore_merges = false;
  /// A token begins each text, where the file does not say.
  bool begins = false;
};

/// By the values of tokenizer.ggml.pre.
constexpr Words known_words[] = {
    {.name = "default"},
    {.name = "gpt-2"},
    {.name = "phi-2"},
    {.name = "smollm", .digits = true},
    {.name = "starcoder", .digits = true},
    {.name = "llama-bpe",
     .pattern = llama3_words,
     .ignore_merges = true,
     .begins = true},
    {.name = "llama3",
     .pattern = llama3_words,
     .ignore_merges = true,
     .begins = true},
    {.name = "llama-v3",
     .pattern = llama3_words,
     .ignore_merges = true,
     .begins = true},
    {.name = "dbrx", .pattern = llama3_words},
    {.name = "qwen2", .pattern = qwen2_words, .composes = true},
    {.name = "deepseek-r1-qwen", .pattern = qwen2_words, .composes = true},
    {.name = "gpt-4o", .pattern = gpt4o_words},
    {.name = "deepseek-v3",
     .pattern = deepseek3_words,
     .before = {R"(\p{N}{1,3})", "[一-龥\u3040-ゟ゠-ヿ]+"}},
    {.name = "tekken",
     .pattern = tekken_words,
     .ignore_merges = true,
     .begins = true},
};

bool is_well_formed(std::string_view text) {
  while (!text.empty()) {
    const Utf8Sequence next = first_sequence(text);
    if (next.kind != Utf8Sequence::Character)
      return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

/// What the kinds of tokenizers have in common.
class Reader {
public:
  explicit Reader(const GgufFile &file) : file(file) {}

  GgufVocabulary read();
  std::vector<int32_t> stop_tokens();

private:
  void read_tokens();
  std::optional<int32_t> token(const char *key) const;
  bool boolean(const char *key, bool absent) const {
    return file.boolean(key).value_or(absent);
  }
  bool is_added(size_t id) const {
    return kinds[id] == Control || kinds[id] == UserDefined ||
           kinds[id] == Unknown;
  }
  json added_tokens() const;
  json post_processor(std::optional<int32_t> first,
                      std::optional<int32_t> last) const;
  void read_byte_level(GgufVocabulary &result) const;
  void read_sentence_piece(GgufVocabulary &result) const;

  const GgufFile &file;
  std::vector<std::string_view> tokens;
  std::vector<int64_t> kinds;
};

constexpr const char *tokens_key = "tokenizer.ggml.tokens";
constexpr const char *kinds_key = "tokenizer.ggml.token_type";
constexpr const char *begins_key = "tokenizer.ggml.add_bos_token";
constexpr const char *ends_key = "tokenizer.ggml.add_eos_token";
constexpr const char *begin_key = "tokenizer.ggml.bos_token_id";
constexpr const char *end_key = "tokenizer.ggml.eos_token_id";

void Reader::read_tokens() {
  auto texts = file.texts(tokens_key);
  if (!texts)
    file.fail("has no key \"" + std::string(tokens_key) + "\"");
  tokens = std::move(*texts);
  if (tokens.size() > size_t(std::numeric_limits<int32_t>::max()))
    file.fail(tokens_key, "has too many elements");
  for (size_t id = 0; id < tokens.size(); ++id)
    if (!is_well_formed(tokens[id]))
      file.fail(tokens_key,
                "has a token that is no UTF-8, of id " + std::to_string(id));
  kinds = file.integers(kinds_key).value_or(
      std::vector<int64_t>(tokens.size(), Normal));
  if (kinds.size() != tokens.size())
    file.fail(kinds_key, "has " + std::to_string(kinds.size()) +
                             " elements, but there are " +
                             std::to_string(tokens.size()) + " tokens");
}

std::optional<int32_t> Reader::token(const char *key) const {
  const auto id = file.integer(key, std::numeric_limits<uint32_t>::max());
  // Files say with 2^32 - 1 that there is none.
  if (!id || *id == std::numeric_limits<uint32_t>::max())
    return std::nullopt;
  if (*id >= tokens.size())
    file.fail(key, "is " + std::to_string(*id) + ", but there are " +
                       std::to_string(tokens.size()) + " tokens");
  return static_cast<int32_t>(*id);
}

json Reader::added_tokens() const {
  json result = json::array();
  for (size_t id = 0; id < tokens.size(); ++id)
    if (is_added(id))
      result.push_back({{"id", id},
                        {"content", tokens[id]},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", kinds[id] != UserDefined}});
  return result;
}

json Reader::post_processor(std::optional<int32_t> first,
                            std::optional<int32_t> last) const {
  json single = json::array(), specials = json::object();
  const auto add = [&](int32_t id) {
    const std::string name = std::to_string(id);
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    specials[name] = {{"ids", json::array({static_cast<uint32_t>(id)})}};
  };
  if (first)
    add(*first);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (last)
    add(*last);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"special_tokens", specials}};
}

void Reader::read_byte_level(GgufVocabulary &result) const {
  constexpr const char *words_key = "tokenizer.ggml.pre";
  const std::string_view name = file.text(words_key).value_or("default");
  const auto *words =
      std::find_if(std::begin(known_words), std::end(known_words),
                   [&](const Words &other) { return other.name == name; });
  if (words == std::end(known_words)) {
    std::string list;
    for (const Words &known : known_words)
      list += (list.empty() ? "" : ", ") + std::string(known.name);
    file.fail(words_key,
              "is " + quote_name(name) + ", expected one of " + list);
  }
  constexpr const char *merges_key = "tokenizer.ggml.merges";
  auto merges = file.texts(merges_key);
  if (!merges)
    file.fail("has no key \"" + std::string(merges_key) + "\"");
  result.model.merges = std::move(*merges);
  result.model.ignore_merges = words->ignore_merges;

  json steps = json::array();
  if (words->digits)
    steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  for (const char *pattern :
       {words->before[0], words->before[1], words->pattern})
    if (pattern)
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
  const bool prefix = boolean("tokenizer.ggml.add_space_prefix", false);
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", prefix},
                   {"use_regex", !words->pattern}});
  json &description = result.description;
  if (words->composes)
    description["normalizer"] = {{"type", "NFC"}};
  description["pre_tokenizer"] = {{"type", "Sequence"},
                                  {"pretokenizers", steps}};
  description["decoder"] = {{"type", "ByteLevel"}};

  std::optional<int32_t> first, last;
  if (boolean(begins_key, words->begins) && !(first = token(begin_key)))
    file.fail("has no key \"" + std::string(begin_key) +
              "\", but texts begin with that token");
  if (boolean(ends_key, false) && !(last = token(end_key)))
    file.fail("has no key \"" + std::string(end_key) +
              "\", but texts end with that token");
  description["post_processor"] = post_processor(first, last);
}

void Reader::read_sentence_piece(GgufVocabulary &result) const {
  constexpr const char *scores_key = "tokenizer.ggml.scores";
  auto scores = file.numbers(scores_key);
  if (!scores)
    file.fail("has no key \"" + std::string(scores_key) + "\"");
  if (scores->size() != tokens.size())
    file.fail(scores_key, "has " + std::to_string(scores->size()) +
                              " elements, but there are " +
                              std::to_string(tokens.size()) + " tokens");
  if (std::any_of(scores->begin(), scores->end(),
                  [](float score) { return std::isnan(score); }))
    file.fail(scores_key, "has a score that is no number");
  for (const char *key : {"tokenizer.ggml.remove_extra_whitespaces"})
    if (boolean(key, false))
      file.fail(key, "is true, which is not supported");
  if (file.has("tokenizer.ggml.precompiled_charsmap"))
    file.fail("tokenizer.ggml.precompiled_charsmap", "is not supported");

  BytePairModel &model = result.model;
  model.scores = std::move(*scores);
  // Ids that SentencePiece gives where nobody says others.
  const auto known = [&](const char *key, int32_t absent) {
    if (file.has(key))
      return token(key);
    return size_t(absent) < tokens.size() ? std::optional(absent)
                                          : std::nullopt;
  };
  model.unknown = known("tokenizer.ggml.unknown_token_id", 0);
  model.fuse_unknown = true;
  model.byte_fallback = true;

  const char *space = "\xE2\x96\x81"; // U+2581
  const bool prefix = boolean("tokenizer.ggml.add_space_prefix", true);
  json normalizers = json::array();
  json decoders = {
      {{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}},
      {{"type", "ByteFallback"}},
      {{"type", "Fuse"}}};
  if (prefix) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", space}});
    decoders.push_back(
        {{"type", "Strip"}, {"content", " "}, {"start", 1u}, {"stop", 0u}});
  }
  normalizers.push_back({{"type", "Replace"},
                         {"pattern", {{"String", " "}}},
                         {"content", space}});
  json &description = result.description;
  description["normalizer"] = {{"type", "Sequence"},
                               {"normalizers", normalizers}};
  description["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  std::optional<int32_t> first, last;
  if (boolean(begins_key, true))
    first = known(begin_key, 1);
  if (boolean(ends_key, false))
    last = known(end_key, 2);
  description["post_processor"] = post_processor(first, last);
}

GgufVocabulary Reader::read() {
  constexpr const char *kind_key = "tokenizer.ggml.model";
  const auto kind = file.text(kind_key);
  if (!kind)
    file.fail("has no tokenizer: there is no key \"" + std::string(kind_key) +
              "\"");
  if (*kind != "gpt2" && *kind != "llama")
    file.fail(kind_key, "is " + quote_name(*kind) + ", expected gpt2 or llama");
  read_tokens();
  GgufVocabulary result;
  result.model.file = file.path().string();
  if (*kind == "gpt2")
    read_byte_level(result);
  else
    read_sentence_piece(result);
  result.description["added_tokens"] = added_tokens();
  result.model.tokens = std::move(tokens);
  return result;
}

std::vector<int32_t> Reader::stop_tokens() {
  if (!file.has(tokens_key))
    return {};
  read_tokens();
  std::vector<int32_t> result;
  const auto add = [&](int32_t id) {
    if (std::find(result.begin(), result.end(), id) == result.end())
      result.push_back(id);
  };
  for (const char *key :
       {end_key, "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (const auto id = token(key))
      add(*id);
  for (size_t id = 0; id < tokens.size(); ++id)
    if (is_added(id))
      for (const std::string_view end :
           {"<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>",
            "<end_of_turn>", "<|endoftext|>"})
        if (tokens[id] == end)
          add(static_cast<int32_t>(id));
  return result;
}

} // namespace

GgufVocabulary read_gguf_vocabulary(const GgufFile &file) {
  return Reader(file).read();
}

std::optional<std::string> find_gguf_words(const GgufWords &words) {
  for (const Words &known : known_words)
    // llama.cpp's default cuts otherwise than files of that name were made.
    if (std::string_view(known.name) != "default" && !known.before[0] &&
        words.pattern == (known.pattern ? known.pattern : "") &&
        words.digits == known.digits && words.composes == known.composes &&
        words.ignore_merges == known.ignore_merges)
      return known.name;
  return std::nullopt;
}

std::vector<int32_t> read_gguf_stop_tokens(const GgufFile &file) {
  return Reader(file).stop_tokens();
}

} // namespace baton

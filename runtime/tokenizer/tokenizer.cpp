//===- tokenizer.cpp - text to tokens and back ---------------------------===//

#include "runtime/tokenizer/tokenizer.h"

#include "runtime/error.h"
#include "runtime/tokenizer/added_tokens.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/byte_pair_encoding.h"
#include "runtime/tokenizer/decoder.h"
#include "runtime/tokenizer/gguf_vocabulary.h"
#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/pre_tokenizer.h"
#include "runtime/tokenizer/utf8.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

namespace baton {

struct Tokenizer::Tables {
  using Symbols = BytePairEncoding::Symbols;
  /// `make_encoding` makes what description's "model" stands for.
  Tables(const JsonView &description,
         const std::function<BytePairEncoding(Symbols)> &make_encoding);

  void spell(int32_t id, const std::string &spelling);
  void read_post_processor(const JsonView &description);
  void read_template(const JsonView &description);
  void read_begin_and_end(const JsonView &description);
  std::vector<int32_t> post_process(std::vector<int32_t> tokens,
                                    bool add_special_tokens) const;

  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BytePairEncoding encoding;
  AddedTokens added_tokens;
  Decoder decoder;
  /// What a post-processor makes of the tokens of a text: its own and, where
  /// there is nothing, the text's.
  using Template = std::vector<std::optional<std::vector<int32_t>>>;
  /// Each is applied to what those before it made.
  std::vector<Template> templates;

  /// The bytes of all tokens, those of the first of a text where they are
  /// others, and which tokens are special.
  std::unordered_map<int32_t, std::string> bytes, first_bytes;
  std::unordered_set<int32_t> special;
};

namespace {

/// A part of the description that may be missing.
template <typename Part, typename... Arguments>
Part read_part(const JsonView &description, const char *key,
               const Arguments &...arguments) {
  const auto part = description.find(key);
  return part ? Part(*part, arguments...) : Part();
}

} // namespace

Tokenizer::Tables::Tables(
    const JsonView &description,
    const std::function<BytePairEncoding(Symbols)> &make_encoding)
    : normalizer(read_part<Normalizer>(description, "normalizer")),
      pre_tokenizer(read_part<PreTokenizer>(description, "pre_tokenizer")),
      encoding(make_encoding(pre_tokenizer.is_byte_level()
                                 ? Symbols::Bytes
                                 : Symbols::Characters)),
      added_tokens(read_part<AddedTokens>(description, "added_tokens",
                                          normalizer, encoding.vocabulary())),
      decoder(read_part<Decoder>(description, "decoder")) {
  const auto &vocabulary = encoding.vocabulary();
  bytes.reserve(vocabulary.size() + added_tokens.all().size());
  for (const auto &[text, id] : vocabulary)
    spell(id, text);
  for (const AddedToken &token : added_tokens.all())
    spell(token.id, token.spelling);
  if (const auto processor = description.find("post_processor"))
    read_post_processor(*processor);
}

/// An added token may take the id of another one.
void Tokenizer::Tables::spell(int32_t id, const std::string &spelling) {
  std::string whole = decoder.bytes(spelling);
  if (decoder.first_differs()) {
    std::string first = decoder.first_bytes(spelling);
    first_bytes.erase(id);
    if (first != whole)
      first_bytes.emplace(id, std::move(first));
  }
  bytes.insert_or_assign(id, std::move(whole));
  special.erase(id);
  if (added_tokens.is_special(spelling))
    special.insert(id);
}

void Tokenizer::Tables::read_post_processor(const JsonView &description) {
  const std::string &type = description.at("type").string();
  if (type == "Sequence")
    for (const JsonView &element : description.at("processors").elements())
      read_post_processor(element);
  else if (type == "TemplateProcessing")
    read_template(description);
  else if (type == "BertProcessing" || type == "RobertaProcessing")
    read_begin_and_end(description);
  else if (type != "ByteLevel") // That one only moves offsets.
    description.refuse("type '" + type + "'");
}

void Tokenizer::Tables::read_template(const JsonView &description) {
  const JsonView specials = description.at("special_tokens");
  Template pieces;
  for (const JsonView &piece : description.at("single").elements()) {
    if (const auto text = piece.find("Sequence")) {
      if (text->at("id").string() != "A")
        piece.refuse("a second text in the template of a single one");
      pieces.emplace_back();
      continue;
    }
    const JsonView special =
        specials.at(piece.at("SpecialToken").at("id").string());
    std::vector<int32_t> tokens;
    for (const JsonView &id : special.at("ids").elements())
      tokens.push_back(id.id());
    pieces.emplace_back(std::move(tokens));
  }
  templates.push_back(std::move(pieces));
}

/// "cls" and "sep", each a pair of a spelling and an id.
void Tokenizer::Tables::read_begin_and_end(const JsonView &description) {
  const auto id = [&](const char *key) {
    const std::vector<JsonView> pair = description.at(key).elements();
    if (pair.size() != 2)
      description.at(key).fail("is not a token and its id");
    return std::vector<int32_t>{pair[1].id()};
  };
  templates.push_back({id("cls"), std::nullopt, id("sep")});
}

std::vector<int32_t>
Tokenizer::Tables::post_process(std::vector<int32_t> tokens,
                                bool add_special_tokens) const {
  for (const Template &pieces : templates) {
    std::vector<int32_t> result;
    for (const auto &piece : pieces)
      if (!piece)
        result.insert(result.end(), tokens.begin(), tokens.end());
      else if (add_special_tokens)
        result.insert(result.end(), piece->begin(), piece->end());
    tokens = std::move(result);
  }
  return tokens;
}

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables)
    : tables(std::move(tables)) {}

Tokenizer Tokenizer::load(const std::filesystem::path &file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error)
    throw Error(file.string() + ": cannot be read: " + error.message());
  std::string text(size, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(text.data(), static_cast<std::streamsize>(size)))
    throw Error(file.string() + ": cannot be read");
  return parse(text, file.string());
}

/// Of JSON; real files have about ten levels.
static constexpr int deepest = 64;

Tokenizer Tokenizer::parse(std::string_view json, const std::string &name) {
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(
        json, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
          if (depth > deepest)
            throw Error(name + ": nests deeper than " +
                        std::to_string(deepest) + " levels");
          return true;
        });
  } catch (const nlohmann::json::exception &error) {
    throw Error(name + ": malformed JSON: " + error.what());
  }
  const JsonView description(document, name);
  return Tokenizer(std::make_shared<Tables>(
      description, [&](BytePairEncoding::Symbols symbols) {
        return BytePairEncoding(description.at("model"), symbols);
      }));
}

Tokenizer Tokenizer::of_gguf(const GgufFile &file) {
  const GgufVocabulary vocabulary = read_gguf_vocabulary(file);
  return Tokenizer(std::make_shared<Tables>(
      JsonView(vocabulary.description, file.path().string()),
      [&](BytePairEncoding::Symbols symbols) {
        return BytePairEncoding(vocabulary.model, symbols);
      }));
}

Tokenizer Tokenizer::of_bytes() {
  const nlohmann::json level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  nlohmann::json vocabulary;
  for (uint64_t byte = 0; byte < bytes_as_tokens; ++byte)
    vocabulary[spell_byte(static_cast<uint8_t>(byte))] = byte;
  const nlohmann::json model = {{"type", "BPE"},
                                {"vocab", vocabulary},
                                {"merges", nlohmann::json::array()}};
  return parse(nlohmann::json{{"pre_tokenizer", level},
                              {"decoder", level},
                              {"model", model}}
                   .dump(),
               "bytes");
}

std::vector<int32_t> Tokenizer::encode(std::string_view utf8,
                                       bool add_special_tokens) const {
  const std::string text = replace_ill_formed(utf8);
  std::vector<int32_t> tokens;
  tables->added_tokens.cut(
      text, tables->normalizer,
      [&](std::string_view piece, const AddedToken *token, bool at_start) {
        if (token)
          tokens.push_back(token->id);
        else
          tables->pre_tokenizer.split(piece, at_start,
                                      [&](std::string_view word) {
                                        tables->encoding.encode(word, tokens);
                                      });
      });
  return tables->post_process(std::move(tokens), add_special_tokens);
}

std::string Tokenizer::decode(std::span<const int32_t> tokens,
                              bool skip_special_tokens, bool at_start) const {
  std::string bytes;
  bool is_first = at_start;
  for (const int32_t token : tokens) {
    if (skip_special_tokens && is_special(token))
      continue;
    const auto first = tables->first_bytes.find(token);
    bytes += is_first && first != tables->first_bytes.end()
                 ? std::string_view(first->second)
                 : token_bytes(token);
    // An id that no token has stands for nothing.
    is_first &= !tables->bytes.contains(token);
  }
  if (at_start)
    tables->decoder.strip_start(bytes);
  return replace_ill_formed(bytes);
}

std::string_view Tokenizer::token_bytes(int32_t token) const {
  const auto found = tables->bytes.find(token);
  return found == tables->bytes.end() ? std::string_view() : found->second;
}

bool Tokenizer::is_special(int32_t token) const {
  return tables->special.contains(token);
}

std::optional<int32_t> Tokenizer::token_id(std::string_view content) const {
  if (const auto added = tables->added_tokens.find(std::string(content)))
    return added;
  const auto &vocabulary = tables->encoding.vocabulary();
  const auto found = vocabulary.find(std::string(content));
  if (found == vocabulary.end())
    return std::nullopt;
  return found->second;
}

} // namespace baton

//===- tokenizer.cpp - text to tokens and back ---------------------------===//

#include "runtime/tokenizer/tokenizer.h"

#include "runtime/error.h"
#include "runtime/tokenizer/added_tokens.h"
#include "runtime/tokenizer/byte_pair_encoding.h"
#include "runtime/tokenizer/decoder.h"
#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/pre_tokenizer.h"
#include "runtime/tokenizer/utf8.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

namespace baton {

struct Tokenizer::Tables {
  explicit Tables(const JsonView &description);

  void read_post_processor(const JsonView &description);
  void read_template(const JsonView &description);

  Normalizer normalizer;
  AddedTokens added_tokens;
  PreTokenizer pre_tokenizer;
  BytePairEncoding encoding;
  Decoder decoder;
  /// What the post-processor puts before and behind the tokens of a text.
  std::vector<int32_t> prefix, suffix;

  /// The bytes of all tokens, and which of them are special.
  std::unordered_map<int32_t, std::string> bytes;
  std::unordered_set<int32_t> special;
};

namespace {

AddedTokens read_added_tokens_of(const JsonView &description,
                                 const Normalizer &normalizer) {
  const auto added = description.find("added_tokens");
  return added ? AddedTokens(*added, normalizer) : AddedTokens();
}

/// A part of the description that may be missing.
template <typename Part>
Part read_part(const JsonView &description, const char *key) {
  const auto part = description.find(key);
  return part ? Part(*part) : Part();
}

} // namespace

Tokenizer::Tables::Tables(const JsonView &description)
    : normalizer(read_part<Normalizer>(description, "normalizer")),
      added_tokens(read_added_tokens_of(description, normalizer)),
      pre_tokenizer(read_part<PreTokenizer>(description, "pre_tokenizer")),
      encoding(description.at("model"),
               pre_tokenizer.is_byte_level()
                   ? BytePairEncoding::Symbols::Bytes
                   : BytePairEncoding::Symbols::Characters),
      decoder(description.at("decoder")) {
  if (decoder.is_byte_level() != pre_tokenizer.is_byte_level())
    description.at("decoder").refuse(
        "bytes on one side and characters on the other");

  const auto &vocabulary = encoding.vocabulary();
  bytes.reserve(vocabulary.size() + added_tokens.all().size());
  for (const auto &[text, id] : vocabulary)
    bytes.emplace(id, decoder.bytes(text));
  for (const AddedToken &token : added_tokens.all()) {
    const auto known = vocabulary.find(token.content);
    if (known != vocabulary.end() && known->second != token.id)
      description.at("added_tokens")
          .fail("gives '" + token.content + "' the id " +
                std::to_string(token.id) + ", the vocabulary gives it " +
                std::to_string(known->second));
    const auto [holder, added] = bytes.emplace(token.id, token.content);
    if (!added && known == vocabulary.end())
      description.at("added_tokens")
          .fail("gives '" + token.content + "' the id " +
                std::to_string(token.id) + ", which another token has already");
    // It is written as it is matched.
    const std::string content =
        token.normalized ? normalizer.apply(token.content) : token.content;
    holder->second = decoder.is_byte_level() ? content : decoder.bytes(content);
    if (token.special)
      special.insert(token.id);
  }

  if (const auto processor = description.find("post_processor"))
    read_post_processor(*processor);
}

void Tokenizer::Tables::read_post_processor(const JsonView &description) {
  const std::string &type = description.at("type").string();
  if (type == "Sequence")
    for (const JsonView &element : description.at("processors").elements())
      read_post_processor(element);
  else if (type == "TemplateProcessing")
    read_template(description);
  else if (type != "ByteLevel") // That one only moves offsets.
    description.refuse("type '" + type + "'");
}

void Tokenizer::Tables::read_template(const JsonView &description) {
  const JsonView specials = description.at("special_tokens");
  std::vector<int32_t> before, behind;
  bool has_text = false;
  for (const JsonView &piece : description.at("single").elements()) {
    if (const auto text = piece.find("Sequence")) {
      if (has_text || text->at("id").string() != "A")
        piece.refuse("a second text in the template of a single one");
      has_text = true;
      continue;
    }
    const JsonView special =
        specials.at(piece.at("SpecialToken").at("id").string());
    for (const JsonView &id : special.at("ids").elements()) {
      if (!bytes.contains(id.id()))
        id.fail("is an id that no token has");
      (has_text ? behind : before).push_back(id.id());
    }
  }
  if (!has_text)
    description.at("single").fail("has no place for the text");
  // A later processor puts its tokens around those of an earlier one.
  prefix.insert(prefix.begin(), before.begin(), before.end());
  suffix.insert(suffix.end(), behind.begin(), behind.end());
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
  return Tokenizer(std::make_shared<Tables>(JsonView(document, name)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view utf8,
                                       bool add_special_tokens) const {
  const std::string text = replace_ill_formed(utf8);
  std::vector<int32_t> tokens;
  if (add_special_tokens)
    tokens = tables->prefix;
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
  if (add_special_tokens)
    tokens.insert(tokens.end(), tables->suffix.begin(), tables->suffix.end());
  return tokens;
}

std::string Tokenizer::decode(std::span<const int32_t> tokens,
                              bool skip_special_tokens, bool at_start) const {
  std::string bytes;
  size_t first_token = 0;
  bool is_first = true;
  for (const int32_t token : tokens) {
    if (skip_special_tokens && is_special(token))
      continue;
    bytes += token_bytes(token);
    if (is_first)
      first_token = bytes.size();
    is_first = false;
  }
  if (at_start)
    tables->decoder.strip_start(bytes, first_token);
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
  for (const AddedToken &token : tables->added_tokens.all())
    if (token.content == content)
      return token.id;
  const auto &vocabulary = tables->encoding.vocabulary();
  const auto found = vocabulary.find(std::string(content));
  if (found == vocabulary.end())
    return std::nullopt;
  return found->second;
}

} // namespace baton

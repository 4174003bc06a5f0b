//===- checkpoint_vocabulary.cpp - a tokenizer as a GGUF file says it -----===//

#include "tools/quantize/checkpoint_vocabulary.h"

#include "runtime/error.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/gguf_vocabulary.h"
#include "runtime/tokenizer/tokenizer.h"
#include "runtime/weights/json_file.h"
#include "tools/quantize/checkpoint_config.h"

#include <algorithm>
#include <unordered_map>

namespace baton {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// As tokenizer.ggml.token_type numbers them.
enum TokenType : int32_t {
  NormalToken = 1,
  UnknownToken = 2,
  ControlToken = 3,
  UserToken = 4,
  UnusedToken = 5,
  ByteToken = 6
};

constexpr const char *space_mark = "\xE2\x96\x81"; // U+2581

class Vocabulary {
public:
  Vocabulary(const fs::path &folder, uint64_t rows, GgufHeader &header)
      : folder(folder), file(folder / "tokenizer.json"), header(header),
        description(read_json(file)), tokens(rows), types(rows, UnusedToken) {}

  void write();

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(file.string() + ": " + what +
                "; --no-tokenizer leaves the tokenizer out");
  }
  const json &part(const char *name) const {
    static const json none;
    const auto found = description.find(name);
    return found == description.end() ? none : *found;
  }
  /// The steps of a normalizer or a pre-tokenizer, however they are nested.
  void flatten(const json &step, const char *list,
               std::vector<json> &steps) const;
  std::vector<json> steps(const char *name, const char *list) const {
    std::vector<json> result;
    flatten(part(name), list, result);
    return result;
  }
  static std::string type_of(const json &step) {
    return step.is_object() ? step.value("type", "") : "";
  }

  void read_tokens();
  std::vector<std::pair<std::string, std::string>> merges() const;
  void write_byte_level(const std::vector<json> &words);
  void write_sentence_piece(const std::vector<json> &words);
  std::vector<float> scores() const;
  void write_ends();
  void write_template();

  fs::path folder, file;
  GgufHeader &header;
  json description;
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
};

void Vocabulary::flatten(const json &step, const char *list,
                         std::vector<json> &result) const {
  if (step.is_null())
    return;
  if (type_of(step) != "Sequence") {
    result.push_back(step);
    return;
  }
  for (const json &each : step.value(list, json::array()))
    flatten(each, list, result);
}

void Vocabulary::read_tokens() {
  const json &model = part("model");
  if (!model.is_object() || model.value("type", "BPE") != "BPE")
    fail("is no byte-pair encoding");
  const auto put = [&](const json &id, const std::string &text, int32_t type) {
    // Models may have fewer rows than tokens, which then never occur.
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= tokens.size())
      return;
    tokens[id.get<uint64_t>()] = text;
    types[id.get<uint64_t>()] = type;
  };
  const bool has_bytes = model.value("byte_fallback", false);
  const json vocabulary = model.value("vocab", json::object());
  for (const auto &[text, id] : vocabulary.items()) {
    const bool is_byte = has_bytes && text.size() == 6 &&
                         text.starts_with("<0x") && text.ends_with(">");
    put(id, text, is_byte ? ByteToken : NormalToken);
  }
  for (const json &added : part("added_tokens")) {
    const std::string text = added.value("content", "");
    const bool is_unknown =
        model.contains("unk_token") && model["unk_token"] == text;
    put(added.value("id", json()), text,
        is_unknown                      ? UnknownToken
        : added.value("special", false) ? ControlToken
                                        : UserToken);
  }
  for (size_t id = 0; id < tokens.size(); ++id)
    if (types[id] == UnusedToken)
      tokens[id] = "[PAD" + std::to_string(id) + "]";
}

std::vector<std::pair<std::string, std::string>> Vocabulary::merges() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const json &merge : part("model").value("merges", json::array())) {
    if (merge.is_array() && merge.size() == 2) {
      result.emplace_back(merge[0], merge[1]);
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const size_t space = text.find(' ', 1);
    if (space == text.npos)
      fail("has a merge that is no pair of tokens");
    result.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  return result;
}

void Vocabulary::write_byte_level(const std::vector<json> &words) {
  GgufWords looked_for;
  bool prefix = false, uses_own_pattern = false;
  for (const json &step : words) {
    const std::string type = type_of(step);
    if (type == "Digits" && step.value("individual_digits", false)) {
      looked_for.digits = true;
    } else if (type == "Split" && step["pattern"].contains("Regex") &&
               looked_for.pattern.empty()) {
      looked_for.pattern = step["pattern"]["Regex"];
    } else if (type == "ByteLevel") {
      prefix = step.value("add_prefix_space", false);
      uses_own_pattern = step.value("use_regex", true);
    } else {
      fail("cuts words by " + type + ", which a GGUF file cannot say");
    }
  }
  if (uses_own_pattern != looked_for.pattern.empty())
    fail("cuts words in a way that a GGUF file cannot say");
  for (const json &step : steps("normalizer", "normalizers")) {
    if (type_of(step) != "NFC")
      fail("has the normalizer " + type_of(step) +
           ", which a GGUF file cannot say of byte-level tokens");
    looked_for.composes = true;
  }
  looked_for.ignore_merges = part("model").value("ignore_merges", false);
  const auto name = find_gguf_words(looked_for);
  if (!name)
    fail("cuts words in a way that GGUF files have no name for");
  header.text("tokenizer.ggml.model", "gpt2");
  header.text("tokenizer.ggml.pre", *name);
  header.texts("tokenizer.ggml.tokens", tokens);
  header.integers("tokenizer.ggml.token_type", types);
  std::vector<std::string> lines;
  for (const auto &[left, right] : merges())
    lines.push_back(left + " " + right);
  header.texts("tokenizer.ggml.merges", lines);
  if (prefix)
    header.boolean("tokenizer.ggml.add_space_prefix", true);
}

std::vector<float> Vocabulary::scores() const {
  std::unordered_map<std::string, size_t> ranks;
  for (const auto &[left, right] : merges())
    ranks.try_emplace(left + right, ranks.size());
  std::vector<float> result(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (types[id] != NormalToken)
      continue;
    const auto rank = ranks.find(tokens[id]);
    // Those that nothing merges to are single characters.
    const size_t place = rank == ranks.end() ? ranks.size() : rank->second;
    result[id] = -static_cast<float>(place + 1);
  }
  return result;
}

void Vocabulary::write_sentence_piece(const std::vector<json> &words) {
  bool prefix = false;
  for (const json &step : steps("normalizer", "normalizers")) {
    const std::string type = type_of(step);
    if (type == "Prepend" && step.value("prepend", "") == space_mark)
      prefix = true;
    else if (type != "Replace" || step.value("content", "") != space_mark)
      fail("has the normalizer " + type +
           ", which a GGUF file cannot say of SentencePiece's tokens");
  }
  for (const json &step : words) {
    const std::string type = type_of(step);
    if (type == "Metaspace" && !step.value("split", true))
      prefix = step.value("prepend_scheme", "always") != "never";
    // Gemma's has no effect behind its normalizer.
    else if (type != "Split" || step["pattern"] != json{{"String", " "}})
      fail("cuts words by " + type + ", which a GGUF file cannot say");
  }
  header.text("tokenizer.ggml.model", "llama");
  header.text("tokenizer.ggml.pre", "default");
  header.texts("tokenizer.ggml.tokens", tokens);
  header.numbers("tokenizer.ggml.scores", scores());
  header.integers("tokenizer.ggml.token_type", types);
  header.boolean("tokenizer.ggml.add_space_prefix", prefix);
  const json &unknown = part("model")["unk_token"];
  for (size_t id = 0; id < tokens.size(); ++id)
    if (unknown == tokens[id])
      header.integer("tokenizer.ggml.unknown_token_id", id);
}

/// A file of the folder; null where there is none.
json optional_json(const fs::path &path) {
  return fs::exists(path) ? read_json(path) : json();
}

/// Ids of a field that is one or a list.
std::vector<uint64_t> ids_of(const json &config, const char *field,
                             uint64_t limit) {
  std::vector<uint64_t> ids;
  const json value =
      config.is_object() && config.contains(field) ? config[field] : json();
  for (const json &id : value.is_array() ? value : json::array({value}))
    if (id.is_number_unsigned() && id.get<uint64_t>() < limit)
      ids.push_back(id);
  return ids;
}

void Vocabulary::write_ends() {
  const Tokenizer tokenizer = Tokenizer::load(file);
  // What is put around a text shows around any.
  const std::vector<int32_t> own = tokenizer.encode("a", false),
                             all = tokenizer.encode("a");
  const auto begin =
      std::search(all.begin(), all.end(), own.begin(), own.end());
  const auto before = begin - all.begin(),
             after =
                 static_cast<std::ptrdiff_t>(all.size() - own.size()) - before;
  if (before > 1 || after > 1)
    fail("puts several tokens around a text, which a GGUF file cannot say");
  header.boolean("tokenizer.ggml.add_bos_token", before == 1);
  header.boolean("tokenizer.ggml.add_eos_token", after == 1);

  const json config = optional_json(folder / "config.json"),
             generation = optional_json(folder / "generation_config.json");
  const auto find = [&](const char *field) {
    auto ids = ids_of(generation, field, tokens.size());
    return ids.empty() ? ids_of(config, field, tokens.size()) : ids;
  };
  auto begins = find("bos_token_id");
  auto ends = find("eos_token_id");
  if (before == 1)
    begins = {static_cast<uint64_t>(all.front())};
  if (after == 1)
    ends.insert(ends.begin(), static_cast<uint64_t>(all.back()));
  if (!begins.empty())
    header.integer("tokenizer.ggml.bos_token_id", begins.front());
  // The first three that end a text; readers know others by their spelling.
  const char *const keys[] = {"tokenizer.ggml.eos_token_id",
                              "tokenizer.ggml.eot_token_id",
                              "tokenizer.ggml.eom_token_id"};
  for (size_t i = 0; i < std::min(ends.size(), std::size(keys)); ++i)
    header.integer(keys[i], ends[i]);
  if (const auto pads = find("pad_token_id"); !pads.empty())
    header.integer("tokenizer.ggml.padding_token_id", pads.front());
}

void Vocabulary::write_template() {
  if (const auto found = find_chat_template(folder))
    header.text("tokenizer.chat_template", found->text);
}

void Vocabulary::write() {
  read_tokens();
  const std::vector<json> words = steps("pre_tokenizer", "pretokenizers");
  const bool is_byte_level =
      std::any_of(words.begin(), words.end(), [](const json &step) {
        return type_of(step) == "ByteLevel";
      });
  if (is_byte_level)
    write_byte_level(words);
  else
    write_sentence_piece(words);
  write_ends();
  write_template();
}

} // namespace

bool describe_vocabulary(const fs::path &folder, uint64_t rows,
                         GgufHeader &header) {
  if (fs::exists(folder / "tokenizer.json")) {
    Vocabulary(folder, rows, header).write();
    return true;
  }
  for (const char *other : {"tokenizer.model", "vocab.json", "vocab.txt",
                            "spiece.model", "tekken.json"})
    if (fs::exists(folder / other))
      throw Error((folder / "tokenizer.json").string() +
                  ": no such file, and " + other +
                  " beside it cannot be read; --no-tokenizer leaves the "
                  "tokenizer out");
  header.text("tokenizer.ggml.model", "none");
  return false;
}

} // namespace baton

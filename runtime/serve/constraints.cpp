//===- constraints.cpp - what answers are constrained to ------------------===//

#include "runtime/serve/constraints.h"

#include "runtime/error.h"
#include "runtime/grammar/constraint.h"
#include "runtime/weights/message.h"

#include <string_view>
#include <utility>

namespace baton {

using Json = nlohmann::ordered_json;

ConstraintCache::ConstraintCache(std::optional<Tokenizer> tokenizer,
                                 size_t vocabulary,
                                 std::vector<int32_t> stop_tokens)
    : tokenizer(std::move(tokenizer)), vocabulary(vocabulary),
      stop_tokens(std::move(stop_tokens)) {}

std::shared_ptr<const TokenConstraint>
ConstraintCache::find(const std::string &key,
                      const std::function<Grammar()> &make,
                      const std::vector<int32_t> &more_stop_tokens) {
  if (!tokenizer)
    throw Error("response_format: there is no tokenizer, and so no text to "
                "constrain");
  std::string whole = key;
  for (int32_t token : more_stop_tokens)
    whole += "\n" + std::to_string(token);
  {
    std::lock_guard lock(mutex);
    if (auto found = places.find(whole); found != places.end()) {
      entries.splice(entries.begin(), entries, found->second);
      return entries.front().constraint;
    }
    if (!tokens)
      tokens = TokenVocabulary::of(*tokenizer, vocabulary);
  }
  std::vector<int32_t> ends = stop_tokens;
  ends.insert(ends.end(), more_stop_tokens.begin(), more_stop_tokens.end());
  // Others go on meanwhile; two of the same key may both compile it.
  auto made = compile_constraint(make(), tokens, std::move(ends));
  std::lock_guard lock(mutex);
  if (auto found = places.find(whole); found != places.end())
    return found->second->constraint;
  entries.push_front({whole, made});
  places[whole] = entries.begin();
  if (entries.size() > most_entries) {
    places.erase(entries.back().key);
    entries.pop_back();
  }
  return made;
}

const std::vector<std::string> &constraint_keys() {
  static const std::vector<std::string> keys = {
      "response_format", "structured_outputs", "guided_json", "guided_regex",
      "guided_choice",   "guided_grammar",     "json_schema", "grammar"};
  return keys;
}

/// Errors begin with the key.
static NamedGrammar named(const std::string &key, const Json &source,
                          Grammar (*make)(const Json &)) {
  return {key + source.dump(), [key, source, make] {
            try {
              return make(source);
            } catch (const Error &failure) {
              std::string_view what = failure.what();
              if (constexpr std::string_view kind = "schema: ";
                  what.starts_with(kind))
                what.remove_prefix(kind.size());
              throw Error(key + ": " + std::string(what));
            }
          }};
}

static NamedGrammar schema_grammar(const std::string &key, const Json &schema) {
  // Some clients send text.
  if (schema.is_string()) {
    Json parsed =
        Json::parse(schema.get_ref<const std::string &>(), nullptr, false);
    if (parsed.is_discarded())
      throw Error(key + ": is no JSON");
    return schema_grammar(key, parsed);
  }
  if (!schema.is_object() && !schema.is_boolean())
    throw Error(key + ": expected a JSON schema");
  return named(key, schema,
               [](const Json &own) { return Grammar::json_schema(own); });
}

static NamedGrammar text_grammar(const std::string &key, const Json &text,
                                 Grammar (*make)(const Json &)) {
  if (!text.is_string())
    throw Error(key + ": expected a text");
  return named(key, text, make);
}

static Grammar any_choice(const Json &choices) {
  std::vector<Grammar> texts;
  for (const Json &choice : choices)
    texts.push_back(Grammar::literal(choice.get<std::string>()));
  return Grammar::any_of(texts);
}

static NamedGrammar choice_grammar(const std::string &key,
                                   const Json &choices) {
  bool texts = choices.is_array() && !choices.empty();
  if (texts)
    for (const Json &choice : choices)
      texts &= choice.is_string();
  if (!texts)
    throw Error(key + ": expected a list of texts");
  return named(key, choices, any_choice);
}

static Grammar gbnf_of(const Json &text) {
  return Grammar::gbnf(text.get_ref<const std::string &>());
}
static Grammar regex_of(const Json &text) {
  return Grammar::regex(text.get_ref<const std::string &>());
}

/// {"type": "json_schema", "json_schema": {"schema": {...}}} and its likes.
static std::optional<NamedGrammar> format_grammar(const Json &format) {
  const std::string key = "response_format";
  if (!format.is_object() || !format.contains("type") ||
      !format["type"].is_string())
    throw Error(key + ": expected an object with a type");
  const auto type = format["type"].get<std::string>();
  if (type == "text")
    return std::nullopt;
  if (type == "json_object") {
    // llama.cpp's server takes a schema here.
    if (format.contains("schema"))
      return schema_grammar(key + ".schema", format["schema"]);
    return NamedGrammar{key, [] { return Grammar::json_object(); }};
  }
  if (type == "json_schema") {
    // In /v1/responses it has no object of its own.
    const Json *holder = &format;
    if (auto own = format.find("json_schema"); own != format.end())
      holder = &*own;
    if (!holder->is_object() || !holder->contains("schema"))
      throw Error(key + ".json_schema.schema: is missing");
    return schema_grammar(key + ".json_schema.schema", (*holder)["schema"]);
  }
  if (type == "regex" && format.contains("pattern"))
    return text_grammar(key + ".pattern", format["pattern"], regex_of);
  if (type == "grammar" && format.contains("grammar"))
    return text_grammar(key + ".grammar", format["grammar"], gbnf_of);
  throw Error(key +
              ".type: expected text, json_object, json_schema, regex or "
              "grammar, not " +
              quote_name(type));
}

static NamedGrammar grammar_of(const std::string &key, std::string_view kind,
                               const Json &value) {
  if (kind == "json")
    return schema_grammar(key, value);
  if (kind == "regex")
    return text_grammar(key, value, regex_of);
  if (kind == "choice")
    return choice_grammar(key, value);
  return text_grammar(key, value, gbnf_of);
}

std::optional<NamedGrammar> find_output_grammar(const JsonKeys &keys) {
  std::optional<NamedGrammar> found;
  std::string first;
  auto take = [&](const std::string &key, std::optional<NamedGrammar> own) {
    if (found && own)
      throw Error(key + ": there is " + first + " already; give one of them");
    if (own) {
      found = std::move(own);
      first = key;
    }
  };
  if (const Json *format = keys.find("response_format"))
    take("response_format", format_grammar(*format));
  if (const Json *outputs = keys.find("structured_outputs"))
    for (const char *kind : {"json", "regex", "choice", "grammar"})
      if (outputs->is_object() && outputs->contains(kind) &&
          !(*outputs)[kind].is_null()) {
        const std::string key = std::string("structured_outputs.") + kind;
        take(key, grammar_of(key, kind, (*outputs)[kind]));
      }
  struct Alone {
    const char *key, *kind;
  };
  for (const Alone &own :
       {Alone{"guided_json", "json"}, Alone{"guided_regex", "regex"},
        Alone{"guided_choice", "choice"}, Alone{"guided_grammar", "grammar"},
        Alone{"json_schema", "json"}, Alone{"grammar", "grammar"}})
    if (const Json *value = keys.find(own.key))
      // Some clients send an empty one for none.
      if (!(value->is_string() && value->empty()) && *value != "")
        take(own.key, grammar_of(own.key, own.kind, *value));
  return found;
}

} // namespace baton

//===- grammar.cpp - fuzz: schemas, grammars and regular expressions ------===//
//
// The first letter says which: 's' and 'S' a schema, strict or not, 'g' GBNF,
// 'r' a regular expression. What compiles is followed for some tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/grammar/json_schema.h"
#include "test/runtime/grammar/small_vocabulary.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <optional>
#include <random>
#include <string_view>

using namespace baton;

static std::optional<Grammar> read(char kind, std::string_view text) {
  if (kind == 'g')
    return Grammar::gbnf(text);
  if (kind == 'r')
    return Grammar::regex(text);
  if (kind != 's' && kind != 'S')
    return std::nullopt;
  // As the server: what is nested deeper it does not read.
  bool too_deep = false;
  const auto schema = nlohmann::ordered_json::parse(
      text,
      [&](int depth, nlohmann::ordered_json::parse_event_t,
          nlohmann::ordered_json &) {
        too_deep |= depth > 128;
        return !too_deep;
      },
      /*allow_exceptions=*/false);
  if (too_deep || schema.is_discarded())
    return std::nullopt;
  JsonSchemaOptions options;
  options.strict = kind == 's';
  options.whitespace = static_cast<JsonWhitespace>(text.size() % 3);
  return Grammar::json_schema(schema, options);
}

static void follow(const Grammar &grammar, std::mt19937 &random) {
  static const std::vector<std::string> tokens = [] {
    std::vector<std::string> all;
    for (int byte = 0; byte < 256; ++byte)
      all.emplace_back(1, static_cast<char>(byte));
    for (const char *piece :
         {"{\"", "\":", "ab", "aa", "x+", "\"}", "12", "\xC3\xA9", "<|end|>"})
      all.emplace_back(piece);
    return all;
  }();
  static const auto vocabulary = small_vocabulary(tokens);
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  const auto matcher = compile_constraint(grammar, vocabulary, {end})->start();
  for (int step = 0; step < 30 && !matcher->is_finished(); ++step) {
    const auto mask = mask_of(*matcher, tokens.size());
    std::vector<int32_t> allowed;
    for (int32_t token = 0; token <= end; ++token)
      if (has_token(mask, token))
        allowed.push_back(token);
    if (allowed.empty() || !matcher->accept(allowed[random() % allowed.size()]))
      std::abort();
  }
}

/// A grammar is refused in one line, or each text that its masks allow goes on.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  std::mt19937 random(static_cast<unsigned>(size * 31 + data[size - 1]));
  try {
    if (const auto grammar = read(text.front(), text.substr(1)))
      follow(*grammar, random);
  } catch (const Error &error) {
    const std::string_view what = error.what();
    if (what.empty() || what.find('\n') != what.npos)
      std::abort();
  }
  return 0;
}

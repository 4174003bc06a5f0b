//===- constrain.cpp - constrained texts, for tests in other languages ----===//
//
// Reads lines of JSON and answers each with a line.
//
//   {"schema": ..., or "regex", "gbnf": "...", or "json_object": true,
//    "whitespace": "none" | "single" | "any", "strict": true,
//    "texts": [...], "samples": 3, "seed": 1, "beginnings": [...]}
//   {"accepts": [...], "samples": [...], "finished": [...]}, or {"error":
//   "..."}
//
// Texts are given to a matcher byte by byte, and besides in the longest tokens;
// if the two disagree, or a mask does with what is accepted, the answer is an
// error. Samples are of tokens chosen at random, all that are allowed alike,
// until "length" tokens (100); then tokens that close something come first.
// Beginnings are finished in the same way, with such tokens at once; null is
// one that no text begins with.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/grammar/constraint.h"
#include "runtime/grammar/json_schema.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <random>
#include <stdexcept>

using namespace baton;
using json = nlohmann::ordered_json;

namespace {

/// All bytes, pieces of JSON and of text, and the end.
class Vocabulary {
public:
  Vocabulary() {
    for (int byte = 0; byte < 256; ++byte)
      spellings.emplace_back(1, static_cast<char>(byte));
    for (const char *piece :
         {"{\"",    "\":",          "\": ",     "\": \"",   "\",",   "\", \"",
          "\"}",    "\"]",          "\"}}",     "}}",       "]}",    "]]",
          "}]",     "},",           "],",       "[]",       "{}",    "[{",
          "[[",     ", ",           ": ",       "null",     "true",  "false",
          "\\\"",   "\\u",          "\\n",      "\\\\",     "\\u00", "\\ud8",
          "\u00e9", "\u65e5\u672c", "\xE6\x97", "\xF0\x9F", "a\"",   "name",
          "value",  "id",           "the ",     " of",      "00",    "123",
          "9.",     ".5",           "e+",       "-1",       "0,",    "1}",
          "2]",     "  ",           "\n ",      "\n    ",   "ab",    "aa",
          "-0",     "2024-",        "-02-29",   "T12:",     "@",     "http",
          "://",    "::",           "ff"})
      spellings.emplace_back(piece);
    stop = static_cast<int32_t>(spellings.size());
    spellings.emplace_back("<|end|>");
    shared = std::make_shared<const TokenVocabulary>(
        spellings.size(),
        [&](int32_t token) -> std::string_view {
          return spellings[static_cast<size_t>(token)];
        },
        [&](int32_t token) { return token == stop; });
  }

  std::vector<std::string> spellings;
  int32_t stop;
  std::shared_ptr<const TokenVocabulary> shared;
};

struct Disagreement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
public:
  Session(const TokenConstraint &constraint, const Vocabulary &vocabulary)
      : matcher(constraint.start()), vocabulary(vocabulary),
        mask((vocabulary.spellings.size() + 31) / 32) {
    read_mask();
  }

  bool allows(int32_t token) const {
    return mask[static_cast<size_t>(token) / 32] >> (token % 32) & 1;
  }
  bool accept(int32_t token) {
    const bool taken = matcher->accept(token);
    if (taken != allows(token))
      throw Disagreement("token " + std::to_string(token) +
                         ": the mask and accept() disagree");
    if (taken)
      read_mask();
    return taken;
  }
  bool accept_end() {
    return accept(vocabulary.stop) && matcher->is_finished();
  }
  bool is_finished() const { return matcher->is_finished(); }

private:
  void read_mask() {
    matcher->allowed(mask);
    int32_t allowed = 0;
    for (size_t token = 0; token < vocabulary.spellings.size(); ++token)
      allowed += allows(static_cast<int32_t>(token));
    if (allowed == 0)
      throw Disagreement("nothing is allowed");
    if (matcher->is_finished() != (allowed == 1 && allows(vocabulary.stop)))
      throw Disagreement("the mask and is_finished() disagree");
  }

  std::unique_ptr<TokenMatcher> matcher;
  const Vocabulary &vocabulary;
  std::vector<uint32_t> mask;
};

bool accepts(const TokenConstraint &constraint, const Vocabulary &vocabulary,
             const std::string &text) {
  Session bytes(constraint, vocabulary);
  bool taken = true;
  for (const char byte : text)
    taken = taken && bytes.accept(static_cast<uint8_t>(byte));
  taken = taken && bytes.accept_end();

  Session longest(constraint, vocabulary);
  bool also = true;
  for (size_t at = 0; at < text.size() && also;) {
    size_t best = static_cast<uint8_t>(text[at]);
    for (size_t token = 256; token < static_cast<size_t>(vocabulary.stop);
         ++token)
      if (text.compare(at, vocabulary.spellings[token].size(),
                       vocabulary.spellings[token]) == 0 &&
          vocabulary.spellings[token].size() >
              vocabulary.spellings[best].size())
        best = token;
    also = longest.accept(static_cast<int32_t>(best));
    at += vocabulary.spellings[best].size();
  }
  also = also && longest.accept_end();
  if (taken != also)
    throw Disagreement("bytes and longer tokens disagree");
  return taken;
}

/// Nothing where it did not end, or nothing begins so. `words` are what an end
/// may need beside what closes something.
json sample(const TokenConstraint &constraint, const Vocabulary &vocabulary,
            std::mt19937 &random, int length, int most, std::string text = "",
            const std::vector<std::string> &words = {}) {
  static const std::string closers = "\"}]0";
  Session session(constraint, vocabulary);
  for (const char byte : text)
    if (!session.accept(static_cast<uint8_t>(byte)))
      return nullptr;
  for (int count = 0; count < most; ++count) {
    std::vector<int32_t> allowed;
    if (count > length) {
      if (session.allows(vocabulary.stop))
        return text;
      if (!words.empty() && random() % 2 == 0) {
        for (const char byte : words[random() % words.size()]) {
          if (!session.allows(static_cast<uint8_t>(byte)))
            break;
          session.accept(static_cast<uint8_t>(byte));
          text += byte;
        }
        continue;
      }
      for (const char closer : closers)
        if (session.allows(closer) && random() % 4 != 0)
          allowed.push_back(closer);
    }
    if (allowed.empty())
      for (int32_t token = 0; token <= vocabulary.stop; ++token)
        if (session.allows(token))
          allowed.push_back(token);
    const int32_t token = allowed[random() % allowed.size()];
    if (!session.accept(token))
      throw Disagreement("an allowed token is not accepted");
    if (token == vocabulary.stop)
      return text;
    text += vocabulary.spellings[static_cast<size_t>(token)];
  }
  return nullptr;
}

Grammar grammar_of(const json &question) {
  if (question.contains("regex"))
    return Grammar::regex(question.at("regex").get<std::string>());
  if (question.contains("gbnf"))
    return Grammar::gbnf(question.at("gbnf").get<std::string>());
  if (question.contains("json_object"))
    return Grammar::json_object();
  JsonSchemaOptions options;
  options.strict = question.value("strict", true);
  const std::string whitespace = question.value("whitespace", "single");
  options.whitespace = whitespace == "none"  ? JsonWhitespace::None
                       : whitespace == "any" ? JsonWhitespace::Any
                                             : JsonWhitespace::Single;
  return Grammar::json_schema(question.at("schema"), options);
}

json answer(const json &question, const Vocabulary &vocabulary) {
  try {
    const auto constraint = compile_constraint(
        grammar_of(question), vocabulary.shared, {vocabulary.stop});
    json accepted = json::array(), samples = json::array();
    for (const json &text : question.value("texts", json::array()))
      accepted.push_back(
          accepts(*constraint, vocabulary, text.get<std::string>()));
    std::mt19937 random(question.value("seed", 1u));
    const int length = question.value("length", 100);
    for (int count = question.value("samples", 0); count > 0; --count)
      samples.push_back(
          sample(*constraint, vocabulary, random, length, 20 * length));
    json finished = json::array();
    for (const json &text : question.value("beginnings", json::array()))
      finished.push_back(sample(
          *constraint, vocabulary, random, 0, 10'000, text.get<std::string>(),
          question.value("words", std::vector<std::string>{})));
    return {
        {"accepts", accepted}, {"samples", samples}, {"finished", finished}};
  } catch (const Error &error) {
    return {{"error", error.what()}};
  } catch (const Disagreement &error) {
    return {{"disagreement", error.what()}};
  }
}

} // namespace

int main() {
  const Vocabulary vocabulary;
  std::string line;
  while (std::getline(std::cin, line))
    std::cout << answer(json::parse(line), vocabulary)
                     .dump(-1, ' ', true, json::error_handler_t::replace)
              << std::endl;
}

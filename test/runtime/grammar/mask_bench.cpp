//===- mask_bench.cpp - how long masks take ------------------------------===//
//
// mask_bench TOKENIZER.json: for several grammars, a text that keeps to each is
// read token by token, and the mask before each token is computed: first with
// nothing kept, then as a second text of the same constraint.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/grammar/constraint.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

using namespace baton;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

struct Subject {
  const char *name;
  Grammar grammar;
  std::string text;
};

const char *person = R"({"type": "object", "properties": {
  "name": {"type": "string"}, "age": {"type": "integer", "minimum": 0},
  "email": {"type": "string", "format": "email"},
  "address": {"type": "object", "properties": {
    "street": {"type": "string", "maxLength": 100},
    "city": {"type": "string"}, "zip": {"type": "string",
    "pattern": "^[0-9]{5}$"}}, "required": ["street", "city", "zip"],
    "additionalProperties": false},
  "tags": {"type": "array", "items": {"enum": ["new", "vip", "blocked"]}},
  "notes": {"type": ["string", "null"]}},
  "required": ["name", "age", "email", "address", "tags", "notes"],
  "additionalProperties": false})";

const char *person_text =
    R"({"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", )"
    R"("address": {"street": "12 St James's Square, behind the old )"
    R"(library", "city": "London", "zip": "12345"}, "tags": ["new", )"
    R"("vip"], "notes": "Wrote the first program; the notes are longer )"
    R"(than the article.\nSecond line with \"quotes\"."})";

const char *tree = R"({"$ref": "#/$defs/node", "$defs": {"node": {
  "type": "object", "properties": {"name": {"type": "string"},
  "size": {"type": "number"}, "children": {"type": "array",
  "items": {"$ref": "#/$defs/node"}}},
  "required": ["name", "size", "children"],
  "additionalProperties": false}}})";

std::string tree_text(int depth) {
  std::string text = R"({"name": "a directory of depth )" +
                     std::to_string(depth) + R"(", "size": )" +
                     std::to_string(depth) + R"(.25, "children": [)";
  for (int child = 0; depth > 0 && child < 3; ++child)
    text += (child ? ", " : "") + tree_text(depth - 1);
  return text + "]}";
}

std::vector<Subject> subjects() {
  const auto schema = [](const char *text) {
    return Grammar::json_schema(nlohmann::ordered_json::parse(text));
  };
  return {
      {"schema of a person", schema(person), person_text},
      {"recursive schema", schema(tree), tree_text(3)},
      {"any object", Grammar::json_object(), tree_text(3)},
      {"regular expression",
       Grammar::regex("(?:[A-Z][a-z]{1,20}(?: |, ))+and [a-z ]{0,200}\\."),
       "Alice, Bob, Carol, Dave and the others went home late."},
      {"calls between text",
       Grammar::sequence({Grammar::text_until("<tool_call>"), schema(person),
                          Grammar::literal("</tool_call>")}),
       std::string("I will look this up in the records, which are old.\n") +
           "<tool_call>" + person_text + "</tool_call>"},
      {"arithmetic in GBNF",
       Grammar::gbnf("root ::= expr\nexpr ::= expr [-+] term | term\n"
                     "term ::= term [*/] atom | atom\n"
                     "atom ::= [0-9]{1,10} | \"(\" expr \")\"\n"),
       "(12+34*(5-6))/7-8*(9+10*(11-12345))+((((1))))"},
  };
}

struct Times {
  std::vector<double> masks, accepts;
};

Times run(const TokenConstraint &constraint, const std::vector<int32_t> &tokens,
          size_t vocabulary, const char *name) {
  Times times;
  const auto matcher = constraint.start();
  std::vector<uint32_t> mask((vocabulary + 31) / 32);
  for (const int32_t token : tokens) {
    const auto begin = Clock::now();
    matcher->allowed(mask);
    const auto middle = Clock::now();
    if (!matcher->accept(token))
      throw Error(std::string(name) + ": the text does not keep to it");
    times.masks.push_back(microseconds(middle - begin));
    times.accepts.push_back(microseconds(Clock::now() - middle));
  }
  matcher->allowed(mask);
  return times;
}

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share *
                                    static_cast<double>(values.size() - 1))];
}

void measure(const Tokenizer &tokenizer) {
  // Numbers may have holes, but none so long.
  size_t count = 0;
  for (size_t token = 0; token < count + 100'000; ++token)
    if (!tokenizer.token_bytes(static_cast<int32_t>(token)).empty())
      count = token + 1;
  const auto begin = Clock::now();
  const auto vocabulary = TokenVocabulary::of(tokenizer, count);
  std::printf("%zu tokens, trie of %zu nodes made in %.0f ms\n", count,
              vocabulary->nodes().size(),
              microseconds(Clock::now() - begin) / 1000);
  std::printf("%-20s %7s %6s | %8s %8s %8s | %8s %8s | %s\n", "us", "compile",
              "tokens", "first", "90 %", "most", "second", "90 %", "accept");
  for (const Subject &subject : subjects()) {
    const auto tokens =
        tokenizer.encode(subject.text, /*add_special_tokens=*/false);
    const auto start = Clock::now();
    const auto constraint = compile_constraint(subject.grammar, vocabulary, {});
    const double compiling = microseconds(Clock::now() - start);
    const Times cold = run(*constraint, tokens, count, subject.name);
    const Times warm = run(*constraint, tokens, count, subject.name);
    std::printf("%-20s %7.0f %6zu | %8.1f %8.1f %8.1f | %8.1f %8.1f | %.2f\n",
                subject.name, compiling, tokens.size(), at(cold.masks, 0.5),
                at(cold.masks, 0.9), at(cold.masks, 1), at(warm.masks, 0.5),
                at(warm.masks, 0.9), at(warm.accepts, 0.5));
  }
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::cerr << "mask_bench TOKENIZER.json\n";
    return 2;
  }
  try {
    measure(Tokenizer::load(arguments[1]));
  } catch (const Error &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

//===- fuzz_grammars.cpp - mutated grammars, patterns and schemas --------===//
//
// fuzz_grammars COUNT SEED: each must be refused with an Error or compiled, and
// then followed for some tokens at random, without a crash or more than ten
// seconds. Meant for builds with sanitizers. Prints what became of them, and
// the slowest.
//
//===----------------------------------------------------------------------===//

#include "small_vocabulary.h"

#include "runtime/error.h"
#include "runtime/grammar/json_schema.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <sys/time.h>
#include <unistd.h>

using namespace baton;
using json = nlohmann::ordered_json;

namespace {

/// No mutant takes so long, in seconds of processor time; sanitizers included.
constexpr time_t patience = 10;

void set_alarm(time_t seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

const std::vector<std::string> gbnf_seeds = {
    R"gbnf(root ::= expr
expr ::= expr "+" term | term
term ::= [0-9]+ | "(" expr ")"
)gbnf",
    R"gbnf(root ::= "[" (item ("," item)*)? "]" # list
item ::= [a-z]{1,8} | root | <|end|>
)gbnf",
    R"gbnf(root ::= ("a" | b)* c{2,3} [^\n\x41-\u0100] .
b ::= b b | ""
c ::= c? "x"
)gbnf",
    R"gbnf(root ::= a{3000}
a ::= "ab"{0,70} | [^a]
)gbnf",
    R"gbnf(root ::= (((("x")+)*)?){2,} root?
)gbnf"};

const std::vector<std::string> pattern_seeds = {
    "(a|b)*c+d?[e-z]{2,5}",
    "^\\d{4}-\\w+(?:\\.\\s|[^x])$",
    "\\p{Lu}[\\u00e0-\\u00ff]*|.{0,200}",
    "(?<n>(x+x+)+y){3}",
    "((a{20}){20}){20}",
    "(a|b)*a(a|b){14}",
    "[^\\\"\\\\]*\\t\\x41$|^"};

const std::vector<std::string> schema_seeds = {
    R"({"type": "object", "properties": {"a": {"type": "string",
      "maxLength": 20}, "b": {"type": "integer", "minimum": -5}},
      "required": ["a"], "additionalProperties": {"type": "null"}})",
    R"({"$defs": {"n": {"type": "object", "properties": {"v": {"$ref":
      "#/$defs/n"}, "w": {"enum": [1, "x", null, [2], {"k": 1.5}]}}}},
      "$ref": "#/$defs/n"})",
    R"({"anyOf": [{"type": "array", "prefixItems": [{"const": 1}], "items":
      {"type": "number", "exclusiveMaximum": 7.25}, "maxItems": 9},
      {"allOf": [{"pattern": "^a.*z$"}, {"minLength": 4}, {"type":
      ["string", "null"]}]}]})",
    R"({"patternProperties": {"^x": {"multipleOf": 7}, "y$": true},
      "propertyNames": {"maxLength": 6}, "minProperties": 1,
      "maxProperties": 3, "additionalProperties": false})",
    R"({"oneOf": [{"format": "date-time"}, {"format": "ipv6"}, {"$ref":
      "#/oneOf/0"}], "allOf": [{"anyOf": [{"$ref": "#/oneOf/1"}, {"type":
      "boolean"}]}]})"};

using Random = std::mt19937;

size_t below(Random &random, size_t count) { return random() % count; }

std::string mutated_text(Random &random,
                         const std::vector<std::string> &seeds) {
  static const std::string letters =
      "ab01x[]{}()|*+?^$\\\"-,.:=<>#!\n \xC3\xA9";
  std::string text = seeds[below(random, seeds.size())];
  for (size_t count = 1 + below(random, 1 + below(random, 5)); count > 0;
       --count) {
    const size_t at = below(random, text.size() + 1);
    const size_t length = below(random, 12);
    switch (random() % 5) {
    case 0:
      text.insert(at, 1, letters[below(random, letters.size())]);
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      if (at < text.size())
        text[at] = letters[below(random, letters.size())];
      break;
    case 3: {
      const std::string &other = seeds[below(random, seeds.size())];
      text.insert(at, other.substr(below(random, other.size()), length));
      break;
    }
    case 4:
      text.insert(at, text.substr(below(random, text.size() + 1), length));
      break;
    }
  }
  return text;
}

/// All values in a document.
void collect(json &value, std::vector<json *> &all) {
  all.push_back(&value);
  for (json &part : value)
    if (value.is_structured())
      collect(part, all);
}

json mutated_schema(Random &random, const std::vector<json> &seeds) {
  static const std::vector<std::string> keywords = {"type",
                                                    "enum",
                                                    "const",
                                                    "properties",
                                                    "required",
                                                    "items",
                                                    "anyOf",
                                                    "allOf",
                                                    "oneOf",
                                                    "$ref",
                                                    "minimum",
                                                    "maximum",
                                                    "pattern",
                                                    "maxLength",
                                                    "minItems",
                                                    "maxItems",
                                                    "prefixItems",
                                                    "additionalProperties",
                                                    "patternProperties",
                                                    "minProperties",
                                                    "propertyNames",
                                                    "format",
                                                    "a"};
  static const std::vector<json> values = {0,
                                           1,
                                           -3,
                                           2.5,
                                           1e30,
                                           100000,
                                           "a",
                                           "#",
                                           "#/$defs/n",
                                           "integer",
                                           "string",
                                           "^a*$",
                                           nullptr,
                                           true,
                                           false,
                                           json::array(),
                                           json::object(),
                                           json::array({1, "a"}),
                                           json{{"type", "string"}},
                                           json{{"$ref", "#"}}};
  json schema = seeds[below(random, seeds.size())];
  for (size_t count = 1 + below(random, 1 + below(random, 5)); count > 0;
       --count) {
    std::vector<json *> all;
    collect(schema, all);
    json &place = *all[below(random, all.size())];
    json other = seeds[below(random, seeds.size())];
    std::vector<json *> others;
    collect(other, others);
    const json part = random() % 2 ? *others[below(random, others.size())]
                                   : values[below(random, values.size())];
    if (place.is_object() && random() % 3)
      place[keywords[below(random, keywords.size())]] = part;
    else if (place.is_object() && !place.empty())
      place.erase(std::next(place.begin(), static_cast<std::ptrdiff_t>(
                                               below(random, place.size()))));
    else if (place.is_array() && random() % 2)
      place.push_back(part);
    else if (random() % 4)
      place = part;
  }
  return schema;
}

struct Report {
  size_t refused = 0, compiled = 0, stuck = 0, tokens = 0;
  double slowest = 0;
  std::string slowest_text;
};

std::string current;

void give_up(int) {
  // What took so long; nothing that a handler may not call.
  static const char message[] = "took too long:\n";
  (void)!write(2, message, sizeof(message) - 1);
  (void)!write(2, current.data(), current.size());
  _exit(3);
}

void follow(const Grammar &grammar, Random &random, Report &report) {
  static const std::vector<std::string> tokens = [] {
    std::vector<std::string> all;
    for (int byte = 0; byte < 256; ++byte)
      all.emplace_back(1, static_cast<char>(byte));
    for (const char *piece :
         {"{\"", "\":", "ab", "aa", "x+", "\"}", "12", "<|end|>"})
      all.emplace_back(piece);
    return all;
  }();
  static const auto vocabulary = small_vocabulary(tokens);
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  const auto constraint = compile_constraint(grammar, vocabulary, {end});
  ++report.compiled;
  const auto matcher = constraint->start();
  for (int step = 0; step < 20 && !matcher->is_finished(); ++step) {
    const auto mask = mask_of(*matcher, tokens.size());
    std::vector<int32_t> allowed;
    for (int32_t token = 0; token <= end; ++token)
      if (has_token(mask, token))
        allowed.push_back(token);
    if (allowed.empty() ||
        !matcher->accept(allowed[below(random, allowed.size())])) {
      std::fprintf(stderr, "stuck in:\n%s\n", current.c_str());
      std::exit(4);
    }
    ++report.tokens;
  }
}

void check(const std::string &text, const std::function<Grammar()> &read,
           Random &random, Report &report) {
  current = text;
  set_alarm(patience);
  const auto begin = std::chrono::steady_clock::now();
  const size_t compiled = report.compiled;
  try {
    follow(read(), random, report);
  } catch (const Error &error) {
    if (report.compiled == compiled)
      ++report.refused;
    else
      ++report.stuck;
    const std::string what = error.what();
    if (what.empty() || what.find('\n') != what.npos) {
      std::fprintf(stderr, "an error of several lines: %s\n", what.c_str());
      std::exit(4);
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  if (seconds > report.slowest) {
    report.slowest = seconds;
    report.slowest_text = text;
  }
}

} // namespace

int main(int count, char **arguments) {
  if (count != 3) {
    std::fprintf(stderr, "fuzz_grammars COUNT SEED\n");
    return 2;
  }
  std::signal(SIGVTALRM, give_up);
  Random random(static_cast<unsigned>(std::atoi(arguments[2])));
  std::vector<json> schemas;
  for (const std::string &text : schema_seeds)
    schemas.push_back(json::parse(text));
  Report reports[3];
  for (long mutant = 0; mutant < std::atol(arguments[1]); ++mutant) {
    const std::string gbnf = mutated_text(random, gbnf_seeds);
    check(gbnf, [&] { return Grammar::gbnf(gbnf); }, random, reports[0]);
    const std::string pattern = mutated_text(random, pattern_seeds);
    check(pattern, [&] { return Grammar::regex(pattern); }, random, reports[1]);
    const json schema = mutated_schema(random, schemas);
    JsonSchemaOptions options;
    options.strict = random() % 2;
    options.whitespace = static_cast<JsonWhitespace>(random() % 3);
    check(
        schema.dump(), [&] { return Grammar::json_schema(schema, options); },
        random, reports[2]);
  }
  set_alarm(0);
  for (const Report &report : reports)
    std::printf("%zu refused, %zu compiled, %zu tokens, %zu ended by an error; "
                "slowest %.2f s: %s\n",
                report.refused, report.compiled, report.tokens, report.stuck,
                report.slowest, report.slowest_text.substr(0, 300).c_str());
}

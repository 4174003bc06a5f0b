//===- JsonSchemaTest.cpp - JSON Schema as a grammar ---------------------===//

#include "runtime/grammar/json_schema.h"

#include "small_vocabulary.h"

#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

using namespace baton;
using json = nlohmann::ordered_json;

namespace {

struct Case {
  const char *schema;
  std::vector<const char *> taken, refused;
};

void check(const std::vector<Case> &cases, JsonSchemaOptions options = {}) {
  for (const Case &each : cases) {
    const Language language(
        Grammar::json_schema(json::parse(each.schema), options));
    for (const char *text : each.taken)
      EXPECT_TRUE(language.has(text)) << each.schema << "\n" << text;
    for (const char *text : each.refused)
      EXPECT_FALSE(language.has(text)) << each.schema << "\n" << text;
  }
}

std::string error_of(const char *schema) {
  try {
    Grammar::json_schema(json::parse(schema));
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

} // namespace

TEST(JsonSchema, Types) {
  check({{R"({"type": "null"})", {"null"}, {"true", "0", ""}},
         {R"({"type": "boolean"})", {"true", "false"}, {"null", "True"}},
         {R"({"type": "integer"})",
          {"0", "-0", "12", "999999999999999999"},
          {"01", "1.0", "1e3", "1000000000000000000", "-"}},
         {R"({"type": "number"})",
          {"0", "-1.50", "1e5", "2.5E-07"},
          {"1.", ".5", "1e", "1e100", "+1", "NaN"}},
         {R"({"type": "string"})",
          {R"("")", R"("a\"\\\/\b\f\n\r\t\u00E9")", "\"\u65e5\"",
           R"("\ud83d\ude00")", "\"\x7F\""},
          {"\"\n\"", R"("\x")", R"("\u12")", R"("\ud83d")", R"("\ude00")",
           "\"\xFF\"", "\"a", "a"}},
         {R"({"type": ["string", "null"]})", {R"("a")", "null"}, {"1"}},
         {"true", {"1", "[{}]", R"({"a": [null]})"}, {"[1,]", "{1}"}},
         {"{}", {R"("x")", "-1.5e3"}, {"undefined"}}});
}

TEST(JsonSchema, EnumsKeepToTheKeywordsBesideThem) {
  check({{R"({"enum": ["a\n\"é", 1.5, null, {"k": [1, 2]}]})",
          {"\"a\\n\\\"\u00e9\"", "1.5", "null", R"({"k": [1, 2]})",
           R"({"k":[1,2]})"},
          {R"("a")", "1.50", R"({"k": [2]})"}},
         {R"({"const": "x"})", {R"("x")"}, {R"("y")"}},
         {R"({"enum": ["a", "abc", 5], "type": "string", "minLength": 2})",
          {R"("abc")"},
          {R"("a")", "5"}},
         {R"({"enum": [1, 2, 3.5, 4], "minimum": 2, "type": "integer"})",
          {"2", "4"},
          {"1", "3.5"}},
         {R"({"enum": [[1], ["a"]], "items": {"type": "integer"}})",
          {"[1]"},
          {R"(["a"])"}},
         {R"({"enum": [{"a": 1}, {"b": 1}], "required": ["a"]})",
          {R"({"a": 1})"},
          {R"({"b": 1})"}}});
}

TEST(JsonSchema, StringsHaveLengthsPatternsAndFormats) {
  check({{R"({"type": "string", "minLength": 2, "maxLength": 3})",
          {R"("ab")", R"("\n\u00e9\ud83d\ude00")", "\"\U0001F600\U0001F600\""},
          {R"("a")", R"("abcd")"}},
         {R"({"type": "string", "pattern": "b"})",
          {R"("abc")", R"("\u0062")"},
          {R"("a")"}},
         {R"({"type": "string", "pattern": "^a\"\\\\$"})",
          {R"("a\"\\")", R"("\u0061\u0022\u005C")"},
          {R"("a")"}},
         {R"({"pattern": "^a", "allOf": [{"pattern": "b$"}], "maxLength": 3,
              "type": "string"})",
          {R"("ab")", R"("axb")"},
          {R"("a")", R"("axxb")"}},
         {R"({"type": "string", "format": "date"})",
          {R"("2024-02-29")", R"("2000-02-29")", R"("1999-12-31")"},
          {R"("2023-02-29")", R"("1900-02-29")", R"("2024-04-31")",
           R"("0000-01-01")", R"("2024-13-01")"}},
         {R"({"type": "string", "format": "date-time"})",
          {R"("2024-02-29T23:59:59Z")", R"("2024-01-01T00:00:00.5+05:30")"},
          {R"("2024-02-29")", R"("2024-02-29T24:00:00Z")"}},
         {R"({"type": "string", "format": "ipv4"})",
          {R"("0.0.0.0")", R"("255.1.20.199")"},
          {R"("256.1.1.1")", R"("1.1.1")", R"("01.1.1.1")"}},
         {R"({"type": "string", "format": "ipv6"})",
          {R"("::")", R"("1::")", R"("::ffff:1.2.3.4")", R"("1:2:3:4:5:6:7:8")",
           R"("1:2:3:4:5:6:7::")"},
          {R"("1::2::3")", R"("1:2:3:4:5:6:7:8:9")", R"(":1")"}},
         {R"({"type": "string", "format": "uuid"})",
          {R"("01234567-89ab-CDEF-0123-456789abcdef")"},
          {R"("0123456789abcdef0123456789abcdef")"}},
         {R"({"type": "string", "format": "email"})",
          {R"("a.b+c@example.org")"},
          {R"("a@")", R"("a..b@c")", R"("@c")"}},
         {R"({"type": "string", "format": "hostname"})",
          {R"("a-b.example")"},
          {R"("-a")", R"("a..b")"}},
         {R"({"type": "string", "format": "uri"})",
          {R"("https://u:p@[::1]:80/a/b%20c?q=1#f")", R"("mailto:a@b")"},
          {R"("/relative")", R"("http://a b")"}},
         {R"({"type": "string", "format": "uri-reference"})",
          {R"("/relative?x")", R"("")"},
          {R"("a b")"}},
         {R"({"type": "string", "format": "duration"})",
          {R"("P1Y2M3DT4H5M6S")", R"("PT1M")", R"("P3W")"},
          {R"("P")", R"("P1YT")", R"("1D")"}},
         {R"({"type": "string", "format": "unheard-of"})", {R"("x")"}, {}}});
}

TEST(JsonSchema, LongStringsAreCounted) {
  const Language language(Grammar::json_schema(json::parse(
      R"({"type": "string", "minLength": 700, "maxLength": 2000})")));
  for (const auto &[length, taken] : {std::pair(699, false),
                                      {700, true},
                                      {1999, true},
                                      {2000, true},
                                      {2001, false}})
    EXPECT_EQ(language.has('"' + std::string(size_t(length), 'x') + '"'), taken)
        << length;
}

TEST(JsonSchema, NumbersHaveBounds) {
  check(
      {{R"({"type": "integer", "minimum": 3, "exclusiveMaximum": 12})",
        {"3", "11"},
        {"2", "12", "-5"}},
       {R"({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5})",
        {"0.1", "0.5", "0.50"},
        {"0", "0.0", "0.51", "5e-1"}},
       {R"({"type": "integer", "multipleOf": 4, "allOf":
            [{"multipleOf": 6}]})",
        {"12", "-24", "0"},
        {"4", "6"}},
       {R"({"type": "number", "multipleOf": 0.01})", {"1.25", "1"}, {"1.255"}},
       {R"({"type": "number", "multipleOf": 2})", {"4"}, {"3", "4.5"}}});
}

TEST(JsonSchema, ArraysHaveItems) {
  check({{R"({"type": "array", "items": {"type": "integer"}})",
          {"[]", "[1]", "[1, 2,3]"},
          {"[1 ,2]", "[\"a\"]", "[1,]", "[ ]"}},
         {R"({"items": {"type": "null"}, "minItems": 2, "maxItems": 3})",
          {"[null,null]", "[null,null,null]"},
          {"[null]", "[null,null,null,null]", "1"}},
         {R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}]})",
          {"[]", "[1]", "[1,2]"},
          {"[2]", "[1,2,3]"}},
         {R"({"prefixItems": [{"const": 1}], "items": {"const": 2},
              "minItems": 1})",
          {"[1]", "[1,2,2]"},
          {"[]", "[2]", "[1,1]"}},
         {R"({"prefixItems": [{"const": 1}, {"const": 2}], "items": false,
              "minItems": 2, "maxItems": 5})",
          {"[1,2]"},
          {"[1]", "[1,2,2]"}},
         {R"({"items": [{"const": 1}], "additionalItems": {"const": 2},
              "type": "array"})",
          {"[1,2]"},
          {"[2]"}},
         {R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"}},
         {R"({"type": "array", "items": {"const": 0}, "minItems": 300,
              "maxItems": 300})",
          {},
          {"[0,0]"}}});
}

TEST(JsonSchema, ObjectsHaveProperties) {
  check({{R"({"type": "object", "properties": {"a": {"const": 1}, "b":
           {"const": 2}, "c": {"const": 3}}, "required": ["b"]})",
          {R"({"b":2})", R"({"a": 1, "b": 2, "c":3})", R"({"b":2,"c":3})"},
          {R"({})", R"({"a":1})", R"({"b":2,"a":1})", R"({"b":2,"d":4})",
           R"({"b":2,})", R"({,"b":2})", R"({"b":2 })"}},
         {R"({"type": "object", "properties": {"a": {"const": 1}},
           "additionalProperties": {"type": "null"}})",
          {R"({})", R"({"a":1,"x":null,"aa":null})", R"({"":null})"},
          {R"({"a":null})", R"({"x":1})", R"({"\u0061":null})",
           R"({"x":null,"a":1})"}},
         {R"({"type": "object", "patternProperties": {"^x": {"const": 1}, "y$":
           {"enum": [1, 2]}}, "additionalProperties": {"const": 3}})",
          {R"({"x":1,"y":2,"xy":1,"z":3})"},
          {R"({"xy":2})", R"({"z":1})", R"({"x":3})"}},
         {R"({"type": "object", "propertyNames": {"maxLength": 2},
           "additionalProperties": {"const": 1}})",
          {R"({"ab":1})"},
          {R"({"abc":1})"}},
         {R"({"type": "object", "properties": {"a": {"const": 1}, "b":
           {"const": 1}, "c": {"const": 1}}, "minProperties": 1,
           "maxProperties": 2})",
          {R"({"a":1})", R"({"a":1,"c":1})", R"({"c":1})"},
          {R"({})", R"({"a":1,"b":1,"c":1})"}},
         {R"({"type": "object", "required": ["k"]})",
          {R"({"k":[1],"other":2})"},
          {R"({})", R"({"other":2})"}},
         {R"({"type": "object", "properties": {"a": false, "b": {}}})",
          {R"({})", R"({"b":1})"},
          {R"({"a":1})"}},
         {R"({"type": "object"})", {R"({"any": [1]})"}, {"[]"}}});
}

TEST(JsonSchema, ObjectsAreOpenUnlessStrict) {
  JsonSchemaOptions options;
  options.strict = false;
  check({{R"({"type": "object", "properties": {"a": {"const": 1}}})",
          {R"({"a":1,"b":[2]})", R"({"b":1})"},
          {R"({"a":2})"}},
         {R"({"properties": {"a": {"const": 1}}})", {"5", R"("x")"}, {}},
         {R"({"type": "array", "prefixItems": [{"const": 1}]})",
          {"[1,\"x\"]"},
          {"[2]"}},
         {R"({"allOf": [{"properties": {"a": {"const": 1}}}], "type":
             "object", "unevaluatedProperties": false})",
          {R"({"a":1})"},
          {R"({"b":1})"}}},
        options);
}

TEST(JsonSchema, SchemasAreCombined) {
  check({{R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1},
           false]})",
          {"12", R"("a")"},
          {R"("ab")", "null"}},
         {R"({"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": -10}],
           "oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]})",
          {"10", "15", "-12"},
          {"4", "11"}},
         {R"({"allOf": [{"type": "object", "properties": {"a": {"type":
           "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum":
           5}, "b": {"const": 1}}}]})",
          {R"({"a":5})", R"({"a":7,"b":1})"},
          {R"({"a":4})", R"({"b":1})"}},
         {R"({"allOf": [{"properties": {"a": {"const": 1}},
           "additionalProperties": false}, {"properties": {"b": {"const":
           2}}}], "type": "object"})",
          {R"({"a":1})", "{}"},
          {R"({"b":2})"}}});
}

TEST(JsonSchema, ReferencesAreFollowed) {
  check({{R"({"$ref": "#/$defs/a", "minimum": 3, "$defs": {"a": {"type":
             "integer", "maximum": 5}}})",
          {"3", "5"},
          {"2", "6"}},
         {R"({"$ref": "#/$defs/x~1y%25/0", "$defs": {"x/y%": [{"const":
             1}]}})",
          {"1"},
          {"2"}},
         {R"({"type": "object", "properties": {"v": {"type": "integer"},
             "next": {"$ref": "#"}}, "required": ["v"]})",
          {R"({"v":1,"next":{"v":2,"next":{"v":3}}})"},
          {R"({"v":1,"next":{}})"}},
         {R"({"$ref": "#/$defs/e", "$defs": {"e": {"anyOf": [{"type":
             "integer"}, {"type": "array", "items": {"$ref":
             "#/$defs/e"}}]}}})",
          {"1", "[1,[2,[]]]"},
          {R"(["a"])"}}});
}

TEST(JsonSchema, WhitespaceIsAsAsked) {
  const char *schema = R"({"type": "object", "properties": {"a": {"type":
    "array", "items": {"type": "integer"}}}, "required": ["a"]})";
  const char *tight = R"({"a":[1,2]})", *spaced = R"({"a": [1, 2]})",
             *loose = "{\n  \"a\" : [\n\t1 , 2 ]\r\n}",
             *endless =
                 "{                                             \"a\":[]}";
  check({{schema, {tight}, {spaced, loose}}}, {JsonWhitespace::None});
  check({{schema, {tight, spaced}, {loose}}}, {JsonWhitespace::Single});
  check({{schema, {tight, spaced, loose}, {endless, " {\"a\":[]}"}}},
        {JsonWhitespace::Any});
}

TEST(JsonSchema, ErrorsNameThePointer) {
  for (const auto &[schema, error] : {
           std::pair(R"({"properties": {"a/b": {"not": {}}}})",
                     "schema: #/properties/a~1b/not: is not supported"),
           {R"({"type": "strin"})",
            "schema: #/type: is not a type of JSON, or a list of them"},
           {R"({"items": {"uniqueItems": true}})",
            "schema: #/items/uniqueItems: is not supported"},
           {R"({"anyOf": [{"type": "string"}, {"minLength": -1}]})",
            "schema: #/anyOf/1/minLength: is not a whole number from 0 on"},
           {R"({"pattern": "a("})", "schema: #/pattern: the pattern 'a(', at "
                                    "byte 2: a ( without its )"},
           {R"({"$ref": "http://x"})",
            "schema: #/$ref: 'http:~1~1x' is not supported: only '#' and "
            "pointers '#/...' into the same schema are"},
           {R"({"$ref": "#/a"})", "schema: #/$ref: '#~1a' points to nothing"},
           {R"({"$ref": "#"})",
            "schema: #: refers to itself, with no value between"},
           {R"({"anyOf": [{"$ref": "#"}]})",
            "schema: #: refers to itself, with no value between"},
           {"false", "schema: #: no value keeps to it"},
           {R"({"type": "integer", "minimum": 5, "maximum": 4})",
            "schema: #: no value keeps to it"},
           {R"({"properties": {"a": {"enum": [1], "type": "string"}},
               "required": ["a"]})",
            "schema: #/properties/a: no value keeps to it"},
           {R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
            "schema: #: no value keeps to it"},
           {R"({"multipleOf": 0.3})",
            "schema: #/multipleOf: is not supported but for whole numbers and "
            "0.1, 0.01, ..."},
       })
    EXPECT_EQ(error_of(schema), error) << schema;
}

TEST(JsonSchema, DeepAndWideSchemasEnd) {
  const auto nested = [](const char *begin, const char *middle, char end) {
    std::string text;
    for (int depth = 0; depth < 3000; ++depth)
      text += begin;
    return json::parse(text + middle + std::string(3000, end));
  };
  const json deep = nested(R"({"type": "array", "items": )", "{}", '}');
  EXPECT_TRUE(Language(Grammar::json_schema(deep)).has("[[[[[]]]]]"));
  json chain = {{"$defs", json::object()}, {"$ref", "#/$defs/0"}};
  for (int at = 0; at < 2000; ++at)
    chain["$defs"][std::to_string(at)] = {
        {"allOf", {{{"$ref", "#/$defs/" + std::to_string(at + 1)}}}}};
  chain["$defs"]["2000"] = {{"type", "null"}};
  EXPECT_THROW(Grammar::json_schema(chain), Error);
  json wide = {{"type", "object"}, {"properties", json::object()}};
  for (int at = 0; at < 400; ++at)
    wide["properties"]["name" + std::to_string(at)] = {{"type", "string"}};
  EXPECT_TRUE(Language(Grammar::json_schema(wide))
                  .has(R"({"name3":"a", "name399": ""})"));
  json product = {{"allOf", json::array()}};
  for (int at = 0; at < 20; ++at)
    product["allOf"].push_back(
        {{"anyOf", {{{"minimum", at}}, {{"maximum", 50 - at}}}}});
  EXPECT_THROW(Grammar::json_schema(product), Error);
  const json value = nested("[", "1", ']');
  EXPECT_THROW(Language(Grammar::json_schema({{"const", value}})), Error);
}

//===- ToolGrammarTest.cpp - answers that grammars of tools allow ---------===//
//
// A text is tried against a vocabulary of all bytes and some special tokens,
// and what is allowed has to be found by the parser.
//
//===----------------------------------------------------------------------===//

#include "output_test.h"

#include "runtime/chat/tool_grammar.h"
#include "runtime/error.h"
#include "runtime/grammar/constraint.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace baton {
namespace {

/// Each byte is a token; then special ones, and the one that ends texts.
class ByteVocabulary {
public:
  explicit ByteVocabulary(std::vector<std::string> special_tokens)
      : special(std::move(special_tokens)) {
    for (int byte = 0; byte < 256; ++byte)
      spellings.push_back(std::string(1, static_cast<char>(byte)));
    for (const std::string &token : special)
      spellings.push_back(token);
    spellings.push_back("<end>");
    vocabulary = std::make_shared<const TokenVocabulary>(
        spellings.size(),
        [this](int32_t token) { return std::string_view(spellings[token]); },
        [](int32_t token) { return token >= 256; });
  }

  int32_t end_token() const {
    return static_cast<int32_t>(256 + special.size());
  }
  bool is_special(std::string_view spelling) const {
    return std::ranges::find(special, spelling) != special.end();
  }
  const std::string &text_of(int32_t token) const { return spellings[token]; }

  /// Special tokens where they are spelled, as a model would write them.
  std::vector<int32_t> tokens_of(std::string_view text) const {
    std::vector<int32_t> tokens;
    while (!text.empty()) {
      int32_t token = static_cast<unsigned char>(text.front());
      for (size_t i = 0; i < special.size(); ++i)
        if (text.starts_with(special[i]))
          token = static_cast<int32_t>(256 + i);
      tokens.push_back(token);
      text.remove_prefix(text_of(token).size());
    }
    return tokens;
  }

  std::shared_ptr<const TokenConstraint> compile(const Grammar &grammar) const {
    return compile_constraint(grammar, vocabulary, {end_token()});
  }

private:
  std::vector<std::string> special, spellings;
  std::shared_ptr<const TokenVocabulary> vocabulary;
};

bool accepts(const ByteVocabulary &vocabulary,
             const TokenConstraint &constraint, std::string_view text) {
  const std::unique_ptr<TokenMatcher> matcher = constraint.start();
  for (const int32_t token : vocabulary.tokens_of(text))
    if (!matcher->accept(token))
      return false;
  return matcher->accept(vocabulary.end_token());
}

/// Of the bytes and tokens that are allowed, random ones until the text ends;
/// empty if it does not within `most` tokens.
std::string random_text(const ByteVocabulary &vocabulary,
                        const TokenConstraint &constraint, std::mt19937 &random,
                        size_t most) {
  const std::unique_ptr<TokenMatcher> matcher = constraint.start();
  std::vector<uint32_t> mask((vocabulary.end_token() + 32) / 32);
  std::string text;
  for (size_t count = 0; count < most; ++count) {
    matcher->allowed(mask);
    // Plain text where it is allowed, so that what closes it is met at times.
    std::vector<int32_t> allowed, others;
    for (int32_t token = 0; token <= vocabulary.end_token(); ++token)
      if ((mask[token / 32] >> (token % 32)) & 1) {
        const bool plain =
            token >= 256 || token == '\n' || (token >= ' ' && token < 127);
        (plain ? allowed : others).push_back(token);
      }
    if (allowed.empty())
      allowed = others;
    if (allowed.empty())
      return "";
    if ((mask[vocabulary.end_token() / 32] >> (vocabulary.end_token() % 32)) &
        1)
      if (random() % 4 == 0)
        return text;
    const int32_t token = allowed[random() % allowed.size()];
    if (token == vocabulary.end_token())
      return text;
    EXPECT_TRUE(matcher->accept(token));
    text += vocabulary.text_of(token);
  }
  return "";
}

const std::vector<std::string> harmony_tokens = {
    "<|channel|>", "<|message|>", "<|start|>",    "<|end|>",
    "<|call|>",    "<|return|>",  "<|constrain|>"};

struct Case {
  std::string format;
  std::vector<std::string> special;
  OutputStart start;
  /// A call of get_weather with {"city": "Köln", "days": 3}.
  std::string call;
};

/// As each format's models write it, in the words of the grammar.
std::vector<Case> cases() {
  const OutputStart content = OutputStart::Content;
  return {
      {"hermes",
       {},
       content,
       "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
       "{\"city\": \"Köln\", \"days\": 3}}\n</tool_call>"},
      {"hermes",
       {"<tool_call>", "</tool_call>"},
       content,
       "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
       "{\"city\": \"Köln\", \"days\": 3}}\n</tool_call>"},
      {"llama-3",
       {"<|python_tag|>"},
       content,
       "{\"name\": \"get_weather\", \"parameters\": "
       "{\"city\": \"Köln\", \"days\": 3}}"},
      {"mistral",
       {"[TOOL_CALLS]"},
       content,
       "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": "
       "{\"city\": \"Köln\", \"days\": 3}}]"},
      {"mistral-id",
       {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"},
       content,
       "[TOOL_CALLS]get_weather[CALL_ID]abc123def[ARGS]"
       "{\"city\": \"Köln\", \"days\": 3}"},
      {"deepseek-v3.1",
       {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"},
       content,
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
       "{\"city\": \"Köln\", \"days\": 3}<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>"},
      {"kimi-k2",
       {},
       content,
       "<|tool_calls_section_begin|><|tool_call_begin|>"
       "functions.get_weather:0<|tool_call_argument_begin|>"
       "{\"city\": \"Köln\", \"days\": 3}<|tool_call_end|>"
       "<|tool_calls_section_end|>"},
      {"functionary-3.1",
       {},
       content,
       "<function=get_weather>{\"city\": \"Köln\", \"days\": 3}</function>"},
      {"functionary-3.2",
       {},
       OutputStart::Header,
       "get_weather\n{\"city\": \"Köln\", \"days\": 3}"},
      {"command-r7b",
       {"<|START_ACTION|>", "<|END_ACTION|>"},
       content,
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": "
       "\"get_weather\", \"parameters\": {\"city\": \"Köln\", \"days\": 3}}\n"
       "]<|END_ACTION|>"},
      {"qwen3-coder",
       {},
       content,
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nKöln\n"
       "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n"
       "</tool_call>"},
      {"glm-4.5",
       {"<tool_call>", "<arg_key>", "</arg_key>"},
       content,
       "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Köln"
       "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
       "</tool_call>"},
      {"deepseek-v3.2",
       {"｜DSML｜"},
       content,
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
       "<｜DSML｜parameter name=\"city\" string=\"true\">Köln"
       "</｜DSML｜parameter>\n"
       "<｜DSML｜parameter name=\"days\" string=\"false\">3"
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"kimi-k3",
       {"<|open|>", "<|close|>", "<|sep|>"},
       content,
       "<|open|>tools<|sep|><|open|>call tool=\"get_weather\" index=\"1\""
       "<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>Köln"
       "<|close|>argument<|sep|><|open|>argument key=\"days\" "
       "type=\"number\"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|>"
       "<|close|>tools<|sep|>"},
      {"minimax-m3",
       {},
       content,
       "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">"
       "]<]minimax[>[<city>Köln]<]minimax[>[</city>]<]minimax[>[<days>3"
       "]<]minimax[>[</days>]<]minimax[>[</invoke>\n"
       "]<]minimax[>[</tool_call>"},
      {"lfm2",
       {"<|tool_call_start|>", "<|tool_call_end|>"},
       content,
       "<|tool_call_start|>[get_weather(city=\"Köln\", days=3)]"
       "<|tool_call_end|>"},
      {"gemma-4",
       {"<|tool_call>", "<tool_call|>", "<|\"|>"},
       content,
       "<|tool_call>call:get_weather{city:<|\"|>Köln<|\"|>,days:3}"
       "<tool_call|>"},
      {"apertus",
       {},
       content,
       "<|tools_prefix|>[{\"get_weather\": {\"city\": \"Köln\", "
       "\"days\": 3}}]<|tools_suffix|>"},
      {"harmony", harmony_tokens, OutputStart::Header,
       "<|channel|>commentary to=functions.get_weather <|constrain|>json"
       "<|message|>{\"city\": \"Köln\", \"days\": 3}"},
      {"harmony", harmony_tokens, OutputStart::Header,
       " to=functions.get_weather<|channel|>commentary json"
       "<|message|>{\"city\": \"Köln\", \"days\": 3}"},
      {"muse",
       {"<|start|>", "<|message|>", "<|eom|>"},
       OutputStart::Header,
       " to=get_weather<|message|><atem:function_calls>\n<atem:invoke "
       "name=\"get_weather\">\n<atem:parameter name=\"city\">Köln"
       "</atem:parameter>\n<atem:parameter name=\"days\">3"
       "</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"},
      {"solar",
       {"<|tool_calls|>", "<|tool_call:end|>", "<|begin|>"},
       content,
       "<|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>"
       "get_weather<|tool_call:args|>{\"city\": \"Köln\", \"days\": 3}"
       "<|tool_call:end|>"},
  };
}

AnswerGrammarOptions options_of(const ByteVocabulary &vocabulary,
                                OutputStart start) {
  AnswerGrammarOptions options;
  options.start = start;
  options.is_special_token = [&vocabulary](std::string_view spelling) {
    return vocabulary.is_special(spelling);
  };
  return options;
}

TEST(ToolGrammar, CallsOfEveryFormatAreAllowed) {
  const ParsedOutput weather = {
      "",
      "",
      {{"get_weather", "", R"({"city": "Köln", "days": 3})", true, true}}};
  for (const Case &one : cases()) {
    SCOPED_TRACE(one.format);
    const ToolFormat format = tool_format_named(one.format);
    const ByteVocabulary vocabulary(one.special);
    const AnswerGrammarOptions options = options_of(vocabulary, one.start);
    const auto required = vocabulary.compile(
        required_calls_grammar(format, example_tools(), options));
    const auto optional = vocabulary.compile(
        optional_calls_grammar(format, example_tools(), options));
    EXPECT_TRUE(accepts(vocabulary, *required, one.call)) << one.call;
    EXPECT_TRUE(accepts(vocabulary, *optional, one.call)) << one.call;
    ParsedOutput parsed = parse(one.format, one.call, one.start);
    ASSERT_EQ(parsed.calls.size(), 1u);
    parsed.calls[0].id.clear();
    EXPECT_EQ(parsed, weather);

    // An unknown function, a wrong type, a missing parameter, half a call.
    const auto altered = [&](const std::string &from, const std::string &to) {
      std::string text = one.call;
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, from.size(), to);
      return text;
    };
    for (const std::string &text :
         {altered("get_weather", "get_time"), altered("3", "three"),
          altered("city", "town"), one.call.substr(0, one.call.size() / 2)}) {
      EXPECT_NE(text, one.call);
      EXPECT_FALSE(accepts(vocabulary, *required, text)) << text;
      EXPECT_FALSE(accepts(vocabulary, *optional, text)) << text;
    }
    const std::string text =
        format.header == MessageHeader::None   ? "Hello. 1 < 2"
        : format.header == MessageHeader::Line ? "all\nHello."
        : format.header == MessageHeader::Recipient
            ? " to=user<|message|>Hi"
            : "<|channel|>final<|message|>Hello.";
    EXPECT_FALSE(accepts(vocabulary, *required, text));
    EXPECT_TRUE(accepts(vocabulary, *optional, text));
    EXPECT_FALSE(accepts(vocabulary, *required, ""));
  }
}

TEST(ToolGrammar, ParallelCallsAreAnOption) {
  const ByteVocabulary vocabulary({});
  AnswerGrammarOptions options = options_of(vocabulary, OutputStart::Content);
  for (const Case &one : cases()) {
    const ToolFormat format = tool_format_named(one.format);
    if (!one.special.empty() || format.header != MessageHeader::None)
      continue;
    SCOPED_TRACE(one.format);
    const std::string section = format.section_open;
    std::string two = one.call;
    if (format.section_per_call || section.empty()) {
      two += format.call_separator + one.call;
    } else {
      const size_t from = section.size(),
                   to = one.call.size() - format.section_close.size();
      two.insert(to, format.call_separator + one.call.substr(from, to - from));
    }
    EXPECT_EQ(parse(one.format, two).calls.size(), 2u) << two;
    for (const bool parallel : {true, false}) {
      options.parallel_calls = parallel;
      for (const auto grammar :
           {required_calls_grammar, optional_calls_grammar})
        EXPECT_EQ(accepts(vocabulary,
                          *vocabulary.compile(
                              grammar(format, example_tools(), options)),
                          two),
                  parallel)
            << two;
    }
  }
}

TEST(ToolGrammar, ReasoningMayComeFirst) {
  const ByteVocabulary vocabulary({});
  const ToolFormat format = tool_format_named("hermes");
  const std::string call = cases()[0].call;
  AnswerGrammarOptions options = options_of(vocabulary, OutputStart::Content);
  const auto allowed = [&](const std::string &text) {
    return accepts(vocabulary,
                   *vocabulary.compile(required_calls_grammar(
                       format, example_tools(), options)),
                   text);
  };
  EXPECT_TRUE(allowed(call));
  EXPECT_TRUE(allowed("<think>\nHm, <tool_call>.\n</think>\n\n" + call));
  EXPECT_FALSE(allowed("<think>\nHm.\n</think>\n\nSo: " + call));
  EXPECT_FALSE(allowed("<think>\nHm." + call));
  options.reasoning = false;
  EXPECT_TRUE(allowed(call));
  EXPECT_FALSE(allowed("<think>\nHm.\n</think>\n\n" + call));
  options.start = OutputStart::Reasoning;
  EXPECT_TRUE(allowed("Hm.\n</think>\n\n" + call));
  EXPECT_FALSE(allowed(call));
}

TEST(ToolGrammar, WordsMayComeBeforeACall) {
  const std::string call =
      "<|channel|>commentary to=functions.get_weather <|constrain|>json"
      "<|message|>{\"city\": \"Köln\"}";
  const std::string text =
      "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>"
      "commentary<|message|>I look.<|end|><|start|>assistant" +
      call;
  const ByteVocabulary vocabulary(harmony_tokens);
  const ToolFormat format = tool_format_named("harmony");
  const AnswerGrammarOptions options =
      options_of(vocabulary, OutputStart::Header);
  EXPECT_TRUE(accepts(vocabulary,
                      *vocabulary.compile(optional_calls_grammar(
                          format, example_tools(), options)),
                      text));
  EXPECT_FALSE(accepts(vocabulary,
                       *vocabulary.compile(required_calls_grammar(
                           format, example_tools(), options)),
                       text));
  EXPECT_EQ(parse("harmony", text, OutputStart::Header).content, "I look.");

  const ByteVocabulary bytes({});
  const std::string plain = cases()[0].call;
  const auto constraint = bytes.compile(
      optional_calls_grammar(tool_format_named("hermes"), example_tools(),
                             options_of(bytes, OutputStart::Content)));
  for (const std::string space : {"", "\n", "\n\n"})
    EXPECT_TRUE(
        accepts(bytes, *constraint, "I look.\n\n" + plain + space + plain));
  EXPECT_TRUE(accepts(bytes, *constraint, "I look. " + plain + " Done."));
}

TEST(ToolGrammar, AnswersKeepToASchema) {
  const Grammar json = Grammar::json_schema(nlohmann::ordered_json::parse(
      R"({"type": "object", "properties": {"a": {"type": "integer"}},
          "required": ["a"], "additionalProperties": false})"));
  struct Expected {
    std::string format;
    std::vector<std::string> special;
    OutputStart start;
    std::string before, after;
  };
  for (const Expected &one : std::vector<Expected>{
           {"hermes", {}, OutputStart::Content, "", ""},
           {"hermes", {}, OutputStart::Content, "<think>\nx\n</think>\n\n", ""},
           {"hermes", {}, OutputStart::Reasoning, "x</think>\n\n", ""},
           {"harmony", harmony_tokens, OutputStart::Header,
            "<|channel|>final<|message|>", ""},
           {"harmony", harmony_tokens, OutputStart::Header,
            "<|channel|>analysis<|message|>x<|end|><|start|>assistant"
            "<|channel|>final<|message|>",
            ""},
           {"functionary-3.2", {}, OutputStart::Header, "all\n", ""},
           {"muse",
            {"<|message|>"},
            OutputStart::Header,
            " to=user<|message|>",
            ""},
           {"command-r7b",
            {"<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"},
            OutputStart::Content,
            "<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>",
            "<|END_RESPONSE|>"},
           {"solar",
            {"<|think|>", "<|end|>", "<|content|>"},
            OutputStart::Content,
            "<|think|>x<|end|><|begin|>assistant<|content|>",
            ""},
           {"kimi-k3",
            {"<|open|>"},
            OutputStart::Reasoning,
            "x<|close|>think<|sep|><|open|>response<|sep|>",
            "<|close|>response<|sep|>"}}) {
    SCOPED_TRACE(one.format + one.before);
    const ByteVocabulary vocabulary(one.special);
    const ToolFormat format = tool_format_named(one.format);
    const auto constraint = vocabulary.compile(
        answer_grammar(format, json, options_of(vocabulary, one.start)));
    const std::string text = one.before + "{\"a\": 3}" + one.after;
    EXPECT_TRUE(accepts(vocabulary, *constraint, text)) << text;
    EXPECT_FALSE(accepts(vocabulary, *constraint,
                         one.before + "{\"a\": \"x\"}" + one.after));
    EXPECT_FALSE(accepts(vocabulary, *constraint, one.before + "Well."));
    const ParsedOutput parsed =
        parse_every_way(format, options_with({}, one.start), text);
    EXPECT_EQ(parsed.content, "{\"a\": 3}");
    EXPECT_EQ(parsed.reasoning,
              one.before.find('x') == std::string::npos ? "" : "x");
  }
}

TEST(ToolGrammar, ParametersAreOptionalAndTyped) {
  const auto tools = read_tools(nlohmann::ordered_json::parse(R"([
    {"type": "function", "function": {"name": "f", "parameters": {
      "type": "object", "properties": {
        "unit": {"type": "string", "enum": ["C", "F"]},
        "on": {"type": "boolean"},
        "at": {"$ref": "#/$defs/place"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/place"}}},
      "required": ["on"], "additionalProperties": false,
      "$defs": {"place": {"type": "object", "properties": {
        "x": {"type": "integer"}}, "required": ["x"],
        "additionalProperties": false}}}}},
    {"type": "function", "function": {"name": "anything"}},
    {"type": "function", "function": {"name": "nothing", "parameters": {
      "type": "object", "properties": {}}}}])"));
  const ByteVocabulary vocabulary({});
  const auto allowed = [&](const char *format, const std::string &text) {
    const AnswerGrammarOptions options =
        options_of(vocabulary, OutputStart::Content);
    return accepts(vocabulary,
                   *vocabulary.compile(required_calls_grammar(
                       tool_format_named(format), tools, options)),
                   text);
  };
  const auto glm = [](const std::string &name, const std::string &parameters) {
    return "<tool_call>" + name + parameters + "</tool_call>";
  };
  const auto parameter = [](const std::string &key, const std::string &value) {
    return "<arg_key>" + key + "</arg_key><arg_value>" + value + "</arg_value>";
  };
  const std::string on = parameter("on", "true");
  EXPECT_TRUE(allowed("glm-4.7", glm("f", on)));
  EXPECT_TRUE(allowed("glm-4.7", glm("f", parameter("unit", "F") + on)));
  EXPECT_TRUE(
      allowed("glm-4.7", glm("f", on + parameter("list", "[{\"x\": 1}]"))));
  EXPECT_FALSE(allowed("glm-4.7", glm("f", "")));
  EXPECT_FALSE(allowed("glm-4.7", glm("f", parameter("unit", "K") + on)));
  EXPECT_FALSE(allowed("glm-4.7", glm("f", parameter("on", "yes"))));
  EXPECT_FALSE(allowed("glm-4.7", glm("f", on + parameter("list", "[1]"))));
  EXPECT_TRUE(allowed("glm-4.7", glm("anything", "")));
  EXPECT_TRUE(allowed("glm-4.7", glm("anything", parameter("a_b", "c d"))));
  EXPECT_TRUE(allowed("glm-4.7", glm("nothing", "")));
  EXPECT_FALSE(allowed("glm-4.7", glm("nothing", parameter("a", "b"))));

  const auto lfm2 = [](const std::string &call) {
    return "<|tool_call_start|>[" + call + "]<|tool_call_end|>";
  };
  EXPECT_TRUE(allowed("lfm2", lfm2("f(on=True)")));
  EXPECT_TRUE(allowed("lfm2", lfm2("f(unit=\"C\", on=False)")));
  EXPECT_TRUE(allowed("lfm2", lfm2("f(on=True, at={\"x\": 1})")));
  EXPECT_FALSE(allowed("lfm2", lfm2("f(unit=\"C\")")));
  EXPECT_FALSE(allowed("lfm2", lfm2("f(, on=True)")));
  EXPECT_FALSE(allowed("lfm2", lfm2("f(unit=\"C\" on=True)")));
  EXPECT_TRUE(allowed("lfm2", lfm2("nothing()")));
}

TEST(ToolGrammar, ErrorsNameTheTool) {
  auto tools = example_tools();
  tools[1].parameters = {{"type", "object"}, {"properties", 3}};
  try {
    static_cast<void>(
        required_calls_grammar(tool_format_named("hermes"), tools, {}));
    FAIL();
  } catch (const Error &error) {
    EXPECT_TRUE(
        std::string_view(error.what()).starts_with("tool 'write_note': "))
        << error.what();
  }
  EXPECT_THROW(static_cast<void>(
                   required_calls_grammar(tool_format_named("hermes"), {}, {})),
               Error);
}

/// Whatever the grammar allows is a call to the parser, or more of them, and
/// nothing besides.
TEST(ToolGrammar, RandomTextsOfGrammarsAreCalls) {
  std::mt19937 random(3);
  auto tools = example_tools();
  size_t calls = 0;
  for (const std::string &name : tool_format_names()) {
    SCOPED_TRACE(name);
    const ToolFormat format = tool_format_named(name);
    const ByteVocabulary vocabulary({});
    AnswerGrammarOptions options = options_of(
        vocabulary, format.header == MessageHeader::None ? OutputStart::Content
                                                         : OutputStart::Header);
    options.reasoning = false;
    const auto constraint =
        vocabulary.compile(required_calls_grammar(format, tools, options));
    size_t texts = 0;
    for (int round = 0; round < 40; ++round) {
      const std::string text =
          random_text(vocabulary, *constraint, random, 3000);
      if (text.empty())
        continue;
      ++texts;
      const ParsedOutput parsed =
          parse_cut(format, options_with(tools, options.start), text, {});
      EXPECT_EQ(parsed.content, "") << text;
      EXPECT_EQ(parsed.reasoning, "") << text;
      EXPECT_GE(parsed.calls.size(), 1u) << text;
      calls += parsed.calls.size();
      for (const ParsedCall &call : parsed.calls) {
        EXPECT_TRUE(call.complete) << text;
        EXPECT_TRUE(nlohmann::json::accept(call.arguments))
            << call.arguments << "\n"
            << text;
        EXPECT_TRUE(find_tool(tools, call.name)) << call.name;
      }
    }
    EXPECT_GT(texts, 0u);
  }
  EXPECT_GT(calls, 100u);
}

/// The same with text and reasoning: no call of it is cut or unknown.
TEST(ToolGrammar, RandomTextsWithOptionalCalls) {
  std::mt19937 random(5);
  const auto tools = example_tools();
  size_t texts = 0;
  for (const std::string &name : tool_format_names()) {
    SCOPED_TRACE(name);
    const ToolFormat format = tool_format_named(name);
    const ByteVocabulary vocabulary({});
    for (const OutputStart start :
         {OutputStart::Content, OutputStart::Reasoning, OutputStart::Header}) {
      if ((start == OutputStart::Header) !=
          (format.header != MessageHeader::None))
        continue;
      const auto constraint = vocabulary.compile(
          optional_calls_grammar(format, tools, options_of(vocabulary, start)));
      for (int round = 0; round < 20; ++round) {
        const std::string text =
            random_text(vocabulary, *constraint, random, 3000);
        texts += !text.empty();
        for (const ParsedCall &call :
             parse_cut(format, options_with(tools, start), text, {}).calls) {
          EXPECT_TRUE(call.complete) << text;
          EXPECT_TRUE(nlohmann::json::accept(call.arguments)) << text;
          EXPECT_TRUE(find_tool(tools, call.name)) << call.name;
        }
      }
    }
  }
  EXPECT_GT(texts, 100u);
}

} // namespace
} // namespace baton

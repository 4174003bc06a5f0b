//===- OutputParserTest.cpp - content, reasoning and calls of outputs -----===//
//
// Every text is parsed whole, byte by byte and cut in two at every place
// (parse_every_way()).
//
//===----------------------------------------------------------------------===//

#include "output_test.h"

#include "runtime/chat/text_pattern.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace baton {
namespace {

ParsedCall call(std::string name, std::string arguments,
                std::string id = "id0") {
  return {std::move(name), std::move(id), std::move(arguments), true, true};
}

ParsedCall cut_call(std::string name, std::string arguments) {
  return {std::move(name), "id0", std::move(arguments), true, false};
}

/// The weather of Köln, once.
const ParsedOutput weather = {
    "", "", {call("get_weather", R"({"city": "Köln", "days": 3})")}};

TEST(OutputParser, TextWithoutMarksIsContent) {
  for (const std::string &format : tool_format_names())
    for (const char *text :
         {"", "x", "Hello, Köln! 🌍\n\n  a < b > c [1] {2} |3|  ", " \n",
          "if (x < y) { return \"<\"; }", "1 < 2 <", "a [T", "]", "日本<"}) {
      SCOPED_TRACE(format);
      EXPECT_EQ(parse(format, text), (ParsedOutput{text, "", {}}));
    }
}

TEST(OutputParser, EveryFormatIsReadAsItsModelsWriteIt) {
  const std::pair<const char *, const char *> outputs[] = {
      {"hermes", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
                 "{\"city\": \"Köln\", \"days\": 3}}\n</tool_call>"},
      {"generic", "<tool_call>{\"name\":\"get_weather\",\"arguments\":"
                  "{\"city\": \"Köln\", \"days\": 3}}</tool_call>\n"},
      {"llama-3", "{\"name\": \"get_weather\", \"parameters\": "
                  "{\"city\": \"Köln\", \"days\": 3}}"},
      {"llama-3", "\n<|python_tag|>{\"type\": \"function\", \"name\": "
                  "\"get_weather\", \"parameters\": "
                  "{\"city\": \"Köln\", \"days\": 3}}"},
      {"mistral", "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": "
                  "{\"city\": \"Köln\", \"days\": 3}, \"id\": \"abcdefghi\"}]"},
      {"mistral-name",
       "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Köln\", \"days\": 3}"},
      {"functionary-3.1", "<function=get_weather>{\"city\": \"Köln\", "
                          "\"days\": 3}</function>"},
      {"deepseek-r1",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
       "get_weather\n```json\n{\"city\": \"Köln\", \"days\": 3}\n```"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"deepseek-v3.1",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
       "{\"city\": \"Köln\", \"days\": 3}<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>"},
      {"command-r7b",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": "
       "\"get_weather\", \"parameters\": {\"city\": \"Köln\", \"days\": 3}}\n"
       "]<|END_ACTION|>"},
      {"command-r", "Action: ```json\n[\n {\n \"tool_name\": \"get_weather\",\n"
                    " \"parameters\": {\"city\": \"Köln\", \"days\": 3}\n }\n"
                    "]\n```"},
      {"granite-3", "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": "
                    "{\"city\": \"Köln\", \"days\": 3}}]"},
      {"phi-4-mini", "functools[{\"name\": \"get_weather\", \"arguments\": "
                     "{\"city\": \"Köln\", \"days\": 3}}]"},
      {"phi-4-mini", "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": "
                     "{\"city\": \"Köln\", \"days\": 3}}]<|/tool_call|>"},
      {"qwen3-coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\n"
                      "Köln\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
                      "</function>\n</tool_call>"},
      {"qwen3-coder", "<function=get_weather>\n<parameter=city>Köln"
                      "</parameter>\n<parameter=days>\n3</parameter>\n"
                      "</function>\n</tool_call>"},
      {"glm-4.5", "\n<tool_call>get_weather\n<arg_key>city</arg_key>\n"
                  "<arg_value>Köln</arg_value>\n<arg_key>days</arg_key>\n"
                  "<arg_value>3</arg_value>\n</tool_call>"},
      {"glm-4.7", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>"
                  "Köln</arg_value><arg_key>days</arg_key><arg_value>3"
                  "</arg_value></tool_call>"},
      {"deepseek-v3.2",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
       "<｜DSML｜parameter name=\"city\" string=\"true\">Köln"
       "</｜DSML｜parameter>\n"
       "<｜DSML｜parameter name=\"days\" string=\"false\">3"
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"lfm2", "<|tool_call_start|>[get_weather(city=\"Köln\", days=3)]"
               "<|tool_call_end|>"},
      {"gemma-4", "<|tool_call>call:get_weather{city:<|\"|>Köln<|\"|>,days:3}"
                  "<tool_call|>"},
      {"apertus", "<|tools_prefix|>[{\"get_weather\": {\"city\": \"Köln\", "
                  "\"days\": 3}}]<|tools_suffix|>"},
  };
  for (const auto &[format, text] : outputs)
    EXPECT_EQ(parse(format, text), weather) << format << ": " << text;
}

TEST(OutputParser, ReasoningContentAndCallsAreTakenApart) {
  EXPECT_EQ(parse("hermes", "<think>\nLet me see.\n</think>\n\nOne moment.\n\n"
                            "<tool_call>\n{\"name\": \"get_weather\", "
                            "\"arguments\": {}}\n</tool_call>\n"
                            "<tool_call>\n{\"name\": \"write_note\", "
                            "\"arguments\": {\"flag\": true}}\n</tool_call>"),
            (ParsedOutput{"One moment.",
                          "Let me see.",
                          {call("get_weather", "{}"),
                           call("write_note", "{\"flag\": true}", "id1")}}));
  EXPECT_EQ(parse("command-r7b",
                  "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Yes "
                  "{sir}.<|END_RESPONSE|>"),
            (ParsedOutput{"Yes {sir}.", "Hm.", {}}));
  EXPECT_EQ(parse("mistral-name", "[THINK]a [b] c[/THINK]Yes."),
            (ParsedOutput{"Yes.", "a [b] c", {}}));
}

TEST(OutputParser, ThePromptMayHaveOpenedReasoning) {
  EXPECT_EQ(parse("hermes", "Hm.\n</think>\n\nYes.", OutputStart::Reasoning),
            (ParsedOutput{"Yes.", "Hm.", {}}));
  // Which some models do again.
  EXPECT_EQ(parse("hermes", "<think>\nHm.</think>Yes.", OutputStart::Reasoning),
            (ParsedOutput{"Yes.", "Hm.", {}}));
  EXPECT_EQ(parse("hermes", "Hm, <tool_call>", OutputStart::Reasoning),
            (ParsedOutput{"", "Hm, <tool_call>", {}}));
  EXPECT_EQ(parse("hermes", "</think>Yes.", OutputStart::Reasoning),
            (ParsedOutput{"Yes.", "", {}}));
  EXPECT_EQ(parse("hermes", "Hm. </thin", OutputStart::Reasoning),
            (ParsedOutput{"", "Hm. </thin", {}}));
}

TEST(OutputParser, OnlyTheBeginningOpensReasoning) {
  EXPECT_EQ(parse("hermes", "Write <think> and </think>."),
            (ParsedOutput{"Write <think> and </think>.", "", {}}));
  EXPECT_EQ(parse("hermes", "\n<think>a</think>b<think>c</think>"),
            (ParsedOutput{"b<think>c</think>", "a", {}}));
}

TEST(OutputParser, MessagesWithHeaders) {
  EXPECT_EQ(parse("harmony",
                  "<|channel|>analysis<|message|>Need it.<|end|><|start|>"
                  "assistant<|channel|>commentary<|message|>I look.<|end|>"
                  "<|start|>assistant<|channel|>commentary to=functions."
                  "get_weather <|constrain|>json<|message|>{\"city\":\"Köln\"}"
                  "<|call|>",
                  OutputStart::Header),
            (ParsedOutput{"I look.",
                          "Need it.",
                          {call("get_weather", "{\"city\":\"Köln\"}")}}));
  EXPECT_EQ(parse("harmony",
                  "<|channel|>analysis<|message|>A<|end|><|start|>assistant"
                  "<|channel|>final<|message|>B {c}<|return|>",
                  OutputStart::Header),
            (ParsedOutput{"B {c}", "A", {}}));
  // Without what should stand between messages.
  EXPECT_EQ(parse("harmony",
                  "<|channel|>analysis<|message|>A<|end|><|channel|>final"
                  "<|message|>B",
                  OutputStart::Header),
            (ParsedOutput{"B", "A", {}}));
  EXPECT_EQ(parse("functionary-3.2",
                  "all\nHi.\n>>>get_weather\n{\"city\": \"Köln\"}\n"
                  ">>>write_note\n{}",
                  OutputStart::Header),
            (ParsedOutput{"Hi.",
                          "",
                          {call("get_weather", "{\"city\": \"Köln\"}"),
                           call("write_note", "{}", "id1")}}));
  EXPECT_EQ(parse("functionary-3.2", "all\nPython: >>> f(1)\n>>> x\n",
                  OutputStart::Header),
            (ParsedOutput{"Python: >>> f(1)\n>>> x\n", "", {}}));
  EXPECT_EQ(parse("muse",
                  " to=self<|message|>A<|eom|><|start|>assistant to=user"
                  "<|message|>B<|eot|>",
                  OutputStart::Header),
            (ParsedOutput{"B", "A", {}}));
}

TEST(OutputParser, TextInPlaceOfAHeaderIsContent) {
  for (const char *format : {"harmony", "muse", "functionary-3.2"})
    for (const char *text : {"Hello there.", "{\"a\": 1}", "a\nb",
                             "<|channel|>fin", " to=functions.x<|mess"})
      EXPECT_EQ(parse(format, text, OutputStart::Header),
                (ParsedOutput{text, "", {}}))
          << format;
}

TEST(OutputParser, StringsMayHaveMarksAndBracesInThem) {
  const std::string arguments =
      R"({"text": "</tool_call> } {\"a\": \"<tool_call>\"} ]", "options": {"a": [{"b": "}"}]}})";
  EXPECT_EQ(parse("hermes", "<tool_call>\n{\"name\": \"write_note\", "
                            "\"arguments\": " +
                                arguments + "}\n</tool_call>"),
            (ParsedOutput{"", "", {call("write_note", arguments)}}));
  EXPECT_EQ(
      parse("lfm2", "<|tool_call_start|>[write_note(text='a) \\'b\\' ] "
                    "}', options={'x': [1, (2,), None, True]})]"
                    "<|tool_call_end|>"),
      (ParsedOutput{"",
                    "",
                    {call("write_note", R"({"text": "a) 'b' ] }", "options": )"
                                        R"({"x": [1, [2], null, true]}})")}}));
  EXPECT_EQ(parse("gemma-4", "<|tool_call>call:write_note{text:<|\"|>a \"b\" }"
                             "<|\"|>,options:{<|\"|>x y<|\"|>:[1,true]}}"
                             "<tool_call|>"),
            (ParsedOutput{"",
                          "",
                          {call("write_note", R"({"text": "a \"b\" }", )"
                                              R"("options": {"x y": )"
                                              R"([1, true]}})")}}));
  EXPECT_EQ(parse("qwen3-coder",
                  "<tool_call>\n<function=write_note>\n<parameter=text>\n"
                  "\n</param>\n<parameter=x>\n\"q\" \\ <b>\n\n</parameter>\n"
                  "</function>\n</tool_call>"),
            (ParsedOutput{
                "",
                "",
                {call("write_note", R"({"text": "\n</param>\n<parameter=x>\n)"
                                    R"(\"q\" \\ <b>\n"})")}}));
}

TEST(OutputParser, ParametersTakeTheTypesOfTheirSchemas) {
  const auto value = [](const std::string &key, const std::string &text) {
    return parse("glm-4.7", "<tool_call>write_note<arg_key>" + key +
                                "</arg_key><arg_value>" + text +
                                "</arg_value></tool_call>");
  };
  const auto expected = [](const std::string &arguments) {
    return ParsedOutput{"", "", {call("write_note", arguments)}};
  };
  EXPECT_EQ(value("text", "3"), expected(R"({"text": "3"})"));
  EXPECT_EQ(value("text", "null"), expected(R"({"text": "null"})"));
  EXPECT_EQ(value("text", " a\n"), expected(R"({"text": " a\n"})"));
  EXPECT_EQ(value("flag", "true"), expected(R"({"flag": true})"));
  EXPECT_EQ(value("flag", "True"), expected(R"({"flag": true})"));
  EXPECT_EQ(value("flag", "maybe"), expected(R"({"flag": "maybe"})"));
  EXPECT_EQ(value("options", "{\"a\": [1]}"),
            expected(R"({"options": {"a": [1]}})"));
  EXPECT_EQ(value("options", "{'a': [None]}"),
            expected(R"({"options": {"a": [null]}})"));
  EXPECT_EQ(value("anything", "3"), expected(R"({"anything": 3})"));
  EXPECT_EQ(value("anything", "3 days"), expected(R"({"anything": "3 days"})"));
  EXPECT_EQ(value("unknown", "[1, 2]"), expected(R"({"unknown": [1, 2]})"));
  EXPECT_EQ(value("anything", ""), expected(R"({"anything": ""})"));
}

TEST(OutputParser, NestedTagsAreMembers) {
  const std::string mark = "]<]minimax[>[";
  const auto nested = [&](const std::string &value) {
    return parse("minimax-m3", mark + "<tool_call>\n" + mark +
                                   "<invoke name=\"write_note\">" + mark +
                                   "<options>" + value + mark + "</options>" +
                                   mark + "</invoke>\n" + mark +
                                   "</tool_call>");
  };
  const auto expected = [](const std::string &value) {
    return ParsedOutput{
        "", "", {call("write_note", "{\"options\": " + value + "}")}};
  };
  const auto tag = [&](const std::string &name, const std::string &value) {
    return mark + "<" + name + ">" + value + mark + "</" + name + ">";
  };
  EXPECT_EQ(nested(tag("a", "1") + tag("b", "x")),
            expected(R"({"a": 1, "b": "x"})"));
  EXPECT_EQ(nested(tag("a", tag("item", "1") + tag("item", "2"))),
            expected(R"({"a": [1, 2]})"));
  EXPECT_EQ(nested(tag("a", tag("a", "1"))), expected(R"({"a": {"a": 1}})"));
  EXPECT_EQ(nested(tag("a", "1") + "?"),
            expected(nlohmann::json(tag("a", "1") + "?").dump()));
}

TEST(OutputParser, ArgumentsInAStringAreReadOutOfIt) {
  EXPECT_EQ(
      parse("hermes",
            R"(<tool_call>{"name": "get_weather", )"
            R"("arguments": "{\"city\": \"K\u00f6ln\"}"}</tool_call>)"),
      (ParsedOutput{"", "", {call("get_weather", R"({"city": "Köln"})")}}));
  EXPECT_EQ(parse("hermes", R"(<tool_call>{"name": "get_weather", )"
                            R"("arguments": ""}</tool_call>)"),
            (ParsedOutput{"", "", {call("get_weather", "{}")}}));
  const std::string no_object =
      R"(<tool_call>{"name": "get_weather", "arguments": "Köln"}</tool_call>)";
  EXPECT_EQ(parse("hermes", no_object), (ParsedOutput{no_object, "", {}}));
  EXPECT_EQ(parse("hermes", R"(<tool_call>{"name": "get_weather", )"
                            R"("arguments": null}</tool_call>)"),
            (ParsedOutput{"", "", {call("get_weather", "{}")}}));
  EXPECT_EQ(
      parse("hermes", R"(<tool_call>{"name": "get_weather"}</tool_call>)"),
      (ParsedOutput{"", "", {call("get_weather", "{}")}}));
}

TEST(OutputParser, KeysMayComeInAnyOrder) {
  EXPECT_EQ(parse("hermes", R"(<tool_call>{"id": 7, "arguments": {"days": 1}, )"
                            R"("x": [{}], "name": "get_weather"}</tool_call>)"),
            (ParsedOutput{"", "", {call("get_weather", R"({"days": 1})")}}));
}

TEST(OutputParser, ModelsGiveIdentifiers) {
  EXPECT_EQ(parse("kimi-k2",
                  "<|tool_calls_section_begin|><|tool_call_begin|>functions."
                  "get_weather:4<|tool_call_argument_begin|>{\"days\": 1}"
                  "<|tool_call_end|><|tool_calls_section_end|>"),
            (ParsedOutput{"",
                          "",
                          {call("get_weather", "{\"days\": 1}",
                                "functions.get_weather:4")}}));
  EXPECT_EQ(
      parse("mistral-id", "[TOOL_CALLS]get_weather[CALL_ID]abc123def[ARGS]{}"),
      (ParsedOutput{"", "", {call("get_weather", "{}", "abc123def")}}));
}

TEST(OutputParser, SeveralCallsNeedNoMoreThanTheirSeparators) {
  const std::vector<ParsedCall> two = {
      call("get_weather", "{\"days\": 1}"),
      call("get_weather", "{\"days\": 2}", "id1")};
  const std::string one =
                        R"({"name": "get_weather", "arguments": {"days": 1}})",
                    other =
                        R"({"name": "get_weather", "arguments": {"days": 2}})";
  EXPECT_EQ(parse("llama-3", one + "; " + other), (ParsedOutput{"", "", two}));
  EXPECT_EQ(parse("llama-3", one + "\n" + other), (ParsedOutput{"", "", two}));
  EXPECT_EQ(parse("mistral", "Hm. [TOOL_CALLS][" + one + ", " + other + "]"),
            (ParsedOutput{"Hm.", "", two}));
  EXPECT_EQ(parse("hermes", "<tool_call>" + one + other + "</tool_call>"),
            (ParsedOutput{"", "", two}));
  EXPECT_EQ(parse("lfm2", "<|tool_call_start|>[get_weather(days=1), "
                          "get_weather(days=2)]<|tool_call_end|> Done."),
            (ParsedOutput{"Done.", "", two}));
}

TEST(OutputParser, WhatIsNoCallIsContentToTheByte) {
  const std::pair<const char *, const char *> texts[] = {
      {"hermes", "Use the <tool_call> tag."},
      {"hermes", "<tool_call>\n{\"nam\": 1}\n</tool_call>"},
      {"hermes", "<tool_call>\n{\"name\": \"\", \"arguments\": {}}"},
      {"hermes", "<tool_call>\n{\"name\": 3, \"arguments\": {}}"},
      {"hermes", "<tool_call>\n{name: \"get_weather\"}\n</tool_call>"},
      {"hermes", "<tool_call>{}</tool_call>"},
      {"hermes", "<tool_call> [ 3 ]</tool_call>"},
      {"hermes", "<tool_call>\n{\"name\": \"get_weather\", \"argum"},
      {"hermes", "<tool_call>{\"arguments\": {\"a\": 1}, \"b\": 2}"},
      {"hermes", "<tool_call>{\"name\": \"a\", \"name\": \"b\"}"},
      {"llama-3", "{\"name\": \"Bob\", \"parameters\": {\"age\": 3}}"},
      {"llama-3", "{\"a\": {\"name\": \"get_weather\", \"parameters\": {}}}"},
      {"llama-3", "Answer: {\"name\": \"get_weather\", \"parameters\": {}}"},
      {"llama-3", "<|python_tag|>print(3)"},
      {"qwen3-coder", "The <function=get_weather> of <tool_call>."},
      {"qwen3-coder", "<tool_call>\n<function=get_weather>\nhello"},
      {"glm-4.7", "<tool_call>word and more"},
      {"lfm2", "<|tool_call_start|>[get_weather('Köln')]<|tool_call_end|>"},
      {"lfm2", "<|tool_call_start|>[3]<|tool_call_end|>"},
      {"gemma-4", "<|tool_call>call:get_weather{city:Köln!}<tool_call|>"},
      {"mistral", "[TOOL_CALLS]{\"x\"}"},
      {"mistral-name", "[TOOL_CALLS]get weather[ARGS]{}"},
      {"mistral-name", "[TOOL_CALLS]get_weather[ARGS]3"},
      {"command-r", "Action: none."},
      {"phi-4-mini", "functools[0] is a module; functools are great"},
      {"functionary-3.1", "<function=get_weather>hello</function>"},
      {"kimi-k2", "<|tool_calls_section_begin|><|tool_calls_section_end|>"},
      {"apertus", "<|tools_prefix|>[{}]<|tools_suffix|>"},
  };
  for (const auto &[format, text] : texts)
    EXPECT_EQ(parse(format, text), (ParsedOutput{text, "", {}})) << format;
}

TEST(OutputParser, AMarkAfterHalfOfOneIsFound) {
  const std::string rest =
      "<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call>";
  for (const std::string half :
       {"<", "<tool_", "<tool_call>", "<<", "<tool_<t"})
    EXPECT_EQ(parse("hermes", half + rest),
              (ParsedOutput{half, "", {call("get_weather", "{}")}}))
        << half;
}

TEST(OutputParser, ACallThatGoesWrongEndsIncomplete) {
  EXPECT_EQ(parse("hermes", "<tool_call>{\"name\": \"get_weather\", "
                            "\"arguments\": {\"city\": oops}}</tool_call>"),
            (ParsedOutput{"oops}}</tool_call>",
                          "",
                          {cut_call("get_weather", "{\"city\": ")}}));
  EXPECT_EQ(
      parse("qwen3-coder", "<function=get_weather>\n<parameter=city>\nKöln\n"
                           "</parameter>\nand so on"),
      (ParsedOutput{
          "and so on", "", {cut_call("get_weather", "{\"city\": \"Köln\"}")}}));
}

TEST(OutputParser, AnOutputMayEndWithinACall) {
  EXPECT_EQ(
      parse("hermes", "<tool_call>{\"name\": \"get_weather\", "
                      "\"arguments\": {\"city\": \"Kö"),
      (ParsedOutput{"", "", {cut_call("get_weather", "{\"city\": \"Kö")}}));
  EXPECT_EQ(parse("qwen3-coder", "<function=get_weather>\n<parameter=city>\n"
                                 "a\"</par"),
            (ParsedOutput{
                "", "", {cut_call("get_weather", "{\"city\": \"a\\\"</par")}}));
  // What closes a call adds nothing to it.
  EXPECT_EQ(parse("hermes", "<tool_call>{\"name\": \"get_weather\", "
                            "\"arguments\": {}}\n</tool_c"),
            (ParsedOutput{"", "", {call("get_weather", "{}")}}));
}

TEST(OutputParser, TextMayFollowCalls) {
  EXPECT_EQ(
      parse("hermes", "<tool_call>{\"name\": \"get_weather\", "
                      "\"arguments\": {}}</tool_call>\n\nDone, { I hope.\n"),
      (ParsedOutput{"Done, { I hope.\n", "", {call("get_weather", "{}")}}));
}

TEST(OutputParser, WithoutToolsCallsAreContent) {
  for (const char *text :
       {"<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
        "{\"name\": \"f\", \"parameters\": {}}"})
    for (const char *format : {"hermes", "llama-3", "mistral"})
      EXPECT_EQ(
          parse_every_way(tool_format_named(format), options_with({}), text),
          (ParsedOutput{text, "", {}}));
  EXPECT_EQ(parse_every_way(tool_format_named("hermes"), options_with({}),
                            "<think>a</think>b"),
            (ParsedOutput{"b", "a", {}}));
}

TEST(OutputParser, NestingIsLimited) {
  const std::string deep(100000, '[');
  EXPECT_EQ(
      parse_cut(tool_format_named("hermes"), options_with(example_tools()),
                "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": " + deep,
                {})
          .calls.at(0)
          .complete,
      false);
  EXPECT_EQ(parse_cut(tool_format_named("lfm2"), options_with(example_tools()),
                      "<|tool_call_start|>[f(a=" + deep +
                          std::string(100000, ']') + ")]",
                      {})
                .calls.size(),
            0u);
  std::string tags;
  for (int i = 0; i < 2000; ++i)
    tags += "]<]minimax[>[<a>";
  for (int i = 0; i < 2000; ++i)
    tags += "]<]minimax[>[</a>";
  EXPECT_EQ(parse_cut(tool_format_named("minimax-m3"),
                      options_with(example_tools()),
                      "]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<b>" +
                          tags + "]<]minimax[>[</b>]<]minimax[>[</invoke>",
                      {})
                .calls.size(),
            1u);
}

TEST(OutputParser, ContentIsPassedOnAtOnce) {
  OutputParser parser(tool_format_named("hermes"),
                      options_with(example_tools()));
  EXPECT_EQ(join(parser.push("Hello")).content, "Hello");
  EXPECT_EQ(join(parser.push(", a <to")).content, ", a");
  EXPECT_EQ(join(parser.push("p>")).content, " <top>");
  EXPECT_TRUE(parser.push("<tool_call>{\"name\": \"get_weather\"").empty());
  EXPECT_EQ(parser.push(", \"arguments\": {\"ci").size(), 2u);
  const std::vector<ChatDelta> more = parser.push("ty\": \"Kö");
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].kind, ChatDelta::CallArguments);
  EXPECT_EQ(more[0].text, "ty\": \"Kö");
}

TEST(OutputParser, StringsOfParametersArePassedOnAtOnce) {
  OutputParser parser(tool_format_named("qwen3-coder"),
                      options_with(example_tools()));
  parser.push("<tool_call>\n<function=write_note>\n<parameter=text>\nOne");
  const std::vector<ChatDelta> more = parser.push(" two\n");
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].text, " two");
  EXPECT_EQ(parser.push("three").at(0).text, "\\nthree");
}

/// Whole characters in, whole characters out: what is held back begins one.
TEST(OutputParser, DeltasAreWholeCharacters) {
  const std::string text = "Grüße <｜tool▁calls▁bégin｜> 🌍｜<｜tool▁calls";
  for (const std::string &format : tool_format_names()) {
    OutputParser parser(tool_format_named(format),
                        options_with(example_tools()));
    for (size_t from = 0; from < text.size();) {
      size_t to = from + 1;
      while (to < text.size() && (text[to] & 0xc0) == 0x80)
        ++to;
      for (const ChatDelta &delta : parser.push(text.substr(from, to - from)))
        EXPECT_NO_THROW(static_cast<void>(nlohmann::json(delta.text).dump()))
            << format;
      from = to;
    }
  }
}

/// Pieces of all formats in a random order: no text may crash the parser or
/// depend on how it is cut, and all of its letters have to come out.
TEST(OutputParser, RandomOutputs) {
  std::mt19937 random(7);
  const std::vector<std::string> names = tool_format_names();
  size_t calls = 0;
  for (int round = 0; round < 20000; ++round) {
    const ToolFormat format = tool_format_named(names[random() % names.size()]);
    std::vector<std::string> pieces = {format.reasoning_open,
                                       format.reasoning_close,
                                       format.section_open,
                                       format.section_close,
                                       format.call_close,
                                       format.header_open,
                                       format.header_close,
                                       "{\"name\": \"get_weather\", ",
                                       "\"arguments\": {\"days\": 1}}",
                                       "\"parameters\": {}}",
                                       "{\"city\": \"x\"}",
                                       "\n",
                                       " ",
                                       "get_weather",
                                       "(days=1)",
                                       "{days:1}",
                                       "<",
                                       "Hello",
                                       "]",
                                       ",",
                                       "{",
                                       "}",
                                       "\"",
                                       "to=functions.f"};
    PatternCaptures captures;
    captures.name = "get_weather";
    captures.id = "functions.get_weather:1";
    captures.index = "1";
    captures.key = "city";
    captures.type = "string";
    for (const std::string &opening : format.call_openings)
      pieces.push_back(fill_pattern(opening, captures));
    pieces.push_back(fill_pattern(format.parameter_open, captures));
    pieces.push_back(fill_pattern(format.parameter_close, captures));
    std::string text;
    for (size_t count = random() % 12; count-- > 0;)
      text += pieces[random() % pieces.size()];
    const OutputParserOptions options =
        options_with(example_tools(), static_cast<OutputStart>(random() % 3));
    const ParsedOutput whole = parse_cut(format, options, text, {});
    const size_t first = random() % (text.size() + 1);
    const size_t second = first + random() % (text.size() - first + 1);
    ASSERT_EQ(parse_cut(format, options, text, {first, second}), whole)
        << format.name << ": " << text;
    for (const ParsedCall &one : whole.calls) {
      ASSERT_TRUE(one.ended) << format.name << ": " << text;
      if (one.complete)
        ASSERT_TRUE(nlohmann::json::accept(one.arguments))
            << format.name << ": " << text << one.arguments;
    }
    calls += whole.calls.size();
  }
  EXPECT_GT(calls, 100u);
}

/// The work for a byte does not grow with the text.
TEST(OutputParser, LongOutputsTakeTimeInProportion) {
  const auto seconds = [](const std::string &format, const std::string &text) {
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(parse_cut(tool_format_named(format),
                                options_with(example_tools()), text, {}));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  const auto repeated = [](std::string_view text, size_t bytes) {
    std::string result;
    while (result.size() < bytes)
      result += text;
    return result;
  };
  for (const auto &[format, head, body] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"hermes", "", "<tool_call>{\"arguments\": \""},
           {"hermes", "<tool_call>{\"arguments\": {\"a\": \"", "<tool_call>"},
           {"hermes", "<tool_call>", " \n"},
           {"qwen3-coder", "", "<tool_call>\n<function=a"},
           {"qwen3-coder", "<function=f>\n<parameter=x>", "</parameter\n"},
           {"lfm2", "<|tool_call_start|>[f(a='", "<|tool_call_start|>["},
           {"harmony", "", "<|channel|>"},
           {"minimax-m3", "]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<b>",
            "]<]minimax[>[<c>"}}) {
    const double some = seconds(format, head + repeated(body, 50000));
    EXPECT_LT(seconds(format, head + repeated(body, 400000)), 0.5 + 24 * some)
        << format << " " << body;
  }
}

} // namespace
} // namespace baton

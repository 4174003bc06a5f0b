//===- ToolFormatTest.cpp - which format a chat template has --------------===//
//
// templates.py asks the same for whole templates.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/tool_declaration.h"
#include "runtime/chat/tool_format.h"
#include "runtime/error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace baton {
namespace {

/// What templates of each format have in them, and no more.
const std::pair<const char *, const char *> signs[] = {
    {"hermes", R"({{ '<tool_call>\n{"name": "' + call.name + '"' }})"},
    {"qwen3-coder",
     R"({{ '<tool_call>\n<function=' + name + '>\n<parameter=' + key }})"},
    {"seed-oss", R"({{ "<seed:tool_call>\n<function=" }}<parameter=)"},
    {"minimax-m1", R"({{ '<tool_calls>\n' }})"},
    {"minimax-m2", R"({{ '<minimax:tool_call>\n<invoke name="' }})"},
    {"minimax-m3", R"({% set mark = ']<]minimax[>[' %}{{ '<tool_call>' }})"},
    {"glm-4.5", R"({{ '<arg_key>' }}{{ k }}</arg_key>\n<arg_value>)"},
    {"glm-4.7", R"({{ '<tool_call>' }}<arg_key>{{ k }}</arg_key><arg_value>)"},
    {"hunyuan", R"({% set s = ':opensource' %}{{ '<tool_sep{}>' }}<arg_key>)"},
    {"minicpm5", R"({{ '<function name="' }}<param name=")"},
    {"deepseek-r1", R"({{ '<｜tool▁calls▁begin｜>' }}```json)"},
    {"deepseek-v3.1", R"({{ '<｜tool▁calls▁begin｜>' }})"},
    {"deepseek-v3.2", R"({{ '｜DSML｜' }}{{ 'function_calls>' }})"},
    {"deepseek-v4", R"({{ '｜DSML｜' }}{{ 'tool_calls>' }})"},
    {"kimi-k2", R"({{ '<|tool_calls_section_begin|>' }})"},
    {"kimi-k3", R"({{ '<|open|>' + tag + '<|sep|>' }}{{ '<|close|>' }})"},
    {"mistral", R"({{ "[TOOL_CALLS][" }})"},
    {"mistral-name", R"({{ "[TOOL_CALLS]" + name + "[ARGS]" }})"},
    {"mistral-id", R"({{ "[TOOL_CALLS]" + name + "[CALL_ID]" }}[ARGS])"},
    {"llama-3", R"({{ '{"name": "' + name + '", "parameters": ' }})"},
    {"llama-3", R"({{ "<|python_tag|>" + name + ".call(" }})"},
    {"functionary-3.1", R"({{ '<function=' + name + '>' }}<|python_tag|>)"},
    {"functionary-3.2", R"({{ '>>>all\n' + message['content'] }})"},
    {"command-r", R"({{ 'Action:\n```json\n[ "tool_name": ' }})"},
    {"command-r7b", R"({{ '<|START_ACTION|>[' }}<|START_RESPONSE|>)"},
    {"command-a", R"({{ '<|START_ACTION|>[' }}<|START_TEXT|>)"},
    {"granite-3", R"(respond only with <|tool_call|> and a list)"},
    {"phi-4-mini", R"({{ '<|tool|>' + tools + '<|/tool|>' }})"},
    {"firefunction", R"({{ ' functools[' + calls + ']' }})"},
    {"harmony", R"({{ '<|channel|>analysis<|message|>' }})"},
    {"muse", R"({{ '<atem:function_calls>' }}<|message|>)"},
    {"solar", R"({{ '<|tool_call:begin|>' }})"},
    {"gemma-4", R"({{ '<|tool_call>call:' + name + '{' }})"},
    {"lfm2", R"({{ 'List of tools: <|tool_list_start|>[' }})"},
    {"apertus", R"({% set token = '<|tools_prefix|>' %})"},
    {"apriel", R"(<tool_calls>[]</tool_calls>[BEGIN FINAL RESPONSE])"},
    {"nemotron-v2", R"({{ '<TOOLCALL>[' }})"},
    {"gigachat-3", R"({{ 'function call' + '<|role_sep|>' }})"},
    {"gigachat-3.1", R"({{ '<|function_call|>' }})"},
    {"generic", R"({{ '<start_of_turn>' + role }})"},
    {"generic", ""},
};

TEST(ToolFormat, SignsInATemplateTellTheFormat) {
  std::set<std::string> seen;
  for (const auto &[name, text] : signs) {
    EXPECT_EQ(find_tool_format(text).name, name) << text;
    seen.insert(name);
  }
  for (const std::string &name : tool_format_names())
    EXPECT_TRUE(seen.contains(name)) << name;
}

TEST(ToolFormat, UnknownNamesAreRefused) {
  try {
    static_cast<void>(tool_format_named("morse"));
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string_view(error.what()).find("'morse'; there are: "),
              std::string_view::npos);
  }
}

TEST(ToolFormat, TokensOfMarksAreText) {
  const ToolFormat deepseek = tool_format_named("deepseek-v3.2");
  EXPECT_TRUE(is_marker_token(deepseek, "｜DSML｜"));
  EXPECT_TRUE(is_marker_token(deepseek, "<think>"));
  EXPECT_FALSE(is_marker_token(deepseek, "<｜end▁of▁sentence｜>"));
  EXPECT_FALSE(is_marker_token(deepseek, ""));
  EXPECT_TRUE(is_marker_token(tool_format_named("gemma-4"), "<|\"|>"));
  EXPECT_TRUE(is_marker_token(tool_format_named("harmony"), "<|channel|>"));
  EXPECT_TRUE(is_marker_token(tool_format_named("harmony"), "<|end|>"));
  EXPECT_TRUE(is_marker_token(tool_format_named("llama-3"), "<|python_tag|>"));
  EXPECT_FALSE(is_marker_token(tool_format_named("llama-3"), "<|eot_id|>"));
  EXPECT_TRUE(is_marker_token(tool_format_named("mistral"), "[TOOL_CALLS]"));
}

TEST(ToolFormat, APromptTellsWhereItsAnswerBegins) {
  const ToolFormat hermes = tool_format_named("hermes");
  EXPECT_EQ(find_output_start(hermes, "<|im_start|>assistant\n"),
            OutputStart::Content);
  EXPECT_EQ(find_output_start(hermes, "<|im_start|>assistant\n<think>\n"),
            OutputStart::Reasoning);
  EXPECT_EQ(find_output_start(hermes, "assistant\n<think>\n\n</think>\n\n"),
            OutputStart::Content);
  EXPECT_EQ(find_output_start(hermes, "Write <think> first.\nassistant\n"),
            OutputStart::Content);
  EXPECT_EQ(find_output_start(tool_format_named("harmony"),
                              "<|end|><|start|>assistant"),
            OutputStart::Header);
  EXPECT_EQ(find_output_start(tool_format_named("functionary-3.2"),
                              "<|end_header_id|>\n\n>>>"),
            OutputStart::Header);
}

TEST(ToolFormat, TheGenericFormatIsToldToTheModel) {
  const auto tools = nlohmann::ordered_json::parse(
      R"([{"type": "function", "function": {"name": "f", "parameters": {}}}])");
  const std::string text = tool_instructions(tools);
  EXPECT_NE(text.find(R"({"name":"f","parameters":{}})"), std::string::npos);
  EXPECT_NE(text.find("<tool_call>"), std::string::npos);
  EXPECT_EQ(tool_call_text("f", "{\"a\": 1}"),
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n"
            "</tool_call>");
  EXPECT_EQ(tool_result_text("f", "3"),
            "<tool_response>\nf:\n3\n</tool_response>");
}

std::string error_of_tools(const char *json) {
  try {
    static_cast<void>(read_tools(nlohmann::ordered_json::parse(json)));
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(ToolDeclaration, RequestsAreChecked) {
  EXPECT_EQ(error_of_tools("[]"), "");
  EXPECT_EQ(error_of_tools("{}"), "tools is no list");
  EXPECT_EQ(error_of_tools("[3]"),
            "tools[0] is no tool of type \"function\"; there are no others");
  EXPECT_EQ(error_of_tools(R"([{"type": "custom"}])"),
            "tools[0] is no tool of type \"function\"; there are no others");
  EXPECT_EQ(error_of_tools(R"([{"type": 3}])"),
            "tools[0] is no tool of type \"function\"; there are no others");
  EXPECT_EQ(error_of_tools(R"([{"type": "function"}])"),
            "tools[0] has no object \"function\"");
  EXPECT_EQ(error_of_tools(R"([{"type": "function", "function": {}}])"),
            "tools[0].function has no \"name\"");
  EXPECT_EQ(error_of_tools(R"([{"type": "function", "function":
                {"name": "f", "parameters": []}}])"),
            "tools[0].function.parameters is no object: it has to be a JSON "
            "schema");
  EXPECT_EQ(error_of_tools(R"([
                {"type": "function", "function": {"name": "f"}},
                {"type": "function", "function": {"name": "f"}}])"),
            "tools[1] has the name of an earlier one: f");
}

TEST(ToolDeclaration, SchemasTellStrings) {
  const auto kind = [](const char *json) {
    return kind_of_schema(nlohmann::ordered_json::parse(json));
  };
  EXPECT_EQ(kind(R"({"type": "string"})"), ParameterKind::String);
  EXPECT_EQ(kind(R"({"type": "integer"})"), ParameterKind::Json);
  EXPECT_EQ(kind(R"({"type": ["string", "null"]})"), ParameterKind::Unknown);
  EXPECT_EQ(kind(R"({"type": ["number", "null"]})"), ParameterKind::Json);
  EXPECT_EQ(kind(R"({"enum": ["a", "b"]})"), ParameterKind::String);
  EXPECT_EQ(kind(R"({"enum": ["a", 1]})"), ParameterKind::Unknown);
  EXPECT_EQ(kind(R"({"const": 1})"), ParameterKind::Json);
  EXPECT_EQ(kind(R"({"anyOf": []})"), ParameterKind::Unknown);
  EXPECT_EQ(kind("{}"), ParameterKind::Unknown);
  EXPECT_EQ(kind("true"), ParameterKind::Unknown);
  EXPECT_EQ(kind(R"({"type": 3})"), ParameterKind::Json);
}

} // namespace
} // namespace baton

//===- TemplateTurnsTest.cpp - calls as models' own templates write them
//---===//
//
// golden/turns.json is made by templates.py.
//
//===----------------------------------------------------------------------===//

#include "output_test.h"

#include "runtime/chat/json_strings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <string>

namespace baton {
namespace {

const nlohmann::ordered_json &turns() {
  static const nlohmann::ordered_json turns = [] {
    std::ifstream file(BATON_GOLDEN_CHAT "/turns.json");
    return nlohmann::ordered_json::parse(file);
  }();
  return turns;
}

/// Where the turn begins: templates differ in what of the reasoning's marks
/// they count to the prompt.
OutputStart start_of(const ToolFormat &format, const std::string &prompt,
                     std::string_view text) {
  const std::string_view close = without_space_around(format.reasoning_close);
  if (text.starts_with(close))
    return OutputStart::Reasoning;
  // Apriel's turns leave out what its prompt opens reasoning with.
  const OutputStart start = find_output_start(format, prompt);
  if (format.name == "apriel" && text.find(close) != std::string_view::npos)
    return OutputStart::Reasoning;
  if (start == OutputStart::Reasoning &&
      text.find(close) == std::string_view::npos)
    return OutputStart::Content;
  return start;
}

TEST(TemplateTurns, TheParserFindsTheCallsThatTemplatesWrite) {
  const std::vector<ToolDeclaration> tools = read_tools(turns()["tools"]);
  std::set<std::string> templates;
  for (const auto &turn : turns()["cases"]) {
    const std::string name = turn["template"], text = turn["text"];
    SCOPED_TRACE(name + ", " + std::string(turn["case"]) + ": " + text);
    templates.insert(name);
    const ToolFormat format = tool_format_named(std::string(turn["format"]));
    const ParsedOutput parsed = parse_every_way(
        format, options_with(tools, start_of(format, turn["prompt"], text)),
        text);
    EXPECT_EQ(without_space_around(parsed.content),
              std::string(turn["content"]));
    EXPECT_EQ(parsed.reasoning, std::string(turn["reasoning"]));
    ASSERT_EQ(parsed.calls.size(), turn["calls"].size()) << parsed;
    for (size_t i = 0; i < parsed.calls.size(); ++i) {
      const ParsedCall &call = parsed.calls[i];
      EXPECT_EQ(call.name, std::string(turn["calls"][i]["name"]));
      EXPECT_TRUE(call.complete);
      // Some templates sort the arguments.
      EXPECT_EQ(nlohmann::json::parse(call.arguments, nullptr, false),
                nlohmann::json(turn["calls"][i]["arguments"]))
          << call.arguments;
    }
  }
  EXPECT_GE(templates.size(), 60u);
}

TEST(TemplateTurns, ACutTurnIsNeverMoreThanTheWholeOne) {
  const std::vector<ToolDeclaration> tools = read_tools(turns()["tools"]);
  for (const auto &turn : turns()["cases"]) {
    const std::string text = turn["text"];
    SCOPED_TRACE(std::string(turn["template"]) + ": " + text);
    const ToolFormat format = tool_format_named(std::string(turn["format"]));
    const OutputParserOptions options =
        options_with(tools, start_of(format, turn["prompt"], text));
    const ParsedOutput whole = parse_cut(format, options, text, {});
    for (size_t size = 0; size < text.size(); ++size) {
      const ParsedOutput cut = parse_cut(
          format, options, std::string_view(text).substr(0, size), {});
      ASSERT_LE(cut.calls.size(), whole.calls.size()) << size;
      for (size_t i = 0; i < cut.calls.size(); ++i) {
        EXPECT_TRUE(cut.calls[i].ended);
        EXPECT_EQ(cut.calls[i].name, whole.calls[i].name);
        if (cut.calls[i].complete) {
          EXPECT_EQ(cut.calls[i], whole.calls[i]) << size;
        }
      }
    }
  }
}

} // namespace
} // namespace baton

//===- TemplateTurnsTest.cpp - calls as models' own templates write them --===//
//
// golden/turns.json is made by templates.py.
//
//===----------------------------------------------------------------------===//

#include "output_test.h"

#include "runtime/chat/json_strings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <random>
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

/// Turns with pieces of them left out, written twice or moved.
TEST(TemplateTurns, DamagedTurns) {
  const std::vector<ToolDeclaration> tools = read_tools(turns()["tools"]);
  std::mt19937 random(11);
  size_t complete = 0, content = 0;
  for (const auto &turn : turns()["cases"]) {
    const ToolFormat format = tool_format_named(std::string(turn["format"]));
    const std::string text = turn["text"];
    const OutputParserOptions options =
        options_with(tools, start_of(format, turn["prompt"], text));
    for (int round = 0; round < 100; ++round) {
      std::string damaged = text;
      for (unsigned edits = 1 + random() % 3; edits-- > 0;) {
        const size_t from = random() % (damaged.size() + 1);
        const size_t size =
            std::min<size_t>(damaged.size() - from, random() % 16);
        const std::string piece = damaged.substr(from, size);
        const unsigned kind = random() % 3;
        if (kind != 0)
          damaged.erase(from, size);
        if (kind != 1)
          damaged.insert(random() % (damaged.size() + 1), piece);
      }
      const ParsedOutput whole = parse_cut(format, options, damaged, {});
      const size_t cut = random() % (damaged.size() + 1);
      ASSERT_EQ(parse_cut(format, options, damaged, {cut}), whole) << damaged;
      content += !whole.content.empty();
      for (const ParsedCall &call : whole.calls) {
        ASSERT_TRUE(call.ended) << damaged;
        ASSERT_FALSE(call.name.empty()) << damaged;
        if (!call.complete)
          continue;
        ++complete;
        // Characters may have been cut.
        std::string arguments = call.arguments;
        std::ranges::replace_if(
            arguments, [](char byte) { return (byte & 0x80) != 0; }, '?');
        ASSERT_TRUE(nlohmann::json::accept(arguments))
            << format.name << ": " << damaged << "\n"
            << call.arguments;
      }
    }
  }
  EXPECT_GT(complete, 5000u);
  EXPECT_GT(content, 5000u);
}

} // namespace
} // namespace baton

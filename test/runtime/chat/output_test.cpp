//===- output_test.cpp - outputs of models, parsed in pieces --------------===//

#include "output_test.h"

#include <gtest/gtest.h>

#include <numeric>

namespace baton {

std::ostream &operator<<(std::ostream &out, const ParsedOutput &output) {
  out << "\n  content   [" << output.content << "]\n  reasoning ["
      << output.reasoning << "]";
  for (const ParsedCall &call : output.calls)
    out << "\n  " << call.name << " " << call.id << " [" << call.arguments
        << "]" << (call.ended ? "" : " not ended")
        << (call.complete ? "" : " not complete");
  return out << "\n";
}

ParsedOutput join(const std::vector<ChatDelta> &deltas) {
  ParsedOutput output;
  for (const ChatDelta &delta : deltas) {
    const bool open = !output.calls.empty() && !output.calls.back().ended;
    const size_t current = output.calls.size() - 1;
    switch (delta.kind) {
    case ChatDelta::Content:
      EXPECT_FALSE(open);
      output.content += delta.text;
      break;
    case ChatDelta::Reasoning:
      EXPECT_FALSE(open);
      output.reasoning += delta.text;
      break;
    case ChatDelta::CallBegin:
      EXPECT_FALSE(open);
      EXPECT_EQ(delta.call, output.calls.size());
      output.calls.push_back({delta.text, delta.id, "", false, false});
      break;
    case ChatDelta::CallArguments:
      EXPECT_TRUE(open);
      EXPECT_EQ(delta.call, current);
      output.calls.back().arguments += delta.text;
      break;
    case ChatDelta::CallEnd:
      EXPECT_TRUE(open);
      EXPECT_EQ(delta.call, current);
      output.calls.back().ended = true;
      output.calls.back().complete = delta.complete;
      break;
    }
    EXPECT_TRUE(!delta.text.empty() || delta.kind == ChatDelta::CallEnd);
  }
  return output;
}

OutputParserOptions options_with(std::vector<ToolDeclaration> tools,
                                 OutputStart start) {
  return {.start = start,
          .tools = std::move(tools),
          .make_id = [](size_t call) { return "id" + std::to_string(call); }};
}

ParsedOutput parse_cut(const ToolFormat &format,
                       const OutputParserOptions &options,
                       std::string_view text, const std::vector<size_t> &cuts) {
  OutputParser parser(format, options);
  std::vector<ChatDelta> deltas;
  const auto append = [&](const std::vector<ChatDelta> &more) {
    deltas.insert(deltas.end(), more.begin(), more.end());
  };
  size_t from = 0;
  for (const size_t cut : cuts) {
    append(parser.push(text.substr(from, cut - from)));
    from = cut;
  }
  append(parser.push(text.substr(from)));
  append(parser.finish());
  return join(deltas);
}

ParsedOutput parse_every_way(const ToolFormat &format,
                             const OutputParserOptions &options,
                             std::string_view text) {
  const ParsedOutput whole = parse_cut(format, options, text, {});
  std::vector<size_t> everywhere(text.size());
  std::iota(everywhere.begin(), everywhere.end(), 0);
  EXPECT_EQ(parse_cut(format, options, text, everywhere), whole) << text;
  for (size_t cut = 1; cut < text.size(); ++cut)
    EXPECT_EQ(parse_cut(format, options, text, {cut}), whole)
        << text << "\ncut at " << cut;
  return whole;
}

std::vector<ToolDeclaration> example_tools() {
  return read_tools(nlohmann::ordered_json::parse(R"([
    {"type": "function", "function": {
      "name": "get_weather", "description": "The weather of a place",
      "parameters": {"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"]}}},
    {"type": "function", "function": {
      "name": "write_note",
      "parameters": {"type": "object", "properties": {
        "text": {"type": "string"}, "options": {"type": "object"},
        "flag": {"type": "boolean"}, "anything": {}}}}}
  ])"));
}

ParsedOutput parse(std::string_view format, std::string_view text,
                   OutputStart start) {
  return parse_every_way(tool_format_named(format),
                         options_with(example_tools(), start), text);
}

} // namespace baton

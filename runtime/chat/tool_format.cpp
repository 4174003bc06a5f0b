//===- tool_format.cpp - how a model writes calls of tools and reasoning --===//

#include "runtime/chat/tool_format.h"

#include "runtime/chat/tool_format_table.h"
#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace baton {
namespace {

bool has_all(std::string_view text, const std::vector<std::string> &parts) {
  return std::ranges::all_of(parts, [&](const std::string &part) {
    return text.find(part) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  const char *spaces = " \t\r\n";
  const size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

/// Everything that an output can be marked with.
std::vector<std::string_view> marks_of(const ToolFormat &format) {
  std::vector<std::string_view> marks = {
      format.reasoning_open, format.reasoning_close, format.section_open,
      format.section_close,  format.call_close,      format.parameter_open,
      format.header_open,    format.parameter_close, format.header_close,
      format.content_open,   format.content_close};
  for (const auto *list : {&format.call_openings, &format.dropped})
    marks.insert(marks.end(), list->begin(), list->end());
  if (format.shape == CallShape::Braces)
    marks.push_back("<|\"|>");
  if (format.header == MessageHeader::Harmony)
    marks.insert(marks.end(), {"<|channel|>", "<|constrain|>"});
  return marks;
}

} // namespace

ToolFormat find_tool_format(std::string_view template_text) {
  for (KnownFormat &known : known_formats())
    for (const std::vector<std::string> &signs : known.signs)
      if (has_all(template_text, signs))
        return std::move(known.format);
  return tool_format_named("generic");
}

ToolFormat tool_format_named(std::string_view name) {
  std::string names;
  for (KnownFormat &known : known_formats()) {
    if (known.format.name == name)
      return std::move(known.format);
    names += (names.empty() ? "" : ", ") + known.format.name;
  }
  throw Error("there is no tool format '" + std::string(name) +
              "'; there are: " + names);
}

std::vector<std::string> tool_format_names() {
  std::vector<std::string> names;
  for (const KnownFormat &known : known_formats())
    names.push_back(known.format.name);
  return names;
}

bool is_marker_token(const ToolFormat &format, std::string_view spelling) {
  spelling = trimmed(spelling);
  return !spelling.empty() &&
         std::ranges::any_of(marks_of(format), [&](std::string_view mark) {
           return mark.find(spelling) != std::string_view::npos;
         });
}

OutputStart find_output_start(const ToolFormat &format,
                              std::string_view prompt) {
  const std::string_view header = trimmed(format.header_open);
  if (!header.empty() && trimmed(prompt).ends_with(header))
    return OutputStart::Header;
  // The end of what the template has opened for the answer: a prompt may show
  // the marks of reasoning earlier, in instructions.
  const std::string_view open = trimmed(format.reasoning_open);
  if (!open.empty() && trimmed(prompt).ends_with(open))
    return OutputStart::Reasoning;
  return OutputStart::Content;
}

std::string tool_instructions(const nlohmann::ordered_json &tools) {
  std::string text =
      "You can call functions. These are there, each with the JSON schema of "
      "its parameters, one on a line:\n";
  for (const nlohmann::ordered_json &tool : tools)
    text += (tool.contains("function") ? tool["function"] : tool).dump() + "\n";
  return text +
         "To call a function, write a JSON object with its name and its "
         "arguments between <tool_call> and </tool_call>:\n" +
         tool_call_text("function_name", R"({"parameter": "value"})") +
         "\nYou may write several calls one after another. Write nothing "
         "after the calls: you are then told the results, between "
         "<tool_response> and </tool_response>. Call a function only if you "
         "need what it does; else answer as usual.";
}

std::string tool_call_text(std::string_view name, std::string_view arguments) {
  return "<tool_call>\n{\"name\": " + nlohmann::json(name).dump() +
         ", \"arguments\": " + std::string(arguments) + "}\n</tool_call>";
}

std::string tool_result_text(std::string_view name, std::string_view result) {
  return "<tool_response>\n" + (name.empty() ? "" : std::string(name) + ":\n") +
         std::string(result) + "\n</tool_response>";
}

} // namespace baton

//===- parse_output.cpp - formats of templates and parsed outputs ---------===//
//
// Reads lines of JSON, each with "template", the text of a chat template, or
// "format", the name of one, and optionally "text", an output, with "tools".
// Writes a line for each: the name of the format and the deltas of the output.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/output_parser.h"
#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <array>
#include <iostream>
#include <string>

namespace baton {
namespace {

nlohmann::ordered_json deltas_of(const ToolFormat &format,
                                 const nlohmann::ordered_json &request) {
  OutputParser parser(
      format, {.start = find_output_start(format, request.value("prompt", "")),
               .tools = read_tools(
                   request.value("tools", nlohmann::ordered_json::array())),
               .make_id = {}});
  std::vector<ChatDelta> deltas = parser.push(std::string(request["text"]));
  for (ChatDelta &delta : parser.finish())
    deltas.push_back(std::move(delta));
  constexpr std::array<const char *, 5> kinds = {"content", "reasoning",
                                                 "begin", "arguments", "end"};
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ChatDelta &delta : deltas)
    list.push_back({{"kind", kinds[delta.kind]},
                    {"text", delta.text},
                    {"call", delta.call},
                    {"id", delta.id},
                    {"complete", delta.complete}});
  return list;
}

nlohmann::ordered_json answer(const std::string &line) {
  const auto request = nlohmann::ordered_json::parse(line);
  const ToolFormat format =
      request.contains("template")
          ? find_tool_format(std::string(request["template"]))
          : tool_format_named(std::string(request["format"]));
  nlohmann::ordered_json response = {{"format", format.name}};
  if (request.contains("text"))
    response["deltas"] = deltas_of(format, request);
  return response;
}

} // namespace
} // namespace baton

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << baton::answer(line).dump() << "\n";
    } catch (const std::exception &error) {
      std::cout << nlohmann::json{{"error", error.what()}}.dump() << "\n";
    }
  }
  return 0;
}

//===- output_test.h - outputs of models, parsed in pieces ----------------===//

#ifndef BATON_TEST_RUNTIME_CHAT_OUTPUT_TEST_H
#define BATON_TEST_RUNTIME_CHAT_OUTPUT_TEST_H

#include "runtime/chat/output_parser.h"

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

struct ParsedCall {
  std::string name, id, arguments;
  bool ended = false, complete = false;
  bool operator==(const ParsedCall &) const = default;
};

/// What the deltas of an output are, joined.
struct ParsedOutput {
  std::string content, reasoning;
  std::vector<ParsedCall> calls;
  bool operator==(const ParsedOutput &) const = default;
};

std::ostream &operator<<(std::ostream &out, const ParsedOutput &output);

/// Joins deltas; what cannot stand in their order is a failure of the test.
ParsedOutput join(const std::vector<ChatDelta> &deltas);

/// "id0" and so on identify calls.
OutputParserOptions options_with(std::vector<ToolDeclaration> tools,
                                 OutputStart start = OutputStart::Content);

/// Parses a text that is cut after each of the places.
ParsedOutput parse_cut(const ToolFormat &format,
                       const OutputParserOptions &options,
                       std::string_view text, const std::vector<size_t> &cuts);

/// Parses a text whole, byte by byte, and cut in two at every place: all have
/// to be the same.
ParsedOutput parse_every_way(const ToolFormat &format,
                             const OutputParserOptions &options,
                             std::string_view text);

/// get_weather(city: string, days: integer) and write_note(text: string,
/// options: object, flag: boolean, anything).
std::vector<ToolDeclaration> example_tools();

/// parse_every_way() of the format of this name, with the example's tools.
ParsedOutput parse(std::string_view format, std::string_view text,
                   OutputStart start = OutputStart::Content);

} // namespace baton

#endif // BATON_TEST_RUNTIME_CHAT_OUTPUT_TEST_H

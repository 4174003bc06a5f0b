//===- output_marks.h - what stands between the parts of an output --------===//

#ifndef BATON_RUNTIME_CHAT_OUTPUT_MARKS_H
#define BATON_RUNTIME_CHAT_OUTPUT_MARKS_H

#include "runtime/chat/text_pattern.h"
#include "runtime/chat/tool_format.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A mark that content can meet.
struct OutputMark {
  enum Action : uint8_t {
    OpenReasoning,
    OpenHeader,
    OpenCall,
    CloseSection,
    Drop
  } action;
  enum Where : uint8_t { Anywhere, AtStart, AfterCall } where;
  TextPattern pattern;
};

/// Those of a format; those of calls only where there are tools.
std::vector<OutputMark> output_marks(const ToolFormat &format, bool has_tools);

/// What a message with a header is.
struct MessageKind {
  enum Of : uint8_t { Content, Reasoning, Call } of = Content;
  std::string function;
};

MessageKind read_message_header(MessageHeader kind, std::string_view header);

/// Kimi K2 identifies calls as functions.name:number.
std::string function_of_id(std::string_view id);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_OUTPUT_MARKS_H

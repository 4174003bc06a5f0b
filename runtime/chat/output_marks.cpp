//===- output_marks.cpp - what stands between the parts of an output ------===//

#include "runtime/chat/output_marks.h"

#include "runtime/chat/json_strings.h"

#include <algorithm>

namespace baton {
namespace {

/// A list's brackets are read like white space, since models leave them out.
std::string_view without_brackets(std::string_view mark, CallShape shape) {
  if (shape != CallShape::JsonObject && shape != CallShape::JsonPair &&
      shape != CallShape::Python)
    return mark;
  mark = without_space_around(mark);
  if (mark.ends_with('['))
    mark.remove_suffix(1);
  if (mark.starts_with(']'))
    mark.remove_prefix(1);
  return mark;
}

/// What follows `key` in a header, up to white space or a token.
std::string_view word_after(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos)
    return {};
  header = without_space_around(header.substr(at + key.size()));
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

} // namespace

std::vector<OutputMark> output_marks(const ToolFormat &format, bool has_tools) {
  std::vector<OutputMark> marks;
  const auto add = [&](OutputMark::Action action, OutputMark::Where where,
                       std::string_view text) {
    TextPattern pattern(text);
    if (!pattern.empty())
      marks.push_back({action, where, std::move(pattern)});
  };
  add(OutputMark::OpenReasoning, OutputMark::AtStart, format.reasoning_open);
  if (has_tools) {
    const std::string_view section =
        without_brackets(format.section_open, format.shape);
    // A section alone opens a call only where nothing else does.
    if (!section.empty()) {
      const std::string call =
          format.call_openings.empty() ? "" : format.call_openings.front();
      add(OutputMark::OpenCall, OutputMark::Anywhere,
          std::string(section) + call);
    }
    for (const std::string &opening : format.call_openings)
      add(OutputMark::OpenCall, OutputMark::Anywhere,
          without_brackets(opening, format.shape));
    add(OutputMark::CloseSection, OutputMark::AfterCall,
        without_brackets(format.section_close, format.shape));
    add(OutputMark::Drop, OutputMark::AfterCall, format.call_close);
  }
  if (format.header != MessageHeader::None)
    add(OutputMark::OpenHeader, OutputMark::Anywhere, format.header_open);
  if (format.header == MessageHeader::Harmony)
    add(OutputMark::OpenHeader, OutputMark::Anywhere, "<|channel|>");
  add(OutputMark::Drop, OutputMark::Anywhere, format.content_open);
  add(OutputMark::Drop, OutputMark::Anywhere, format.content_close);
  for (const std::string &mark : format.dropped)
    add(OutputMark::Drop, OutputMark::Anywhere, mark);
  return marks;
}

MessageKind read_message_header(MessageHeader kind, std::string_view header) {
  if (kind == MessageHeader::Line) {
    header = without_space_around(header);
    while (header.starts_with('>'))
      header.remove_prefix(1);
    if (header == "all")
      return {};
    return {MessageKind::Call, std::string(header)};
  }
  std::string_view recipient = word_after(header, " to=");
  if (recipient.empty() && header.starts_with("to="))
    recipient = word_after(header, "to=");
  constexpr std::string_view functions = "functions.";
  if (kind == MessageHeader::Recipient) {
    if (recipient == "self")
      return {MessageKind::Reasoning, ""};
    if (recipient.empty() || recipient == "user")
      return {};
    return {MessageKind::Call, std::string(recipient)};
  }
  if (recipient.starts_with(functions) && recipient.size() > functions.size())
    return {MessageKind::Call, std::string(recipient.substr(functions.size()))};
  if (word_after(header, "<|channel|>") == "analysis")
    return {MessageKind::Reasoning, ""};
  return {};
}

std::string function_of_id(std::string_view id) {
  constexpr std::string_view functions = "functions.";
  if (id.starts_with(functions))
    id.remove_prefix(functions.size());
  return std::string(id.substr(0, id.rfind(':')));
}

} // namespace baton

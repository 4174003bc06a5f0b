//===- parameter_value.h - a value between tags, as JSON ------------------===//

#ifndef BATON_RUNTIME_CHAT_PARAMETER_VALUE_H
#define BATON_RUNTIME_CHAT_PARAMETER_VALUE_H

#include "runtime/chat/text_pattern.h"
#include "runtime/chat/tool_declaration.h"
#include "runtime/chat/tool_format.h"

#include <string>
#include <string_view>

namespace baton {

/// The text of a parameter (CallShape::Parameters), which comes in bytes. One
/// that can only be a string is passed on as it comes; of others the end has to
/// be known first.
class ParameterValue {
public:
  ParameterValue() = default;
  ParameterValue(const ToolFormat &format, const PatternCaptures &captures,
                 const ToolDeclaration *tool);

  /// True if the byte is the last of the tag that closes the value.
  bool push(char byte);
  /// The JSON text that has become known since the last time.
  std::string take();
  /// What is known of a value that does not go on.
  std::string cut();

private:
  bool is_closed() const;
  size_t held() const;

  ParameterKind kind = ParameterKind::Unknown;
  std::string close;
  /// Tags in the value are its members.
  std::string member_mark;
  bool on_lines = false, in_cdata = false;
  bool at_begin = true;
  std::string text, ready;
};

/// JSON for the text of a value of which no more than the text is known.
std::string json_of_value(std::string_view text, ParameterKind kind);

/// JSON for tags nested in a value: `mark`<key>value`mark`</key>, where keys
/// that are all "item" make a list (MiniMax M3). Text that is not so nested, or
/// more than 32 deep, is as json_of_value() says.
std::string json_of_members(std::string_view text, std::string_view mark);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_PARAMETER_VALUE_H

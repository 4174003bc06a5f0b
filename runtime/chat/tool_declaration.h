//===- tool_declaration.h - a function that a model may call --------------===//

#ifndef BATON_RUNTIME_CHAT_TOOL_DECLARATION_H
#define BATON_RUNTIME_CHAT_TOOL_DECLARATION_H

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace baton {

struct ToolDeclaration {
  std::string name;
  /// A JSON schema of the arguments, whose properties keep their order; an
  /// empty object where the function declares none.
  nlohmann::ordered_json parameters;
};

/// Reads the list "tools" of a request to /v1/chat/completions: objects with
/// "type": "function" and "function". Throws Error that names the element at
/// fault.
std::vector<ToolDeclaration> read_tools(const nlohmann::ordered_json &tools);

/// That of a name, or null.
const ToolDeclaration *find_tool(const std::vector<ToolDeclaration> &tools,
                                 std::string_view name);

/// What the schema of a parameter says of texts that stand for its values.
enum class ParameterKind {
  /// All values are strings: a text is the string that it spells.
  String,
  /// No value is a string: a text is JSON.
  Json,
  /// A text is JSON if it is any, else a string.
  Unknown
};

ParameterKind parameter_kind(const ToolDeclaration *tool, std::string_view key);
ParameterKind kind_of_schema(const nlohmann::ordered_json &schema);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_TOOL_DECLARATION_H

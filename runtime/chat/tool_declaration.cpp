//===- tool_declaration.cpp - a function that a model may call ------------===//

#include "runtime/chat/tool_declaration.h"

#include "runtime/error.h"

#include <algorithm>

namespace baton {
namespace {

ToolDeclaration read_tool(const nlohmann::ordered_json &tool,
                          const std::string &place) {
  if (!tool.is_object() ||
      tool.value("type", nlohmann::ordered_json()) != "function")
    throw Error(place +
                " is no tool of type \"function\"; there are no others");
  const auto function = tool.find("function");
  if (function == tool.end() || !function->is_object())
    throw Error(place + " has no object \"function\"");
  const auto name = function->find("name");
  if (name == function->end() || !name->is_string() ||
      name->get_ref<const std::string &>().empty())
    throw Error(place + ".function has no \"name\"");
  ToolDeclaration declaration{*name, nlohmann::ordered_json::object()};
  if (const auto parameters = function->find("parameters");
      parameters != function->end() && !parameters->is_null()) {
    if (!parameters->is_object())
      throw Error(place + ".function.parameters is no object: it has to be a "
                          "JSON schema");
    declaration.parameters = *parameters;
  }
  return declaration;
}

bool is_string_type(const nlohmann::ordered_json &type) {
  return type == "string";
}

bool is_string(const nlohmann::ordered_json &value) {
  return value.is_string();
}

/// Of some values or types, of which `is_text` tells those that are strings.
ParameterKind kind_of(const nlohmann::ordered_json &list,
                      bool is_text(const nlohmann::ordered_json &)) {
  if (list.empty())
    return ParameterKind::Unknown;
  if (std::ranges::all_of(list, is_text))
    return ParameterKind::String;
  return std::ranges::any_of(list, is_text) ? ParameterKind::Unknown
                                            : ParameterKind::Json;
}

} // namespace

std::vector<ToolDeclaration> read_tools(const nlohmann::ordered_json &tools) {
  if (!tools.is_array())
    throw Error("tools is no list");
  std::vector<ToolDeclaration> declarations;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = "tools[" + std::to_string(i) + "]";
    declarations.push_back(read_tool(tools[i], place));
    const std::string &name = declarations.back().name;
    if (find_tool(declarations, name) != &declarations.back())
      throw Error(place + " has the name of an earlier one: " + name);
  }
  return declarations;
}

const ToolDeclaration *find_tool(const std::vector<ToolDeclaration> &tools,
                                 std::string_view name) {
  const auto found = std::ranges::find(tools, name, &ToolDeclaration::name);
  return found == tools.end() ? nullptr : &*found;
}

ParameterKind kind_of_schema(const nlohmann::ordered_json &schema) {
  if (!schema.is_object())
    return ParameterKind::Unknown;
  if (const auto constant = schema.find("const"); constant != schema.end())
    return constant->is_string() ? ParameterKind::String : ParameterKind::Json;
  if (const auto values = schema.find("enum");
      values != schema.end() && values->is_array())
    return kind_of(*values, is_string);
  const auto type = schema.find("type");
  if (type == schema.end())
    return ParameterKind::Unknown;
  if (type->is_array())
    return kind_of(*type, is_string_type);
  return is_string_type(*type) ? ParameterKind::String : ParameterKind::Json;
}

ParameterKind parameter_kind(const ToolDeclaration *tool,
                             std::string_view key) {
  if (!tool || !tool->parameters.is_object())
    return ParameterKind::Unknown;
  const auto properties = tool->parameters.find("properties");
  if (properties == tool->parameters.end() || !properties->is_object())
    return ParameterKind::Unknown;
  const auto property = properties->find(std::string(key));
  return property == properties->end() ? ParameterKind::Unknown
                                       : kind_of_schema(*property);
}

} // namespace baton

//===- call_grammar.cpp - a call of one function, as a grammar ------------===//

#include "runtime/chat/call_grammar.h"

#include "runtime/chat/json_strings.h"
#include "runtime/chat/text_pattern.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace baton {
namespace {

using Schema = nlohmann::ordered_json;

/// Longer than the spelling of any special token.
constexpr size_t most_token_bytes = 64;
/// Of a function that declares no parameters but may have any.
constexpr uint32_t most_free_parameters = 16;

/// A parameter that a function declares.
struct DeclaredParameter {
  std::string key;
  Schema schema;
  bool required = false;
};

/// In the order of the schema, each with the definitions that it may refer to.
std::vector<DeclaredParameter> declared_parameters(const Schema &schema) {
  std::vector<DeclaredParameter> parameters;
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object())
    return parameters;
  for (const auto &[key, property] : properties->items()) {
    DeclaredParameter parameter{key, property, false};
    if (parameter.schema.is_object())
      for (const char *definitions : {"$defs", "definitions"})
        if (schema.contains(definitions) &&
            !parameter.schema.contains(definitions))
          parameter.schema[definitions] = schema[definitions];
    if (const auto required = schema.find("required");
        required != schema.end() && required->is_array())
      parameter.required =
          std::ranges::find(*required, Schema(key)) != required->end();
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

bool declares_parameters(const ToolDeclaration &tool) {
  return tool.parameters.is_object() && tool.parameters.contains("properties");
}

/// Takes any arguments, as far as is known.
bool takes_anything(const ToolDeclaration &tool) {
  return !declares_parameters(tool) &&
         tool.parameters.value("additionalProperties", Schema(true)) != false;
}

Grammar arguments_grammar(const ToolDeclaration &tool) {
  if (!tool.parameters.is_object() || tool.parameters.empty())
    return Grammar::json_object();
  Schema schema = tool.parameters;
  if (!schema.contains("type"))
    schema["type"] = "object";
  return Grammar::json_schema(schema);
}

/// Some members in their order, of which those that are not required may be
/// missing, with a separator between each two.
Grammar members_grammar(const std::vector<Grammar> &members,
                        const std::vector<DeclaredParameter> &parameters,
                        const Grammar &separator) {
  Grammar first = Grammar::literal(""), next = Grammar::literal("");
  for (size_t i = members.size(); i-- > 0;) {
    const Grammar with = Grammar::sequence({members[i], next});
    const Grammar after = Grammar::sequence({separator, with});
    first = parameters[i].required ? with : Grammar::any_of({with, first});
    next = parameters[i].required ? after : Grammar::any_of({after, next});
  }
  return first;
}

/// The texts of an enumeration of strings, or of a constant.
std::vector<std::string> spelled_values(const Schema &schema) {
  std::vector<std::string> values;
  if (schema.contains("const"))
    return {schema["const"].get<std::string>()};
  if (schema.contains("enum"))
    for (const Schema &value : schema["enum"])
      values.push_back(value.get<std::string>());
  return values;
}

/// A string without quotes, up to what ends it.
Grammar bare_string(const Schema &schema, std::string_view end) {
  std::vector<Grammar> values;
  if (kind_of_schema(schema) == ParameterKind::String)
    for (const std::string &value : spelled_values(schema))
      values.push_back(Grammar::literal(value));
  return values.empty() ? Grammar::text_without(end) : Grammar::any_of(values);
}

class CallBuilder {
public:
  CallBuilder(const ToolFormat &format, const ToolDeclaration &tool,
              const MarkGrammar &marks)
      : format(format), tool(tool), marks(marks) {}

  Grammar call() const {
    switch (format.shape) {
    case CallShape::JsonObject:
      return Grammar::sequence({opening(), object(), close()});
    case CallShape::JsonPair:
      return Grammar::sequence({opening(),
                                text("{" + json_quoted(tool.name) + ": "),
                                arguments_grammar(tool), text("}"), close()});
    case CallShape::JsonArguments:
      return Grammar::sequence({opening(), arguments_grammar(tool), close()});
    case CallShape::Parameters:
      return Grammar::sequence({opening(), parameters(), close()});
    case CallShape::Python:
      return Grammar::sequence({opening(), text(tool.name + "("),
                                language_members(), text(")"), close()});
    case CallShape::Braces:
      return Grammar::sequence({opening(), text(tool.name + "{"),
                                language_members(), text("}"), close()});
    }
    return Grammar::literal("");
  }

private:
  static Grammar text(const std::string &bytes) {
    return Grammar::literal(bytes);
  }

  /// The first opening of the format with its placeholders filled.
  Grammar opening() const {
    if (format.call_openings.empty())
      return text("");
    std::string pattern = format.call_openings.front();
    PatternCaptures captures;
    captures.name = tool.name;
    std::vector<Grammar> parts;
    const auto add = [&](std::string_view placeholder, const Grammar &value) {
      const size_t at = pattern.find(placeholder);
      if (at == std::string::npos)
        return;
      parts.push_back(marks.of(fill_pattern(pattern.substr(0, at), captures)));
      parts.push_back(value);
      pattern.erase(0, at + placeholder.size());
    };
    add("$INDEX", Grammar::regex("[0-9]{1,2}"));
    add("$ID", identifier(pattern));
    parts.push_back(marks.of(fill_pattern(pattern, captures)));
    return Grammar::sequence(parts);
  }

  Grammar identifier(const std::string &pattern) const {
    // Where the opening names no function, its identifier does.
    if (pattern.find("$NAME") == std::string::npos)
      return Grammar::sequence(
          {text("functions." + tool.name + ":"), Grammar::regex("[0-9]{1,3}")});
    const std::string length =
        std::to_string(format.id_length == 0 ? 9 : format.id_length);
    return Grammar::regex("[a-z0-9]{" + length + "}");
  }

  Grammar close() const {
    const bool ends_turn =
        std::ranges::find(format.stop_tokens, format.call_close) !=
        format.stop_tokens.end();
    return ends_turn ? text("") : marks.of(format.call_close);
  }

  Grammar object() const {
    const std::string name = json_quoted(format.name_key) + ": " +
                             json_quoted(tool.name) + ", " +
                             json_quoted(format.arguments_key) + ": ";
    const Grammar arguments =
        Grammar::sequence({text(name), arguments_grammar(tool), text("}")});
    if (format.id_key.empty())
      return Grammar::sequence({text("{"), arguments});
    return Grammar::sequence({text("{" + json_quoted(format.id_key) + ": \""),
                              Grammar::regex("[0-9]{1,2}"), text("\", "),
                              arguments});
  }

  /// A tag's parameter with its value.
  Grammar parameter(const std::string &key, const Schema &schema,
                    const std::string &type, bool is_string) const {
    PatternCaptures captures;
    captures.key = key;
    captures.type = type;
    const std::string end = fill_pattern(format.parameter_close, captures);
    const Grammar value = is_string
                              ? bare_string(schema, without_space_around(end))
                              : Grammar::json_schema(schema);
    return Grammar::sequence(
        {marks.of(fill_pattern(format.parameter_open, captures)), value,
         marks.of(end)});
  }

  Grammar parameter(const DeclaredParameter &declared) const {
    const ParameterKind kind = kind_of_schema(declared.schema);
    // A text stands for any value of which no more is known.
    const bool is_string = kind != ParameterKind::Json;
    if (format.parameter_open.find("string=\"$TYPE\"") != std::string::npos) {
      const Grammar as_string =
          parameter(declared.key, declared.schema, "true", true);
      const Grammar as_json =
          parameter(declared.key, declared.schema, "false", false);
      if (kind == ParameterKind::Unknown)
        return Grammar::any_of({as_string, as_json});
      return is_string ? as_string : as_json;
    }
    return parameter(declared.key, declared.schema,
                     is_string ? "string" : type_name(declared.schema),
                     is_string);
  }

  static std::string type_name(const Schema &schema) {
    const std::string type =
        schema.contains("type") && schema["type"].is_string()
            ? schema["type"].get<std::string>()
            : "object";
    return type == "integer" ? "number" : type;
  }

  Grammar parameters() const {
    if (takes_anything(tool))
      return Grammar::repeat(free_parameter(), 0, most_free_parameters);
    std::vector<Grammar> all;
    for (const DeclaredParameter &declared :
         declared_parameters(tool.parameters)) {
      const Grammar one = parameter(declared);
      all.push_back(declared.required ? one : Grammar::repeat(one, 0, 1));
    }
    return Grammar::sequence(all);
  }

  /// A parameter of any name; one whose close repeats the name cannot be
  /// written without knowing it.
  Grammar free_parameter() const {
    if (format.parameter_close.find("$KEY") != std::string::npos)
      return parameter("value", Schema::object(), "string", true);
    const size_t at = format.parameter_open.find("$KEY");
    PatternCaptures captures;
    captures.type = format.parameter_open.find("string=") == std::string::npos
                        ? "string"
                        : "true";
    const std::string_view open = format.parameter_open;
    return Grammar::sequence(
        {marks.of(fill_pattern(open.substr(0, at), captures)),
         Grammar::regex("[A-Za-z_][A-Za-z0-9_]{0,63}"),
         marks.of(fill_pattern(open.substr(at + 4), captures)),
         Grammar::text_without(without_space_around(format.parameter_close)),
         marks.of(format.parameter_close)});
  }

  /// A value in a programming language. JSON is read, too, and is what nested
  /// values are written in.
  Grammar language_value(const Schema &schema) const {
    const ParameterKind kind = kind_of_schema(schema);
    const bool braces = format.shape == CallShape::Braces;
    if (braces && kind == ParameterKind::String) {
      const Grammar quote = marks.of("<|\"|>");
      return Grammar::sequence({quote, bare_string(schema, "<|\"|>"), quote});
    }
    if (!braces && schema.is_object() &&
        schema.value("type", Schema()) == "boolean" &&
        !schema.contains("enum") && !schema.contains("const"))
      return Grammar::any_of({text("True"), text("False")});
    return Grammar::json_schema(schema);
  }

  Grammar language_members() const {
    const bool braces = format.shape == CallShape::Braces;
    std::vector<Grammar> members;
    const std::vector<DeclaredParameter> declared =
        declared_parameters(tool.parameters);
    for (const DeclaredParameter &parameter : declared)
      members.push_back(
          Grammar::sequence({text(parameter.key + (braces ? ":" : "=")),
                             language_value(parameter.schema)}));
    return members_grammar(members, declared, text(braces ? "," : ", "));
  }

  const ToolFormat &format;
  const ToolDeclaration &tool;
  const MarkGrammar &marks;
};

} // namespace

Grammar MarkGrammar::of(std::string_view text) const {
  std::vector<Grammar> parts;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty())
      parts.push_back(Grammar::literal(literal));
    literal.clear();
  };
  while (!text.empty()) {
    size_t length = is_special ? std::min(text.size(), most_token_bytes) : 0;
    while (length > 0 && !is_special(text.substr(0, length)))
      --length;
    if (length == 0) {
      literal += text.front();
      text.remove_prefix(1);
      continue;
    }
    flush();
    parts.push_back(Grammar::token(text.substr(0, length)));
    text.remove_prefix(length);
  }
  flush();
  return Grammar::sequence(parts);
}

Grammar call_grammar(const ToolFormat &format, const ToolDeclaration &tool,
                     const MarkGrammar &marks) {
  return CallBuilder(format, tool, marks).call();
}

} // namespace baton

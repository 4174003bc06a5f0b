//===- parameter_value.cpp - a value between tags, as JSON ----------------===//

#include "runtime/chat/parameter_value.h"

#include "runtime/chat/json_strings.h"
#include "runtime/chat/language_call.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace baton {
namespace {

constexpr std::string_view minimax_mark = "]<]minimax[>[";
constexpr std::string_view cdata_open = "<![CDATA[", cdata_close = "]]>";
constexpr int most_member_depth = 32;

/// What the type that a tag states says of its value.
ParameterKind kind_of_type(std::string_view type) {
  return type == "true" || type == "string" ? ParameterKind::String
                                            : ParameterKind::Json;
}

/// The members of a value: <key>value</key>, each tag after the mark. Nothing
/// if it has none, or they are not closed.
std::optional<std::string> members(std::string_view text, std::string_view mark,
                                   int depth);

std::string member_value(std::string_view text, std::string_view mark,
                         int depth) {
  if (std::optional<std::string> nested = members(text, mark, depth))
    return std::move(*nested);
  return json_of_value(text, ParameterKind::Unknown);
}

/// Where the tag that closes `key` is, past what of the same name is nested.
size_t find_close(std::string_view text, const std::string &open,
                  const std::string &close) {
  int level = 0;
  for (size_t at = 0; at < text.size(); ++at)
    if (text.substr(at).starts_with(open))
      ++level;
    else if (text.substr(at).starts_with(close) && level-- == 0)
      return at;
  return std::string_view::npos;
}

std::optional<std::string> members(std::string_view text, std::string_view mark,
                                   int depth) {
  text = without_space_around(text);
  const std::string begin = std::string(mark) + "<";
  if (depth == most_member_depth || !text.starts_with(begin))
    return {};
  std::string object, list;
  bool all_items = true;
  while (!text.empty()) {
    if (!text.starts_with(begin))
      return {};
    const size_t end = text.find('>', begin.size());
    if (end == std::string_view::npos || end == begin.size())
      return {};
    const std::string key(text.substr(begin.size(), end - begin.size()));
    text.remove_prefix(end + 1);
    const std::string close = begin + "/" + key + ">";
    const size_t stop = find_close(text, begin + key + ">", close);
    if (stop == std::string_view::npos)
      return {};
    const std::string value =
        member_value(text.substr(0, stop), mark, depth + 1);
    text = without_space_around(text.substr(stop + close.size()));
    const std::string_view comma = object.empty() ? "" : ", ";
    object += std::string(comma) + json_quoted(key) + ": " + value;
    list += std::string(comma) + value;
    all_items &= key == "item";
  }
  return all_items ? "[" + list + "]" : "{" + object + "}";
}

} // namespace

std::string json_of_value(std::string_view text, ParameterKind kind) {
  if (kind == ParameterKind::String)
    return json_quoted(text);
  const std::string_view value = without_space_around(text);
  if (is_json(value))
    return std::string(value);
  // Templates that write values with Jinja alone make Python of them.
  std::optional<std::string> literal;
  if (!value.starts_with('\'') && !value.starts_with('"'))
    literal = read_python_literal(value);
  return literal ? *literal : json_quoted(text);
}

std::string json_of_members(std::string_view text, std::string_view mark) {
  return member_value(text, mark, 0);
}

ParameterValue::ParameterValue(const ToolFormat &format,
                               const PatternCaptures &captures,
                               const ToolDeclaration *tool)
    : kind(captures.type.empty() ? parameter_kind(tool, captures.key)
                                 : kind_of_type(captures.type)),
      close(
          without_space_around(fill_pattern(format.parameter_close, captures))),
      on_lines(format.value_on_lines), in_cdata(format.value_in_cdata) {
  if (close.starts_with(minimax_mark))
    member_mark = minimax_mark;
  if (kind == ParameterKind::String)
    ready = '"';
}

/// How many bytes at the end may belong to what closes the value.
size_t ParameterValue::held() const {
  size_t bytes = std::min(text.size(), close.size());
  while (!std::string_view(close).starts_with(
      std::string_view(text).substr(text.size() - bytes)))
    --bytes;
  if (on_lines && text.size() > bytes && text[text.size() - bytes - 1] == '\n')
    ++bytes;
  return bytes;
}

bool ParameterValue::is_closed() const {
  if (!text.ends_with(close))
    return false;
  // What looks like the end does not count within such data.
  return !in_cdata || !text.starts_with(cdata_open) ||
         std::string_view(text)
             .substr(0, text.size() - close.size())
             .ends_with(cdata_close);
}

bool ParameterValue::push(char byte) {
  if (std::exchange(at_begin, false) && on_lines && byte == '\n')
    return false;
  text += byte;
  const bool closed = is_closed();
  if (closed) {
    text.erase(text.size() - close.size());
    if (on_lines && text.ends_with('\n'))
      text.pop_back();
    if (in_cdata && text.starts_with(cdata_open)) {
      text.erase(text.size() - cdata_close.size());
      text.erase(0, cdata_open.size());
    }
  }
  if (kind == ParameterKind::String) {
    const size_t sure = closed     ? text.size()
                        : in_cdata ? 0
                                   : text.size() - held();
    ready += json_escaped(std::string_view(text).substr(0, sure));
    text.erase(0, sure);
    if (closed)
      ready += '"';
  } else if (closed) {
    ready = member_mark.empty() ? json_of_value(text, kind)
                                : json_of_members(text, member_mark);
  }
  return closed;
}

std::string ParameterValue::take() { return std::exchange(ready, {}); }

std::string ParameterValue::cut() {
  return take() + (kind == ParameterKind::String ? json_escaped(text) : text);
}

} // namespace baton

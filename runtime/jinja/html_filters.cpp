//===- html_filters.cpp - filters for HTML and URLs -----------------------===//

#include "runtime/jinja/filters.h"

#include "runtime/jinja/methods.h"
#include "runtime/jinja/numbers.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

Value filter_escape(Rendering &rendering, const Bound &given) {
  return to_markup(rendering, given[0]);
}

Value filter_forceescape(Rendering &rendering, const Bound &given) {
  return Value(escape_html(rendering, text_of(rendering, given[0])), true);
}

Value filter_safe(Rendering &rendering, const Bound &given) {
  return Value(text_of(rendering, given[0]), true);
}

/// The character that an entity between & and ; names; nothing for those that
/// are not known here.
std::optional<std::string> named_character(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"amp", "&"},   {"lt", "<"},   {"gt", ">"},
      {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00A0"}};
  for (const auto &[known, character] : names)
    if (name == known)
      return std::string(character);
  if (!name.starts_with('#') || name.size() > 8)
    return std::nullopt;
  const bool hexadecimal = name.starts_with("#x") || name.starts_with("#X");
  const auto code =
      parse_integer(name.substr(hexadecimal ? 2 : 1), hexadecimal ? 16 : 10);
  if (!code || *code <= 0 || *code > 0x10FFFF ||
      (*code >= 0xD800 && *code < 0xE000))
    return std::nullopt;
  std::string character;
  append_character(character, static_cast<char32_t>(*code));
  return character;
}

std::string unescape_html(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = text[at] == '&' ? text.substr(at, 12).find(';')
                                       : std::string_view::npos;
    if (end != std::string_view::npos)
      if (const auto character =
              named_character(text.substr(at + 1, end - 1))) {
        result += *character;
        at += end;
        continue;
      }
    result += text[at];
  }
  return result;
}

/// Without what begins and ends like this; unended ones stay.
std::string without_parts(std::string_view text, std::string_view begin,
                          std::string_view end, size_t least_inside) {
  std::string result;
  size_t at = 0;
  for (;;) {
    const size_t from = text.find(begin, at);
    const size_t to = from == std::string_view::npos
                          ? from
                          : text.find(end, from + begin.size() + least_inside);
    if (to == std::string_view::npos)
      return result += text.substr(at);
    result += text.substr(at, from - at);
    at = to + end.size();
  }
}

Value filter_striptags(Rendering &rendering, const Bound &given) {
  std::string text = text_of(rendering, given[0]);
  rendering.make(text.size(), 4);
  text = without_parts(without_parts(text, "<!--", "-->", 0), "<", ">", 0);
  std::string result;
  for (const std::string_view word :
       split_text(rendering, text, std::nullopt, -1, false)) {
    if (!result.empty())
      result += ' ';
    result += word;
  }
  return Value(unescape_html(result));
}

std::string quote_url(Rendering &rendering, const Value &value, bool in_query) {
  static constexpr const char *digits = "0123456789ABCDEF";
  std::string result;
  for (const char character : text_of(rendering, value)) {
    const auto byte = static_cast<unsigned char>(character);
    if (std::string_view("-._~").find(character) != std::string_view::npos ||
        (byte < 0x80 && std::isalnum(byte)) || (character == '/' && !in_query))
      result += character;
    else if (character == ' ' && in_query)
      result += '+';
    else {
      result += '%';
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  rendering.make(result.size());
  return result;
}

Value filter_urlencode(Rendering &rendering, const Bound &given) {
  if (given[0].is_text() || !can_iterate(given[0]))
    return Value(quote_url(rendering, given[0], false));
  const Value pairs = given[0].is(Object::Kind::Dictionary)
                          ? Value(std::make_shared<View>(View::Items, given[0]))
                          : given[0];
  std::vector<std::string> parts;
  for (const Value &entry : items_of(rendering, pairs)) {
    const std::vector<Value> pair = items_of(rendering, entry);
    if (pair.size() != 2)
      throw Failure("urlencode() takes pairs of a name and a value");
    parts.push_back(quote_url(rendering, pair[0], true) + "=" +
                    quote_url(rendering, pair[1], true));
  }
  return Value(join_texts(rendering, "&", parts));
}

Value filter_xmlattr(Rendering &rendering, const Bound &given) {
  demand_defined(given[0]);
  if (!given[0].is(Object::Kind::Dictionary))
    throw Failure("xmlattr() takes a dict, not " +
                  std::string(type_name(given[0])));
  std::vector<std::string> parts;
  for (const auto &[key, value] : given[0].as<Dictionary>().entries()) {
    if (value.is_none() || value.is_undefined())
      continue;
    if (!key.is_text())
      throw Failure("expected string or bytes-like object");
    if (key.bytes().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      throw Failure("Invalid character in attribute name: " +
                    shown(std::string_view(key.bytes())));
    parts.push_back(to_markup(rendering, key).bytes() + "=\"" +
                    to_markup(rendering, value).bytes() + "\"");
  }
  const std::string space = given.flag(1, true) && !parts.empty() ? " " : "";
  return Value(space + join_texts(rendering, " ", parts));
}

constexpr Filter filters_for_html[] = {
    {"e", "s /", filter_escape},
    {"escape", "s /", filter_escape},
    {"forceescape", "value", filter_forceescape},
    {"safe", "value", filter_safe},
    {"striptags", "value", filter_striptags},
    {"urlencode", "value", filter_urlencode},
    {"xmlattr", "d autospace=", filter_xmlattr},
};

} // namespace

std::span<const Filter> html_filters() { return filters_for_html; }

} // namespace baton::jinja

//===- text_filters.cpp - filters of texts --------------------------------===//

#include "runtime/jinja/filters.h"

#include "runtime/jinja/methods.h"
#include "runtime/jinja/pretty_print.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/text_format.h"
#include "runtime/jinja/text_wrap.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

/// As a method of the same name does it, of what the value is as a text.
Value by_method(Rendering &rendering, const char *name, const Bound &given) {
  const Value text = soft_text(rendering, given[0]);
  Arguments arguments;
  for (size_t at = 1; at < given.values.size() && given.given(at); ++at)
    arguments.positional.push_back(given[at]);
  const Method &method = *find_method(text, name);
  return method.call(
      rendering, text,
      bind_arguments(name, method.signature, std::move(arguments)));
}

Value filter_capitalize(Rendering &rendering, const Bound &given) {
  return by_method(rendering, "capitalize", given);
}
Value filter_lower(Rendering &rendering, const Bound &given) {
  return by_method(rendering, "lower", given);
}
Value filter_upper(Rendering &rendering, const Bound &given) {
  return by_method(rendering, "upper", given);
}
Value filter_trim(Rendering &rendering, const Bound &given) {
  return by_method(rendering, "strip", given);
}

Value filter_center(Rendering &rendering, const Bound &given) {
  const Value text = soft_text(rendering, given[0]);
  return Value(
      center_text(rendering, text.text(), given.integer_or(1, 80), " "),
      text.text().safe);
}

Value filter_title(Rendering &rendering, const Bound &given) {
  const Value text = soft_text(rendering, given[0]);
  const auto separates = [](char32_t character) {
    return is_space(character) || std::u32string_view(U"-({[<").find(
                                      character) != std::u32string_view::npos;
  };
  std::string result;
  const std::string_view bytes = text.bytes();
  for (size_t begin = 0; begin < bytes.size();) {
    size_t first_end = begin;
    const bool separator = separates(next_character(bytes, first_end));
    size_t end = first_end;
    for (size_t next = end; end < bytes.size(); end = next)
      if (separates(next_character(bytes, next)) != separator)
        break;
    result += upper(bytes.substr(begin, first_end - begin));
    result += lower(bytes.substr(first_end, end - first_end));
    begin = end;
  }
  rendering.make(result.size());
  return Value(std::move(result));
}

Value filter_string(Rendering &rendering, const Bound &given) {
  return soft_text(rendering, given[0]);
}

Value filter_replace(Rendering &rendering, const Bound &given) {
  return Value(replace_text(
      rendering, text_of(rendering, given[0]), text_of(rendering, given[1]),
      text_of(rendering, given[2]), given.integer(3).value_or(-1)));
}

Value filter_format(Rendering &rendering, const Bound &given) {
  const Value format = soft_text(rendering, given[0]);
  if (given.rest.keywords.empty())
    return printf_format(rendering, format, make_tuple(given.rest.positional));
  if (!given.rest.positional.empty())
    throw Failure(
        "can't handle positional and keyword arguments at the same time");
  auto values = std::make_shared<Dictionary>();
  for (const auto &[name, value] : given.rest.keywords)
    values->set(Value(name), value);
  return printf_format(rendering, format, Value(std::move(values)));
}

Value filter_indent(Rendering &rendering, const Bound &given) {
  demand_defined(given[0]);
  if (!given[0].is_text())
    throw Failure("indent() takes a str, not " +
                  std::string(type_name(given[0])));
  std::string indention;
  if (given.given(1) && given[1].is_text())
    indention = given[1].bytes();
  else {
    const Integer width = given.integer_or(1, 4);
    rendering.make(
        static_cast<uint64_t>(std::clamp<Integer>(width, 0, INT64_MAX)));
    indention.assign(width > 0 ? static_cast<size_t>(width) : 0, ' ');
  }
  const bool first = given.flag(2, false), blank = given.flag(3, false);
  const std::string text = given[0].bytes() + "\n";
  const auto lines = split_lines(text, false);
  rendering.make(lines.size(), indention.size() + 1);
  rendering.make(text.size());
  std::string result = first ? indention : "";
  for (size_t at = 0; at < lines.size(); ++at) {
    if (at)
      result += '\n';
    if (at && (blank || !lines[at].empty()))
      result += indention;
    result += lines[at];
  }
  return Value(std::move(result), given[0].text().safe);
}

Value filter_truncate(Rendering &rendering, const Bound &given) {
  const Integer length = given.integer_or(1, 255);
  const bool kill_words = given.flag(2, false);
  const std::string end = given.given(3) ? text_of(rendering, given[3]) : "...";
  const auto end_length = static_cast<Integer>(count_characters(end));
  const Integer leeway = given.integer(4).value_or(5);
  if (length < end_length || leeway < 0)
    throw Failure("truncate() needs a length of at least its end's, and no "
                  "negative leeway");
  const auto size = length_of(given[0]);
  if (!size)
    throw Failure("object of type '" + std::string(type_name(given[0])) +
                  "' has no len()");
  if (static_cast<Integer>(*size) <= length + leeway)
    return given[0];
  if (!given[0].is_text())
    throw Failure("truncate() takes a str, not " +
                  std::string(type_name(given[0])));
  std::string_view text = given[0].bytes();
  rendering.make(text.size());
  text =
      text.substr(0, offset_of(text, static_cast<size_t>(length - end_length)));
  if (!kill_words)
    text = text.substr(0, text.rfind(' '));
  return Value(std::string(text) + end, given[0].text().safe);
}

Value filter_wordcount(Rendering &rendering, const Bound &given) {
  const Value text = soft_text(rendering, given[0]);
  size_t count = 0;
  bool inside = false;
  for (const char32_t character : characters_of(text.bytes())) {
    count += is_word(character) && !inside;
    inside = is_word(character);
  }
  return Value::of_size(count);
}

Value filter_wordwrap(Rendering &rendering, const Bound &given) {
  demand_defined(given[0]);
  if (!given[0].is_text())
    throw Failure("wordwrap() takes a str, not " +
                  std::string(type_name(given[0])));
  const bool breaks_words = given.flag(2, true);
  const std::string separator = given.given(3) && !given[3].is_none()
                                    ? text_of(rendering, given[3])
                                    : "\n";
  const bool breaks_hyphens = given.flag(4, true);
  std::vector<std::string> paragraphs;
  for (const std::string_view line : split_lines(given[0].bytes(), false))
    paragraphs.push_back(
        join_texts(rendering, separator,
                   wrap_text(rendering, line, given.integer_or(1, 79),
                             breaks_words, breaks_hyphens)));
  return Value(join_texts(rendering, separator, paragraphs));
}

Value filter_pprint(Rendering &rendering, const Bound &given) {
  return Value(pretty_print(rendering, given[0]));
}

constexpr Filter filters_of_texts[] = {
    {"capitalize", "s", filter_capitalize},
    {"center", "value width=", filter_center},
    {"format", "value * **", filter_format},
    {"indent", "s width= first= blank=", filter_indent},
    {"lower", "s", filter_lower},
    {"pprint", "value", filter_pprint},
    {"replace", "s old new count=", filter_replace},
    {"string", "s", filter_string},
    {"title", "s", filter_title},
    {"trim", "value chars=", filter_trim},
    {"truncate", "s length= killwords= end= leeway=", filter_truncate},
    {"upper", "s", filter_upper},
    {"wordcount", "s", filter_wordcount},
    {"wordwrap", "s width= break_long_words= wrapstring= break_on_hyphens=",
     filter_wordwrap},
};

} // namespace

std::span<const Filter> text_filters() { return filters_of_texts; }

} // namespace baton::jinja

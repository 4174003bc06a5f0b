//===- text_methods.cpp - methods of Python's str -------------------------===//

#include "runtime/jinja/methods.h"

#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/text_format.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

const std::string &demand_text(const Value &value) {
  if (!value.is_text())
    throw Failure("expected str, not " + std::string(type_name(value)));
  return value.bytes();
}

/// An argument of a method of Markup is escaped.
std::string argument_of(Rendering &rendering, const Value &self,
                        const Value &argument) {
  const std::string &text = demand_text(argument);
  return self.text().safe && !argument.text().safe
             ? escape_html(rendering, text)
             : text;
}

Value like(const Value &self, std::string text) {
  return Value(std::move(text), self.text().safe);
}

Value list_like(Rendering &rendering, const Value &self,
                const std::vector<std::string_view> &parts) {
  rendering.make(parts.size(), sizeof(Value) + sizeof(Text));
  rendering.make(self.bytes().size());
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts)
    items.emplace_back(part, self.text().safe);
  return make_list(std::move(items));
}

template <std::string (*change)(std::string_view)>
Value changed(Rendering &rendering, const Value &self, const Bound &) {
  rendering.make(self.bytes().size(), 2);
  return like(self, change(self.bytes()));
}

template <bool left, bool right>
Value stripped(Rendering &rendering, const Value &self, const Bound &given) {
  rendering.make(self.bytes().size());
  if (!given.given(0) || given[0].is_none())
    return like(self,
                std::string(strip(self.bytes(), std::nullopt, left, right)));
  const std::string set = argument_of(rendering, self, given[0]);
  rendering.make(set.size(), sizeof(char32_t));
  return like(self, std::string(strip(self.bytes(), set, left, right)));
}

template <bool from_right>
Value split_at(Rendering &rendering, const Value &self, const Bound &given) {
  const Integer most = given.integer_or(1, -1);
  if (!given.given(0) || given[0].is_none())
    return list_like(
        rendering, self,
        split_text(rendering, self.bytes(), std::nullopt, most, from_right));
  return list_like(rendering, self,
                   split_text(rendering, self.bytes(), demand_text(given[0]),
                              most, from_right));
}

Value split_in_lines(Rendering &rendering, const Value &self,
                     const Bound &given) {
  return list_like(rendering, self,
                   split_lines(self.bytes(), given.integer_or(0, 0) != 0));
}

template <bool from_right>
Value partition(Rendering &rendering, const Value &self, const Bound &given) {
  const std::string separator = argument_of(rendering, self, given[0]);
  const auto parts =
      split_text(rendering, self.bytes(), separator, 1, from_right);
  rendering.make(self.bytes().size());
  if (parts.size() == 2)
    return make_tuple({like(self, std::string(parts[0])), like(self, separator),
                       like(self, std::string(parts[1]))});
  return from_right ? make_tuple({like(self, ""), like(self, ""), self})
                    : make_tuple({self, like(self, ""), like(self, "")});
}

/// The characters from start to end of a search, as bytes.
struct SearchSpan {
  size_t begin, end;
  bool empty_past_end;
};

SearchSpan search_span(const Value &self, const Bound &given) {
  const Text &text = self.text();
  const auto length = static_cast<Integer>(text.characters);
  const auto clamp = [&](std::optional<Integer> bound, Integer otherwise) {
    const Integer value = bound.value_or(otherwise);
    return std::max<Integer>(value < 0 ? value + length : value, 0);
  };
  const Integer start = clamp(given.integer(1), 0);
  const Integer end = std::min(clamp(given.integer(2), length), length);
  if (start > end)
    return {0, 0, true};
  return {offset_of(text.bytes, static_cast<size_t>(start)),
          offset_of(text.bytes, static_cast<size_t>(end)), false};
}

/// The last occurrence, in linear time.
size_t find_last(std::string_view text, std::string_view part) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::string wanted(part.rbegin(), part.rend());
  const size_t found = find_text(backwards, wanted);
  return found == std::string::npos ? found : text.size() - found - part.size();
}

/// The number of the character, or -1.
template <bool from_right>
Integer find_in(Rendering &rendering, const Value &self, const Bound &given) {
  const std::string &part = demand_text(given[0]);
  rendering.make(self.bytes().size());
  const SearchSpan span = search_span(self, given);
  if (span.empty_past_end)
    return -1;
  const auto text =
      std::string_view(self.bytes()).substr(span.begin, span.end - span.begin);
  const size_t found =
      from_right ? find_last(text, part) : find_text(text, part);
  if (found == std::string::npos)
    return -1;
  return static_cast<Integer>(count_characters(
      std::string_view(self.bytes()).substr(0, span.begin + found)));
}

template <bool from_right>
Value find_position(Rendering &rendering, const Value &self,
                    const Bound &given) {
  return Value(find_in<from_right>(rendering, self, given));
}

template <bool from_right>
Value demand_position(Rendering &rendering, const Value &self,
                      const Bound &given) {
  const Integer found = find_in<from_right>(rendering, self, given);
  if (found < 0)
    throw Failure("substring not found");
  return Value(found);
}

Value count_parts(Rendering &rendering, const Value &self, const Bound &given) {
  const std::string &part = demand_text(given[0]);
  rendering.make(self.bytes().size());
  const SearchSpan span = search_span(self, given);
  if (span.empty_past_end)
    return Value(Integer(0));
  const auto text =
      std::string_view(self.bytes()).substr(span.begin, span.end - span.begin);
  if (part.empty())
    return Value::of_size(count_characters(text) + 1);
  size_t count = 0;
  for (size_t at = find_text(text, part); at != std::string_view::npos;
       at = find_text(text, part, at + part.size()))
    ++count;
  return Value::of_size(count);
}

template <bool at_end>
Value has_affix(Rendering &rendering, const Value &self, const Bound &given) {
  const SearchSpan span = search_span(self, given);
  const auto text =
      std::string_view(self.bytes()).substr(span.begin, span.end - span.begin);
  const auto matches = [&](const Value &affix) {
    const std::string &part = demand_text(affix);
    return !span.empty_past_end &&
           (at_end ? text.ends_with(part) : text.starts_with(part));
  };
  if (!given[0].is(Object::Kind::Tuple)) {
    if (!given[0].is_text())
      throw Failure(std::string(at_end ? "endswith" : "startswith") +
                    " first arg must be str or a tuple of str, not " +
                    std::string(type_name(given[0])));
    return Value(matches(given[0]));
  }
  for (const Value &affix : given[0].as<List>().items) {
    rendering.step();
    if (matches(affix))
      return Value(true);
  }
  return Value(false);
}

template <bool at_end>
Value without_affix(Rendering &rendering, const Value &self,
                    const Bound &given) {
  const std::string affix = argument_of(rendering, self, given[0]);
  std::string_view text = self.bytes();
  rendering.make(text.size());
  if (at_end && text.ends_with(affix))
    text.remove_suffix(affix.size());
  else if (!at_end && text.starts_with(affix))
    text.remove_prefix(affix.size());
  return like(self, std::string(text));
}

Value replaced(Rendering &rendering, const Value &self, const Bound &given) {
  const std::string from = argument_of(rendering, self, given[0]);
  const std::string to = argument_of(rendering, self, given[1]);
  return like(self, replace_text(rendering, self.bytes(), from, to,
                                 given.integer_or(2, -1)));
}

Value joined(Rendering &rendering, const Value &self, const Bound &given) {
  std::vector<std::string> items;
  for (const Value &item : items_of(rendering, given[0])) {
    if (self.text().safe)
      items.push_back(to_markup(rendering, item).bytes());
    else if (item.is_text()) {
      rendering.make(item.bytes().size());
      items.push_back(item.bytes());
    } else
      throw Failure("sequence item " + std::to_string(items.size()) +
                    ": expected str instance, " + std::string(type_name(item)) +
                    " found");
  }
  return like(self, join_texts(rendering, self.bytes(), items));
}

template <bool (*wanted)(char32_t)>
Value all_characters(Rendering &rendering, const Value &self, const Bound &) {
  rendering.make(self.bytes().size());
  const std::u32string characters = characters_of(self.bytes());
  return Value(!characters.empty() &&
               std::all_of(characters.begin(), characters.end(), wanted));
}

bool is_alphanumeric(char32_t character) {
  return is_alphabetic(character) || is_numeric(character);
}

bool is_ascii(char32_t character) { return character < 0x80; }

template <bool (*wanted)(char32_t)>
Value all_or_none(Rendering &rendering, const Value &self, const Bound &given) {
  return self.bytes().empty() ? Value(true)
                              : all_characters<wanted>(rendering, self, given);
}

/// isupper() with `wanted` is_upper: no letter of other cases, and one of this.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value of_case(Rendering &rendering, const Value &self, const Bound &) {
  rendering.make(self.bytes().size());
  bool found = false;
  for (const char32_t character : characters_of(self.bytes())) {
    if (other(character) || is_title(character))
      return Value(false);
    found |= wanted(character);
  }
  return Value(found);
}

Value in_title_case(Rendering &rendering, const Value &self, const Bound &) {
  rendering.make(self.bytes().size());
  bool found = false, inside = false;
  for (const char32_t character : characters_of(self.bytes())) {
    if (is_upper(character) || is_title(character)) {
      if (inside)
        return Value(false);
      found = inside = true;
    } else if (is_lower(character)) {
      if (!inside)
        return Value(false);
    } else
      inside = false;
  }
  return Value(found);
}

Value is_identifier(Rendering &rendering, const Value &self, const Bound &) {
  rendering.make(self.bytes().size());
  const std::u32string characters = characters_of(self.bytes());
  return Value(
      !characters.empty() && begins_identifier(characters[0]) &&
      std::all_of(characters.begin(), characters.end(), continues_identifier));
}

std::string fill_of(Rendering &rendering, const Value &self,
                    const Bound &given) {
  if (!given.given(1))
    return " ";
  const std::string fill = argument_of(rendering, self, given[1]);
  if (count_characters(fill) != 1)
    throw Failure("The fill character must be exactly one character long");
  return fill;
}

Value centered(Rendering &rendering, const Value &self, const Bound &given) {
  return like(self, center_text(rendering, self.text(), given.integer_or(0, 0),
                                fill_of(rendering, self, given)));
}

size_t missing_of(Rendering &rendering, const Text &text, Integer width,
                  size_t fill_size) {
  rendering.make(text.bytes.size());
  if (width <= static_cast<Integer>(text.characters))
    return 0;
  const Integer missing = width - static_cast<Integer>(text.characters);
  rendering.make(static_cast<uint64_t>(std::min<Integer>(missing, INT64_MAX)),
                 fill_size);
  return static_cast<size_t>(missing);
}

std::string repeated(std::string_view part, size_t count) {
  std::string result;
  for (size_t time = 0; time < count; ++time)
    result += part;
  return result;
}

template <bool left>
Value justified(Rendering &rendering, const Value &self, const Bound &given) {
  const std::string fill = fill_of(rendering, self, given);
  const std::string padding =
      repeated(fill, missing_of(rendering, self.text(), given.integer_or(0, 0),
                                fill.size()));
  return like(self, left ? self.bytes() + padding : padding + self.bytes());
}

Value zero_filled(Rendering &rendering, const Value &self, const Bound &given) {
  const std::string &text = self.bytes();
  const std::string zeros(
      missing_of(rendering, self.text(), given.integer_or(0, 0), 1), '0');
  const size_t sign =
      !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  return like(self, text.substr(0, sign) + zeros + text.substr(sign));
}

Value expanded_tabs(Rendering &rendering, const Value &self,
                    const Bound &given) {
  const Integer tab = given.integer_or(0, 8);
  std::string result;
  Integer column = 0;
  const std::string &text = self.bytes();
  for (size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (character != '\t') {
      append_character(result, character);
      column = character == '\n' || character == '\r' ? 0 : column + 1;
      continue;
    }
    if (tab <= 0)
      continue;
    const Integer count = tab - column % tab;
    rendering.make(static_cast<uint64_t>(std::min<Integer>(count, INT64_MAX)));
    result += std::string(static_cast<size_t>(count), ' ');
    column += count;
  }
  rendering.make(text.size());
  return like(self, std::move(result));
}

Value brace_formatted(Rendering &rendering, const Value &self,
                      const Bound &given) {
  return brace_format(rendering, self, given.rest);
}

Value brace_formatted_of_map(Rendering &rendering, const Value &self,
                             const Bound &given) {
  if (!given[0].is(Object::Kind::Dictionary))
    throw Failure("format_map() takes a dict");
  Arguments arguments;
  for (const auto &[key, value] : given[0].as<Dictionary>().entries())
    if (key.is_text())
      arguments.keywords.emplace_back(key.bytes(), value);
  return brace_format(rendering, self, arguments);
}

constexpr Method methods_of_text[] = {
    {"capitalize", "", changed<capitalize>},
    {"casefold", "", changed<fold_case>},
    {"center", "width fillchar= /", centered},
    {"count", "sub start= end= /", count_parts},
    {"endswith", "suffix start= end= /", has_affix<true>},
    {"expandtabs", "tabsize=", expanded_tabs},
    {"find", "sub start= end= /", find_position<false>},
    {"format", "* **", brace_formatted},
    {"format_map", "mapping /", brace_formatted_of_map},
    {"index", "sub start= end= /", demand_position<false>},
    {"isalnum", "", all_characters<is_alphanumeric>},
    {"isalpha", "", all_characters<is_alphabetic>},
    {"isascii", "", all_or_none<is_ascii>},
    {"isdecimal", "", all_characters<is_decimal>},
    {"isdigit", "", all_characters<is_digit>},
    {"isidentifier", "", is_identifier},
    {"islower", "", of_case<is_lower, is_upper>},
    {"isnumeric", "", all_characters<is_numeric>},
    {"isprintable", "", all_or_none<is_printable>},
    {"isspace", "", all_characters<is_space>},
    {"istitle", "", in_title_case},
    {"isupper", "", of_case<is_upper, is_lower>},
    {"join", "iterable /", joined},
    {"ljust", "width fillchar= /", justified<true>},
    {"lower", "", changed<lower>},
    {"lstrip", "chars= /", stripped<true, false>},
    {"partition", "sep /", partition<false>},
    {"removeprefix", "prefix /", without_affix<false>},
    {"removesuffix", "suffix /", without_affix<true>},
    {"replace", "old new count= /", replaced},
    {"rfind", "sub start= end= /", find_position<true>},
    {"rindex", "sub start= end= /", demand_position<true>},
    {"rjust", "width fillchar= /", justified<false>},
    {"rpartition", "sep /", partition<true>},
    {"rsplit", "sep= maxsplit=", split_at<true>},
    {"rstrip", "chars= /", stripped<false, true>},
    {"split", "sep= maxsplit=", split_at<false>},
    {"splitlines", "keepends=", split_in_lines},
    {"startswith", "prefix start= end= /", has_affix<false>},
    {"strip", "chars= /", stripped<true, true>},
    {"swapcase", "", changed<swap_case>},
    {"title", "", changed<title>},
    {"upper", "", changed<upper>},
    {"zfill", "width /", zero_filled},
};

/// Pieces between white space; `most` cuts, from the left or the right.
std::vector<std::string_view> split_at_space(std::string_view text,
                                             Integer most, bool from_right) {
  std::vector<std::pair<size_t, size_t>> words;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const bool space = is_space(next_character(text, at));
    if (space) {
      inside = false;
      continue;
    }
    if (!inside)
      words.emplace_back(begin, at);
    words.back().second = at;
    inside = true;
  }
  const auto count = static_cast<Integer>(words.size());
  const bool all = most < 0 || most >= count;
  std::vector<std::string_view> parts;
  for (Integer word = 0; word < count; ++word) {
    const auto [begin, end] = words[static_cast<size_t>(word)];
    // What is not cut keeps the white space inside of it.
    if (!all && !from_right && word == most) {
      parts.push_back(text.substr(begin, words.back().second - begin));
      std::string_view &rest = parts.back();
      rest = strip(text.substr(begin), std::nullopt, true, false);
      break;
    }
    if (!all && from_right && word < count - most) {
      if (word == count - most - 1)
        parts.push_back(strip(text.substr(0, end), std::nullopt, false, true));
      continue;
    }
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

} // namespace

std::span<const Method> text_methods() { return methods_of_text; }

std::string replace_text(Rendering &rendering, std::string_view text,
                         std::string_view from, std::string_view to,
                         Integer count) {
  std::string result;
  rendering.make(text.size());
  size_t at = 0;
  if (from.empty()) {
    for (; count != 0; --count) {
      rendering.make(to.size());
      result += to;
      if (at == text.size())
        return result;
      const size_t begin = at;
      next_character(text, at);
      result += text.substr(begin, at - begin);
    }
    return result += text.substr(at);
  }
  for (; count != 0; --count) {
    const size_t found = find_text(text, from, at);
    if (found == std::string_view::npos)
      break;
    rendering.make(to.size());
    result += text.substr(at, found - at);
    result += to;
    at = found + from.size();
  }
  return result += text.substr(at);
}

std::vector<std::string_view>
split_text(Rendering &rendering, std::string_view text,
           std::optional<std::string_view> separator, Integer most,
           bool from_right) {
  rendering.make(text.size());
  if (!separator)
    return split_at_space(text, most, from_right);
  if (separator->empty())
    throw Failure("empty separator");
  std::vector<std::string_view> parts;
  if (!from_right) {
    size_t at = 0;
    for (; most != 0; --most) {
      const size_t found = find_text(text, *separator, at);
      if (found == std::string_view::npos)
        break;
      parts.push_back(text.substr(at, found - at));
      at = found + separator->size();
    }
    parts.push_back(text.substr(at));
    return parts;
  }
  const std::string backwards(text.rbegin(), text.rend());
  const std::string wanted(separator->rbegin(), separator->rend());
  size_t at = 0;
  for (; most != 0; --most) {
    const size_t found = find_text(backwards, wanted, at);
    if (found == std::string::npos)
      break;
    parts.push_back(text.substr(text.size() - found, found - at));
    at = found + separator->size();
  }
  parts.push_back(text.substr(0, text.size() - at));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::string join_texts(Rendering &rendering, std::string_view separator,
                       const std::vector<std::string> &items) {
  if (!items.empty())
    rendering.make(items.size() - 1, separator.size());
  std::string result;
  for (size_t at = 0; at < items.size(); ++at) {
    if (at)
      result += separator;
    result += items[at];
  }
  rendering.make(result.size());
  return result;
}

std::string center_text(Rendering &rendering, const Text &text, Integer width,
                        std::string_view fill) {
  const size_t missing = missing_of(rendering, text, width, fill.size());
  // Python's choice of the side for what is odd.
  const size_t left = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  return repeated(fill, left) + text.bytes + repeated(fill, missing - left);
}

} // namespace baton::jinja

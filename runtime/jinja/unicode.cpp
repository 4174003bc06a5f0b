//===- unicode.cpp - characters of UTF-8 text, as Python's str has them ---===//

#include "runtime/jinja/unicode.h"

#include "runtime/jinja/unicode_tables.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace baton::jinja {

namespace {

utf8proc_category_t category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

template <size_t count>
bool in_ranges(const CharacterRange (&ranges)[count], char32_t character) {
  return std::any_of(
      std::begin(ranges), std::end(ranges), [&](const CharacterRange &range) {
        return range.first <= character && character <= range.last;
      });
}

const SpecialCase *special_case(char32_t character) {
  const auto *found = std::lower_bound(
      std::begin(special_cases), std::end(special_cases), character,
      [](const SpecialCase &entry, char32_t wanted) {
        return entry.character < wanted;
      });
  return found != std::end(special_cases) && found->character == character
             ? found
             : nullptr;
}

void append_upper(std::string &result, char32_t character) {
  if (const SpecialCase *special = special_case(character))
    result += special->upper;
  else
    append_character(result, static_cast<char32_t>(utf8proc_toupper(
                                 static_cast<utf8proc_int32_t>(character))));
}

void append_title(std::string &result, char32_t character) {
  if (const SpecialCase *special = special_case(character))
    result += special->title;
  else
    append_character(result, static_cast<char32_t>(utf8proc_totitle(
                                 static_cast<utf8proc_int32_t>(character))));
}

bool is_cased(char32_t character) {
  return is_upper(character) || is_lower(character) || is_title(character);
}

/// Unicode's Case_Ignorable, nearly: what stands inside of words.
bool is_case_ignorable(char32_t character) {
  switch (category(character)) {
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_SK:
    return true;
  default:
    return std::u32string_view(U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019"
                               U"\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E"
                               U"\uFF1A")
               .find(character) != std::u32string_view::npos;
  }
}

/// A sigma that ends a word has a form of its own.
bool is_final_sigma(const std::u32string &text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1]))
    --before;
  if (before == 0 || !is_cased(text[before - 1]))
    return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after]))
    ++after;
  return after == text.size() || !is_cased(text[after]);
}

void append_lower(std::string &result, const std::u32string &text, size_t at) {
  const char32_t character = text[at];
  if (character == 0x130)
    result += "i\u0307";
  else if (character == 0x3A3)
    result += is_final_sigma(text, at) ? "\u03C2" : "\u03C3";
  else
    append_character(result, static_cast<char32_t>(utf8proc_tolower(
                                 static_cast<utf8proc_int32_t>(character))));
}

} // namespace

bool is_well_formed(std::string_view text) {
  const auto *bytes = reinterpret_cast<const utf8proc_uint8_t *>(text.data());
  size_t at = 0;
  while (at < text.size()) {
    if (bytes[at] < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t character;
    const utf8proc_ssize_t size = utf8proc_iterate(
        bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at),
        &character);
    if (size <= 0)
      return false;
    at += static_cast<size_t>(size);
  }
  return true;
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
      }));
}

char32_t next_character(std::string_view text, size_t &at) {
  const auto byte = [&](size_t position) -> char32_t {
    return position < text.size() ? static_cast<unsigned char>(text[position])
                                  : 0;
  };
  const char32_t lead = byte(at);
  const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t character = size == 1 ? lead : lead & (0xFFu >> (size + 1));
  for (size_t next = 1; next < size; ++next)
    character = character << 6 | (byte(at + next) & 0x3F);
  at = std::min(at + size, text.size());
  return character;
}

size_t offset_of(std::string_view text, size_t character) {
  size_t at = 0;
  while (at < text.size() && character > 0) {
    do
      ++at;
    while (at < text.size() &&
           (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    --character;
  }
  return at;
}

std::u32string characters_of(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();)
    result += next_character(text, at);
  return result;
}

void append_character(std::string &text, char32_t character) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  text.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(size));
}

bool is_space(char32_t character) {
  return (character >= 0x09 && character <= 0x0D) ||
         (character >= 0x1C && character <= 0x20) || character == 0x85 ||
         (character >= 0x80 && category(character) == UTF8PROC_CATEGORY_ZS) ||
         character == 0x2028 || character == 0x2029;
}

bool ends_line(char32_t character) {
  return (character >= 0x0A && character <= 0x0D) ||
         (character >= 0x1C && character <= 0x1E) || character == 0x85 ||
         character == 0x2028 || character == 0x2029;
}

bool is_decimal(char32_t character) {
  return category(character) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t character) {
  return is_decimal(character) || in_ranges(other_digits, character);
}

bool is_numeric(char32_t character) {
  switch (category(character)) {
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_NO:
    return true;
  default:
    return in_ranges(numeric_ideographs, character);
  }
}

bool is_alphabetic(char32_t character) {
  const utf8proc_category_t found = category(character);
  return found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
}

bool is_upper(char32_t character) {
  return utf8proc_isupper(static_cast<utf8proc_int32_t>(character));
}

bool is_lower(char32_t character) {
  return utf8proc_islower(static_cast<utf8proc_int32_t>(character));
}

bool is_title(char32_t character) {
  return category(character) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(char32_t character) {
  if (character < 0x7F)
    return character >= 0x20;
  switch (category(character)) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
  case UTF8PROC_CATEGORY_ZS:
    return false;
  default:
    return true;
  }
}

bool is_word(char32_t character) {
  return character == '_' || is_alphabetic(character) || is_numeric(character);
}

bool begins_identifier(char32_t character) {
  return character == '_' || is_alphabetic(character) ||
         category(character) == UTF8PROC_CATEGORY_NL;
}

bool continues_identifier(char32_t character) {
  if (begins_identifier(character))
    return true;
  switch (category(character)) {
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    return character == 0xB7;
  }
}

std::optional<int> decimal_value(char32_t character) {
  if (!is_decimal(character))
    return std::nullopt;
  // Decimal digits come in runs of ten, and some runs touch.
  char32_t first = character;
  while (first > 0 && is_decimal(first - 1))
    --first;
  return static_cast<int>((character - first) % 10);
}

std::string upper(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();)
    append_upper(result, next_character(text, at));
  return result;
}

std::string lower(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < characters.size(); ++at)
    append_lower(result, characters, at);
  return result;
}

std::string title(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string result;
  bool inside = false;
  for (size_t at = 0; at < characters.size(); ++at) {
    if (inside)
      append_lower(result, characters, at);
    else
      append_title(result, characters[at]);
    inside = is_cased(characters[at]);
  }
  return result;
}

std::string capitalize(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string result;
  for (size_t at = 0; at < characters.size(); ++at)
    if (at == 0)
      append_title(result, characters[at]);
    else
      append_lower(result, characters, at);
  return result;
}

std::string swap_case(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string result;
  for (size_t at = 0; at < characters.size(); ++at)
    if (is_upper(characters[at]))
      append_lower(result, characters, at);
    else if (is_lower(characters[at]))
      append_upper(result, characters[at]);
    else
      append_character(result, characters[at]);
  return result;
}

std::string fold_case(std::string_view text) {
  utf8proc_uint8_t *folded = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &folded, UTF8PROC_CASEFOLD);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(
      folded, &std::free);
  if (size < 0)
    return std::string(text);
  return std::string(reinterpret_cast<const char *>(folded),
                     static_cast<size_t>(size));
}

std::string_view strip(std::string_view text,
                       std::optional<std::string_view> set, bool left,
                       bool right) {
  std::u32string wanted = set ? characters_of(*set) : std::u32string();
  std::sort(wanted.begin(), wanted.end());
  const auto stripped = [&](char32_t character) {
    return set ? std::binary_search(wanted.begin(), wanted.end(), character)
               : is_space(character);
  };
  while (left && !text.empty()) {
    size_t at = 0;
    if (!stripped(next_character(text, at)))
      break;
    text.remove_prefix(at);
  }
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 &&
           (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
      --begin;
    size_t at = begin;
    if (!stripped(next_character(text, at)))
      break;
    text = text.substr(0, begin);
  }
  return text;
}

std::vector<std::string_view> split_lines(std::string_view text,
                                          bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0, at = 0;
  while (at < text.size()) {
    const size_t end = at;
    const char32_t character = next_character(text, at);
    if (!ends_line(character))
      continue;
    if (character == '\r' && at < text.size() && text[at] == '\n')
      ++at;
    lines.push_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size())
    lines.push_back(text.substr(begin));
  return lines;
}

} // namespace baton::jinja

//===- unicode.h - characters of UTF-8 text, as Python's str has them -----===//
//
// A character is a code point. All texts here are well-formed UTF-8, which
// is_well_formed says of what comes from outside.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_UNICODE_H
#define BATON_RUNTIME_JINJA_UNICODE_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::jinja {

bool is_well_formed(std::string_view text);

size_t count_characters(std::string_view text);
/// The character that begins at byte `at`, which moves behind it.
char32_t next_character(std::string_view text, size_t &at);
/// The byte at which the character with this number begins, or the size.
size_t offset_of(std::string_view text, size_t character);
std::u32string characters_of(std::string_view text);
void append_character(std::string &text, char32_t character);

/// str.isspace() of one character, and what \s matches in a pattern.
bool is_space(char32_t character);
/// Where str.splitlines() ends a line.
bool ends_line(char32_t character);
bool is_decimal(char32_t character);
bool is_digit(char32_t character);
bool is_numeric(char32_t character);
bool is_alphabetic(char32_t character);
bool is_upper(char32_t character);
bool is_lower(char32_t character);
bool is_title(char32_t character);
/// Whether repr() shows it as it is.
bool is_printable(char32_t character);
/// \w of a pattern.
bool is_word(char32_t character);
bool begins_identifier(char32_t character);
bool continues_identifier(char32_t character);
/// The value of a decimal digit in any script.
std::optional<int> decimal_value(char32_t character);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);
std::string capitalize(std::string_view text);
std::string swap_case(std::string_view text);
std::string fold_case(std::string_view text);

/// The text without white space, or without characters of `set`, at its ends.
std::string_view strip(std::string_view text,
                       std::optional<std::string_view> set, bool left,
                       bool right);
std::vector<std::string_view> split_lines(std::string_view text,
                                          bool keep_ends);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_UNICODE_H

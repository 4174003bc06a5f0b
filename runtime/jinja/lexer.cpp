//===- lexer.cpp - the text of a template as tokens -----------------------===//

#include "runtime/jinja/lexer.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>
#include <cctype>

namespace baton::jinja {

namespace {

[[noreturn]] void fail_lexing(size_t at, std::string message) {
  Failure failure(std::move(message));
  failure.at = at;
  throw failure;
}

bool is_ascii_digit(char character) {
  return character >= '0' && character <= '9';
}

/// What a literal's text between its quotes says.
class Unescaper {
public:
  Unescaper(std::string_view text, size_t place) : text(text), place(place) {}

  std::string run() {
    while (at < text.size())
      if (text[at] != '\\')
        result += text[at++];
      else {
        ++at;
        escape();
      }
    return std::move(result);
  }

private:
  void escape() {
    if (at == text.size())
      fail_lexing(place, "\\ at end of string");
    const char letter = text[at];
    static constexpr std::string_view plain = "\\'\"abfnrtv";
    static constexpr std::string_view meant = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t found = plain.find(letter);
        found != std::string_view::npos) {
      result += meant[found];
      ++at;
    } else if (letter == '\n')
      ++at;
    else if (letter >= '0' && letter <= '7')
      append_octal();
    else if (letter == 'x' || letter == 'u' || letter == 'U')
      append_hexadecimal(letter == 'x' ? 2 : letter == 'u' ? 4 : 8);
    else if (letter == 'N')
      fail_lexing(place, "\\N{...} in texts is not supported");
    else
      append_unknown();
  }

  void append_octal() {
    char32_t character = 0;
    for (int digit = 0;
         digit < 3 && at < text.size() && text[at] >= '0' && text[at] <= '7';
         ++digit)
      character = character * 8 + static_cast<char32_t>(text[at++] - '0');
    append_character(result, character);
  }

  void append_hexadecimal(int digits) {
    ++at;
    char32_t character = 0;
    for (int digit = 0; digit < digits; ++digit, ++at) {
      if (at == text.size() ||
          !std::isxdigit(static_cast<unsigned char>(text[at])))
        fail_lexing(place, "truncated \\x, \\u or \\U escape");
      character = character * 16 +
                  static_cast<char32_t>(*parse_integer(text.substr(at, 1), 16));
    }
    if (character > 0x10FFFF)
      fail_lexing(place, "illegal Unicode character");
    if (character >= 0xD800 && character < 0xE000)
      fail_lexing(place, "surrogates in texts are not supported");
    append_character(result, character);
  }

  /// Python keeps the backslash, and behind it spells what is no ASCII.
  void append_unknown() {
    result += '\\';
    const char32_t character = next_character(text, at);
    if (character < 0x80) {
      append_character(result, character);
      return;
    }
    const std::string digits =
        integer_text(static_cast<Integer>(character), 16);
    const size_t size = character < 0x100 ? 2 : character < 0x10000 ? 4 : 8;
    result += size == 2 ? 'x' : size == 4 ? 'u' : 'U';
    result += std::string(size - digits.size(), '0') + digits;
  }

  std::string_view text;
  size_t place, at = 0;
  std::string result;
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    while (at < text.size())
      read_data();
    tokens.push_back({Token::End, at, "", {}});
    return std::move(tokens);
  }

private:
  bool starts(size_t position, std::string_view part) const {
    return text.substr(std::min(position, text.size())).starts_with(part);
  }

  size_t behind_space(size_t position) const {
    while (position < text.size()) {
      size_t next = position;
      if (!is_space(next_character(text, next)))
        break;
      position = next;
    }
    return position;
  }

  bool is_sign(size_t position) const {
    return position < text.size() &&
           (text[position] == '-' || text[position] == '+');
  }

  /// Behind {% raw %}, or npos where that is not here.
  size_t behind_raw_begin(size_t position) const {
    position = behind_space(position + 2 + is_sign(position + 2));
    if (!starts(position, "raw"))
      return std::string_view::npos;
    position = behind_space(position + 3);
    if (starts(position, "-%}"))
      return behind_space(position + 3);
    return starts(position, "%}") ? position + 2 : std::string_view::npos;
  }

  /// Behind the end of a tag, where it is here: with a sign, white space, or
  /// one line's end.
  size_t behind_tag_end(size_t position, std::string_view end,
                        bool trims) const {
    if (starts(position, "-") && starts(position + 1, end))
      return behind_space(position + 1 + end.size());
    if (trims && starts(position, "+") && starts(position + 1, end))
      return position + 1 + end.size();
    if (!starts(position, end))
      return std::string_view::npos;
    position += end.size();
    return trims && starts(position, "\n") ? position + 1 : position;
  }

  /// The data before a tag, as the tag's sign leaves it.
  std::string_view before_tag(size_t begin, size_t tag) const {
    const std::string_view data = text.substr(begin, tag - begin);
    const char sign = is_sign(tag + 2) ? text[tag + 2] : '\0';
    if (sign == '-')
      return strip(data, std::nullopt, false, true);
    if (sign == '+' || text[tag + 1] == '{')
      return data;
    const size_t newline = data.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !line_starting)
      return data;
    return strip(data.substr(line), std::nullopt, true, false).empty()
               ? data.substr(0, line)
               : data;
  }

  void add_data(size_t begin, std::string_view data) {
    if (!data.empty())
      tokens.push_back({Token::Data, begin, std::string(data), {}});
  }

  void moved_to(size_t position) {
    line_starting = position > 0 && text[position - 1] == '\n';
    at = position;
  }

  void read_data() {
    size_t tag = at;
    while (tag < text.size() &&
           !(starts(tag, "{{") || starts(tag, "{%") || starts(tag, "{#")))
      ++tag;
    if (tag >= text.size()) {
      add_data(at, text.substr(at));
      at = text.size();
      return;
    }
    add_data(at, before_tag(at, tag));
    if (text[tag + 1] == '#')
      read_comment(tag);
    else if (text[tag + 1] == '{') {
      tokens.push_back({Token::PrintBegin, tag, "", {}});
      at = tag + 2 + is_sign(tag + 2);
      read_tag(Token::PrintEnd, "}}", false);
    } else if (const size_t raw = behind_raw_begin(tag);
               raw != std::string_view::npos)
      read_raw(tag, raw);
    else {
      tokens.push_back({Token::BlockBegin, tag, "", {}});
      at = tag + 2 + is_sign(tag + 2);
      read_tag(Token::BlockEnd, "%}", true);
    }
  }

  void read_comment(size_t tag) {
    for (size_t position = tag + 2 + is_sign(tag + 2); position < text.size();
         ++position)
      if (const size_t end = behind_tag_end(position, "#}", true);
          end != std::string_view::npos) {
        moved_to(end);
        return;
      }
    // One that has no end at all is no error.
    if (tag + 2 + is_sign(tag + 2) >= text.size()) {
      at = text.size();
      return;
    }
    fail_lexing(tag, "Missing end of comment tag");
  }

  void read_raw(size_t tag, size_t begin) {
    line_starting = begin > 0 && text[begin - 1] == '\n';
    for (size_t position = text.find("{%", begin);
         position != std::string_view::npos;
         position = text.find("{%", position + 1)) {
      size_t word = behind_space(position + 2 + is_sign(position + 2));
      if (!starts(word, "endraw"))
        continue;
      word = behind_space(word + 6);
      const size_t end = behind_tag_end(word, "%}", true);
      if (end == std::string_view::npos)
        continue;
      add_data(begin, before_tag(begin, position));
      moved_to(end);
      return;
    }
    if (begin >= text.size()) {
      at = text.size();
      return;
    }
    fail_lexing(tag, "Missing end of raw directive");
  }

  /// Tokens up to the tag's end, which brackets that are open hide.
  void read_tag(Token::Kind end_kind, std::string_view end, bool trims) {
    std::string brackets;
    while (at < text.size()) {
      if (brackets.empty())
        if (const size_t behind = behind_tag_end(at, end, trims);
            behind != std::string_view::npos) {
          tokens.push_back({end_kind, at, "", {}});
          moved_to(behind);
          return;
        }
      if (const size_t behind = behind_space(at); behind > at)
        at = behind;
      else if (is_ascii_digit(text[at]))
        read_number();
      else if (text[at] == '\'' || text[at] == '"')
        read_text();
      else if (!read_name())
        read_operator(brackets);
    }
  }

  /// Behind digits that single underscores separate.
  size_t behind_digits(size_t position) const {
    while (position < text.size()) {
      if (is_ascii_digit(text[position]))
        ++position;
      else if (text[position] == '_' && position + 1 < text.size() &&
               is_ascii_digit(text[position + 1]))
        position += 2;
      else
        break;
    }
    return position;
  }

  /// Behind e+5, or npos where there is no exponent.
  size_t behind_exponent(size_t position) const {
    if (position >= text.size() ||
        (text[position] != 'e' && text[position] != 'E'))
      return std::string_view::npos;
    position += 1 + is_sign(position + 1);
    return position < text.size() && is_ascii_digit(text[position])
               ? behind_digits(position)
               : std::string_view::npos;
  }

  /// Behind a number with a fraction or an exponent, or npos.
  size_t behind_float(size_t position) const {
    if (position > 0 && text[position - 1] == '.')
      return std::string_view::npos;
    const size_t whole = behind_digits(position);
    if (whole + 1 < text.size() && text[whole] == '.' &&
        is_ascii_digit(text[whole + 1])) {
      const size_t fraction = behind_digits(whole + 1);
      const size_t exponent = behind_exponent(fraction);
      return exponent == std::string_view::npos ? fraction : exponent;
    }
    return behind_exponent(whole);
  }

  size_t behind_integer(size_t position) const {
    const auto run = [&](size_t from, std::string_view digits) {
      size_t end = from;
      for (size_t next = from; next < text.size(); ++next) {
        if (text[next] == '_' && next + 1 < text.size())
          ++next;
        if (digits.find(text[next]) == std::string_view::npos)
          break;
        end = next + 1;
      }
      return end;
    };
    if (text[position] != '0')
      return run(position, "0123456789");
    if (position + 1 < text.size()) {
      const char letter = static_cast<char>(
          std::tolower(static_cast<unsigned char>(text[position + 1])));
      const std::string_view digits = letter == 'x'   ? "0123456789abcdefABCDEF"
                                      : letter == 'o' ? "01234567"
                                      : letter == 'b' ? "01"
                                                      : "";
      if (const size_t end = run(position + 2, digits); end > position + 2)
        return end;
    }
    return run(position, "0");
  }

  void read_number() {
    const size_t fraction = behind_float(at);
    const bool is_float = fraction != std::string_view::npos;
    const size_t end = is_float ? fraction : behind_integer(at);
    std::string digits(text.substr(at, end - at));
    std::erase(digits, '_');
    Value value;
    try {
      value = is_float ? Value(*parse_float(digits))
                       : Value(*parse_integer(digits, 0));
    } catch (const Failure &failure) {
      fail_lexing(at, failure.message);
    }
    tokens.push_back(
        {Token::Number, at, is_float ? "float" : "integer", std::move(value)});
    at = end;
  }

  void read_text() {
    size_t end = at + 1;
    while (end < text.size() && text[end] != text[at])
      end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size())
      fail_lexing(at, "unexpected char " + shown(text.substr(at, 1)) +
                          ": the text has no end");
    tokens.push_back({Token::Text,
                      at,
                      Unescaper(text.substr(at + 1, end - at - 1), at).run(),
                      {}});
    at = end + 1;
  }

  bool read_name() {
    size_t end = at;
    if (!begins_identifier(next_character(text, end)))
      return false;
    for (size_t next = end; end < text.size(); end = next)
      if (!continues_identifier(next_character(text, next)))
        break;
    tokens.push_back(
        {Token::Name, at, std::string(text.substr(at, end - at)), {}});
    at = end;
    return true;
  }

  void read_operator(std::string &brackets) {
    static constexpr std::string_view two[] = {
        "//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view one = "+-/*%~[](){}><=.:|,;";
    std::string_view found;
    for (const std::string_view operation : two)
      if (starts(at, operation))
        found = operation;
    if (found.empty() && one.find(text[at]) != std::string_view::npos)
      found = text.substr(at, 1);
    if (found.empty()) {
      size_t end = at;
      next_character(text, end);
      fail_lexing(at, "unexpected char " + shown(text.substr(at, end - at)));
    }
    if (found == "(" || found == "[" || found == "{")
      brackets += found == "(" ? ')' : found == "[" ? ']' : '}';
    else if (found == ")" || found == "]" || found == "}") {
      if (brackets.empty())
        fail_lexing(at, "unexpected '" + std::string(found) + "'");
      if (brackets.back() != found[0])
        fail_lexing(at, "unexpected '" + std::string(found) + "', expected '" +
                            brackets.back() + "'");
      brackets.pop_back();
    }
    tokens.push_back({Token::Operator, at, std::string(found), {}});
    at += found.size();
  }

  const std::string_view text;
  size_t at = 0;
  /// Whether what was read last ended with a line.
  bool line_starting = true;
  std::vector<Token> tokens;
};

} // namespace

std::string normalize_template(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n')
      continue;
    result += text[at] == '\r' ? '\n' : text[at];
  }
  if (result.ends_with('\n'))
    result.pop_back();
  return result;
}

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

std::string describe(const Token &token) {
  switch (token.kind) {
  case Token::Data:
    return "template data / text";
  case Token::BlockBegin:
    return "begin of statement block";
  case Token::BlockEnd:
    return "end of statement block";
  case Token::PrintBegin:
    return "begin of print statement";
  case Token::PrintEnd:
    return "end of print statement";
  case Token::Text:
    return "string";
  case Token::End:
    return "end of template";
  case Token::Name:
  case Token::Number:
  case Token::Operator:
    break;
  }
  return token.text;
}

} // namespace baton::jinja

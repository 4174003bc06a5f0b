//===- regex.cpp - Unicode regular expressions over UTF-8 ----------------===//

#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/tokenizer/regex.h"

#include "runtime/error.h"
#include "runtime/tokenizer/utf8.h"

#include <pcre2.h>

#include <algorithm>
#include <cctype>
#include <new>
#include <utility>

namespace baton {

namespace {

std::string message_of(int code) {
  PCRE2_UCHAR message[256];
  pcre2_get_error_message(code, message, sizeof(message));
  return reinterpret_cast<const char *>(message);
}

constexpr std::string_view white_space = R"(\x{9}-\x{D}\x{85}\p{Z})";
constexpr std::string_view word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
/// Outside of a class also the superscripts and fractions of Latin-1: there
/// Oniguruma asks another table about the first 256 characters.
constexpr std::string_view lone_word =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view hexadecimal = "0-9A-Fa-f";

/// The members of an Oniguruma class that PCRE2 spells differently: White_Space
/// without U+180E; letters, marks, digits and connectors; hexadecimal digits.
std::string_view members_of(char escape, bool in_class) {
  switch (escape) {
  case 's':
  case 'S':
    return white_space;
  case 'w':
  case 'W':
    return in_class ? word : lone_word;
  case 'h':
  case 'H':
    return hexadecimal;
  default:
    return {};
  }
}

/// Those of [:name:], which are Unicode's; nothing for others.
std::string_view members_of_name(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> classes[] = {
      {"alpha", R"(\p{Alphabetic})"}, {"alnum", R"(\p{Alphabetic}\p{Nd})"},
      {"digit", R"(\p{Nd})"},         {"lower", R"(\p{Lowercase})"},
      {"punct", R"(\p{P}\p{S})"},     {"space", white_space},
      {"upper", R"(\p{Uppercase})"},  {"word", word},
      {"xdigit", hexadecimal}};
  for (const auto &[known, members] : classes)
    if (known == name)
      return members;
  return {};
}

pcre2_code *compile(const std::string &pattern, uint32_t options, int &error,
                    PCRE2_SIZE &place) {
  const std::unique_ptr<pcre2_compile_context,
                        void (*)(pcre2_compile_context *)>
      context(pcre2_compile_context_create(nullptr),
              pcre2_compile_context_free);
  if (!context)
    throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  return pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                       pattern.size(), options | PCRE2_UTF, &error, &place,
                       context.get());
}

/// \p{Han} is the script of a character there, in PCRE2 also one that other
/// scripts share: that is \p{sc:Han}. Categories have one or two letters.
bool is_script(std::string_view name) {
  if (name.size() < 3 ||
      !std::all_of(name.begin(), name.end(),
                   [](unsigned char c) { return std::isalpha(c) || c == '_'; }))
    return false;
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code *code =
      compile("\\p{sc:" + std::string(name) + "}", 0, error, place);
  pcre2_code_free(code);
  return code;
}

/// Rewrites a pattern of Oniguruma's syntax for PCRE2.
std::string translate(const std::string &pattern) {
  const auto refuse = [&](const std::string &feature) {
    throw Error("regular expression '" + pattern + "': " + feature +
                " is not supported");
  };
  std::string result;
  bool in_class = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char character = pattern[at];
    const char next = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (character == '\\') {
      if (next == 'p' || next == 'P') {
        const size_t end = pattern.find('}', at);
        const size_t name = pattern.compare(at + 2, 2, "{^") == 0 ? 4 : 3;
        if (at + 2 < pattern.size() && pattern[at + 2] == '{' &&
            end != std::string::npos && end > at + name &&
            is_script(pattern.substr(at + name, end - at - name))) {
          result.append(pattern, at, name).append("sc:");
          at += name - 1;
          continue;
        }
      }
      if (!in_class && (next == 'b' || next == 'B')) {
        const std::string one = "[" + std::string(lone_word) + "]";
        const auto either = [&](const char *before, const char *behind) {
          return "(?<" + (before + one) + ")(?" + behind + one + ")";
        };
        result += next == 'b'
                      ? "(?:" + either("=", "!") + "|" + either("!", "=") + ")"
                      : "(?:" + either("=", "=") + "|" + either("!", "!") + ")";
        ++at;
        continue;
      }
      const std::string_view members = members_of(next, in_class);
      const bool negated = next >= 'A' && next <= 'Z';
      if (members.empty())
        result.append({character, next});
      else if (!in_class)
        result.append(negated ? "[^" : "[").append(members).append("]");
      else if (!negated)
        result.append(members);
      else
        refuse(std::string("\\") + next + " in a class");
      // A lone backslash at the end is left for PCRE2 to complain about.
      if (next == '\0')
        result.resize(result.size() - 1);
      ++at;
      continue;
    }
    if (in_class) {
      if (character == '[' && next != ':')
        refuse("a class in a class");
      if (character == '&' && next == '&')
        refuse("&& in a class");
      if (character == '[') {
        const size_t end = pattern.find(":]", at);
        if (end == std::string::npos)
          refuse("a class in a class");
        const std::string name = pattern.substr(at + 2, end - at - 2);
        const std::string_view members = members_of_name(name);
        if (members.empty())
          refuse("[:" + name + ":]");
        result.append(members);
        at = end + 1;
        continue;
      }
      in_class = character != ']';
    } else if (character == '[') {
      in_class = true;
      result += character;
      // A bracket right at the start is a member, in both syntaxes.
      if (next == '^')
        result += pattern[++at];
      if (at + 1 < pattern.size() && pattern[at + 1] == ']')
        result += pattern[++at];
      continue;
    } else if (character == '(' && next == '?') {
      // There the option m lets a dot match newlines, here it moves ^ and $.
      const size_t end = pattern.find_first_not_of("imxs-", at + 2);
      if (end != std::string::npos &&
          (pattern[end] == ':' || pattern[end] == ')') &&
          pattern.substr(at + 2, end - at - 2).find_first_of("ms") !=
              std::string::npos)
        refuse("the option m or s");
    }
    result += character;
  }
  return result;
}

} // namespace

Regex::Regex(const std::string &pattern)
    // ^ and $ match at every line in Oniguruma's default syntax.
    : Regex(translate(pattern),
            PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C) {}

Regex Regex::literal(const std::string &text) {
  return Regex(text, PCRE2_LITERAL);
}

Regex::Regex(const std::string &pattern, uint32_t options) {
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code *compiled = compile(pattern, options, error, place);
  if (!compiled)
    throw Error("regular expression '" + pattern + "': " + message_of(error) +
                " at byte " + std::to_string(place));
  // Where there is no just-in-time compiler the pattern is interpreted.
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
  code =
      std::shared_ptr<const pcre2_code>(compiled, [](const pcre2_code *code) {
        pcre2_code_free(const_cast<pcre2_code *>(code));
      });
}

void Regex::cut(std::string_view text,
                const std::function<void(std::string_view, bool)> &sink) const {
  if (text.empty())
    return;
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data *)> data(
      pcre2_match_data_create_from_pattern(code.get(), nullptr),
      pcre2_match_data_free);
  if (!data)
    throw std::bad_alloc();
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(data.get());

  size_t done = 0;      // Everything before has been given to the sink.
  size_t from = 0;      // Where the next search begins.
  bool matched = false; // There was a match, and it ended at `done`.
  while (from <= text.size()) {
    const auto match = [&](uint32_t options) {
      return pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                         text.size(), from, options | PCRE2_NO_UTF_CHECK,
                         data.get(), nullptr);
    };
    int result = match(0);
    // The interpreter's memory is bounded less tightly than the compiled
    // code's.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result = match(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH)
      break;
    if (result < 0)
      throw Error(
          "a regular expression of the tokenizer gave up on this text: " +
          message_of(result));
    const size_t start = range[0], end = range[1];
    if (start > end || start < done)
      throw Error(
          "a regular expression of the tokenizer matches backwards (\\K "
          "in a lookaround is not supported)");
    if (start == end && matched && end == done) {
      // An empty match right behind a match does not count; search further on.
      if (from == text.size())
        break;
      from += first_sequence(text.substr(from)).bytes;
      continue;
    }
    if (start > done)
      sink(text.substr(done, start - done), false);
    sink(text.substr(start, end - start), true);
    done = from = end;
    matched = true;
  }
  if (done < text.size())
    sink(text.substr(done), false);
}

bool Regex::found_in(std::string_view text) const {
  bool found = false;
  cut(text, [&](std::string_view, bool match) { found |= match; });
  return found;
}

} // namespace baton

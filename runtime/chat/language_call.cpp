//===- language_call.cpp - calls as programming languages write them ------===//

#include "runtime/chat/language_call.h"

#include "runtime/chat/json_scanner.h"
#include "runtime/chat/json_strings.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace baton {
namespace {

constexpr std::string_view gemma_quote = "<|\"|>";
constexpr int most_depth = 64;

bool is_word_byte(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '-' ||
         byte == '.' || byte == '+' || code >= 0x80;
}

/// The UTF-8 of a code point; nothing for half of a surrogate pair.
std::string utf8_of(uint32_t code) {
  if (code < 0x80)
    return {static_cast<char>(code)};
  if (code >= 0xd800 && code < 0xe000)
    return "";
  std::string text;
  const auto continuation = [&](int shift) {
    text += static_cast<char>(0x80 | ((code >> shift) & 0x3f));
  };
  if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    continuation(6);
  } else {
    text += static_cast<char>(0xf0 | (code >> 18));
    continuation(12);
    continuation(6);
  }
  continuation(0);
  return text;
}

/// Recursive descent; a member gives nothing where the text is not of the
/// language.
class LiteralReader {
public:
  LiteralReader(std::string_view text, bool braces)
      : text(text), braces(braces) {}

  std::optional<LanguageCall> call() {
    const std::string_view name = word();
    if (name.empty() || !take(braces ? '{' : '('))
      return {};
    std::optional<std::string> arguments =
        members(braces ? ':' : '=', braces ? '}' : ')');
    skip_space();
    if (!arguments || !text.empty())
      return {};
    return LanguageCall{std::string(name), std::move(*arguments)};
  }

  std::optional<std::string> literal() {
    std::optional<std::string> found = value();
    skip_space();
    return text.empty() ? found : std::nullopt;
  }

private:
  void skip_space() {
    while (!text.empty() && std::string_view(" \t\r\n").find(text.front()) !=
                                std::string_view::npos)
      text.remove_prefix(1);
  }

  bool take(char byte) {
    skip_space();
    if (!text.starts_with(byte))
      return false;
    text.remove_prefix(1);
    return true;
  }

  std::string_view word() {
    skip_space();
    size_t length = 0;
    while (length < text.size() && is_word_byte(text[length]))
      ++length;
    const std::string_view found = text.substr(0, length);
    text.remove_prefix(length);
    return found;
  }

  /// A key with what follows up to the value, as JSON writes it.
  std::optional<std::string> key(char separator) {
    skip_space();
    std::optional<std::string> name;
    if (text.starts_with('"') || text.starts_with('\'') ||
        text.starts_with(gemma_quote))
      name = string();
    else if (const std::string_view bare = word(); !bare.empty())
      name = json_quoted(bare);
    if (!name || !take(separator))
      return {};
    return *name + ": ";
  }

  /// Of an object whose opening has been read, as a JSON object.
  std::optional<std::string> members(char separator, char close) {
    std::string object = "{";
    while (!take(close)) {
      if (object.size() > 1) {
        if (!take(','))
          return {};
        object += ", ";
        if (take(close))
          return {};
      }
      const std::optional<std::string> name = key(separator);
      std::optional<std::string> member = name ? value() : std::nullopt;
      if (!member)
        return {};
      object += *name + *member;
    }
    return object + "}";
  }

  std::optional<std::string> elements(char close) {
    std::string list = "[";
    while (!take(close)) {
      if (list.size() > 1) {
        if (!take(','))
          return {};
        // A tuple of one has a comma at its end.
        if (take(close))
          break;
        list += ", ";
      }
      std::optional<std::string> element = value();
      if (!element)
        return {};
      list += *element;
    }
    return list + "]";
  }

  std::optional<std::string> value() {
    if (depth == most_depth)
      return {};
    skip_space();
    ++depth;
    std::optional<std::string> found = value_at_depth();
    --depth;
    return found;
  }

  std::optional<std::string> value_at_depth() {
    if (take('{'))
      return members(':', '}');
    if (take('['))
      return elements(']');
    if (!braces && take('('))
      return elements(')');
    if (text.starts_with('"') || text.starts_with('\'') ||
        text.starts_with(gemma_quote))
      return string();
    const std::string scalar(word());
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6>
        constants = {{{"True", "true"},
                      {"False", "false"},
                      {"None", "null"},
                      {"true", "true"},
                      {"false", "false"},
                      {"null", "null"}}};
    for (const auto &[name, json] : constants)
      if (scalar == name)
        return std::string(json);
    if (!is_json_number(scalar))
      return {};
    return scalar;
  }

  std::optional<std::string> string() {
    if (text.starts_with(gemma_quote)) {
      text.remove_prefix(gemma_quote.size());
      const size_t end = text.find(gemma_quote);
      if (end == std::string_view::npos)
        return {};
      std::string found = json_quoted(text.substr(0, end));
      text.remove_prefix(end + gemma_quote.size());
      return found;
    }
    const char quote = text.front();
    text.remove_prefix(1);
    std::string content;
    while (!text.empty() && text.front() != quote) {
      const char byte = text.front();
      text.remove_prefix(1);
      if (byte != '\\')
        content += byte;
      else if (!escape(content))
        return {};
    }
    if (text.empty())
      return {};
    text.remove_prefix(1);
    return json_quoted(content);
  }

  /// What follows a backslash. Python keeps the backslash of an escape that it
  /// does not know.
  bool escape(std::string &content) {
    if (text.empty())
      return false;
    const char byte = text.front();
    text.remove_prefix(1);
    constexpr std::string_view escapes = "\\'\"/nrtbf",
                               values = "\\'\"/\n\r\t\b\f";
    if (const size_t known = escapes.find(byte);
        known != std::string_view::npos) {
      content += values[known];
      return true;
    }
    if (byte == 'x')
      return code_point(content, 2);
    if (byte == 'u')
      return code_point(content, 4);
    if (byte == 'U')
      return code_point(content, 8);
    content += '\\';
    content += byte;
    return true;
  }

  std::optional<uint32_t> hex(size_t digits) {
    uint32_t code = 0;
    if (text.size() < digits)
      return {};
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + digits, code, 16);
    if (error != std::errc() || end != text.data() + digits || code > 0x10ffff)
      return {};
    text.remove_prefix(digits);
    return code;
  }

  bool code_point(std::string &content, size_t digits) {
    std::optional<uint32_t> code = hex(digits);
    if (code && *code >= 0xd800 && *code < 0xdc00 && text.starts_with("\\u")) {
      text.remove_prefix(2);
      const std::optional<uint32_t> low = hex(4);
      if (!low || *low < 0xdc00 || *low >= 0xe000)
        return false;
      code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
    }
    const std::string utf8 = code ? utf8_of(*code) : "";
    content += utf8;
    return !utf8.empty();
  }

  std::string_view text;
  bool braces;
  int depth = 0;
};

} // namespace

std::optional<LanguageCall> read_python_call(std::string_view text) {
  return LiteralReader(text, false).call();
}

std::optional<LanguageCall> read_braces_call(std::string_view text) {
  return LiteralReader(text, true).call();
}

std::optional<std::string> read_python_literal(std::string_view text) {
  return LiteralReader(text, false).literal();
}

bool LanguageCallScanner::push_in_string(char byte) {
  if (quote == '<') {
    if (last_bytes.ends_with(gemma_quote)) {
      quote = 0;
      last_bytes.clear();
    }
  } else if (escaped) {
    escaped = false;
  } else if (byte == '\\') {
    escaped = true;
  } else if (byte == quote) {
    quote = 0;
  }
  return false;
}

bool LanguageCallScanner::push(char byte) {
  last_bytes += byte;
  if (last_bytes.size() > gemma_quote.size())
    last_bytes.erase(0, 1);
  if (quote != 0)
    return push_in_string(byte);
  if (byte == '"' && last_bytes.ends_with("<|\""))
    return false;
  if (last_bytes.ends_with(gemma_quote)) {
    quote = '<';
    last_bytes.clear();
  } else if (byte == '"' || byte == '\'') {
    quote = byte;
  } else if (byte == '(' || byte == '[' || byte == '{') {
    ++depth;
  } else if (byte == ')' || byte == ']' || byte == '}') {
    return --depth <= 0;
  }
  return false;
}

} // namespace baton

//===- to_json.cpp - values as JSON, by Python's json.dumps ---------------===//

#include "runtime/jinja/to_json.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/stable_order.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>
#include <cmath>

namespace baton::jinja {

namespace {

class JsonWriter {
public:
  JsonWriter(Rendering &rendering, const JsonStyle &style)
      : rendering(rendering), style(style) {}

  void write(const Value &value) {
    rendering.step();
    const size_t begin = result.size();
    switch (value.kind()) {
    case Value::Kind::None:
      result += "null";
      break;
    case Value::Kind::Boolean:
      result += value.boolean() ? "true" : "false";
      break;
    case Value::Kind::Integer:
      result += integer_text(value.integer());
      break;
    case Value::Kind::Float:
      result += number(value.number());
      break;
    case Value::Kind::Text:
      write_text(value.bytes());
      break;
    case Value::Kind::Object:
      if (value.is(Object::Kind::List) || value.is(Object::Kind::Tuple)) {
        write_list(value.as<List>());
        return;
      }
      if (value.is(Object::Kind::Dictionary)) {
        write_dictionary(value.as<Dictionary>());
        return;
      }
      [[fallthrough]];
    case Value::Kind::Missing:
    case Value::Kind::Undefined:
      throw Failure("Object of type " + std::string(type_name(value)) +
                    " is not JSON serializable");
    }
    rendering.make(result.size() - begin);
  }

  std::string result;

private:
  static std::string number(double value) {
    if (std::isnan(value))
      return "NaN";
    if (std::isinf(value))
      return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  void write_escape(char32_t unit) {
    static constexpr const char *digits = "0123456789abcdef";
    result += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
      result += digits[unit >> shift & 15];
  }

  void write_text(std::string_view text) {
    result += '"';
    for (size_t at = 0; at < text.size();) {
      const char32_t character = next_character(text, at);
      static constexpr std::u32string_view plain = U"\"\\\n\r\t\f\b";
      static constexpr std::string_view letters = "\"\\nrtfb";
      if (const size_t found = plain.find(character);
          found != std::u32string_view::npos) {
        result += '\\';
        result += letters[found];
      } else if (character < 0x20 || (style.ascii && character == 0x7F))
        write_escape(character);
      else if (!style.ascii || character < 0x80)
        append_character(result, character);
      else if (character < 0x10000)
        write_escape(character);
      else {
        write_escape(0xD800 + ((character - 0x10000) >> 10));
        write_escape(0xDC00 + ((character - 0x10000) & 0x3FF));
      }
    }
    result += '"';
  }

  void write_break() {
    if (!style.indent)
      return;
    rendering.make(level, style.indent->size());
    result += '\n';
    for (size_t count = 0; count < level; ++count)
      result += *style.indent;
  }

  void write_list(const List &list) {
    if (list.items.empty()) {
      result += "[]";
      return;
    }
    result += '[';
    ++level;
    for (size_t at = 0; at < list.items.size(); ++at) {
      if (at)
        result += style.item_separator;
      write_break();
      write(list.items[at]);
    }
    --level;
    write_break();
    result += ']';
  }

  void write_key(const Value &key) {
    switch (key.kind()) {
    case Value::Kind::Text:
      write_text(key.bytes());
      break;
    case Value::Kind::None:
    case Value::Kind::Boolean:
    case Value::Kind::Integer:
    case Value::Kind::Float:
      result += '"';
      write(key);
      result += '"';
      break;
    default:
      throw Failure("keys must be str, int, float, bool or None, not " +
                    std::string(type_name(key)));
    }
  }

  void write_dictionary(const Dictionary &dictionary) {
    if (dictionary.entries().empty()) {
      result += "{}";
      return;
    }
    const auto &entries = dictionary.entries();
    const std::vector<size_t> order =
        stable_order(entries.size(), [&](size_t left, size_t right) {
          return style.sorted
                     ? compare(rendering, Comparison::Less, entries[left].first,
                               entries[right].first)
                     : left < right;
        });
    result += '{';
    ++level;
    for (size_t at = 0; at < entries.size(); ++at) {
      if (at)
        result += style.item_separator;
      write_break();
      const size_t begin = result.size();
      write_key(entries[order[at]].first);
      result += style.key_separator;
      rendering.make(result.size() - begin);
      write(entries[order[at]].second);
    }
    --level;
    write_break();
    result += '}';
  }

  Rendering &rendering;
  const JsonStyle &style;
  size_t level = 0;
};

} // namespace

std::string to_json(Rendering &rendering, const Value &value,
                    const JsonStyle &style) {
  JsonWriter writer(rendering, style);
  writer.write(value);
  return std::move(writer.result);
}

} // namespace baton::jinja

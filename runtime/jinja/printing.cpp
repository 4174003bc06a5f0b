//===- printing.cpp - values as text --------------------------------------===//

#include "runtime/jinja/printing.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

/// Writes repr() of values within one another.
class Printer {
public:
  explicit Printer(Rendering &rendering) : rendering(rendering) {}

  void print(const Value &value) {
    rendering.step();
    const size_t begin = result.size();
    switch (value.kind()) {
    case Value::Kind::Missing:
      result += "missing";
      break;
    case Value::Kind::Undefined:
      result += "Undefined";
      break;
    case Value::Kind::None:
      result += "None";
      break;
    case Value::Kind::Boolean:
      result += value.boolean() ? "True" : "False";
      break;
    case Value::Kind::Integer:
      result += integer_text(value.integer());
      break;
    case Value::Kind::Float:
      result += float_text(value.number());
      break;
    case Value::Kind::Text:
      result += value.text().safe ? "Markup(" + shown(value.bytes()) + ")"
                                  : shown(value.bytes());
      break;
    case Value::Kind::Object:
      print_object(value);
      return;
    }
    rendering.make(result.size() - begin);
  }

  std::string result;

private:
  void print_object(const Value &value) {
    switch (value.object()->kind) {
    case Object::Kind::List:
      print_items("[", value.as<List>().items, "]");
      break;
    case Object::Kind::Tuple:
      print_items("(", value.as<List>().items,
                  value.as<List>().items.size() == 1 ? ",)" : ")");
      break;
    case Object::Kind::Dictionary:
      print_dictionary(value.as<Dictionary>());
      break;
    case Object::Kind::View:
      print_view(value.as<View>());
      break;
    case Object::Kind::Range:
      print_range(value.as<Range>());
      break;
    case Object::Kind::Namespace:
      print_namespace(value.as<Namespace>());
      break;
    case Object::Kind::Callable:
      result += value.as<Callable>().shown();
      break;
    case Object::Kind::Iterator:
      result += "<" + std::string(type_name(value)) + " object>";
      break;
    }
  }

  void print_items(const char *open, const std::vector<Value> &items,
                   const char *close) {
    result += open;
    for (size_t at = 0; at < items.size(); ++at) {
      if (at)
        result += ", ";
      print(items[at]);
    }
    result += close;
  }

  void print_dictionary(const Dictionary &dictionary) {
    result += "{";
    bool first = true;
    for (const auto &[key, value] : dictionary.entries()) {
      if (!first)
        result += ", ";
      first = false;
      print(key);
      result += ": ";
      print(value);
    }
    result += "}";
  }

  void print_view(const View &view) {
    static constexpr const char *names[] = {"dict_keys([", "dict_values([",
                                            "dict_items(["};
    result += names[view.part];
    for (size_t at = 0; at < view.of().entries().size(); ++at) {
      if (at)
        result += ", ";
      print(view.at(at));
    }
    result += "])";
  }

  void print_range(const Range &range) {
    result +=
        "range(" + integer_text(range.start) + ", " + integer_text(range.stop);
    if (range.step != 1)
      result += ", " + integer_text(range.step);
    result += ")";
  }

  void print_namespace(const Namespace &space) {
    const Rendering::Level level(rendering);
    result += "<Namespace ";
    if (std::find(open_namespaces.begin(), open_namespaces.end(), &space) !=
        open_namespaces.end()) {
      result += "{...}>";
      return;
    }
    open_namespaces.push_back(&space);
    print_dictionary(*space.attributes);
    open_namespaces.pop_back();
    result += ">";
  }

  Rendering &rendering;
  std::vector<const Namespace *> open_namespaces;
};

} // namespace

std::string shown(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos &&
                             text.find('"') == std::string_view::npos
                         ? '"'
                         : '\'';
  static constexpr const char *hexadecimal = "0123456789abcdef";
  std::string result(1, quote);
  const auto append_escape = [&](char letter, char32_t character, int digits) {
    result += '\\';
    result += letter;
    for (int digit = digits - 1; digit >= 0; --digit)
      result += hexadecimal[character >> (4 * digit) & 15];
  };
  for (size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (character == static_cast<char32_t>(quote) || character == '\\') {
      result += '\\';
      result += static_cast<char>(character);
    } else if (character == '\n')
      result += "\\n";
    else if (character == '\r')
      result += "\\r";
    else if (character == '\t')
      result += "\\t";
    else if (is_printable(character))
      append_character(result, character);
    else if (character < 0x100)
      append_escape('x', character, 2);
    else if (character < 0x10000)
      append_escape('u', character, 4);
    else
      append_escape('U', character, 8);
  }
  return result + quote;
}

std::string shown(Rendering &rendering, const Value &value) {
  Printer printer(rendering);
  printer.print(value);
  return std::move(printer.result);
}

std::string text_of(Rendering &rendering, const Value &value) {
  if (value.is_undefined())
    return "";
  if (!value.is_text())
    return shown(rendering, value);
  rendering.make(value.bytes().size());
  return value.bytes();
}

Value soft_text(Rendering &rendering, const Value &value) {
  return value.is_text() ? value : Value(text_of(rendering, value));
}

std::string escape_html(Rendering &rendering, std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char character : text)
    switch (character) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&#34;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += character;
    }
  rendering.make(result.size());
  return result;
}

Value to_markup(Rendering &rendering, const Value &value) {
  if (value.is_text() && value.text().safe)
    return value;
  return Value(escape_html(rendering, text_of(rendering, value)), true);
}

} // namespace baton::jinja

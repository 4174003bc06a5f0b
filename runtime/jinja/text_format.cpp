//===- text_format.cpp - Python's two kinds of format strings -------------===//

#include "runtime/jinja/text_format.h"

#include "runtime/jinja/attributes.h"
#include "runtime/jinja/format_spec.h"
#include "runtime/jinja/numbers.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/unicode.h"

#include <cmath>

namespace baton::jinja {

namespace {

/// repr() with all but ASCII escaped.
std::string ascii_shown(Rendering &rendering, const Value &value) {
  const std::string text = shown(rendering, value);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (character < 0x80) {
      result += static_cast<char>(character);
      continue;
    }
    std::string digits = integer_text(static_cast<Integer>(character), 16);
    const size_t size = digits.size() <= 2 ? 2 : digits.size() <= 4 ? 4 : 8;
    result += size == 2 ? "\\x" : size == 4 ? "\\u" : "\\U";
    result += std::string(size - digits.size(), '0') + digits;
  }
  rendering.make(result.size());
  return result;
}

/// One conversion of a printf-style format.
struct Conversion {
  bool left = false, plus = false, space = false, alternate = false,
       zero = false;
  Integer width = 0;
  std::optional<Integer> precision;
  char type = 0;
};

class PrintfFormat {
public:
  PrintfFormat(Rendering &rendering, const Value &format, const Value &values)
      : rendering(rendering), format(format.bytes()), safe(format.text().safe),
        values(values),
        mapping(values.is_undefined() || values.is(Object::Kind::List) ||
                values.is(Object::Kind::Dictionary) ||
                values.is(Object::Kind::Range)) {}

  Value run() {
    while (at < format.size()) {
      const char character = format[at++];
      if (character != '%') {
        result += character;
        continue;
      }
      convert();
    }
    const size_t count =
        values.is(Object::Kind::Tuple) ? values.as<List>().items.size() : 1;
    if (used < count && !mapping)
      throw Failure("not all arguments converted during string formatting");
    rendering.make(result.size());
    return Value(std::move(result), safe);
  }

private:
  char peek() const {
    if (at >= format.size())
      throw Failure("incomplete format");
    return format[at];
  }

  Value next_value() {
    if (values.is(Object::Kind::Tuple)) {
      const auto &items = values.as<List>().items;
      if (used < items.size())
        return items[used++];
    } else if (used == 0) {
      ++used;
      return values;
    }
    throw Failure("not enough arguments for format string");
  }

  Value keyed_value() {
    if (!mapping)
      throw Failure("format requires a mapping");
    size_t end = at, open = 1;
    while (open > 0) {
      if (end >= format.size())
        throw Failure("incomplete format key");
      open += format[end] == '(' ? 1 : 0;
      open -= format[end] == ')' ? 1 : 0;
      ++end;
    }
    const std::string_view key =
        std::string_view(format).substr(at, end - 1 - at);
    at = end;
    demand_defined(values);
    if (!values.is(Object::Kind::Dictionary))
      throw Failure("list indices must be integers or slices, not str");
    const Value *found = values.as<Dictionary>().find(key);
    if (!found)
      throw Failure(shown(key));
    return *found;
  }

  Integer count() {
    if (peek() == '*') {
      ++at;
      const Value value = next_value();
      if (!value.is_integer())
        throw Failure("* wants int");
      return value.integer();
    }
    Integer number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = number * 10 + (format[at++] - '0');
      if (number > 1'000'000'000)
        throw Failure("width too big");
    }
    return number;
  }

  void convert() {
    std::optional<Value> value;
    if (peek() == '(') {
      ++at;
      value = keyed_value();
      // What is taken by its key is no argument by position.
    }
    Conversion conversion;
    for (bool flags = true; flags;)
      switch (peek()) {
      case '-':
        conversion.left = true;
        ++at;
        break;
      case '+':
        conversion.plus = true;
        ++at;
        break;
      case ' ':
        conversion.space = true;
        ++at;
        break;
      case '#':
        conversion.alternate = true;
        ++at;
        break;
      case '0':
        conversion.zero = true;
        ++at;
        break;
      default:
        flags = false;
      }
    conversion.width = count();
    if (conversion.width < 0) {
      conversion.left = true;
      conversion.width = -conversion.width;
    }
    if (peek() == '.') {
      ++at;
      conversion.precision = std::max<Integer>(count(), 0);
    }
    if (peek() == 'h' || peek() == 'l' || peek() == 'L')
      ++at;
    conversion.type = peek();
    const size_t type_at = at++;
    if (conversion.type == '%') {
      result += '%';
      return;
    }
    if (!value)
      value = next_value();
    append(conversion, *value, type_at);
  }

  void append(const Conversion &conversion, const Value &value,
              size_t type_at) {
    switch (conversion.type) {
    case 's':
      append_text(conversion, text_of(rendering, value),
                  safe && !(value.is_text() && value.text().safe));
      return;
    case 'r':
      append_text(conversion, shown(rendering, value), safe);
      return;
    case 'a':
      append_text(conversion, ascii_shown(rendering, value), safe);
      return;
    case 'c':
      append_character_of(conversion, value);
      return;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      append_integer(conversion, value);
      return;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      append_float(conversion, value);
      return;
    default:
      break;
    }
    size_t end = type_at;
    next_character(format, end);
    throw Failure(
        "unsupported format character " +
        shown(std::string_view(format).substr(type_at, end - type_at)));
  }

  void append_text(const Conversion &conversion, std::string text,
                   bool escaped) {
    if (conversion.precision && *conversion.precision < Integer(text.size()))
      text = text.substr(
          0, offset_of(text, static_cast<size_t>(*conversion.precision)));
    if (escaped)
      text = escape_html(rendering, text);
    pad(conversion, "", text, false);
  }

  void append_character_of(const Conversion &conversion, const Value &value) {
    std::string text;
    if (value.is_integer()) {
      const Integer code = value.integer();
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        throw Failure("%c arg not in range(0x110000)");
      append_character(text, static_cast<char32_t>(code));
    } else if (value.is_text() && value.text().characters == 1)
      text = value.bytes();
    else
      throw Failure("%c requires int or char");
    pad(conversion, "", text, false);
  }

  void append_integer(const Conversion &conversion, const Value &value) {
    const char type = conversion.type;
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (value.is_undefined() && decimal)
      demand_defined(value);
    if (!value.is_integer() && !(decimal && value.is_float()))
      throw Failure(std::string("%") + type +
                    " format: " + (decimal ? "a real number" : "an integer") +
                    " is required, not " + std::string(type_name(value)));
    const Integer number = value.is_float()
                               ? truncate_to_integer(value.number())
                               : value.integer();
    std::string digits =
        integer_text(number < 0 ? negate(number) : number, decimal       ? 10
                                                           : type == 'o' ? 8
                                                                         : 16);
    if (type == 'X')
      digits = upper(digits);
    if (conversion.precision &&
        *conversion.precision > Integer(digits.size())) {
      const auto zeros =
          static_cast<size_t>(*conversion.precision) - digits.size();
      rendering.make(zeros);
      digits = std::string(zeros, '0') + digits;
    }
    std::string sign = sign_of(conversion, number < 0);
    if (conversion.alternate && !decimal)
      sign += std::string("0") + type;
    pad(conversion, sign, digits, conversion.zero);
  }

  void append_float(const Conversion &conversion, const Value &value) {
    demand_defined(value);
    if (!value.is_number())
      throw Failure("must be real number, not " +
                    std::string(type_name(value)));
    const double number = value.number();
    const Integer precision =
        std::min<Integer>(conversion.precision.value_or(6), most_precision + 1);
    const std::string digits =
        float_digits(std::fabs(number), conversion.type,
                     static_cast<int>(precision), conversion.alternate);
    pad(conversion,
        sign_of(conversion, std::signbit(number) && !std::isnan(number)),
        digits, conversion.zero);
  }

  static std::string sign_of(const Conversion &conversion, bool negative) {
    return negative ? "-" : conversion.plus ? "+" : conversion.space ? " " : "";
  }

  void pad(const Conversion &conversion, const std::string &sign,
           const std::string &body, bool zeros) {
    const size_t length = sign.size() + count_characters(body);
    const auto width = static_cast<size_t>(conversion.width);
    const size_t missing = width > length ? width - length : 0;
    rendering.make(missing);
    rendering.make(body.size());
    if (conversion.left)
      result += sign + body + std::string(missing, ' ');
    else if (zeros)
      result += sign + std::string(missing, '0') + body;
    else
      result += std::string(missing, ' ') + sign + body;
  }

  Rendering &rendering;
  const std::string &format;
  const bool safe;
  const Value &values;
  const bool mapping;
  size_t at = 0, used = 0;
  std::string result;
};

class BraceFormat {
public:
  BraceFormat(Rendering &rendering, const Arguments &arguments, bool safe)
      : rendering(rendering), arguments(arguments), safe(safe) {}

  std::string run(std::string_view format, int nesting) {
    if (nesting < 0)
      throw Failure("Max string recursion exceeded");
    std::string result;
    for (size_t at = 0; at < format.size();) {
      const char character = format[at++];
      if (character != '{' && character != '}') {
        result += character;
        continue;
      }
      if (at < format.size() && format[at] == character) {
        result += character;
        ++at;
        continue;
      }
      if (character == '}')
        throw Failure("Single '}' encountered in format string");
      if (at == format.size())
        throw Failure("Single '{' encountered in format string");
      result += replacement(field(format, at), nesting);
      rendering.make(result.size() / 16 + 1);
    }
    rendering.make(result.size());
    return result;
  }

private:
  /// What stands between the braces; `at` moves behind the closing one.
  static std::string_view field(std::string_view format, size_t &at) {
    const size_t begin = at;
    bool bracket = false, behind_colon = false;
    for (size_t open = 1; at < format.size(); ++at) {
      const char character = format[at];
      // Braces in brackets are part of a key.
      if (character == '[' && !behind_colon)
        bracket = true;
      else if (character == ']')
        bracket = false;
      else if (bracket)
        continue;
      else if (character == ':' && open == 1)
        behind_colon = true;
      else if (character == '{') {
        if (!behind_colon)
          throw Failure("unexpected '{' in field name");
        ++open;
      } else if (character == '}' && --open == 0)
        return format.substr(begin, at++ - begin);
    }
    throw Failure("expected '}' before end of string");
  }

  std::string replacement(std::string_view text, int nesting) {
    size_t end = 0;
    for (bool bracket = false;
         end < text.size() &&
         (bracket || (text[end] != '!' && text[end] != ':'));
         ++end)
      bracket = text[end] == '[' || (bracket && text[end] != ']');
    Value value = find(text.substr(0, end));
    std::string_view rest = text.substr(end);
    bool converted = false;
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2)
        throw Failure("end of string while looking for conversion specifier");
      if (rest.size() > 2 && rest[2] != ':')
        throw Failure("expected ':' after conversion specifier");
      value = convert(value, rest[1]);
      converted = true;
      rest.remove_prefix(2);
    }
    const std::string spec =
        rest.empty() ? "" : run(rest.substr(1), nesting - 1);
    std::string formatted = format_value(rendering, value, spec);
    if (safe && (converted || !(value.is_text() && value.text().safe)))
      return escape_html(rendering, formatted);
    return formatted;
  }

  Value convert(const Value &value, char conversion) {
    switch (conversion) {
    case 's':
      return Value(text_of(rendering, value));
    case 'r':
      return Value(shown(rendering, value));
    case 'a':
      return Value(ascii_shown(rendering, value));
    default:
      throw Failure(std::string("Unknown conversion specifier ") + conversion);
    }
  }

  static bool is_number(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Value by_position(Integer position) {
    if (position < 0 || position >= Integer(arguments.positional.size()))
      throw Failure("Replacement index " + integer_text(position) +
                    " out of range for positional args tuple");
    return arguments.positional[static_cast<size_t>(position)];
  }

  Value first_value(std::string_view name) {
    if (name.empty()) {
      if (numbered == Numbered::ByHand)
        throw Failure("cannot switch from manual field specification to "
                      "automatic field numbering");
      numbered = Numbered::Automatically;
      return by_position(next_position++);
    }
    if (is_number(name)) {
      if (numbered == Numbered::Automatically)
        throw Failure("cannot switch from manual field specification to "
                      "automatic field numbering");
      numbered = Numbered::ByHand;
      return by_position(*parse_integer(name));
    }
    for (const auto &[keyword, value] : arguments.keywords)
      if (keyword == name)
        return value;
    throw Failure(shown(name));
  }

  Value find(std::string_view text) {
    size_t at = std::min(text.find_first_of(".["), text.size());
    Value value = first_value(text.substr(0, at));
    while (at < text.size()) {
      rendering.step();
      if (text[at] == '.') {
        const size_t end =
            std::min(text.find_first_of(".[", at + 1), text.size());
        const std::string_view name = text.substr(at + 1, end - at - 1);
        if (name.empty())
          throw Failure("Empty attribute in format string");
        value = get_attribute(rendering, value, name);
        at = end;
      } else if (text[at] == '[') {
        const size_t end = text.find(']', at);
        if (end == std::string_view::npos)
          throw Failure("Missing ']' in format string");
        const std::string_view key = text.substr(at + 1, end - at - 1);
        if (key.empty())
          throw Failure("Empty attribute in format string");
        value =
            get_item(rendering, value,
                     is_number(key) ? Value(*parse_integer(key)) : Value(key));
        at = end + 1;
      } else
        throw Failure("Only '.' or '[' may follow ']' in format field "
                      "specifier");
    }
    return value;
  }

  enum class Numbered { Not, ByHand, Automatically } numbered = Numbered::Not;
  Integer next_position = 0;
  Rendering &rendering;
  const Arguments &arguments;
  const bool safe;
};

} // namespace

Value printf_format(Rendering &rendering, const Value &format,
                    const Value &values) {
  return PrintfFormat(rendering, format, values).run();
}

Value brace_format(Rendering &rendering, const Value &format,
                   const Arguments &arguments) {
  const bool safe = format.text().safe;
  return Value(BraceFormat(rendering, arguments, safe).run(format.bytes(), 1),
               safe);
}

} // namespace baton::jinja

//===- format_spec.cpp - one value in a format string ---------------------===//
//
// https://docs.python.org/3/library/string.html#format-specification-mini-language
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/format_spec.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/unicode.h"

#include <cmath>
#include <cstdio>
#include <optional>

namespace baton::jinja {

namespace {

struct Specification {
  std::string fill = " ";
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false, zero = false;
  size_t width = 0;
  std::optional<int> precision;
};

constexpr size_t most_width = 100'000'000;

/// The decimal number at `at`, which moves behind it.
std::optional<size_t> read_count(std::string_view text, size_t &at) {
  if (at >= text.size() || text[at] < '0' || text[at] > '9')
    return std::nullopt;
  size_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + static_cast<size_t>(text[at] - '0');
    if (value > most_width)
      throw Failure("Too many decimal digits in format string");
  }
  return value;
}

bool is_align(char character) {
  return character == '<' || character == '>' || character == '=' ||
         character == '^';
}

[[noreturn]] void fail_specification() {
  throw Failure("Invalid format specifier");
}

Specification read_specification(std::string_view text) {
  Specification spec;
  size_t at = 0;
  size_t behind_fill = 0;
  if (!text.empty())
    next_character(text, behind_fill);
  if (behind_fill > 0 && behind_fill < text.size() &&
      is_align(text[behind_fill])) {
    spec.fill = text.substr(0, behind_fill);
    spec.align = text[behind_fill];
    at = behind_fill + 1;
  } else if (!text.empty() && is_align(text[0]))
    spec.align = text[at++];
  const auto take = [&](std::string_view characters) -> char {
    return at < text.size() &&
                   characters.find(text[at]) != std::string_view::npos
               ? text[at++]
               : '\0';
  };
  if (const char sign = take("+- "))
    spec.sign = sign;
  spec.alternate = take("#");
  if (take("0")) {
    spec.zero = true;
    if (!spec.align)
      spec.fill = "0";
  }
  spec.width = read_count(text, at).value_or(0);
  spec.grouping = take(",_");
  if (spec.grouping && take(",_"))
    fail_specification();
  if (take(".")) {
    const auto precision = read_count(text, at);
    if (!precision)
      throw Failure("Format specifier missing precision");
    spec.precision = static_cast<int>(*precision);
  }
  if (at < text.size())
    spec.type = text[at++];
  if (at != text.size())
    fail_specification();
  return spec;
}

[[noreturn]] void fail_type(char type, const Value &value) {
  throw Failure(std::string("Unknown format code '") + type +
                "' for object of type '" + std::string(type_name(value)) + "'");
}

/// `sign` and what follows it, in the width.
std::string pad(Rendering &rendering, const Specification &spec,
                const std::string &sign, const std::string &body,
                char default_align) {
  const char align = spec.align ? spec.align : default_align;
  const size_t length = sign.size() + count_characters(body);
  const size_t missing = spec.width > length ? spec.width - length : 0;
  rendering.make(missing, spec.fill.size());
  const size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string left, right;
  for (size_t count = 0; count < missing; ++count)
    (count < before ? left : right) += spec.fill;
  return align == '=' ? sign + left + body : left + sign + body + right;
}

/// Digits with separators, and zeros before them up to the width where zeros
/// fill it.
std::string group(const Specification &spec, std::string digits,
                  size_t group_size, size_t other_size) {
  if (!spec.grouping)
    return digits;
  const bool fills = spec.fill == "0" && (spec.align == '=' || !spec.align);
  const auto grouped = [&] {
    std::string result;
    for (size_t at = 0; at < digits.size(); ++at) {
      if (at && (digits.size() - at) % group_size == 0)
        result += spec.grouping;
      result += digits[at];
    }
    return result;
  };
  std::string result = grouped();
  if (!fills || spec.width > 10'000)
    return result;
  while (result.size() + other_size < spec.width) {
    digits.insert(digits.begin(), '0');
    result = grouped();
  }
  return result;
}

std::string format_text(Rendering &rendering, const Value &value,
                        const Specification &spec) {
  if (spec.type && spec.type != 's')
    fail_type(spec.type, value);
  if (spec.sign != '-')
    throw Failure("Sign not allowed in string format specifier");
  if (spec.alternate)
    throw Failure("Alternate form (#) not allowed in string format specifier");
  if (spec.grouping)
    throw Failure(std::string("Cannot specify '") + spec.grouping +
                  "' with 's'.");
  if (spec.align == '=')
    throw Failure("'=' alignment not allowed in string format specifier");
  std::string text = value.bytes();
  if (spec.precision)
    text =
        text.substr(0, offset_of(text, static_cast<size_t>(*spec.precision)));
  return pad(rendering, spec, "", text, '<');
}

std::string sign_of(const Specification &spec, bool negative) {
  return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string format_integer(Rendering &rendering, const Value &value,
                           const Specification &spec) {
  if (spec.precision)
    throw Failure("Precision not allowed in integer format specifier");
  const Integer integer = value.integer();
  std::string digits, prefix;
  size_t group_size = 4;
  switch (spec.type) {
  case 0:
  case 'd':
  case 'n':
    digits = integer_text(integer < 0 ? negate(integer) : integer);
    group_size = 3;
    break;
  case 'x':
  case 'X':
  case 'o':
  case 'b': {
    const unsigned base = spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 16;
    digits = integer_text(integer < 0 ? negate(integer) : integer, base);
    prefix = spec.alternate ? std::string("0") + spec.type : "";
    if (spec.type == 'X')
      digits = upper(digits);
    if (spec.grouping == ',')
      throw Failure(std::string("Cannot specify ',' with '") + spec.type +
                    "'.");
    break;
  }
  case 'c':
    if (integer < 0 || integer > 0x10FFFF ||
        (integer >= 0xD800 && integer < 0xE000))
      throw Failure("%c arg not in range(0x110000)");
    append_character(digits, static_cast<char32_t>(integer));
    return pad(rendering, spec, "", digits, '<');
  default:
    fail_type(spec.type, value);
  }
  const std::string sign = sign_of(spec, integer < 0) + prefix;
  return pad(rendering, spec, sign,
             group(spec, digits, group_size, sign.size()),
             spec.zero ? '=' : '>');
}

/// Digits of what has no conversion in its specification.
std::string plain_float_digits(double magnitude, const Specification &spec) {
  if (!spec.precision)
    return float_text(magnitude);
  std::string digits =
      float_digits(magnitude, 'g', std::max(*spec.precision, 1), false);
  if (digits.find_first_not_of("0123456789") == std::string::npos)
    digits += static_cast<int>(digits.size()) < *spec.precision ? ".0" : "";
  return digits;
}

std::string format_float(Rendering &rendering, const Value &value,
                         const Specification &spec) {
  const double number = value.number();
  const double magnitude = std::fabs(number);
  const int precision = spec.precision.value_or(6);
  std::string digits, suffix;
  switch (spec.type) {
  case 0:
    digits = plain_float_digits(magnitude, spec);
    break;
  case 'e':
  case 'E':
  case 'f':
  case 'F':
  case 'g':
  case 'G':
    digits = float_digits(magnitude, spec.type, precision, spec.alternate);
    break;
  case 'n':
    digits = float_digits(magnitude, 'g', precision, spec.alternate);
    break;
  case '%':
    digits = float_digits(magnitude * 100, 'f', precision, spec.alternate);
    suffix = "%";
    break;
  default:
    fail_type(spec.type, value);
  }
  const size_t whole =
      std::min(digits.find_first_not_of("0123456789"), digits.size());
  const std::string rest = digits.substr(whole) + suffix;
  const std::string sign =
      sign_of(spec, std::signbit(number) && !std::isnan(number));
  digits =
      group(spec, digits.substr(0, whole), 3, sign.size() + rest.size()) + rest;
  return pad(rendering, spec, sign, digits, spec.zero ? '=' : '>');
}

} // namespace

std::string float_digits(double magnitude, char conversion, int precision,
                         bool alternate) {
  if (precision > most_precision)
    throw Failure("the precision is more than " +
                  std::to_string(most_precision));
  const char format[] = {'%',
                         alternate ? '#' : '.',
                         alternate ? '.' : '*',
                         alternate ? '*' : conversion,
                         alternate ? conversion : '\0',
                         '\0'};
  std::string digits(static_cast<size_t>(precision) + 400, '\0');
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
  const int written =
      std::snprintf(digits.data(), digits.size(), format, precision, magnitude);
#pragma clang diagnostic pop
  digits.resize(static_cast<size_t>(written));
  return digits;
}

std::string format_value(Rendering &rendering, const Value &value,
                         std::string_view spec) {
  if (spec.empty())
    return text_of(rendering, value);
  if (!value.is_text() && !value.is_number())
    throw Failure("unsupported format string passed to " +
                  std::string(type_name(value)) + ".__format__");
  const Specification specification = read_specification(spec);
  if (value.is_text())
    return format_text(rendering, value, specification);
  const char type = specification.type;
  if (value.is_float() || (type && std::string_view("eEfFgG%").find(type) !=
                                       std::string_view::npos))
    return format_float(rendering, value, specification);
  return format_integer(rendering, value, specification);
}

} // namespace baton::jinja

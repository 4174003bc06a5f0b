//===- numbers.cpp - numbers as Python reads and writes them --------------===//

#include "runtime/jinja/numbers.h"

#include "runtime/jinja/unicode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace baton::jinja {

namespace {

/// Larger floats are no Integer.
constexpr double integer_end = 0x1p127;

[[noreturn]] void fail_large() {
  throw Failure("the number is too large: integers have 128 bits");
}

/// The text without white space around it, with digits of ASCII; nothing where
/// it has underscores elsewhere than between digits.
std::optional<std::string> plain_digits(std::string_view text, unsigned base) {
  std::string plain;
  const auto is_digit_of_base = [&](char character) {
    return base > 10 ? std::isalnum(static_cast<unsigned char>(character)) != 0
                     : std::isdigit(static_cast<unsigned char>(character)) != 0;
  };
  const std::u32string characters =
      characters_of(strip(text, std::nullopt, true, true));
  for (size_t at = 0; at < characters.size(); ++at) {
    const char32_t character = characters[at];
    if (const auto digit = decimal_value(character))
      plain += static_cast<char>('0' + *digit);
    else if (character == '_') {
      const bool between =
          !plain.empty() && characters[at - 1] != '_' &&
          is_digit_of_base(plain.back()) && at + 1 < characters.size() &&
          (decimal_value(characters[at + 1]) ||
           (characters[at + 1] < 0x80 &&
            is_digit_of_base(static_cast<char>(characters[at + 1]))));
      if (!between)
        return std::nullopt;
    } else if (character > 0 && character < 0x80)
      plain += static_cast<char>(character);
    else
      return std::nullopt;
  }
  return plain;
}

/// The prefix's base, which is taken off; 0 where there is none.
unsigned take_base_prefix(std::string_view &digits) {
  if (digits.size() < 2 || digits[0] != '0')
    return 0;
  const unsigned base = digits[1] == 'x' || digits[1] == 'X'   ? 16
                        : digits[1] == 'o' || digits[1] == 'O' ? 8
                        : digits[1] == 'b' || digits[1] == 'B' ? 2
                                                               : 0;
  if (base)
    digits.remove_prefix(2);
  return base;
}

} // namespace

std::string integer_text(Integer value, unsigned base) {
  __extension__ using Unsigned = unsigned __int128;
  Unsigned rest =
      value < 0 ? -static_cast<Unsigned>(value) : static_cast<Unsigned>(value);
  std::string digits;
  do {
    digits += "0123456789abcdefghijklmnopqrstuvwxyz"[static_cast<size_t>(rest %
                                                                         base)];
    rest /= base;
  } while (rest > 0);
  if (value < 0)
    digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string float_text(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  const auto written =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    std::chars_format::scientific);
  const std::string_view text(buffer.data(),
                              static_cast<size_t>(written.ptr - buffer.data()));
  const size_t mark = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  if (exponent < -4 || exponent >= 16)
    return std::string(text);

  std::string sign = text[0] == '-' ? "-" : "", digits;
  for (const char character : text.substr(0, mark))
    if (character >= '0' && character <= '9')
      digits += character;
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') +
           digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole)
    return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<Integer> parse_integer(std::string_view text, unsigned base) {
  const auto plain = plain_digits(text, 36);
  if (!plain)
    return std::nullopt;
  std::string_view digits = *plain;
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  std::string_view without_prefix = digits;
  const unsigned prefix = take_base_prefix(without_prefix);
  const bool leading_zero = digits.size() > 1 && digits[0] == '0';
  if (prefix && (base == 0 || base == prefix)) {
    digits = without_prefix;
    base = prefix;
  } else if (base == 0) {
    // 007 is no number, 000 is.
    if (leading_zero && digits.find_first_not_of('0') != std::string_view::npos)
      return std::nullopt;
    base = 10;
  }
  if (digits.empty())
    return std::nullopt;
  Integer value = 0;
  for (const char character : digits) {
    const unsigned digit =
        character >= '0' && character <= '9'   ? unsigned(character - '0')
        : character >= 'a' && character <= 'z' ? unsigned(character - 'a') + 10
        : character >= 'A' && character <= 'Z' ? unsigned(character - 'A') + 10
                                               : 99;
    if (digit >= base)
      return std::nullopt;
    value = add(multiply(value, base), negative ? -Integer(digit) : digit);
  }
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  const auto plain = plain_digits(text, 10);
  if (!plain || plain->empty())
    return std::nullopt;
  // What strtod reads and Python does not: hexadecimal numbers, nan(...).
  std::string lower_case = *plain;
  for (char &character : lower_case)
    if (character >= 'A' && character <= 'Z')
      character = static_cast<char>(character - 'A' + 'a');
  std::string_view name = lower_case;
  if (name[0] == '-' || name[0] == '+')
    name.remove_prefix(1);
  if (name != "inf" && name != "infinity" && name != "nan" &&
      lower_case.find_first_not_of("0123456789+-.e") != std::string::npos)
    return std::nullopt;
  char *end = nullptr;
  const double value = std::strtod(lower_case.c_str(), &end);
  if (end != lower_case.c_str() + lower_case.size())
    return std::nullopt;
  return value;
}

Integer truncate_to_integer(double value) {
  if (std::isnan(value))
    throw Failure("cannot convert float NaN to integer");
  if (std::isinf(value))
    throw Failure("cannot convert float infinity to integer");
  if (std::fabs(value) >= integer_end)
    fail_large();
  return static_cast<Integer>(value);
}

double round_float(double value, int digits) {
  // 17 digits say all of a double's; beyond 323 places there is nothing.
  if (!std::isfinite(value) || digits > 323)
    return value;
  if (digits < -308)
    return std::copysign(0.0, value);
  if (digits >= 0) {
    std::array<char, 700> buffer;
    std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
    return std::strtod(buffer.data(), nullptr);
  }
  const double unit = std::pow(10.0, -digits);
  const double quotient = value / unit;
  double rounded = std::round(quotient);
  if (std::fabs(quotient - rounded) == 0.5)
    rounded = 2.0 * std::round(quotient / 2.0);
  return rounded * unit;
}

Integer round_integer(Integer value, int digits) {
  if (digits >= 0)
    return value;
  if (digits < -38)
    return 0;
  const Integer unit = power(10, -digits);
  const Integer below = multiply(floor_divide(value, unit), unit);
  const Integer rest = value - below;
  const bool even = floor_divide(value, unit) % 2 == 0;
  if (rest * 2 < unit || (rest * 2 == unit && even))
    return below;
  return add(below, unit);
}

Integer add(Integer left, Integer right) {
  Integer result;
  if (__builtin_add_overflow(left, right, &result))
    fail_large();
  return result;
}

Integer subtract(Integer left, Integer right) {
  Integer result;
  if (__builtin_sub_overflow(left, right, &result))
    fail_large();
  return result;
}

Integer multiply(Integer left, Integer right) {
  Integer result;
  if (__builtin_mul_overflow(left, right, &result))
    fail_large();
  return result;
}

Integer negate(Integer value) { return subtract(0, value); }

Integer power(Integer base, Integer exponent) {
  if (base == 0 || base == 1)
    return exponent == 0 ? 1 : base;
  if (base == -1)
    return exponent % 2 == 0 ? 1 : -1;
  Integer result = 1;
  for (Integer times = 0; times < exponent; ++times)
    result = multiply(result, base);
  return result;
}

Integer floor_divide(Integer left, Integer right) {
  if (right == 0)
    throw Failure("integer division or modulo by zero");
  if (right == -1)
    return negate(left);
  const Integer quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1
                                                        : quotient;
}

Integer modulo(Integer left, Integer right) {
  if (right == 0)
    throw Failure("integer modulo by zero");
  if (right == -1)
    return 0;
  const Integer rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double floor_divide(double left, double right) {
  if (right == 0)
    throw Failure("float floor division by zero");
  double rest = std::fmod(left, right);
  double quotient = (left - rest) / right;
  if (rest != 0 && (right < 0) != (rest < 0))
    quotient -= 1.0;
  if (quotient == 0)
    return std::copysign(0.0, left / right);
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5)
    whole += 1.0;
  return whole;
}

double modulo(double left, double right) {
  if (right == 0)
    throw Failure("float modulo");
  const double rest = std::fmod(left, right);
  if (rest == 0)
    return std::copysign(0.0, right);
  return (right < 0) != (rest < 0) ? rest + right : rest;
}

int compare(Integer left, double right) {
  if (right >= integer_end)
    return -1;
  if (right < -integer_end)
    return 1;
  const double whole = std::trunc(right);
  const auto integer = static_cast<Integer>(whole);
  if (left != integer)
    return left < integer ? -1 : 1;
  return whole < right ? -1 : whole > right ? 1 : 0;
}

} // namespace baton::jinja

//===- number_filters.cpp - filters of numbers ----------------------------===//

#include "runtime/jinja/filters.h"

#include "runtime/jinja/format_spec.h"
#include "runtime/jinja/numbers.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"

#include <algorithm>
#include <cmath>

namespace baton::jinja {

namespace {

double demand_number(const Value &value) {
  demand_defined(value);
  if (!value.is_number())
    throw Failure("must be real number, not " + std::string(type_name(value)));
  return value.number();
}

Value filter_abs(Rendering &, const Bound &given) {
  const Value &value = given[0];
  if (!value.is_number())
    throw Failure("bad operand type for abs(): '" +
                  std::string(type_name(value)) + "'");
  if (value.is_float())
    return Value(std::fabs(value.number()));
  const Integer integer = value.integer();
  return Value(integer < 0 ? negate(integer) : integer);
}

/// float(); nothing where the text or the type is none.
std::optional<double> to_float(const Value &value) {
  demand_defined(value);
  if (value.is_number())
    return value.number();
  return value.is_text() ? parse_float(value.bytes()) : std::nullopt;
}

Value filter_float(Rendering &, const Bound &given) {
  if (const auto number = to_float(given[0]))
    return Value(*number);
  return given.given(1) ? given[1] : Value(0.0);
}

Value filter_int(Rendering &, const Bound &given) {
  const Value &value = given[0];
  demand_defined(value);
  if (value.is_integer())
    return Value(value.integer());
  // As Python's, what is no base makes the text a float.
  const Integer base = !given.given(2)         ? 10
                       : given[2].is_integer() ? given[2].integer()
                                               : -1;
  const bool has_base = base == 0 || (base >= 2 && base <= 36);
  if (value.is_text() && has_base)
    if (const auto integer =
            parse_integer(value.bytes(), static_cast<unsigned>(base)))
      return Value(*integer);
  const auto number = to_float(value);
  if (number && !std::isnan(*number))
    return Value(truncate_to_integer(*number));
  return given.given(1) ? given[1] : Value(Integer(0));
}

Value filter_round(Rendering &rendering, const Bound &given) {
  const std::string method =
      given.given(2) ? text_of(rendering, given[2]) : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    throw Failure("method must be common, ceil or floor");
  const Value &value = given[0];
  if (method == "common") {
    demand_defined(value);
    if (!value.is_number())
      throw Failure("type " + std::string(type_name(value)) +
                    " doesn't define __round__ method");
    if (given.given(1) && given[1].is_none()) {
      const double whole = round_float(value.number(), 0);
      return Value(truncate_to_integer(whole));
    }
    const int digits = static_cast<int>(
        std::clamp<Integer>(given.integer_or(1, 0), -1000, 1000));
    return value.is_float() ? Value(round_float(value.number(), digits))
                            : Value(round_integer(value.integer(), digits));
  }
  const Value digits = given.given(1) ? given[1] : Value(Integer(0));
  const Value unit =
      operate(rendering, BinaryOperator::Power, Value(Integer(10)), digits);
  const double scaled =
      demand_number(operate(rendering, BinaryOperator::Multiply, value, unit));
  const Integer whole = truncate_to_integer(
      method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
  return operate(rendering, BinaryOperator::Divide, Value(whole), unit);
}

Value filter_filesizeformat(Rendering &, const Bound &given) {
  const auto bytes = to_float(given[0]);
  if (!bytes)
    throw Failure("could not convert the size to a number");
  const bool binary = given.flag(1, false);
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1)
    return Value("1 Byte");
  if (*bytes < base)
    return Value(integer_text(truncate_to_integer(*bytes)) + " Bytes");
  static constexpr const char *prefixes[] = {"k", "M", "G", "T",
                                             "P", "E", "Z", "Y"};
  double unit = base * base;
  size_t prefix = 0;
  for (; prefix + 1 < std::size(prefixes) && *bytes >= unit; ++prefix)
    unit *= base;
  std::string name = prefixes[prefix];
  if (binary)
    name = (name == "k" ? "K" : name) + "i";
  return Value(float_digits(base * *bytes / unit, 'f', 1, false) + " " + name +
               "B");
}

constexpr Filter filters_of_numbers[] = {
    {"abs", "x /", filter_abs},
    {"filesizeformat", "value binary=", filter_filesizeformat},
    {"float", "value default=", filter_float},
    {"int", "value default= base=", filter_int},
    {"round", "value precision= method=", filter_round},
};

} // namespace

std::span<const Filter> number_filters() { return filters_of_numbers; }

} // namespace baton::jinja

//===- numbers.h - numbers as Python reads and writes them ----------------===//

#ifndef BATON_RUNTIME_JINJA_NUMBERS_H
#define BATON_RUNTIME_JINJA_NUMBERS_H

#include "runtime/jinja/value.h"

#include <optional>
#include <string>
#include <string_view>

namespace baton::jinja {

/// In a base of at most 36, with lower-case letters.
std::string integer_text(Integer value, unsigned base = 10);
/// repr(): the shortest text that reads back.
std::string float_text(double value);

/// int(): with white space, sign, underscores and decimal digits of any script.
/// Base 0 reads prefixes. Throws Failure where it is too large.
std::optional<Integer> parse_integer(std::string_view text, unsigned base = 10);
/// float().
std::optional<double> parse_float(std::string_view text);

/// Throws Failure where it is infinite, no number or too large.
Integer truncate_to_integer(double value);
/// round() with digits behind the point, of which there may be less than none.
double round_float(double value, int digits);
Integer round_integer(Integer value, int digits);

/// Each throws Failure where the result is too large.
Integer add(Integer left, Integer right);
Integer subtract(Integer left, Integer right);
Integer multiply(Integer left, Integer right);
Integer negate(Integer value);
Integer power(Integer base, Integer exponent);
/// Rounded down; Failure where the divisor is zero.
Integer floor_divide(Integer left, Integer right);
Integer modulo(Integer left, Integer right);
double floor_divide(double left, double right);
double modulo(double left, double right);
/// Below, at or above zero as left is below, at or above right; right may not
/// be NaN.
int compare(Integer left, double right);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_NUMBERS_H

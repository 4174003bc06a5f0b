//===- number_language.h - numbers of a range as texts -------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_NUMBER_LANGUAGE_H
#define BATON_RUNTIME_GRAMMAR_NUMBER_LANGUAGE_H

#include "runtime/grammar/text_automaton.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// A finite number, exactly.
struct Decimal {
  bool negative = false;
  /// Digits before the point, without leading zeros but for "0", and behind
  /// it, without trailing ones.
  std::string whole = "0", fraction;

  /// Of JSON's spelling of a number. Nothing where it has more than 400
  /// digits.
  static std::optional<Decimal> parse(std::string_view spelling);
  /// Negative, zero or positive, as this one is less, equal or greater.
  int compare(const Decimal &other) const;
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

struct NumberBound {
  Decimal value;
  /// The bound itself is not in the range.
  bool exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> least, most;
  bool integer = false;
  /// Integers are multiples of it.
  uint32_t multiple = 1;
  /// Digits behind the point.
  uint32_t fraction_digits = 18;

  void raise_least(const NumberBound &bound);
  void lower_most(const NumberBound &bound);
};

/// Digits before the point, unless a bound has more.
inline constexpr size_t whole_digits = 18;

/// Numbers of the range, in decimal digits without an exponent, as JSON spells
/// them. Throws Error where that takes too many states.
TextAutomaton number_language(const NumberRange &range);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_NUMBER_LANGUAGE_H

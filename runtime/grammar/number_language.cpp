//===- number_language.cpp - numbers of a range as texts -----------------===//

#include "runtime/grammar/number_language.h"

#include "runtime/error.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace baton {

namespace {

constexpr int most_exponent = 400;

int sign_of(int value) { return (value > 0) - (value < 0); }

/// Of two numbers without their signs.
int compare_magnitudes(const Decimal &one, const Decimal &other) {
  if (one.whole.size() != other.whole.size())
    return one.whole.size() < other.whole.size() ? -1 : 1;
  if (const int order = one.whole.compare(other.whole))
    return sign_of(order);
  return sign_of(one.fraction.compare(other.fraction));
}

/// How what is read so far compares with as many digits of a bound.
enum Order : int8_t { Less = -1, Equal = 0, Greater = 1 };

/// A bound of numbers without their sign; without a value, there is none.
struct Bound {
  const NumberBound *bound = nullptr;

  Order step(Order order, size_t at, char digit, bool in_fraction) const {
    if (!bound || order != Equal)
      return order;
    const std::string &digits =
        in_fraction ? bound->value.fraction : bound->value.whole;
    if (at >= digits.size())
      return in_fraction && digit == '0' ? Equal
             : in_fraction               ? Greater
                                         : Equal;
    return digit < digits[at] ? Less : digit > digits[at] ? Greater : Equal;
  }
  /// Behind all digits before the point.
  Order at_point(Order order, size_t count) const {
    if (!bound)
      return order;
    const size_t length = bound->value.whole.size();
    return count < length ? Less : count > length ? Greater : order;
  }
  Order at_end(Order order, size_t fraction_digits) const {
    return bound && order == Equal &&
                   fraction_digits < bound->value.fraction.size()
               ? Less
               : order;
  }
};

struct Place {
  enum Phase : uint8_t { Start, Sign, Whole, Point, Fraction } phase = Start;
  bool negative = false;
  /// The only digit is a zero, which no other follows.
  bool zero = false;
  uint16_t digits = 0;
  Order low = Equal, high = Equal;
  uint32_t remainder = 0;

  auto key() const {
    return std::make_tuple(phase, negative, zero, digits, low, high, remainder);
  }
  bool operator<(const Place &other) const { return key() < other.key(); }
};

class NumberLanguage {
public:
  explicit NumberLanguage(const NumberRange &range) : range(range) {
    for (const auto &bound : {range.least, range.most})
      if (bound)
        most_digits = std::max(most_digits, bound->value.whole.size());
    const auto &least = range.least, &most = range.most;
    if (least && !least->value.negative)
      low[0].bound = &*least;
    if (most && !most->value.negative)
      high[0].bound = &*most;
    has[0] = !most || !most->value.negative;
    // Of negative numbers the order is the other way around. Zero has no sign
    // where nothing is below it.
    if (most && (most->value.negative || most->value.is_zero()))
      low[1].bound = &*most;
    if (least && least->value.negative)
      high[1].bound = &*least;
    has[1] = !least || least->value.negative;
  }

  TextAutomaton build() {
    number(Place());
    for (size_t at = 0; at < places.size(); ++at) {
      const Place place = places[at];
      TextAutomaton::State state;
      state.accepting = accepts(place);
      for (const char letter : std::string_view("-.0123456789"))
        if (const auto next = step(place, letter)) {
          const auto character = static_cast<uint8_t>(letter);
          state.transitions.push_back({{character, character}, number(*next)});
        }
      states.push_back(std::move(state));
    }
    return TextAutomaton(std::move(states));
  }

private:
  std::optional<Place> step(Place place, char letter) const {
    if (letter == '-') {
      if (place.phase != Place::Start || !has[1])
        return std::nullopt;
      place.phase = Place::Sign;
      place.negative = true;
      return place;
    }
    if (letter == '.') {
      if (place.phase != Place::Whole || range.integer ||
          range.fraction_digits == 0)
        return std::nullopt;
      place.low = low[place.negative].at_point(place.low, place.digits);
      place.high = high[place.negative].at_point(place.high, place.digits);
      place.phase = Place::Point;
      place.digits = 0;
      place.zero = false;
      return place;
    }
    return digit(place, letter);
  }

  std::optional<Place> digit(Place place, char letter) const {
    const bool fraction =
        place.phase == Place::Point || place.phase == Place::Fraction;
    if (place.phase == Place::Start && !has[0])
      return std::nullopt;
    if (!fraction && (place.zero || place.digits == most_digits))
      return std::nullopt;
    if (fraction && place.digits == range.fraction_digits)
      return std::nullopt;
    place.low =
        low[place.negative].step(place.low, place.digits, letter, fraction);
    place.high =
        high[place.negative].step(place.high, place.digits, letter, fraction);
    if (!fraction)
      place.zero = place.digits == 0 && letter == '0';
    place.phase = fraction ? Place::Fraction : Place::Whole;
    ++place.digits;
    place.remainder = static_cast<uint32_t>(
        (uint64_t(place.remainder) * 10 + static_cast<uint32_t>(letter - '0')) %
        range.multiple);
    if (!range.integer)
      place.remainder = 0;
    return place;
  }

  bool accepts(const Place &place) const {
    if ((place.phase != Place::Whole && place.phase != Place::Fraction) ||
        place.remainder != 0)
      return false;
    const bool fraction = place.phase == Place::Fraction;
    const auto final_order = [&](const Bound &bound, Order order) {
      if (!fraction)
        order = bound.at_point(order, place.digits);
      return bound.at_end(order, fraction ? place.digits : 0);
    };
    const Bound &below = low[place.negative], &above = high[place.negative];
    const Order from_low = final_order(below, place.low);
    const Order from_high = final_order(above, place.high);
    const auto inside = [](const Bound &bound, Order order, Order side) {
      return !bound.bound || order == side ||
             (order == Equal && !bound.bound->exclusive);
    };
    return inside(below, from_low, Greater) && inside(above, from_high, Less);
  }

  uint32_t number(const Place &place) {
    const auto [entry, added] =
        numbers.try_emplace(place, static_cast<uint32_t>(places.size()));
    if (added) {
      places.push_back(place);
      if (places.size() > TextAutomaton::most_states)
        throw Error("a range of numbers, or a multiple in it, takes too many "
                    "states: make it smaller");
    }
    return entry->second;
  }

  const NumberRange &range;
  size_t most_digits = whole_digits;
  /// Of numbers that are positive and negative.
  Bound low[2], high[2];
  bool has[2];
  std::map<Place, uint32_t> numbers;
  std::vector<Place> places;
  std::vector<TextAutomaton::State> states;
};

} // namespace

std::optional<Decimal> Decimal::parse(std::string_view spelling) {
  Decimal number;
  if (spelling.starts_with('-')) {
    number.negative = true;
    spelling.remove_prefix(1);
  }
  int exponent = 0;
  if (const size_t mark = spelling.find_first_of("eE"); mark != spelling.npos) {
    std::string_view digits = spelling.substr(mark + 1);
    if (digits.starts_with('+'))
      digits.remove_prefix(1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc() || std::abs(exponent) > most_exponent)
      return std::nullopt;
    spelling = spelling.substr(0, mark);
  }
  const size_t point = std::min(spelling.find('.'), spelling.size());
  std::string digits(spelling.substr(0, point));
  auto places = static_cast<int>(digits.size()) + exponent;
  if (point < spelling.size())
    digits += spelling.substr(point + 1);
  if (digits.size() > most_exponent)
    return std::nullopt;
  if (places < 0) {
    digits.insert(0, static_cast<size_t>(-places), '0');
    places = 0;
  }
  if (static_cast<size_t>(places) > digits.size())
    digits.append(static_cast<size_t>(places) - digits.size(), '0');
  number.whole = digits.substr(0, static_cast<size_t>(places));
  number.fraction = digits.substr(static_cast<size_t>(places));
  number.whole.erase(
      0, std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  if (number.whole.empty())
    number.whole = "0";
  while (number.fraction.ends_with('0'))
    number.fraction.pop_back();
  if (number.is_zero())
    number.negative = false;
  return number;
}

int Decimal::compare(const Decimal &other) const {
  if (negative != other.negative)
    return negative ? -1 : 1;
  const int order = compare_magnitudes(*this, other);
  return negative ? -order : order;
}

void NumberRange::raise_least(const NumberBound &bound) {
  const int order = least ? bound.value.compare(least->value) : 1;
  if (order > 0 || (order == 0 && bound.exclusive))
    least = bound;
}

void NumberRange::lower_most(const NumberBound &bound) {
  const int order = most ? bound.value.compare(most->value) : -1;
  if (order < 0 || (order == 0 && bound.exclusive))
    most = bound;
}

TextAutomaton number_language(const NumberRange &range) {
  return NumberLanguage(range).build();
}

} // namespace baton

//===- tests.cpp - what `is` asks -----------------------------------------===//

#include "runtime/jinja/filters.h"

#include "runtime/jinja/methods.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"

namespace baton::jinja {

namespace {

Value rest_of(Rendering &rendering, const Bound &given, const Value &divisor) {
  return operate(rendering, BinaryOperator::Modulo, given[0], divisor);
}

bool test_odd(Rendering &rendering, const Bound &given) {
  return equal(rendering, rest_of(rendering, given, Value(Integer(2))),
               Value(Integer(1)));
}
bool test_even(Rendering &rendering, const Bound &given) {
  return equal(rendering, rest_of(rendering, given, Value(Integer(2))),
               Value(Integer(0)));
}
bool test_divisibleby(Rendering &rendering, const Bound &given) {
  return equal(rendering, rest_of(rendering, given, given[1]),
               Value(Integer(0)));
}

bool test_defined(Rendering &, const Bound &given) {
  return !given[0].is_undefined();
}
bool test_undefined(Rendering &, const Bound &given) {
  return given[0].is_undefined();
}
bool test_none(Rendering &, const Bound &given) { return given[0].is_none(); }
bool test_boolean(Rendering &, const Bound &given) {
  return given[0].is_boolean();
}
bool test_true(Rendering &, const Bound &given) {
  return given[0].is_boolean() && given[0].boolean();
}
bool test_false(Rendering &, const Bound &given) {
  return given[0].is_boolean() && !given[0].boolean();
}
bool test_integer(Rendering &, const Bound &given) {
  return given[0].is_integer() && !given[0].is_boolean();
}
bool test_float(Rendering &, const Bound &given) { return given[0].is_float(); }
bool test_number(Rendering &, const Bound &given) {
  return given[0].is_number();
}
bool test_string(Rendering &, const Bound &given) { return given[0].is_text(); }
bool test_mapping(Rendering &, const Bound &given) {
  return given[0].is(Object::Kind::Dictionary);
}
bool test_escaped(Rendering &, const Bound &given) {
  return given[0].is_text() && given[0].text().safe;
}
bool test_iterable(Rendering &, const Bound &given) {
  return can_iterate(given[0]);
}

bool test_sequence(Rendering &, const Bound &given) {
  const Value &value = given[0];
  return value.is_text() || value.is_undefined() ||
         value.is(Object::Kind::List) || value.is(Object::Kind::Tuple) ||
         value.is(Object::Kind::Dictionary) || value.is(Object::Kind::Range);
}

bool test_callable(Rendering &, const Bound &given) {
  return given[0].is_undefined() || (given[0].is(Object::Kind::Callable) &&
                                     given[0].as<Callable>().callable());
}

/// Whether it is the same object, as far as there are objects here.
bool test_sameas(Rendering &, const Bound &given) {
  const Value &left = given[0], &right = given[1];
  if (left.object() || right.object())
    return left.object() == right.object();
  return left.kind() == right.kind() && !left.is_undefined() &&
         equal_keys(left, right);
}

bool by_case(Rendering &rendering, const Bound &given, const char *method) {
  const Value text(text_of(rendering, given[0]));
  return find_method(text, method)->call(rendering, text, Bound()).boolean();
}
bool test_lower(Rendering &rendering, const Bound &given) {
  return by_case(rendering, given, "islower");
}
bool test_upper(Rendering &rendering, const Bound &given) {
  return by_case(rendering, given, "isupper");
}

bool test_filter(Rendering &, const Bound &given) {
  hash_of(given[0]);
  return given[0].is_text() && find_filter(given[0].bytes());
}
bool test_test(Rendering &, const Bound &given) {
  hash_of(given[0]);
  return given[0].is_text() && find_test(given[0].bytes());
}

template <Comparison what>
bool test_comparison(Rendering &rendering, const Bound &given) {
  return compare(rendering, what, given[0], given[1]);
}

constexpr const char *two = "a b /";
constexpr Test tests[] = {
    {"!=", two, test_comparison<Comparison::NotEqual>},
    {"<", two, test_comparison<Comparison::Less>},
    {"<=", two, test_comparison<Comparison::LessOrEqual>},
    {"==", two, test_comparison<Comparison::Equal>},
    {">", two, test_comparison<Comparison::Greater>},
    {">=", two, test_comparison<Comparison::GreaterOrEqual>},
    {"boolean", "value", test_boolean},
    {"callable", "obj /", test_callable},
    {"defined", "value", test_defined},
    {"divisibleby", "value num", test_divisibleby},
    {"eq", two, test_comparison<Comparison::Equal>},
    {"equalto", two, test_comparison<Comparison::Equal>},
    {"escaped", "value", test_escaped},
    {"even", "value", test_even},
    {"false", "value", test_false},
    {"filter", "value", test_filter},
    {"float", "value", test_float},
    {"ge", two, test_comparison<Comparison::GreaterOrEqual>},
    {"greaterthan", two, test_comparison<Comparison::Greater>},
    {"gt", two, test_comparison<Comparison::Greater>},
    {"in", "value seq", test_comparison<Comparison::In>},
    {"integer", "value", test_integer},
    {"iterable", "value", test_iterable},
    {"le", two, test_comparison<Comparison::LessOrEqual>},
    {"lessthan", two, test_comparison<Comparison::Less>},
    {"lower", "value", test_lower},
    {"lt", two, test_comparison<Comparison::Less>},
    {"mapping", "value", test_mapping},
    {"ne", two, test_comparison<Comparison::NotEqual>},
    {"none", "value", test_none},
    {"number", "value", test_number},
    {"odd", "value", test_odd},
    {"sameas", "value other", test_sameas},
    {"sequence", "value", test_sequence},
    {"string", "value", test_string},
    {"test", "value", test_test},
    {"true", "value", test_true},
    {"undefined", "value", test_undefined},
    {"upper", "value", test_upper},
};

} // namespace

const Test *find_test(std::string_view name) {
  for (const Test &test : tests)
    if (test.name == name)
      return &test;
  return nullptr;
}

} // namespace baton::jinja

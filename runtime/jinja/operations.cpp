//===- operations.cpp - Python's operators over values --------------------===//

#include "runtime/jinja/operations.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/text_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace baton::jinja {

namespace {

constexpr const char *operator_names[] = {"+",  "-", "*",          "/",
                                          "//", "%", "** or pow()"};

[[noreturn]] void fail_operands(BinaryOperator what, const Value &left,
                                const Value &right) {
  throw Failure(std::string("unsupported operand type(s) for ") +
                operator_names[static_cast<size_t>(what)] + ": '" +
                std::string(type_name(left)) + "' and '" +
                std::string(type_name(right)) + "'");
}

Value add_texts(Rendering &rendering, const Value &left, const Value &right) {
  const bool safe = left.text().safe || right.text().safe;
  std::string result = safe && !left.text().safe
                           ? escape_html(rendering, left.bytes())
                           : left.bytes();
  result += safe && !right.text().safe ? escape_html(rendering, right.bytes())
                                       : right.bytes();
  rendering.make(result.size());
  return Value(std::move(result), safe);
}

Value add_lists(Rendering &rendering, const List &left, const List &right) {
  rendering.make(left.items.size() + right.items.size(), sizeof(Value));
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return Value(std::make_shared<List>(std::move(items), left.kind));
}

/// text * count and the like.
Value repeat(Rendering &rendering, const Value &what, Integer times) {
  const auto count = static_cast<uint64_t>(
      std::clamp<Integer>(times, 0, std::numeric_limits<int64_t>::max()));
  if (what.is_text()) {
    const std::string &bytes = what.bytes();
    rendering.make(count, bytes.size());
    std::string result;
    for (uint64_t time = 0; time < count && !bytes.empty(); ++time)
      result += bytes;
    return Value(std::move(result), what.text().safe);
  }
  const List &list = what.as<List>();
  rendering.make(count, list.items.size() * sizeof(Value));
  std::vector<Value> items;
  for (uint64_t time = 0; time < count && !list.items.empty(); ++time)
    items.insert(items.end(), list.items.begin(), list.items.end());
  return Value(std::make_shared<List>(std::move(items), list.kind));
}

bool is_sequence(const Value &value) {
  return value.is_text() || value.is(Object::Kind::List) ||
         value.is(Object::Kind::Tuple);
}

double float_power(double base, double exponent) {
  if (base == 0 && exponent < 0)
    throw Failure("0.0 cannot be raised to a negative power");
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) &&
      exponent != std::trunc(exponent))
    throw Failure("complex numbers are not supported");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent))
    throw Failure("Numerical result out of range");
  return result;
}

Value operate_integers(BinaryOperator what, Integer left, Integer right) {
  switch (what) {
  case BinaryOperator::Add:
    return Value(add(left, right));
  case BinaryOperator::Subtract:
    return Value(subtract(left, right));
  case BinaryOperator::Multiply:
    return Value(multiply(left, right));
  case BinaryOperator::Divide:
    if (right == 0)
      throw Failure("division by zero");
    return Value(static_cast<double>(left) / static_cast<double>(right));
  case BinaryOperator::FloorDivide:
    return Value(floor_divide(left, right));
  case BinaryOperator::Modulo:
    return Value(modulo(left, right));
  case BinaryOperator::Power:
    break;
  }
  if (right >= 0)
    return Value(power(left, right));
  return Value(
      float_power(static_cast<double>(left), static_cast<double>(right)));
}

Value operate_floats(BinaryOperator what, double left, double right) {
  switch (what) {
  case BinaryOperator::Add:
    return Value(left + right);
  case BinaryOperator::Subtract:
    return Value(left - right);
  case BinaryOperator::Multiply:
    return Value(left * right);
  case BinaryOperator::Divide:
    if (right == 0)
      throw Failure("float division by zero");
    return Value(left / right);
  case BinaryOperator::FloorDivide:
    return Value(floor_divide(left, right));
  case BinaryOperator::Modulo:
    return Value(modulo(left, right));
  case BinaryOperator::Power:
    break;
  }
  return Value(float_power(left, right));
}

} // namespace

Value operate(Rendering &rendering, BinaryOperator what, const Value &left,
              const Value &right) {
  if (what == BinaryOperator::Modulo && left.is_text())
    return printf_format(rendering, left, right);
  demand_defined(left);
  demand_defined(right);
  if (left.is_integer() && right.is_integer())
    return operate_integers(what, left.integer(), right.integer());
  if (left.is_number() && right.is_number())
    return operate_floats(what, left.number(), right.number());
  if (what == BinaryOperator::Add) {
    if (left.is_text() && right.is_text())
      return add_texts(rendering, left, right);
    if ((left.is(Object::Kind::List) && right.is(Object::Kind::List)) ||
        (left.is(Object::Kind::Tuple) && right.is(Object::Kind::Tuple)))
      return add_lists(rendering, left.as<List>(), right.as<List>());
    if (is_sequence(left))
      throw Failure("can only concatenate " + std::string(type_name(left)) +
                    " (not \"" + std::string(type_name(right)) + "\") to " +
                    std::string(type_name(left)));
  }
  if (what == BinaryOperator::Multiply) {
    if (is_sequence(left) && right.is_integer())
      return repeat(rendering, left, right.integer());
    if (left.is_integer() && is_sequence(right))
      return repeat(rendering, right, left.integer());
  }
  fail_operands(what, left, right);
}

Value negative(const Value &value) {
  demand_defined(value);
  if (value.is_integer())
    return Value(negate(value.integer()));
  if (value.is_float())
    return Value(-value.number());
  throw Failure("bad operand type for unary -: '" +
                std::string(type_name(value)) + "'");
}

Value positive(const Value &value) {
  demand_defined(value);
  if (value.is_integer())
    return Value(value.integer());
  if (value.is_float())
    return value;
  throw Failure("bad operand type for unary +: '" +
                std::string(type_name(value)) + "'");
}

} // namespace baton::jinja

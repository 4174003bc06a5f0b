//===- step_expression.cpp - numbers that depend on a step ----------------===//

#include "runtime/execute/step_expression.h"

#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <string>

namespace baton {

namespace {

[[noreturn]] void damaged(const nlohmann::json &expression) {
  throw Error(expression.dump() + " is no expression of a step");
}

/// Rounds towards minus infinity; the divisor is positive.
int64_t floor_divide(int64_t dividend, int64_t divisor) {
  return dividend / divisor - (dividend % divisor < 0);
}

} // namespace

int64_t evaluate(const nlohmann::json &expression, const BatonStep &step) {
  if (expression.is_number_integer())
    return expression.get<int64_t>();
  if (expression == "rows")
    return step.rows;
  if (expression == "past")
    return step.past;
  if (expression == "outputs")
    return step.outputs;
  if (!expression.is_array() || expression.size() != 3)
    damaged(expression);
  const auto &operation = expression[0].get_ref<const std::string &>();
  const int64_t left = evaluate(expression[1], step),
                right = evaluate(expression[2], step);
  if (operation == "+")
    return left + right;
  if (operation == "*")
    return left * right;
  if (right < 1)
    damaged(expression);
  if (operation == "floordiv")
    return floor_divide(left, right);
  if (operation == "ceildiv")
    return -floor_divide(-left, right);
  if (operation == "mod")
    return left - floor_divide(left, right) * right;
  damaged(expression);
}

} // namespace baton

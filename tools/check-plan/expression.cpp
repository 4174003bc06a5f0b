//===- expression.cpp - quasi-affine numbers of a task's coordinates ------===//

#include "tools/check-plan/plan.h"

#include <algorithm>
#include <charconv>

static constexpr unsigned max_depth = 48;

namespace baton::check {

class ExpressionParser {
public:
  ExpressionParser(const std::string &text, Expression &result)
      : text(text), result(result) {
    parse(false);
    if (take(""), at != text.size())
      fail();
  }

private:
  using Op = Expression::Op;

  [[noreturn]] void fail() const {
    throw Error("'" + text +
                "' is no expression of d0, d1, ..., rows, past, outputs");
  }
  bool take(const std::string &word) {
    at = std::min(text.find_first_not_of(' ', at), text.size());
    const bool found = text.compare(at, word.size(), word) == 0;
    at += found ? word.size() : 0;
    return found;
  }
  Op take_operator(bool in_product) {
    if (!in_product)
      return take("+") ? Op::Add : take("-") ? Op::Subtract : Op::Constant;
    return take("*")          ? Op::Multiply
           : take("floordiv") ? Op::FloorDivide
           : take("ceildiv")  ? Op::CeilDivide
           : take("mod")      ? Op::Modulo
                              : Op::Constant;
  }
  void add(Op op, int64_t value = 0) { result.steps.push_back({op, value}); }

  /// A sum of products, or a product of factors.
  void parse(bool product) {
    auto operand = [&] { product ? factor() : parse(true); };
    operand();
    for (Op op; (op = take_operator(product)) != Op::Constant; add(op))
      operand();
  }
  void factor() {
    if (++depth > max_depth)
      fail();
    if (take("-")) {
      add(Op::Constant);
      factor();
      add(Op::Subtract);
    } else if (take("(")) {
      parse(false);
      if (!take(")"))
        fail();
    } else if (take("rows")) {
      add(Op::Symbol, 0);
    } else if (take("past")) {
      result.names_past = true;
      add(Op::Symbol, 1);
    } else if (take("outputs")) {
      add(Op::Symbol, 2);
    } else if (take("d")) {
      const int64_t index = number();
      if (index >= max_dimensions)
        fail();
      result.dimensions = std::max(result.dimensions, unsigned(index) + 1);
      add(Op::Coordinate, index);
    } else {
      add(Op::Constant, number());
    }
    --depth;
  }
  int64_t number() {
    int64_t value = 0;
    auto [rest, wrong] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (wrong != std::errc() || value < 0)
      fail();
    at = rest - text.data();
    return value;
  }

  const std::string &text;
  Expression &result;
  size_t at = 0;
  unsigned depth = 0;
};

Expression::Expression(const std::string &text) {
  ExpressionParser(text, *this);
}

int64_t Expression::evaluate(const int64_t *coordinates,
                             const Symbols &symbols) const {
  const int64_t known[] = {symbols.rows, symbols.past, symbols.outputs};
  int64_t stack[2 * max_depth + 8];
  unsigned top = 0;
  for (const Step &step : steps) {
    if (step.op <= Op::Symbol) {
      stack[top++] = step.op == Op::Constant     ? step.value
                     : step.op == Op::Coordinate ? coordinates[step.value]
                                                 : known[step.value];
      continue;
    }
    const int64_t b = stack[--top];
    int64_t &a = stack[top - 1];
    bool wrong = false;
    if (step.op >= Op::FloorDivide && b <= 0)
      throw Error(text("an expression divides by ", b));
    if (step.op == Op::Add)
      wrong = __builtin_add_overflow(a, b, &a);
    else if (step.op == Op::Subtract)
      wrong = __builtin_sub_overflow(a, b, &a);
    else if (step.op == Op::Multiply)
      wrong = __builtin_mul_overflow(a, b, &a);
    else if (step.op == Op::FloorDivide)
      a = a / b - (a % b < 0);
    else if (step.op == Op::CeilDivide)
      a = a / b + (a % b > 0);
    else
      a = a % b + (a % b < 0 ? b : 0);
    if (wrong)
      throw Error("an expression exceeds 64 bits");
  }
  return stack[0];
}

} // namespace baton::check

//===- expression.cpp - quasi-affine numbers of a task's coordinates ------===//

#include "tools/check-plan/expression.h"

#include <algorithm>
#include <charconv>

using namespace baton::check;

namespace {
constexpr unsigned max_depth = 48;
}

class Expression::Parser {
public:
  Parser(const std::string &text, Expression &result)
      : text(text), result(result) {}

  void parse() {
    sum();
    if (skip() != text.size())
      fail();
  }

private:
  [[noreturn]] void fail() const {
    throw Error("'" + text +
                "' is no expression of d0, d1, ..., rows, past, "
                "outputs");
  }
  size_t skip() {
    while (at < text.size() && text[at] == ' ')
      ++at;
    return at;
  }
  bool take(const std::string &word) {
    skip();
    if (text.compare(at, word.size(), word) != 0)
      return false;
    at += word.size();
    return true;
  }
  void add(Op op, int64_t value = 0) { result.steps.push_back({op, value}); }

  void sum() {
    if (++depth > max_depth)
      fail();
    product();
    for (;;) {
      Op op = take("+") ? Op::Add : take("-") ? Op::Subtract : Op::Constant;
      if (op == Op::Constant)
        break;
      product();
      add(op);
    }
    --depth;
  }
  void product() {
    factor();
    for (;;) {
      Op op = take("*")          ? Op::Multiply
              : take("floordiv") ? Op::FloorDivide
              : take("ceildiv")  ? Op::CeilDivide
              : take("mod")      ? Op::Modulo
                                 : Op::Constant;
      if (op == Op::Constant)
        return;
      factor();
      add(op);
    }
  }
  void factor() {
    if (take("-")) {
      if (++depth > max_depth)
        fail();
      add(Op::Constant, 0);
      factor();
      add(Op::Subtract);
      --depth;
    } else if (take("(")) {
      sum();
      if (!take(")"))
        fail();
    } else if (take("rows")) {
      add(Op::Rows);
    } else if (take("past")) {
      result.has_past = true;
      add(Op::Past);
    } else if (take("outputs")) {
      add(Op::Outputs);
    } else if (take("d")) {
      int64_t index = number();
      if (index >= max_dimensions)
        fail();
      result.dimension_count =
          std::max(result.dimension_count, unsigned(index) + 1);
      add(Op::Coordinate, index);
    } else {
      skip();
      add(Op::Constant, number());
    }
  }
  int64_t number() {
    int64_t value = 0;
    const char *begin = text.data() + at, *end = text.data() + text.size();
    auto [rest, wrong] = std::from_chars(begin, end, value);
    if (wrong != std::errc() || value < 0)
      fail();
    at += rest - begin;
    return value;
  }

  const std::string &text;
  Expression &result;
  size_t at = 0;
  unsigned depth = 0;
};

Expression::Expression(const std::string &text) { Parser(text, *this).parse(); }

static int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

int64_t Expression::evaluate(const int64_t *coordinates,
                             const Symbols &symbols) const {
  int64_t stack[2 * max_depth + 8];
  unsigned top = 0;
  for (const Step &step : steps) {
    switch (step.op) {
    case Op::Constant:
      stack[top++] = step.value;
      continue;
    case Op::Coordinate:
      stack[top++] = coordinates[step.value];
      continue;
    case Op::Rows:
      stack[top++] = symbols.rows;
      continue;
    case Op::Past:
      stack[top++] = symbols.past;
      continue;
    case Op::Outputs:
      stack[top++] = symbols.outputs;
      continue;
    default:
      break;
    }
    int64_t b = stack[--top], &a = stack[top - 1];
    bool wrong = false;
    if (step.op == Op::Add)
      wrong = __builtin_add_overflow(a, b, &a);
    else if (step.op == Op::Subtract)
      wrong = __builtin_sub_overflow(a, b, &a);
    else if (step.op == Op::Multiply)
      wrong = __builtin_mul_overflow(a, b, &a);
    else if (b <= 0)
      throw Error("an expression divides by " + std::to_string(b));
    else if (step.op == Op::FloorDivide)
      a = floor_divide(a, b);
    else if (step.op == Op::CeilDivide)
      a = -floor_divide(-a, b);
    else
      a -= floor_divide(a, b) * b;
    if (wrong)
      throw Error("an expression exceeds 64 bits");
  }
  return stack[0];
}

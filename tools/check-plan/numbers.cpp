//===- numbers.cpp - indices, and numbers of a task's coordinates ---------===//

#include "tools/check-plan/plan.h"

#include <algorithm>
#include <charconv>

namespace baton::check {

static constexpr unsigned max_depth = 48;

class ExpressionParser {
public:
  ExpressionParser(const std::string &text, Expression &result)
      : text(text), result(result) {
    parse(false);
    if (!take("") || at != text.size())
      fail();
  }

private:
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
  void add(char op, int64_t value = 0) { result.steps.push_back({op, value}); }

  char take_operator(bool of_product) {
    if (!of_product)
      return take("+") ? '+' : take("-") ? '-' : 0;
    return take("*")          ? '*'
           : take("floordiv") ? '/'
           : take("ceildiv")  ? '^'
           : take("mod")      ? '%'
                              : 0;
  }

  /// A sum of products, or a product of factors.
  void parse(bool product) {
    auto operand = [&] { product ? factor() : parse(true); };
    operand();
    while (const char op = take_operator(product)) {
      operand();
      add(op);
    }
  }
  void factor() {
    if (++depth > max_depth)
      fail();
    if (take("-")) {
      add('c');
      factor();
      add('-');
    } else if (take("(")) {
      parse(false);
      if (!take(")"))
        fail();
    } else if (take("rows")) {
      add('s', 0);
    } else if (take("past")) {
      result.names_past = true;
      add('s', 1);
    } else if (take("outputs")) {
      add('s', 2);
    } else if (take("d")) {
      const int64_t index = number();
      if (index >= int64_t(max_dimensions))
        fail();
      result.dimensions = std::max(result.dimensions, size_t(index) + 1);
      add('d', index);
    } else {
      add('c', number());
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

/// Leaves it in `a`.
static void apply(char op, int64_t &a, int64_t b) {
  if ((op == '+' && __builtin_add_overflow(a, b, &a)) ||
      (op == '-' && __builtin_sub_overflow(a, b, &a)) ||
      (op == '*' && __builtin_mul_overflow(a, b, &a)))
    throw Error("an expression exceeds 64 bits");
  if (op == '+' || op == '-' || op == '*')
    return;
  if (b <= 0)
    throw Error(text("an expression divides by ", b));
  const int64_t quotient = a / b, rest = a % b;
  a = op == '/'   ? quotient - (rest < 0)
      : op == '^' ? quotient + (rest > 0)
                  : rest + (rest < 0 ? b : 0);
}

int64_t Expression::evaluate(const Symbols &symbols,
                             const Index &coordinates) const {
  const int64_t known[] = {symbols.rows, symbols.past, symbols.outputs};
  int64_t stack[2 * max_depth + 8];
  unsigned top = 0;
  for (const auto &[op, value] : steps)
    if (op == 'c' || op == 'd' || op == 's')
      stack[top++] = op == 'c'   ? value
                     : op == 'd' ? coordinates[value]
                                 : known[value];
    else
      --top, apply(op, stack[top - 1], stack[top]);
  return stack[0];
}

Index evaluate(const Expressions &expressions, const Symbols &symbols,
               const Index &coordinates) {
  Index result{{}, expressions.size()};
  for (size_t d = 0; d < result.rank; ++d)
    result[d] = expressions[d].evaluate(symbols, coordinates);
  return result;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

std::ostream &operator<<(std::ostream &stream, const Index &index) {
  stream << "[";
  for (size_t d = 0; d < index.rank; ++d)
    stream << (d ? ", " : "") << index[d];
  return stream << "]";
}

int64_t volume(const Index &extents, size_t from) {
  __int128 result = 1;
  for (size_t d = from; d < extents.rank; ++d)
    result = std::min<__int128>(result * std::max<int64_t>(0, extents[d]),
                                int64_t(1) << 60);
  return int64_t(result);
}

Index unflatten(int64_t number, const Index &extents) {
  Index index{{}, extents.rank};
  for (size_t d = index.rank; d-- > 0; number /= extents[d])
    index[d] = number % extents[d];
  return index;
}

std::optional<int64_t> flatten(const Index &index, const Index &extents) {
  if (index.rank != extents.rank)
    return {};
  int64_t number = 0;
  for (size_t d = 0; d < extents.rank; ++d) {
    if (index[d] < 0 || index[d] >= extents[d])
      return {};
    number = number * extents[d] + index[d];
  }
  return number;
}

bool step(Index &index, const Index &low, const Index &high, size_t rank,
          size_t along, int64_t by) {
  while (rank-- > 0) {
    if ((index[rank] += rank == along ? by : 1) < high[rank])
      return true;
    index[rank] = low[rank];
  }
  return false;
}

} // namespace baton::check

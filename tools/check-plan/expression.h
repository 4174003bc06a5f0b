//===- expression.h - quasi-affine numbers of a task's coordinates --------===//

#ifndef BATON_TOOLS_CHECK_PLAN_EXPRESSION_H
#define BATON_TOOLS_CHECK_PLAN_EXPRESSION_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::check {

/// A plan that cannot be read, or a number that nobody can compute.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What is known of a step before it runs.
struct Symbols {
  int64_t rows = 1, past = 0, outputs = 1;

  auto operator<=>(const Symbols &) const = default;
};

constexpr unsigned max_dimensions = 8;

/// `d0 * 16 + past`, `(rows - 1) floordiv 4`, of d0, d1, ..., rows, past,
/// outputs, whole numbers, + - * floordiv ceildiv mod and parentheses.
class Expression {
public:
  Expression() : Expression("0") {}
  explicit Expression(const std::string &text);

  int64_t evaluate(const int64_t *coordinates, const Symbols &symbols) const;
  /// One more than the greatest coordinate that it names.
  unsigned dimensions() const { return dimension_count; }
  bool names_past() const { return has_past; }

private:
  class Parser;
  enum class Op : uint8_t {
    Constant,
    Coordinate,
    Rows,
    Past,
    Outputs,
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    CeilDivide,
    Modulo
  };
  struct Step {
    Op op;
    int64_t value;
  };

  /// Operands before operators.
  std::vector<Step> steps;
  unsigned dimension_count = 0;
  bool has_past = false;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_EXPRESSION_H

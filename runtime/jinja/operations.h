//===- operations.h - Python's operators over values ----------------------===//
//
// Each throws Failure in Python's words where types do not go together.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_OPERATIONS_H
#define BATON_RUNTIME_JINJA_OPERATIONS_H

#include "runtime/jinja/rendering.h"
#include "runtime/jinja/value.h"

namespace baton::jinja {

enum class BinaryOperator : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
};
enum class Comparison : uint8_t {
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  In,
  NotIn,
};

Value operate(Rendering &rendering, BinaryOperator what, const Value &left,
              const Value &right);
Value negative(const Value &value);
Value positive(const Value &value);

bool equal(Rendering &rendering, const Value &left, const Value &right);
/// Below, at or above zero where the two are ordered.
bool compare(Rendering &rendering, Comparison what, const Value &left,
             const Value &right);
bool contains(Rendering &rendering, const Value &container, const Value &item);

/// Where `part` first occurs in `text` from `from` on.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_OPERATIONS_H

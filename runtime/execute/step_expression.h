//===- step_expression.h - numbers that depend on a step ------------------===//
//
// An expression is a number, "rows", "past" or "outputs", or a list of an
// operation and its two operands, which are expressions:
//
//   ["ceildiv", ["+", "rows", 1], 48]
//
// The operations are +, *, floordiv, ceildiv and mod, as MLIR's affine maps
// have them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_STEP_EXPRESSION_H
#define BATON_RUNTIME_EXECUTE_STEP_EXPRESSION_H

#include "runtime/program.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace baton {

/// Throws Error, or an exception of the JSON library, for what is none.
int64_t evaluate(const nlohmann::json &expression, const BatonStep &step);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_STEP_EXPRESSION_H

//===- byte_formula.h - bytes that depend on a step's rows ----------------===//

#ifndef BATON_TOOLS_PLAN_BYTE_FORMULA_H
#define BATON_TOOLS_PLAN_BYTE_FORMULA_H

#include <string>

namespace baton::plan {

/// What a description has for bytes that are exchanged, such as
/// "4 * (rows ceildiv 32) * 64 + 16": numbers and `rows`, with +, -, *,
/// floordiv, ceildiv and mod as affine expressions of MLIR have them. Throws
/// Error for anything else.
double bytes_of_formula(const std::string &formula, double rows);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_BYTE_FORMULA_H

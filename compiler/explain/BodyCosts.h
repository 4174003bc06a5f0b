//===- BodyCosts.h - formulas for the bodies of the task library ----------===//

#ifndef BATON_COMPILER_EXPLAIN_BODYCOSTS_H
#define BATON_COMPILER_EXPLAIN_BODYCOSTS_H

#include "compiler/explain/Costs.h"

#include "llvm/ADT/StringMap.h"

namespace baton::explain {

/// What a body costs, and how many operands it takes.
struct BodyFormula {
  BodyCost (*cost)(const CallOperands &);
  size_t operands;
};

/// Nothing for a name that the table does not have, or with other operands.
inline std::optional<BodyCost>
lookUpBody(const llvm::StringMap<BodyFormula> &table, llvm::StringRef name,
           const CallOperands &operands) {
  auto found = table.find(name);
  if (found == table.end() || found->second.operands != operands.size())
    return std::nullopt;
  return found->second.cost(operands);
}

/// The sum over `rows` rows from `position` on of how many positions of [begin,
/// end) each sees.
double positionsSeen(int64_t rows, int64_t position, int64_t window,
                     int64_t begin, int64_t end);

// Of a row of hyper-connections; `mixing` is a BatonMixing.

/// What maps take after the product: a division and a sum for each element,
/// iteration and direction.
double mapsCost(int64_t streams, int32_t mixing, int64_t iterations);
/// How many numbers they are.
int64_t mapsOf(int64_t streams, int32_t mixing);

/// Of bodies that only programs that train call.
std::optional<BodyCost> trainingBodyCost(llvm::StringRef callee,
                                         const CallOperands &operands);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_BODYCOSTS_H

//===- PlanMessages.h - what messages call the parts of a plan -----------===//

#ifndef BATON_PASSES_PROOF_PLANMESSAGES_H
#define BATON_PASSES_PROOF_PLANMESSAGES_H

#include "dialects/Event/Event.h"

#include <string>

namespace baton::tasks {

/// "(3, 0)"
std::string tupleText(llvm::ArrayRef<int64_t> values);
/// "d0 * 4 + s1"
std::string textOf(mlir::AffineExpr expression);
/// "attention(3, 0)"
std::string taskName(event::PhaseOp phase, llvm::ArrayRef<int64_t> coordinates);
/// "rows 5, past 0, outputs 1"
std::string symbolNames(llvm::ArrayRef<int64_t> symbols);
/// "@x", or "@x and @y, which share @memory"
std::string sharing(event::BufferOp one, event::BufferOp other);

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_PLANMESSAGES_H

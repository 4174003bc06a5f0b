//===- Derivation.h - results' placements, given the operands' ------------===//

#ifndef BATON_PASSES_SHARDING_DERIVATION_H
#define BATON_PASSES_SHARDING_DERIVATION_H

#include "passes/sharding/States.h"

namespace baton::sharding {

/// How factors are sharded where operands lie as given; partials are not looked
/// at. Factors that no operand has are as `results` say. Says what does not fit
/// the rule: a factor that operands shard differently, or that has to be whole.
std::optional<llvm::SmallVector<Sharding>>
deriveFactors(const Rule &rule, llvm::ArrayRef<dist::PlacementAttr> operands,
              llvm::ArrayRef<dist::PlacementAttr> results, dist::MeshOp mesh,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Placements of results, partials included: of sums over sharded factors, and
/// of partial terms that results are linear in. Says which operand is partial,
/// or not, where the rule wants it otherwise.
std::optional<llvm::SmallVector<dist::PlacementAttr>>
deriveResults(const Rule &rule, llvm::ArrayRef<dist::PlacementAttr> operands,
              llvm::ArrayRef<dist::PlacementAttr> results, dist::MeshOp mesh,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_DERIVATION_H

//===- States.h - where values and factors lie, and since when ------------===//

#ifndef BATON_PASSES_SHARDING_STATES_H
#define BATON_PASSES_SHARDING_STATES_H

#include "passes/sharding/Rules.h"

#include "dialects/Dist/Placement.h"

namespace baton::sharding {

/// A seed: what first said that something is sharded.
struct Origin {
  /// In the order of tactics.
  unsigned tactic;
  std::string tacticName;
  /// "dimension 1 of 'layers.q_rope'"
  std::string where;
};

/// Which axes shard a dimension or a factor, the outermost first.
struct Sharding {
  struct Use {
    mlir::StringAttr axis;
    const Origin *origin;
  };
  llvm::SmallVector<Use, 2> axes;
  /// Of ragged dimensions; as in DimensionAttr.
  int64_t granularity = 0;
  llvm::SmallVector<int64_t> units;

  bool has(mlir::StringAttr axis) const;
  dist::DimensionAttr attribute(mlir::MLIRContext *context) const;
};

using Shardings = llvm::SmallVector<Sharding, 4>;

/// Whether axes may follow one another over `size` indices (0: any number).
bool divides(int64_t size, llvm::ArrayRef<Sharding::Use> axes, int64_t more,
             dist::MeshOp mesh);

/// The part of a dimension's axes that shards each of its factors. Axes that no
/// factor can take are left out, with those behind them.
llvm::SmallVector<Sharding, 2> split(const Sharding &dimension,
                                     const FactorList &list, const Rule &rule,
                                     dist::MeshOp mesh);

/// What factors make of a dimension: those behind one that is not sharded to
/// its end cannot show.
Sharding combine(const FactorList &list, llvm::ArrayRef<Sharding> factors,
                 const Rule &rule, dist::MeshOp mesh);

/// Without partials.
dist::PlacementAttr placementOf(const FactorLists &tensor,
                                llvm::ArrayRef<Sharding> factors,
                                const Rule &rule, dist::MeshOp mesh);

/// With the partial that sums over sharded factors leave in a result.
dist::PlacementAttr computedPlacement(const FactorLists &result,
                                      llvm::ArrayRef<Sharding> factors,
                                      const Rule &rule, dist::MeshOp mesh);

Shardings shardingsOf(dist::PlacementAttr placement, const Origin *origin);

/// 'layers.q_rope', a parameter's name, or what makes the value.
std::string nameOf(mlir::Value value);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_STATES_H

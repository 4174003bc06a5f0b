//===- Propagation.h - from what is known of some values to all -----------===//
//
// Slots are places that one or several values lie in; nodes are rules over
// slots. In a node, an axis of a slot's dimension is a claim of a factor. What
// happens to claims:
//
// - claims of earlier tactics come first, then outer axes before inner ones;
// - an axis shards one factor of a node: later claims of it lose. The result of
//   a linear whose rows (tactic sequence) and columns (tactic tensor, earlier)
//   both claim an axis is computed with columns sharded;
// - a factor takes axes in the order in which some value has them, as long as
//   they divide it and every dimension that it is a part of can show it;
// - what factors have in the end goes to all dimensions of the node, behind the
//   axes that these have already. A slot never loses an axis.
//
// So a slot and a node may disagree: there a reshard will stand.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_SHARDING_PROPAGATION_H
#define BATON_PASSES_SHARDING_PROPAGATION_H

#include "passes/sharding/States.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <vector>

namespace baton::sharding {

class Propagation {
public:
  Propagation(model::ProgramOp program, dist::MeshOp mesh)
      : program(program), mesh(mesh) {}

  /// Finds slots and nodes. Fails at an op of which nothing is known.
  mlir::LogicalResult collect();

  /// What a seed says. Fails, at `op`, if it does not fit.
  mlir::LogicalResult seed(mlir::Operation *op, mlir::Value value,
                           unsigned dimension, mlir::StringAttr axis,
                           bool mayBeRagged);
  /// The same for a place in which a gradient lies.
  mlir::LogicalResult seedGradient(model::GradientOp op, unsigned dimension,
                                   mlir::StringAttr axis);
  /// Placements that the IR states.
  mlir::LogicalResult seedStated();

  void beginTactic(llvm::StringRef name);
  /// To a fixed point.
  void propagate();
  /// From now on gradients lie elsewhere than their parameters.
  void cutGradients() { gradientsAreApart = true; }

  void annotate();
  /// What was decided against, as remarks.
  void explain();

  const Shardings &shardingsOf(mlir::Value value) const {
    return slots[slotOf.lookup(value)].shardings;
  }
  const Shardings &shardingsOf(model::GradientOp op) const {
    return slots[gradientSlots.lookup(op)].shardings;
  }
  model::ProgramOp getProgram() const { return program; }
  dist::MeshOp getMesh() const { return mesh; }

private:
  struct Slot {
    std::string name;
    model::StepTensorType type;
    Shardings shardings;
  };
  struct Node {
    mlir::Operation *op;
    Rule rule;
    llvm::SmallVector<unsigned> slots;
    /// That a gradient lies as its parameter does.
    bool isGradientsPlace = false;

    const FactorLists &tensor(unsigned i) const {
      return i < rule.operands.size() ? rule.operands[i]
                                      : rule.results[i - rule.operands.size()];
    }
  };
  /// An axis of a dimension that a factor of it would take.
  struct Claim {
    unsigned factor, position;
    Sharding::Use use;
    unsigned value, dimension;
    const Sharding *part;
  };
  struct Conflict {
    Claim lost, won;
  };

  unsigned addSlot(mlir::Value value);
  void addIdentity(mlir::Operation *op, llvm::ArrayRef<unsigned> slots,
                   mlir::ValueRange alike, bool isGradientsPlace = false);
  mlir::LogicalResult addOp(mlir::Operation *op);
  mlir::LogicalResult place(mlir::Operation *op, unsigned slot,
                            unsigned dimension, mlir::StringAttr axis,
                            bool mayBeRagged);
  mlir::LogicalResult placeAll(mlir::Operation *op, unsigned slot,
                               dist::PlacementAttr placement);
  const Origin *newOrigin(unsigned slot, unsigned dimension);

  llvm::SmallVector<Claim> claimsOf(const Node &node) const;
  bool accepts(const Node &node, llvm::ArrayRef<Sharding> factors,
               const Claim &claim) const;
  llvm::SmallVector<Sharding>
  factorsOf(const Node &node,
            llvm::SmallVectorImpl<Conflict> *lost = nullptr) const;
  bool propagate(const Node &node);
  bool isActive(const Node &node) const {
    return !(node.isGradientsPlace && gradientsAreApart);
  }
  dist::PlacementAttr placementOf(unsigned slot) const;
  std::string describe(const Node &node, const Claim &claim) const;

  model::ProgramOp program;
  /// Getters of ops are not const.
  mutable dist::MeshOp mesh;
  std::vector<Slot> slots;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Value, unsigned> slotOf;
  llvm::DenseMap<mlir::Operation *, unsigned> gradientSlots;
  /// Parameters of one name and type, and values saved by name.
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, unsigned> named;
  std::deque<Origin> origins;
  unsigned tactic = 0;
  std::string tacticName;
  bool gradientsAreApart = false;
};

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_PROPAGATION_H

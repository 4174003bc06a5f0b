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
#include "llvm/ADT/DenseSet.h"

#include <deque>
#include <utility>
#include <vector>

namespace baton::sharding {

class Propagation {
public:
  struct Slot {
    std::string name;
    model::StepTensorType type;
    Shardings shardings;
  };
  /// Behind a rule's operands come its results.
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

  /// All that `axis` shards: a dimension of each slot, a factor of each node,
  /// or none, -1. Nothing that comes later adds to it. Slots have the axis
  /// behind those that they have; what does not divide is uneven.
  void decide(mlir::StringAttr axis, llvm::ArrayRef<int> dimensions,
              llvm::ArrayRef<int> factors);
  /// Parameters have `axis` where the IR states it, and nowhere else.
  void keepParameters(mlir::StringAttr axis) { kept.push_back(axis); }

  void annotate();
  /// What was decided against, as remarks.
  void explain();

  const Shardings &shardingsOf(mlir::Value value) const {
    return slots[slotOf.lookup(value)].shardings;
  }
  const Shardings &shardingsOf(model::GradientOp op) const {
    return slots[gradientSlots.lookup(op)].shardings;
  }
  const std::vector<Slot> &getSlots() const { return slots; }
  const std::vector<Node> &getNodes() const { return nodes; }
  unsigned slot(mlir::Value value) const { return slotOf.lookup(value); }
  /// In which a gradient lies.
  unsigned slot(model::GradientOp op) const { return gradientSlots.lookup(op); }
  /// In which a value lies that is saved.
  unsigned slot(model::SaveOp op) const {
    return named.lookup({op.getNameAttr(), op.getX().getType()});
  }
  dist::PlacementAttr placementOf(unsigned slot) const;
  /// What shards the factors of a node, as its slots lie.
  llvm::SmallVector<Sharding> shardingsOf(const Node &node) const {
    return factorsOf(node);
  }
  model::ProgramOp getProgram() const { return program; }
  dist::MeshOp getMesh() const { return mesh; }

private:
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
  bool mayTake(unsigned slot, mlir::StringAttr axis) const;
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
  llvm::DenseSet<unsigned> parameterSlots;
  std::deque<Origin> origins;
  /// Axes of which all is decided, and what they shard of each node.
  std::vector<std::pair<mlir::StringAttr, std::vector<int>>> decisions;
  llvm::SmallVector<mlir::StringAttr> kept;
  unsigned tactic = 0;
  std::string tacticName;
  bool gradientsAreApart = false;
};

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_PROPAGATION_H

//===- Layout.h - which op of a training step runs at which position ------===//
//
// A training step is cut along its forward half, which is a row of items: each
// iteration of each stack, and what stands before, between and behind stacks.
// Adjoints follow the item whose adjoint they are.
//
//   forward   embedding | layer 0 | layer 1 | layer 2 | norm, loss
//   position      0          0         1         1         1
//
// What is cheap and depends on no activation (parameters, tables of angles) has
// no place: every phase that reads it makes it again. Nor has what leads to a
// gradient alone: it is made where the gradient is. A program that decodes is
// the forward half alone.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PIPELINE_LAYOUT_H
#define BATON_PASSES_PIPELINE_LAYOUT_H

#include "dialects/Dist/Dist.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace baton::pipeline {

/// A value that goes from one position to the next one, or back: one of the
/// program's body, or what a stack carries, named by its result.
struct Crossing {
  mlir::Value value;
  bool isCarried;

  bool operator==(const Crossing &) const = default;
};

/// Iterations of a stack, in the order of layers.
struct Segment {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

class Layout {
public:
  explicit Layout(model::ProgramOp program) : program(program) {}

  /// Finds items; says what cannot be cut.
  mlir::LogicalResult analyze();
  /// Cuts them to `positions` parts of even cost, or, if given, of so many
  /// layers each. Ops beside stacks are then where the layer before them is, or
  /// the first one.
  mlir::LogicalResult cut(int positions, llvm::ArrayRef<int64_t> layers = {});

  /// Whether an op is made again wherever it is read.
  bool isRemade(mlir::Operation *op) const { return remade.contains(op); }
  /// Of an op of the program's body that has a place and is no stack.
  int positionOf(mlir::Operation *op) const {
    return positions[items.lookup(op)];
  }
  /// Which of a stack's iterations run at a position; a reversed one's, too.
  Segment segmentOf(model::StackOp stack, int position) const;

  /// Ops of each phase that have a place, in their order.
  llvm::ArrayRef<mlir::Operation *> phase(dist::PhaseKind kind) const {
    return phases[unsigned(kind)];
  }
  /// Whether an op has no place, but those of the backward ops that read it.
  bool isLate(mlir::Operation *op) const { return late.contains(op); }

  /// What position + 1 gets from `position`, and what it sends back.
  llvm::ArrayRef<Crossing> upwards(int position) const { return up[position]; }
  llvm::ArrayRef<Crossing> downwards(int position) const {
    return down[position];
  }

private:
  void classify();
  void findRemade();
  void findBackward();
  mlir::LogicalResult matchStacks();
  void makeItems();
  mlir::FailureOr<std::vector<int>> beginsOf(llvm::ArrayRef<int64_t> layers,
                                             int parts);
  mlir::LogicalResult placeGradients();
  mlir::LogicalResult findCrossings();
  mlir::LogicalResult read(mlir::Value value, int position);
  void readPattern(model::StackOp stack,
                   llvm::function_ref<void(mlir::Value)> visit) const;
  mlir::LogicalResult
  forEachRead(mlir::Operation *op, int position,
              llvm::function_ref<mlir::LogicalResult(mlir::Value)> visit) const;
  bool isGradient(mlir::Value value) const;
  int itemOf(mlir::Value value) const;

  model::ProgramOp program;
  /// Ops without a place, and ops that depend on a gradient.
  llvm::DenseSet<mlir::Operation *> remade, late, backward;
  llvm::SmallVector<mlir::Operation *> phases[3];
  llvm::SmallVector<model::StackOp> stacks;
  /// Of every stack, the forward one that it is, or is the adjoint of.
  llvm::DenseMap<mlir::Operation *, unsigned> stackNumbers;
  llvm::SmallVector<int> firstItems;
  /// Of other ops.
  llvm::DenseMap<mlir::Operation *, int> items;
  std::vector<double> costs;
  /// Of items.
  std::vector<int> positions;
  std::vector<llvm::SmallVector<Crossing>> up, down;
};

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_LAYOUT_H

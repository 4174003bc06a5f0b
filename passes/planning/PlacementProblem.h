//===- PlacementProblem.h - where one axis should shard a program ---------===//
//
// Of every value and every op of a program, the placements along one axis of
// the mesh that its rule allows; what ops take and what values cost on their
// way between placements is counted as insert-reshards and lower-reshards would
// write it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PLANNING_PLACEMENTPROBLEM_H
#define BATON_PASSES_PLANNING_PLACEMENTPROBLEM_H

#include "passes/planning/Choices.h"
#include "passes/planning/Communication.h"
#include "passes/sharding/Propagation.h"

#include "llvm/ADT/MapVector.h"

namespace baton::planning {

/// Of a device and its links.
struct DeviceFacts {
  /// Operations of products in a second; bytes of memory in a second; bytes
  /// that a rank sends in a second; seconds until the first of a collective's
  /// bytes arrives.
  double flops = 0, bandwidth = 0, link = 0, latency = 0;
  /// Bytes of memory; kForbidden for any number.
  double memory = kForbidden;
  /// Bytes that a trained parameter takes for each of its own: the weight, its
  /// gradient and an optimizer's states.
  double stateFactor = 4;
};

/// What ranks may exchange beside sums.
struct Exchanges {
  /// Rows of what a training step makes, as in sequence parallelism.
  bool rows = false;
  /// Columns of rows.
  bool columns = false;
};

/// What a part of a program takes of a step.
struct PartSummary {
  double seconds = 0, parameterBytes = 0, savedBytes = 0;
  /// Of the model, that it is: 0 beside stacks.
  int64_t layers = 0;
};

struct PlacementSummary {
  /// Of a step: what ops take, and collectives.
  double compute = 0, exchange = 0;
  Communication communication;
  /// Parameters with what training adds, what is saved for the backward step,
  /// and keys and values.
  double parameterBytes = 0, savedBytes = 0, stateBytes = 0;
  /// What a program's stacks stand between, and each of their iterations, with
  /// their adjoints: before the first one, iterations in the model's order, and
  /// behind the last one, the loss with its gradient. Gradients along batch
  /// axes are in it. A parameter that several parts read is in each.
  std::vector<PartSummary> parts;
  /// What the first stack carries from an iteration to the next one.
  double carriedBytes = 0;

  double seconds() const { return compute + exchange; }
  double bytes() const { return parameterBytes + savedBytes + stateBytes; }
};

class PlacementProblem {
public:
  PlacementProblem(sharding::Propagation &propagation, mlir::StringAttr axis,
                   const DeviceFacts &facts, const Sizes &sizes,
                   const Exchanges &may);

  const ChoiceProblem &problem() const { return choices; }
  PlacementSummary summarize(llvm::ArrayRef<unsigned> options) const;
  /// Tells the propagation what was chosen.
  void apply(llvm::ArrayRef<unsigned> options);

private:
  /// Where a slot may lie: the axis shards `dimension`, or none. A partial one
  /// is a sum's part as its op leaves it, for those that read it so.
  struct Place {
    int dimension;
    dist::PlacementAttr placement;
  };
  /// How an op may be computed.
  struct Way {
    int factor;
    llvm::SmallVector<dist::PlacementAttr> operands, results;
    double compute = 0;
    /// Beside its operands and results.
    Communication inside;
  };
  struct Slot {
    std::vector<Place> places;
    unsigned choice = 0;
    /// Kinds of memory that it takes.
    double parameterTimes = 0, savedTimes = 0, stateTimes = 0;
  };
  struct Node {
    std::vector<Way> ways;
    unsigned choice = 0;
  };
  /// One that reads a value, in a form that each of its options says.
  struct Reader {
    unsigned choice;
    llvm::SmallVector<dist::PlacementAttr> forms;
  };

  void addKeptPlaces();
  void addOp(mlir::Operation *op);
  void addWays(unsigned node);
  std::optional<Way> wayOf(unsigned node, int factor) const;
  void addPassingWays(unsigned node);
  void addPartialPlaces(unsigned node);
  void addSavedPlaces(model::SaveOp save);
  bool mayStayPartial(mlir::Value value) const;
  bool hasToStayPartial(mlir::Value value) const;
  void noteMemory();
  void writeChoices();
  void writeReads();
  void writeResults();
  void read(mlir::Value value, unsigned choice,
            llvm::SmallVector<dist::PlacementAttr> forms);
  void tie(unsigned slot, unsigned other);
  void addTransfer(unsigned from, llvm::ArrayRef<dist::PlacementAttr> lies,
                   llvm::ArrayRef<Reader> readers, mlir::Value value);

  /// What bringing a value from one place to another exchanges; nothing where
  /// one rank's program could not do it.
  std::optional<Communication> bring(mlir::Value value,
                                     dist::PlacementAttr from,
                                     dist::PlacementAttr to) const;
  bool mayStep(mlir::Value value, const sharding::ReshardStep &step) const;
  bool mayCut(const sharding::Propagation::Node &node, unsigned factor,
              llvm::ArrayRef<sharding::Sharding> factors) const;
  double computeSeconds(mlir::Operation *op, const Way &way,
                        double parts) const;
  double secondsOf(const Communication &communication) const;
  llvm::SmallVector<dist::PlacementAttr> placesOf(unsigned slot) const;

  /// Consecutive parts of a summary, between which something is alike.
  struct Range {
    unsigned first = 0, count = 1;
  };
  void findParts();
  Range partsOf(mlir::Value value) const;
  Range partsOf(mlir::Operation *op) const;

  sharding::Propagation &propagation;
  mutable dist::MeshOp mesh;
  mlir::StringAttr axis;
  DeviceFacts facts;
  Sizes sizes;
  Exchanges may;
  bool isTraining;

  std::vector<Slot> slots;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
  llvm::MapVector<mlir::Value, llvm::SmallVector<Reader>> readers;
  /// Of ops of the program's body; and layers of each part.
  llvm::DenseMap<mlir::Operation *, Range> ranges;
  std::vector<int64_t> partLayers;
  ChoiceProblem choices;
  /// Of each of the problem's transfers, what its numbers count.
  std::vector<std::vector<std::vector<Communication>>> exchanged;
  /// And the value that it brings; null for one that brings none.
  std::vector<mlir::Value> brought;
};

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_PLACEMENTPROBLEM_H

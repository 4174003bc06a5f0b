//===- Ranks.h - all ranks of a sharded program, one after the other ------===//
//
// Interprets a training program in F64, op by op, on every rank's parts. Slow
// and plain: what the sharding passes are judged by. Without a mesh there is
// one rank, which has everything.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_PASSES_SHARDING_RANKS_H
#define BATON_TEST_PASSES_SHARDING_RANKS_H

#include "dialects/Dist/Placement.h"

#include "mlir/Pass/PassManager.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace baton::sharding::test {

using Shape = llvm::SmallVector<int64_t, 4>;

struct Tensor {
  Shape shape;
  std::vector<double> data;

  explicit Tensor(llvm::ArrayRef<int64_t> shape = {});
  double &at(int64_t i, int64_t j = 0, int64_t k = 0);
};

/// A rank's part of a tensor.
struct Box {
  Shape offsets, sizes;
};

/// From a list of tactics ("data:dp,tensor:tp") to collectives.
void addSharding(mlir::PassManager &passes, llvm::StringRef tactics);

/// The largest of any loss's or gradient's elements; infinite where the two do
/// not have the same tensors.
double difference(const std::map<std::string, Tensor> &one,
                  const std::map<std::string, Tensor> &other);

/// Tokens, positions, targets and weights of so many sequences.
std::vector<Tensor> makeArguments(int64_t sequences, int64_t length);

class Ranks {
public:
  /// `sequences` of `length` rows each.
  Ranks(model::ProgramOp program, int64_t sequences, int64_t length);

  /// The losses, and the gradient of every parameter by its name in the
  /// checkpoint. Whole tensors, whatever the ranks have of them.
  std::map<std::string, Tensor> run();

  /// The first thing that no right program does: ranks that should have the
  /// same do not, or a part has another size than its placement says.
  std::string problem;
  /// A move that is forgotten: ranks keep what they have.
  mlir::Operation *forgotten = nullptr;
  /// Changes a parameter's random numbers.
  std::function<void(llvm::StringRef name, Tensor &whole)> adjust;

  virtual ~Ranks() = default;

protected:
  using Parts = std::vector<Tensor>;

  int64_t coordinate(unsigned rank, mlir::StringAttr axis);
  Shape wholeShape(mlir::Value value);
  Box boxOf(dist::PlacementAttr placement, llvm::ArrayRef<int64_t> whole,
            unsigned rank);
  Box boxOf(mlir::Value value, unsigned rank);
  Parts cut(mlir::Value value, const Tensor &whole);
  Parts move(const Parts &parts, llvm::ArrayRef<int64_t> whole,
             dist::PlacementAttr from, dist::PlacementAttr to);
  Tensor assemble(mlir::Value value);
  void check(mlir::Value value);

  void runBlock(mlir::Block &block, int64_t layer);
  void runStack(model::StackOp stack);
  void runOp(mlir::Operation &op, int64_t layer);
  virtual std::vector<Tensor> compute(mlir::Operation &op, unsigned rank);
  std::vector<Tensor> computeAttention(mlir::Operation &op, unsigned rank);
  std::vector<Tensor> computeLoss(mlir::Operation &op, unsigned rank);
  /// By value: the map moves what it holds when it grows.
  void set(mlir::Value value, Parts parts) { values[value] = std::move(parts); }
  Tensor &operand(mlir::Operation &op, unsigned index, unsigned rank) {
    return values[op.getOperand(index)][rank];
  }

  model::ProgramOp program;
  dist::MeshOp mesh;
  int64_t sequences, length;
  /// What is added to the numbers of layers.
  int64_t layerOffset = 0;
  unsigned numRanks = 1;
  llvm::DenseMap<mlir::Value, Parts> values;
  std::map<std::pair<std::string, int64_t>, Parts> saved;
  std::map<std::string, Tensor> outcome;
};

} // namespace baton::sharding::test

#endif // BATON_TEST_PASSES_SHARDING_RANKS_H

//===- Tiler.h - what rules see while a program is tiled ------------------===//

#ifndef BATON_PASSES_TILING_TILER_H
#define BATON_PASSES_TILING_TILER_H

#include "passes/tiling/PlanBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace baton::tasks {

/// Attribute of a model op: rows of its tiles, columns for linears, positions
/// of a part for attention. What a target's description says holds for ops
/// without it.
constexpr llvm::StringLiteral kTileAttribute = "event.tile";

/// Attribute of an op with sizes of tiles, of which each has to have an effect.
constexpr llvm::StringLiteral kRequiredTileAttribute = "event.required_tile";

/// What is wrong with these tile sizes for any op, or nothing: one or two, rows
/// 1 to 4096, and a multiple of a panel's columns, or 0, up to 65536.
std::string checkTileSizes(llvm::ArrayRef<int64_t> sizes);

/// The same for an op of this kind: columns are not 0, positions a multiple of
/// a block's.
std::string checkTileSizes(mlir::Operation *op, llvm::ArrayRef<int64_t> sizes);

/// Attribute of a `model.custom` that each linear that reads it computes again.
constexpr llvm::StringLiteral kRecomputeAttribute = "event.recompute";

/// Whether a value is made by such an op.
bool isRecomputed(mlir::Value value);

class BatchInputs;
class RankPlaces;
class StepSums;
struct RowTiles;
class Training;

/// What rules see while a program is tiled in order.
class Tiler {
public:
  explicit Tiler(PlanBuilder &plan) : plan(plan) {}

  PlanBuilder &plan;
  /// Where every computed value lives.
  llvm::DenseMap<mlir::Value, View> views;
  /// Results that have to be computed into a buffer that is there already
  /// (values that a stack carries).
  llvm::DenseMap<mlir::Value, View> destinations;
  /// The stack whose pattern is being tiled, if any.
  model::StackOp stack;
  /// Of a training program.
  Training *training = nullptr;
  /// Of a program whose steps are of several sequences.
  const BatchInputs *batch = nullptr;
  /// Of a program of several ranks.
  const RankPlaces *places = nullptr;
  StepSums *sums = nullptr;

  View viewOf(mlir::Value value) const { return views.lookup(value); }

  /// Rows of an op's tiles, and columns or positions.
  int64_t rowsOf(mlir::Operation *op, int64_t otherwise) const;
  int64_t columnsOf(mlir::Operation *op, int64_t otherwise) const;

  /// A buffer for a result: its destination, or a new one. Of an op the first.
  View bufferFor(mlir::Value result, llvm::StringRef name);
  View resultFor(mlir::Operation *op, llvm::StringRef name) {
    return bufferFor(op->getResult(0), name);
  }

  /// Parameters, made once for each way in which they are stored.
  event::ParameterOp panels(llvm::StringRef name, mlir::ValueRange weights,
                            bool alternating);
  event::ParameterOp table(llvm::StringRef name, mlir::Value weight);
  event::ParameterOp vector(llvm::StringRef name, mlir::Value weight);
  event::ParameterOp constants(llvm::StringRef name,
                               llvm::ArrayRef<float> values,
                               mlir::Location location);

  /// What the loader makes a parameter of, and its layers' numbers.
  mlir::DictionaryAttr describe(mlir::ValueRange weights) const;
  WeightSources sourcesOf(mlir::ValueRange weights) const;
  int64_t layersOf(mlir::ValueRange weights) const;

private:
  event::ParameterOp make(llvm::StringRef name, mlir::ValueRange weights,
                          mlir::Type element, event::WeightForm form);
  /// By form, element and sources.
  llvm::DenseMap<std::pair<const void *, mlir::Attribute>, event::ParameterOp>
      made;
};

/// Adds the phases of one op and the views of its results, by its rule.
mlir::LogicalResult tileOp(mlir::Operation *op, Tiler &tiler);

/// The same for several ops, one behind the other, stacks among them.
mlir::LogicalResult tileOps(llvm::ArrayRef<mlir::Operation *> ops,
                            Tiler &tiler);

/// The same for an op with a body of the user's.
mlir::LogicalResult tileCustom(model::CustomOp op, Tiler &tiler);

/// Calls the body of such an op, of whole rows, for a task's rows, into scratch
/// with `stride` elements a row.
mlir::LogicalResult callRecomputed(model::CustomOp op, PhaseBuilder &phase,
                                   const RowTiles &rows, int64_t stride,
                                   Tiler &tiler);

/// Adds what such an op makes of a parameter's gradient to that gradient.
mlir::LogicalResult tileCustomGradient(model::GradientOp op, Tiler &tiler,
                                       Training &training);

/// Whether a tile of the op may be written over `operand`: every task reads
/// of it what the same task writes, at most.
bool mayWriteOver(mlir::Operation *op, mlir::OpOperand &operand);

/// The name an op got in the importer (`layers.self_attn.q_proj`), else its
/// own.
std::string nameOf(mlir::Operation *op);

/// What the runtime is told of shards (runtime/comm/shards.h), as those of a
/// tensor with so many dimensions `more` before the parameter's.
event::ShardAttr describeShard(model::ShardAttr shard, int64_t more = 0);
mlir::ArrayAttr describeShards(model::ParameterOp parameter, int64_t more = 0);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_TILER_H

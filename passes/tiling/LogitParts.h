//===- LogitParts.h - logits of a training step, part after part ----------===//
//
// Logits of all rows would be the largest value of a step, and never exist:
// parts of the rows have theirs in one buffer, part after part. The first two
// halve the rows that no whole part takes, the others are whole or empty. So
// bounds need no minimum, which the proof could not read, and a step of few
// rows is two parts.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_LOGITPARTS_H
#define BATON_PASSES_TILING_LOGITPARTS_H

#include "passes/tiling/Training.h"
#include "passes/tiling/Weights.h"

namespace baton::tasks {

/// Rows [first, first + rows) of a step, but those from `end` on. Where the
/// part or the step ends before them, tasks have no rows: empty grids would
/// order nothing, and so make the proof distinguish which parts there are.
struct LogitPart {
  mlir::AffineExpr first, rows, end;
  /// Of its first rows, those that the part before has as well.
  mlir::AffineExpr again;
};

/// Where the gradients go that follow of a loss's; null for those that nobody
/// reads.
struct LogitGradients {
  View dx;
  Trainable *weight = nullptr, *bias = nullptr;
};

/// Logits of x by a weight and a bias, which may be null, one part of them at a
/// time, and products with them.
class LogitParts {
public:
  LogitParts(mlir::Operation *op, mlir::Value x, mlir::Value weight,
             mlir::Value bias, mlir::Value weights, Tiler &tiler,
             Training &training);

  /// Makes room for a part. Reports at the op what bodies cannot read.
  mlir::LogicalResult begin(const std::string &name);
  /// Makes room for results of the op, of which there may be no dbias.
  mlir::FailureOr<LogitGradients>
  gradientsOf(mlir::Value dx, mlir::Value dweight, mlir::Value dbias);
  llvm::SmallVector<LogitPart> parts() const;

  /// A part's logits: every task makes some tokens' of all rows.
  void tileLogits(const LogitPart &part);
  /// A task for each row of a part, whose vocabulary is work enough: the body
  /// takes its logits in place, what `outputs` and `inputs` have of the row,
  /// each with its stride, and what `more` adds.
  void
  tileRows(const LogitPart &part, llvm::StringRef suffix,
           llvm::StringRef callee, llvm::ArrayRef<View> outputs,
           llvm::ArrayRef<View> inputs,
           llvm::function_ref<void(PhaseBuilder &, mlir::Attribute rows,
                                   llvm::SmallVectorImpl<mlir::Attribute> &)>
               more);
  /// What follows of a part's logits once they are gradients.
  void tileGradients(const LogitPart &part, const LogitGradients &gradients);

  /// Phases of the next part have names of their own.
  void next() { isFirst = false; }

  int64_t vocabulary() const { return tokens; }

private:
  void tileInputGradient(const LogitPart &part, const View &dx);
  void tileWeightGradient(const LogitPart &part, Trainable &target);
  void tileBiasGradient(const LogitPart &part, Trainable &target);
  PhaseBuilder phase(llvm::StringRef suffix,
                     llvm::ArrayRef<mlir::AffineExpr> grid,
                     llvm::ArrayRef<int64_t> capacity);
  mlir::Attribute countOf(PhaseBuilder &phase, const LogitPart &part) const;
  Box rowsOf(PhaseBuilder &phase, const View &view,
             const LogitPart &part) const;
  Box logitsOf(PhaseBuilder &phase, const LogitPart &part) const;

  mlir::Operation *op;
  Tiler &tiler;
  Training &training;
  PlanBuilder &plan;
  View x;
  /// One of the two, as the weight trains or not.
  View weight;
  event::ParameterOp panels;
  /// What rounds the linear's inputs; see inputRounding().
  llvm::StringRef rounding;
  llvm::StringRef productFormat;
  Weight bias;
  View weights, logits;
  int64_t width, tokens, tileTokens, tileHeight, elementBytes;
  /// Rows of a whole part, and most rows of a part that there is.
  int64_t wholeRows = 0, partRows = 0;
  std::string name;
  /// Whether the part that is tiled is the first one, whose phases' names are
  /// taken for it.
  bool isFirst = true;
};

/// What bodies take where a teacher names tokens: how many of a row.
void appendTeacherTokens(mlir::ValueRange teacher, PhaseBuilder &phase,
                         llvm::SmallVectorImpl<mlir::Attribute> &operands);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_LOGITPARTS_H

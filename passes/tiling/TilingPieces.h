//===- TilingPieces.h - what tiling rules have in common ------------------===//

#ifndef BATON_PASSES_TILING_TILINGPIECES_H
#define BATON_PASSES_TILING_TILINGPIECES_H

#include "passes/tiling/Tiler.h"

namespace baton::tasks {

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Every dimension whole but one: [i * size, (i + 1) * size).
void narrow(Box &box, unsigned dimension, mlir::AffineExpr coordinate,
            int64_t size);

// What bodies want of a value; each reports at the op what is not so.

/// The last dimension is contiguous.
mlir::LogicalResult expectContiguous(mlir::Operation *op, llvm::StringRef what,
                                     const View &view);
mlir::LogicalResult expectStride(mlir::Operation *op, llvm::StringRef what,
                                 const View &view, unsigned dimension);
/// Elements of a row are contiguous, and rows, the first dimension, have a
/// fixed stride.
mlir::LogicalResult expectRows(mlir::Operation *op, llvm::StringRef what,
                               const View &view);
/// [rows, heads, dim], or [rows, heads]; a body walks over `together` heads.
mlir::LogicalResult expectAdjacentHeads(mlir::Operation *op,
                                        llvm::StringRef what, const View &view,
                                        int64_t together);

/// Bytes of scratch that baton_task_attention asks for (a test holds this
/// against the library's header, which says what for).
int64_t attentionScratch(int64_t rows, int64_t group, int64_t width,
                         int64_t valueWidth);

/// Heads that a task takes together, of as many as workers may share: a
/// divisor, 8 at most.
int64_t headsOfTask(int64_t heads);

/// Tasks that share the query heads of attention: several where all attend to
/// one state, which would be one task's otherwise.
int64_t headSharers(mlir::Value k, mlir::Value v, int64_t heads);

/// A phase over tiles of a value's rows.
struct RowTiles {
  int64_t size;
  mlir::AffineExpr extent;
  int64_t capacity;

  RowTiles(Tiler &tiler, model::StepTensorType type, int64_t size);

  /// Rows of the tile at coordinate 0.
  mlir::Attribute count(PhaseBuilder &phase) const;

private:
  mlir::AffineExpr rows;
};

/// States that every task reads all of a value; its pointer.
mlir::Attribute readAll(PhaseBuilder &phase, const View &view);

/// Columns of a sum over all rows, for one task.
constexpr int64_t kSummedColumns = 64;

/// How many of `all` a tile of `size` at coordinate `d` has.
mlir::Attribute countOf(PhaseBuilder &phase, unsigned d, int64_t size,
                        int64_t all);

/// The part of a value that belongs to the rows of coordinate 0.
Box rowsOfTask(PhaseBuilder &phase, const View &view, int64_t rows);

/// State that a task reads, or writes, a part of a value; append its pointer
/// and row stride.
void appendRead(PhaseBuilder &phase, const View &view, const Box &box,
                llvm::SmallVectorImpl<mlir::Attribute> &operands);
void appendWrite(PhaseBuilder &phase, const View &view, const Box &box,
                 llvm::SmallVectorImpl<mlir::Attribute> &operands);

/// Append what a memref over this part of a value holds, as bodies in MLIR take
/// it: the pointer twice, 0, sizes, strides. Each dimension has a fixed stride.
void appendMemref(PhaseBuilder &phase, const View &view, const Box &box,
                  llvm::SmallVectorImpl<mlir::Attribute> &operands);

/// A phase over tiles of rows and every index of the dimensions between, whose
/// body takes out, the inputs (each a pointer and a row stride), rows, width,
/// and what `more` adds.
mlir::LogicalResult
tileRows(mlir::Operation *op, const std::string &name, llvm::StringRef callee,
         llvm::ArrayRef<View> inputs, const View &out, Tiler &tiler,
         llvm::function_ref<void(PhaseBuilder &, const RowTiles &,
                                 llvm::SmallVectorImpl<mlir::Attribute> &)>
             more = nullptr);

/// The same of an op's operands and its result.
mlir::LogicalResult tileRowsOf(mlir::Operation *op, llvm::StringRef callee,
                               Tiler &tiler);

/// States that a task adds up each column of some numbers, of its `count` rows,
/// into a row of `width` numbers, of which others are zeros.
void sumColumns(PhaseBuilder &phase, const View &numbers, mlir::Attribute count,
                const View &out, int64_t width);

/// Columns of a value of rows: 1 of a vector.
int64_t countColumns(const View &view);

/// Adds a phase of this name that copies a value into a view of its type.
mlir::LogicalResult tileCopy(mlir::Operation *at, const std::string &name,
                             const View &from, const View &to, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_TILINGPIECES_H

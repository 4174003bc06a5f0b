//===- RowPhase.h - phases whose tasks are tiles of rows ------------------===//

#ifndef BATON_PASSES_TILING_ROWPHASE_H
#define BATON_PASSES_TILING_ROWPHASE_H

#include "passes/tiling/Weights.h"

namespace baton::tasks {

/// A phase over tiles of rows, and the operands of its call.
class RowPhase {
public:
  /// `results` name the buffers of the op's results, which the call gets first.
  RowPhase(mlir::Operation *op, llvm::StringRef suffix,
           llvm::ArrayRef<llvm::StringRef> results, Tiler &tiler)
      : tiler(tiler), name(tiler.plan.uniqueName(nameOf(op) + suffix.str())),
        outputs(makeOutputs(op, results)),
        tiles(tiler, outputs.front().type,
              tiler.rowsOf(op, tiler.plan.tiles().plainRows)),
        phase(tiler.plan.phase(name, op->getLoc(), {tiles.extent},
                               {tiles.capacity})) {}

  /// To be called once all values are read, so that every access that may be
  /// in place stands before the one that overwrites it.
  void write() {
    llvm::SmallVector<mlir::Attribute> first;
    for (const View &out : outputs)
      appendWrite(phase, out, tileOf(out), first);
    operands.insert(operands.begin(), first.begin(), first.end());
  }
  void read(const View &view) {
    appendRead(phase, view, tileOf(view), operands);
  }
  /// All of a parameter, row-major, or of a vector that the step has made; in
  /// the place of a vector that there is not, nothing.
  void parameter(mlir::Value value, llvm::StringRef what) {
    if (!value) {
      operands.push_back(phase.null());
      return;
    }
    std::string called = name + "." + what.str();
    bool isVector =
        mlir::cast<model::StepTensorType>(value.getType()).getRank() == 1;
    Weight weight = isVector ? vectorWeight(called, value, tiler)
                             : tableWeight(called, value, tiler);
    operands.push_back(weight.all(phase));
  }
  /// In the place of a tensor that there is not.
  void nothing() {
    operands.push_back(phase.null());
    integer(0);
  }
  void rows() { operands.push_back(tiles.count(phase)); }
  void integer(int64_t value) { operands.push_back(phase.integer(value)); }
  void integer32(int32_t value) { operands.push_back(phase.integer32(value)); }
  void real(const llvm::APFloat &value) {
    operands.push_back(phase.real(value));
  }
  mlir::LogicalResult call(llvm::StringRef callee) {
    write();
    phase.call(callee, operands);
    return mlir::success();
  }

private:
  llvm::SmallVector<View> makeOutputs(mlir::Operation *op,
                                      llvm::ArrayRef<llvm::StringRef> results) {
    llvm::SmallVector<View> views;
    for (auto [result, suffix] : llvm::zip_equal(op->getResults(), results))
      views.push_back(tiler.bufferFor(
          result, suffix.empty()
                      ? name
                      : tiler.plan.uniqueName(name + "." + suffix.str())));
    return views;
  }
  Box tileOf(const View &view) { return rowsOfTask(phase, view, tiles.size); }

  Tiler &tiler;
  std::string name;
  llvm::SmallVector<View> outputs;
  RowTiles tiles;
  PhaseBuilder phase;
  llvm::SmallVector<mlir::Attribute> operands;
};

/// Bodies take rows whose elements, of all streams, lie behind one another.
mlir::LogicalResult expectRows(mlir::Operation *op, Tiler &tiler,
                               llvm::ArrayRef<mlir::Value> values);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_ROWPHASE_H

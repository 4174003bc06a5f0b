//===- RowPhase.cpp - phases whose tasks are tiles of rows ----------------===//

#include "passes/tiling/RowPhase.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

LogicalResult tasks::expectRows(Operation *op, Tiler &tiler,
                                ArrayRef<Value> values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    View view = tiler.viewOf(value);
    std::string what = "operand " + std::to_string(i);
    if (failed(tasks::expectRows(op, what, view)))
      return failure();
    if (view.type.getRank() == 3 &&
        failed(expectAdjacentHeads(op, what, view, view.type.getDimension(1))))
      return failure();
  }
  return success();
}

//===- Norms.cpp - what norms and their adjoints have in common -----------===//

#include "passes/tiling/Norms.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

NormTiles::NormTiles(Operation *op, model::StepTensorType type, Tiler &tiler)
    : rows(tiler, type, tiler.rowsOf(op, tiler.plan.tiles().plainRows)),
      heads(type.getRank() == 3 ? type.getDimension(1) : 0) {}

PhaseBuilder NormTiles::phase(PlanBuilder &plan, const std::string &name,
                              Location location) const {
  SmallVector<AffineExpr> grid = {rows.extent};
  SmallVector<int64_t> capacity = {rows.capacity};
  if (heads) {
    grid.push_back(plan.constant(heads));
    capacity.push_back(heads);
  }
  return plan.phase(name, location, grid, capacity);
}

Box NormTiles::tile(PhaseBuilder &phase, const View &view) const {
  Box box = rowsOfTask(phase, view, rows.size);
  if (heads)
    narrow(box, 1, phase.coordinate(1), 1);
  return box;
}

void tasks::callNorm(PhaseBuilder &phase, model::Norm norm, const View &x,
                     const Box &tile, const NormCall &call, bool invariant) {
  SmallVector<Attribute> operands = {call.out, call.outStride,
                                     phase.address(x, tile), phase.stride(x, 0),
                                     call.weight};
  if (norm == model::Norm::layer)
    operands.push_back(call.bias);
  operands.append({call.rows, phase.integer(x.type.getShape().back()),
                   phase.real(call.epsilon)});
  phase.call(norm == model::Norm::layer ? "layer_norm" : "rms_norm", operands,
             invariant);
}

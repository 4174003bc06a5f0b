//===- Products.cpp - matrices as bodies of products take them ------------===//

#include "passes/tiling/Products.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

int64_t tasks::productScratch(int64_t columns) {
  return sizeof(float) *
         (258 * 256 + 4 * 256 * 16 + 258 * llvm::alignTo(columns, 16));
}

int64_t tasks::transposedScratch(int64_t columns) {
  return sizeof(float) *
         (258 * 256 + 16 * 256 * 16 + 258 * llvm::alignTo(columns, 16));
}

int64_t tasks::squaresScratch(int64_t columns, int64_t rank) {
  return sizeof(float) * std::max(8 * columns, 80 * rank);
}

Matrix tasks::readMatrix(PhaseBuilder &phase, const View &view,
                         const Box &tile) {
  phase.reads(view, tile);
  return {phase.address(view, tile), phase.stride(view, 0), phase.integer(1)};
}

PhaseBuilder ProductTiles::phase(PlanBuilder &plan, const std::string &name,
                                 Location location) const {
  int64_t count = ceilDiv(columns, width);
  return plan.phase(name, location, {rows.extent, plan.constant(count)},
                    {rows.capacity, count});
}

Box ProductTiles::tile(PhaseBuilder &phase, const View &out) const {
  Box box = rowsOfTask(phase, out, rows.size);
  narrow(box, 1, phase.coordinate(1), width);
  return box;
}

Attribute ProductTiles::count(PhaseBuilder &phase) const {
  return countOf(phase, 1, width, columns);
}

void tasks::callProduct(PhaseBuilder &phase, StringRef format,
                        const ProductCall &call) {
  const auto &[out, outStride, a, b, rows, columns, depth, width, bias,
               residual, residualStride] = call;
  phase.needsScratch(productScratch(width));
  phase.call(bodies::functionName("product", format),
             {out, outStride, a.pointer, a.first, a.second, b.pointer, b.first,
              b.second, bias ? bias : phase.null(),
              residual ? residual : phase.null(),
              residual ? residualStride : phase.integer(0), rows, columns,
              depth, phase.scratch(0)});
}

void tasks::callTransposed(PhaseBuilder &phase, const TransposedCall &call) {
  event::ParameterOp panels = call.panels;
  SmallVector<Attribute> operands = {call.out,
                                     call.outStride,
                                     call.a,
                                     call.aStride,
                                     phase.weight(panels, phase.constant(0)),
                                     phase.null(),
                                     phase.integer(0),
                                     phase.count(call.first),
                                     call.rows,
                                     call.columns,
                                     phase.integer(call.depth),
                                     phase.integer(call.inputs)};
  if (call.rounding.empty()) {
    phase.needsScratch(transposedScratch(call.width));
    operands.push_back(phase.scratch(0));
  }
  phase.call(
      Weight(panels).bodyFor((call.rounding + "linear_transposed").str()),
      operands);
}

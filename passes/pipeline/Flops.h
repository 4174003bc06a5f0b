//===- Flops.h - what ops of a training step cost -------------------------===//

#ifndef BATON_PASSES_PIPELINE_FLOPS_H
#define BATON_PASSES_PIPELINE_FLOPS_H

#include "dialects/Dist/Dist.h"
#include "passes/pipeline/Simulator.h"

namespace baton::pipeline {

/// Floating-point operations of an op's products, for one of a step's rows, as
/// `getProductFlops` counts them; adjoints that the interface does not know are
/// counted, too. Of a stack, those of one iteration.
double countFlops(mlir::Operation *op);

/// Those of a stage's phases.
PositionCosts countFlops(dist::StageOp stage);

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_FLOPS_H

//===- StageCosts.h - what one microbatch costs on a stage ----------------===//

#ifndef BATON_PASSES_PIPELINE_STAGECOSTS_H
#define BATON_PASSES_PIPELINE_STAGECOSTS_H

#include "dialects/Dist/Dist.h"
#include "passes/pipeline/Simulator.h"

namespace baton::pipeline {

/// Times are floating-point operations of products for one row of a microbatch
/// (`countFlops`). Activations are bytes that a rank keeps for such a row from
/// one phase to a later one: what stacks save, and what a phase reads of what
/// another one makes.
PositionCosts costsOf(dist::StageOp stage);

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_STAGECOSTS_H

//===- Passes.h - from a model to its training step -----------------------===//
//
// The passes meet in this order: training-form (after attention-fusion, before
// any other fusion), router-losses, differentiate, recompute.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TRAINING_PASSES_H
#define BATON_PASSES_TRAINING_PASSES_H

#include "passes/training/RecomputeMode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::training {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/training/Passes.h.inc"

} // namespace baton::training

#endif // BATON_PASSES_TRAINING_PASSES_H

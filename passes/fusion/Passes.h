//===- Passes.h - from primitive model ops to fused ones ------------------===//
//
// The passes meet in this order: attention-fusion, hyper-fusion,
// linear-grouping, norm-rewrites. Each leaves a program that computes the same,
// up to rounding, so any of them may be left out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_FUSION_PASSES_H
#define BATON_PASSES_FUSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::fusion {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/fusion/Passes.h.inc"

} // namespace baton::fusion

#endif // BATON_PASSES_FUSION_PASSES_H

//===- Passes.h - from a model of one sequence to one of many -------------===//

#ifndef BATON_PASSES_BATCHING_PASSES_H
#define BATON_PASSES_BATCHING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::batching {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/batching/Passes.h.inc"

} // namespace baton::batching

#endif // BATON_PASSES_BATCHING_PASSES_H

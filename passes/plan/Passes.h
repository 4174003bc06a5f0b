//===- Passes.h - events, memory and workers of a plan --------------------===//

#ifndef BATON_PASSES_PLAN_PASSES_H
#define BATON_PASSES_PLAN_PASSES_H

#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::tasks {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"

} // namespace baton::tasks

#endif // BATON_PASSES_PLAN_PASSES_H

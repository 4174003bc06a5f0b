//===- Passes.h - from a model to a proved plan --------------------------===//

#ifndef BATON_PASSES_TASKS_PASSES_H
#define BATON_PASSES_TASKS_PASSES_H

#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::tasks {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/tasks/Passes.h.inc"

} // namespace baton::tasks

#endif // BATON_PASSES_TASKS_PASSES_H

//===- Passes.h - from a model to task grids ------------------------------===//

#ifndef BATON_PASSES_TILING_PASSES_H
#define BATON_PASSES_TILING_PASSES_H

#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::tasks {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/tiling/Passes.h.inc"

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_PASSES_H

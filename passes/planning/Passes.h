//===- Passes.h - placements that cost least ------------------------------===//

#ifndef BATON_PASSES_PLANNING_PASSES_H
#define BATON_PASSES_PLANNING_PASSES_H

#include "dialects/Dist/Dist.h"
#include "dialects/Model/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::planning {

#define GEN_PASS_DECL
#include "passes/planning/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/planning/Passes.h.inc"

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_PASSES_H

//===- Passes.h - from one model to one rank's program --------------------===//
//
// The passes meet in this order: split-linears, before a program is
// differentiated; sharding-propagation, insert-reshards, verify-sharding,
// lower-reshards.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_SHARDING_PASSES_H
#define BATON_PASSES_SHARDING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::sharding {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/sharding/Passes.h.inc"

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_PASSES_H

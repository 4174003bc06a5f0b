//===- Passes.h - a model cut into stages ---------------------------------===//

#ifndef BATON_PASSES_PIPELINE_PASSES_H
#define BATON_PASSES_PIPELINE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace baton::pipeline {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/Passes.h.inc"

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_PASSES_H

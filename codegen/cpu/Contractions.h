//===- Contractions.h - products of matrices in task bodies, vectorised ---===//

#ifndef BATON_CODEGEN_CPU_CONTRACTIONS_H
#define BATON_CODEGEN_CPU_CONTRACTIONS_H

#include "mlir/Pass/Pass.h"

namespace baton::cpu {

/// Passes that vectorise the products of matrices of a module of functions:
/// structured ops over memrefs that add a product over one dimension. Each
/// element stays one ascending chain of fused multiply-adds, so that the bits
/// are those of plain loops.
void addContractions(mlir::OpPassManager &functions);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_CONTRACTIONS_H

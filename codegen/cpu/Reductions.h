//===- Reductions.h - reductions in task bodies, vectorised ---------------===//
//
// A structured op with one dimension that it reduces over, whatever it does
// with an element, such as a row's sum, maximum or sum of exponentials: sixteen
// rows, or columns, at a time, each of which is a lane. A lane does what the
// plain loop does, in its order, so that the bits are the same. Of fewer than
// sixteen there are plain loops.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_REDUCTIONS_H
#define BATON_CODEGEN_CPU_REDUCTIONS_H

#include "mlir/Pass/PassManager.h"

namespace baton::cpu {

/// Adds passes that make vectors of a function's reductions.
void addReductions(mlir::OpPassManager &functions);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_REDUCTIONS_H

//===- DoublePrecision.h - a plan that computes in F64 --------------------===//

#ifndef BATON_PASSES_TILING_DOUBLEPRECISION_H
#define BATON_PASSES_TILING_DOUBLEPRECISION_H

#include "dialects/Event/Event.h"

namespace baton::tasks {

/// Makes everything of a plan F64 that is F32: buffers, constants, scratch,
/// bodies of tasks, and the library's bodies that it calls, whose names get the
/// suffix _f64. Phases and accesses stay as they are, so that what is checked
/// in F64 is the plan that runs in F32. Only before plan-memory. Reports at an
/// op of a body that looks at the bits of an F32.
mlir::LogicalResult makeDouble(event::ProgramOp program);

/// The same of a task body alone.
mlir::LogicalResult makeDouble(event::BodyOp body);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_DOUBLEPRECISION_H

//===- BodyLinears.h - linears in task bodies of users, as tasks call them ===//
//
// A body multiplies by a stored matrix in one structured op, or by
// event.library_call "linear". Tasks call a copy of it:
//
// - The product is a call, too. What the op computes of its left side, element
//   by element, lies in a temporary in front of it: once for a task's rows, and
//   not once for each of its columns.
// - A matrix that only linears read, whole panels from one of their borders on,
//   comes packed, as the library's own linears have it.
//
// Each element stays the ascending chain of fused multiply-adds that the op is,
// so the bits do not change.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_BODYLINEARS_H
#define BATON_PASSES_TILING_BODYLINEARS_H

#include "passes/tiling/Tiler.h"

namespace baton::tasks {

/// What tasks of the op call in place of `body`: itself if it multiplies by no
/// stored matrix.
event::BodyOp bodyOfTasks(model::CustomOp op, event::BodyOp body, Tiler &tiler);

/// Whether an argument of what tasks call is packed.
bool isPacked(event::BodyOp body, unsigned argument);

/// Removes bodies that were copied, and that nobody names any more. A copy that
/// is the only one has the name of what it was made of.
void replaceCopiedBodies(mlir::ModuleOp module);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_BODYLINEARS_H

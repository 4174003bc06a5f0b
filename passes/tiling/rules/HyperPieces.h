//===- HyperPieces.h - what hyper-connections and adjoints share ----------===//
//
// Every op's tasks are tiles of rows with all their streams: the maps of a row
// are functions of all of it. Only the gradient of what all rows share is one
// task.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_RULES_HYPERPIECES_H
#define BATON_PASSES_TILING_RULES_HYPERPIECES_H

#include "passes/tiling/RowPhase.h"

namespace baton::tasks {

inline int64_t streamsOf(const View &x) { return x.type.getDimension(1); }
inline int64_t widthOf(const View &x) { return x.type.getDimension(2); }

/// Whether there are weights of how streams mix.
inline int32_t mixes(const View &x, const View &weights) {
  return weights.type.getDimension(1) != streamsOf(x);
}

template <typename OpT> void appendMixing(OpT op, RowPhase &phase) {
  phase.integer32(static_cast<int32_t>(op.getMixing()));
  phase.integer(op.getIterations());
  phase.real(op.getEpsilon());
}

/// What maps, and their adjoint, are made of.
template <typename OpT> void appendMaps(OpT op, RowPhase &phase, Tiler &tiler) {
  phase.read(tiler.viewOf(op.getLogits()));
  phase.parameter(op.getScale(), "scale");
  phase.parameter(op.getBase(), "base");
  phase.rows();
  phase.integer(op.getStreams());
  appendMixing(op, phase);
}

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_RULES_HYPERPIECES_H

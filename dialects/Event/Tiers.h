//===- Tiers.h - phases that move layers between tiers of memory ----------===//
//
// A phase without a body may say that its one task brings a layer's part of
// tensors into memory, or lets it go:
//
//   event.phase "layers.fetch" grid ()[s0, s1, s2] -> (1) capacity [1]
//     accesses [#event.access<write @slots, ... 0 to ... 1>]
//     attributes {event.tier = {move = "fetch", slots = @slots,
//                               tensors = [@up.weights, @up.gradient]}} {}
//
// The iteration's copies of the tensors are one chunk, which need not be in
// memory before it is fetched and after it is released: a file has it. What the
// copies hold does not change, nor where they lie. `slots` has a number for
// each chunk that may be in memory at once, as a ring of the layers. Who
// fetches writes it, who releases may write it, and whoever touches the chunk
// reads it. So the order of a chunk's tasks, and that a chunk waits until the
// one before is released, are conflicts of accesses as all others are:
// derive-events makes events of them, and event-verify proves that whoever
// touches a chunk comes behind its fetch and before its release.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_EVENT_TIERS_H
#define BATON_DIALECTS_EVENT_TIERS_H

#include "dialects/Event/Event.h"

#include <optional>

namespace baton::event {

/// What such a phase's task does.
struct Tier {
  /// Else it releases.
  bool fetches;
  /// Names of buffers, and that of the slots.
  mlir::ArrayAttr tensors;
  mlir::FlatSymbolRefAttr slots;

  auto getBuffers() const {
    return tensors.getAsRange<mlir::FlatSymbolRefAttr>();
  }
  llvm::StringRef getMove() const { return fetches ? "fetch" : "release"; }
};

/// Nothing of other phases, and of those whose attribute is not as above.
std::optional<Tier> tierOf(PhaseOp phase);
bool isTier(PhaseOp phase);
void setTier(PhaseOp phase, const Tier &tier);

/// Of a phase that has the attribute:
/// - it has no body and one task, in a segment that is repeated
/// - tensors are buffers of one copy for each iteration, transient or
///   persistent and no rings, each named once
/// - slots is a persistent buffer of one element in each of its copies, which a
///   fetch writes and a release may write
/// - phases of the segment that touch a tensor read slots
mlir::LogicalResult verifyTier(PhaseOp phase);

} // namespace baton::event

#endif // BATON_DIALECTS_EVENT_TIERS_H

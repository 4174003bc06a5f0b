//===- RecomputeMode.h - kept or recomputed -------------------------------===//

#ifndef BATON_PASSES_TRAINING_RECOMPUTEMODE_H
#define BATON_PASSES_TRAINING_RECOMPUTEMODE_H

namespace baton::training {

/// Which values of the forward step the backward one computes again: none,
/// those without which fewest bytes are kept and no product is computed twice,
/// or all that can be made of what a stack carries.
enum class RecomputeMode { none, selective, full };

} // namespace baton::training

#endif // BATON_PASSES_TRAINING_RECOMPUTEMODE_H

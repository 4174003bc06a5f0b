//===- BodyScratch.h - scratch that task bodies of users take -------------===//

#ifndef BATON_PASSES_TILING_BODYSCRATCH_H
#define BATON_PASSES_TILING_BODYSCRATCH_H

#include "dialects/Event/Event.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace baton::tasks {

/// Bytes of scratch that a task of the body takes at most: its temporaries, and
/// behind them what a function of the task library takes. `most` is how large a
/// dimension of an argument is at most. 0 of a body that takes none; fails,
/// with an error, where a size has no bound that can be seen.
mlir::FailureOr<int64_t>
scratchOf(event::BodyOp body,
          llvm::function_ref<std::optional<int64_t>(unsigned argument,
                                                    unsigned dimension)>
              most);

/// Whether sizes of the body's library calls that are to be one size are one,
/// as far as they are known: `exact` is how large a dimension of an argument
/// is, if it is that in all tasks. Fails with an error that names both
/// operands.
mlir::LogicalResult
checkLibraryCalls(event::BodyOp body,
                  llvm::function_ref<std::optional<int64_t>(unsigned argument,
                                                            unsigned dimension)>
                      exact);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_BODYSCRATCH_H

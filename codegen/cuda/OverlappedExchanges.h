//===- OverlappedExchanges.h - exchanges beside a running kernel ----------===//
//
// What has to hold, besides the plan's proof, where exchanges run on a stream
// beside the kernel instead of between launches. The proof takes an exchange
// for one task of all ranks, run by one worker of each in the order of the
// plan; the stream is that worker.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_OVERLAPPEDEXCHANGES_H
#define BATON_CODEGEN_CUDA_OVERLAPPEDEXCHANGES_H

#include "codegen/plan/ProgramLayout.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace baton::cuda {

/// Checks of a program's exchanges that each has one event word, which nothing
/// but the stream changes, and that they come to the stream in one order.
/// Errors are one line that names the phase.
llvm::Error checkOverlappedExchanges(const plan::ProgramLayout &layout);

/// What is checked here, and what when the program starts: a line each.
std::vector<std::string> overlapObligations(const plan::ProgramLayout &layout,
                                            int64_t ncclMultiprocessors);

/// The word that the exchange's event is.
int64_t exchangeWord(event::PhaseOp phase, const plan::ProgramLayout &layout);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_OVERLAPPEDEXCHANGES_H

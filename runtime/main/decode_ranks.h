//===- decode_ranks.h - a program that decodes, on all of its ranks -------===//
//
// Ranks are threads of one process, each with its part of the weights and with
// workers of its own. One driver decides for all: it feeds rank 0, and the
// others make the same steps.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_DECODE_RANKS_H
#define BATON_RUNTIME_MAIN_DECODE_RANKS_H

#include "runtime/decode/execution.h"
#include "runtime/main/run_options.h"

#include <memory>
#include <vector>

namespace baton {

/// Of each rank, in their order; one for a program of one rank.
using RankParameters = std::vector<Parameters>;

/// Reads what --weights names.
RankParameters load_rank_weights(const Metadata &metadata,
                                 const RunOptions &options);
/// Random ones.
RankParameters random_rank_weights(const Metadata &metadata, unsigned threads);

/// The program on all ranks. `workers` are divided among them; `parameters`
/// outlives the execution. Throws Error under mpirun, which has no ranks that
/// decode.
std::unique_ptr<Execution> make_rank_execution(const Metadata &metadata,
                                               const RankParameters &parameters,
                                               const RunOptions &options,
                                               unsigned workers);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_DECODE_RANKS_H

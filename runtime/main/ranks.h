//===- ranks.h - runs a job on every rank of a program --------------------===//

#ifndef BATON_RUNTIME_MAIN_RANKS_H
#define BATON_RUNTIME_MAIN_RANKS_H

#include "runtime/comm/communicator.h"
#include "runtime/execute/metadata.h"
#include "runtime/main/run_options.h"

#include <functional>

namespace baton {

/// What each rank does; `communicator` is null in a program of one rank.
using RankJob =
    std::function<void(Communicator *communicator, unsigned workers)>;

/// The ranks of this process: all of them, each on a thread, or the one that it
/// is under mpirun.
class Ranks {
public:
  virtual ~Ranks() = default;

  /// Whether this process is the one with rank 0, which talks to the user.
  virtual bool speak() const { return true; }
  /// Does the job on each of them; returns when they are done. An AgreedError
  /// passes through; any other exception of a rank ends the whole job.
  virtual void run(const RankJob &job) = 0;
};

/// Calls `process` once in each process of a program's ranks. In a process of
/// only one of several ranks, whatever it throws ends the whole job, with one
/// line that says why.
void on_ranks(const Metadata &metadata, const RunOptions &run,
              const RankOptions &options,
              const std::function<void(Ranks &)> &process);

/// What the user and mpirun ask for against what the program is compiled for.
void check_ranks(const Mesh &mesh, const RankOptions &options);
/// How a rank waits for others, with so many threads of its own at once.
CommunicatorOptions communicator_options(const RankOptions &options,
                                         const std::vector<Message> &messages,
                                         unsigned threads);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_RANKS_H

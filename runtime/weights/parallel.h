//===- parallel.h - a loop over independent jobs -------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_PARALLEL_H
#define BATON_RUNTIME_WEIGHTS_PARALLEL_H

#include <cstddef>
#include <functional>

namespace baton {

/// Calls job(0) ... job(jobs - 1), each once, on the calling thread and up to
/// `threads` - 1 others (0: as many as the machine has cores); jobs start in
/// ascending order. An exception ends the loop; that of the lowest job is
/// rethrown here once every thread has stopped.
void parallel_for(size_t jobs, unsigned threads,
                  const std::function<void(size_t)> &job);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_PARALLEL_H

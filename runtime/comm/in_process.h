//===- in_process.h - ranks that are threads of one process ---------------===//

#ifndef BATON_RUNTIME_COMM_IN_PROCESS_H
#define BATON_RUNTIME_COMM_IN_PROCESS_H

#include "runtime/comm/communicator.h"

#include <memory>
#include <string>
#include <vector>

namespace baton {

/// All ranks of a job. They read what others send where it lies, so that every
/// byte is copied once.
///
/// Exchanges of one collective and iteration meet; several may be under way at
/// once, on different workers of a rank. Who waits spins briefly and sleeps
/// then. What cannot end is an error on every rank: others that do not come in
/// time, that bring other tensors or another step, and all workers of all ranks
/// waiting in exchanges that do not meet.
class InProcessWorld {
public:
  InProcessWorld(const Mesh &mesh, const std::vector<Collective> &collectives,
                 const CommunicatorOptions &options);
  ~InProcessWorld();

  /// Lives as long as the world.
  Communicator &rank(uint32_t rank);
  /// Ends every wait, now and later, with this message.
  void abort(const std::string &message);

private:
  struct State;
  class Rank;

  std::unique_ptr<State> state;
  std::vector<std::unique_ptr<Rank>> ranks;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_IN_PROCESS_H

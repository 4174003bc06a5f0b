//===- nccl.h - a rank whose tensors lie on a GPU -------------------------===//
//
// Threads or MPI connect ranks, as on the CPU: they agree on what they do by
// texts. Tensors in the memory of GPUs go by NCCL, in the order of a stream,
// which is what this file is about. NCCL moves bytes and never adds: sums are
// tasks of the program, as for every engine, so that all of them give the same
// bits.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_NCCL_H
#define BATON_RUNTIME_COMM_NCCL_H

#include "runtime/comm/communicator.h"
#include "runtime/comm/nccl_calls.h"

#include <map>
#include <string>
#include <vector>

namespace baton {

/// NCCL's communicators of one rank: one for each set of axes that its
/// collectives are over, which the ranks of a group share.
class NcclRank {
public:
  /// Opens NCCL. Throws Error where it cannot be used. `communicator` outlives
  /// this.
  explicit NcclRank(Communicator &communicator);
  ~NcclRank();
  NcclRank(const NcclRank &) = delete;
  NcclRank &operator=(const NcclRank &) = delete;

  /// Makes the communicators; all ranks do, at the same place. The GPU's
  /// context is current. `blocks` is how many multiprocessors each may take; 0
  /// leaves that to NCCL. Throws CommunicationError.
  void connect(const std::string &device, int blocks);

  NcclCalls calls(uint32_t collective, NcclLibrary::Stream stream) const;
  /// Throws Error when NCCL has found, since the calls, that something failed.
  void check() const;

private:
  void connect_group(NcclGroup &group, uint32_t ranks,
                     const NcclLibrary::UniqueId &id,
                     NcclLibrary::Config &config) const;

  const NcclLibrary &library;
  Communicator &communicator;
  /// By their axes.
  std::map<std::vector<std::string>, NcclGroup> groups;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_NCCL_H

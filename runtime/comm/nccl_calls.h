//===- nccl_calls.h - calls of NCCL's, checked ----------------------------===//

#ifndef BATON_RUNTIME_COMM_NCCL_CALLS_H
#define BATON_RUNTIME_COMM_NCCL_CALLS_H

#include "runtime/comm/nccl_library.h"

#include <chrono>
#include <cstdint>

namespace baton {

/// A communicator of NCCL's, and this rank's place in it.
struct NcclGroup {
  NcclLibrary::Comm communicator = nullptr;
  uint32_t place = 0;
  std::chrono::milliseconds timeout = {};
};

/// Calls of NCCL's with one group and stream. They throw Error, in words that
/// name the call and say what NCCL says.
class NcclCalls {
public:
  NcclCalls(const NcclLibrary &library, const NcclGroup &group,
            NcclLibrary::Stream stream)
      : library(library), group(group), stream(stream) {}

  uint32_t place() const { return group.place; }
  void ncclGroupStart() const;
  /// Returns when the calls of the group are on the stream.
  void ncclGroupEnd() const;
  // Of bytes.
  void ncclSend(const void *data, uint64_t bytes, uint32_t peer) const;
  void ncclRecv(void *data, uint64_t bytes, uint32_t peer) const;
  /// `bytes` are what a rank sends.
  void ncclAllGather(const void *send, void *receive, uint64_t bytes) const;

private:
  void check(NcclLibrary::Result result, const char *call) const;

  const NcclLibrary &library;
  const NcclGroup &group;
  NcclLibrary::Stream stream;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_NCCL_CALLS_H

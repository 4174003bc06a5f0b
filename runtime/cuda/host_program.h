//===- host_program.h - what a program for the host is written in ---------===//
//
// batonc emits, for the kernel of a program of several ranks, a program for the
// host as well: what it puts on the device's stream for a step, launches of the
// kernel and, where ranks exchange tensors, calls of NCCL. It is compiled by
// the compiler that links, with this header.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_HOST_PROGRAM_H
#define BATON_RUNTIME_CUDA_HOST_PROGRAM_H

#include "runtime/comm/nccl_calls.h"
#include "runtime/comm/row_layout.h"
#include "runtime/device_program.h"
#include "runtime/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace baton {

/// A step that is being put on the stream. Errors are thrown.
class HostStep {
public:
  using Tensors = std::span<const BatonExchange>;
  /// Asks NCCL to move tensors.
  using Move = void (*)(const NcclCalls &nccl, Tensors tensors);

  /// As in BatonDeviceStep.
  const int64_t rows, past, outputs;

  /// A place in the device's memory.
  virtual std::byte *at(size_t storage, uint64_t offset) = 0;
  /// Launches the kernel for the phases before `place` that were not launched
  /// yet, iterations of segments one behind the other. There is nothing to do
  /// where these only stand for exchanges.
  virtual void launch_until(uint32_t place) = 0;
  /// Behind all that was put on the stream: one of the program's collectives;
  /// between launches its phase is the next place.
  virtual void exchange(uint32_t collective, uint32_t iteration,
                        Tensors tensors, Move move) = 0;
  /// The same of rows that go to experts, or come back: tables lie in the
  /// device's memory, and `move` gets copies in the host's, once all that was
  /// put on the stream before has ended.
  virtual void exchange_rows(uint32_t collective, uint32_t iteration,
                             Tensors tensors, Move move) = 0;

  // Where exchanges go on a stream beside the kernel, instead of launches.

  /// Holds the stream back until the kernel's next task of an exchange has run.
  virtual void wait_for_task() = 0;
  /// Has the stream write that an event word has grown by so much in this step.
  virtual void notify(uint64_t word, uint64_t growth) = 0;
  /// At the end of the step: how much the word has grown in it.
  virtual void count_up(uint64_t word, uint64_t growth) = 0;

protected:
  explicit HostStep(const BatonDeviceStep &step)
      : rows(step.rows), past(step.past), outputs(step.outputs) {}
  ~HostStep() = default;
};

// Index arithmetic, as in the kernel (codegen/cuda/library/kernel.h).

inline int64_t baton_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
inline int64_t baton_ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}
inline int64_t baton_mod(int64_t a, int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

// Kinds of exchanges, as runtime/program.h has them, between `ranks` ranks.

/// Every rank sends each its part of the tensor.
template <uint32_t ranks>
void nccl_all_to_all(HostStep &step, uint32_t collective, uint32_t iteration,
                     HostStep::Tensors tensors) {
  step.exchange(
      collective, iteration, tensors,
      [](const NcclCalls &nccl, HostStep::Tensors tensors) {
        nccl.ncclGroupStart();
        for (const BatonExchange &tensor : tensors) {
          auto *send = static_cast<const std::byte *>(tensor.send);
          auto *receive = static_cast<std::byte *>(tensor.receive);
          // Ranks at the end may have less.
          auto part = [&](uint32_t place) {
            uint64_t begin = std::min(place * tensor.part, tensor.bytes);
            return std::pair(begin,
                             std::min(tensor.part, tensor.bytes - begin));
          };
          for (uint32_t peer = 0; peer < ranks; ++peer) {
            if (auto [begin, bytes] = part(peer); bytes)
              nccl.ncclSend(send + begin, bytes, peer);
            if (auto [begin, bytes] = part(nccl.place()); bytes)
              nccl.ncclRecv(receive + peer * tensor.distance, bytes, peer);
          }
        }
        nccl.ncclGroupEnd();
      });
}

/// Every rank gets the parts of all, which are of one size.
inline void nccl_all_gather(HostStep &step, uint32_t collective,
                            uint32_t iteration, HostStep::Tensors tensors) {
  step.exchange(collective, iteration, tensors,
                [](const NcclCalls &nccl, HostStep::Tensors tensors) {
                  nccl.ncclGroupStart();
                  for (const BatonExchange &tensor : tensors)
                    nccl.ncclAllGather(tensor.send, tensor.receive,
                                       tensor.part);
                  nccl.ncclGroupEnd();
                });
}

/// The same where ranks at the end have less of some tensor.
template <uint32_t ranks>
void nccl_all_gather_uneven(HostStep &step, uint32_t collective,
                            uint32_t iteration, HostStep::Tensors tensors) {
  step.exchange(collective, iteration, tensors,
                [](const NcclCalls &nccl, HostStep::Tensors tensors) {
                  nccl.ncclGroupStart();
                  for (const BatonExchange &tensor : tensors) {
                    auto *receive = static_cast<std::byte *>(tensor.receive);
                    auto part = [&](uint32_t place) {
                      uint64_t begin =
                          std::min(place * tensor.part, tensor.bytes);
                      return std::pair(
                          begin, std::min(tensor.part, tensor.bytes - begin));
                    };
                    for (uint32_t peer = 0; peer < ranks; ++peer) {
                      if (auto [begin, bytes] = part(nccl.place()); bytes)
                        nccl.ncclSend(tensor.send, bytes, peer);
                      if (auto [begin, bytes] = part(peer); bytes)
                        nccl.ncclRecv(receive + begin, bytes, peer);
                    }
                  }
                  nccl.ncclGroupEnd();
                });
}

/// Rows of each expert go to its rank, or come back from there: which ones,
/// tables say.
template <uint32_t ranks, bool dispatches>
void nccl_rows(HostStep &step, uint32_t collective, uint32_t iteration,
               HostStep::Tensors tensors) {
  step.exchange_rows(
      collective, iteration, tensors,
      [](const NcclCalls &nccl, HostStep::Tensors tensors) {
        nccl.ncclGroupStart();
        for (const BatonExchange &tensor : tensors) {
          const RowLayout rows(tensor, ranks);
          auto *send = static_cast<const std::byte *>(tensor.send);
          auto *receive = static_cast<std::byte *>(tensor.receive);
          for (uint32_t peer = 0; peer < ranks; ++peer)
            for (uint64_t expert = 0; expert < rows.experts(); ++expert) {
              const RowLayout::Run own = rows.own(peer, expert),
                                   received = rows.received(peer, expert),
                                   &out = dispatches ? own : received,
                                   &in = dispatches ? received : own;
              if (out.bytes)
                nccl.ncclSend(send + out.begin, out.bytes, peer);
              if (in.bytes)
                nccl.ncclRecv(receive + in.begin, in.bytes, peer);
            }
        }
        nccl.ncclGroupEnd();
      });
}

} // namespace baton

#endif // BATON_RUNTIME_CUDA_HOST_PROGRAM_H

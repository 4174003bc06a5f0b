//===- device_exchanges.h - what ranks on devices exchange ----------------===//
//
// Of a program of several ranks, a step is a list of launches and collectives,
// which a program for the host (host_program.h) puts on the device's stream, so
// that neither waits for this side. Marks that the stream writes between them
// say how far it has come: by them a collective that takes too long is found
// and named.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_DEVICE_EXCHANGES_H
#define BATON_RUNTIME_CUDA_DEVICE_EXCHANGES_H

#include "runtime/comm/nccl.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/host_program.h"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace baton {

/// All members throw CommunicationError, after which the rank's job is over.
class DeviceExchanges {
public:
  /// Opens NCCL. `program` is the one for the host. The storages are the
  /// device's, and zero.
  DeviceExchanges(Communicator &communicator, std::shared_ptr<Device> device,
                  std::vector<void *> storages, void (*program)(HostStep &));

  /// Connects this rank with the others, and lets NCCL make each collective
  /// once, of zeros, before any kernel runs; the first time it is called, which
  /// all ranks do together.
  void connect();

  using Launch = std::function<void(BatonPart phases)>;
  /// Puts a step on the stream, whose parts `launch` starts.
  void start(const BatonDeviceStep &step, const Launch &launch);

  /// To be called while the stream is waited for.
  void check();

private:
  class Step;
  struct UnderWay;

  void enqueue(uint32_t collective, uint32_t iteration,
               HostStep::Tensors tensors, HostStep::Move move);

  Communicator &communicator;
  NcclRank nccl;
  /// Behind what it uses: the stream ends first.
  std::shared_ptr<Device> device;
  std::vector<void *> storages;
  void (*program)(HostStep &);
  bool is_connected = false;
  /// 2k + 1 when the stream has come to exchange k, 2k + 2 behind it.
  uint32_t *mark;

  struct UnderWay {
    uint32_t number, collective, iteration;
    uint64_t step;
    bool has_begun = false;
    std::chrono::steady_clock::time_point begun = {};
  };
  /// Those that have not ended, as far as is known.
  std::deque<UnderWay> under_way;
  uint32_t next_number = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_DEVICE_EXCHANGES_H

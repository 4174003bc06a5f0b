//===- device_exchanges.h - what ranks on devices exchange ----------------===//
//
// Of a program of several ranks, a step is a list of launches and collectives,
// which a program for the host (host_program.h) puts on the device's stream, so
// that neither waits for this side; or of collectives only, on a stream beside
// the kernel, where each waits for a task, and tasks wait for it. Marks that
// the stream writes between them say how far it has come: by them a collective
// that takes too long is found and named.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_DEVICE_EXCHANGES_H
#define BATON_RUNTIME_CUDA_DEVICE_EXCHANGES_H

#include "runtime/comm/nccl.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/host_program.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace baton {

/// All members throw CommunicationError, after which the rank's job is over.
class DeviceExchanges {
public:
  /// Opens NCCL. `program` is the one for the host. The storages are the
  /// device's. `multiprocessors` are NCCL's beside the kernel; 0
  /// where it is between launches.
  DeviceExchanges(Communicator &communicator, std::shared_ptr<Device> device,
                  std::vector<void *> storages, void (*program)(HostStep &),
                  unsigned multiprocessors);

  /// Whether the kernel goes on while ranks exchange tensors.
  bool overlap() const { return multiprocessors != 0; }
  /// Before steps of a kernel whose words count up from `origin`, the epoch
  /// from 0; both lie in the device's memory.
  void begin_kernel(uint32_t *events, const uint32_t *epoch, uint32_t origin);

  /// Connects this rank with the others, and lets NCCL make each collective of
  /// `largest` once, in memory of its own, before any kernel runs; the first
  /// time it is called, which all ranks do together.
  void connect(const BatonDeviceStep &largest);

  using Launch = std::function<void(BatonPart phases)>;
  /// Puts a step on the stream, whose parts `launch` starts if there are any.
  void start(const BatonDeviceStep &step, const Launch &launch = {});

  /// Called while this side waits for the stream before it has come to the end
  /// of a step.
  std::function<void()> serve = [] {};

  /// To be called while the stream is waited for.
  void check();

private:
  class Step;
  struct UnderWay;

  Device::Stream stream() const {
    return overlap() ? Device::Stream::Exchanges : Device::Stream::Kernels;
  }
  std::vector<BatonExchange> warm_up(uint32_t collective,
                                     HostStep::Tensors tensors);
  /// Copies of the tables by which rows go to experts, behind all that is on
  /// the stream.
  using Tables = std::vector<std::vector<int32_t>>;
  std::shared_ptr<const Tables> read_tables(uint32_t collective,
                                            HostStep::Tensors tensors);
  /// `tables` are what tensors point to.
  void enqueue(uint32_t collective, uint32_t iteration,
               HostStep::Tensors tensors, HostStep::Move move,
               std::shared_ptr<const Tables> tables = {});

  Communicator &communicator;
  NcclRank nccl;
  /// Behind what it uses: the stream ends first.
  std::shared_ptr<Device> device;
  std::vector<void *> storages;
  void (*program)(HostStep &);
  unsigned multiprocessors;
  bool is_connected = false;
  /// What is moved before the first step; any bytes.
  std::byte *trial = nullptr;
  /// Of the kernel that runs: what its words had counted up to before the step,
  /// and the exchanges that it has been given.
  uint32_t *events = nullptr;
  const uint32_t *epoch = nullptr;
  uint32_t origin = 0, begun = 0;
  std::map<uint64_t, uint32_t> bases;
  /// 2k + 1 when the stream has come to exchange k, 2k + 2 behind it; and how
  /// often it has come to where tables are read.
  uint32_t *mark, *tables_mark;
  uint32_t tables_read = 0;

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

//===- device_execution.h - a program that runs on a device ---------------===//

#ifndef BATON_RUNTIME_CUDA_DEVICE_EXECUTION_H
#define BATON_RUNTIME_CUDA_DEVICE_EXECUTION_H

#include "runtime/cuda/device.h"
#include "runtime/cuda/device_exchanges.h"
#include "runtime/execute/execution.h"

#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace baton {

/// Workers are blocks of one kernel, or of each kernel of a graph. Its memory
/// lives as long as the device. A thread of the host answers the kernel's
/// questions (BatonHostExchange) until it has ended, makes the masks of tokens
/// that steps wait for, and starts the steps that are graphs, ahead as far as
/// it knows them.
class DeviceExecution : public Execution {
public:
  DeviceExecution(const Metadata &metadata, const Parameters &parameters,
                  const ExecutionOptions &options,
                  std::shared_ptr<Device> device);
  ~DeviceExecution() override;

  unsigned workers() const override { return worker_count; }
  void write_storage(size_t storage, const void *data, uint64_t bytes,
                     uint64_t offset = 0) override {
    device->write(static_cast<std::byte *>(storage_pointers[storage]) + offset,
                  data, bytes);
  }
  void write_storages(std::span<const StorageCopy> copies,
                      const std::function<void(uint64_t done, uint64_t total)>
                          &progress) override;
  void read_storage(size_t storage, void *data, uint64_t bytes) override {
    device->read(data, storage_pointers[storage], bytes);
  }
  void start(StepDriver &driver, bool observed = false) override;
  void wait() override;

private:
  void upload_parameters(
      const Parameters &parameters,
      const std::function<void(uint64_t done, uint64_t total)> &progress);
  void prepare_products();
  void reset_events();
  void launch(const BatonDeviceStep &step);
  void launch_step(const BatonDeviceStep &step);
  bool begin_exchanges(const BatonDeviceStep &step, uint32_t number);
  bool begin_parts(uint32_t rows, uint32_t number);
  void launch_parts();
  bool go_on();
  bool run_ahead();
  bool answer_question();
  bool make_mask();
  void serve() noexcept;
  void drain() noexcept;
  void prepare_generation(const GenerationRequest *request);
  bool follow();
  void end_generation();
  void answer(const BatonHostExchange &question);
  void show_phase(const BatonHostExchange &question);
  BatonTraceRecord *trace_memory(uint64_t capacity);
  void collect_trace();
  void check_waits();
  template <typename T> T *allocate(uint64_t count, const char *what) {
    return static_cast<T *>(device->allocate(count * sizeof(T), what));
  }

  std::shared_ptr<Device> device;
  bool launches_graph;
  unsigned worker_count;
  uint32_t event_origin;
  /// On the device, as the kernel gets it, and what it holds.
  BatonDevice *program;
  BatonDevice state = {};
  std::vector<void *> storage_pointers;
  BatonTraceRecord *records = nullptr;
  int32_t *tokens;
  BatonHostExchange *exchange;
  BatonProgress *progress;
  int32_t *stops = nullptr;
  size_t stop_capacity = 0;
  uint64_t prompt_tokens = 0;
  /// Steps that were started as graphs, the position behind the last one, and
  /// behind each of those that may not have ended yet.
  uint32_t launched_steps = 0;
  uint64_t launched_positions = 0;
  std::deque<uint64_t> steps_under_way;
  /// Of each program; the parts of the step that is being started, the first
  /// of them that is not, the rows and the number of the step.
  std::vector<StepParts> parts_of_programs;
  ProductMemory product_memory = {};
  std::vector<StepPart> parts;
  size_t next_part = 0;
  uint32_t rows_of_parts = 0, number_of_parts = 0;
  /// Of a program of several ranks.
  std::unique_ptr<DeviceExchanges> exchanges;
  /// Questions that this side has answered.
  uint32_t answered = 0;
  uint32_t followed_tokens = 0;
  /// What the host's steady clock is ahead of the device's, at most: an answer
  /// comes after its question.
  int64_t clock_difference = 0;
  /// What the kernel works on, as far as the host knows; no rows once the
  /// driver has been told the end.
  BatonStep current = {};
  std::vector<float> logits;
  /// The first of its rows with logits whose mask may still have to be made.
  uint32_t next_mask = 0;
  /// Host copies for a driver that observes.
  std::vector<std::vector<std::byte>> storage_copies;
  std::thread server;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_DEVICE_EXECUTION_H

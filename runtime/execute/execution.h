//===- execution.h - a compiled program, ready to run --------------------===//

#ifndef BATON_RUNTIME_EXECUTE_EXECUTION_H
#define BATON_RUNTIME_EXECUTE_EXECUTION_H

#include "runtime/comm/communicator.h"
#include "runtime/execute/layer_arrivals.h"
#include "runtime/execute/metadata.h"
#include "runtime/execute/one_sequence.h"
#include "runtime/execute/paged_region.h"
#include "runtime/execute/pipeline.h"
#include "runtime/execute/step_driver.h"
#include "runtime/execute/step_judge.h"
#include "runtime/execute/task_touches.h"
#include "runtime/execute/tiered_layers.h"
#include "runtime/trace/recorder.h"
#include "runtime/weights/parameters.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace baton {

struct ExecutionOptions {
  /// On a device, 0 is as many as usual there; else at least 1.
  unsigned workers = 1;
  /// What event words count up from; any origin gives the same run.
  uint32_t event_origin = 0;
  /// Of a program of several ranks: connects this one with the others, and
  /// outlives the execution.
  Communicator *communicator = nullptr;
  /// Called while weights are copied to a device, with growing `done`, by the
  /// thread that makes the execution.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  /// Of a program whose states lie in pages: how many there are; 0 for those of
  /// one longest sequence.
  uint64_t pages = 0;
  /// Of a program that trains, the optimizer's states; else none. With
  /// `tiered`, what that says lies there, too.
  PagedStorages paged = {};
  /// Of a program that has layers fetched: how a run keeps them, which outlives
  /// the execution; null for all in memory.
  const TieredRun *tiered = nullptr;
  /// Of a program that was compiled with --offload: the weights that come from
  /// a file, which outlive the execution, and the pages that stay in memory.
  const OffloadedLayers *layers = nullptr;
  std::optional<OffloadedPages> layer_pages = {};
};

/// What goes to the beginning of a storage.
struct StorageCopy {
  size_t storage;
  std::span<const std::byte> bytes;
};

/// The program linked into this executable, with memory and workers of its own.
/// States keep their values from one run to the next.
class Execution {
public:
  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;
  virtual ~Execution() = default;

  virtual unsigned workers() const = 0;
  /// Of a program whose steps are of several sequences: how many pages their
  /// states have, and where a driver writes what a step reads.
  uint64_t pages() const { return page_count; }
  const BatchInputs &inputs() const { return step_inputs; }
  /// The storages' base pointers, on the host; null on a device.
  virtual void *const *storages() const { return nullptr; }
  /// Of a rank that runs several programs in a step: which, in order, and the
  /// storages of what one of its stages keeps. A driver's steps say which call
  /// they are.
  virtual std::span<const StageCall> calls() const { return {}; }
  /// What the program says of itself.
  const nlohmann::json &description() const { return metadata.json; }
  /// Its place among the stages.
  virtual uint32_t place() const { return 0; }
  virtual void *const *stage_storages(uint32_t chunk) const { return nullptr; }
  /// What came from files, if anything did; while no step runs.
  virtual std::optional<LayerTraffic> layer_traffic() const { return {}; }
  /// Copy to a storage on a device, so many bytes behind its beginning, and
  /// from its beginning, while no task uses what is copied.
  virtual void write_storage(size_t storage, const void *data, uint64_t bytes,
                             uint64_t offset = 0) {}
  virtual void read_storage(size_t storage, void *data, uint64_t bytes) {}
  /// Copies to a storage of one of the ranks, on the host or on a device,
  /// before that rank's next step, and while none of its tasks uses what is
  /// copied. Called between two steps by who makes them, or before a run.
  virtual void write_of_rank(uint32_t rank, size_t storage, uint64_t offset,
                             std::span<const std::byte> bytes) {
    if (void *const *own = storages())
      std::memcpy(static_cast<std::byte *>(own[storage]) + offset, bytes.data(),
                  bytes.size());
    else
      write_storage(storage, bytes.data(), bytes.size(), offset);
  }
  /// The same of much: says how far it is, with growing `done`.
  virtual void write_storages(
      std::span<const StorageCopy> copies,
      const std::function<void(uint64_t done, uint64_t total)> &progress) {}

  /// Starts the persistent kernel on every worker and returns. With `observed`
  /// the driver sees the values of every phase; that takes exactly one worker.
  virtual void start(StepDriver &driver, bool observed = false) = 0;
  /// Returns when the program has ended. Rethrows what the driver threw.
  virtual void wait() = 0;
  /// The region that has what is not in memory; null if all is.
  virtual const PagedRegion *paged_region() const { return nullptr; }
  void run(StepDriver &driver, bool observed = false) {
    start(driver, observed);
    wait();
  }

  /// Records every task of the runs to come; null ends that. It has room for
  /// all workers and outlives the runs.
  void record(TraceRecorder *next_recorder) { recorder = next_recorder; }

  /// Watches what tasks touch in the runs to come, which fail when one touches
  /// what it may not; null ends that. It outlives the runs.
  void watch(TaskTouches *next_touches) { touches = next_touches; }

  /// Of a program whose rows have adapters, run by a driver of one sequence:
  /// the ranks of its adapter, from the first one on.
  uint32_t adapter_ranks = 0;

  /// When set, by any thread or signal handler, the program ends after the
  /// current step as if the driver had returned zero rows. That of one rank
  /// ends all ranks' programs after the same step.
  std::atomic<bool> stop = false;
  /// Whether a program has ended because of that; on all ranks or on none.
  bool was_stopped() const { return stopped; }

protected:
  explicit Execution(const Metadata &metadata,
                     Communicator *communicator = nullptr)
      : metadata(metadata), communicator(communicator) {}
  /// A program of many sequences has `options.pages`, or those of one.
  Execution(const Metadata &metadata, const ExecutionOptions &options);

  /// The driver of the run to come. One of one sequence drives a program of
  /// many as well.
  void drive_by(StepDriver &next_driver);

  /// The driver's first step, checked; tells the driver when it is the last.
  BatonStep first_step(std::span<int32_t> tokens);
  /// What follows `current`: no rows after a failure, or when stopped. Never
  /// throws.
  BatonStep next_step(const BatonStep &current, const Logits &logits) noexcept;
  /// Hands a phase's values to the driver. Never throws.
  void show(const BatonStep &step, uint32_t phase, uint32_t iteration,
            void *const *storages) noexcept;
  /// What a run failed with, once.
  void rethrow();
  /// Whether all ranks come to the end of a step after this one.
  virtual bool ends_step(const BatonStep &step) const { return true; }

  const Metadata &metadata;
  Communicator *communicator;
  StepDriver *driver = nullptr;
  TraceRecorder *recorder = nullptr;
  /// The recorder's number of the step that began last; written as `failure`.
  uint32_t recorded = 0;
  TaskTouches *touches = nullptr;
  /// Of a program of many sequences.
  BatchInputs step_inputs = {};
  /// Written and read by whoever calls next_step() and show(), one at a time,
  /// and by the main thread once the program has ended.
  std::exception_ptr failure;

private:
  void check(const BatonStep &step);
  bool should_stop();

  std::unique_ptr<StepJudge> step_judge;
  std::optional<OneSequence> one_sequence;
  uint64_t page_count = 0;
  bool stopped = false;
};

/// What copies to storages of the execution's ranks, which outlives it.
inline std::function<void(uint32_t rank, size_t storage, uint64_t offset,
                          std::span<const std::byte> bytes)>
storage_writer(Execution &execution) {
  return [&execution](uint32_t rank, size_t storage, uint64_t offset,
                      std::span<const std::byte> bytes) {
    execution.write_of_rank(rank, storage, offset, bytes);
  };
}

/// Makes the execution that fits the program, on the host or on a device, which
/// the caller owns.
using ExecutionFactory = Execution *(*)(const Metadata &metadata,
                                        const Parameters &parameters,
                                        const ExecutionOptions &options);

} // namespace baton

/// Defined by the program, as the only reference to its target's part of the
/// runtime.
extern "C" const baton::ExecutionFactory baton_execution_factory;

namespace baton {

/// `parameters` outlives the execution.
inline std::unique_ptr<Execution>
make_execution(const Metadata &metadata, const Parameters &parameters,
               const ExecutionOptions &options) {
  return std::unique_ptr<Execution>(
      baton_execution_factory(metadata, parameters, options));
}

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_EXECUTION_H

//===- emulated_device.cpp - a device that the host emulates --------------===//
//
// The same kernel source as for a GPU, compiled for the host: blocks are
// threads, a block's threads are fibers (runtime/cuda/emulation). What is
// started runs one after another; within a step that is a graph, where its
// kernels may start early, some of them do at the same time.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/device_execution.h"
#include "runtime/cuda/emulation/engine.h"
#include "runtime/cuda/step_kernels.h"
#include "runtime/decode/team.h"
#include "runtime/error.h"
#include "runtime/weights/memory.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

/// The kernels, in objects that batonc compiled from their source: persistent
/// ones, or all of graphs, program after program.
extern "C" void (*const baton_kernels[])();

namespace baton {

namespace {

using PersistentKernel = void (*)(BatonDevice *device);
using GraphKernel = void (*)(BatonDevice *device, uint32_t number,
                             int64_t iteration);

/// A thread that does one thing after another.
class Stream {
public:
  ~Stream() {
    {
      std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_all();
    if (thread.joinable())
      thread.join();
  }
  void push(std::function<void()> work) {
    std::lock_guard lock(mutex);
    if (!thread.joinable())
      thread = std::thread([this] { run(); });
    waiting.push_back(std::move(work));
    changed.notify_all();
  }
  /// Whether something is left to do.
  bool busy() {
    std::lock_guard lock(mutex);
    return !waiting.empty();
  }

private:
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return ended || !waiting.empty(); });
      if (waiting.empty())
        return;
      lock.unlock();
      waiting.front()();
      lock.lock();
      waiting.pop_front();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  /// The first is being done.
  std::deque<std::function<void()>> waiting;
  bool ended = false;
  std::thread thread;
};

class EmulatedDevice : public Device {
public:
  explicit EmulatedDevice(const nlohmann::json &description) {
    bool launches_graph = description.at("launch") == "graph";
    programmatic = description.value("programmatic", false);
    for (const nlohmann::json &kernel : description.at("kernels"))
      if (launches_graph)
        steps.emplace_back(kernel);
      else
        launches.push_back({kernel.at("threads").get<unsigned>(),
                            kernel.at("shared_bytes").get<uint64_t>()});
    // Tests shuffle the order in which a block's threads run, and shorten
    // waits.
    if (const char *text = std::getenv("BATON_EMULATION_SEED"))
      seed = std::strtoull(text, nullptr, 10);
    if (const char *text = std::getenv("BATON_EMULATION_WAIT"))
      wait_seconds = std::strtoull(text, nullptr, 10);
  }
  std::string name() const override { return "the emulated device"; }
  unsigned most_workers() const override { return max_workers; }
  unsigned usual_workers() const override { return available_workers(); }
  uint64_t wait_nanoseconds() const override {
    return wait_seconds * 1'000'000'000;
  }

  void *allocate(uint64_t bytes, const std::string &what) override {
    try {
      return regions.emplace_back(bytes).data();
    } catch (const Error &) {
      throw Error("cannot reserve " + std::to_string(bytes) +
                  " bytes of memory for " + what);
    }
  }
  void *share(uint64_t bytes, const std::string &what) override {
    return allocate(bytes, what);
  }
  const void *upload(std::span<const std::byte> bytes,
                     const std::string &) override {
    return bytes.data();
  }
  void write(void *device, const void *host, uint64_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  void read(void *host, const void *device, uint64_t bytes) override {
    std::memcpy(host, device, bytes);
  }

  void launch(size_t kernel_index, unsigned blocks,
              BatonDevice *argument) override {
    const auto &[threads, shared_bytes] = launches[kernel_index];
    struct Call {
      PersistentKernel kernel;
      BatonDevice *device;
    } call = {reinterpret_cast<PersistentKernel>(baton_kernels[kernel_index]),
              argument};
    emulation::Launch grid = {blocks, threads, shared_bytes, seed};
    stream.push([=]() mutable {
      emulation::launch(
          grid,
          [](void *data) {
            auto *call = static_cast<Call *>(data);
            call->kernel(call->device);
          },
          &call);
    });
  }
  void prepare_steps(unsigned, BatonDevice *) override {}
  void launch_step(size_t program, unsigned blocks, BatonDevice *argument,
                   uint32_t number) override {
    stream.push([=, this] { run_step(program, blocks, argument, number); });
  }
  bool running() override { return stream.busy(); }

private:
  /// Where kernels start early, one does when all blocks of the one before have
  /// let it, and so that a few run at the same time; that each waits for those
  /// before is up to them.
  void run_step(size_t program, unsigned blocks, BatonDevice *argument,
                uint32_t number) {
    constexpr size_t most_at_a_time = 3;
    const StepKernels &step = steps[program];
    size_t first = 0;
    for (size_t i = 0; i < program; ++i)
      first += steps[i].kernels.size();
    struct Call {
      GraphKernel kernel;
      BatonDevice *device;
      uint32_t number;
      int64_t iteration;
    };
    std::deque<Call> calls;
    std::deque<emulation::Grid> grids;
    size_t joined = 0;
    for (const StepKernels::Launch &launch : step.launches) {
      emulation::Grid *before = nullptr;
      if (programmatic && !grids.empty()) {
        before = &grids.back();
        before->wait_until_next_may_start();
      }
      while (grids.size() - joined >= (programmatic ? most_at_a_time : 1))
        grids[joined++].join();
      calls.push_back(
          {reinterpret_cast<GraphKernel>(baton_kernels[first + launch.kernel]),
           argument, number, launch.iteration});
      grids.emplace_back(
          emulation::Launch{step.blocks(launch, blocks), step.threads,
                            step.kernels[launch.kernel].shared_bytes, seed},
          [](void *data) {
            auto *call = static_cast<Call *>(data);
            call->kernel(call->device, call->number, call->iteration);
          },
          &calls.back(), before);
    }
    while (joined < grids.size())
      grids[joined++].join();
  }

  struct Launch {
    unsigned threads;
    uint64_t shared_bytes;
  };
  std::vector<Launch> launches;
  std::vector<StepKernels> steps;
  /// A graph's kernel starts while the one before still runs.
  bool programmatic = false;
  uint64_t seed = 0;
  // Cores of shared machines vanish for seconds, and sanitizers are slow.
  uint64_t wait_seconds = 300;
  std::vector<HugeRegion> regions;
  Stream stream;
};

} // namespace

} // namespace baton

/// The factory of programs for the emulated device.
extern "C" baton::Execution *
baton_make_emulated_execution(const baton::Metadata &metadata,
                              const baton::Parameters &parameters,
                              const baton::ExecutionOptions &options) {
  return new baton::DeviceExecution(
      metadata, parameters, options,
      std::make_shared<baton::EmulatedDevice>(metadata.device));
}

//===- emulated_device.cpp - a device that the host emulates --------------===//
//
// The same kernel source as for a GPU, compiled for the host: blocks are
// threads, a block's threads are fibers (runtime/cuda/emulation). What is
// started runs one after another; within a step that is a graph, where its
// kernels may start early, some of them do at the same time.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/device_execution.h"
#include "runtime/cuda/emulation/engine.h"
#include "runtime/cuda/step_kernels.h"
#include "runtime/error.h"
#include "runtime/execute/team.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

/// The kernels, in objects that batonc compiled from their source: persistent
/// ones, or all of graphs, program after program; then those before products by
/// cuBLASLt.
extern "C" void (*const baton_kernels[])();

namespace baton {

namespace {

using PersistentKernel = void (*)(BatonDevice *device);
using KernelOfParts = void (*)(BatonDevice *device, BatonPart part);
using GraphKernel = void (*)(BatonDevice *device, uint32_t number,
                             int64_t iteration);

/// A thread that does one thing after another.
class WorkStream {
public:
  ~WorkStream() {
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
      // Stays where it is while others are pushed; the queue itself does not.
      std::function<void()> &work = waiting.front();
      lock.unlock();
      work();
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
    nccl_multiprocessors = description.value("nccl_multiprocessors", 0u);
    size_t next_kernel = 0;
    for (const nlohmann::json &kernel : description.at("kernels")) {
      const auto threads = kernel.at("threads").get<unsigned>();
      if (launches_graph)
        next_kernel += steps.emplace_back(kernel).kernels.size();
      else
        next_kernel += 1;
      launches.push_back({threads, kernel.at("shared_bytes").get<uint64_t>(),
                          kernel.value("takes_part", false)});
      products.push_back({threads, StepParts(kernel).products(), 0});
    }
    for (Products &of_program : products) {
      of_program.first_kernel = next_kernel;
      next_kernel += of_program.list.size();
    }
    // Tests shuffle the order in which a block's threads run, and shorten
    // waits.
    if (const char *text = std::getenv("BATON_EMULATION_SEED"))
      seed = std::strtoull(text, nullptr, 10);
    if (const char *text = std::getenv("BATON_EMULATION_WAIT"))
      wait_seconds = std::strtoull(text, nullptr, 10);
  }
  ~EmulatedDevice() override { ending = true; }
  std::string name() const override { return "the emulated device"; }
  unsigned most_workers() const override {
    return max_workers - std::min(nccl_multiprocessors, max_workers);
  }
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
  const void *
  upload(std::span<const std::byte> bytes, const std::string &,
         const std::function<void(uint64_t bytes)> &arrived) override {
    arrived(bytes.size());
    return bytes.data();
  }
  void write_all(std::span<const DeviceCopy> copies, const std::string &,
                 const std::function<void(uint64_t bytes)> &arrived) override {
    uint64_t done = 0;
    for (const DeviceCopy &copy : copies) {
      std::memcpy(copy.device, copy.host.data(), copy.host.size());
      arrived(done += copy.host.size());
    }
  }
  void write(void *device, const void *host, uint64_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  void read(void *host, const void *device, uint64_t bytes) override {
    std::memcpy(host, device, bytes);
  }
  void fill(uint32_t *words, uint32_t value, uint64_t count) override {
    std::fill_n(words, count, value);
  }

  void launch(size_t kernel_index, unsigned blocks,
              BatonDevice *argument) override {
    launch_persistent(kernel_index, blocks, argument, {0, BATON_WHOLE_STEP});
  }
  void prepare_steps(unsigned, BatonDevice *) override {}
  void launch_step(size_t program, unsigned blocks, BatonDevice *argument,
                   uint32_t number) override {
    const auto all = static_cast<uint32_t>(steps[program].launches.size());
    stream.push(
        [=, this] { run_step(program, {0, all}, blocks, argument, number); });
  }
  void open_cublaslt() override { cublaslt.emplace(name()); }
  void launch_part(size_t program, const StepPart &part, uint32_t rows,
                   unsigned blocks, BatonDevice *argument, uint32_t number,
                   const ProductMemory &memory) override {
    if (part.product)
      return multiply(program, part, rows, blocks, argument, number, memory);
    if (steps.empty())
      return launch_persistent(program, blocks, argument, part.phases);
    stream.push([=, this, phases = part.phases] {
      run_step(program, phases, blocks, argument, number);
    });
  }
  void make_current() const override {}
  void call(Device::Stream which,
            std::function<void(void *stream)> library) override {
    stream_of(which).push([this, library = std::move(library)] {
      guarded([&] { library(nullptr); });
    });
  }
  void write_value(Device::Stream which, uint32_t *word,
                   uint32_t value) override {
    stream_of(which).push(
        [=] { __atomic_store_n(word, value, __ATOMIC_RELEASE); });
  }
  void wait_value(Device::Stream which, const uint32_t *word,
                  uint32_t value) override {
    stream_of(which).push([=, this] {
      while (static_cast<int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) -
                                  value) < 0 &&
             !ending)
        pause();
    });
  }
  bool running() override {
    const bool busy = stream.busy();
    std::lock_guard lock(failure_mutex);
    if (failure)
      std::rethrow_exception(std::exchange(failure, nullptr));
    return busy;
  }
  /// Blocks run on the host's processors: one that looks without end takes
  /// theirs.
  void pause() override {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

private:
  struct Products;

  WorkStream &stream_of(Device::Stream which) {
    return which == Device::Stream::Kernels ? stream : exchange_stream;
  }

  void launch_persistent(size_t kernel_index, unsigned blocks,
                         BatonDevice *argument, BatonPart part) {
    const auto &[threads, shared_bytes, takes_part] = launches[kernel_index];
    struct Call {
      void (*kernel)();
      bool takes_part;
      BatonDevice *device;
      BatonPart part;
    } call = {baton_kernels[kernel_index], takes_part, argument, part};
    emulation::Launch grid = {blocks, threads, shared_bytes, seed};
    stream.push([=]() mutable {
      emulation::launch(
          grid,
          [](void *data) {
            auto *call = static_cast<Call *>(data);
            if (call->takes_part)
              reinterpret_cast<KernelOfParts>(call->kernel)(call->device,
                                                            call->part);
            else
              reinterpret_cast<PersistentKernel>(call->kernel)(call->device);
          },
          &call);
    });
  }

  void multiply(size_t program, const StepPart &part, uint32_t rows,
                unsigned blocks, BatonDevice *argument, uint32_t number,
                const ProductMemory &memory) {
    const Products &of_program = products[program];
    const StepProduct &product = of_program.list[*part.product];
    const CublasLt::Plan &plan =
        cublaslt->plan({rows, product.depth, product.columns});
    struct Call {
      GraphKernel kernel;
      BatonDevice *device;
      uint32_t number;
      int64_t iteration;
    } call = {reinterpret_cast<GraphKernel>(
                  baton_kernels[of_program.first_kernel + *part.product]),
              argument, number, part.iteration};
    emulation::Launch grid = {blocks, of_program.threads, 0, seed};
    stream.push([=, this, &plan]() mutable {
      emulation::launch(
          grid,
          [](void *data) {
            auto *call = static_cast<Call *>(data);
            call->kernel(call->device, call->number, call->iteration);
          },
          &call);
      guarded([&] {
        cublaslt->multiply(plan, memory.activations, memory.weights,
                           memory.product, memory.workspace, nullptr);
      });
    });
  }

  /// Calls a library. What goes wrong comes later, as a GPU's faults do.
  template <typename Call> void guarded(Call call) {
    try {
      call();
    } catch (...) {
      std::lock_guard lock(failure_mutex);
      if (!std::exchange(has_failed, true))
        failure = std::current_exception();
    }
  }

  /// Where kernels start early, one does when all blocks of the one before have
  /// let it, and so that a few run at the same time; that each waits for those
  /// before is up to them.
  void run_step(size_t program, BatonPart part, unsigned blocks,
                BatonDevice *argument, uint32_t number) {
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
    for (uint32_t place = part.first; place < part.last; ++place) {
      const StepKernels::Launch &launch = step.launches[place];
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
    /// Its second argument is a part of a step.
    bool takes_part;
  };
  std::vector<Launch> launches;
  struct Products {
    unsigned threads;
    std::vector<StepProduct> list;
    /// The first one's, in the table.
    size_t first_kernel;
  };
  std::vector<Products> products;
  std::optional<CublasLt> cublaslt;
  std::mutex failure_mutex;
  /// The first one, until it has been said.
  std::exception_ptr failure;
  bool has_failed = false;
  std::vector<StepKernels> steps;
  /// A graph's kernel starts while the one before still runs.
  bool programmatic = false;
  /// Of as many as there may be workers.
  unsigned nccl_multiprocessors = 0;
  uint64_t seed = 0;
  // Cores of shared machines vanish for seconds, and sanitizers are slow.
  uint64_t wait_seconds = 300;
  std::vector<HugeRegion> regions;
  WorkStream stream, exchange_stream;
  /// What would never come is not waited for.
  std::atomic<bool> ending = false;
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

//===- emulated_device.cpp - a device that the host emulates --------------===//
//
// The same kernel source as for a GPU, compiled for the host: blocks are
// threads, a block's threads are fibers (runtime/cuda/emulation).
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/device_execution.h"
#include "runtime/cuda/emulation/engine.h"
#include "runtime/decode/team.h"
#include "runtime/error.h"
#include "runtime/weights/memory.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

/// The kernels, in objects that batonc compiled from their source.
extern "C" void (*const baton_kernels[])(BatonDevice *device);

namespace baton {

namespace {

class EmulatedDevice : public Device {
public:
  explicit EmulatedDevice(const nlohmann::json &description) {
    for (const nlohmann::json &kernel : description.at("kernels"))
      launches.push_back({kernel.at("threads").get<unsigned>(),
                          kernel.at("shared_bytes").get<uint64_t>()});
    // Tests shuffle the order in which a block's threads run, and shorten
    // waits.
    if (const char *text = std::getenv("BATON_EMULATION_SEED"))
      seed = std::strtoull(text, nullptr, 10);
    if (const char *text = std::getenv("BATON_EMULATION_WAIT"))
      wait_seconds = std::strtoull(text, nullptr, 10);
  }
  ~EmulatedDevice() override {
    if (kernel.joinable())
      kernel.join();
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
    if (kernel.joinable())
      kernel.join();
    active.store(true, std::memory_order_relaxed);
    kernel = std::thread([=, this] {
      const auto &[threads, shared_bytes] = launches[kernel_index];
      struct Call {
        void (*kernel)(BatonDevice *device);
        BatonDevice *device;
      } call = {baton_kernels[kernel_index], argument};
      emulation::launch(
          {blocks, threads, shared_bytes, seed},
          [](void *data) {
            auto *call = static_cast<Call *>(data);
            call->kernel(call->device);
          },
          &call);
      active.store(false, std::memory_order_release);
    });
  }
  bool running() override { return active.load(std::memory_order_acquire); }

private:
  struct Launch {
    unsigned threads;
    uint64_t shared_bytes;
  };
  std::vector<Launch> launches;
  uint64_t seed = 0;
  // Cores of shared machines vanish for seconds, and sanitizers are slow.
  uint64_t wait_seconds = 300;
  std::vector<HugeRegion> regions;
  std::atomic<bool> active = false;
  std::thread kernel;
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

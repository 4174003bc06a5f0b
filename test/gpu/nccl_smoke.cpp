//===- nccl_smoke.cpp - NCCL with one rank, on a GPU ----------------------===//
//
// A rank that exchanges with itself: what programs of several ranks ask of NCCL
// and of the driver (runtime/cuda/host_program.h), between other work of a
// stream, and on a second one that is held back by a word in the GPU's memory.
// Says in one line of JSON what came of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver.h"
#include "runtime/cuda/host_program.h"
#include "runtime/error.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace baton;

namespace {

constexpr uint64_t bytes = 100'000, part = 100'032;

/// The GPU's memory, and two streams.
class Gpu {
public:
  Gpu() : driver(CudaDriver::get(/*with_libraries=*/true)) {
    CudaDriver::DeviceId id = 0;
    CudaDriver::Context context = nullptr;
    driver.check(driver.device_get(&id, 0), "the GPU cannot be opened");
    driver.check(driver.context_retain(&context, id), "no context");
    driver.check(driver.context_set(context), "no context");
    for (CudaDriver::Stream &stream : streams)
      driver.check(driver.stream_create(&stream, CudaDriver::non_blocking),
                   "no stream");
  }

  std::byte *allocate(uint64_t size) {
    CudaDriver::Address address = 0;
    driver.check(driver.memory_allocate(&address, size), "no memory");
    driver.check(driver.memory_zero(address, 0, size), "no memory");
    driver.check(driver.stream_synchronize(nullptr), "no memory");
    return reinterpret_cast<std::byte *>(address);
  }
  static CudaDriver::Address address(const void *pointer) {
    return reinterpret_cast<CudaDriver::Address>(pointer);
  }
  void write(void *there, const std::vector<char> &data, int stream) {
    driver.check(driver.copy_to_device(address(there), data.data(), data.size(),
                                       streams[stream]),
                 "copying");
    driver.check(driver.stream_synchronize(streams[stream]), "copying");
  }
  std::vector<char> read(const void *there, uint64_t size, int stream) {
    std::vector<char> data(size);
    driver.check(
        driver.copy_to_host(data.data(), address(there), size, streams[stream]),
        "copying");
    driver.check(driver.stream_synchronize(streams[stream]), "copying");
    return data;
  }

  const CudaDriver &driver;
  CudaDriver::Stream streams[2];
};

/// A step that has NCCL's calls made at once, with one rank.
class Step : public HostStep {
public:
  Step(const NcclLibrary &library, const NcclGroup &group,
       NcclLibrary::Stream stream)
      : HostStep(BatonDeviceStep{1, 0, 1, 0}), calls(library, group, stream) {}
  ~Step() = default;

  std::byte *at(size_t, uint64_t) override { return nullptr; }
  void launch_until(uint32_t) override {}
  void exchange(uint32_t, uint32_t, Tensors tensors, Move move) override {
    move(calls, tensors);
  }
  void exchange_rows(uint32_t, uint32_t, Tensors, Move) override {
    throw Error("no rows go to experts here");
  }
  void wait_for_task() override {}
  void notify(uint64_t, uint64_t) override {}
  void count_up(uint64_t, uint64_t) override {}

private:
  NcclCalls calls;
};

void expect(bool holds, const std::string &what) {
  if (!holds)
    throw Error("WRONG: " + what);
}

void smoke() {
  Gpu gpu;
  const NcclLibrary &library = NcclLibrary::get();
  NcclLibrary::UniqueId id = {};
  NcclGroup group = {nullptr, 0, std::chrono::seconds(60)};
  auto check = [&](NcclLibrary::Result result, const char *call) {
    while (result == NcclLibrary::in_progress) {
      std::this_thread::yield();
      if (library.async_error(group.communicator, &result) != 0)
        break;
    }
    if (result != NcclLibrary::success)
      throw Error(std::string(call) + ": " +
                  library.text(result, group.communicator));
  };
  check(library.get_unique_id(&id), "ncclGetUniqueId");
  NcclLibrary::Config config = {sizeof config,
                                NcclLibrary::config_magic,
                                NcclLibrary::config_version,
                                /*blocking=*/0,
                                NcclLibrary::undefined,
                                /*least_blocks=*/4,
                                /*most_blocks=*/4,
                                nullptr};
  check(library.init(&group.communicator, 1, id, 0, &config),
        "ncclCommInitRankConfig");

  std::vector<char> data(bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    data[i] = static_cast<char>(i * 7 + i / 251);
  std::byte *send = gpu.allocate(part), *receive = gpu.allocate(part),
            *gathered = gpu.allocate(part);
  gpu.write(send, data, 0);
  const BatonExchange parts[] = {{send, receive, bytes, part, part}};
  Step first(library, group, gpu.streams[0]);
  nccl_all_to_all<1>(first, 0, 0, parts);
  expect(gpu.read(receive, bytes, 0) == data, "ncclSend and ncclRecv");
  const BatonExchange uneven[] = {{receive, gathered, bytes, part, part}};
  nccl_all_gather_uneven<1>(first, 1, 0, uneven);
  expect(gpu.read(gathered, bytes, 0) == data, "parts of unequal sizes");

  // Held back on the other stream until a word has counted up, past 2^32.
  auto *words = reinterpret_cast<uint32_t *>(gpu.allocate(64));
  std::byte *copy = gpu.allocate(part);
  const uint32_t epoch = 0xffffffff;
  gpu.driver.check(gpu.driver.stream_write_value(gpu.streams[0],
                                                 Gpu::address(words), epoch, 0),
                   "cuStreamWriteValue32");
  gpu.driver.check(gpu.driver.stream_synchronize(gpu.streams[0]), "a write");
  gpu.driver.check(
      gpu.driver.stream_wait_value(gpu.streams[1], Gpu::address(words),
                                   epoch + 2, CudaDriver::wait_until_not_less),
      "cuStreamWaitValue32");
  Step second(library, group, gpu.streams[1]);
  const BatonExchange even[] = {{send, copy, part, part, part}};
  nccl_all_gather(second, 2, 0, even);
  gpu.driver.check(gpu.driver.stream_write_value(gpu.streams[1],
                                                 Gpu::address(words + 1), 5, 0),
                   "cuStreamWriteValue32");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  expect(gpu.driver.stream_query(gpu.streams[1]) == CudaDriver::not_ready &&
             gpu.read(copy, bytes, 0) == std::vector<char>(bytes),
         "the stream does not wait for the word");
  gpu.driver.check(
      gpu.driver.stream_write_value(gpu.streams[0], Gpu::address(words), 1, 0),
      "cuStreamWriteValue32");
  gpu.driver.check(gpu.driver.stream_synchronize(gpu.streams[1]),
                   "the second stream");
  expect(gpu.read(copy, bytes, 0) == data, "ncclAllGather behind a word");
  const std::vector<char> word = gpu.read(words + 1, 4, 0);
  expect(word[0] == 5 && word[1] == 0, "the word behind NCCL");
  check(library.destroy(group.communicator), "ncclCommDestroy");
  std::printf("{\"verdict\": \"right\", \"nccl\": \"%s\"}\n",
              library.name().c_str());
}

} // namespace

int main() {
  try {
    smoke();
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return 1;
  }
}

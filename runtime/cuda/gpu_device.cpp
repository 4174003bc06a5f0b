//===- gpu_device.cpp - a GPU ---------------------------------------------===//

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/device_execution.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/step_graphs.h"
#include "runtime/error.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <sched.h>

/// The kernels, by batonc.
extern "C" const unsigned char *const baton_cubins[];

namespace baton {

namespace {

constexpr uint64_t staging_bytes = uint64_t(64) << 20;

std::string in_gibibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", double(bytes) / (1 << 30));
  return text;
}

class GpuDevice : public Device {
public:
  /// Ranks on one machine take its GPUs by turns.
  GpuDevice(const nlohmann::json &description, uint32_t place)
      : driver(CudaDriver::get(description.contains("cublaslt") ||
                               description.contains("exchanges"))) {
    int count = 1;
    driver.check(driver.device_count(&count), "the GPUs cannot be counted");
    driver.check(driver.device_get(&id, static_cast<int>(place) % count),
                 "the GPU cannot be opened");
    char text[256] = {};
    driver.check(driver.device_name(text, sizeof text - 1, id),
                 "the GPU has no name");
    gpu_name = text;
    driver.check(driver.context_retain(&context, id),
                 gpu_name + " cannot be used");
    driver.check(driver.context_set(context), gpu_name + " cannot be used");
    bool launches_graph = description.at("launch") == "graph";
    if (launches_graph)
      graphs.emplace(driver, description, gpu_name);
    else if (!attribute(CudaDriver::cooperative_launch))
      throw Error(gpu_name + " does not run all blocks of a kernel together "
                             "(cooperative launch), which this program needs");
    multiprocessor_count =
        static_cast<unsigned>(attribute(CudaDriver::multiprocessors));
    size_t index = 0;
    for (const nlohmann::json &kernel : description.at("kernels")) {
      CudaDriver::Module module =
          load(index++, description.at("kind").get<std::string>());
      if (launches_graph)
        graphs->add(kernel, module);
      else
        add(kernel, module);
      add_products(kernel, module);
    }
    driver.check(driver.stream_create(&kernel_stream, CudaDriver::non_blocking),
                 "no stream for the kernel");
    driver.check(driver.stream_create(&copy_stream, CudaDriver::non_blocking),
                 "no stream for copies");
    nccl_multiprocessors = description.value("nccl_multiprocessors", 0u);
    if (nccl_multiprocessors == 0)
      return;
    driver.check(
        driver.stream_create(&exchange_stream, CudaDriver::non_blocking),
        "no stream for exchanges");
    if (nccl_multiprocessors >= multiprocessor_count)
      throw Error(gpu_name + " has " + std::to_string(multiprocessor_count) +
                  " multiprocessors, of which the program leaves " +
                  std::to_string(nccl_multiprocessors) +
                  " to NCCL; compile with a smaller --nccl-sms");
  }

  // Memory and modules go with the context.
  ~GpuDevice() override {
    cublaslt.reset();
    driver.context_release(id);
  }

  std::string name() const override { return gpu_name; }
  unsigned most_workers() const override {
    // One on each, so that the others are NCCL's.
    if (nccl_multiprocessors)
      return multiprocessor_count - nccl_multiprocessors;
    // Kernels of a graph have as many blocks as a multiprocessor ever runs.
    unsigned blocks = graphs ? 32 : ~0u;
    for (const Kernel &kernel : kernels)
      blocks = std::min(blocks, kernel.blocks_by_multiprocessor);
    return blocks * multiprocessor_count;
  }
  unsigned usual_workers() const override {
    return multiprocessor_count - nccl_multiprocessors;
  }
  uint64_t wait_nanoseconds() const override { return 10'000'000'000; }

  void *allocate(uint64_t bytes, const std::string &what) override {
    make_current();
    CudaDriver::Address address = 0;
    if (int result = driver.memory_allocate(&address, bytes)) {
      size_t free = 0, total = 0;
      if (result != CudaDriver::out_of_memory ||
          driver.memory_info(&free, &total) != 0)
        driver.check(result, "no memory for " + what);
      throw Error(gpu_name + " has no " + in_gibibytes(bytes) + " left for " +
                  what + ": " + in_gibibytes(free) + " of " +
                  in_gibibytes(total) +
                  " are free; compile with a smaller --max-seq or another "
                  "--dtype");
    }
    // Copies do not wait for the stream in which memory is cleared.
    driver.check(driver.memory_zero(address, 0, bytes),
                 "clearing memory for " + what);
    driver.check(driver.stream_synchronize(nullptr),
                 "clearing memory for " + what);
    return reinterpret_cast<void *>(address);
  }

  void *share(uint64_t bytes, const std::string &what) override {
    make_current();
    void *address = nullptr;
    driver.check(
        driver.host_allocate(&address, bytes, CudaDriver::mapped_and_portable),
        "no memory for " + what);
    std::memset(address, 0, bytes);
    return address;
  }

  const void *
  upload(std::span<const std::byte> bytes, const std::string &what,
         const std::function<void(uint64_t bytes)> &arrived) override {
    auto [place, added] = uploads.try_emplace(bytes.data(), nullptr);
    if (added) {
      place->second = allocate(std::max<uint64_t>(1, bytes.size()), what);
      const DeviceCopy copy = {place->second, bytes};
      write_all({&copy, 1}, what, arrived);
    } else {
      arrived(bytes.size());
    }
    return place->second;
  }

  /// Through two pinned buffers, one of which is filled while the other moves.
  void write_all(std::span<const DeviceCopy> copies, const std::string &what,
                 const std::function<void(uint64_t bytes)> &arrived) override {
    make_current();
    uint64_t total = 0;
    for (const DeviceCopy &copy : copies)
      total += copy.host.size();
    struct Staging {
      CudaDriver::Stream stream = {};
      void *memory = nullptr;
      uint64_t moving = 0;
    } buffers[2];
    uint64_t size = std::min<uint64_t>(staging_bytes, total), moved = 0;
    const std::string copying = "copying " + what + " to " + gpu_name;
    auto wait = [&](Staging &buffer) {
      driver.check(driver.stream_synchronize(buffer.stream), copying);
      moved += std::exchange(buffer.moving, 0);
    };
    for (Staging &buffer : buffers) {
      driver.check(
          driver.stream_create(&buffer.stream, CudaDriver::non_blocking),
          "no stream for " + what);
      driver.check(driver.host_allocate(&buffer.memory,
                                        std::max<uint64_t>(1, size),
                                        CudaDriver::mapped_and_portable),
                   "no pinned memory for " + what);
    }
    int turn = 0;
    for (const DeviceCopy &copy : copies)
      for (uint64_t done = 0; done < copy.host.size(); turn ^= 1) {
        Staging &buffer = buffers[turn];
        wait(buffer);
        if (moved)
          arrived(moved);
        buffer.moving = std::min<uint64_t>(size, copy.host.size() - done);
        std::memcpy(buffer.memory, copy.host.data() + done, buffer.moving);
        driver.check(
            driver.copy_to_device(
                reinterpret_cast<CudaDriver::Address>(copy.device) + done,
                buffer.memory, buffer.moving, buffer.stream),
            copying);
        done += buffer.moving;
      }
    for (Staging &buffer : buffers) {
      wait(buffer);
      driver.check(driver.host_free(buffer.memory), "freeing pinned memory");
    }
    arrived(moved);
  }
  void write(void *device, const void *host, uint64_t bytes) override {
    if (bytes == 0)
      return;
    make_current();
    driver.check(
        driver.copy_to_device(reinterpret_cast<CudaDriver::Address>(device),
                              host, bytes, copy_stream),
        "copying to " + gpu_name);
    driver.check(driver.stream_synchronize(copy_stream),
                 "copying to " + gpu_name);
  }
  void read(void *host, const void *device, uint64_t bytes) override {
    if (bytes == 0)
      return;
    make_current();
    driver.check(
        driver.copy_to_host(host, reinterpret_cast<CudaDriver::Address>(device),
                            bytes, copy_stream),
        "copying from " + gpu_name);
    driver.check(driver.stream_synchronize(copy_stream),
                 "copying from " + gpu_name);
  }

  void fill(uint32_t *words, uint32_t value, uint64_t count) override {
    make_current();
    driver.check(
        driver.memory_fill(reinterpret_cast<CudaDriver::Address>(words), value,
                           count, copy_stream),
        "setting memory of " + gpu_name);
    driver.check(driver.stream_synchronize(copy_stream),
                 "setting memory of " + gpu_name);
  }

  void launch(size_t index, unsigned blocks, BatonDevice *argument) override {
    make_current();
    launch_cooperatively(kernels[index], blocks, argument,
                         {0, BATON_WHOLE_STEP});
  }
  void prepare_steps(unsigned blocks, BatonDevice *argument) override {
    make_current();
    graphs->prepare(blocks, argument);
  }
  void launch_step(size_t program, unsigned, BatonDevice *argument,
                   uint32_t number) override {
    make_current();
    graphs->launch(program, argument, number, kernel_stream);
  }
  void open_cublaslt() override {
    make_current();
    // Executions share it, as they share the GPU.
    if (!cublaslt)
      cublaslt.emplace(gpu_name);
  }
  void launch_part(size_t program, const StepPart &part, uint32_t rows,
                   unsigned blocks, BatonDevice *argument, uint32_t number,
                   const ProductMemory &memory) override {
    make_current();
    if (part.product)
      return multiply(program, part, rows, argument, number, memory);
    if (graphs)
      return graphs->launch_part(program, part.phases, blocks, argument, number,
                                 kernel_stream);
    launch_cooperatively(kernels[program], blocks, argument, part.phases);
  }
  /// A context belongs to a thread.
  void make_current() const override {
    driver.check(driver.context_set(context), gpu_name + " cannot be used");
  }
  void call(Stream stream, std::function<void(void *stream)> library) override {
    make_current();
    library(stream_of(stream));
  }
  void write_value(Stream stream, uint32_t *word, uint32_t value) override {
    make_current();
    driver.check(driver.stream_write_value(
                     stream_of(stream),
                     reinterpret_cast<CudaDriver::Address>(word), value, 0),
                 gpu_name + " writes no words in the order of a stream");
  }
  void wait_value(Stream stream, const uint32_t *word,
                  uint32_t value) override {
    make_current();
    driver.check(
        driver.stream_wait_value(stream_of(stream),
                                 reinterpret_cast<CudaDriver::Address>(word),
                                 value, CudaDriver::wait_until_not_less),
        gpu_name + " waits for no words in the order of a stream");
  }
  bool running() override {
    make_current();
    if (exchange_stream)
      if (int result = driver.stream_query(exchange_stream);
          result != CudaDriver::not_ready)
        driver.check(result, "NCCL was ended by " + gpu_name);
    int result = driver.stream_query(kernel_stream);
    if (result == CudaDriver::not_ready)
      return true;
    driver.check(result, "the kernel was ended by " + gpu_name);
    return false;
  }
  void pause() override { sched_yield(); }

private:
  CudaDriver::Stream stream_of(Stream stream) const {
    return stream == Stream::Kernels ? kernel_stream : exchange_stream;
  }

  struct Kernel {
    CudaDriver::Function function;
    unsigned threads;
    unsigned shared_bytes;
    unsigned blocks_by_multiprocessor;
  };

  int attribute(int which) const {
    int value = 0;
    driver.check(driver.device_attribute(&value, which, id),
                 gpu_name + " does not say what it can do");
    return value;
  }

  CudaDriver::Module load(size_t index, const std::string &kind) {
    CudaDriver::Module module = nullptr;
    int result = driver.module_load(&module, baton_cubins[index]);
    if (result == CudaDriver::no_binary_for_gpu)
      // Architectures of batonc's may have a suffix, as sm_90a has.
      throw Error(
          "this program is compiled for " + kind + ", and " + gpu_name +
          " has compute capability " +
          std::to_string(attribute(CudaDriver::capability_major)) + "." +
          std::to_string(attribute(CudaDriver::capability_minor)) +
          "; compile it with the --target for that, of those that batonc "
          "--help lists");
    driver.check(result, "the kernel cannot be loaded on " + gpu_name);
    return module;
  }

  /// A persistent kernel.
  void add(const nlohmann::json &description, CudaDriver::Module module) {
    Kernel kernel = {nullptr, description.at("threads").get<unsigned>(),
                     description.at("shared_bytes").get<unsigned>(), 0};
    driver.check(driver.module_function(
                     &kernel.function, module,
                     description.at("name").get<std::string>().c_str()),
                 "the program has no kernel");
    driver.check(driver.function_set(kernel.function,
                                     CudaDriver::max_dynamic_shared,
                                     static_cast<int>(kernel.shared_bytes)),
                 gpu_name + " has less shared memory than the kernel needs, " +
                     std::to_string(kernel.shared_bytes) + " bytes");
    int blocks = 0;
    driver.check(driver.occupancy(&blocks, kernel.function,
                                  static_cast<int>(kernel.threads),
                                  kernel.shared_bytes),
                 "the kernel does not fit " + gpu_name);
    if (blocks == 0)
      throw Error("no block of the kernel fits a multiprocessor of " +
                  gpu_name);
    kernel.blocks_by_multiprocessor = static_cast<unsigned>(blocks);
    kernels.push_back(kernel);
  }

  /// What lays out the sides of products by cuBLASLt.
  void add_products(const nlohmann::json &description,
                    CudaDriver::Module module) {
    Products &added = products.emplace_back();
    added.threads = description.at("threads").get<unsigned>();
    added.list = StepParts(description).products();
    for (const StepProduct &product : added.list)
      driver.check(driver.module_function(&added.kernels.emplace_back(nullptr),
                                          module, product.kernel.c_str()),
                   "the program has no kernel " + product.kernel);
  }

  /// A kernel that takes no part of a step leaves the second argument alone.
  void launch_cooperatively(const Kernel &kernel, unsigned blocks,
                            BatonDevice *argument, BatonPart part) {
    void *arguments[] = {&argument, &part};
    driver.check(driver.launch_cooperative(
                     kernel.function, blocks, 1, 1, kernel.threads, 1, 1,
                     kernel.shared_bytes, kernel_stream, arguments),
                 "the kernel does not start on " + gpu_name);
  }

  void multiply(size_t program, const StepPart &part, uint32_t rows,
                BatonDevice *argument, uint32_t number,
                const ProductMemory &memory) {
    // Enough blocks to keep memory busy.
    constexpr unsigned blocks_by_multiprocessor = 8;
    const Products &of_program = products[program];
    const StepProduct &product = of_program.list[*part.product];
    const CublasLt::Plan &plan =
        cublaslt->plan({rows, product.depth, product.columns});
    int64_t iteration = part.iteration;
    void *arguments[] = {&argument, &number, &iteration};
    CudaDriver::LaunchConfig config = {};
    config.grid_x = blocks_by_multiprocessor * multiprocessor_count;
    config.block_x = of_program.threads;
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
    config.stream = kernel_stream;
    driver.check(driver.launch_kernel(&config,
                                      of_program.kernels[*part.product],
                                      arguments, nullptr),
                 "the kernel does not start on " + gpu_name);
    cublaslt->multiply(plan, memory.activations, memory.weights, memory.product,
                       memory.workspace, kernel_stream);
  }

  const CudaDriver &driver;
  std::vector<Kernel> kernels;
  std::optional<StepGraphs> graphs;
  /// Of each program.
  struct Products {
    unsigned threads;
    std::vector<StepProduct> list;
    std::vector<CudaDriver::Function> kernels;
  };
  std::vector<Products> products;
  std::optional<CublasLt> cublaslt;
  CudaDriver::DeviceId id = 0;
  CudaDriver::Context context = nullptr;
  CudaDriver::Stream kernel_stream = nullptr, copy_stream = nullptr,
                     exchange_stream = nullptr;
  std::string gpu_name;
  unsigned multiprocessor_count = 0, nccl_multiprocessors = 0;
  std::map<const std::byte *, void *> uploads;
};

} // namespace

} // namespace baton

/// The factory of programs for a GPU. Executions of a rank share the GPU's
/// memory of weights.
extern "C" baton::Execution *
baton_make_gpu_execution(const baton::Metadata &metadata,
                         const baton::Parameters &parameters,
                         const baton::ExecutionOptions &options) {
  static std::mutex mutex;
  static std::map<uint32_t, std::shared_ptr<baton::GpuDevice>> devices;
  const baton::Communicator *ranks = options.communicator;
  std::shared_ptr<baton::GpuDevice> device;
  {
    std::lock_guard lock(mutex);
    std::shared_ptr<baton::GpuDevice> &known =
        devices[ranks ? ranks->rank() : 0];
    if (!known)
      known = std::make_shared<baton::GpuDevice>(
          metadata.device, ranks ? ranks->place_on_machine() : 0);
    device = known;
  }
  return new baton::DeviceExecution(metadata, parameters, options, device);
}

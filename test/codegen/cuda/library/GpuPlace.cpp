//===- GpuPlace.cpp - bodies on a GPU -------------------------------------===//

#include "test/codegen/cuda/library/GpuPlace.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include <dlfcn.h>

using namespace baton::test;

namespace {

/// The part of the driver's interface that is used (CUDA 12 and later, cuda.h).
struct Driver {
  using Address = unsigned long long;
  static constexpr int not_found = 500, max_dynamic_shared = 8;

  int (*init)(unsigned flags);
  int (*error_string)(int error, const char **text);
  int (*device_get)(int *device, int ordinal);
  int (*context_retain)(void **context, int device);
  int (*context_set)(void *context);
  int (*module_load)(void **module, const void *image);
  int (*module_function)(void **function, void *module, const char *name);
  int (*function_set)(void *function, int attribute, int value);
  int (*allocate)(Address *address, size_t bytes);
  int (*release)(Address address);
  int (*send)(Address there, const void *here, size_t bytes);
  int (*fetch)(void *here, Address there, size_t bytes);
  int (*launch)(void *function, unsigned grid_x, unsigned grid_y,
                unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_bytes, void *stream,
                void **arguments, void **extra);
  int (*synchronize)();

  Driver() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw std::runtime_error("no CUDA driver (libcuda.so.1)");
    auto resolve = [&](const char *name, auto &function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, name));
      if (!function)
        throw std::runtime_error(std::string("libcuda.so.1 lacks ") + name);
    };
    resolve("cuInit", init);
    resolve("cuGetErrorString", error_string);
    resolve("cuDeviceGet", device_get);
    resolve("cuDevicePrimaryCtxRetain", context_retain);
    resolve("cuCtxSetCurrent", context_set);
    resolve("cuModuleLoadData", module_load);
    resolve("cuModuleGetFunction", module_function);
    resolve("cuFuncSetAttribute", function_set);
    resolve("cuMemAlloc_v2", allocate);
    resolve("cuMemFree_v2", release);
    resolve("cuMemcpyHtoD_v2", send);
    resolve("cuMemcpyDtoH_v2", fetch);
    resolve("cuLaunchKernel", launch);
    resolve("cuCtxSynchronize", synchronize);
    check(init(0), "starting the CUDA driver");
  }

  void check(int result, const std::string &what) const {
    if (result == 0)
      return;
    const char *text = nullptr;
    error_string(result, &text);
    throw std::runtime_error(what + ": " + (text ? text : "unknown error"));
  }
};

class GpuPlace : public Place {
public:
  explicit GpuPlace(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> cubin{std::istreambuf_iterator<char>(file), {}};
    if (!file || cubin.empty())
      throw std::runtime_error(path + " cannot be read");
    int device = 0;
    void *context = nullptr;
    driver.check(driver.device_get(&device, 0), "opening the GPU");
    driver.check(driver.context_retain(&context, device), "using the GPU");
    driver.check(driver.context_set(context), "using the GPU");
    driver.check(driver.module_load(&module, cubin.data()), "loading " + path);
    words = allocate(most_arguments * sizeof(uint64_t));
  }

  void *allocate(size_t bytes) override {
    Driver::Address address = 0;
    driver.check(driver.allocate(&address, bytes), "allocating memory");
    return reinterpret_cast<void *>(address);
  }
  void release(void *there) noexcept override {
    // Fails only where a kernel has failed before, which was reported.
    driver.release(address(there));
  }
  void send(void *there, const void *here, size_t bytes) override {
    driver.check(driver.send(address(there), here, bytes), "sending memory");
  }
  void fetch(void *here, const void *there, size_t bytes) override {
    driver.check(driver.fetch(here, address(there), bytes), "fetching memory");
  }
  bool is_gpu() const override { return true; }
  bool has(const std::string &body) override {
    void *function = nullptr;
    const int result =
        driver.module_function(&function, module, ("kernel_" + body).c_str());
    if (result != Driver::not_found)
      driver.check(result, "finding a kernel of " + body);
    return result != Driver::not_found;
  }
  bool run(const std::string &body, unsigned threads, size_t shared_bytes,
           std::span<const uint64_t> arguments) override {
    void *&function = functions[body];
    if (!function)
      driver.check(
          driver.module_function(&function, module, ("kernel_" + body).c_str()),
          "finding a kernel of " + body);
    if (shared_bytes)
      driver.check(driver.function_set(function, Driver::max_dynamic_shared,
                                       static_cast<int>(shared_bytes)),
                   body + " needs more shared memory than there is");
    if (arguments.size() > most_arguments)
      throw std::runtime_error(body + " has too many arguments");
    send(words, arguments.data(), arguments.size_bytes());
    void *parameters[] = {&words};
    driver.check(driver.launch(function, 1, 1, 1, threads, 1, 1,
                               static_cast<unsigned>(shared_bytes), nullptr,
                               parameters, nullptr),
                 "launching " + body);
    driver.check(driver.synchronize(), body);
    return true;
  }

private:
  static constexpr size_t most_arguments = 32;

  static Driver::Address address(const void *there) {
    return reinterpret_cast<Driver::Address>(there);
  }

  Driver driver;
  void *module = nullptr;
  void *words = nullptr;
  std::map<std::string, void *, std::less<>> functions;
};

} // namespace

std::unique_ptr<Place> baton::test::make_gpu_place(const std::string &cubin) {
  return std::make_unique<GpuPlace>(cubin);
}

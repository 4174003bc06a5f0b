//===- driver.cpp - the CUDA driver, opened at run time -------------------===//

#include "runtime/cuda/driver.h"

#include "runtime/error.h"

#include <cstdlib>

#include <dlfcn.h>

namespace baton {

namespace {

CudaDriver open_driver(bool with_libraries) {
  // A kernel that polls must not meet a module that is loaded lazily. All of a
  // library's would be half a gigabyte; where there is one, the host calls it
  // while no kernel waits for an answer.
  if (!with_libraries)
    setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error("this program runs on an NVIDIA GPU, and this machine has no "
                "CUDA driver (libcuda.so.1)");
  CudaDriver driver;
  auto resolve = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
    if (!function)
      throw Error(std::string("the CUDA driver is too old: it lacks ") + name +
                  "; this program needs one for CUDA 12");
  };
  resolve("cuInit", driver.init);
  resolve("cuGetErrorString", driver.error_string);
  resolve("cuDeviceGetCount", driver.device_count);
  resolve("cuDeviceGet", driver.device_get);
  resolve("cuDeviceGetName", driver.device_name);
  resolve("cuDeviceGetAttribute", driver.device_attribute);
  resolve("cuDevicePrimaryCtxRetain", driver.context_retain);
  resolve("cuDevicePrimaryCtxRelease_v2", driver.context_release);
  resolve("cuCtxSetCurrent", driver.context_set);
  resolve("cuMemGetInfo_v2", driver.memory_info);
  resolve("cuModuleLoadData", driver.module_load);
  resolve("cuModuleGetFunction", driver.module_function);
  resolve("cuFuncSetAttribute", driver.function_set);
  resolve("cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.occupancy);
  resolve("cuMemAlloc_v2", driver.memory_allocate);
  resolve("cuMemsetD8_v2", driver.memory_zero);
  resolve("cuMemsetD32Async", driver.memory_fill);
  resolve("cuMemHostAlloc", driver.host_allocate);
  resolve("cuMemFreeHost", driver.host_free);
  resolve("cuStreamCreate", driver.stream_create);
  resolve("cuStreamSynchronize", driver.stream_synchronize);
  resolve("cuStreamQuery", driver.stream_query);
  resolve("cuMemcpyHtoDAsync_v2", driver.copy_to_device);
  resolve("cuMemcpyDtoHAsync_v2", driver.copy_to_host);
  resolve("cuStreamWriteValue32_v2", driver.stream_write_value);
  resolve("cuStreamWaitValue32_v2", driver.stream_wait_value);
  resolve("cuLaunchCooperativeKernel", driver.launch_cooperative);
  resolve("cuLaunchKernelEx", driver.launch_kernel);
  resolve("cuStreamBeginCapture_v2", driver.capture_begin);
  resolve("cuStreamEndCapture", driver.capture_end);
  resolve("cuGraphInstantiateWithFlags", driver.graph_instantiate);
  resolve("cuGraphDestroy", driver.graph_destroy);
  resolve("cuGraphUpload", driver.graph_upload);
  resolve("cuGraphLaunch", driver.graph_launch);
  int result = driver.init(0);
  int count = 0;
  if (result == 0)
    result = driver.device_count(&count);
  if (result == CudaDriver::no_device || (result == 0 && count == 0))
    throw Error("this program runs on an NVIDIA GPU, and the CUDA driver sees "
                "none");
  driver.check(result, "the CUDA driver does not start");
  return driver;
}

} // namespace

const CudaDriver &CudaDriver::get(bool with_libraries) {
  static const CudaDriver driver = open_driver(with_libraries);
  return driver;
}

void CudaDriver::check(Result result, const std::string &what) const {
  if (result == 0)
    return;
  const char *text = nullptr;
  if (error_string(result, &text) != 0 || !text)
    text = "unknown error";
  throw Error(what + ": " + text + " (CUDA error " + std::to_string(result) +
              ")");
}

} // namespace baton

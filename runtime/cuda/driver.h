//===- driver.h - the CUDA driver, opened at run time ---------------------===//
//
// The part of the driver's interface that is used (CUDA 12 and later, cuda.h),
// declared here so that neither building nor starting a program takes a toolkit
// or a driver.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_DRIVER_H
#define BATON_RUNTIME_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace baton {

struct CudaDriver {
  using Result = int;
  using DeviceId = int;
  using Context = void *;
  using Module = void *;
  using Function = void *;
  using Stream = void *;
  using Address = unsigned long long;
  using Graph = void *;
  using GraphExecutable = void *;

  /// CUlaunchAttribute and CUlaunchConfig. Of values, which take 64 bytes, one
  /// is used.
  struct alignas(8) LaunchAttribute {
    int id;
    char padding[4];
    int value;
    char more[60];
  };
  struct LaunchConfig {
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_bytes;
    Stream stream;
    LaunchAttribute *attributes;
    unsigned attribute_count;
  };

  static constexpr Result out_of_memory = 2;
  static constexpr Result no_device = 100;
  static constexpr Result no_binary_for_gpu = 209;
  static constexpr Result not_ready = 600;

  // Attributes of a device, of a function, and flags.
  static constexpr int multiprocessors = 16;
  static constexpr int capability_major = 75;
  static constexpr int capability_minor = 76;
  static constexpr int cooperative_launch = 95;
  static constexpr int max_dynamic_shared = 8;
  static constexpr unsigned mapped_and_portable = 0x02 | 0x01;
  static constexpr unsigned non_blocking = 0x01;
  static constexpr int programmatic_stream_serialization = 6;
  static constexpr int capture_thread_local = 1;
  static constexpr unsigned wait_until_not_less = 0;

  Result (*init)(unsigned flags);
  Result (*error_string)(Result error, const char **text);
  Result (*device_count)(int *count);
  Result (*device_get)(DeviceId *device, int ordinal);
  Result (*device_name)(char *name, int length, DeviceId device);
  Result (*device_attribute)(int *value, int attribute, DeviceId device);
  Result (*context_retain)(Context *context, DeviceId device);
  Result (*context_release)(DeviceId device);
  Result (*context_set)(Context context);
  Result (*memory_info)(size_t *free, size_t *total);
  Result (*module_load)(Module *module, const void *image);
  Result (*module_function)(Function *function, Module module,
                            const char *name);
  Result (*function_set)(Function function, int attribute, int value);
  Result (*occupancy)(int *blocks, Function function, int threads,
                      size_t shared_bytes);
  Result (*memory_allocate)(Address *address, size_t bytes);
  Result (*memory_zero)(Address address, unsigned char value, size_t bytes);
  Result (*memory_fill)(Address address, unsigned value, size_t count,
                        Stream stream);
  Result (*host_allocate)(void **address, size_t bytes, unsigned flags);
  Result (*host_free)(void *address);
  Result (*stream_create)(Stream *stream, unsigned flags);
  Result (*stream_synchronize)(Stream stream);
  Result (*stream_query)(Stream stream);
  Result (*copy_to_device)(Address device, const void *host, size_t bytes,
                           Stream stream);
  Result (*copy_to_host)(void *host, Address device, size_t bytes,
                         Stream stream);
  Result (*stream_write_value)(Stream stream, Address word, uint32_t value,
                               unsigned flags);
  Result (*stream_wait_value)(Stream stream, Address word, uint32_t value,
                              unsigned flags);
  Result (*launch_cooperative)(Function function, unsigned grid_x,
                               unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes,
                               Stream stream, void **arguments);
  Result (*launch_kernel)(const LaunchConfig *config, Function function,
                          void **arguments, void **extra);
  Result (*capture_begin)(Stream stream, int mode);
  Result (*capture_end)(Stream stream, Graph *graph);
  Result (*graph_instantiate)(GraphExecutable *executable, Graph graph,
                              unsigned long long flags);
  Result (*graph_destroy)(Graph graph);
  Result (*graph_upload)(GraphExecutable executable, Stream stream);
  Result (*graph_launch)(GraphExecutable executable, Stream stream);

  /// Opens libcuda and starts it; `with_libraries` says whether others will
  /// load modules of theirs. Throws Error, in one line, where there is no
  /// driver or no GPU.
  static const CudaDriver &get(bool with_libraries);

  /// Throws Error with `what` and the driver's words unless `result` is 0.
  void check(Result result, const std::string &what) const;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_DRIVER_H

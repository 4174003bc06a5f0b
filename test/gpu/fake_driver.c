//===- fake_driver.c - a CUDA driver without a GPU ------------------------===//
//
// What driver.py and GpuPlace.cpp call, for tests of their side: memory is the
// host's, and the kernels of stream_read.cu are spelled out here. Other kernels
// are found, but for those with blanks in their names, and do nothing. More
// than 48 KiB of shared memory is what was asked for last. Its clock stands for
// nothing. With FAKE_DRIVER_FAULT set, one word of what is filled is another.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { invalid_value = 1, out_of_memory = 2, not_found = 500 };
static unsigned most_shared_bytes = 48 << 10;

int cuInit(unsigned flags) { return flags ? invalid_value : 0; }
int cuGetErrorString(int error, const char **text) {
  *text = error == out_of_memory ? "out of memory" : "invalid value";
  return 0;
}
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  strncpy(name, "fake", length);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  return *value = attribute == 16 ? 2 : 0, 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  return *context = context, 0;
}
int cuCtxSetCurrent(void *context) { return context ? 0 : invalid_value; }
int cuCtxSynchronize(void) { return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  return *free = *total = (size_t)1 << 30, 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return *address = (uint64_t)malloc(bytes), *address ? 0 : out_of_memory;
}
int cuMemFree_v2(uint64_t address) { return free((void *)address), 0; }
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  return memset((void *)address, value, bytes), 0;
}
int cuMemcpyHtoD_v2(uint64_t there, const void *here, size_t bytes) {
  return memcpy((void *)there, here, bytes), 0;
}
int cuMemcpyDtoH_v2(void *here, uint64_t there, size_t bytes) {
  return memcpy(here, (const void *)there, bytes), 0;
}
int cuModuleLoadData(void **module, const void *image) {
  return *module = module, memcmp(image, "\177ELF", 4) ? invalid_value : 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  if (strchr(name, ' '))
    return not_found;
  return *function = strdup(name), 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  if (!function || attribute != 8 || value <= 0)
    return invalid_value;
  return most_shared_bytes = (unsigned)value, 0;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void *stream,
                   void **arguments, void **extra) {
  (void)stream, (void)extra;
  if (!grid_x || grid_y != 1 || grid_z != 1 || block_x % 32 || block_y != 1 ||
      block_z != 1 || shared_bytes > most_shared_bytes)
    return invalid_value;
  if (strncmp(function, "stream_", 7) != 0)
    return 0;
  uint32_t *data = *(uint32_t **)arguments[0];
  const uint64_t words = *(uint64_t *)arguments[1] * 4;
  if (strcmp(function, "stream_fill") == 0) {
    for (uint64_t i = 0; i < words; ++i)
      data[i] = (uint32_t)i * 0x9e3779b9u + 0x85ebca6bu;
    data[words / 2] += getenv("FAKE_DRIVER_FAULT") != NULL;
    return 0;
  }
  uint32_t sum = 0;
  for (uint64_t i = 0; i < words; ++i)
    sum += data[i];
  **(uint32_t **)arguments[2] += sum;
  return 0;
}

int cuEventCreate(void **event, unsigned flags) {
  return *event = event, (int)flags;
}
int cuEventRecord(void *event, void *stream) {
  return event && !stream ? 0 : invalid_value;
}
int cuEventSynchronize(void *event) { return event ? 0 : invalid_value; }
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  return *milliseconds = 1.0f, start && end ? 0 : invalid_value;
}
int cuEventDestroy_v2(void *event) { return event ? 0 : invalid_value; }

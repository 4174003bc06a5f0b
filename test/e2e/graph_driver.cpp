//===- graph_driver.cpp - a CUDA driver that sees graphs ------------------===//
//
// What runtime/cuda calls of libcuda, for a program whose steps are graphs, or
// have products by cuBLASLt, and a machine without a GPU: memory is the host's.
// What is captured and launched is written to FAKE_DRIVER_LOG, a line each. The
// kernel that ends a step is spelled out here, with a sampler that always finds
// token 7; others do nothing. A persistent kernel's step ends with the part
// that ends at FAKE_DRIVER_PLACES; one of a program that trains asks then what
// follows, until there is no step. FAKE_DRIVER_FAULT says what is amiss: there
// are no "devices", they are of another "architecture", or have no "memory".
// Structures are as in cuda.h of CUDA 13.
//
//===----------------------------------------------------------------------===//

#include "runtime/device_program.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int invalid_value = 1, out_of_memory = 2, no_binary_for_gpu = 209;

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    int value;
    char room[64];
    void *alignment;
  };
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attribute_count;
};

struct Graph {
  int id;
  std::string last_kernel;
  BatonDevice *device;
  uint32_t number;
};

/// What runs on it may be a thread.
struct Stream {
  int number;
  std::atomic<bool> busy = false;
};

Graph *capturing = nullptr;
int graphs = 0, streams = 0;
char context;

bool lacks(const char *what) {
  const char *fault = getenv("FAKE_DRIVER_FAULT");
  return fault && !strcmp(fault, what);
}

void log(const std::string &line) {
  if (FILE *file = fopen(getenv("FAKE_DRIVER_LOG"), "a")) {
    fputs((line + "\n").c_str(), file);
    fclose(file);
  }
}

/// What BatonWorkerState::generate() makes of a step.
BatonDeviceStep next_step(BatonDevice &device, const BatonDeviceStep &step) {
  const BatonGeneration &wanted = device.generation;
  const uint32_t position = step.past + step.rows;
  BatonDeviceStep next = {1, position, 1, 0};
  if (position < wanted.prompt_tokens) {
    const uint32_t left = wanted.prompt_tokens - position;
    next.rows = left < wanted.prefill_chunk ? left : wanted.prefill_chunk;
    next.outputs = next.rows == left;
  } else {
    device.tokens[position] = 7;
    device.progress->new_tokens = ++device.new_tokens;
    if (device.new_tokens == wanted.max_new_tokens)
      next = {0, 0, 0, 0};
  }
  device.progress->positions = position;
  if (next.rows == 0)
    device.progress->end = BATON_END_REGULAR;
  return next;
}

/// The end of a step of a program that trains: the host says what follows.
BatonDeviceStep ask(BatonDevice &device, const BatonDeviceStep &step) {
  BatonHostExchange &exchange = *device.exchange;
  exchange.question = BATON_QUESTION_ADVANCE;
  exchange.current = step;
  const uint32_t number = exchange.asked + 1;
  __atomic_store_n(&exchange.asked, number, __ATOMIC_RELEASE);
  while (__atomic_load_n(&exchange.answered, __ATOMIC_ACQUIRE) != number)
    std::this_thread::yield();
  return exchange.next;
}

/// A step, or all of them, behind what has been launched.
void train(Stream &stream, BatonDevice &device, bool all_steps) {
  stream.busy = true;
  std::thread([&stream, &device, all_steps] {
    BatonDeviceStep step = device.steps[0];
    do
      step = ask(device, step);
    while (all_steps && step.rows);
    device.pending = step;
    stream.busy = false;
  }).detach();
}

} // namespace

extern "C" {

int cuInit(unsigned flags) { return flags ? invalid_value : 0; }
int cuGetErrorString(int, const char **text) {
  return *text = "invalid value", 0;
}
int cuDeviceGetCount(int *count) { return *count = !lacks("devices"), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int length, int) {
  return strncpy(name, "fake", length), 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  // Multiprocessors, and a compute capability of 9.0.
  return *value = attribute == 16   ? 3
                  : attribute == 75 ? 9
                                    : attribute == 95,
         0;
}
int cuDevicePrimaryCtxRetain(void **made, int) { return *made = &context, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void *given) { return given ? 0 : invalid_value; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  return *free = 1 << 20, *total = size_t(1) << 30, 0;
}
int cuModuleLoadData(void **module, const void *image) {
  if (lacks("architecture"))
    return no_binary_for_gpu;
  return *module = &context, memcmp(image, "\177ELF", 4) ? invalid_value : 0;
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  return *function = strdup(name), 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  return function && attribute == 8 && value >= 0 ? 0 : invalid_value;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int,
                                                size_t) {
  return *blocks = 2, 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (lacks("memory"))
    return out_of_memory;
  return *address = reinterpret_cast<uint64_t>(
             aligned_alloc(256, (bytes + 255) / 256 * 256)),
         0;
}
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  return memset(reinterpret_cast<void *>(address), value, bytes), 0;
}
int cuMemsetD32Async(uint64_t address, unsigned value, size_t count, void *) {
  return std::fill_n(reinterpret_cast<unsigned *>(address), count, value), 0;
}
int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  return *address = malloc(bytes), 0;
}
int cuMemFreeHost(void *address) { return free(address), 0; }
int cuStreamCreate(void **made, unsigned) {
  return *made = new Stream{streams++}, 0;
}
int cuStreamSynchronize(void *) { return 0; }
int cuStreamQuery(void *given) {
  constexpr int not_ready = 600;
  return static_cast<Stream *>(given)->busy ? not_ready : 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t there, const void *here, size_t bytes,
                         void *) {
  return memcpy(reinterpret_cast<void *>(there), here, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void *here, uint64_t there, size_t bytes, void *) {
  return memcpy(here, reinterpret_cast<const void *>(there), bytes), 0;
}
int cuStreamWriteValue32_v2(void *given, uint64_t word, uint32_t value,
                            unsigned flags) {
  if (!given || flags)
    return invalid_value;
  log("write " + std::to_string(static_cast<Stream *>(given)->number) + " " +
      std::to_string(value));
  return *reinterpret_cast<uint32_t *>(word) = value, 0;
}
int cuStreamWaitValue32_v2(void *given, uint64_t word, uint32_t value,
                           unsigned flags) {
  if (!given || !word || flags)
    return invalid_value;
  // What it is held back for is not here.
  log("wait " + std::to_string(static_cast<Stream *>(given)->number) + " " +
      std::to_string(value));
  return 0;
}
int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y,
                              unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, void *given,
                              void **arguments) {
  if (capturing || !given || !grid_x || grid_y != 1 || grid_z != 1 ||
      block_y != 1 || block_z != 1)
    return invalid_value;
  BatonDevice &device = **static_cast<BatonDevice **>(arguments[0]);
  const BatonPart part = *static_cast<BatonPart *>(arguments[1]);
  BatonDeviceStep step = device.steps[0];
  log("cooperative " + std::string(static_cast<char *>(function)) + " " +
      std::to_string(grid_x) + " " + std::to_string(block_x) + " " +
      std::to_string(shared_bytes) + " " + std::to_string(part.first) + " " +
      (part.last == BATON_WHOLE_STEP ? "all" : std::to_string(part.last)) +
      " " + std::to_string(step.rows) + " " + std::to_string(step.past));
  const char *places = getenv("FAKE_DRIVER_PLACES");
  const bool ends = part.last == BATON_WHOLE_STEP ||
                    (places && part.last == strtoul(places, nullptr, 10));
  if (!device.generation.active) {
    if (ends)
      train(*static_cast<Stream *>(given), device,
            part.last == BATON_WHOLE_STEP);
    return 0;
  }
  if (part.last == BATON_WHOLE_STEP) {
    while (step.rows == 1)
      step = next_step(device, step);
    device.pending = step;
  } else if (ends) {
    device.pending = next_step(device, step);
  }
  return 0;
}

int cuStreamBeginCapture_v2(void *, int mode) {
  if (capturing || mode != 1)
    return invalid_value;
  capturing = new Graph{graphs++, "", nullptr, 0};
  return 0;
}
int cuLaunchKernelEx(const LaunchConfig *config, void *function,
                     void **arguments, void **extra) {
  if (extra || !config->stream || !config->grid[0] || config->grid[1] != 1 ||
      config->grid[2] != 1 || config->block[1] != 1 || config->block[2] != 1)
    return invalid_value;
  bool early = false;
  for (unsigned i = 0; i < config->attribute_count; ++i)
    early |= config->attributes[i].id == 6 && config->attributes[i].value == 1;
  const std::string name = static_cast<char *>(function);
  auto *device = *static_cast<BatonDevice **>(arguments[0]);
  const uint32_t number = *static_cast<uint32_t *>(arguments[1]);
  log((capturing ? "kernel " + std::to_string(capturing->id) : "launch") + " " +
      name + " " + std::to_string(config->grid[0]) + " " +
      std::to_string(config->block[0]) + " " +
      std::to_string(config->shared_bytes) + " " + std::to_string(early) + " " +
      std::to_string(number) + " " +
      std::to_string(*static_cast<int64_t *>(arguments[2])));
  if (capturing) {
    capturing->last_kernel = name;
    capturing->device = device;
    capturing->number = number;
  } else if (name.find("advance") != std::string::npos) {
    const BatonDeviceStep step = device->steps[number & 1];
    device->steps[(number + 1) & 1] =
        step.rows ? next_step(*device, step) : step;
  }
  return 0;
}
int cuStreamEndCapture(void *, void **graph) {
  *graph = capturing;
  return capturing = nullptr, 0;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph,
                                unsigned long long flags) {
  return *executable = graph, flags || !graph ? invalid_value : 0;
}
int cuGraphDestroy(void *) { return 0; }
int cuGraphUpload(void *, void *) { return 0; }
int cuGraphLaunch(void *executable, void *) {
  const Graph &graph = *static_cast<Graph *>(executable);
  BatonDevice &device = *graph.device;
  const BatonDeviceStep step = device.steps[graph.number & 1];
  log("step " + std::to_string(graph.id) + " " + std::to_string(step.rows) +
      " " + std::to_string(step.past));
  if (graph.last_kernel.find("advance") == std::string::npos)
    return invalid_value;
  device.steps[(graph.number + 1) & 1] =
      step.rows ? next_step(device, step) : step;
  return 0;
}

} // extern "C"

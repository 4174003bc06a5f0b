//===- stream_read.cu - how fast a GPU reads memory -----------------------===//
//
// The denominator of every bandwidth fraction. Each kernel reads `count`
// 16-byte elements once and adds up all their words, modulo 2^32, so that no
// load can be left out; the sum of what stream_fill writes is known in closed
// form.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/library/async.h"

namespace {

constexpr int threads = 256;

struct alignas(16) Element {
  uint32_t words[4];
};

__device__ __forceinline__ uint32_t sum_of(Element element) {
  return element.words[0] + element.words[1] + element.words[2] +
         element.words[3];
}

__device__ __forceinline__ Element load_once(const Element *address) {
  Element element;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(element.words[0]), "=r"(element.words[1]),
                 "=r"(element.words[2]), "=r"(element.words[3])
               : "l"(address));
  return element;
}

} // namespace

/// Word i becomes i * 0x9e3779b9 + 0x85ebca6b: every bit of the memory varies,
/// because reading zeros takes less power than reading weights.
extern "C" __global__ void __launch_bounds__(threads)
    stream_fill(Element *data, uint64_t count) {
  const uint64_t stride = uint64_t(gridDim.x) * threads;
  for (uint64_t i = uint64_t(blockIdx.x) * threads + threadIdx.x; i < count;
       i += stride) {
    Element element;
    for (uint32_t word = 0; word < 4; ++word)
      element.words[word] =
          static_cast<uint32_t>(i * 4 + word) * 0x9e3779b9u + 0x85ebca6bu;
    data[i] = element;
  }
}

/// By loads to registers, eight of a thread under way at once.
extern "C" __global__ void __launch_bounds__(threads)
    stream_read_load(const Element *data, uint64_t count, uint32_t *sum) {
  constexpr int at_once = 8;
  const uint64_t stride = uint64_t(gridDim.x) * threads;
  uint64_t i = uint64_t(blockIdx.x) * threads + threadIdx.x;
  uint32_t own = 0;
  for (; i + (at_once - 1) * stride < count; i += at_once * stride) {
    Element elements[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j)
      elements[j] = load_once(data + i + j * stride);
#pragma unroll
    for (int j = 0; j < at_once; ++j)
      own += sum_of(elements[j]);
  }
  for (; i < count; i += stride)
    own += sum_of(load_once(data + i));
  atomicAdd(sum, own);
}

/// By asynchronous copies to shared memory, as the weights of decoding flow: a
/// ring of 16 stages, of which a thread reads what it has copied itself.
extern "C" __global__ void __launch_bounds__(threads)
    stream_read_async(const Element *data, uint64_t count, uint32_t *sum) {
  constexpr int stages = 16;
  extern __shared__ Element ring[];
  const uint64_t stride = uint64_t(gridDim.x) * threads;
  const uint64_t first = uint64_t(blockIdx.x) * threads + threadIdx.x;
  uint64_t next = first;
  auto copy = [&](int stage) {
    if (next < count)
      baton_copy_async(ring + stage * threads + threadIdx.x, data + next);
    baton_copies_commit();
    next += stride;
  };
#pragma unroll
  for (int stage = 0; stage < stages; ++stage)
    copy(stage);
  uint32_t own = 0;
  int stage = 0;
  for (uint64_t i = first; i < count; i += stride) {
    baton_copies_wait<stages - 1>();
    own += sum_of(ring[stage * threads + threadIdx.x]);
    copy(stage);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  atomicAdd(sum, own);
}

//===- PersistentKernel.h - a small megakernel ---------------------------===//
//
// Blocks with a fixed share of three kinds of tasks: tiles of a matrix-vector
// product, an activation, a sum over all. They wait for each other by counting
// words over many rounds, the way emitted kernels do. All values are small
// integers, so that every order of summation gives the same bits.
//
// A Fault leaves out one piece of the synchronisation.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_RUNTIME_CUDA_EMULATION_PERSISTENTKERNEL_H
#define BATON_TEST_RUNTIME_CUDA_EMULATION_PERSISTENTKERNEL_H

#include <vector>

#include "codegen/cuda/library/device.h"

enum class Fault {
  none,
  /// Between writing shared memory and reading it.
  missing_barrier,
  /// A shuffle where __syncwarp belongs.
  shuffle_for_barrier,
  /// The activation does not wait for the product.
  missing_wait,
  /// All waits poll, none acquires.
  relaxed_poll,
  /// CUDA's atomicAdd.
  relaxed_notify,
};

struct Persistent {
  /// Extent of the vectors, and rows of a tile.
  static constexpr int size = 96, tile = 8, tiles = size / tile;

  const float *matrix;
  float *input, *product, *activated;
  /// Count up, once for each task done.
  uint32_t *product_done, *activation_done, *sum_done;
  int rounds;
};

/// Into -3 ... 3.
BATON_DEVICE float wrap(float value) {
  return value - 7.0f * floorf((value + 3.0f) / 7.0f);
}

template <Fault fault>
BATON_DEVICE void wait_for(const uint32_t *word, uint32_t count) {
  if (threadIdx.x == 0) {
    const auto load = [&] {
      return fault == Fault::relaxed_poll ? baton_load_relaxed(word)
                                          : baton_load_acquire(word);
    };
    while (static_cast<int32_t>(load() - count) < 0)
      baton_pause(20);
  }
  __syncthreads();
}

template <Fault fault> BATON_DEVICE void notify(uint32_t *word) {
  __syncthreads();
  if (threadIdx.x == 0) {
    if constexpr (fault == Fault::relaxed_notify)
      atomicAdd(word, 1u);
    else
      baton_add_release(word, 1u);
  }
}

BATON_DEVICE float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// A row per warp; the vector is brought to shared memory by all.
template <Fault fault>
__device__ __noinline__ void product_task(const Persistent &data, int task) {
  BATON_DYNAMIC_SHARED(shared);
  float *vector = reinterpret_cast<float *>(shared);
  for (int i = threadIdx.x; i < Persistent::size; i += blockDim.x)
    vector[i] = data.input[i];
  if constexpr (fault != Fault::missing_barrier)
    __syncthreads();
  int warps = blockDim.x / 32;
  for (int row = threadIdx.x / 32; row < Persistent::tile; row += warps) {
    const float *weights =
        data.matrix + (task * Persistent::tile + row) * Persistent::size;
    float sum = 0.0f;
    for (int i = threadIdx.x % 32; i < Persistent::size; i += 32)
      sum = fmaf(weights[i], vector[i], sum);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
      data.product[task * Persistent::tile + row] = sum;
  }
}

/// By the first warp, by way of shared memory.
template <Fault fault>
__device__ __noinline__ void activation_task(const Persistent &data, int task) {
  __shared__ float reversed[Persistent::tile];
  constexpr unsigned mask = (1u << Persistent::tile) - 1;
  int i = threadIdx.x;
  if (i >= Persistent::tile)
    return;
  float value = data.product[task * Persistent::tile + i];
  reversed[Persistent::tile - 1 - i] = wrap(value);
  if constexpr (fault == Fault::shuffle_for_barrier)
    value = __shfl_sync(mask, value, 0);
  else
    __syncwarp(mask);
  data.activated[task * Persistent::tile + i] = reversed[i];
}

/// The next round's vector.
template <Fault fault>
__device__ __noinline__ void sum_task(const Persistent &data) {
  __shared__ float partial[32];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < Persistent::size; i += blockDim.x)
    sum += data.activated[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.0f;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp)
    sum += partial[warp];
  for (int i = threadIdx.x; i < Persistent::size; i += blockDim.x)
    data.input[i] = wrap(data.activated[i] + sum);
}

template <Fault fault>
__global__ void __launch_bounds__(1024) persistent(Persistent data) {
  constexpr uint32_t tiles = Persistent::tiles;
  for (uint32_t round = 0; round < static_cast<uint32_t>(data.rounds);
       ++round) {
    for (uint32_t task = blockIdx.x; task < tiles; task += gridDim.x) {
      wait_for<fault>(data.sum_done, round);
      product_task<fault>(data, task);
      notify<fault>(data.product_done);
    }
    // Another block's tiles.
    for (uint32_t task = (blockIdx.x + 1) % gridDim.x; task < tiles;
         task += gridDim.x) {
      if constexpr (fault != Fault::missing_wait)
        wait_for<fault>(data.product_done, (round + 1) * tiles);
      activation_task<fault>(data, task);
      notify<fault>(data.activation_done);
    }
    if (blockIdx.x == round % gridDim.x) {
      wait_for<fault>(data.activation_done, (round + 1) * tiles);
      sum_task<fault>(data);
      notify<fault>(data.sum_done);
    }
  }
}

// On the host -----------------------------------------------------------------

/// Buffers of the kernel, and what its vector becomes.
class PersistentProgram {
public:
  explicit PersistentProgram(int rounds) : rounds(rounds) {
    unsigned state = 1;
    auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
    for (float &value : matrix)
      value = static_cast<float>(next() % 3) - 1.0f;
    for (float &value : input)
      value = static_cast<float>(next() % 7) - 3.0f;
  }

  template <Fault fault = Fault::none>
  void run(const baton::emulation::Launch &launch) {
    Persistent data = {matrix.data(),    input.data(), product.data(),
                       activated.data(), &words[0],    &words[32],
                       &words[64],       rounds};
    baton::emulation::launch(
        launch,
        [](void *argument) {
          persistent<fault>(*static_cast<const Persistent *>(argument));
        },
        &data);
  }

  std::vector<float> expected() const {
    constexpr int size = Persistent::size, tile = Persistent::tile;
    std::vector<float> vector = input, next(size);
    for (int round = 0; round < rounds; ++round) {
      float sum = 0.0f;
      for (int row = 0; row < size; ++row) {
        float product = 0.0f;
        for (int i = 0; i < size; ++i)
          product += matrix[row * size + i] * vector[i];
        next[row / tile * tile + (tile - 1 - row % tile)] = wrap(product);
      }
      for (float value : next)
        sum += value;
      for (int i = 0; i < size; ++i)
        vector[i] = wrap(next[i] + sum);
    }
    return vector;
  }
  const std::vector<float> &result() const { return input; }

  static constexpr size_t shared_bytes = Persistent::size * sizeof(float);

private:
  int rounds;
  std::vector<float> matrix =
      std::vector<float>(Persistent::size * Persistent::size);
  std::vector<float> input = std::vector<float>(Persistent::size);
  std::vector<float> product = input, activated = input;
  std::vector<uint32_t> words = std::vector<uint32_t>(96);
};

#endif // BATON_TEST_RUNTIME_CUDA_EMULATION_PERSISTENTKERNEL_H

//===- planted.cpp - attention on tensor cores, less one barrier ----------===//
//
// Usage: planted LINE THREADS SEED
//
// Runs baton_matrix_attention without the barrier in this line of
// attention_matrix.h; line 0 has none. For planted.py.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "codegen/cuda/library/attention_copies.h"

static int missing_line;

// Within their own expansion the names stay as they are.
#define __syncthreads() (__LINE__ == missing_line ? void() : __syncthreads())
#define __syncwarp() (__LINE__ == missing_line ? void() : __syncwarp())
#include "codegen/cuda/library/attention_matrix.h"
#undef __syncthreads
#undef __syncwarp

namespace {

constexpr int64_t rows = 40, position = 100, group = 2;
constexpr int64_t head_dim = 32, value_dim = 48;
constexpr int64_t panels = (position + rows + 15) / 16 * 16;

struct Tensors {
  static std::vector<float> ramp(int64_t size) {
    std::vector<float> result(size);
    for (int64_t i = 0; i < size; ++i)
      result[i] = static_cast<float>(i % 17) / 16.0f;
    return result;
  }
  std::vector<float> q = ramp(rows * group * head_dim);
  std::vector<float> keys = ramp(panels * head_dim);
  std::vector<float> values = ramp(panels * value_dim);
  std::vector<float> out = ramp(rows * group * value_dim);
};

template <int Threads> void kernel(void *argument) {
  Tensors &tensors = *static_cast<Tensors *>(argument);
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_attention<Threads>(shared, tensors.out.data(), group * value_dim,
                                  tensors.q.data(), group * head_dim,
                                  tensors.keys.data(), 0, tensors.values.data(),
                                  0, rows, position, group, head_dim, value_dim,
                                  0.2f, 0.0f, 0, nullptr, 0, 0, nullptr);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: planted LINE THREADS SEED\n");
    return 2;
  }
  missing_line = atoi(argv[1]);
  const unsigned threads = atoi(argv[2]);
  Tensors tensors;
  baton::emulation::launch(
      {1, threads,
       static_cast<size_t>(
           baton_matrix_attention_shared_bytes(threads, head_dim, value_dim)),
       static_cast<uint64_t>(atoi(argv[3]))},
      threads == 32 ? kernel<32> : kernel<64>, &tensors);
  return 0;
}

//===- attention_program.cpp - attention on tensor cores, emulated --------===//
//
// Usage: attention_program SEED
//
// One block's attention of several tiles of queries, by as many threads as the
// macro THREADS says. Its result is compared elsewhere
// (MatrixAttentionTest.cpp).
//
//===----------------------------------------------------------------------===//

#include <cstdlib>
#include <vector>

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/attention_matrix.h"

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

void kernel(void *argument) {
  Tensors &tensors = *static_cast<Tensors *>(argument);
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_attention<THREADS>(
      shared, tensors.out.data(), group * value_dim, tensors.q.data(),
      group * head_dim, tensors.keys.data(), 0, tensors.values.data(), 0, rows,
      position, group, head_dim, value_dim, 0.2f, 0.0f, 0, nullptr, 0, 0,
      nullptr, nullptr);
}

} // namespace

int main(int argc, char **argv) {
  Tensors tensors;
  baton::emulation::launch(
      {1, THREADS,
       static_cast<size_t>(
           baton_matrix_attention_shared_bytes(THREADS, head_dim, value_dim)),
       argc > 1 ? strtoull(argv[1], nullptr, 10) : 0},
      kernel, &tensors);
  return 0;
}

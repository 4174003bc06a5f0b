//===- attention_gradient_program.cpp - adjoints on tensor cores ----------===//
//
// Usage: attention_gradient_program SEED
//
// One block's gradients of queries, and of keys and values, by as many threads
// as the macro THREADS says: of rows for which two blocks are in shared memory,
// and of wide ones. Results are compared elsewhere (SequenceMatrixTest.cpp).
//
//===----------------------------------------------------------------------===//

#include <cstdlib>
#include <vector>

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/attention_gradient_matrix.h"

namespace {

using Type = baton::cuda::BFloat16Operands;

/// Two blocks of one sequence.
constexpr int64_t rows = 70;

template <int Width> struct Tensors {
  static constexpr int64_t group = Width <= 64 ? 2 : 1;

  static std::vector<float> ramp(int64_t size) {
    std::vector<float> result(size);
    for (int64_t i = 0; i < size; ++i)
      result[i] = static_cast<float>(i % 17) / 16.0f;
    return result;
  }
  std::vector<float> q = ramp(rows * group * Width), dout = q, dq = q;
  std::vector<float> keys = ramp(rows * Width), values = keys, dk = keys,
                     dv = keys;
  std::vector<float> delta = ramp(rows * group);
  std::vector<float> statistics = std::vector<float>(rows * group * 2, 8.0f);
  std::vector<int32_t> positions;

  Tensors() {
    for (int32_t row = 0; row < rows; ++row)
      positions.push_back(row);
  }

  static void kernel(void *argument) {
    Tensors &t = *static_cast<Tensors *>(argument);
    BATON_DYNAMIC_SHARED(shared);
    const int64_t width = group * Width;
    baton_matrix_attention_query_gradient<THREADS, Width, Width, Type>(
        shared, t.dq.data(), width, t.dout.data(), width, t.q.data(), width,
        t.keys.data(), Width, t.values.data(), Width, t.delta.data(), group,
        t.statistics.data(), 2 * group, t.positions.data(), 0, rows, group,
        Width, Width, 0.2f, 0.0f, 0, nullptr);
    __syncthreads();
    baton_matrix_attention_key_value_gradient<THREADS, Width, Width, Type>(
        shared, t.dk.data(), Width, t.dv.data(), Width, t.dout.data(), width,
        t.q.data(), width, t.keys.data(), Width, t.values.data(), Width,
        t.delta.data(), group, t.statistics.data(), 2 * group,
        t.positions.data(), 0, rows, rows, group, Width, Width, 0.2f, 0.0f, 0,
        nullptr);
  }

  void run(uint64_t seed) {
    const BatonAttentionGradientShape shape{THREADS, Width, Width, true};
    baton::emulation::launch(
        {1, THREADS, static_cast<size_t>(shape.shared_bytes()), seed}, kernel,
        this);
  }
};

} // namespace

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;
  Tensors<32>().run(seed);
  Tensors<144>().run(seed);
  return 0;
}

//===- MatrixAttentionBody.cpp - attention on tensor cores, emulated ------===//

#include "test/codegen/cuda/library/MatrixAttentionBody.h"

#include <cstdlib>

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/attention_matrix.h"

using namespace baton;
using namespace baton::test;

namespace {

constexpr uint32_t guard = 0x600dface;

struct Call {
  AttentionArguments arguments;
  size_t guard_offset;
  bool guard_intact;
};

template <int Threads> void kernel(void *argument) {
  Call &call = *static_cast<Call *>(argument);
  const AttentionArguments &a = call.arguments;
  BATON_DYNAMIC_SHARED(shared);
  auto *word = reinterpret_cast<uint32_t *>(shared + call.guard_offset);
  if (threadIdx.x == 0)
    *word = guard;
  __syncthreads();
  baton_matrix_attention<Threads>(
      shared, a.out, a.out_stride, a.q, a.q_stride, a.keys, a.key_stride,
      a.values, a.value_stride, a.rows, a.position, a.group, a.head_dim,
      a.value_dim, a.scale, a.softcap, a.window, a.gate, a.gate_stride,
      a.gate_width, a.scratch);
  __syncthreads();
  if (threadIdx.x == 0)
    call.guard_intact = *word == guard;
}

} // namespace

bool test::emulate_matrix_attention(ThreadBlock block,
                                    const AttentionArguments &arguments) {
  const size_t bytes = baton_matrix_attention_shared_bytes(
      block.threads, arguments.head_dim, arguments.value_dim);
  Call call = {arguments, bytes, false};
  auto launch = [&](void (*kernel)(void *)) {
    emulation::launch({1, block.threads, bytes + sizeof(guard), block.seed},
                      kernel, &call);
  };
  switch (block.threads) {
  case 32:
    launch(kernel<32>);
    break;
  case 64:
    launch(kernel<64>);
    break;
  case 256:
    launch(kernel<256>);
    break;
  default:
    abort();
  }
  return call.guard_intact;
}

int64_t test::emulated_matrix_attention_shared_bytes(int64_t threads,
                                                     int64_t head_dim,
                                                     int64_t value_dim) {
  return baton_matrix_attention_shared_bytes(threads, head_dim, value_dim);
}

uint32_t test::emulated_pack_bf16(float low, float high) {
  return baton_bf16_pair(low, high);
}

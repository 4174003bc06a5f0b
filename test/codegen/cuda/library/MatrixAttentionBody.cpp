//===- MatrixAttentionBody.cpp - attention on tensor cores ----------------===//

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
      a.gate_width, a.sinks, a.scratch);
  __syncthreads();
  if (threadIdx.x == 0)
    call.guard_intact = *word == guard;
}

} // namespace

static bool emulate(ThreadBlock block, const AttentionArguments &arguments,
                    size_t bytes) {
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

/// CompiledBodies.cu's.
static std::string kernel_name(int64_t head_dim, int64_t value_dim) {
  return "matrix_attention_bf16_" + std::to_string(head_dim) + "x" +
         std::to_string(value_dim);
}

bool test::can_run_matrix_attention(int64_t head_dim, int64_t value_dim) {
  Place *const place = Place::chosen();
  return !place || place->has(kernel_name(head_dim, value_dim));
}

bool test::run_matrix_attention(ThreadBlock block,
                                const AttentionArguments &arguments) {
  AttentionArguments a = arguments;
  if (Place::chosen() && Place::chosen()->is_gpu())
    block.threads = 256;
  const size_t bytes = baton_matrix_attention_shared_bytes(
      block.threads, a.head_dim, a.value_dim);
  bool intact = true;
  run_placed(
      kernel_name(a.head_dim, a.value_dim), block.threads, bytes,
      [&] { intact = emulate(block, a, bytes); }, a.out, a.out_stride, a.q,
      a.q_stride, a.keys, a.key_stride, a.values, a.value_stride, a.rows,
      a.position, a.group, a.head_dim, a.value_dim, a.scale, a.softcap,
      a.window, a.gate, a.gate_stride, a.gate_width, a.sinks, a.scratch);
  return intact;
}

int64_t test::emulated_matrix_attention_shared_bytes(int64_t threads,
                                                     int64_t head_dim,
                                                     int64_t value_dim) {
  return baton_matrix_attention_shared_bytes(threads, head_dim, value_dim);
}

uint32_t test::emulated_pack_bf16(float low, float high) {
  return baton_bf16_pair(low, high);
}

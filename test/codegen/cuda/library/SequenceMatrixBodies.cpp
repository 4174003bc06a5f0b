//===- SequenceMatrixBodies.cpp - attention of training on tensor cores ---===//

#include "test/codegen/cuda/library/SequenceMatrixBodies.h"

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/attention_gradient_matrix.h"
#include "codegen/cuda/library/sequence_attention_matrix.h"

using namespace baton;
using namespace baton::test;

template <int Threads, int HeadDim, int ValueDim, typename Type>
static SequenceMatrixBodies bodies_of() {
  auto gradient_bytes = [](bool of_keys) {
    return BatonAttentionGradientShape{Threads, HeadDim, ValueDim, of_keys}
        .shared_bytes();
  };
  return {
      Threads,
      HeadDim,
      ValueDim,
      std::is_same_v<Type, cuda::Float16Operands>,
      baton_matrix_sequence_attention<Threads, HeadDim, ValueDim, Type>,
      baton_matrix_attention_query_gradient<Threads, HeadDim, ValueDim, Type>,
      baton_matrix_attention_key_value_gradient<Threads, HeadDim, ValueDim,
                                                Type>,
      baton_matrix_attention_shared_bytes(Threads, HeadDim, ValueDim),
      gradient_bytes(false),
      gradient_bytes(true)};
}

const std::vector<SequenceMatrixBodies> &test::sequence_matrix_bodies() {
  using B = cuda::BFloat16Operands;
  using F = cuda::Float16Operands;
  // The same dimensions first, by different blocks; then a single sixteen of
  // columns, an odd number of them, and so many that one block is in shared
  // memory at a time. Those of models behind.
  static const std::vector<SequenceMatrixBodies> all = {
      bodies_of<32, 32, 48, B>(),   bodies_of<64, 32, 48, B>(),
      bodies_of<256, 32, 48, B>(),  bodies_of<32, 32, 48, F>(),
      bodies_of<64, 32, 48, F>(),   bodies_of<256, 32, 48, F>(),
      bodies_of<256, 16, 16, F>(),  bodies_of<128, 64, 64, B>(),
      bodies_of<64, 144, 128, F>(), bodies_of<256, 64, 64, B>(),
      bodies_of<256, 96, 96, F>()};
  return all;
}

namespace {

constexpr uint32_t guard = 0x600dface;

struct Call {
  const std::function<void(unsigned char *)> &body;
  size_t guard_offset;
  bool guard_intact;
};

void run_body(void *argument) {
  Call &call = *static_cast<Call *>(argument);
  BATON_DYNAMIC_SHARED(shared);
  auto *word = reinterpret_cast<uint32_t *>(shared + call.guard_offset);
  if (threadIdx.x == 0)
    *word = guard;
  __syncthreads();
  call.body(shared);
  __syncthreads();
  if (threadIdx.x == 0)
    call.guard_intact = *word == guard;
}

} // namespace

bool SequenceMatrixBodies::emulate(
    ThreadBlock block, int64_t bytes,
    const std::function<void(unsigned char *)> &body) {
  Call call = {body, static_cast<size_t>(bytes), false};
  emulation::launch(
      {1, block.threads, call.guard_offset + sizeof(guard), block.seed},
      run_body, &call);
  return call.guard_intact;
}

std::string SequenceMatrixBodies::kernel(const char *name) const {
  std::string text = std::string("matrix_") + name +
                     (in_f16 ? "_f16_" : "_bf16_") + std::to_string(head_dim) +
                     "x" + std::to_string(value_dim);
  // Those of the kernels, which their names do not say.
  return threads == 256 ? text
                        : text + " of " + std::to_string(threads) + " threads";
}

bool SequenceMatrixBodies::can_run() const {
  Place *const place = Place::chosen();
  return !place || place->has(kernel("sequence_attention"));
}

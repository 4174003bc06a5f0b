//===- MatrixAttentionBody.h - attention on tensor cores ------------------===//
//
// baton_matrix_attention by one block, where Relocation.h says; in the
// emulation with as much shared memory as its formula says, and a guard behind
// it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXATTENTIONBODY_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXATTENTIONBODY_H

#include "test/codegen/cuda/library/Bodies.h"

namespace baton::test {

/// The parameters of baton_task_attention.
struct AttentionArguments {
  float *out;
  int64_t out_stride;
  const float *q;
  int64_t q_stride;
  const float *keys;
  int64_t key_stride;
  const float *values;
  int64_t value_stride;
  int64_t rows, position, group, head_dim, value_dim;
  float scale, softcap;
  int64_t window;
  const float *gate;
  int64_t gate_stride, gate_width;
  const float *sinks;
  float *scratch;
};

/// False if shared memory behind the formula's was written. Blocks have 32, 64
/// or 256 threads, on a GPU always 256.
bool run_matrix_attention(ThreadBlock block,
                          const AttentionArguments &arguments);
/// Whether it runs in the emulation, or there is a kernel of these dimensions
/// where it runs.
bool can_run_matrix_attention(int64_t head_dim, int64_t value_dim);

int64_t emulated_matrix_attention_shared_bytes(int64_t threads,
                                               int64_t head_dim,
                                               int64_t value_dim);
uint32_t emulated_pack_bf16(float low, float high);

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXATTENTIONBODY_H

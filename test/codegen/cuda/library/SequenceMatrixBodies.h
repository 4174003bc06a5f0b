//===- SequenceMatrixBodies.h - attention of training, emulated -----------===//
//
// Attention of sequences and its adjoints on tensor cores by one emulated
// block, with as much shared memory as their formulas say, and a guard behind
// it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_SEQUENCEMATRIXBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_SEQUENCEMATRIXBODIES_H

#include "test/codegen/cuda/library/Bodies.h"

#include <functional>

namespace baton::test {

// The parameters of the portable bodies, behind shared memory.
using SequenceAttentionBody = void(unsigned char *, float *, int64_t, float *,
                                   int64_t, const float *, int64_t,
                                   const float *, int64_t, const float *,
                                   int64_t, const int32_t *, int64_t, int64_t,
                                   int64_t, int64_t, int64_t, float, float,
                                   int64_t, float *);
using QueryGradientBody = void(unsigned char *, float *, int64_t, const float *,
                               int64_t, const float *, int64_t, const float *,
                               int64_t, const float *, int64_t, const float *,
                               int64_t, const float *, int64_t, const int32_t *,
                               int64_t, int64_t, int64_t, int64_t, int64_t,
                               float, float, int64_t, float *);
using KeyValueGradientBody = void(unsigned char *, float *, int64_t, float *,
                                  int64_t, const float *, int64_t,
                                  const float *, int64_t, const float *,
                                  int64_t, const float *, int64_t,
                                  const float *, int64_t, const float *,
                                  int64_t, const int32_t *, int64_t, int64_t,
                                  int64_t, int64_t, int64_t, int64_t, float,
                                  float, int64_t, float *);

struct SequenceMatrixBodies {
  unsigned threads;
  int64_t head_dim, value_dim;
  /// Operands are F16, else BF16.
  bool in_f16;
  SequenceAttentionBody *forward;
  QueryGradientBody *query_gradient;
  KeyValueGradientBody *key_value_gradient;
  int64_t forward_bytes, query_bytes, key_value_bytes;
};

const std::vector<SequenceMatrixBodies> &sequence_matrix_bodies();

/// Calls `body` in all threads of a block with `bytes` of shared memory. False
/// if what is behind them was written.
bool run_in_shared(ThreadBlock block, int64_t bytes,
                   const std::function<void(unsigned char *shared)> &body);

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_SEQUENCEMATRIXBODIES_H

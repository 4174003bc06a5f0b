//===- SequenceMatrixBodies.h - attention of training on tensor cores -----===//
//
// Attention of sequences and its adjoints by one block, where Relocation.h
// says; in the emulation with as much shared memory as their formulas say, and
// a guard behind it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_SEQUENCEMATRIXBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_SEQUENCEMATRIXBODIES_H

#include "test/codegen/cuda/library/Bodies.h"

#include <functional>
#include <string>
#include <type_traits>

namespace baton::test {

// The parameters of the portable bodies, behind shared memory.
using SequenceAttentionBody = void(unsigned char *, float *, int64_t, float *,
                                   int64_t, const float *, int64_t,
                                   const float *, int64_t, const float *,
                                   int64_t, const int32_t *, int64_t, int64_t,
                                   int64_t, int64_t, int64_t, float, float,
                                   int64_t, const float *, float *);
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

  /// Calls one of the three, by its name, in all threads of a block with
  /// `bytes` of shared memory. False if what is behind them was written.
  template <typename... Parameters>
  bool run(const char *name, void (*body)(unsigned char *, Parameters...),
           int64_t bytes, uint64_t seed,
           std::type_identity_t<Parameters>... arguments) const {
    bool intact = true;
    run_placed(
        kernel(name), threads, static_cast<size_t>(bytes),
        [&] {
          intact = emulate({threads, seed}, bytes, [&](unsigned char *shared) {
            body(shared, arguments...);
          });
        },
        arguments...);
    return intact;
  }

  /// Whether bodies run in the emulation, or there are kernels of these where
  /// they run.
  bool can_run() const;

private:
  static bool emulate(ThreadBlock block, int64_t bytes,
                      const std::function<void(unsigned char *shared)> &body);
  /// CompiledBodies.cu's name of a body.
  std::string kernel(const char *name) const;
};

const std::vector<SequenceMatrixBodies> &sequence_matrix_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_SEQUENCEMATRIXBODIES_H

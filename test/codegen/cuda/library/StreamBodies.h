//===- StreamBodies.h - linears of one row through a ring, emulated -------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAMBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAMBODIES_H

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace baton::test {

/// Parameters of both bodies of stream_linears.h behind `shared`. Of a gated
/// linear `other` is the bias of the second side, of the plain one a residual.
struct StreamCall {
  float *out;
  const float *x;
  const uint16_t *panels;
  const float *bias, *other;
  int64_t k, columns, tile;
  int32_t activation;
};

/// Both for one number of threads.
struct StreamBodies {
  int threads;
  void (*linear)(void *arguments);
  void (*gated_linear)(void *arguments);

  /// By one block, as MatrixBodies' are.
  void run_linear(StreamCall call, uint64_t seed) const;
  void run_gated_linear(StreamCall call, uint64_t seed) const;
  bool can_run() const;
};

/// For GoogleTest.
void PrintTo(const StreamBodies &bodies, std::ostream *os);

const std::vector<StreamBodies> &stream_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAMBODIES_H

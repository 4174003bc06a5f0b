//===- StreamBlocksBodies.h - blocks that flow through a ring, emulated ---===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAMBLOCKSBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAMBLOCKSBODIES_H

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace baton::test {

/// Parameters of stream_blocks() behind `shared`; of bytes x is what
/// quantise_rows makes of `exact`, else it is the same. Of a gated linear
/// `other` is the bias of the second side, of the plain one a residual.
struct StreamBlocksCall {
  float *out;
  const float *x, *exact;
  const unsigned char *panels;
  const float *bias, *other;
  int64_t k, stride, columns, tile;
  int32_t activation;
  bool gated;
};

/// For weights of one format, or mixed, or of BF16, which is none of a list.
struct StreamBlocksBody {
  std::string formats;
  int threads;
  bool of_integers;
  void (*body)(void *arguments);

  /// By one block, as MatrixBodies' are.
  void run(StreamBlocksCall call, uint64_t seed) const;
  bool can_run() const;
  /// CompiledBodies.cu's name of the body.
  std::string kernel() const;
};

/// For GoogleTest.
void PrintTo(const StreamBlocksBody &body, std::ostream *os);

const std::vector<StreamBlocksBody> &stream_blocks_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAMBLOCKSBODIES_H

//===- NvrtcTest.cpp - what ptxas says of kernels -------------------------===//

#include "codegen/cuda/Nvrtc.h"

#include "gtest/gtest.h"

using namespace baton;
using namespace baton::cuda;

namespace {

/// A kernel whose multiplications by warpgroups are its own code, or a
/// function's.
std::string kernel(const char *ofWhom) {
  return std::string("#include \"codegen/cuda/library/product_matrix.h\"\n") +
         ofWhom +
         R"( void multiply(unsigned char *shared, BatonMatrixProduct &product) {
  baton_matrix_multiply<baton::cuda::BFloat16Operands, 128, 64, 64>(shared,
                                                                    product);
}
extern "C" __global__ void __launch_bounds__(128, 1)
    kernel(BatonMatrixProduct product) {
  BATON_DYNAMIC_SHARED(shared);
  multiply(shared, product);
}
)";
}

llvm::Expected<Cubin> compiled(const std::string &source) {
  return compileCubin(source,
                      {"sm_90a", BATON_SOURCE_FOLDER, {BATON_CUDA_FOLDER}});
}

} // namespace

TEST(Nvrtc, TellsWhetherMultiplicationsOverlap) {
  auto own = compiled(kernel("BATON_DEVICE"));
  if (!own) {
    std::string message = llvm::toString(own.takeError());
    if (llvm::StringRef(message).starts_with("NVRTC"))
      GTEST_SKIP() << message;
    FAIL() << message;
  }
  EXPECT_GT(own->registers, 32);
  EXPECT_EQ(own->spilledBytes, 0);
  EXPECT_EQ(own->serialized, 0);

  auto called = compiled(kernel("BATON_CALLED"));
  ASSERT_TRUE(bool(called)) << llvm::toString(called.takeError());
  EXPECT_EQ(called->serialized, 1);
}

//===- TokenMaskTwins.cpp - masks that the host writes --------------------===//

#include "runtime/step_sampling.h"
#include "test/codegen/cuda/library/Relocation.h"
#include "test/codegen/cuda/library/Twins.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace baton::test;

namespace {

void write_sevens(void * /*text*/, uint32_t *mask, uint64_t words) {
  std::fill_n(mask, words, 7U);
}

/// Rows of which each other one is masked, with masks that are there.
std::vector<BatonSampling> masked_rows(size_t rows) {
  std::vector<BatonSampling> sampling(rows);
  for (size_t row = 0; row < rows; row += 2) {
    sampling[row].masked = sampling[row].mask_made = 1;
    sampling[row].make_mask = &write_sevens;
  }
  return sampling;
}

constexpr int64_t words = 5, stride = 6;
constexpr int64_t sampling_words = sizeof(BatonSampling) / 4;

/// A CPU's task writes what a GPU's finds, and both leave other rows alone.
TWIN_TEST(baton_task_token_mask) {
  for (int64_t rows : {0, 1, 4}) {
    std::vector<BatonSampling> sampling =
        masked_rows(static_cast<size_t>(rows) + 1);
    twin.agree([&](auto body) {
      std::vector<int32_t> masks(static_cast<size_t>(stride * rows) + 1, 77);
      for (int64_t row = 0; row < rows; row += 2)
        std::fill_n(masks.begin() + row * stride, words, 7);
      body(masks.data(), stride,
           reinterpret_cast<const int32_t *>(sampling.data()), sampling_words,
           rows, words);
      return std::vector<float>(masks.begin(), masks.end());
    });
  }
}

} // namespace

TEST(CudaTokenMask, WaitsForTheHost) {
  if (Place::chosen())
    GTEST_SKIP() << "the host's words are not the body's";
  std::vector<BatonSampling> sampling = masked_rows(3);
  sampling[2].mask_made = 0;
  std::atomic<bool> is_made = false;
  std::jthread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_made = true;
    std::atomic_ref(sampling[2].mask_made).store(1, std::memory_order_release);
  });
  auto *const body =
      emulated_body<decltype(baton_task_token_mask)>("baton_task_token_mask");
  ASSERT_NE(body, nullptr);
  std::vector<int32_t> masks(stride * 3);
  run_emulated(
      {64, 0}, body,
      std::tuple<int32_t *, int64_t, const int32_t *, int64_t, int64_t,
                 int64_t>(masks.data(), stride,
                          reinterpret_cast<const int32_t *>(sampling.data()),
                          sampling_words, 3, words));
  EXPECT_TRUE(is_made);
}

//===- TokenMaskTest.cpp - masks that the host writes ---------------------===//

#include "codegen/cpu/library/library.h"
#include "runtime/step_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

/// What a row's function is called with.
struct Text {
  uint32_t number = 0;
  unsigned calls = 0;

  static void make_mask(void *text, uint32_t *mask, uint64_t words) {
    auto &self = *static_cast<Text *>(text);
    ++self.calls;
    std::fill_n(mask, words, self.number);
  }
};

/// Rows of `sampling` are further apart than they are long, as masks are.
TEST(TokenMask, RowsThatHaveOneAreAskedOnce) {
  constexpr int64_t rows = 5, words = 3, mask_stride = 4;
  constexpr int64_t sampling_words = sizeof(BatonSampling) / 4 + 2;
  std::vector<int32_t> masks(rows * mask_stride, 77);
  std::vector<int32_t> sampling(rows * sampling_words, 77);
  std::vector<Text> texts(rows);
  for (size_t row = 0; row < rows; ++row) {
    texts[row].number = 1000 + static_cast<uint32_t>(row);
    BatonSampling wanted = {};
    wanted.masked = row != 1 && row != 4;
    wanted.make_mask = wanted.masked ? &Text::make_mask : nullptr;
    wanted.text = &texts[row];
    std::copy_n(reinterpret_cast<const int32_t *>(&wanted), sizeof(wanted) / 4,
                sampling.data() + row * sampling_words);
  }
  baton_task_token_mask(masks.data(), mask_stride, sampling.data(),
                        sampling_words, rows, words);
  for (size_t row = 0; row < rows; ++row) {
    const bool masked = row != 1 && row != 4;
    EXPECT_EQ(texts[row].calls, masked);
    for (size_t word = 0; word < mask_stride; ++word)
      EXPECT_EQ(masks[row * mask_stride + word],
                masked && word < words ? 1000 + static_cast<int32_t>(row) : 77);
  }
}

} // namespace

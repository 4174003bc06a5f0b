//===- EmbeddingTest.cpp - embeddings and the weights' conversions --------===//

#include "test/codegen/cpu/library/Support.h"

using namespace baton;
using namespace baton::test;

namespace {

template <typename Type> class Embedding : public ::testing::Test {};
TYPED_TEST_SUITE(Embedding, WeightTypes);

TYPED_TEST(Embedding, GathersScaledRows) {
  Random random(1);
  for (int64_t width : {1, 7, 16, 33, 100})
    for (float multiplier : {1.0f, 3.3f}) {
      Weight<TypeParam> table(random, 11, width);
      std::vector<int32_t> tokens = {10, 0, 3, 3, 7};
      Buffer out(5, width);
      TypeParam::embedding(out.data(), out.stride, tokens.data(),
                           table.stored.data(), 5, width, 11, multiplier);
      oracle::Matrix expected =
          oracle::embedding(table.matrix(), tokens, multiplier);
      // Exact without a multiplier, one rounding with it.
      double error = multiplier == 1.0f ? 0.0 : rounding;
      expect_within(out, expected, [&](int64_t r, int64_t c) {
        return error * std::fabs(expected.at(r, c)) + error * 0x1p-126;
      });
    }
}

TYPED_TEST(Embedding, PanelsGiveTheSameBits) {
  Random random(4);
  for (int64_t width : {1, 7, 16, 33, 100}) {
    Weight<TypeParam> table(random, 37, width);
    std::vector<int32_t> tokens = {36, 0, 15, 16, -1, 37, 31};
    Buffer rows(7, width), panels(7, width);
    TypeParam::embedding(rows.data(), rows.stride, tokens.data(),
                         table.stored.data(), 7, width, 37, 3.3f);
    TypeParam::embedding_panels(panels.data(), panels.stride, tokens.data(),
                                table.packed().data(), 7, width, 37, 3.3f);
    expect_same_bits(panels, rows);
    expect_guards_intact(panels);
  }
}

TYPED_TEST(Embedding, TokensOutsideTheVocabularyGiveNaN) {
  Random random(2);
  Weight<TypeParam> table(random, 4, 20);
  std::vector<int32_t> tokens = {-1, 3, 4};
  Buffer out(3, 20);
  TypeParam::embedding(out.data(), out.stride, tokens.data(),
                       table.stored.data(), 3, 20, 4, 1.0f);
  for (int64_t c = 0; c < 20; ++c) {
    EXPECT_TRUE(std::isnan(out.at(0, c)));
    EXPECT_EQ(out.at(1, c), TypeParam::value(table.stored[3 * 20 + c]));
    EXPECT_TRUE(std::isnan(out.at(2, c)));
  }
  expect_guards_intact(out);
}

TYPED_TEST(Embedding, PositionsAreConsecutiveRows) {
  Random random(3);
  for (int64_t width : {1, 7, 16, 33, 100}) {
    Weight<TypeParam> table(random, 12, width);
    Buffer out(4, width);
    TypeParam::position_embedding(out.data(), out.stride, table.stored.data(),
                                  6, 4, width);
    expect_within(out, oracle::embedding(table.matrix(), {6, 7, 8, 9}, 1.0),
                  [](int64_t, int64_t) { return 0.0; });
  }
}

/// Every bit pattern through the vector path (and, by the odd width, a tail).
template <typename Type> void expect_exact_conversion() {
  std::vector<uint16_t> table(65536 + 7);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint16_t>(i);
  std::vector<float> out(table.size());
  const std::vector<int32_t> tokens = {0};
  Type::embedding(out.data(), 0, tokens.data(), table.data(), 1,
                  static_cast<int64_t>(table.size()), 1, 1.0f);
  for (size_t i = 0; i < table.size(); ++i) {
    double expected = Type::value(table[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(out[i])) << i;
    else
      ASSERT_TRUE(out[i] == expected &&
                  std::signbit(out[i]) == std::signbit(expected))
          << i << ": " << out[i] << " instead of " << expected;
  }
}

TEST(Conversion, BF16IsExactForAllBits) { expect_exact_conversion<BF16>(); }

TEST(Conversion, F16IsExactForAllBits) { expect_exact_conversion<F16>(); }

} // namespace

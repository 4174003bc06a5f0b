//===- EmbeddingVectorTest.cpp - lengths, angles and base64 ---------------===//

#include "runtime/serve/embedding_vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace baton {
namespace {

TEST(EmbeddingVector, HasTheLengthThatIsWanted) {
  const std::vector<float> vector = {3, -4, 0};
  EXPECT_EQ(normalized(vector, VectorLength::as_it_is), vector);
  EXPECT_EQ(normalized(vector, VectorLength::euclidean),
            (std::vector<float>{0.6F, -0.8F, 0}));
  EXPECT_EQ(normalized(vector, VectorLength::largest),
            (std::vector<float>{24570, -32760, 0}));
  const std::vector<float> one = normalized(vector, 1);
  EXPECT_FLOAT_EQ(one[0], 3.0F / 7);
  EXPECT_FLOAT_EQ(one[1], -4.0F / 7);
  const std::vector<float> cubic = normalized(vector, 3);
  EXPECT_FLOAT_EQ(cubic[0], 3 / std::cbrt(91.0F));
}

TEST(EmbeddingVector, LargeAndSmallOnesHaveADirection) {
  for (float size : {1e38F, 1e-38F}) {
    const std::vector<float> vector = {3 * size / 4, -size};
    EXPECT_FLOAT_EQ(normalized(vector, VectorLength::euclidean)[0], 0.6F);
    EXPECT_DOUBLE_EQ(cosine(vector, vector), 1);
  }
}

TEST(EmbeddingVector, NoneHasNoDirection) {
  const std::vector<float> none(4), some = {1, 2, 3, 4};
  for (int32_t length : {-1, 0, 1, 2, 5})
    EXPECT_EQ(normalized(none, length), none);
  EXPECT_EQ(cosine(none, some), 0);
  EXPECT_EQ(cosine(some, none), 0);
}

TEST(EmbeddingVector, Cosines) {
  const std::vector<float> x = {1, 0}, y = {0, 2}, both = {1, 1};
  EXPECT_EQ(cosine(x, y), 0);
  EXPECT_DOUBLE_EQ(cosine(x, both), std::sqrt(0.5));
  EXPECT_EQ(cosine(x, std::vector<float>{-3, 0}), -1);
}

/// Of bytes, four of which are an element.
std::string base64_of_text(const std::string &text) {
  std::vector<float> vector(text.size() / 4);
  std::memcpy(vector.data(), text.data(), text.size());
  return base64_of(vector);
}

TEST(EmbeddingVector, Base64) {
  EXPECT_EQ(base64_of({}), "");
  // Of each number of bytes behind the last three: `base64` of coreutils.
  EXPECT_EQ(base64_of_text("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_of_text("light wo"), "bGlnaHQgd28=");
  EXPECT_EQ(base64_of_text("twelve bytes"), "dHdlbHZlIGJ5dGVz");
  EXPECT_EQ(base64_of(std::vector<float>{1, -1}), "AACAPwAAgL8=");
}

} // namespace
} // namespace baton

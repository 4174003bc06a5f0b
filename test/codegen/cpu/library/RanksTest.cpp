//===- RanksTest.cpp - bodies of programs of several ranks ----------------===//
//
// Ranks with a part of something each, put together, against the body of one
// rank that has all of it.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "test/codegen/cpu/library/Gradients.h"

#include <cmath>

using namespace baton;
using namespace baton::test;

namespace {

/// Tokens of each rank: begin and count, as the runtime gives them. The second
/// has room for one more, and the last has nothing.
constexpr int64_t vocabulary = 600, room = 301;
constexpr int32_t places[][2] = {{0, 301}, {301, 299}, {600, 0}};
constexpr int64_t ranks = 3;

TEST(Ranks, Maximum) {
  Random random(1);
  for (int64_t width : {1, 16, 70}) {
    Buffer parts = random.buffer(ranks, width);
    Buffer out = parts;
    baton_task_max_ranks(out.data(), out.data(), out.stride, ranks, width);
    expect_guards_intact(out);
    for (int64_t c = 0; c < width; ++c)
      EXPECT_EQ(out.row(0)[c],
                std::max({parts.row(0)[c], parts.row(1)[c], parts.row(2)[c]}));
  }
}

TEST(Ranks, OneKeepsATerm) {
  Random random(2);
  const Buffer x = random.buffer(3, 21);
  for (const auto &place : places) {
    Buffer out(3, 21);
    fill(out, not_a_number);
    baton_task_keep_first(out.data(), out.stride, x.data(), x.stride, 3, 21,
                          place);
    expect_guards_intact(out);
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t c = 0; c < 21; ++c)
        EXPECT_EQ(out.row(r)[c], place[0] ? 0.0f : x.row(r)[c]);
  }
  Buffer cleared(1, 37);
  fill(cleared, not_a_number);
  baton_task_clear(cleared.data(), 37);
  expect_guards_intact(cleared);
  for (int64_t c = 0; c < 37; ++c)
    EXPECT_EQ(cleared.row(0)[c], 0.0f);
}

TEST(Ranks, SumsOfRows) {
  Random random(7);
  constexpr int64_t part = 16, all = 21, rows = 5, width = 37;
  const Buffer parts = random.buffer(ranks, rows * width);
  for (int32_t place : {0, 1, 2})
    for (int64_t first : {0, 3, 11}) {
      Buffer out(rows, width);
      fill(out, not_a_number);
      baton_task_sum_rank_rows(out.data(), out.stride, parts.data(),
                               parts.stride, ranks, rows, width, first, part,
                               all, &place);
      expect_guards_intact(out);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c) {
          float sum = parts.row(0)[r * width + c];
          for (int64_t rank = 1; rank < ranks; ++rank)
            sum += parts.row(rank)[r * width + c];
          EXPECT_EQ(out.row(r)[c], place * part + first + r < all ? sum : 0.0f);
        }
    }
}

TEST(Ranks, ColumnsOfRows) {
  Random random(11);
  constexpr int64_t rows = 5, width = 21;
  const Buffer x = random.buffer(rows, ranks * width);
  for (int32_t place : {0, 1, 2}) {
    Buffer out(rows, width);
    fill(out, not_a_number);
    baton_task_take_columns(out.data(), out.stride, x.data(), x.stride, rows,
                            width, &place);
    expect_guards_intact(out);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(out.row(r)[c], x.row(r)[place * width + c]);
  }
}

/// The rows of a table that a rank has, and zeros.
std::vector<float> part_of(const std::vector<float> &table,
                           const int32_t *place, int64_t width) {
  std::vector<float> part(room * width, 0.0f);
  std::copy_n(table.begin() + place[0] * width, place[1] * width, part.begin());
  return part;
}

TEST(Ranks, EmbeddingAndItsGradient) {
  Random random(3);
  constexpr int64_t rows = 9, width = 21;
  const std::vector<float> table = random.vector(vocabulary * width);
  const Buffer dy = random.buffer(rows, width);
  // Two of one token, borders of parts, and two of none.
  const std::vector<int32_t> tokens = {0, 300, 301, 599, 301, 7, 42, -1, 600};
  Buffer whole(rows, width), gradient(vocabulary, width);
  baton_task_embedding_f32(whole.data(), whole.stride, tokens.data(),
                           table.data(), rows, width, vocabulary, 1.5f);
  const int32_t replaces = 0;
  baton_task_embedding_gradient(gradient.data(), gradient.stride, dy.data(),
                                dy.stride, tokens.data(), rows, width,
                                vocabulary, 1.5f, &replaces);
  Buffer sum(rows, width);
  fill(sum, 0.0f);
  for (const auto &place : places) {
    const std::vector<float> part = part_of(table, place, width);
    Buffer out(rows, width), own(room, width);
    fill(own, not_a_number);
    baton_task_embedding_part_f32(out.data(), out.stride, tokens.data(),
                                  part.data(), rows, width, vocabulary, 1.5f,
                                  place);
    baton_task_embedding_gradient_part(own.data(), own.stride, dy.data(),
                                       dy.stride, tokens.data(), rows, width,
                                       room, 1.5f, &replaces, place);
    expect_guards_intact(out);
    expect_guards_intact(own);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        sum.row(r)[c] += out.row(r)[c];
    for (int64_t t = 0; t < room; ++t)
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(own.row(t)[c],
                  t < place[1] ? gradient.row(place[0] + t)[c] : 0.0f);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) {
      if (r < 7)
        EXPECT_EQ(sum.row(r)[c], whole.row(r)[c]);
      else
        EXPECT_TRUE(std::isnan(sum.row(r)[c]));
    }
}

TEST(Ranks, LossesOfPartsOfTheVocabulary) {
  Random random(4);
  constexpr int64_t rows = 5;
  const std::vector<int32_t> targets = {0, 300, 301, 599, 17};
  std::vector<float> weights = {1.0f, 0.5f, 2.0f, 1.0f, 0.0f};
  for (float softcap : {0.0f, 1.5f}) {
    const Buffer logits = random.buffer(rows, vocabulary, 4.0f);
    Buffer wanted = logits, loss(rows, 1);
    baton_task_cross_entropy(loss.data(), loss.stride, wanted.data(),
                             wanted.stride, targets.data(), weights.data(),
                             rows, vocabulary, 0.5f, softcap);
    for (int64_t r = 0; r < rows; ++r) {
      float most = -INFINITY, largest[ranks], own[ranks][2];
      Buffer parts[ranks] = {Buffer(1, room), Buffer(1, room), Buffer(1, room)};
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int32_t *place = places[rank];
        // What does not count.
        fill(parts[rank], 1e30f);
        for (int64_t t = 0; t < place[1]; ++t)
          parts[rank].row(0)[t] = logits.row(r)[place[0] + t];
        float maximum = 0.0f;
        baton_task_logit_statistics(&maximum, 1, &largest[rank], 1, own[rank],
                                    2, parts[rank].data(), parts[rank].stride,
                                    &targets[r], place, 1, 0.5f, softcap);
        EXPECT_EQ(maximum, largest[rank]);
        most = std::max(most, maximum);
      }
      float sums[2] = {0.0f, 0.0f};
      for (int64_t rank = 0; rank < ranks; ++rank) {
        float out[2];
        baton_task_logit_sums(out, 2, &largest[rank], 1, own[rank], 2, &most, 1,
                              1);
        sums[0] += out[0];
        sums[1] += out[1];
      }
      float found = not_a_number;
      baton_task_losses(&found, 1, &most, 1, sums, 2, &weights[r], 1, 1);
      EXPECT_NEAR(found, loss.row(r)[0], 1e-5f * std::abs(loss.row(r)[0]));
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int32_t *place = places[rank];
        baton_task_loss_gradients(parts[rank].data(), parts[rank].stride,
                                  &targets[r], &weights[r], &most, sums, place,
                                  1, room, 0.5f, softcap);
        expect_guards_intact(parts[rank]);
        for (int64_t t = 0; t < room; ++t)
          if (t < place[1])
            EXPECT_NEAR(parts[rank].row(0)[t], wanted.row(r)[place[0] + t],
                        2e-6f);
          else
            EXPECT_EQ(parts[rank].row(0)[t], 0.0f);
      }
      // No rows: nothing is written.
      float untouched = 3.0f;
      baton_task_losses(&untouched, 1, &most, 1, sums, 2, &weights[r], 1, 0);
      EXPECT_EQ(untouched, 3.0f);
    }
  }
}

} // namespace

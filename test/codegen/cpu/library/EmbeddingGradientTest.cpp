//===- EmbeddingGradientTest.cpp - gradients of tables -------------------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

TEST(EmbeddingGradient, SumsRowsOfATokenInAscendingOrder) {
  Random random(7);
  const int64_t vocabulary = 9;
  for (int64_t rows : {1, 5, 50})
    for (int64_t columns : {1, 20, 300})
      for (float multiplier : {1.0f, 3.1f}) {
        Buffer dy = random.buffer(rows, columns);
        std::vector<int32_t> indices(rows);
        for (int32_t &index : indices)
          index = static_cast<int32_t>(random.bits() % 12) - 1; // some outside
        const Buffer old = random.buffer(vocabulary, columns);
        Buffer chains(vocabulary, columns), sums(vocabulary, columns);
        for (int64_t t = 0; t < vocabulary; ++t)
          for (int64_t c = 0; c < columns; ++c) {
            float chain = 0.0f;
            for (int64_t r = 0; r < rows; ++r)
              if (indices[r] == t)
                chain += dy.at(r, c);
            chains.row(t)[c] = chain * multiplier;
            sums.row(t)[c] = chains.at(t, c) + old.at(t, c);
          }
        oracle::Matrix expected = oracle::embedding_gradient(
            dy.matrix(), indices, vocabulary, multiplier);
        expect_within(chains, expected, [&](int64_t, int64_t) {
          return 4.0 * static_cast<double>(rows * rows) * rounding;
        });
        // On the heap, as all that a body reads (cuda/library/Relocation.h).
        const std::vector<int32_t> replaces = {0}, adds = {1};
        for (int64_t tile : {int64_t(16), columns}) {
          auto run = [&](const int32_t *accumulate, const Buffer &result) {
            Buffer out = old;
            for (int64_t c = 0; c < columns; c += tile)
              baton_task_embedding_gradient(
                  out.data() + c, out.stride, dy.data() + c, dy.stride,
                  indices.data(), rows, std::min(tile, columns - c), vocabulary,
                  multiplier, accumulate);
            expect_same_bits(out, result);
            expect_guards_intact(out);
          };
          run(replaces.data(), chains);
          run(adds.data(), sums);
          run(nullptr, sums);
        }
      }
}

TEST(EmbeddingGradient, OracleIsTheAdjointOfEmbedding) {
  Random random(8);
  const std::vector<int32_t> tokens = {3, 0, 3, 1};
  const oracle::Matrix table = random.buffer(5, 6).matrix();
  const oracle::Matrix dy = random.buffer(4, 6).matrix();
  expect_adjoint(table, dy, oracle::embedding_gradient(dy, tokens, 5, 1.5),
                 [&](const oracle::Matrix &moved) {
                   return oracle::embedding(moved, tokens, 1.5);
                 });
}

} // namespace

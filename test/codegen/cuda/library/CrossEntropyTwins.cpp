//===- CrossEntropyTwins.cpp - cross-entropy of an output projection ------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

struct Problem {
  Problem(Random &random, int64_t rows, float softcap)
      : rows(rows), softcap(softcap), x(random.buffer(rows, width, 2.0f)),
        weight(random.buffer(vocabulary, width)),
        statistics(random.buffer(rows, 2)), targets(rows + 1),
        weights(rows + 1),
        scratch(baton_cross_entropy_scratch_bytes(rows, tile, width) / 4) {
    for (int64_t row = 0; row < rows; ++row) {
      targets[row] = static_cast<int32_t>(row * 7 % vocabulary);
      weights[row] = row % 3 == 1 ? 0.0f : 0.125f * (row % 5 + 1);
      statistics.row(row)[1] = 1.5f + statistics.row(row)[1];
    }
  }

  static constexpr int64_t width = 33, vocabulary = 75, tile = 32;
  static constexpr float scale = 0.5f;
  int64_t rows;
  float softcap;
  Buffer x, weight, statistics;
  std::vector<int32_t> targets;
  std::vector<float> weights;
  mutable std::vector<float> scratch;
};

template <typename Check> void for_each_problem(uint32_t seed, Check check) {
  Random random(seed);
  for (int64_t rows : {1, 9, 30})
    for (float softcap : {0.0f, 3.0f})
      check(Problem(random, rows, softcap));
}

TWIN_TEST(baton_task_cross_entropy_partial) {
  for_each_problem(1, [&](const Problem &problem) {
    for (int64_t first = 0; first < problem.vocabulary; first += problem.tile)
      twin.agree([&](auto body) {
        Buffer partials(problem.rows, 3);
        body(partials.data(), partials.stride, problem.x.data(),
             problem.x.stride, problem.weight.row(first), problem.weight.stride,
             problem.targets.data(), problem.rows, first,
             std::min(problem.tile, problem.vocabulary - first), problem.width,
             problem.scale, problem.softcap, problem.scratch.data());
        return partials;
      });
  });
}

TWIN_TEST(baton_task_cross_entropy_merge) {
  Random random(2);
  constexpr int64_t tiles = 3;
  for_each_problem(2, [&](const Problem &problem) {
    Buffer partials = random.buffer(problem.rows, 3 * tiles, 4.0f);
    for (int64_t row = 0; row < problem.rows; ++row)
      for (int64_t tile = 0; tile < tiles; ++tile)
        partials.row(row)[3 * tile + 1] += 4.5f;
    for (bool return_loss : {false, true})
      twin.agree([&](auto body) {
        Buffer loss(problem.rows, 1), statistics(problem.rows, 2);
        body(loss.data(), loss.stride, statistics.data(), statistics.stride,
             partials.data(), partials.stride, tiles, problem.weights.data(),
             problem.rows);
        return return_loss ? loss : statistics;
      });
  });
}

TWIN_TEST(baton_task_cross_entropy_input_gradient) {
  for_each_problem(3, [&](const Problem &problem) {
    twin.agree([&](auto body) {
      Buffer dx(problem.rows, problem.width);
      body(dx.data(), dx.stride, problem.x.data(), problem.x.stride,
           problem.weight.data(), problem.weight.stride, problem.targets.data(),
           problem.weights.data(), problem.statistics.data(),
           problem.statistics.stride, problem.rows, problem.vocabulary,
           problem.tile, problem.width, problem.scale, problem.softcap,
           problem.scratch.data());
      return dx;
    });
  });
}

TWIN_TEST(baton_task_cross_entropy_weight_gradient) {
  const std::vector<int32_t> accumulations = {0, 1};
  for_each_problem(4, [&](const Problem &problem) {
    for (const int32_t &accumulate : accumulations)
      twin.agree([&](auto body) {
        Buffer dweight = problem.weight;
        std::vector<float> scratch(
            baton_cross_entropy_scratch_bytes(8, problem.tile, problem.width) /
            4);
        body(dweight.row(problem.tile), dweight.stride, problem.x.data(),
             problem.x.stride, problem.weight.row(problem.tile),
             problem.weight.stride, problem.targets.data(),
             problem.weights.data(), problem.statistics.data(),
             problem.statistics.stride, problem.rows, 8, problem.tile,
             problem.tile, problem.width, problem.scale, problem.softcap,
             &accumulate, scratch.data());
        return dweight;
      });
  });
}

} // namespace

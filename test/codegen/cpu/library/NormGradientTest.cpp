//===- NormGradientTest.cpp - adjoints of RMS norm and layer norm ---------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Problem {
  Problem(Random &random, int64_t rows, int64_t width, bool centered)
      : rows(rows), width(width), centered(centered),
        x(random.buffer(rows, width, 3.0f)), dy(random.buffer(rows, width)),
        weight(random.vector(width)), statistics(rows, 2) {
    if (centered)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c)
          x.row(r)[c] += 2.0f;
    baton_task_norm_statistics(statistics.data(), statistics.stride, x.data(),
                               x.stride, rows, width, epsilon, centered);
  }

  oracle::Matrix forward(const oracle::Matrix &x,
                         const std::vector<double> &weight) const {
    return centered ? oracle::layer_norm(x, weight, {}, epsilon)
                    : oracle::rms_norm(x, weight, epsilon);
  }
  oracle::NormGradient expected() const {
    return oracle::norm_gradient(dy.matrix(), x.matrix(), doubles(weight),
                                 epsilon, centered);
  }

  static constexpr float epsilon = 1e-2f;
  int64_t rows;
  int64_t width;
  bool centered;
  Buffer x;
  Buffer dy;
  std::vector<float> weight;
  Buffer statistics;
};

TEST(NormGradient, OracleMatchesDifferences) {
  Random random(1);
  for (bool centered : {false, true}) {
    Problem problem(random, 3, 13, centered);
    const oracle::NormGradient gradient = problem.expected();
    const oracle::Matrix dy = problem.dy.matrix();
    expect_adjoint(problem.x.matrix(), dy, gradient.dx,
                   [&](const oracle::Matrix &x) {
                     return problem.forward(x, doubles(problem.weight));
                   });
    expect_adjoint(row_of(doubles(problem.weight)), dy,
                   row_of(gradient.dweight), [&](const oracle::Matrix &weight) {
                     return problem.forward(problem.x.matrix(), weight.values);
                   });
  }
}

TEST(NormGradient, StatisticsHaveTheBitsOfTheNorms) {
  Random random(2);
  for (int64_t width : {1, 13, 16, 100})
    for (bool centered : {false, true}) {
      Problem problem(random, 5, width, centered);
      expect_guards_intact(problem.statistics);
      Buffer norm(5, width);
      if (centered)
        baton_task_layer_norm(norm.data(), norm.stride, problem.x.data(),
                              problem.x.stride, problem.weight.data(), nullptr,
                              5, width, Problem::epsilon);
      else
        baton_task_rms_norm(norm.data(), norm.stride, problem.x.data(),
                            problem.x.stride, problem.weight.data(), 5, width,
                            Problem::epsilon);
      Buffer from_statistics(5, width);
      for (int64_t r = 0; r < 5; ++r)
        for (int64_t c = 0; c < width; ++c)
          from_statistics.row(r)[c] =
              (problem.x.at(r, c) - problem.statistics.at(r, 0)) *
              problem.statistics.at(r, 1) * problem.weight[c];
      expect_same_bits(from_statistics, norm);
    }
}

TEST(NormGradient, InputMatchesOracle) {
  Random random(3);
  for (int64_t width : {1, 13, 16, 20, 100})
    for (bool centered : {false, true}) {
      Problem problem(random, 5, width, centered);
      Buffer dx(5, width);
      baton_task_norm_gradient(dx.data(), dx.stride, problem.dy.data(),
                               problem.dy.stride, problem.x.data(),
                               problem.x.stride, problem.weight.data(),
                               problem.statistics.data(),
                               problem.statistics.stride, 5, width, centered);
      const oracle::Matrix expected = problem.expected().dx;
      // The row's root divides what a few roundings and those of the sums
      // leave; where the variance vanishes (width 1) it is that of epsilon.
      expect_within(dx, expected, [&](int64_t r, int64_t) {
        const double inverse = problem.statistics.at(r, 1);
        return (static_cast<double>(width) / 16 + 24) * rounding * inverse *
               (1.0 + 5.0 * inverse);
      });
      Buffer in_place = problem.dy;
      baton_task_norm_gradient(in_place.data(), in_place.stride,
                               in_place.data(), in_place.stride,
                               problem.x.data(), problem.x.stride,
                               problem.weight.data(), problem.statistics.data(),
                               problem.statistics.stride, 5, width, centered);
      expect_same_bits(in_place, dx);
    }
}

TEST(NormGradient, WeightsMatchOracle) {
  Random random(4);
  for (int64_t width : {1, 13, 16, 20, 100})
    for (bool centered : {false, true})
      for (bool with_bias : {false, true}) {
        const int64_t rows = 37;
        Problem problem(random, rows, width, centered);
        auto run = [&](Buffer &out, const int32_t *accumulate, int64_t tile) {
          for (int64_t c = 0; c < width; c += tile)
            baton_task_norm_weight_gradient(
                out.row(0) + c, with_bias ? out.row(1) + c : nullptr,
                problem.dy.data() + c, problem.dy.stride, problem.x.data() + c,
                problem.x.stride, problem.statistics.data(),
                problem.statistics.stride, rows, 1, 0,
                std::min(tile, width - c), accumulate);
        };
        // On the heap, as all that a body reads (cuda/library/Relocation.h).
        const std::vector<int32_t> replaces = {0}, adds = {1};
        const Buffer old = random.buffer(2, width);
        Buffer out = old;
        fill(out, not_a_number);
        run(out, replaces.data(), width);
        const oracle::NormGradient gradient = problem.expected();
        for (int64_t c = 0; c < width; ++c) {
          const double bound = (rows + 4) * rounding * rows * 2.0;
          EXPECT_NEAR(out.at(0, c), gradient.dweight[c], bound);
          if (with_bias) {
            EXPECT_NEAR(out.at(1, c), gradient.dbias[c], bound);
          }
        }
        expect_guards_intact(out);
        // Tiles of columns change nothing, and the old value is added last.
        for (int64_t tile : {16, 23})
          for (const int32_t *accumulate :
               {static_cast<const int32_t *>(nullptr), adds.data()}) {
            Buffer sum = old;
            run(sum, accumulate, tile);
            for (int64_t r = 0; r < (with_bias ? 2 : 1); ++r)
              for (int64_t c = 0; c < width; ++c)
                ASSERT_EQ(sum.at(r, c), out.at(r, c) + old.at(r, c));
          }
      }
}

TEST(NormGradient, HeadsAreSummedInsideRows) {
  Random random(5);
  const int64_t rows = 7, heads = 3, width = 20, spacing = 26;
  Buffer x = random.buffer(rows, heads * spacing);
  Buffer dy = random.buffer(rows, heads * spacing);
  Buffer statistics(rows, 2 * heads);
  for (int64_t h = 0; h < heads; ++h)
    baton_task_norm_statistics(statistics.data() + 2 * h, statistics.stride,
                               x.data() + h * spacing, x.stride, rows, width,
                               1e-5f, 1);
  Buffer out(2, width);
  const std::vector<int32_t> replaces = {0};
  baton_task_norm_weight_gradient(out.row(0), out.row(1), dy.data(), dy.stride,
                                  x.data(), x.stride, statistics.data(),
                                  statistics.stride, rows, heads, spacing,
                                  width, replaces.data());
  for (int64_t c = 0; c < width; ++c) {
    float weight = 0.0f, bias = 0.0f;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t place = h * spacing + c;
        const float normal = (x.at(r, place) - statistics.at(r, 2 * h)) *
                             statistics.at(r, 2 * h + 1);
        weight = std::fma(dy.at(r, place), normal, weight);
        bias += dy.at(r, place);
      }
    expect_same_bits(out.row(0) + c, &weight, 1);
    expect_same_bits(out.row(1) + c, &bias, 1);
  }
}

} // namespace

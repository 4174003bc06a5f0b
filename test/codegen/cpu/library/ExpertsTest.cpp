//===- ExpertsTest.cpp - rows to experts and back -------------------------===//

#include "test/codegen/cpu/library/ExpertsProblem.h"

#include <algorithm>
#include <numeric>

using namespace baton::test;

namespace {

struct Shape {
  int64_t rows, k, count;
};
const Shape shapes[] = {{1, 1, 1},   {3, 2, 5},    {9, 3, 9},
                        {6, 8, 128}, {2, 64, 100}, {40, 4, 17}};

/// A row's scores in F64.
std::vector<double> scores_of(const float *logits, int64_t count,
                              int32_t scoring) {
  std::vector<double> scores(count);
  double most = *std::max_element(logits, logits + count), sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = scoring == BATON_SCORING_SOFTMAX
                    ? std::exp(double(logits[i]) - most)
                    : 1 / (1 + std::exp(-double(logits[i])));
    sum += scores[i];
  }
  if (scoring == BATON_SCORING_SOFTMAX)
    for (double &score : scores)
      score /= sum;
  return scores;
}

TEST(Experts, RowsGoToTheLargestLogits) {
  Random random(1);
  for (const auto &[rows, k, count] : shapes)
    for (int32_t scoring : {BATON_SCORING_SOFTMAX, BATON_SCORING_SIGMOID})
      for (bool normalize : {false, true}) {
        const ExpertsProblem problem(random, rows, k, count);
        const float factor = normalize ? 2.5f : 1.0f;
        const auto routed =
            problem.route(baton_task_route_rows, /*biased=*/false, scoring,
                          normalize, factor);
        expect_guards_intact(routed.weights);
        for (int64_t row = 0; row < rows; ++row) {
          const float *logits = problem.logits.row(row);
          std::vector<int32_t> order(count);
          std::iota(order.begin(), order.end(), 0);
          std::sort(order.begin(), order.end(), [&](int a, int b) {
            return std::pair(-logits[a], a) < std::pair(-logits[b], b);
          });
          order.resize(k);
          std::sort(order.begin(), order.end());
          const int32_t *chosen = routed.experts.data() + row * (k + 3);
          ASSERT_TRUE(std::equal(order.begin(), order.end(), chosen))
              << "row " << row;
          EXPECT_EQ(chosen[k], -7);
          const auto scores = scores_of(logits, count, scoring);
          double sum = 0;
          for (int32_t expert : order)
            sum += scores[expert];
          for (int64_t j = 0; j < k; ++j) {
            const double expected =
                scores[order[j]] / (normalize ? sum : 1) * factor;
            EXPECT_NEAR(routed.weights.at(row, j), expected, 2e-6 * expected);
          }
        }
      }
}

TEST(Experts, BiasChoosesButDoesNotWeigh) {
  Random random(2);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const auto routed = problem.route(baton_task_route_rows, /*biased=*/true,
                                      BATON_SCORING_SIGMOID, false, 1.0f);
    for (int64_t row = 0; row < rows; ++row) {
      const auto scores =
          scores_of(problem.logits.row(row), count, BATON_SCORING_SIGMOID);
      const int32_t *chosen = routed.experts.data() + row * (k + 3);
      double least = std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j < k; ++j) {
        EXPECT_TRUE(j == 0 || chosen[j - 1] < chosen[j]);
        least = std::min(least, scores[chosen[j]] + problem.bias[chosen[j]]);
        EXPECT_NEAR(routed.weights.at(row, j), scores[chosen[j]], 1e-6);
      }
      for (int32_t i = 0; i < count; ++i)
        EXPECT_TRUE(std::find(chosen, chosen + k, i) != chosen + k ||
                    scores[i] + problem.bias[i] <= least + 1e-6)
            << "expert " << i;
    }
  }
}

TEST(Experts, RowsGoToTheBestGroups) {
  Random random(9);
  struct Grouped {
    int64_t rows, k, groups, of_row, size;
  };
  for (const auto &[rows, k, groups, of_row, size] : {Grouped{5, 3, 4, 2, 3},
                                                      {9, 2, 2, 1, 2},
                                                      {4, 8, 8, 4, 32},
                                                      {3, 6, 64, 3, 2}})
    for (bool best_two : {false, true})
      for (bool biased : {false, true}) {
        const int64_t count = groups * size;
        const ExpertsProblem problem(random, rows, k, count);
        const auto routed =
            problem.route(baton_task_route_rows, biased, BATON_SCORING_SIGMOID,
                          false, 1.5f, groups, of_row, best_two);
        for (int64_t row = 0; row < rows; ++row) {
          const float *logits = problem.logits.row(row);
          const auto scores = scores_of(logits, count, BATON_SCORING_SIGMOID);
          // Sums and biases are of scores, which are F32 to the body.
          std::vector<float> keys(logits, logits + count);
          for (int64_t i = 0; i < count && (biased || best_two); ++i)
            keys[i] = static_cast<float>(scores[i]) +
                      (biased ? problem.bias[i] : 0.0f);
          std::vector<std::pair<float, int64_t>> worth;
          for (int64_t group = 0; group < groups; ++group) {
            std::vector<float> own(keys.begin() + group * size,
                                   keys.begin() + (group + 1) * size);
            std::sort(own.rbegin(), own.rend());
            worth.emplace_back(-(best_two ? own[0] + own[1] : own[0]), group);
          }
          std::sort(worth.begin(), worth.end());
          // Groups whose worth rounding alone tells apart are not judged.
          if (of_row < groups &&
              worth[of_row].first - worth[of_row - 1].first < 1e-5f &&
              (biased || best_two))
            continue;
          std::vector<std::pair<float, int32_t>> order;
          for (int64_t i = 0; i < of_row; ++i)
            for (int64_t j = 0; j < size; ++j) {
              const int64_t expert = worth[i].second * size + j;
              order.emplace_back(-keys[expert], static_cast<int32_t>(expert));
            }
          std::sort(order.begin(), order.end());
          if (static_cast<int64_t>(order.size()) > k && (biased || best_two) &&
              order[k].first - order[k - 1].first < 1e-5f)
            continue;
          std::vector<int32_t> expected;
          for (int64_t j = 0; j < k; ++j)
            expected.push_back(order[j].second);
          std::sort(expected.begin(), expected.end());
          const int32_t *chosen = routed.experts.data() + row * (k + 3);
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), chosen))
              << "row " << row << " of " << groups << " groups";
          for (int64_t j = 0; j < k; ++j)
            EXPECT_NEAR(routed.weights.at(row, j), 1.5 * scores[chosen[j]],
                        1e-6);
        }
      }
}

TEST(Experts, ARowWithoutNumbersIsSeen) {
  Random random(3);
  ExpertsProblem problem(random, 3, 2, 5);
  problem.logits.row(1)[4] = std::nanf("");
  const auto routed = problem.route(baton_task_route_rows, false,
                                    BATON_SCORING_SIGMOID, true, 1.0f);
  EXPECT_EQ(routed.experts[5], 0);
  EXPECT_EQ(routed.experts[6], 1);
  EXPECT_TRUE(std::isnan(routed.weights.at(1, 0)));
  EXPECT_TRUE(std::isnan(routed.weights.at(1, 1)));
  EXPECT_FALSE(std::isnan(routed.weights.at(2, 0)));
}

TEST(Experts, EachChoiceHasOnePlace) {
  Random random(4);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const auto experts = problem
                             .route(baton_task_route_rows, false,
                                    BATON_SCORING_SOFTMAX, false, 1.0f)
                             .experts;
    const auto found = problem.dispatch(baton_task_dispatch_rows, experts);
    EXPECT_EQ(found.bounds[0], 0);
    EXPECT_EQ(found.bounds[count], rows * k);
    EXPECT_EQ(found.bounds[count + 1], -7);
    EXPECT_EQ(found.choices[rows * k], -7);
    for (int32_t expert = 0, place = 0; expert < count; ++expert) {
      ASSERT_EQ(found.bounds[expert], place);
      for (; place < found.bounds[expert + 1]; ++place) {
        const int32_t choice = found.choices[place];
        EXPECT_EQ(experts[choice / k * (k + 3) + choice % k], expert);
        EXPECT_EQ(found.places[choice], place);
        EXPECT_TRUE(place == found.bounds[expert] ||
                    found.choices[place - 1] < choice);
      }
    }
  }
}

TEST(Experts, AnExpertThatThereIsNotIsLeftOut) {
  const ExpertsProblem problem = [] {
    Random random(5);
    return ExpertsProblem(random, 2, 2, 3);
  }();
  const std::vector<int32_t> experts = {0, 3, -7, -7, -7, -1, 2, -7, -7, -7};
  const auto found = problem.dispatch(baton_task_dispatch_rows, experts);
  EXPECT_EQ(found.bounds, (std::vector<int32_t>{0, 1, 1, 2, -7}));
}

TEST(Experts, ARanksOwnHaveTheFirstPlaces) {
  Random random(7);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t own : {int64_t(1), (count + 1) / 2, count}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto experts = problem
                               .route(baton_task_route_rows, false,
                                      BATON_SCORING_SOFTMAX, false, 1.0f)
                               .experts;
      const auto all = problem.dispatch(baton_task_dispatch_rows, experts);
      const auto first = static_cast<int32_t>((count - own) / 2);
      const auto found = problem.dispatch_part(baton_task_dispatch_rows_part,
                                               experts, first, own);
      EXPECT_EQ(found.bounds[0], 0);
      EXPECT_EQ(found.bounds[own + 1], rows * k);
      EXPECT_EQ(found.bounds[own + 2], -7);
      // In the order that they have among all.
      for (int64_t e = 0; e < own; ++e) {
        const int32_t begin = all.bounds[first + e];
        ASSERT_EQ(found.bounds[e + 1] - found.bounds[e],
                  all.bounds[first + e + 1] - begin);
        for (int32_t i = found.bounds[e]; i < found.bounds[e + 1]; ++i)
          EXPECT_EQ(found.choices[i], all.choices[begin + i - found.bounds[e]]);
      }
      for (int32_t i = found.bounds[own]; i < rows * k; ++i) {
        const int32_t choice = found.choices[i];
        const int32_t expert = experts[choice / k * (k + 3) + choice % k];
        EXPECT_TRUE(expert < first || expert >= first + own);
      }
      for (int32_t i = 0; i < rows * k; ++i)
        EXPECT_EQ(found.places[found.choices[i]], i);
    }
}

TEST(Experts, RanksAreToldWhatTheirExpertsGet) {
  Random random(8);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t ranks = 1; ranks <= count; ++ranks) {
      if (count % ranks)
        continue;
      const ExpertsProblem problem(random, rows, k, count);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows,
                           problem
                               .route(baton_task_route_rows, false,
                                      BATON_SCORING_SOFTMAX, false, 1.0f)
                               .experts);
      const int64_t own = count / ranks;
      const auto counts = problem.count_places(baton_task_count_places,
                                               found.bounds, ranks, own);
      // All of them to one rank, as if from as many: its experts are all.
      std::vector<int32_t> bounds(own + 3, -7);
      baton_task_bound_places(bounds.data(), counts.data(), own + 3, ranks, own,
                              rows * k * ranks);
      int32_t end = 0;
      for (int64_t e = 0; e < own; ++e) {
        EXPECT_EQ(bounds[e], end);
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const int64_t expert = rank * own + e;
          EXPECT_EQ(counts[rank * (own + 3) + e],
                    found.bounds[expert + 1] - found.bounds[expert]);
          end += counts[rank * (own + 3) + e];
        }
      }
      EXPECT_EQ(bounds[own], end);
      EXPECT_EQ(end, rows * k);
      EXPECT_EQ(bounds[own + 1], rows * k * ranks);
      EXPECT_EQ(bounds[own + 2], -7);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(counts[rank * (own + 3) + own], 0);
        EXPECT_EQ(counts[rank * (own + 3) + own + 1], 0);
        EXPECT_EQ(counts[rank * (own + 3) + own + 2], -7);
      }
    }
}

TEST(Experts, RowsOfPlacesThatThereAreNotAddNothing) {
  Random random(8);
  const int64_t rows = 5, k = 3, width = 37;
  const Buffer x = random.buffer(rows * k, width),
               weights = random.buffer(rows, k);
  std::vector<int32_t> places(rows * k);
  for (int64_t i = 0; i < rows * k; ++i)
    places[i] = static_cast<int32_t>(i * 7 % (rows * k));
  for (int64_t count : {int64_t(0), int64_t(6), rows * k}) {
    Buffer out(rows, width);
    baton_task_combine_rows(out.data(), out.stride, x.data(), x.stride,
                            places.data(), weights.data(), weights.stride, rows,
                            count, k, width);
    expect_guards_intact(out);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < width; ++column) {
        float sum = 0.0f;
        for (int64_t j = 0; j < k; ++j)
          if (const int32_t place = places[row * k + j]; place < count)
            sum = std::fma(weights.at(row, j), x.at(place, column), sum);
        EXPECT_EQ(out.at(row, column), sum);
      }
  }
}

TEST(Experts, RowsComeBackWeighted) {
  Random random(6);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t width : {1, 16, 37}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto routed = problem.route(baton_task_route_rows, false,
                                        BATON_SCORING_SOFTMAX, true, 1.0f);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows, routed.experts);
      const Buffer x = random.buffer(rows, width);
      Buffer gathered(rows * k, width), out(rows, width);
      baton_task_gather_rows(gathered.data(), gathered.stride, x.data(),
                             x.stride, found.choices.data(), rows * k, rows, k,
                             width);
      for (int64_t place = 0; place < rows * k; ++place)
        expect_same_bits(gathered.row(place), x.row(found.choices[place] / k),
                         width);
      expect_guards_intact(gathered);
      baton_task_combine_rows(out.data(), out.stride, gathered.data(),
                              gathered.stride, found.places.data(),
                              routed.weights.data(), routed.weights.stride,
                              rows, rows * k, k, width);
      // Weights add up to 1.
      expect_within(out, x.matrix(), [&](int64_t r, int64_t c) {
        return 1e-6 * std::fabs(x.at(r, c)) + 1e-7;
      });
    }
}

} // namespace

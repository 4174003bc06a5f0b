//===- ExpertsGradientTest.cpp - adjoints of rows to experts and back -----===//

#include "test/codegen/cpu/library/ExpertsProblem.h"
#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Shape {
  int64_t rows, k, count;
};
const Shape shapes[] = {{1, 1, 1},   {3, 2, 5},    {9, 3, 9},
                        {6, 8, 128}, {2, 64, 100}, {20, 4, 17}};

/// The weights of the experts that rows have, whatever the logits are.
oracle::Matrix weights_of(const oracle::Matrix &logits,
                          const std::vector<int32_t> &experts, int64_t k,
                          int32_t scoring, bool normalize, double factor) {
  oracle::Matrix result(logits.rows, k);
  for (int64_t row = 0; row < logits.rows; ++row) {
    auto power = [&](int64_t i) { return std::exp(logits.at(row, i)); };
    double all = 0, chosen = 0;
    for (int64_t i = 0; i < logits.columns; ++i)
      all += power(i);
    for (int64_t j = 0; j < k; ++j) {
      const double own = power(experts[row * (k + 3) + j]);
      result.at(row, j) =
          scoring == BATON_SCORING_SOFTMAX ? own / all : own / (1 + own);
      chosen += result.at(row, j);
    }
    for (int64_t j = 0; j < k; ++j)
      result.at(row, j) *= factor / (normalize ? chosen : 1);
  }
  return result;
}

TEST(ExpertsGradient, RouteMatchesDifferences) {
  Random random(1);
  for (const auto &[rows, k, count] : shapes)
    for (int32_t scoring : {BATON_SCORING_SOFTMAX, BATON_SCORING_SIGMOID})
      for (bool normalize : {false, true}) {
        const ExpertsProblem problem(random, rows, k, count);
        const float factor = normalize ? 2.5f : 1.0f;
        const std::vector<int32_t> experts =
            problem
                .route(baton_task_route_rows, /*biased=*/false, scoring,
                       normalize, factor)
                .experts;
        const Buffer dy = random.buffer(rows, k);
        Buffer gradient(rows, count);
        baton_task_route_rows_gradient(
            gradient.data(), gradient.stride, dy.data(), dy.stride,
            problem.logits.data(), problem.logits.stride, experts.data(), k + 3,
            rows, k, count, scoring, normalize, factor);
        const oracle::Matrix expected = differences(
            problem.logits.matrix(), dy.matrix(),
            [&, k = k](const oracle::Matrix &logits) {
              return weights_of(logits, experts, k, scoring, normalize, factor);
            });
        expect_within(gradient, expected, [&](int64_t r, int64_t c) {
          return 32 * rounding * (1 + std::fabs(expected.at(r, c)));
        });
        if (HasFatalFailure())
          FAIL() << rows << " rows, " << k << " of " << count << ", scoring "
                 << scoring << ", normalize " << normalize;
      }
}

/// Rows, and their places.
struct Places {
  Places(Random &random, const Shape &shape, int64_t width)
      : problem(random, shape.rows, shape.k, shape.count), k(shape.k),
        table(problem.dispatch(baton_task_dispatch_rows,
                               problem
                                   .route(baton_task_route_rows, false,
                                          BATON_SCORING_SOFTMAX, true, 1.0f)
                                   .experts)),
        weights(random.buffer(shape.rows, k)),
        by_row(random.buffer(shape.rows, width)),
        by_place(random.buffer(shape.rows * k, width)) {}

  ExpertsProblem problem;
  int64_t k;
  ExpertsProblem::Dispatched table;
  Buffer weights, by_row, by_place;
};

/// How many of a step's places are a rank's own: all, some, none.
std::vector<int64_t> own_places(int64_t places) {
  return {places, (places + 1) / 2, 0};
}

/// Makes no numbers of the places that are not a rank's own.
Buffer with_others_damaged(Buffer x, int64_t own) {
  for (int64_t place = own; place < x.rows; ++place)
    for (int64_t c = 0; c < x.width; ++c)
      x.row(place)[c] = std::nanf("");
  return x;
}

TEST(ExpertsGradient, GatherSumsThePlacesOfARow) {
  Random random(2);
  for (const Shape &shape : shapes)
    for (int64_t width : {1, 16, 37}) {
      const Places places(random, shape, width);
      const int64_t rows = shape.rows, k = shape.k;
      for (int64_t own : own_places(rows * k)) {
        const Buffer dy = with_others_damaged(places.by_place, own);
        Buffer out(rows, width);
        baton_task_gather_rows_gradient(out.data(), out.stride, dy.data(),
                                        dy.stride, places.table.places.data(),
                                        rows, own, k, width);
        oracle::Matrix expected(rows, width);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t j = 0; j < k; ++j)
            for (int64_t c = 0; c < width; ++c)
              if (int64_t place = places.table.places[row * k + j]; place < own)
                expected.at(row, c) += dy.at(place, c);
        expect_within(out, expected, [&, k = k](int64_t, int64_t) {
          return double(k) * double(k) * rounding;
        });
      }
    }
}

TEST(ExpertsGradient, CombineGoesToPlacesAndWeights) {
  Random random(3);
  for (const Shape &shape : shapes)
    for (int64_t width : {1, 16, 37}) {
      const Places places(random, shape, width);
      const int64_t rows = shape.rows, k = shape.k;
      const Buffer &dy = places.by_row;
      Buffer dx(rows * k, width);
      // Tiles of places, as plans have them.
      for (int64_t first = 0; first < rows * k; first += 7)
        baton_task_combine_rows_gradient(
            dx.row(first), dx.stride, dy.data(), dy.stride,
            places.weights.data(), places.weights.stride,
            places.table.choices.data() + first,
            std::min<int64_t>(7, rows * k - first), rows, k, width);
      oracle::Matrix of_places(rows * k, width);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t j = 0; j < k; ++j)
          for (int64_t c = 0; c < width; ++c)
            of_places.at(places.table.places[row * k + j], c) =
                double(places.weights.at(row, j)) * double(dy.at(row, c));
      expect_within(dx, of_places, [](int64_t, int64_t) { return rounding; });
      for (int64_t own : own_places(rows * k)) {
        const Buffer x = with_others_damaged(places.by_place, own);
        Buffer dweights(rows, k);
        baton_task_combine_weights_gradient(
            dweights.data(), dweights.stride, dy.data(), dy.stride, x.data(),
            x.stride, places.table.places.data(), rows, own, k, width);
        oracle::Matrix of_weights(rows, k);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t j = 0; j < k; ++j)
            for (int64_t c = 0; c < width; ++c)
              if (int64_t place = places.table.places[row * k + j]; place < own)
                of_weights.at(row, j) +=
                    double(dy.at(row, c)) * double(x.at(place, c));
        expect_within(dweights, of_weights,
                      [&, width = width](int64_t, int64_t) {
                        return double(width) * double(width + 1) * rounding;
                      });
      }
    }
}

} // namespace

//===- ExpertsTwins.cpp - rows to experts and back ------------------------===//

#include "test/codegen/cpu/library/ExpertsProblem.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

struct Shape {
  int64_t rows, k, count;
};
const Shape shapes[] = {{1, 1, 1}, {3, 2, 5}, {6, 8, 128}, {40, 4, 17}};

/// As numbers: as bits some would be NaNs.
void append(std::vector<float> &words, const std::vector<int32_t> &numbers) {
  words.insert(words.end(), numbers.begin(), numbers.end());
}

std::vector<int32_t> experts_of(const ExpertsProblem &problem) {
  return problem
      .route(baton_task_route_rows, false, BATON_SCORING_SOFTMAX, true, 1.0f)
      .experts;
}

} // namespace

TWIN_TEST(baton_task_route_rows) {
  Random random(1);
  for (const auto &[rows, k, count] : shapes)
    for (int32_t scoring : {BATON_SCORING_SOFTMAX, BATON_SCORING_SIGMOID})
      for (bool more : {false, true}) {
        ExpertsProblem problem(random, rows, k, count);
        if (rows > 3)
          problem.logits.row(3)[count / 2] = std::nanf("");
        twin.agree([&](auto body) {
          auto routed = problem.route(body, more, scoring, more, 1.7f);
          append(routed.weights.values, routed.experts);
          return routed.weights.values;
        });
      }
  struct Grouped {
    int64_t rows, k, groups, of_row, size;
  };
  for (const auto &[rows, k, groups, of_row, size] :
       {Grouped{5, 3, 4, 2, 3}, {40, 2, 2, 1, 2}, {4, 8, 8, 4, 32}})
    for (int32_t scoring : {BATON_SCORING_SOFTMAX, BATON_SCORING_SIGMOID})
      for (bool best_two : {false, true}) {
        const ExpertsProblem problem(random, rows, k, groups * size);
        twin.agree([&](auto body) {
          auto routed = problem.route(body, best_two, scoring, true, 1.7f,
                                      groups, of_row, best_two);
          append(routed.weights.values, routed.experts);
          return routed.weights.values;
        });
      }
}

TWIN_TEST(baton_task_dispatch_rows) {
  Random random(2);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const std::vector<int32_t> experts = experts_of(problem);
    twin.agree([&](auto body) {
      const auto found = problem.dispatch(body, experts);
      std::vector<float> words;
      for (const auto *list : {&found.bounds, &found.choices, &found.places})
        append(words, *list);
      return words;
    });
  }
}

TWIN_TEST(baton_task_dispatch_rows_part) {
  Random random(5);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const std::vector<int32_t> experts = experts_of(problem);
    const int64_t own = (count + 1) / 2;
    twin.agree([&](auto body) {
      const auto found = problem.dispatch_part(
          body, experts, static_cast<int32_t>(count - own), own);
      std::vector<float> words;
      for (const auto *list : {&found.bounds, &found.choices, &found.places})
        append(words, *list);
      return words;
    });
  }
}

TWIN_TEST(baton_task_count_places) {
  Random random(6);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const auto found =
        problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
    twin.agree([&](auto body) {
      std::vector<float> words;
      append(words, problem.count_places(body, found.bounds, count, 1));
      append(words, problem.count_places(body, found.bounds, 1, count));
      return words;
    });
  }
}

TWIN_TEST(baton_task_bound_places) {
  Random random(7);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const auto found =
        problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
    for (int64_t ranks : {int64_t(1), count}) {
      const int64_t own = count / ranks;
      const auto counts = problem.count_places(baton_task_count_places,
                                               found.bounds, ranks, own);
      twin.agree([&](auto body) {
        std::vector<int32_t> bounds(own + 3, -7);
        body(bounds.data(), counts.data(), own + 3, ranks, own,
             rows * k * ranks);
        std::vector<float> words;
        append(words, bounds);
        return words;
      });
    }
  }
}

TWIN_TEST(baton_task_gather_rows) {
  Random random(3);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t width : {1, 16, 37}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
      const Buffer x = random.buffer(rows, width);
      twin.agree([&](auto body) {
        Buffer out(rows * k, width);
        body(out.data(), out.stride, x.data(), x.stride, found.choices.data(),
             rows * k, rows, k, width);
        return out;
      });
    }
}

TWIN_TEST(baton_task_combine_rows) {
  Random random(4);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t width : {1, 16, 37}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
      const Buffer x = random.buffer(rows * k, width),
                   weights = random.buffer(rows, k);
      for (int64_t place_count : {rows * k, rows * k / 2})
        twin.agree([&](auto body) {
          Buffer out(rows, width);
          body(out.data(), out.stride, x.data(), x.stride, found.places.data(),
               weights.data(), weights.stride, rows, place_count, k, width);
          return out;
        });
    }
}

TWIN_TEST(baton_task_route_rows_gradient) {
  Random random(5);
  for (const auto &[rows, k, count] : shapes)
    for (int32_t scoring : {BATON_SCORING_SOFTMAX, BATON_SCORING_SIGMOID})
      for (bool normalize : {false, true}) {
        const ExpertsProblem problem(random, rows, k, count);
        const std::vector<int32_t> experts = experts_of(problem);
        const Buffer dy = random.buffer(rows, k);
        twin.agree([&](auto body) {
          Buffer out(rows, count);
          body(out.data(), out.stride, dy.data(), dy.stride,
               problem.logits.data(), problem.logits.stride, experts.data(),
               k + 3, rows, k, count, scoring, normalize, 1.7f);
          return out;
        });
      }
}

TWIN_TEST(baton_task_gather_rows_gradient) {
  Random random(6);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t width : {1, 16, 37}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
      const Buffer dy = random.buffer(rows * k, width);
      // All places are a rank's own, or some.
      for (int64_t own : {rows * k, rows * k / 2})
        twin.agree([&, own = own](auto body) {
          Buffer out(rows, width);
          body(out.data(), out.stride, dy.data(), dy.stride,
               found.places.data(), rows, own, k, width);
          return out;
        });
    }
}

TWIN_TEST(baton_task_combine_rows_gradient) {
  Random random(7);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t width : {1, 16, 37}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
      const Buffer dy = random.buffer(rows, width),
                   weights = random.buffer(rows, k);
      twin.agree([&](auto body) {
        Buffer out(rows * k, width);
        body(out.data(), out.stride, dy.data(), dy.stride, weights.data(),
             weights.stride, found.choices.data(), rows * k, rows, k, width);
        return out;
      });
    }
}

TWIN_TEST(baton_task_combine_weights_gradient) {
  Random random(8);
  for (const auto &[rows, k, count] : shapes)
    for (int64_t width : {1, 16, 37}) {
      const ExpertsProblem problem(random, rows, k, count);
      const auto found =
          problem.dispatch(baton_task_dispatch_rows, experts_of(problem));
      const Buffer dy = random.buffer(rows, width),
                   x = random.buffer(rows * k, width);
      for (int64_t own : {rows * k, rows * k / 2})
        twin.agree([&, own = own](auto body) {
          Buffer out(rows, k);
          body(out.data(), out.stride, dy.data(), dy.stride, x.data(), x.stride,
               found.places.data(), rows, own, k, width);
          return out;
        });
    }
}

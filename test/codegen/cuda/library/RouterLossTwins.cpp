//===- RouterLossTwins.cpp - losses of routers ----------------------------===//

#include "test/codegen/cpu/library/ExpertsProblem.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

struct Shape {
  int64_t rows, k, count;
};
const Shape shapes[] = {{1, 1, 1}, {3, 2, 5}, {6, 8, 128}, {40, 4, 17}};

/// Some rows have none.
std::vector<float> weights_of(Random &random, int64_t rows) {
  std::vector<float> weights = random.vector(rows);
  for (int64_t row = 1; row < rows; row += 3)
    weights[row] = 0.0f;
  return weights;
}

} // namespace

TWIN_TEST(baton_task_router_begin) {
  for (const auto &[rows, k, count] : shapes)
    twin.agree([&, rows = rows, count = count](auto body) {
      Buffer sums(rows, 2 * count + 1);
      body(sums.data(), sums.stride, rows, sums.width);
      return sums;
    });
}

TWIN_TEST(baton_task_router_sums) {
  Random random(1);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const std::vector<int32_t> experts =
        problem
            .route(baton_task_route_rows, false, BATON_SCORING_SOFTMAX, true,
                   1.0f)
            .experts;
    const Buffer before = random.buffer(rows, 2 * count + 1);
    for (bool in_place : {false, true})
      twin.agree([&, rows = rows, k = k, count = count](auto body) {
        Buffer out = in_place ? before : Buffer(rows, 2 * count + 1);
        const Buffer &sums = in_place ? out : before;
        body(out.data(), out.stride, sums.data(), sums.stride,
             problem.logits.data(), problem.logits.stride, experts.data(),
             k + 3, rows, k, count);
        return out;
      });
  }
}

TWIN_TEST(baton_task_router_sums_gradient) {
  Random random(2);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const Buffer dsums = random.buffer(rows, count + 1);
    twin.agree([&, rows = rows, count = count](auto body) {
      Buffer out(rows, count);
      body(out.data(), out.stride, dsums.data(), dsums.stride,
           problem.logits.data(), problem.logits.stride, rows, count);
      return out;
    });
  }
}

TWIN_TEST(baton_task_expert_shares) {
  Random random(3);
  for (const auto &[rows, k, count] : shapes) {
    const Buffer choices = random.buffer(rows, count);
    for (bool counts : {false, true}) {
      const std::vector<float> weights =
          counts ? weights_of(random, rows) : std::vector<float>(rows);
      twin.agree([&, rows = rows, count = count](auto body) {
        std::vector<float> out(count);
        body(out.data(), choices.data(), choices.stride, weights.data(), rows,
             count, 3);
        return out;
      });
    }
  }
}

TWIN_TEST(baton_task_router_loads) {
  Random random(5);
  const std::vector<int32_t> yes = {1}, no = {0};
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const std::vector<int32_t> experts =
        problem
            .route(baton_task_route_rows, false, BATON_SCORING_SOFTMAX, true,
                   1.0f)
            .experts;
    const int64_t first = count / 3;
    for (const int32_t *accumulate :
         {static_cast<const int32_t *>(nullptr), yes.data(), no.data()})
      twin.agree([&, rows = rows, k = k, count = count](auto body) {
        std::vector<float> loads(count - first, 3.0f);
        body(loads.data(), experts.data(), k + 3, rows, k, first, count - first,
             accumulate);
        return loads;
      });
  }
}

TWIN_TEST(baton_task_router_loss) {
  Random random(4);
  for (const auto &[rows, k, count] : shapes) {
    const Buffer loss = random.buffer(rows, 1),
                 sums = random.buffer(rows, count + 1);
    const std::vector<float> weights = weights_of(random, rows),
                             shares = random.vector(count);
    twin.agree([&, rows = rows, count = count](auto body) {
      Buffer losses(rows, 4), dsums(rows, count + 1);
      body(losses.data(), losses.stride, dsums.data(), dsums.stride,
           loss.data(), loss.stride, sums.data(), sums.stride, weights.data(),
           shares.data(), rows, count, 5, 0.3f, 0.7f);
      losses.values.insert(losses.values.end(), dsums.values.begin(),
                           dsums.values.end());
      return losses.values;
    });
  }
}

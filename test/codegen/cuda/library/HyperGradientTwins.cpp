//===- HyperGradientTwins.cpp - adjoints of hyper-connections -------------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

constexpr float epsilon = 1e-3f;

/// A row's streams, their maps and all gradients.
struct Problem {
  Problem(Random &random, int64_t rows, int64_t streams, int64_t width,
          int32_t mixing)
      : rows(rows), streams(streams), width(width), mixing(mixing),
        maps(mixing == BATON_MIXING_NONE       ? streams
             : mixing == BATON_MIXING_IDENTITY ? 2 * streams
                                               : streams * (streams + 2)),
        x(random.buffer(rows, streams * width, 2.0f)),
        dx(random.buffer(rows, streams * width)), y(random.buffer(rows, width)),
        logits(random.buffer(rows, maps, 3.0f)), dy(random.buffer(rows, maps)),
        statistics(random.buffer(rows, 2)), phi(random.vector(maps * x.width)),
        scale(random.vector(3)), base(random.vector(maps)) {}

  bool mixes() const { return mixing > BATON_MIXING_IDENTITY; }

  int64_t rows, streams, width;
  int32_t mixing;
  int64_t maps;
  Buffer x, dx, y, logits, dy, statistics;
  std::vector<float> phi, scale, base;
};

template <typename Check> void for_each_problem(uint32_t seed, Check check) {
  Random random(seed);
  for (int32_t mixing : {BATON_MIXING_NONE, BATON_MIXING_IDENTITY,
                         BATON_MIXING_FREE, BATON_MIXING_SINKHORN})
    for (int64_t streams : {1, 4, 8})
      for (int64_t width : {1, 33})
        for (int64_t rows : {0, 1, 10})
          check(Problem(random, rows, streams, width, mixing));
}

TWIN_TEST(baton_task_scale_rows) {
  for_each_problem(1, [&](const Problem &problem) {
    twin.agree([&](auto body) {
      Buffer out = problem.x;
      body(out.data(), out.stride, out.data(), out.stride,
           problem.statistics.data(), problem.statistics.stride, problem.rows,
           out.width);
      return out;
    });
  });
}

TWIN_TEST(baton_task_hyper_project_gradient) {
  for_each_problem(2, [&](const Problem &problem) {
    twin.agree([&](auto body) {
      Buffer out(problem.rows, problem.x.width);
      body(out.data(), out.stride, problem.dy.data(), problem.dy.stride,
           problem.x.data(), problem.x.stride, problem.phi.data(),
           problem.logits.data(), problem.logits.stride,
           problem.statistics.data(), problem.statistics.stride, problem.rows,
           problem.x.width, problem.maps);
      return out;
    });
  });
}

TWIN_TEST(baton_task_hyper_maps_gradient) {
  for_each_problem(3, [&](const Problem &problem) {
    for (int64_t iterations : {1, 7})
      for (bool return_sums : {false, true})
        twin.agree([&](auto body) {
          Buffer dlogits(problem.rows, problem.maps),
              dz(problem.rows, problem.maps);
          body(dlogits.data(), dlogits.stride, dz.data(), dz.stride,
               problem.dy.data(), problem.dy.stride, problem.logits.data(),
               problem.logits.stride, problem.scale.data(), problem.base.data(),
               problem.rows, problem.streams, problem.mixing, iterations,
               epsilon);
          return return_sums ? dz : dlogits;
        });
  });
}

TWIN_TEST(baton_task_hyper_scale_gradient) {
  const std::vector<int32_t> accumulations = {0, 1};
  for_each_problem(4, [&](const Problem &problem) {
    for (const int32_t &accumulate : accumulations)
      twin.agree([&](auto body) {
        std::vector<float> out = problem.scale;
        body(out.data(), problem.dy.data(), problem.dy.stride,
             problem.logits.data(), problem.logits.stride, problem.rows,
             problem.streams, problem.mixing, &accumulate);
        return out;
      });
  });
}

TWIN_TEST(baton_task_hyper_pre_gradient) {
  for_each_problem(5, [&](const Problem &problem) {
    for (bool return_weights : {false, true})
      twin.agree([&](auto body) {
        Buffer dx(problem.rows, problem.x.width),
            dweights(problem.rows, problem.streams);
        body(dx.data(), dx.stride, dweights.data(), dweights.stride,
             problem.y.data(), problem.y.stride, problem.x.data(),
             problem.x.stride, problem.logits.data(), problem.logits.stride,
             problem.rows, problem.streams, problem.width);
        return return_weights ? dweights : dx;
      });
  });
}

TWIN_TEST(baton_task_hyper_post_gradient) {
  for_each_problem(6, [&](const Problem &problem) {
    for (int returned : {0, 1, 2})
      twin.agree([&](auto body) {
        Buffer dx(problem.rows, problem.x.width),
            dy(problem.rows, problem.width),
            dweights(problem.rows, problem.maps);
        body(dx.data(), dx.stride, dy.data(), dy.stride, dweights.data(),
             dweights.stride, problem.dx.data(), problem.dx.stride,
             problem.x.data(), problem.x.stride, problem.y.data(),
             problem.y.stride, problem.logits.data(), problem.logits.stride,
             problem.rows, problem.streams, problem.width, problem.mixes());
        return returned == 0 ? dx : returned == 1 ? dy : dweights;
      });
  });
}

} // namespace

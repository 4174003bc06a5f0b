//===- HyperTwins.cpp - hyper-connections ---------------------------------===//

#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

constexpr float norm_epsilon = 1e-2f, epsilon = 1e-3f;
constexpr int64_t iterations = 7;

/// A row's streams, their maps and the parameters of these.
struct Problem {
  Problem(Random &random, int64_t rows, int64_t streams, int64_t width,
          int32_t mixing)
      : rows(rows), streams(streams), width(width), mixing(mixing),
        maps(mixing == BATON_MIXING_NONE       ? streams
             : mixing == BATON_MIXING_IDENTITY ? 2 * streams
                                               : streams * (streams + 2)),
        x(random.buffer(rows, streams * width, 2.0f)),
        y(random.buffer(rows, width)), logits(random.buffer(rows, maps, 4.0f)),
        phi(random.vector(maps * x.width)), scale(random.vector(3)),
        base(random.vector(maps)) {}

  bool mixes() const { return mixing > BATON_MIXING_IDENTITY; }

  int64_t rows, streams, width;
  int32_t mixing;
  int64_t maps;
  Buffer x, y, logits;
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

TWIN_TEST(baton_task_hyper_project) {
  for_each_problem(1, [&](const Problem &problem) {
    twin.agree([&](auto body) {
      Buffer out(problem.rows, problem.maps);
      body(out.data(), out.stride, problem.x.data(), problem.x.stride,
           problem.phi.data(), problem.rows, problem.x.width, problem.maps,
           norm_epsilon);
      return out;
    });
  });
}

TWIN_TEST(baton_task_hyper_maps) {
  for_each_problem(2, [&](const Problem &problem) {
    for (bool in_place : {false, true})
      twin.agree([&](auto body) {
        Buffer out =
            in_place ? problem.logits : Buffer(problem.rows, problem.maps);
        const Buffer &in = in_place ? out : problem.logits;
        body(out.data(), out.stride, in.data(), in.stride, problem.scale.data(),
             problem.base.data(), problem.rows, problem.streams, problem.mixing,
             iterations, epsilon);
        return out;
      });
  });
}

TWIN_TEST(baton_task_hyper_pre) {
  for_each_problem(3, [&](const Problem &problem) {
    twin.agree([&](auto body) {
      Buffer out(problem.rows, problem.width);
      body(out.data(), out.stride, problem.x.data(), problem.x.stride,
           problem.logits.data(), problem.logits.stride, problem.rows,
           problem.streams, problem.width);
      return out;
    });
  });
}

TWIN_TEST(baton_task_hyper_post) {
  for_each_problem(4, [&](const Problem &problem) {
    for (bool in_place : {false, true})
      twin.agree([&](auto body) {
        Buffer out =
            in_place ? problem.x : Buffer(problem.rows, problem.x.width);
        const Buffer &in = in_place ? out : problem.x;
        body(out.data(), out.stride, in.data(), in.stride, problem.y.data(),
             problem.y.stride, problem.logits.data(), problem.logits.stride,
             problem.rows, problem.streams, problem.width, problem.mixes());
        return out;
      });
  });
}

TWIN_TEST(baton_task_hyper_enter) {
  for_each_problem(5, [&](const Problem &problem) {
    for (bool return_maps : {false, true})
      twin.agree([&](auto body) {
        Buffer out(problem.rows, problem.width),
            maps(problem.rows, problem.maps);
        body(out.data(), out.stride, maps.data(), maps.stride, problem.x.data(),
             problem.x.stride, problem.phi.data(), problem.scale.data(),
             problem.base.data(), problem.rows, problem.streams, problem.width,
             norm_epsilon, problem.mixing, iterations, epsilon);
        return return_maps ? maps : out;
      });
  });
}

TWIN_TEST(baton_task_hyper_turn) {
  for_each_problem(6, [&](const Problem &problem) {
    for (int returned : {0, 1, 2})
      twin.agree([&](auto body) {
        Buffer streams = problem.x;
        Buffer out(problem.rows, problem.width),
            maps(problem.rows, problem.maps);
        body(streams.data(), streams.stride, out.data(), out.stride,
             maps.data(), maps.stride, streams.data(), streams.stride,
             problem.y.data(), problem.y.stride, problem.logits.data(),
             problem.logits.stride, problem.phi.data(), problem.scale.data(),
             problem.base.data(), problem.rows, problem.streams, problem.width,
             problem.mixes(), norm_epsilon, problem.mixing, iterations,
             epsilon);
        return returned == 0 ? streams : returned == 1 ? out : maps;
      });
  });
}

} // namespace

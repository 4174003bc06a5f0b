//===- AttentionGradientTwins.cpp - attention of sequences, its adjoints --===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

/// Several sequences in a step, one longer than a block.
struct Problem {
  Problem(Random &random, int64_t group, int64_t head_dim, int64_t value_dim,
          float softcap, int64_t window)
      : group(group), head_dim(head_dim), value_dim(value_dim),
        softcap(softcap), window(window), positions(positions_of_rows()),
        rows(static_cast<int64_t>(positions.size())),
        q(random.buffer(rows, group * head_dim, 2.0f)),
        keys(random.buffer(rows, head_dim, 2.0f)),
        values(random.buffer(rows, value_dim)),
        dout(random.buffer(rows, group * value_dim)),
        delta(random.buffer(rows, group)), statistics(rows, 2 * group),
        scratch(scratch_of(rows)) {
    Buffer out(rows, group * value_dim);
    baton_task_sequence_attention(
        out.data(), out.stride, statistics.data(), statistics.stride, q.data(),
        q.stride, keys.data(), keys.stride, values.data(), values.stride,
        positions.data(), 0, rows, group, head_dim, value_dim, scale, softcap,
        window, nullptr, scratch.data());
  }

  static std::vector<int32_t> positions_of_rows() {
    std::vector<int32_t> positions;
    for (int32_t length : {3, 1, 90, 20})
      for (int32_t position = 0; position < length; ++position)
        positions.push_back(position);
    return positions;
  }
  std::vector<float> scratch_of(int64_t tile) const {
    return std::vector<float>(baton_sequence_attention_scratch_bytes(
                                  tile, group, head_dim, value_dim) /
                              4);
  }

  static constexpr float scale = 0.3f;
  int64_t group, head_dim, value_dim;
  float softcap;
  int64_t window;
  std::vector<int32_t> positions;
  int64_t rows;
  Buffer q, keys, values, dout, delta, statistics;
  std::vector<float> scratch;
};

/// Calls check(problem, first row, rows) for tiles within and across sequences.
template <typename Check> void for_each_tile(uint32_t seed, Check check) {
  Random random(seed);
  for (const Problem &problem :
       {Problem(random, 1, 20, 13, 0.0f, 0), Problem(random, 3, 8, 8, 0.0f, 0),
        Problem(random, 2, 1, 5, 4.0f, 7),
        Problem(random, 2, 16, 16, 0.0f, 70)})
    for (auto [row, rows] :
         {std::pair<int64_t, int64_t>{0, 64}, {64, problem.rows - 64}, {70, 3}})
      check(problem, row, rows);
}

/// All that a body may write, one behind the other.
std::vector<float> together(const Buffer &one, const Buffer &other) {
  std::vector<float> all = one.values;
  all.insert(all.end(), other.values.begin(), other.values.end());
  return all;
}

TWIN_TEST(baton_task_sequence_attention) {
  // Below, among and above the scores.
  const std::vector<float> sinks = {0.4f, -9.0f, 7.0f};
  for_each_tile(1, [&](const Problem &problem, int64_t row, int64_t rows) {
    for (bool has_sinks : {false, true})
      twin.agree([&](auto body) {
        Buffer out(rows, problem.group * problem.value_dim),
            statistics(rows, 2 * problem.group);
        std::vector<float> scratch = problem.scratch_of(rows);
        body(out.data(), out.stride, statistics.data(), statistics.stride,
             problem.q.row(row), problem.q.stride, problem.keys.data(),
             problem.keys.stride, problem.values.data(), problem.values.stride,
             problem.positions.data(), row, rows, problem.group,
             problem.head_dim, problem.value_dim, problem.scale,
             problem.softcap, problem.window,
             has_sinks ? sinks.data() : nullptr, scratch.data());
        return together(out, statistics);
      });
  });
}

TWIN_TEST(baton_task_attention_sink_gradient) {
  const std::vector<float> sinks = {0.4f, -9.0f, 7.0f};
  for_each_tile(5, [&](const Problem &problem, int64_t row, int64_t rows) {
    twin.agree([&](auto body) {
      Buffer dsinks(rows, problem.group);
      body(dsinks.data(), dsinks.stride, problem.delta.row(row),
           problem.delta.stride, problem.statistics.row(row),
           problem.statistics.stride, sinks.data(),
           std::min(rows, problem.rows - row), problem.group);
      return dsinks;
    });
  });
}

TWIN_TEST(baton_task_attention_delta) {
  for_each_tile(2, [&](const Problem &problem, int64_t row, int64_t rows) {
    twin.agree([&](auto body) {
      Buffer delta(rows, problem.group);
      body(delta.data(), delta.stride, problem.dout.row(row),
           problem.dout.stride, problem.dout.row(0), problem.dout.stride,
           std::min(rows, problem.rows - row), problem.group,
           problem.value_dim);
      return delta;
    });
  });
}

TWIN_TEST(baton_task_attention_query_gradient) {
  for_each_tile(3, [&](const Problem &problem, int64_t row, int64_t rows) {
    twin.agree([&](auto body) {
      Buffer dq(rows, problem.group * problem.head_dim);
      std::vector<float> scratch = problem.scratch_of(rows);
      body(dq.data(), dq.stride, problem.dout.row(row), problem.dout.stride,
           problem.q.row(row), problem.q.stride, problem.keys.data(),
           problem.keys.stride, problem.values.data(), problem.values.stride,
           problem.delta.row(row), problem.delta.stride,
           problem.statistics.row(row), problem.statistics.stride,
           problem.positions.data(), row, rows, problem.group, problem.head_dim,
           problem.value_dim, problem.scale, problem.softcap, problem.window,
           scratch.data());
      return dq;
    });
  });
}

TWIN_TEST(baton_task_attention_key_value_gradient) {
  for_each_tile(4, [&](const Problem &problem, int64_t row, int64_t rows) {
    twin.agree([&](auto body) {
      Buffer dk(rows, problem.head_dim), dv(rows, problem.value_dim);
      std::vector<float> scratch = problem.scratch_of(rows);
      body(dk.data(), dk.stride, dv.data(), dv.stride, problem.dout.data(),
           problem.dout.stride, problem.q.data(), problem.q.stride,
           problem.keys.data(), problem.keys.stride, problem.values.data(),
           problem.values.stride, problem.delta.data(), problem.delta.stride,
           problem.statistics.data(), problem.statistics.stride,
           problem.positions.data(), row, rows, problem.rows, problem.group,
           problem.head_dim, problem.value_dim, problem.scale, problem.softcap,
           problem.window, scratch.data());
      return together(dk, dv);
    });
  });
}

} // namespace

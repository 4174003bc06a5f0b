//===- AttentionGradientTest.cpp - attention of sequences, its adjoints ---===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

std::vector<int32_t> positions_of(const std::vector<int64_t> &lengths) {
  std::vector<int32_t> positions;
  for (int64_t length : lengths)
    for (int64_t p = 0; p < length; ++p)
      positions.push_back(static_cast<int32_t>(p));
  return positions;
}

struct Shape {
  std::vector<int64_t> lengths = {70, 1, 20, 150, 5};
  int64_t group = 1;
  int64_t head_dim = 20;
  int64_t value_dim = 13;
  double softcap = 0.0;
  int64_t window = 0;
  bool has_sinks = false;

  oracle::SequenceAttention oracle() const {
    return {positions_of(lengths),
            group,
            head_dim,
            value_dim,
            0.25,
            softcap,
            window};
  }
};

struct Result {
  Buffer out;
  Buffer statistics;
  Buffer delta;
  Buffer dq;
  Buffer dk;
  Buffer dv;
  Buffer dsinks;

  void expect_same(const Result &other) const {
    expect_same_bits(out, other.out);
    expect_same_bits(statistics, other.statistics);
    expect_same_bits(delta, other.delta);
    expect_same_bits(dq, other.dq);
    expect_same_bits(dk, other.dk);
    expect_same_bits(dv, other.dv);
    expect_same_bits(dsinks, other.dsinks);
  }
};

struct Problem {
  Problem(Random &random, const Shape &of, float magnitude = 2.0f)
      : shape(of.oracle()), rows(static_cast<int64_t>(shape.positions.size())),
        q(random.buffer(rows, of.group * of.head_dim, magnitude)),
        keys(random.buffer(rows, of.head_dim, magnitude)),
        values(random.buffer(rows, of.value_dim)),
        dout(random.buffer(rows, of.group * of.value_dim)) {
    if (!of.has_sinks)
      return;
    // Some of which are larger than all scores, and some smaller.
    sinks = random.vector(of.group);
    for (float &sink : sinks)
      sink *= 8.0f;
    shape.sinks.assign(sinks.begin(), sinks.end());
  }

  /// In tiles of so many rows.
  Result run(int64_t tile) const {
    const int64_t group = shape.group;
    const int64_t head_dim = shape.head_dim;
    const int64_t value_dim = shape.value_dim;
    const float scale = static_cast<float>(shape.scale);
    const float softcap = static_cast<float>(shape.softcap);
    const int32_t *positions = shape.positions.data();
    Result result = {Buffer(rows, q.width),  Buffer(rows, 2 * group),
                     Buffer(rows, group),    Buffer(rows, q.width),
                     Buffer(rows, head_dim), Buffer(rows, value_dim),
                     Buffer(rows, group)};
    result.out = Buffer(rows, group * value_dim);
    // What buffers held before must not matter.
    for (Buffer *buffer : {&result.out, &result.statistics, &result.delta,
                           &result.dq, &result.dk, &result.dv})
      fill(*buffer, not_a_number);
    const float *own_sinks = sinks.empty() ? nullptr : sinks.data();
    Scratch scratch(baton_sequence_attention_scratch_bytes(
        std::min(tile, rows), group, head_dim, value_dim));
    for (int64_t r = 0; r < rows; r += tile) {
      const int64_t count = std::min(tile, rows - r);
      baton_task_sequence_attention(
          result.out.row(r), result.out.stride, result.statistics.row(r),
          result.statistics.stride, q.row(r), q.stride, keys.data(),
          keys.stride, values.data(), values.stride, positions, r, count, group,
          head_dim, value_dim, scale, softcap, shape.window, own_sinks,
          scratch.data());
      baton_task_attention_delta(result.delta.row(r), result.delta.stride,
                                 dout.row(r), dout.stride, result.out.row(r),
                                 result.out.stride, count, group, value_dim);
      if (own_sinks)
        baton_task_attention_sink_gradient(
            result.dsinks.row(r), result.dsinks.stride, result.delta.row(r),
            result.delta.stride, result.statistics.row(r),
            result.statistics.stride, own_sinks, count, group);
    }
    for (int64_t r = 0; r < rows; r += tile) {
      const int64_t count = std::min(tile, rows - r);
      baton_task_attention_query_gradient(
          result.dq.row(r), result.dq.stride, dout.row(r), dout.stride,
          q.row(r), q.stride, keys.data(), keys.stride, values.data(),
          values.stride, result.delta.row(r), result.delta.stride,
          result.statistics.row(r), result.statistics.stride, positions, r,
          count, group, head_dim, value_dim, scale, softcap, shape.window,
          scratch.data());
      baton_task_attention_key_value_gradient(
          result.dk.row(r), result.dk.stride, result.dv.row(r),
          result.dv.stride, dout.data(), dout.stride, q.data(), q.stride,
          keys.data(), keys.stride, values.data(), values.stride,
          result.delta.data(), result.delta.stride, result.statistics.data(),
          result.statistics.stride, positions, r, count, rows, group, head_dim,
          value_dim, scale, softcap, shape.window, scratch.data());
    }
    for (const Buffer *buffer :
         {&result.out, &result.statistics, &result.delta, &result.dq,
          &result.dk, &result.dv, &result.dsinks})
      expect_guards_intact(*buffer);
    return result;
  }

  /// Signs are random, so that chains err by the root of their length. Weights
  /// err by what scores do, absolutely; what they weigh, a chain over values of
  /// at most 1, passes through two more products.
  void expect_matches_oracle(int64_t tile) const {
    const Result actual = run(tile);
    const double heads = static_cast<double>(shape.head_dim);
    const double width = static_cast<double>(shape.value_dim);
    const double scores = 4.0 * shape.scale * std::sqrt(heads);
    const double weights =
        2.0 * rounding * (scores * std::sqrt(heads + 4.0) + 30.0);
    const double slopes = 2.0 * shape.scale * std::sqrt(width) *
                          (weights + std::sqrt(width + 4.0) * rounding);
    expect_within(actual.out,
                  shape.forward(q.matrix(), keys.matrix(), values.matrix()),
                  [&](int64_t, int64_t) { return weights; });
    const oracle::Matrix statistics =
        shape.statistics(q.matrix(), keys.matrix());
    expect_within(actual.statistics, statistics, [&](int64_t r, int64_t c) {
      return weights * std::max(1.0, std::fabs(statistics.at(r, c)));
    });
    const oracle::SequenceAttention::Gradient expected = shape.gradient(
        dout.matrix(), q.matrix(), keys.matrix(), values.matrix());
    expect_within(actual.dq, expected.dq,
                  [&](int64_t, int64_t) { return 4.0 * slopes; });
    expect_within(actual.dk, expected.dk, [&](int64_t, int64_t) {
      return 4.0 * static_cast<double>(shape.group) * slopes;
    });
    expect_within(actual.dv, expected.dv, [&](int64_t, int64_t) {
      return 4.0 * static_cast<double>(shape.group) * weights;
    });
    if (sinks.empty())
      return;
    expect_within(actual.dsinks, expected.dsinks, [&](int64_t, int64_t) {
      return 4.0 * std::sqrt(width) * weights;
    });
  }

  oracle::SequenceAttention shape;
  int64_t rows;
  Buffer q;
  Buffer keys;
  Buffer values;
  Buffer dout;
  std::vector<float> sinks;
};

TEST(AttentionGradient, OracleMatchesDifferences) {
  Random random(1);
  for (double softcap : {0.0, 1.5})
    for (int64_t window : {0, 3}) {
      Problem problem(random, {{1, 6, 4}, 2, 5, 3, softcap, window});
      const oracle::Matrix q = problem.q.matrix();
      const oracle::Matrix keys = problem.keys.matrix();
      const oracle::Matrix values = problem.values.matrix();
      const oracle::Matrix dout = problem.dout.matrix();
      const auto gradient = problem.shape.gradient(dout, q, keys, values);
      expect_adjoint(q, dout, gradient.dq, [&](const oracle::Matrix &moved) {
        return problem.shape.forward(moved, keys, values);
      });
      expect_adjoint(keys, dout, gradient.dk, [&](const oracle::Matrix &moved) {
        return problem.shape.forward(q, moved, values);
      });
      expect_adjoint(values, dout, gradient.dv,
                     [&](const oracle::Matrix &moved) {
                       return problem.shape.forward(q, keys, moved);
                     });
    }
}

/// Sinks as a row of numbers, of which each row has its own copy.
TEST(AttentionGradient, SinksHaveTheAdjointThatDifferencesSay) {
  Random random(8);
  for (int64_t window : {0, 3}) {
    Shape shape{{1, 6, 4}, 2, 5, 3, 0.0, window};
    shape.has_sinks = true;
    const Problem problem(random, shape);
    const oracle::Matrix q = problem.q.matrix();
    const oracle::Matrix keys = problem.keys.matrix();
    const oracle::Matrix values = problem.values.matrix();
    const oracle::Matrix dout = problem.dout.matrix();
    const auto gradient = problem.shape.gradient(dout, q, keys, values);
    expect_adjoint(q, dout, gradient.dq, [&](const oracle::Matrix &moved) {
      return problem.shape.forward(moved, keys, values);
    });
    oracle::Matrix sinks(1, 2), dsinks(1, 2);
    for (int64_t head = 0; head < 2; ++head) {
      sinks.at(0, head) = problem.shape.sinks[head];
      for (int64_t row = 0; row < problem.rows; ++row)
        dsinks.at(0, head) += gradient.dsinks.at(row, head);
    }
    expect_adjoint(sinks, dout, dsinks, [&](const oracle::Matrix &moved) {
      oracle::SequenceAttention other = problem.shape;
      other.sinks = moved.values;
      return other.forward(q, keys, values);
    });
  }
}

TEST(AttentionGradient, SinksMatchOracle) {
  Random random(9);
  for (int64_t group : {1, 3})
    for (int64_t window : {0, 17}) {
      Shape shape;
      shape.group = group;
      shape.window = window;
      shape.has_sinks = true;
      Problem problem(random, shape);
      problem.expect_matches_oracle(40);
      const Result whole = problem.run(problem.rows);
      for (int64_t tile : {1, 7, 64})
        problem.run(tile).expect_same(whole);
    }
}

TEST(AttentionGradient, MatchesOracle) {
  Random random(2);
  for (int64_t group : {1, 3})
    for (int64_t head_dim : {5, 20, 64})
      for (int64_t value_dim : {13, 64})
        for (const std::vector<int64_t> &lengths :
             {std::vector<int64_t>{1}, {7, 64, 3}, {70, 1, 20, 150, 5}}) {
          Problem(random, {lengths, group, head_dim, value_dim})
              .expect_matches_oracle(32);
          if (HasFatalFailure())
            FAIL() << "group " << group << " head_dim " << head_dim
                   << " value_dim " << value_dim << " first of "
                   << lengths.size() << " lengths " << lengths[0];
        }
}

TEST(AttentionGradient, WindowAndSoftcapMatchOracle) {
  Random random(3);
  for (int64_t window : {1, 3, 17, 64, 70, 1000})
    for (double softcap : {0.0, 2.0})
      for (int64_t group : {1, 2}) {
        Shape shape;
        shape.group = group;
        shape.softcap = softcap;
        shape.window = window;
        Problem(random, shape).expect_matches_oracle(40);
        if (HasFatalFailure())
          FAIL() << "window " << window << " softcap " << softcap << " group "
                 << group;
      }
}

TEST(AttentionGradient, TilesOfRowsDoNotChangeBits) {
  Random random(4);
  for (int64_t window : {0, 5, 40, 100})
    for (int64_t group : {1, 3}) {
      Shape shape;
      shape.group = group;
      shape.window = window;
      Problem problem(random, shape);
      const Result whole = problem.run(problem.rows);
      for (int64_t tile : {1, 2, 5, 6, 7, 16, 64, 100})
        problem.run(tile).expect_same(whole);
    }
}

TEST(AttentionGradient, SequencesHaveTheBitsOfAttentionAlone) {
  Random random(5);
  for (int64_t window : {0, 40}) {
    Shape shape;
    shape.group = 2;
    shape.softcap = 3.0;
    shape.window = window;
    Problem problem(random, shape);
    const Result result = problem.run(48);
    for (int64_t r = 0; r < problem.rows; ++r) {
      // A state: keys in panels.
      const int64_t position = problem.shape.positions[r];
      if (position % 7)
        continue;
      const int64_t first = r - position;
      std::vector<float> panels((position / 16 + 1) * 16 * shape.head_dim);
      baton_task_append_keys(panels.data(), problem.keys.row(first),
                             problem.keys.stride, 0, position + 1,
                             shape.head_dim);
      Scratch scratch(
          baton_attention_scratch_bytes(1, 2, shape.head_dim, shape.value_dim));
      Buffer out(1, 2 * shape.value_dim);
      baton_task_attention(out.data(), out.stride, problem.q.row(r), 0,
                           panels.data(), 0, problem.values.row(first),
                           problem.values.stride, 1, position, 2,
                           shape.head_dim, shape.value_dim, 0.25f, 3.0f, window,
                           nullptr, 0, 0, nullptr, scratch.data());
      expect_same_bits(out.row(0), result.out.row(r), out.width);
    }
  }
}

TEST(AttentionGradient, SequencesDoNotReachOneAnother) {
  Random random(6);
  Shape shape;
  shape.group = 2;
  Problem clean(random, shape);
  Problem poisoned = clean;
  // The sequence of rows 71 .. 90 is poisoned in every input.
  for (int64_t r = 71; r < 91; ++r)
    for (Buffer *buffer :
         {&poisoned.q, &poisoned.keys, &poisoned.values, &poisoned.dout})
      std::fill_n(buffer->row(r), buffer->width, not_a_number);
  for (int64_t tile : {1, 40, 246}) {
    const Result expected = clean.run(tile);
    const Result actual = poisoned.run(tile);
    auto compare = [&](const Buffer &one, const Buffer &other) {
      for (int64_t r = 0; r < one.rows; ++r)
        if (r < 71 || r >= 91)
          expect_same_bits(one.row(r), other.row(r), one.width);
      EXPECT_TRUE(std::isnan(one.at(80, 0)));
    };
    compare(actual.out, expected.out);
    compare(actual.dq, expected.dq);
    compare(actual.dk, expected.dk);
    compare(actual.dv, expected.dv);
  }
}

TEST(AttentionGradient, RowsThatSeeNothingOfEachOtherDoNotReachEachOther) {
  Random random(7);
  Shape shape;
  shape.lengths = {100};
  shape.window = 20;
  Problem clean(random, shape);
  Problem poisoned = clean;
  std::fill_n(poisoned.keys.row(50), shape.head_dim, not_a_number);
  const Result expected = clean.run(100);
  const Result actual = poisoned.run(100);
  for (int64_t r = 0; r < 100; ++r) {
    if (r < 50 || r >= 70)
      expect_same_bits(actual.dq.row(r), expected.dq.row(r), shape.head_dim);
    // Of keys, rows 50 .. 69 see others, from 31 on.
    if (r < 31 || r >= 70)
      expect_same_bits(actual.dk.row(r), expected.dk.row(r), shape.head_dim);
  }
  EXPECT_TRUE(std::isnan(actual.dq.at(50, 0)));
  EXPECT_TRUE(std::isnan(actual.dv.at(50, 0)));
}

} // namespace

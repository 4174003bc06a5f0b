//===- AttentionTest.cpp - attention over fixed blocks --------------------===//

#include "test/codegen/cpu/library/Support.h"

#include <algorithm>
#include <limits>

using namespace baton;
using namespace baton::test;

namespace {

/// One key/value head and its queries.
struct Problem {
  Problem(Random &random, int64_t rows, oracle::AttentionShape shape,
          float magnitude = 2.0f)
      : rows(rows), shape(shape),
        q(random.buffer(rows, shape.group * shape.head_dim, magnitude)),
        keys(random.buffer(shape.position + rows, shape.head_dim, magnitude)),
        values(random.buffer(shape.position + rows, shape.value_dim)),
        gates(random.buffer(rows, shape.group * shape.value_dim, 6.0f)) {}

  /// Keys or values as a state holds them, appended in runs that straddle
  /// panels; positions behind the last are NaN.
  template <typename Append>
  static std::vector<float> panels(const Buffer &of, Append append) {
    std::vector<float> panels((of.rows + 15) / 16 * 16 * of.width + 1,
                              std::numeric_limits<float>::quiet_NaN());
    panels.back() = Buffer::guard;
    int64_t size = 1;
    for (int64_t first = 0; first < of.rows; first += size, size += 4)
      append(panels.data(), of.row(first), of.stride, first,
             std::min(size, of.rows - first), of.width);
    EXPECT_EQ(panels.back(), Buffer::guard) << "panels overrun";
    return panels;
  }

  /// Rows [first, first + count) as one tile.
  void run(Buffer &out, int64_t first, int64_t count, const float *key_data,
           int64_t key_stride, const float *value_data,
           int64_t value_stride) const {
    const int64_t bytes = baton_attention_scratch_bytes(
        count, shape.group, shape.head_dim, shape.value_dim);
    std::vector<float> scratch(bytes / 4 + 1,
                               std::numeric_limits<float>::quiet_NaN());
    scratch.back() = Buffer::guard;
    baton_task_attention(
        out.row(first), out.stride, q.row(first), q.stride, key_data,
        key_stride, value_data, value_stride, count, shape.position + first,
        shape.group, shape.head_dim, shape.value_dim,
        static_cast<float>(shape.scale), static_cast<float>(shape.softcap),
        shape.window, gate_width ? gates.row(first) : nullptr, gates.stride,
        gate_width, sinks.empty() ? nullptr : sinks.data(), scratch.data());
    EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
  }

  Buffer run(int64_t tile, const float *key_data, int64_t key_stride,
             const float *value_data, int64_t value_stride) const {
    Buffer out(rows, shape.group * shape.value_dim);
    // What a buffer held before must not matter.
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(out.row(r), out.width,
                  std::numeric_limits<float>::quiet_NaN());
    for (int64_t first = 0; first < rows; first += tile)
      run(out, first, std::min(tile, rows - first), key_data, key_stride,
          value_data, value_stride);
    return out;
  }

  /// Rows in tiles and positions in parts of `split`, whose blocks are merged
  /// in the end, head by head.
  Buffer run_split(int64_t tile, int64_t split, const float *key_data,
                   int64_t key_stride, const float *value_data,
                   int64_t value_stride) const {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const int64_t blocks = (shape.position + rows + 63) / 64;
    const int64_t width = baton_attention_partial_width(shape.value_dim);
    const int64_t row_stride = shape.group * blocks * width + 3;
    std::vector<float> partials(rows * row_stride, nan);
    Buffer out(rows, shape.group * shape.value_dim);
    for (int64_t r = 0; r < rows; ++r) {
      std::fill_n(out.row(r), out.width, nan);
      std::fill_n(&partials[(r + 1) * row_stride - 3], 3, Buffer::guard);
    }
    for (int64_t first = 0; first < rows; first += tile) {
      const int64_t count = std::min(tile, rows - first);
      const int64_t bytes = baton_attention_scratch_bytes(
          count, shape.group, shape.head_dim, shape.value_dim);
      // Neither their order nor what their scratch holds matters.
      for (int64_t part = (blocks * 64 - 1) / split; part >= 0; --part) {
        std::vector<float> scratch(bytes / 4 + 1, nan);
        scratch.back() = Buffer::guard;
        baton_task_attention_partial(
            &partials[first * row_stride + part * split / 64 * width],
            row_stride, q.row(first), q.stride, key_data, key_stride,
            value_data, value_stride, count, shape.position + first,
            shape.group, shape.head_dim, shape.value_dim,
            static_cast<float>(shape.scale), static_cast<float>(shape.softcap),
            shape.window, part * split, split, blocks * width, scratch.data());
        EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
      }
      for (int64_t head = 0; head < shape.group; ++head)
        baton_task_attention_merge(
            out.row(first) + head * shape.value_dim, out.stride,
            &partials[first * row_stride + head * blocks * width], row_stride,
            count, shape.position + first, shape.value_dim, shape.window,
            gate_width ? gates.row(first) + head * gate_width : nullptr,
            gates.stride, gate_width,
            sinks.empty() ? nullptr : sinks.data() + head);
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 1; i <= 3; ++i)
        EXPECT_EQ(partials[(r + 1) * row_stride - i], Buffer::guard)
            << "partial results overrun";
    return out;
  }

  /// With keys and values in rows and in panels.
  void expect_split_agrees(int64_t tile, int64_t split) const {
    const std::vector<float> key_panels = panels(keys, baton_task_append_keys);
    const std::vector<float> value_panels =
        panels(values, baton_task_append_values);
    expect_same_bits(
        run_split(tile, split, key_panels.data(), 0, value_panels.data(), 0),
        run(tile, key_panels.data(), 0, value_panels.data(), 0));
    expect_same_bits(
        run_split(tile, split, keys.data(), keys.stride, values.data(),
                  values.stride),
        run(tile, keys.data(), keys.stride, values.data(), values.stride));
  }

  /// With keys and values in rows and in panels, which have to give the same
  /// bits.
  Buffer run(int64_t tile) const {
    const std::vector<float> key_panels = panels(keys, baton_task_append_keys);
    const std::vector<float> value_panels =
        panels(values, baton_task_append_values);
    Buffer out =
        run(tile, keys.data(), keys.stride, values.data(), values.stride);
    expect_same_bits(
        run(tile, key_panels.data(), 0, values.data(), values.stride), out);
    expect_same_bits(
        run(tile, keys.data(), keys.stride, value_panels.data(), 0), out);
    expect_same_bits(run(tile, key_panels.data(), 0, value_panels.data(), 0),
                     out);
    return out;
  }

  int64_t rows;
  oracle::AttentionShape shape;
  Buffer q;
  Buffer keys;
  Buffer values;
  Buffer gates;
  /// 0: no gates.
  int64_t gate_width = 0;
  /// One for each head, or none.
  std::vector<float> sinks;
};

/// Weights sum to one and values are at most 1: the output errs by the
/// weights' relative error, which is the scores' absolute error (magnitudes up
/// to 4 head_dim scale) and a few roundings for exponentials and sums.
double bound(const oracle::AttentionShape &shape) {
  double scores = static_cast<double>(shape.head_dim) * 4.0 * shape.scale;
  return 2.0 * rounding *
         (scores * static_cast<double>(shape.head_dim + 4) + 100.0);
}

TEST(Attention, MatchesOracle) {
  Random random(1);
  for (int64_t head_dim : {5, 64})
    for (int64_t value_dim : {5, 33, 64, 100})
      for (int64_t group : {1, 2, 3, 8})
        for (int64_t rows : {1, 2, 7, 48})
          for (int64_t position : {0, 1, 63, 64, 150}) {
            Problem problem(random, rows,
                            {position, group, head_dim, value_dim,
                             1.0 / std::sqrt(head_dim), 0.0, 0});
            Buffer out = problem.run(rows);
            expect_within(
                out,
                oracle::attention(problem.q.matrix(), problem.keys.matrix(),
                                  problem.values.matrix(), problem.shape),
                [&](int64_t, int64_t) { return bound(problem.shape); });
            if (HasFatalFailure())
              FAIL() << "head_dim " << head_dim << " value_dim " << value_dim
                     << " group " << group << " rows " << rows << " position "
                     << position;
          }
}

TEST(Attention, WindowAndSoftcapMatchOracle) {
  Random random(2);
  for (int64_t window : {0, 1, 3, 17, 64, 70, 1000})
    for (double softcap : {0.0, 5.0})
      for (int64_t group : {1, 3})
        for (int64_t position : {0, 60, 130}) {
          Problem problem(random, 9,
                          {position, group, 16, 24, 0.25, softcap, window});
          Buffer out = problem.run(9);
          expect_within(
              out,
              oracle::attention(problem.q.matrix(), problem.keys.matrix(),
                                problem.values.matrix(), problem.shape),
              [&](int64_t, int64_t) { return bound(problem.shape); });
          if (HasFatalFailure())
            FAIL() << "window " << window << " softcap " << softcap << " group "
                   << group << " position " << position;
        }
}

TEST(Attention, SinksMatchOracle) {
  Random random(9);
  // Above and below all scores, and among them.
  for (float around : {-30.0f, 0.0f, 2.0f, 30.0f})
    for (int64_t window : {0, 17})
      for (int64_t group : {1, 3})
        for (int64_t position : {0, 60, 130}) {
          Problem problem(random, 9,
                          {position, group, 16, 24, 0.25, 0.0, window});
          for (int64_t head = 0; head < group; ++head)
            problem.sinks.push_back(around + random.value());
          problem.shape.sinks = doubles(problem.sinks);
          Buffer out = problem.run(9);
          expect_within(
              out,
              oracle::attention(problem.q.matrix(), problem.keys.matrix(),
                                problem.values.matrix(), problem.shape),
              [&](int64_t, int64_t) { return bound(problem.shape); });
          expect_same_bits(problem.run(4), out);
          problem.gate_width = 1;
          problem.expect_split_agrees(9, 64);
          if (HasFailure())
            FAIL() << "sinks around " << around << " window " << window
                   << " group " << group << " position " << position;
        }
  // A row whose scores are all infinitely low has nothing but its sink.
  Problem low(random, 2, {70, 1, 4, 16, 1.0, 0.0, 0});
  low.sinks = {0.5f};
  for (int64_t r = 0; r < 2; ++r)
    std::fill_n(low.q.row(r), 4, 1.0f);
  for (int64_t key = 0; key < 72; ++key)
    std::fill_n(low.keys.row(key), 4, -std::numeric_limits<float>::infinity());
  Buffer zeros = low.run(2);
  for (int64_t c = 0; c < 16; ++c)
    EXPECT_EQ(zeros.at(1, c), 0.0f);
}

TEST(Attention, TilesOfRowsDoNotChangeBits) {
  Random random(3);
  for (int64_t window : {0, 5, 40, 100})
    for (int64_t group : {1, 2, 3, 4})
      for (int64_t value_dim : {20, 64}) {
        Problem problem(random, 140,
                        {10, group, 33, value_dim, 0.2, 0.0, window});
        Buffer whole = problem.run(140);
        for (int64_t tile : {1, 2, 3, 5, 7, 16, 64})
          expect_same_bits(problem.run(tile), whole);
      }
}

TEST(Attention, GatesCloseHeadsOrElements) {
  Random random(7);
  for (int64_t value_dim : {5, 16, 33})
    for (int64_t group : {1, 3})
      for (int64_t gate_width : {int64_t(1), value_dim}) {
        Problem problem(random, 9, {70, group, 12, value_dim, 0.25, 0.0, 0});
        Buffer open = problem.run(9);
        problem.gate_width = gate_width;
        Buffer gated = problem.run(9);
        auto gate = [&](int64_t r, int64_t c) {
          float logit =
              problem.gates.at(r, gate_width == 1 ? c / value_dim : c);
          return 1.0 / (1.0 + std::exp(-double(logit)));
        };
        expect_within(
            gated,
            [&] {
              oracle::Matrix expected = open.matrix();
              for (int64_t r = 0; r < expected.rows; ++r)
                for (int64_t c = 0; c < expected.columns; ++c)
                  expected.at(r, c) *= gate(r, c);
              return expected;
            }(),
            [&](int64_t r, int64_t c) {
              return 8.0 * rounding * std::fabs(open.at(r, c));
            });
        // The op by itself computes the same bits, also in place.
        Buffer alone = open;
        baton_task_gate(alone.data(), alone.stride, open.data(), open.stride,
                        problem.gates.data(), problem.gates.stride, 9, group,
                        value_dim, gate_width);
        expect_same_bits(alone, gated);
        baton_task_gate(open.data(), open.stride, open.data(), open.stride,
                        problem.gates.data(), problem.gates.stride, 9, group,
                        value_dim, gate_width);
        expect_same_bits(open, gated);
        // Tiles of rows do not change bits here either.
        expect_same_bits(problem.run(4), gated);
      }
}

TEST(Attention, ReadsOnlyVisiblePositions) {
  Random random(4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t window : {0, 20}) {
    Problem clean(random, 40, {50, 2, 16, 16, 0.25, 0.0, window});
    Buffer expected = clean.run(40);
    // Rows up to 24 of the whole tile must not notice what only later rows see.
    Problem poisoned = clean;
    for (int64_t key = 50 + 25; key < 90; ++key)
      for (int64_t d = 0; d < 16; ++d)
        poisoned.keys.row(key)[d] = poisoned.values.row(key)[d] = nan;
    Buffer actual = poisoned.run(40);
    for (int64_t r = 0; r < 25; ++r)
      expect_same_bits(actual.row(r), expected.row(r), 32);
    expect_same_bits(poisoned.run(1), actual);
    EXPECT_TRUE(std::isnan(actual.at(25, 0)));
    if (window == 0)
      continue;
    // What has left the window of every row must not matter either.
    poisoned = clean;
    for (int64_t key = 0; key <= 50 - window; ++key)
      for (int64_t d = 0; d < 16; ++d)
        poisoned.keys.row(key)[d] = poisoned.values.row(key)[d] = nan;
    expect_same_bits(poisoned.run(40), expected);
    expect_same_bits(poisoned.run(1), expected);
  }
}

TEST(Attention, PartsOfThePositionsMergeToTheSameBits) {
  Random random(8);
  for (int64_t rows : {1, 2, 7})
    for (int64_t position : {0, 63, 64, 300})
      for (int64_t window : {0, 1, 40, 150})
        for (int64_t group : {1, 3})
          for (int64_t value_dim : {16, 37}) {
            Problem problem(random, rows,
                            {position, group, 20, value_dim, 0.25,
                             window == 40 ? 5.0 : 0.0, window});
            for (int64_t gate_width : {int64_t(0), int64_t(1), value_dim})
              for (int64_t split : {64, 128, 1024}) {
                problem.gate_width = gate_width;
                problem.expect_split_agrees(rows, split);
                if (HasFailure())
                  FAIL() << rows << " rows at " << position << ", window "
                         << window << ", group " << group << ", split " << split
                         << ", gates of " << gate_width;
              }
          }
  // Tiles of rows, and more blocks than a warp has lanes.
  Problem tall(random, 40, {100, 2, 16, 24, 0.25, 0.0, 70});
  tall.expect_split_agrees(16, 64);
  Problem(random, 1, {3000, 2, 16, 40, 0.25, 0.0, 0})
      .expect_split_agrees(1, 256);
  // Large scores, and none but infinitely low ones.
  Problem(random, 2, {200, 1, 64, 16, 1.0, 0.0, 0}, 40.0f)
      .expect_split_agrees(2, 64);
  Problem low(random, 2, {170, 1, 4, 16, 1.0, 0.0, 0});
  for (int64_t r = 0; r < 2; ++r)
    std::fill_n(low.q.row(r), 4, 1.0f);
  for (int64_t key = 0; key < 172; ++key)
    std::fill_n(low.keys.row(key), 4, -std::numeric_limits<float>::infinity());
  low.expect_split_agrees(2, 64);
  std::fill_n(low.keys.row(100), 4, 1.0f);
  low.expect_split_agrees(2, 64);
}

TEST(Attention, ScoresBeyondExpRangeStayFinite) {
  Random random(5);
  Problem problem(random, 5, {100, 1, 64, 16, 1.0, 0.0, 0}, 40.0f);
  Buffer out = problem.run(5);
  for (int64_t r = 0; r < 5; ++r)
    for (int64_t c = 0; c < 16; ++c)
      EXPECT_LE(std::fabs(out.at(r, c)), 1.0f);
}

TEST(Attention, InfinitelyLowScoresGiveZeros) {
  Random random(6);
  Problem problem(random, 2, {70, 1, 4, 16, 1.0, 0.0, 0});
  for (int64_t r = 0; r < 2; ++r)
    std::fill_n(problem.q.row(r), 4, 1.0f);
  for (int64_t key = 0; key < 72; ++key)
    std::fill_n(problem.keys.row(key), 4,
                -std::numeric_limits<float>::infinity());
  Buffer out = problem.run(2);
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t c = 0; c < 16; ++c)
      EXPECT_EQ(out.at(r, c), 0.0f);
}

} // namespace

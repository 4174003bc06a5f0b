//===- SequenceMatrixTest.cpp - attention of training on tensor cores -----===//
//
// Attention of sequences and its adjoints in emulation or on a GPU: within a
// bound of the FP64 oracle on rounded inputs, with bits that depend on neither
// tiles nor blocks.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Gradients.h"
#include "test/codegen/cuda/library/PlacedTest.h"
#include "test/codegen/cuda/library/SequenceMatrixBodies.h"

using namespace baton;
using namespace baton::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The nearest number of so many significant bits, of two the even one; no bit
/// is less than 2^-24, which is the last of F16.
float rounded(float value, int bits) {
  int exponent;
  std::frexp(value, &exponent);
  const int last =
      bits == 11 ? std::max(exponent - bits, -24) : exponent - bits;
  return static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(double(value), -last)), last));
}

/// Rows as bodies demand them: aligned, with a stride that is a multiple of 4.
/// What is between them is NaN.
Buffer aligned(const Buffer &source) {
  Buffer result(source.rows, source.width);
  result.stride = (source.width + 7) / 4 * 4;
  result.values.assign(result.rows * result.stride, not_a_number);
  for (int64_t r = 0; r < source.rows; ++r)
    std::copy_n(source.row(r), source.width, result.row(r));
  return result;
}

struct Shape {
  int64_t group = 2;
  int64_t window = 0;
  double softcap = 0.0;
  std::vector<int64_t> lengths = {3, 1, 90, 20};
};

struct Result {
  Buffer out, statistics, delta, dq, dk, dv;

  std::array<const Buffer *, 5> all() const {
    return {&out, &statistics, &dq, &dk, &dv};
  }
  void expect_same(const Result &other) const {
    for (size_t i = 0; i < all().size(); ++i)
      expect_same_bits(*all()[i], *other.all()[i]);
  }
};

struct Problem {
  Problem(Random &random, const SequenceMatrixBodies &bodies,
          const Shape &shape)
      : of{{},   shape.group,   bodies.head_dim, bodies.value_dim,
           0.25, shape.softcap, shape.window},
        bits(bodies.in_f16 ? 11 : 8), rows(0), q(0, 0), keys(0, 0),
        values(0, 0), dout(0, 0) {
    for (int64_t length : shape.lengths)
      for (int64_t position = 0; position < length; ++position)
        of.positions.push_back(static_cast<int32_t>(position));
    rows = static_cast<int64_t>(of.positions.size());
    q = aligned(random.buffer(rows, of.group * of.head_dim, magnitude));
    keys = aligned(random.buffer(rows, of.head_dim, magnitude));
    values = aligned(random.buffer(rows, of.value_dim));
    dout = aligned(random.buffer(rows, of.group * of.value_dim));
    round(dout);
  }

  void round(Buffer &buffer) const {
    for (int64_t r = 0; r < buffer.rows; ++r)
      for (int64_t c = 0; c < buffer.width; ++c)
        buffer.row(r)[c] = rounded(buffer.at(r, c), bits);
  }
  oracle::Matrix exact(Buffer buffer) const {
    round(buffer);
    return buffer.matrix();
  }

  /// In tiles of so many rows.
  Result run(const SequenceMatrixBodies &bodies, int64_t tile = 64,
             uint64_t seed = 0) const {
    const float scale = static_cast<float>(of.scale);
    const float softcap = static_cast<float>(of.softcap);
    const int32_t *positions = of.positions.data();
    Result result = {Buffer(rows, dout.width),  Buffer(rows, 2 * of.group),
                     Buffer(rows, of.group),    Buffer(rows, q.width),
                     Buffer(rows, of.head_dim), Buffer(rows, of.value_dim)};
    // What buffers held before must not matter.
    for (Buffer *buffer :
         {&result.out, &result.statistics, &result.dq, &result.dk, &result.dv})
      for (int64_t r = 0; r < rows; ++r)
        std::fill_n(buffer->row(r), buffer->width, not_a_number);
    for (int64_t r = 0; r < rows; r += tile) {
      const int64_t count = std::min(tile, rows - r);
      EXPECT_TRUE(bodies.run(
          "sequence_attention", bodies.forward, bodies.forward_bytes, seed,
          result.out.row(r), result.out.stride, result.statistics.row(r),
          result.statistics.stride, q.row(r), q.stride, keys.data(),
          keys.stride, values.data(), values.stride, positions, r, count,
          of.group, of.head_dim, of.value_dim, scale, softcap, of.window,
          sinks.empty() ? nullptr : sinks.data(), nullptr));
    }
    baton_task_attention_delta(result.delta.data(), result.delta.stride,
                               dout.data(), dout.stride, result.out.data(),
                               result.out.stride, rows, of.group, of.value_dim);
    for (int64_t r = 0; r < rows; r += tile) {
      const int64_t count = std::min(tile, rows - r);
      EXPECT_TRUE(bodies.run(
          "attention_query_gradient", bodies.query_gradient, bodies.query_bytes,
          seed, result.dq.row(r), result.dq.stride, dout.row(r), dout.stride,
          q.row(r), q.stride, keys.data(), keys.stride, values.data(),
          values.stride, result.delta.row(r), result.delta.stride,
          result.statistics.row(r), result.statistics.stride, positions, r,
          count, of.group, of.head_dim, of.value_dim, scale, softcap, of.window,
          nullptr));
      EXPECT_TRUE(bodies.run(
          "attention_key_value_gradient", bodies.key_value_gradient,
          bodies.key_value_bytes, seed, result.dk.row(r), result.dk.stride,
          result.dv.row(r), result.dv.stride, dout.data(), dout.stride,
          q.data(), q.stride, keys.data(), keys.stride, values.data(),
          values.stride, result.delta.data(), result.delta.stride,
          result.statistics.data(), result.statistics.stride, positions, r,
          count, rows, of.group, of.head_dim, of.value_dim, scale, softcap,
          of.window, nullptr));
    }
    for (const Buffer *buffer : result.all())
      expect_guards_intact(*buffer);
    return result;
  }

  /// Values and dout are at most 1. A score errs by its sums, absolutely, and
  /// so do weights, relatively; those and gradients of scores are rounded.
  /// - The output errs as weights do, in numerator and denominator.
  /// - A column of weights, which the oracle sums, makes a row of dv.
  /// - A gradient of scores is a weight times a difference of at most
  ///   2 value_dim, which errs as the output does where it is delta. Products
  ///   with keys of one row, whose weights are 1 together, make dq; a column of
  ///   weights makes dk.
  void expect_matches_oracle(const SequenceMatrixBodies &bodies) const {
    const Result actual = run(bodies);
    const double half_unit = std::ldexp(1.0, -bits);
    const double width = static_cast<double>(of.value_dim);
    const double depth = static_cast<double>(of.head_dim);
    const double scores = depth * magnitude * magnitude * of.scale;
    const double weights = 2.0 * (scores * (depth + 8.0) * 2.0 * rounding +
                                  of.softcap * 8.0 * rounding + 0x1p-20 +
                                  static_cast<double>(rows) * 2.0 * rounding);
    const double outputs = half_unit * (1.0 + 0x1p-7) + weights;
    const double slopes = of.scale * magnitude *
                          (width * (2.0 * (half_unit + 2.0 * weights) +
                                    outputs + width * 4.0 * rounding) +
                           static_cast<double>(rows) * 0x1p-24);
    const oracle::Matrix exact_q = exact(q), exact_keys = exact(keys),
                         exact_values = exact(values);
    expect_within(actual.out, of.forward(exact_q, exact_keys, exact_values),
                  [&](int64_t, int64_t) { return outputs; });
    const oracle::Matrix statistics = of.statistics(exact_q, exact_keys);
    expect_within(actual.statistics, statistics, [&](int64_t r, int64_t c) {
      return weights * std::max(1.0, std::fabs(statistics.at(r, c)));
    });
    oracle::Matrix ones(rows, of.group * of.value_dim);
    std::fill(ones.values.begin(), ones.values.end(), 1.0);
    const oracle::Matrix columns =
        of.gradient(ones, exact_q, exact_keys, exact_values).dv;
    const oracle::SequenceAttention::Gradient expected =
        of.gradient(dout.matrix(), exact_q, exact_keys, exact_values);
    expect_within(actual.dq, expected.dq,
                  [&](int64_t, int64_t) { return slopes; });
    expect_within(actual.dk, expected.dk, [&](int64_t r, int64_t) {
      return slopes * columns.at(r, 0);
    });
    expect_within(actual.dv, expected.dv, [&](int64_t r, int64_t) {
      return outputs * columns.at(r, 0);
    });
  }

  static constexpr float magnitude = 2.0f;
  oracle::SequenceAttention of;
  /// Significant ones of operands.
  int bits;
  int64_t rows;
  Buffer q, keys, values, dout;
  std::vector<float> sinks;
};

void poison(Buffer &buffer, int64_t row) {
  std::fill_n(buffer.row(row), buffer.width, not_a_number);
}

/// Tests use bodies of 256 threads, which a GPU has, and others where those
/// run.
class SequenceMatrix : public PlacedTestOf<::testing::Test> {
protected:
  bool can_run() const override {
    return sequence_matrix_bodies()[5].can_run();
  }
};

TEST_F(SequenceMatrix, MatchesOracle) {
  Random random(1);
  for (const SequenceMatrixBodies &bodies : sequence_matrix_bodies()) {
    if (!bodies.can_run())
      continue;
    SCOPED_TRACE(std::to_string(bodies.threads) + " threads, " +
                 std::to_string(bodies.head_dim) + " and " +
                 std::to_string(bodies.value_dim));
    Problem(random, bodies, {}).expect_matches_oracle(bodies);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(SequenceMatrix, WindowsAndCapsMatchOracle) {
  Random random(2);
  const SequenceMatrixBodies &bodies = sequence_matrix_bodies()[5];
  for (auto [window, softcap] : {std::pair<int64_t, double>{0, 2.0},
                                 {1, 0.0},
                                 {17, 2.0},
                                 {64, 0.0},
                                 {70, 2.0},
                                 {1000, 0.0}}) {
    SCOPED_TRACE("window " + std::to_string(window));
    Problem(random, bodies, {1, window, softcap, {2, 150, 16}})
        .expect_matches_oracle(bodies);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(SequenceMatrix, SinksMatchOracle) {
  Random random(7);
  const SequenceMatrixBodies &bodies = sequence_matrix_bodies()[5];
  Problem problem(random, bodies, {2, 17, 0.0, {2, 90}});
  // Among the scores, and above all of them.
  problem.sinks = {0.5f, 20.0f};
  problem.of.sinks = {0.5, 20.0};
  problem.expect_matches_oracle(bodies);
}

/// Nor does the order of threads.
TEST_F(SequenceMatrix, TilesAndBlocksDoNotChangeBits) {
  Random random(3);
  const SequenceMatrixBodies *bodies = sequence_matrix_bodies().data();
  for (int64_t window : {0, 40}) {
    const Problem problem(random, bodies[0], {3, window, 0.0, {70, 1, 30}});
    const Result whole = problem.run(bodies[2], problem.rows);
    for (int i : {0, 1, 2})
      for (int64_t tile : {7, 48}) {
        if ((tile == 7 && i == 2) || !bodies[i].can_run())
          continue;
        problem.run(bodies[i], tile, 5).expect_same(whole);
        if (HasFatalFailure())
          FAIL() << bodies[i].threads << " threads, tiles of " << tile;
      }
  }
}

TEST_F(SequenceMatrix, RoundsOperands) {
  Random random(4);
  for (int i : {2, 5}) {
    const SequenceMatrixBodies &bodies = sequence_matrix_bodies()[i];
    Problem problem(random, bodies, {});
    const Result expected = problem.run(bodies);
    for (Buffer *buffer : {&problem.q, &problem.keys, &problem.values})
      problem.round(*buffer);
    problem.run(bodies).expect_same(expected);
  }
}

TEST_F(SequenceMatrix, SequencesDoNotReachOneAnother) {
  Random random(5);
  const SequenceMatrixBodies &bodies = sequence_matrix_bodies()[5];
  const Problem clean(random, bodies, {2, 0, 0.0, {30, 20, 50}});
  Problem poisoned = clean;
  for (int64_t r = 30; r < 50; ++r)
    for (Buffer *buffer :
         {&poisoned.q, &poisoned.keys, &poisoned.values, &poisoned.dout})
      poison(*buffer, r);
  const Result expected = clean.run(bodies), actual = poisoned.run(bodies);
  for (size_t i = 0; i < expected.all().size(); ++i) {
    const Buffer &one = *actual.all()[i], &other = *expected.all()[i];
    for (int64_t r = 0; r < clean.rows; ++r)
      if (r < 30 || r >= 50)
        expect_same_bits(one.row(r), other.row(r), one.width);
    EXPECT_TRUE(std::isnan(one.at(45, one.width - 1))) << i;
  }
}

/// Whoever sees what is not finite is not finite.
TEST_F(SequenceMatrix, PassesOnWhatIsNotFinite) {
  Random random(6);
  const SequenceMatrixBodies &bodies = sequence_matrix_bodies()[5];
  const Problem clean(random, bodies, {1, 20, 0.0, {100}});
  auto finite = [](const Buffer &buffer, int64_t row) {
    return std::isfinite(buffer.at(row, 0));
  };
  Problem problem = clean;
  std::fill_n(problem.dout.row(50), problem.dout.width, infinity);
  Result result = problem.run(bodies);
  EXPECT_FALSE(finite(result.dq, 50));
  for (int64_t key = 31; key <= 50; ++key)
    EXPECT_FALSE(finite(result.dk, key) || finite(result.dv, key)) << key;
  // Blocks of queries and of keys that have no part in it.
  EXPECT_TRUE(finite(result.dq, 70) && finite(result.dq, 5));
  EXPECT_TRUE(finite(result.dk, 70) && finite(result.dv, 70));

  problem = clean;
  poison(problem.keys, 50);
  result = problem.run(bodies);
  for (int64_t query = 50; query < 70; ++query)
    EXPECT_FALSE(finite(result.out, query) || finite(result.dq, query))
        << query;
  for (int64_t query = 0; query < 50; ++query)
    EXPECT_TRUE(finite(result.out, query)) << query;
  EXPECT_FALSE(finite(result.dk, 50) || finite(result.dv, 50));

  // Beyond the range of F16 only.
  for (int i : {2, 5}) {
    const SequenceMatrixBodies &either = sequence_matrix_bodies()[i];
    Problem large(random, either, {1, 0, 0.0, {20}});
    large.dout.row(10)[3] = 1e5f;
    const Result gradients = large.run(either);
    EXPECT_EQ(finite(gradients.dq, 10), !either.in_f16);
    EXPECT_EQ(std::isfinite(gradients.dv.at(10, 3)), !either.in_f16);
  }
}

/// As attention_shape.h's formulas say, for whoever reserves it without them.
TEST(SequenceMatrixFormula, SharedMemory) {
  for (const SequenceMatrixBodies &bodies : sequence_matrix_bodies())
    if (bodies.head_dim == 64) {
      EXPECT_EQ(bodies.query_bytes, 64512);
      EXPECT_EQ(bodies.key_value_bytes, 75264);
    }
}

} // namespace

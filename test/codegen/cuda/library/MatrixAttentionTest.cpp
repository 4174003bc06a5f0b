//===- MatrixAttentionTest.cpp - attention on tensor cores ----------------===//
//
// baton_matrix_attention in emulation or on a GPU: within a bound of the FP64
// oracle on inputs rounded to BF16, with bits that depend on a row's position
// only.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Support.h"
#include "test/codegen/cuda/library/MatrixAttentionBody.h"
#include "test/codegen/cuda/library/PlacedTest.h"

#include <limits>

using namespace baton;
using namespace baton::test;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// The nearest BF16, of two the even one, by its definition: eight significant
/// bits. Magnitudes are far from the ends of the range.
float to_bf16(float value) {
  int exponent;
  const double significand = std::frexp(value, &exponent);
  return static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(significand, 8)), exponent - 8));
}

Buffer to_bf16(Buffer buffer) {
  for (int64_t r = 0; r < buffer.rows; ++r)
    for (int64_t c = 0; c < buffer.width; ++c)
      buffer.row(r)[c] = to_bf16(buffer.at(r, c));
  return buffer;
}

struct Shape {
  int64_t rows, position, group, head_dim, value_dim;
  int64_t window = 0;
  double softcap = 0.0;
  int64_t gate_width = 0;
  bool has_sinks = false;
};

std::string describe(const Shape &shape) {
  std::string text;
  for (auto [name, value] : {std::pair{"rows", shape.rows},
                             {"position", shape.position},
                             {"group", shape.group},
                             {"head_dim", shape.head_dim},
                             {"value_dim", shape.value_dim},
                             {"window", shape.window},
                             {"softcap", static_cast<int64_t>(shape.softcap)},
                             {"gate_width", shape.gate_width}})
    text += std::string(name) + " " + std::to_string(value) + " ";
  return text;
}

/// Floats aligned as a program's buffers are.
struct alignas(64) Line {
  float element[16];
};
class Aligned {
public:
  explicit Aligned(int64_t size) : lines((size + 15) / 16, filled(nan)) {}
  float *data() { return lines.data()->element; }
  const float *data() const { return lines.data()->element; }

private:
  static Line filled(float value) {
    Line line;
    std::fill_n(line.element, 16, value);
    return line;
  }
  std::vector<Line> lines;
};

enum class Layout { rows, panels };

/// One key/value head and its queries.
struct Problem {
  Problem(Random &random, const Shape &shape, float magnitude = 2.0f)
      : shape(shape), scale(1.0f / std::sqrt(float(shape.head_dim))),
        q(random.buffer(shape.rows, shape.group * shape.head_dim, magnitude)),
        keys(random.buffer(positions(), shape.head_dim, magnitude)),
        values(random.buffer(positions(), shape.value_dim)),
        gates(random.buffer(shape.rows, shape.group * shape.value_dim, 6.0f)),
        sinks(random.vector(shape.group)) {}

  int64_t positions() const { return shape.position + shape.rows; }

  /// Rows with a gap, or panels; what nobody may read is NaN.
  int64_t stride(const Buffer &of, Layout layout) const {
    return layout == Layout::rows ? of.width + gap : 0;
  }
  template <typename Append>
  Aligned laid_out(const Buffer &of, Layout layout, Append append) const {
    Aligned result((of.rows + 15) / 16 * 16 * (of.width + gap));
    if (layout == Layout::panels)
      append(result.data(), of.data(), of.stride, 0, of.rows, of.width);
    else
      for (int64_t r = 0; r < of.rows; ++r)
        std::copy_n(of.row(r), of.width,
                    result.data() + r * stride(of, layout));
    return result;
  }

  /// In tiles of `tile` rows.
  Buffer run(ThreadBlock block, Layout key_layout, Layout value_layout,
             int64_t tile) const {
    const Aligned key_data = laid_out(keys, key_layout, baton_task_append_keys);
    const Aligned value_data =
        laid_out(values, value_layout, baton_task_append_values);
    Buffer out(shape.rows, shape.group * shape.value_dim);
    for (int64_t r = 0; r < shape.rows; ++r)
      std::fill_n(out.row(r), out.width, nan);
    for (int64_t first = 0; first < shape.rows; first += tile) {
      const int64_t rows = std::min(tile, shape.rows - first);
      std::vector<float> scratch(
          baton_attention_scratch_bytes(rows, shape.group, shape.head_dim,
                                        shape.value_dim) /
              4,
          nan);
      EXPECT_TRUE(run_matrix_attention(
          block, {out.row(first),
                  out.stride,
                  q.row(first),
                  q.stride,
                  key_data.data(),
                  stride(keys, key_layout),
                  value_data.data(),
                  stride(values, value_layout),
                  rows,
                  shape.position + first,
                  shape.group,
                  shape.head_dim,
                  shape.value_dim,
                  scale,
                  static_cast<float>(shape.softcap),
                  shape.window,
                  shape.gate_width ? gates.row(first) : nullptr,
                  gates.stride,
                  shape.gate_width,
                  shape.has_sinks ? sinks.data() : nullptr,
                  scratch.data()}))
          << "shared memory overrun";
    }
    return out;
  }
  Buffer run(ThreadBlock block = {64, 0}) const {
    return run(block, Layout::panels, Layout::panels, shape.rows);
  }

  oracle::Matrix expected() const {
    oracle::Matrix result = oracle::attention(
        to_bf16(q).matrix(), to_bf16(keys).matrix(), to_bf16(values).matrix(),
        {shape.position, shape.group, shape.head_dim, shape.value_dim, scale,
         shape.softcap, shape.window,
         shape.has_sinks ? doubles(sinks) : std::vector<double>()});
    if (shape.gate_width)
      for (int64_t r = 0; r < result.rows; ++r)
        for (int64_t c = 0; c < result.columns; ++c)
          result.at(r, c) /=
              1.0 + std::exp(-double(gates.at(
                        r, shape.gate_width == 1 ? c / shape.value_dim : c)));
    return result;
  }

  /// The output is sum of w v / sum of w, with |v| <= 1. So it errs by at most
  /// the relative error of the weights in the numerator and that in the
  /// denominator, which are
  /// - 2^-9 where a weight is rounded to BF16, in the numerator only;
  /// - the absolute error of a score: the products are exact, `head_dim` sums
  ///   of up to head_dim * |q| |k| are rounded or, on a GPU, cut off, 2^-23
  ///   each, and some roundings more of scale and cap;
  /// - that of the exponentials, 2^-22, and of the maximum's changes, one for
  ///   each block and again for what follows;
  /// - that of the sums, one rounding for each position.
  double bound(float magnitude = 2.0f) const {
    const double scores =
        double(shape.head_dim) * magnitude * magnitude * scale;
    const double sums = static_cast<double>(positions()) * 2.0 * rounding;
    return 0x1p-9 * (1.0 + 0x1p-8) +
           2.0 * (scores * static_cast<double>(shape.head_dim + 8) * 2.0 *
                      rounding +
                  shape.softcap * 8.0 * rounding + 0x1p-20 + sums);
  }

  Shape shape;
  float scale;
  /// Between rows of keys and of values.
  int64_t gap = 4;
  Buffer q, keys, values, gates;
  std::vector<float> sinks;
};

void expect_matches_oracle(const Problem &problem, ThreadBlock block) {
  SCOPED_TRACE(describe(problem.shape) + "threads " +
               std::to_string(block.threads));
  const Buffer out = problem.run(block);
  expect_within(out, problem.expected(),
                [&](int64_t, int64_t) { return problem.bound(); });
  for (Layout key_layout : {Layout::rows, Layout::panels})
    for (Layout value_layout : {Layout::rows, Layout::panels})
      if (!::testing::Test::HasFatalFailure())
        expect_same_bits(
            problem.run(block, key_layout, value_layout, problem.shape.rows),
            out);
}

/// But for the oracle's, tests have dimensions that a GPU has a kernel of.
class MatrixAttention : public PlacedTestOf<::testing::Test> {
protected:
  bool can_run() const override { return can_run_matrix_attention(16, 32); }
};

TEST_F(MatrixAttention, MatchesOracle) {
  Random random(1);
  const Shape shapes[] = {
      {1, 0, 1, 16, 16},      {2, 0, 7, 16, 32},      {80, 0, 1, 64, 64},
      {80, 5, 4, 32, 16},     {17, 63, 2, 48, 96},    {33, 64, 7, 80, 64},
      {16, 100, 4, 128, 128}, {64, 130, 2, 128, 128}, {5, 300, 1, 96, 128},
      {9, 191, 2, 256, 256},  {20, 60, 7, 192, 128},  {3, 127, 4, 112, 240},
      {40, 250, 4, 64, 64},
  };
  for (const Shape &shape : shapes) {
    if (!can_run_matrix_attention(shape.head_dim, shape.value_dim))
      continue;
    expect_matches_oracle(Problem(random, shape),
                          {shape.head_dim <= 64 ? 256u : 64u, 0});
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MatrixAttention, WindowsCapsAndGatesMatchOracle) {
  Random random(2);
  for (int64_t window : {0, 1, 3, 17, 64, 70, 1000})
    for (double softcap : {0.0, 5.0})
      for (int64_t gate_width : {0, 1, 32})
        for (int64_t position : {0, 60, 131}) {
          expect_matches_oracle(Problem(random, {70, position, 2, 16, 32,
                                                 window, softcap, gate_width}),
                                {64, 0});
          if (HasFatalFailure())
            return;
        }
}

TEST_F(MatrixAttention, SinksMatchOracle) {
  Random random(5);
  for (int64_t window : {0, 17})
    for (int64_t position : {0, 60, 131}) {
      expect_matches_oracle(
          Problem(random, {70, position, 2, 16, 32, window, 0.0, 1, true}),
          {64, 0});
      if (HasFatalFailure())
        return;
    }
}

/// Tiles of rows, block sizes and the order of threads do not change bits.
TEST_F(MatrixAttention, RowsHaveTheirOwnBits) {
  Random random(3);
  for (int64_t window : {0, 5, 100})
    for (int64_t group : {1, 4}) {
      const Problem problem(random, {80, 90, group, 64, 64, window, 0.0, 64});
      const Buffer out = problem.run({256, 0});
      for (int64_t tile : {1, 3, 16, 33, 64})
        for (ThreadBlock block : {ThreadBlock{32, 3}, {64, 0}, {256, 11}}) {
          SCOPED_TRACE(describe(problem.shape) + "tile " +
                       std::to_string(tile));
          if (tile < 16 && block.threads == 256)
            continue;
          expect_same_bits(
              problem.run(block, Layout::panels, Layout::rows, tile), out);
          if (HasFatalFailure())
            return;
        }
    }
}

TEST_F(MatrixAttention, RoundsToNearestEven) {
  for (uint32_t high : {0u, 0x3f80u, 0x3f81u, 0xbf81u, 0x7f00u, 0x0001u})
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const uint32_t up =
          low > 0x8000u || (low == 0x8000u && high % 2) ? 1u : 0u;
      const float value = std::bit_cast<float>(high << 16 | low);
      EXPECT_EQ(emulated_pack_bf16(value, 1.0f), 0x3f800000u + high + up);
      EXPECT_EQ(emulated_pack_bf16(1.0f, value), (high + up) << 16 | 0x3f80u);
    }
  EXPECT_EQ(emulated_pack_bf16(nan, infinity), 0x7f807fffu);
  // So do queries, keys and values.
  Random random(4);
  Problem problem(random, {20, 70, 2, 64, 64});
  const Buffer out = problem.run();
  problem.q = to_bf16(problem.q);
  problem.keys = to_bf16(problem.keys);
  problem.values = to_bf16(problem.values);
  expect_same_bits(problem.run(), out);
}

TEST_F(MatrixAttention, ReadsOnlyVisiblePositions) {
  Random random(5);
  for (int64_t window : {0, 20})
    for (Layout layout : {Layout::rows, Layout::panels}) {
      const Problem clean(random, {40, 50, 2, 16, 32, window});
      const Buffer expected = clean.run({64, 0}, layout, layout, 40);
      // A tile's rows must not notice what only later ones see, nor any row
      // a key that it does not see.
      Problem poisoned = clean;
      for (int64_t key = 50 + 25; key < 90; ++key)
        std::fill_n(poisoned.keys.row(key), 16, nan);
      for (int64_t key = 50 + 25; key < 90; ++key)
        std::fill_n(poisoned.values.row(key), 32, infinity);
      const Buffer actual = poisoned.run({64, 0}, layout, layout, 5);
      for (int64_t r = 0; r < 25; ++r)
        expect_same_bits(actual.row(r), expected.row(r), 64);
      EXPECT_TRUE(std::isnan(actual.at(25, 0)));
      poisoned.values = clean.values;
      const Buffer keys_only = poisoned.run({64, 0}, layout, layout, 40);
      for (int64_t r = 0; r < 25; ++r)
        expect_same_bits(keys_only.row(r), expected.row(r), 64);
      EXPECT_TRUE(std::isnan(keys_only.at(25, 0)));
      if (window == 0)
        continue;
      // What has left the window of every row must not matter either.
      poisoned = clean;
      for (int64_t key = 0; key <= 50 - window; ++key)
        for (int64_t d = 0; d < 16; ++d)
          poisoned.keys.row(key)[d] = poisoned.values.row(key)[d] = nan;
      expect_same_bits(poisoned.run({64, 0}, layout, layout, 40), expected);
    }
}

TEST_F(MatrixAttention, ExtremeScores) {
  Random random(6);
  // Beyond the range of exponentials.
  const Buffer out = Problem(random, {5, 100, 1, 64, 64}, 40.0f).run();
  for (int64_t r = 0; r < 5; ++r)
    for (int64_t c = 0; c < out.width; ++c)
      EXPECT_LE(std::fabs(out.at(r, c)), 1.0f);
  // Infinitely low scores, which count for nothing: of the first blocks, then
  // of all, which leaves zeros.
  for (int64_t low : {100, 142}) {
    Problem problem(random, {2, 140, 1, 16, 32});
    for (int64_t r = 0; r < 2; ++r)
      std::fill_n(problem.q.row(r), 16, 1.0f);
    for (int64_t key = 0; key < low; ++key)
      std::fill_n(problem.keys.row(key), 16, -infinity);
    const Buffer result = problem.run();
    if (low == 142) {
      for (int64_t r = 0; r < 2; ++r)
        for (int64_t c = 0; c < result.width; ++c)
          EXPECT_EQ(result.at(r, c), 0.0f);
      continue;
    }
    expect_within(result, problem.expected(),
                  [&](int64_t, int64_t) { return problem.bound(); });
  }
}

/// Where tensor cores do not suit, the portable body computes, and rounds
/// nothing to BF16.
TEST(MatrixAttentionPortable, OtherShapes) {
  Random random(7);
  auto expect_portable = [](const Problem &problem) {
    const Shape &shape = problem.shape;
    expect_within(
        problem.run({64, 0}, Layout::rows, Layout::rows, shape.rows),
        oracle::attention(problem.q.matrix(), problem.keys.matrix(),
                          problem.values.matrix(),
                          {shape.position, shape.group, shape.head_dim,
                           shape.value_dim, problem.scale, 0.0, 0}),
        [](int64_t, int64_t) { return 0x1p-14; });
  };
  for (Shape shape :
       {Shape{9, 70, 2, 20, 16}, {9, 70, 2, 16, 24}, {3, 70, 1, 272, 16}}) {
    SCOPED_TRACE(describe(shape));
    EXPECT_EQ(emulated_matrix_attention_shared_bytes(64, shape.head_dim,
                                                     shape.value_dim),
              0);
    expect_portable(Problem(random, shape));
  }
  Problem unaligned(random, {9, 70, 2, 16, 32});
  unaligned.gap = 3;
  expect_portable(unaligned);
}

/// As its comment says, for whoever reserves shared memory without it.
TEST(MatrixAttentionFormula, SharedMemory) {
  EXPECT_EQ(emulated_matrix_attention_shared_bytes(256, 64, 64), 38016);
  EXPECT_EQ(emulated_matrix_attention_shared_bytes(256, 128, 128), 71808);
  EXPECT_EQ(emulated_matrix_attention_shared_bytes(256, 256, 256), 139392);
}

} // namespace

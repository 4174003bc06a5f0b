//===- AttentionTwins.cpp - attention over fixed blocks -------------------===//

#include "test/codegen/cuda/library/Twins.h"

#include <cmath>
#include <limits>

using namespace baton::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t rows, position, group, head_dim, value_dim;
  int64_t window = 0;
  float softcap = 0.0f;
  int64_t gate_width = 0;
  bool has_sinks = false;
};

/// One key/value head and its queries.
struct Problem {
  Problem(Random &random, const Shape &shape)
      : shape(shape),
        q(random.buffer(shape.rows, shape.group * shape.head_dim, 2.0f)),
        keys(random.buffer(shape.position + shape.rows, shape.head_dim, 2.0f)),
        values(random.buffer(shape.position + shape.rows, shape.value_dim)),
        gates(random.buffer(shape.rows, shape.group * shape.value_dim, 6.0f)),
        sinks(random.vector(shape.group)) {}

  /// Keys or values as a state holds them; positions behind the last are NaN.
  template <typename Append>
  static std::vector<float> panels(const Buffer &of, Append append) {
    std::vector<float> panels((of.rows + 15) / 16 * 16 * of.width, nan);
    append(panels.data(), of.data(), of.stride, 0, of.rows, of.width);
    return panels;
  }

  Shape shape;
  Buffer q, keys, values, gates;
  std::vector<float> sinks;
};

/// With keys and values in rows and in panels, on scratch that is aligned and
/// that is not.
void expect_agree(const Twin<decltype(baton_task_attention)> &twin,
                  const Problem &problem) {
  const Shape &shape = problem.shape;
  const auto key_panels = problem.panels(problem.keys, baton_task_append_keys);
  const auto value_panels =
      problem.panels(problem.values, baton_task_append_values);
  const int64_t scratch_floats =
      baton_attention_scratch_bytes(shape.rows, shape.group, shape.head_dim,
                                    shape.value_dim) /
      4;
  for (int layout = 0; layout < 4; ++layout) {
    const bool keys_in_panels = layout & 1, values_in_panels = layout & 2;
    const int64_t misaligned = layout == 2;
    SCOPED_TRACE("layout " + std::to_string(layout));
    twin.agree([&](auto body) {
      // What was there before must not matter.
      std::vector<float> scratch(scratch_floats + 2, nan);
      scratch[scratch_floats + misaligned] = Buffer::guard;
      Buffer out(shape.rows, shape.group * shape.value_dim);
      for (int64_t r = 0; r < shape.rows; ++r)
        std::fill_n(out.row(r), out.width, nan);
      body(out.data(), out.stride, problem.q.data(), problem.q.stride,
           keys_in_panels ? key_panels.data() : problem.keys.data(),
           keys_in_panels ? 0 : problem.keys.stride,
           values_in_panels ? value_panels.data() : problem.values.data(),
           values_in_panels ? 0 : problem.values.stride, shape.rows,
           shape.position, shape.group, shape.head_dim, shape.value_dim, 0.3f,
           shape.softcap, shape.window,
           shape.gate_width ? problem.gates.data() : nullptr,
           problem.gates.stride, shape.gate_width,
           shape.has_sinks ? problem.sinks.data() : nullptr,
           scratch.data() + misaligned);
      EXPECT_EQ(scratch[scratch_floats + misaligned], Buffer::guard)
          << "scratch overrun";
      return out;
    });
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

const Shape shapes[] = {
    {0, 10, 2, 8, 8},
    // Decoding: one row, from the first position to several turns of blocks.
    {1, 0, 1, 16, 16},
    {1, 63, 3, 16, 16},
    {1, 64, 4, 20, 24},
    {1, 1000, 1, 64, 64},
    {1, 1500, 6, 33, 40},
    {1, 900, 4, 16, 16, 0, 5.0f, 1},
    {1, 900, 4, 16, 16, 300, 0.0f, 16},
    // A prompt: diagonals, tiles of queries that end early, several batches.
    {2, 0, 1, 5, 5},
    {3, 62, 1, 7, 100},
    {7, 60, 2, 64, 33},
    {9, 130, 3, 16, 24, 0, 5.0f, 24},
    {48, 10, 1, 64, 64},
    {40, 150, 8, 5, 20},
    {16, 200, 4, 64, 16},
    // Windows narrower than a tile of rows, a panel and a block, and wider.
    {9, 60, 1, 16, 24, 1},
    {9, 60, 3, 16, 24, 3, 5.0f},
    {40, 130, 1, 16, 24, 17, 0.0f, 1},
    {9, 130, 2, 16, 24, 64},
    {70, 130, 1, 16, 24, 70},
    {70, 3, 2, 16, 24, 1000},
    // With sinks.
    {1, 900, 4, 16, 16, 0, 0.0f, 0, true},
    {9, 130, 3, 16, 24, 64, 0.0f, 1, true},
};

TWIN_TEST(baton_task_attention) {
  Random random(1);
  for (const Shape &shape : shapes) {
    SCOPED_TRACE("rows " + std::to_string(shape.rows) + " position " +
                 std::to_string(shape.position) + " group " +
                 std::to_string(shape.group) + " window " +
                 std::to_string(shape.window));
    expect_agree(twin, Problem(random, shape));
    if (::testing::Test::HasFatalFailure())
      return;
  }
  // Scores beyond the range of exponentials, and infinitely low ones.
  Problem large(random, {5, 100, 2, 64, 16});
  for (float &element : large.q.values)
    element *= 40.0f;
  expect_agree(twin, large);
  Problem low(random, {3, 140, 2, 4, 16});
  for (int64_t r = 0; r < 3; ++r)
    std::fill_n(low.q.row(r), 8, 1.0f);
  for (int64_t key = 0; key < 100; ++key)
    std::fill_n(low.keys.row(key), 4, -infinity);
  expect_agree(twin, low);
  // NaN and infinity that only some rows see, first in values, then in keys.
  for (int64_t window : {0, 20}) {
    Problem poisoned(random, {40, 50, 2, 16, 16, window});
    std::fill_n(poisoned.values.row(57), 4, nan);
    std::fill_n(poisoned.values.row(75) + 4, 4, infinity);
    std::fill_n(poisoned.keys.row(85), 16, nan);
    expect_agree(twin, poisoned);
  }
  // Products that vanish leave a negative zero, which adding zero would change.
  for (int64_t rows : {1, 5}) {
    Problem vanishing(random, {rows, 200, 2, 16, 16});
    for (int64_t key = 0; key < 200 + rows; ++key)
      std::fill_n(vanishing.values.row(key), 16, key % 64 ? -0.0f : -0x1p-149f);
    expect_agree(twin, vanishing);
  }
}

TWIN_TEST(baton_task_attention_partial) {
  Random random(4);
  for (const Shape &shape : shapes) {
    const Problem problem(random, shape);
    const auto key_panels =
        problem.panels(problem.keys, baton_task_append_keys);
    const auto value_panels =
        problem.panels(problem.values, baton_task_append_values);
    const int64_t scratch_floats =
        baton_attention_scratch_bytes(shape.rows, shape.group, shape.head_dim,
                                      shape.value_dim) /
        4;
    const int64_t width = baton_attention_partial_width(shape.value_dim);
    for (int64_t split : {64, 256})
      for (int64_t begin : {int64_t(0), shape.position / split * split})
        for (bool in_panels : {false, true}) {
          SCOPED_TRACE("rows " + std::to_string(shape.rows) + " position " +
                       std::to_string(shape.position) + " window " +
                       std::to_string(shape.window) + " from " +
                       std::to_string(begin) + " on " + std::to_string(split));
          twin.agree([&](auto body) {
            std::vector<float> scratch(scratch_floats + 1, nan);
            scratch.back() = Buffer::guard;
            // Blocks that a row does not see stay as they are.
            const int64_t head_stride = split / 64 * width;
            std::vector<float> partials(
                shape.rows * shape.group * head_stride + 1, Buffer::guard);
            body(partials.data(), shape.group * head_stride, problem.q.data(),
                 problem.q.stride,
                 in_panels ? key_panels.data() : problem.keys.data(),
                 in_panels ? 0 : problem.keys.stride,
                 in_panels ? value_panels.data() : problem.values.data(),
                 in_panels ? 0 : problem.values.stride, shape.rows,
                 shape.position, shape.group, shape.head_dim, shape.value_dim,
                 0.3f, shape.softcap, shape.window, begin, split, head_stride,
                 scratch.data());
            EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
            return partials;
          });
          if (::testing::Test::HasFatalFailure())
            return;
        }
  }
}

TWIN_TEST(baton_task_attention_merge) {
  Random random(5);
  std::vector<Shape> merged(std::begin(shapes), std::end(shapes));
  // More blocks than a warp has lanes, from the first one or a later one on.
  merged.push_back({2, 6000, 1, 16, 40});
  merged.push_back({3, 6000, 1, 16, 16, 3000});
  for (const Shape &shape : merged) {
    SCOPED_TRACE("rows " + std::to_string(shape.rows) + " position " +
                 std::to_string(shape.position) + " window " +
                 std::to_string(shape.window));
    const int64_t width = baton_attention_partial_width(shape.value_dim);
    const int64_t blocks = (shape.position + shape.rows + 63) / 64;
    // Elements vanish with either sign; maxima lie far apart, repeat, or are
    // those of blocks without a finite score.
    Buffer partials = random.buffer(shape.rows, blocks * width, 2.0f);
    for (int64_t r = 0; r < shape.rows; ++r)
      for (int64_t block = 0; block < blocks; ++block) {
        float *partial = partials.row(r) + block * width;
        partial[0] = block % 2 ? 0.0f : -0.0f;
        float &maximum = partial[shape.value_dim];
        float &sum = partial[shape.value_dim + 1];
        maximum = (r + block) % 5 == 1 ? -infinity : maximum * 60.0f;
        if (block && (r + block) % 3 == 2)
          maximum = partial[shape.value_dim - width];
        sum = maximum == -infinity ? 0.0f : std::fabs(sum) + 1.0f;
      }
    const Buffer gates = random.buffer(shape.rows, shape.value_dim, 6.0f);
    const float sink = random.value();
    for (int64_t gate_width : {int64_t(0), int64_t(1), shape.value_dim}) {
      twin.agree([&](auto body) {
        Buffer out(shape.rows, shape.value_dim);
        for (int64_t r = 0; r < shape.rows; ++r)
          std::fill_n(out.row(r), out.width, nan);
        body(out.data(), out.stride, partials.data(), partials.stride,
             shape.rows, shape.position, shape.value_dim, shape.window,
             gate_width ? gates.data() : nullptr, gates.stride, gate_width,
             gate_width == 1 ? &sink : nullptr);
        return out;
      });
      if (::testing::Test::HasFatalFailure())
        return;
    }
  }
}

/// Rows at positions that straddle panels, of which the rest is not touched.
template <typename Function>
void expect_append_agrees(const Twin<Function> &twin) {
  Random random(2);
  for (int64_t width : {1, 7, 16, 33, 100})
    for (int64_t rows : {0, 1, 3, 16, 40})
      for (int64_t position : {0, 5, 16, 30}) {
        const Buffer x = random.buffer(rows, width);
        twin.agree([&](auto body) {
          std::vector<float> panels(80 * width, Buffer::guard);
          body(panels.data(), x.data(), x.stride, position, rows, width);
          return panels;
        });
      }
}

TWIN_TEST(baton_task_append_keys) { expect_append_agrees(twin); }
TWIN_TEST(baton_task_append_values) { expect_append_agrees(twin); }

TWIN_TEST(baton_task_gate) {
  Random random(3);
  for (int64_t width : {1, 5, 16, 33})
    for (int64_t heads : {1, 3})
      for (int64_t gate_width : {int64_t(1), width})
        for (int64_t rows : {0, 1, 9}) {
          const Buffer x = random.buffer(rows, heads * width);
          const Buffer gate = random.buffer(rows, heads * gate_width, 6.0f);
          twin.agree([&](auto body) {
            Buffer out = x;
            body(out.data(), out.stride, out.data(), out.stride, gate.data(),
                 gate.stride, rows, heads, width, gate_width);
            return out;
          });
        }
}

TEST(AttentionScratch, IsTheCpus) {
  for (int64_t rows : {1, 16, 48})
    for (int64_t group : {1, 4, 32})
      for (int64_t head_dim : {1, 64, 128})
        for (int64_t value_dim : {1, 20, 128})
          EXPECT_EQ(
              emulated_attention_scratch_bytes(rows, group, head_dim,
                                               value_dim),
              baton_attention_scratch_bytes(rows, group, head_dim, value_dim));
}

TEST(AttentionPartial, IsAsWideAsTheCpus) {
  for (int64_t value_dim : {1, 20, 128})
    EXPECT_EQ(emulated_attention_partial_width(value_dim),
              baton_attention_partial_width(value_dim));
}

} // namespace

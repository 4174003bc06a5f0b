//===- ElementwiseGradientTest.cpp - adjoints within a row, sums of rows --===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

TEST(ActivationGradient, OracleMatchesDifferences) {
  for (int kind = 0; kind <= BATON_ACTIVATION_RELU; ++kind) {
    const auto activation = static_cast<oracle::Activation>(kind);
    for (double x = -6.0; x < 6.0; x += 0.37)
      EXPECT_NEAR(oracle::activation_slope(x, activation),
                  (oracle::activate(x + 1e-5, activation) -
                   oracle::activate(x - 1e-5, activation)) /
                      2e-5,
                  1e-8);
  }
}

TEST(ActivationGradient, MatchesOracle) {
  Random random(1);
  for (int32_t activation = 0; activation <= BATON_ACTIVATION_RELU;
       ++activation)
    for (float magnitude : {1.0f, 12.0f, 1e20f}) {
      const int64_t rows = 3, width = 37;
      // exp(-x^2 / 2) of an infinite square is 0, but the oracle has no limit.
      Buffer x = random.buffer(rows, width, magnitude);
      Buffer dy = random.buffer(rows, width);
      Buffer dx(rows, width);
      baton_task_activate_gradient(dx.data(), dx.stride, dy.data(), dy.stride,
                                   x.data(), x.stride, rows, width, activation);
      oracle::Matrix expected = dy.matrix();
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c) {
          const double at = std::clamp<double>(x.at(r, c), -1e9, 1e9);
          expected.at(r, c) *= oracle::activation_slope(
              at, static_cast<oracle::Activation>(activation));
        }
      // Slopes are sums of terms up to 12 times the sigmoid or the like.
      expect_within(dx, expected, [&](int64_t r, int64_t c) {
        return 100.0 * rounding * std::fabs(dy.at(r, c));
      });
      Buffer in_place = dy;
      baton_task_activate_gradient(in_place.data(), in_place.stride,
                                   in_place.data(), in_place.stride, x.data(),
                                   x.stride, rows, width, activation);
      expect_same_bits(in_place, dx);
    }
}

TEST(ClampedSwigluGradient, MatchesDifferences) {
  Random random(8);
  const int64_t rows = 3, width = 37;
  Buffer gate = random.buffer(rows, width, 14.0f),
         up = random.buffer(rows, width, 14.0f),
         dy = random.buffer(rows, width), dgate(rows, width), dup(rows, width);
  baton_task_clamped_swiglu_gate_gradient(dgate.data(), dgate.stride, dy.data(),
                                          dy.stride, gate.data(), gate.stride,
                                          up.data(), up.stride, rows, width);
  baton_task_clamped_swiglu_up_gradient(dup.data(), dup.stride, dy.data(),
                                        dy.stride, gate.data(), gate.stride,
                                        up.data(), up.stride, rows, width);
  int64_t clamped = 0;
  const double step = 1e-5;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) {
      const double g = gate.at(r, c), u = up.at(r, c), slope = dy.at(r, c);
      const double along_gate = (oracle::clamped_swiglu(g + step, u) -
                                 oracle::clamped_swiglu(g - step, u)) /
                                (2 * step),
                   along_up = (oracle::clamped_swiglu(g, u + step) -
                               oracle::clamped_swiglu(g, u - step)) /
                              (2 * step);
      ASSERT_NEAR(dgate.at(r, c), slope * along_gate, 2e-5) << g << " " << u;
      ASSERT_NEAR(dup.at(r, c), slope * along_up, 2e-5) << g << " " << u;
      // What is clamped has no slope at all.
      if (g > 7) {
        ASSERT_EQ(dgate.at(r, c), 0.0f);
      }
      if (std::fabs(u) > 7) {
        ASSERT_EQ(dup.at(r, c), 0.0f);
        ++clamped;
      }
    }
  EXPECT_GT(clamped, 10);
  // At a limit the slope is that of what is below, as PyTorch has it.
  const std::vector<float> limit = {7.0f}, one = {1.0f};
  std::vector<float> at = {0.0f};
  baton_task_clamped_swiglu_up_gradient(at.data(), 1, one.data(), 1, one.data(),
                                        1, limit.data(), 1, 1, 1);
  EXPECT_GT(at[0], 0.5f);
  baton_task_clamped_swiglu_gate_gradient(at.data(), 1, one.data(), 1,
                                          limit.data(), 1, one.data(), 1, 1, 1);
  EXPECT_GT(at[0], 1.5f);
  Buffer in_place = dy;
  baton_task_clamped_swiglu_gate_gradient(
      in_place.data(), in_place.stride, in_place.data(), in_place.stride,
      gate.data(), gate.stride, up.data(), up.stride, rows, width);
  expect_same_bits(in_place, dgate);
}

TEST(TanhGradient, MatchesOracle) {
  Random random(2);
  const int64_t rows = 3, width = 37;
  Buffer y = random.buffer(rows, width), dy = random.buffer(rows, width);
  Buffer dx(rows, width);
  baton_task_tanh_gradient(dx.data(), dx.stride, dy.data(), dy.stride, y.data(),
                           y.stride, rows, width);
  oracle::Matrix expected = dy.matrix();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c)
      expected.at(r, c) *= 1.0 - double(y.at(r, c)) * y.at(r, c);
  expect_within(dx, expected, [](int64_t, int64_t) { return 3 * rounding; });
  baton_task_tanh_gradient(dy.data(), dy.stride, dy.data(), dy.stride, y.data(),
                           y.stride, rows, width);
  expect_same_bits(dy, dx);
}

TEST(SoftmaxGradient, OracleMatchesDifferences) {
  Random random(3);
  const oracle::Matrix x = random.buffer(3, 13, 3.0f).matrix();
  const oracle::Matrix dy = random.buffer(3, 13).matrix();
  expect_adjoint(x, dy, oracle::softmax_gradient(dy, oracle::softmax(x)),
                 [](const oracle::Matrix &x) { return oracle::softmax(x); });
}

TEST(SoftmaxGradient, MatchesOracle) {
  Random random(4);
  for (int64_t width : {1, 13, 16, 100}) {
    Buffer x = random.buffer(4, width, 3.0f), dy = random.buffer(4, width);
    Buffer y(4, width), dx(4, width);
    baton_task_softmax(y.data(), y.stride, x.data(), x.stride, 4, width,
                       nullptr);
    baton_task_softmax_gradient(dx.data(), dx.stride, dy.data(), dy.stride,
                                y.data(), y.stride, 4, width);
    expect_within(dx, oracle::softmax_gradient(dy.matrix(), y.matrix()),
                  [&](int64_t r, int64_t c) {
                    return (static_cast<double>(width) / 16 + 8) * rounding *
                           2.0 * y.at(r, c);
                  });
    baton_task_softmax_gradient(dy.data(), dy.stride, dy.data(), dy.stride,
                                y.data(), y.stride, 4, width);
    expect_same_bits(dy, dx);
  }
}

TEST(MaskSequences, MatchesOracleAndItsAdjoint) {
  Random random(7);
  // Sequences of 3, 1, 20 and 13 rows; tiles begin anywhere in them.
  std::vector<int32_t> positions;
  for (int32_t length : {3, 1, 20, 13})
    for (int32_t i = 0; i < length; ++i)
      positions.push_back(i);
  const int64_t rows = positions.size();
  Buffer x = random.buffer(rows, rows);
  for (int64_t window : {0, 1, 4, 30}) {
    for (float hidden : {0.0f, std::numeric_limits<float>::lowest()})
      for (int64_t first : {0, 2, 19}) {
        Buffer out(rows - first, rows);
        baton_task_mask_sequences(
            out.data(), out.stride, x.row(first), x.stride, rows - first, rows,
            positions.data() + first, first, window, hidden);
        const oracle::Matrix expected =
            oracle::mask_sequences(x.matrix(), positions, window, hidden);
        expect_guards_intact(out);
        for (int64_t r = first; r < rows; ++r)
          for (int64_t c = 0; c < rows; ++c)
            ASSERT_EQ(out.at(r - first, c), expected.at(r, c))
                << "row " << r << " of " << first << " on, column " << c
                << ", window " << window;
        Buffer in_place = x;
        baton_task_mask_sequences(in_place.data(), in_place.stride,
                                  in_place.data(), in_place.stride, rows, rows,
                                  positions.data(), 0, window, hidden);
        for (int64_t r = first; r < rows; ++r)
          for (int64_t c = 0; c < rows; ++c)
            ASSERT_EQ(in_place.at(r, c), out.at(r - first, c));
      }
    // A softmax sees only what is not hidden, so that 0 is hidden of dy.
    const oracle::Matrix dy = random.buffer(rows, rows).matrix();
    const double lowest = std::numeric_limits<float>::lowest();
    auto weights = [&](const oracle::Matrix &scores) {
      return oracle::softmax(
          oracle::mask_sequences(scores, positions, window, lowest));
    };
    expect_adjoint(x.matrix(), dy,
                   oracle::mask_sequences(
                       oracle::softmax_gradient(dy, weights(x.matrix())),
                       positions, window, 0.0),
                   weights);
  }
}

TEST(GateGradient, MatchesOracleAndDifferences) {
  Random random(5);
  const int64_t rows = 3, heads = 2;
  for (int64_t width : {1, 5, 20, 33})
    for (int64_t gate_width : {int64_t(1), width}) {
      Buffer x = random.buffer(rows, heads * width);
      Buffer dy = random.buffer(rows, heads * width);
      Buffer gates = random.buffer(rows, heads * gate_width, 4.0f);
      const oracle::GateGradient expected =
          oracle::gate_gradient(dy.matrix(), x.matrix(), gates.matrix(), heads);
      expect_adjoint(gates.matrix(), dy.matrix(), expected.dgates,
                     [&](const oracle::Matrix &moved) {
                       return oracle::gate(x.matrix(), moved, heads);
                     });
      expect_adjoint(x.matrix(), dy.matrix(), expected.dx,
                     [&](const oracle::Matrix &moved) {
                       return oracle::gate(moved, gates.matrix(), heads);
                     });
      Buffer dgates(rows, heads * gate_width);
      baton_task_gate_gradient(dgates.data(), dgates.stride, dy.data(),
                               dy.stride, x.data(), x.stride, gates.data(),
                               gates.stride, rows, heads, width, gate_width);
      expect_within(dgates, expected.dgates, [&](int64_t, int64_t) {
        return (12.0 + static_cast<double>(width)) * rounding *
               (gate_width == 1 ? static_cast<double>(width) : 1.0);
      });
      Buffer dx(rows, heads * width);
      baton_task_gate(dx.data(), dx.stride, dy.data(), dy.stride, gates.data(),
                      gates.stride, rows, heads, width, gate_width);
      expect_within(dx, expected.dx,
                    [](int64_t, int64_t) { return 8.0 * rounding; });
    }
}

TEST(SumRows, IsOneAscendingChain) {
  Random random(6);
  for (int64_t rows : {1, 2, 100})
    for (int64_t columns : {1, 16, 70, 150}) {
      Buffer dy = random.buffer(rows, columns);
      const Buffer old = random.buffer(1, columns);
      // What joins an older sum continues its chain.
      std::vector<float> chain(columns, 0.0f), sum(columns);
      for (int64_t c = 0; c < columns; ++c) {
        sum[c] = old.at(0, c);
        for (int64_t r = 0; r < rows; ++r) {
          chain[c] += dy.at(r, c);
          sum[c] += dy.at(r, c);
        }
      }
      const std::vector<int32_t> replaces = {0}, adds = {1};
      for (int64_t tile : {int64_t(20), columns}) {
        auto run = [&](Buffer out, const int32_t *accumulate,
                       const std::vector<float> &expected) {
          for (int64_t c = 0; c < columns; c += tile)
            baton_task_sum_rows(out.data() + c, dy.data() + c, dy.stride, rows,
                                std::min(tile, columns - c), accumulate);
          expect_same_bits(out.data(), expected.data(), columns);
          expect_guards_intact(out);
        };
        run(old, replaces.data(), chain);
        run(old, adds.data(), sum);
        run(old, nullptr, sum);
      }
    }
}

TEST(SumRanks, AddsUpByAscendingRanks) {
  Random random(8);
  for (int64_t ranks : {1, 2, 5})
    for (int64_t columns : {1, 16, 67}) {
      Buffer parts = random.buffer(ranks, columns);
      const Buffer before = parts;
      std::vector<float> expected(columns);
      for (int64_t c = 0; c < columns; ++c) {
        expected[c] = before.row(0)[c];
        for (int64_t r = 1; r < ranks; ++r)
          expected[c] += before.row(r)[c];
      }
      // Over any of them, too.
      for (int64_t place = 0; place < ranks; ++place) {
        parts = before;
        baton_task_sum_ranks(parts.row(place), parts.data(), parts.stride,
                             ranks, columns);
        for (int64_t r = 0; r < ranks; ++r)
          expect_same_bits(parts.row(r),
                           r == place ? expected.data() : before.row(r),
                           columns);
        expect_guards_intact(parts);
      }
    }
}

TEST(AddRanks, AddsTheSumToWhatIsThereIfToldTo) {
  Random random(11);
  const Buffer parts = random.buffer(3, 67);
  std::vector<float> sum(67), old(68, Buffer::guard);
  baton_task_sum_ranks(sum.data(), parts.data(), parts.stride, 3, 67);
  for (int32_t accumulate : {0, 1}) {
    std::vector<float> out = old, expected = sum;
    for (int64_t c = 0; accumulate && c < 67; ++c)
      expected[c] = old[c] + sum[c];
    // On the heap, as all that a body reads (cuda/library/Relocation.h).
    const std::vector<int32_t> adds = {accumulate};
    baton_task_add_ranks(out.data(), parts.data(), parts.stride, 3, 67,
                         adds.data());
    expect_same_bits(out.data(), expected.data(), 67);
    EXPECT_EQ(out[67], Buffer::guard);
  }
}

TEST(TakePart, TakesThePlacesPartAndZerosBehindTheEnd) {
  Random random(10);
  const Buffer whole = random.buffer(1, 70);
  for (int32_t place : {0, 1, 2})
    for (int64_t first : {0, 16}) {
      std::vector<float> out(17, Buffer::guard), expected(16, 0.0f);
      for (int64_t i = 0; i < 16; ++i)
        if (place * 32 + first + i < 70)
          expected[i] = whole.data()[place * 32 + first + i];
      const std::vector<int32_t> places = {place, 1};
      baton_task_take_part(out.data(), whole.data(), 70, 32, first, 16,
                           places.data());
      expect_same_bits(out.data(), expected.data(), 16);
      EXPECT_EQ(out[16], Buffer::guard);
    }
}

TEST(SumNumbers, AddsUpAscendingAndFillsWithZeros) {
  Random random(9);
  Buffer losses = random.buffer(40, 1);
  float sum = 0.0f;
  for (int64_t r = 0; r < 40; ++r)
    sum += losses.row(r)[0];
  std::vector<float> out(17, Buffer::guard), expected(16, 0.0f);
  expected[0] = sum;
  baton_task_sum_numbers(out.data(), 16, losses.data(), losses.stride, 40);
  expect_same_bits(out.data(), expected.data(), 16);
  EXPECT_EQ(out[16], Buffer::guard);
}

TEST(SumSquares, MatchesOracleRowByRow) {
  Random random(7);
  for (int64_t elements : {1, 2, 16, 63, 144, 630})
    for (int64_t columns : {1, 16, 70}) {
      Buffer x = random.buffer(1, elements);
      std::vector<float> out = {not_a_number, Buffer::guard};
      baton_task_sum_squares(out.data(), x.data(), elements, columns);
      EXPECT_NEAR(out[0], oracle::inner_product(x.matrix(), x.matrix()),
                  static_cast<double>(elements / columns + 1 + columns) *
                      rounding * static_cast<double>(elements));
      EXPECT_EQ(out[1], Buffer::guard);
      float sum = 0.0f;
      for (int64_t first = 0; first < elements; first += columns) {
        std::vector<float> row(1);
        baton_task_sum_squares(row.data(), x.data() + first,
                               std::min(columns, elements - first), columns);
        sum += row[0];
      }
      expect_same_bits(out.data(), &sum, 1);
      // What a part of several ranks has behind its end.
      std::vector<float> padded(elements + 3 * columns, 0.0f);
      std::copy_n(x.data(), elements, padded.begin());
      baton_task_sum_squares(out.data(), padded.data(), padded.size(), columns);
      expect_same_bits(out.data(), &sum, 1);
    }
}

} // namespace

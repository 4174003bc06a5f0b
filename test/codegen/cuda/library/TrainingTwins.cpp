//===- TrainingTwins.cpp - adjoints within rows, sums, norms, products ----===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

constexpr int64_t row_counts[] = {0, 1, 5, 37};
constexpr int64_t widths[] = {1, 16, 33, 150};

/// What *accumulate may be: nothing, to be added to, to be replaced.
template <typename Check> void for_each_accumulation(Check check) {
  const std::vector<int32_t> yes = {1}, no = {0};
  check(static_cast<const int32_t *>(nullptr));
  check(yes.data());
  check(no.data());
}

template <typename Check> void for_each_shape(Check check) {
  for (int64_t rows : row_counts)
    for (int64_t width : widths)
      check(rows, width);
}

//===- Products -----------------------------------------------------------===//

/// Both orders of both sides.
struct Sides {
  Sides(Random &random, int64_t rows, int64_t columns, int64_t depth,
        bool left_turned, bool right_turned)
      : a(left_turned ? random.buffer(depth, rows)
                      : random.buffer(rows, depth)),
        b(right_turned ? random.buffer(columns, depth)
                       : random.buffer(depth, columns)),
        a_row(left_turned ? 1 : a.stride), a_depth(left_turned ? a.stride : 1),
        b_depth(right_turned ? 1 : b.stride),
        b_column(right_turned ? b.stride : 1) {}

  Buffer a, b;
  int64_t a_row, a_depth, b_depth, b_column;
};

template <typename Check> void for_each_product(uint32_t seed, Check check) {
  Random random(seed);
  for (auto [rows, columns, depth] :
       {std::array<int64_t, 3>{1, 1, 1}, {9, 37, 0}, {5, 17, 40}, {37, 70, 33}})
    for (bool left_turned : {false, true})
      for (bool right_turned : {false, true})
        check(random,
              Sides(random, rows, columns, depth, left_turned, right_turned),
              rows, columns, depth);
}

/// Of every rounding.
template <typename Body> void check_product(const Twin<Body> &twin) {
  for_each_product(1, [&](Random &random, const Sides &sides, int64_t rows,
                          int64_t columns, int64_t depth) {
    const std::vector<float> bias = random.vector(columns);
    const Buffer residual = random.buffer(rows, columns);
    for (bool with : {false, true})
      twin.agree([&](auto body) {
        std::vector<float> scratch(baton_product_scratch_bytes(columns) / 4);
        Buffer out = residual;
        body(out.data(), out.stride, sides.a.data(), sides.a_row, sides.a_depth,
             sides.b.data(), sides.b_depth, sides.b_column,
             with ? bias.data() : nullptr, with ? out.data() : nullptr,
             out.stride, rows, columns, depth, scratch.data());
        return out;
      });
  });
}

TWIN_TEST(baton_task_product) { check_product(twin); }
TWIN_TEST(baton_task_product_bf16) { check_product(twin); }
TWIN_TEST(baton_task_product_f16) { check_product(twin); }

template <typename Body> void check_gradient(const Twin<Body> &twin) {
  for_each_product(2, [&](Random &random, const Sides &sides, int64_t rows,
                          int64_t columns, int64_t depth) {
    const Buffer before = random.buffer(rows, columns);
    for_each_accumulation([&](const int32_t *accumulate) {
      twin.agree([&](auto body) {
        std::vector<float> scratch(baton_product_scratch_bytes(columns) / 4);
        Buffer out = before;
        body(out.data(), out.stride, sides.a.data(), sides.a_row, sides.a_depth,
             sides.b.data(), sides.b_depth, sides.b_column, nullptr, rows,
             columns, depth, accumulate, scratch.data());
        return out;
      });
    });
  });
}

TWIN_TEST(baton_task_product_gradient) { check_gradient(twin); }
TWIN_TEST(baton_task_product_gradient_bf16) { check_gradient(twin); }
TWIN_TEST(baton_task_product_gradient_f16) { check_gradient(twin); }

TWIN_TEST(baton_task_sum_rows) {
  Random random(3);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer dy = random.buffer(rows, width);
    const std::vector<float> before = random.vector(width);
    for_each_accumulation([&](const int32_t *accumulate) {
      twin.agree([&](auto body) {
        std::vector<float> out = before;
        body(out.data(), dy.data(), dy.stride, rows, width, accumulate);
        return out;
      });
    });
  });
}

//===- Embeddings, positions ----------------------------------------------===//

TWIN_TEST(baton_task_embedding_gradient) {
  Random random(4);
  constexpr int64_t vocabulary = 7;
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer dy = random.buffer(rows, width);
    const Buffer before = random.buffer(vocabulary, width);
    // Few tokens, often; and some that are none.
    std::vector<int32_t> indices(rows + 1);
    for (int64_t row = 0; row < rows; ++row)
      indices[row] = static_cast<int32_t>(row * row % 11) - 1;
    for_each_accumulation([&](const int32_t *accumulate) {
      twin.agree([&](auto body) {
        Buffer table = before;
        body(table.data(), table.stride, dy.data(), dy.stride, indices.data(),
             rows, width, vocabulary, 1.5f, accumulate);
        return table;
      });
    });
  });
}

TWIN_TEST(baton_task_rope_table_at) {
  Random random(5);
  for (int64_t rows : row_counts)
    for (int64_t half : {1, 8, 20}) {
      const std::vector<float> frequencies = random.vector(half);
      std::vector<int32_t> positions(rows + 1);
      for (int64_t row = 0; row < rows; ++row)
        positions[row] = static_cast<int32_t>(row * 5 % 19);
      twin.agree([&](auto body) {
        Buffer out(rows, 2 * half);
        body(out.data(), out.stride, frequencies.data(), half, positions.data(),
             rows, 0.7f);
        return out;
      });
    }
}

TWIN_TEST(baton_task_rope_back) {
  Random random(6);
  constexpr int64_t heads = 3;
  for (int64_t rows : row_counts)
    for (auto [head_dim, half] :
         {std::pair<int64_t, int64_t>{2, 1}, {10, 3}, {32, 16}}) {
      const Buffer dy = random.buffer(rows, heads * head_dim);
      const Buffer table = random.buffer(rows, 2 * half);
      for (bool in_place : {false, true})
        twin.agree([&](auto body) {
          Buffer out = in_place ? dy : Buffer(rows, heads * head_dim);
          const Buffer &in = in_place ? out : dy;
          body(out.data(), out.stride, in.data(), in.stride, table.data(),
               table.stride, rows, heads, head_dim, half);
          return out;
        });
    }
}

//===- Norms --------------------------------------------------------------===//

TWIN_TEST(baton_task_norm_statistics) {
  Random random(7);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width, 3.0f);
    for (int32_t centered : {0, 1})
      twin.agree([&](auto body) {
        Buffer out(rows, 2);
        body(out.data(), out.stride, x.data(), x.stride, rows, width, 1e-5f,
             centered);
        return out;
      });
  });
}

TWIN_TEST(baton_task_norm_gradient) {
  Random random(8);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width),
                 dy = random.buffer(rows, width);
    const Buffer statistics = random.buffer(rows, 2);
    const std::vector<float> weight = random.vector(width);
    for (int32_t centered : {0, 1})
      for (bool in_place : {false, true})
        twin.agree([&](auto body) {
          Buffer out = in_place ? dy : Buffer(rows, width);
          const Buffer &in = in_place ? out : dy;
          body(out.data(), out.stride, in.data(), in.stride, x.data(), x.stride,
               weight.data(), statistics.data(), statistics.stride, rows, width,
               centered);
          return out;
        });
  });
}

TWIN_TEST(baton_task_norm_begin_gradient) {
  Random random(18);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width),
                 scaled = random.buffer(rows, width);
    const Buffer squares = random.buffer(rows, 1);
    const std::vector<float> weight = random.vector(width);
    for (int which : {1, 2, 3})
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, x.data(), x.stride, weight.data(),
             which & 1 ? scaled.data() : nullptr, scaled.stride,
             which & 2 ? squares.data() : nullptr, squares.stride, rows, width);
        return out;
      });
  });
}

TWIN_TEST(baton_task_norm_end_gradient) {
  Random random(19);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width),
                 dy = random.buffer(rows, width);
    Buffer squares = random.buffer(rows, 1, 3.0f);
    for (float &value : squares.values)
      value *= value;
    twin.agree([&](auto body) {
      Buffer out(rows, 1);
      body(out.data(), out.stride, dy.data(), dy.stride, x.data(), x.stride,
           squares.data(), squares.stride, rows, width, 2 * width, 1e-5f);
      return out;
    });
  });
}

TWIN_TEST(baton_task_norm_weight_gradient) {
  Random random(9);
  constexpr int64_t heads = 3;
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, heads * width);
    const Buffer dy = random.buffer(rows, heads * width);
    const Buffer statistics = random.buffer(rows, 2 * heads);
    const std::vector<float> before = random.vector(2 * width);
    for (bool with_bias : {false, true})
      for_each_accumulation([&](const int32_t *accumulate) {
        twin.agree([&](auto body) {
          std::vector<float> out = before;
          body(out.data(), with_bias ? out.data() + width : nullptr, dy.data(),
               dy.stride, x.data(), x.stride, statistics.data(),
               statistics.stride, rows, heads, width, width, accumulate);
          return out;
        });
      });
  });
}

TWIN_TEST(baton_task_magnitude_gradient) {
  Random random(15);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width),
                 dy = random.buffer(rows, width);
    std::vector<float> squares = random.vector(width);
    for (float &square : squares)
      square = 0.1f + square * square;
    const std::vector<float> before = random.vector(width);
    for_each_accumulation([&](const int32_t *accumulate) {
      twin.agree([&](auto body) {
        std::vector<float> out = before;
        body(out.data(), dy.data(), dy.stride, x.data(), x.stride,
             squares.data(), rows, width, accumulate);
        return out;
      });
    });
  });
}

TWIN_TEST(baton_task_magnitude) {
  Random random(16);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width);
    const std::vector<float> magnitude = random.vector(width),
                             bias = random.vector(width);
    std::vector<float> squares = random.vector(width);
    for (float &square : squares)
      square = 0.1f + square * square;
    for (bool in_place : {false, true})
      twin.agree([&](auto body) {
        Buffer out = in_place ? x : Buffer(rows, width);
        const Buffer &in = in_place ? out : x;
        body(out.data(), out.stride, in.data(), in.stride, magnitude.data(),
             squares.data(), in_place ? nullptr : bias.data(), rows, width);
        return out;
      });
  });
}

//===- Within rows --------------------------------------------------------===//

TWIN_TEST(baton_task_activate_gradient) {
  Random random(10);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width, 20.0f);
    const Buffer dy = random.buffer(rows, width);
    for (int32_t activation :
         {BATON_ACTIVATION_NONE, BATON_ACTIVATION_SILU, BATON_ACTIVATION_GELU,
          BATON_ACTIVATION_GELU_TANH, BATON_ACTIVATION_RELU})
      twin.agree([&](auto body) {
        Buffer out = dy;
        body(out.data(), out.stride, out.data(), out.stride, x.data(), x.stride,
             rows, width, activation);
        return out;
      });
  });
}

template <typename Body>
void check_clamped_swiglu_gradient(const Twin<Body> &twin) {
  Random random(19);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer gate = random.buffer(rows, width, 14.0f),
                 up = random.buffer(rows, width, 14.0f),
                 dy = random.buffer(rows, width);
    twin.agree([&](auto body) {
      Buffer out = dy;
      body(out.data(), out.stride, out.data(), out.stride, gate.data(),
           gate.stride, up.data(), up.stride, rows, width);
      return out;
    });
  });
}

TWIN_TEST(baton_task_clamped_swiglu_gate_gradient) {
  check_clamped_swiglu_gradient(twin);
}
TWIN_TEST(baton_task_clamped_swiglu_up_gradient) {
  check_clamped_swiglu_gradient(twin);
}

/// dx from dy and the result of what is differentiated.
template <typename Twin>
void expect_of_results(const Twin &twin, uint32_t seed) {
  Random random(seed);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer y = random.buffer(rows, width),
                 dy = random.buffer(rows, width);
    twin.agree([&](auto body) {
      Buffer out = dy;
      body(out.data(), out.stride, out.data(), out.stride, y.data(), y.stride,
           rows, width);
      return out;
    });
  });
}
TWIN_TEST(baton_task_tanh_gradient) { expect_of_results(twin, 11); }
TWIN_TEST(baton_task_softmax_gradient) { expect_of_results(twin, 12); }

TWIN_TEST(baton_task_mask_sequences) {
  Random random(14);
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, width);
    // As far as sequences may go back from rows of a step's third tile.
    const int64_t first = 2 * rows;
    std::vector<int32_t> positions(rows);
    for (int64_t r = 0; r < rows; ++r)
      positions[r] = r == 0 ? rows : r % 5 == 0 ? 0 : positions[r - 1] + 1;
    for (int64_t window : {0, 1, 7})
      for (float hidden : {0.0f, std::numeric_limits<float>::lowest()})
        twin.agree([&](auto body) {
          Buffer out = x;
          body(out.data(), out.stride, out.data(), out.stride, rows, width,
               positions.data(), first, window, hidden);
          return out;
        });
  });
}

TWIN_TEST(baton_task_gate_gradient) {
  Random random(13);
  constexpr int64_t heads = 3;
  for_each_shape([&](int64_t rows, int64_t width) {
    const Buffer x = random.buffer(rows, heads * width);
    const Buffer dy = random.buffer(rows, heads * width);
    for (int64_t gate_width : {int64_t(1), width}) {
      const Buffer gate = random.buffer(rows, heads * gate_width, 3.0f);
      twin.agree([&](auto body) {
        Buffer out(rows, heads * gate_width);
        body(out.data(), out.stride, dy.data(), dy.stride, x.data(), x.stride,
             gate.data(), gate.stride, rows, heads, width, gate_width);
        return out;
      });
    }
  });
}

//===- A step's numbers ---------------------------------------------------===//

TWIN_TEST(baton_task_sum_squares) {
  Random random(14);
  for (int64_t elements : {1, 16, 300, 2500})
    for (int64_t columns : {1, 16, 240, 1024}) {
      const std::vector<float> x = random.vector(elements);
      twin.agree([&](auto body) {
        std::vector<float> out(1, -1.0f);
        body(out.data(), x.data(), elements, columns);
        return out;
      });
    }
}

TWIN_TEST(baton_task_sum_ranks) {
  Random random(16);
  for (int64_t ranks : {1, 2, 5})
    for (int64_t width : {1, 16, 300}) {
      const Buffer parts = random.buffer(ranks, width);
      twin.agree([&](auto body) {
        Buffer out = parts;
        body(out.row(ranks - 1), out.data(), out.stride, ranks, width);
        return out;
      });
    }
}

TWIN_TEST(baton_task_add_ranks) {
  Random random(19);
  const Buffer parts = random.buffer(3, 300);
  const std::vector<float> before = random.vector(300);
  // On the heap, as all that a body reads (Relocation.h).
  for (const std::vector<int32_t> &accumulate :
       {std::vector<int32_t>{0}, std::vector<int32_t>{1}})
    twin.agree([&](auto body) {
      std::vector<float> out = before;
      body(out.data(), parts.data(), parts.stride, 3, 300, accumulate.data());
      return out;
    });
}

TWIN_TEST(baton_task_take_part) {
  Random random(18);
  const std::vector<float> whole = random.vector(700);
  for (int32_t place : {0, 1, 2})
    for (int64_t first : {0, 96}) {
      const std::vector<int32_t> places = {place, 1};
      twin.agree([&](auto body) {
        std::vector<float> out(200, -1.0f);
        body(out.data(), whole.data(), 700, 300, first, 200, places.data());
        return out;
      });
    }
}

TWIN_TEST(baton_task_sum_numbers) {
  Random random(17);
  for (int64_t rows : {1, 40, 300}) {
    const Buffer losses = random.buffer(rows, 1);
    twin.agree([&](auto body) {
      std::vector<float> out(16, -1.0f);
      body(out.data(), 16, losses.data(), losses.stride, rows);
      return out;
    });
  }
}

TWIN_TEST(baton_task_step_summary) {
  Random random(15);
  for (int64_t rows : {1, 40, 300})
    for (float limit : {0.0f, 0.5f, 1e6f})
      for (float extreme : {1.0f, 3e38f}) {
        const int64_t columns = limit > 0.0f ? 4 : 1;
        Buffer loss = random.buffer(rows, columns);
        std::vector<float> squares = random.vector(rows + 3);
        for (float &square : squares)
          square = square * square * extreme;
        const std::vector<float> limits = {limit, rows == 1 ? 1.0f : 1024.0f};
        twin.agree([&](auto body) {
          std::vector<float> out(3 + columns);
          body(out.data(), loss.data(), loss.stride, rows, columns,
               squares.data(), static_cast<int64_t>(squares.size()),
               limits.data());
          return out;
        });
      }
}

} // namespace

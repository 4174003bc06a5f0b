//===- PagedAttentionTest.cpp - attention over states in pages ------------===//

#include "test/codegen/cpu/library/PagedProblem.h"

using namespace baton;
using namespace baton::test;

/// A row of a step of several sequences has the bits that it has alone, on a
/// state of its own sequence that lies in one piece.
TEST(PagedAttention, RowsHaveTheBitsOfTheirOwnSequence) {
  Random random(1);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    SCOPED_TRACE("sequences " + std::to_string(shape.sequences.size()) +
                 " group " + std::to_string(shape.group) + " window " +
                 std::to_string(shape.window));
    const PagedProblem problem(random, shape);
    const auto keys = problem.append(problem.keys, shape.head_dim,
                                     baton_task_append_key_pages);
    const auto values = problem.append(problem.values, shape.value_dim,
                                       baton_task_append_value_pages);
    for (int64_t tile : {int64_t(16), int64_t(5), problem.rows}) {
      const Buffer out =
          problem.attend(keys, values, tile, baton_task_paged_attention);
      expect_guards_intact(out);
      for (int64_t row = 0; row < problem.rows; ++row) {
        const int32_t sequence = problem.sequences[row],
                      position = problem.positions[row];
        const Buffer &own_keys = problem.keys[sequence],
                     &own_values = problem.values[sequence];
        Buffer alone(1, out.width);
        std::vector<float> scratch(
            baton_attention_scratch_bytes(1, shape.group, shape.head_dim,
                                          shape.value_dim) /
            4);
        baton_task_attention(
            alone.data(), alone.stride, problem.q.row(row), problem.q.stride,
            own_keys.data(), own_keys.stride, own_values.data(),
            own_values.stride, 1, position, shape.group, shape.head_dim,
            shape.value_dim, 0.3f, shape.softcap, shape.window,
            shape.gate_width ? problem.gates.row(row) : nullptr,
            problem.gates.stride, shape.gate_width,
            shape.has_sinks ? problem.sinks.data() : nullptr, scratch.data());
        expect_same_bits(out.row(row), alone.row(0), out.width);
        if (HasFatalFailure())
          FAIL() << "row " << row << " in tiles of " << tile;
      }
    }
  }
}

/// The same where one state has keys and values.
TEST(PagedAttention, RowsOfOneStateHaveTheBitsOfTheirOwnSequence) {
  Random random(11);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    const int64_t width = problem.latent_width();
    const auto keys = problem.append(problem.keys, shape.head_dim,
                                     baton_task_append_key_pages);
    for (int64_t tile : {int64_t(16), int64_t(5), problem.rows}) {
      const Buffer out =
          problem.attend_latent(keys, tile, baton_task_paged_latent_attention);
      expect_guards_intact(out);
      for (int64_t row = 0; row < problem.rows; ++row) {
        const Buffer &own = problem.keys[problem.sequences[row]];
        Buffer alone(1, out.width);
        std::vector<float> scratch(baton_attention_scratch_bytes(
                                       1, shape.group, shape.head_dim, width) /
                                   4);
        baton_task_attention(alone.data(), alone.stride, problem.q.row(row),
                             problem.q.stride, own.data(), own.stride,
                             own.data(), own.stride, 1, problem.positions[row],
                             shape.group, shape.head_dim, width, 0.3f,
                             shape.softcap, shape.window, nullptr, 0, 0,
                             nullptr, scratch.data());
        expect_same_bits(out.row(row), alone.row(0), out.width);
        if (HasFatalFailure())
          FAIL() << "row " << row << " in tiles of " << tile;
      }
    }
  }
}

/// What lies beside a head in its page, and in pages of others, stays.
TEST(PagedAttention, RowsAreWrittenToTheirSlotsOnly) {
  Random random(2);
  const PagedProblem problem(random, {{{60, 9}, {0, 3}}, 1, 20, 20});
  for (auto body :
       {baton_task_append_key_pages, baton_task_append_value_pages}) {
    const auto memory = problem.append(problem.keys, 20, body);
    int64_t written = 0;
    for (size_t i = 0; i < memory.size(); ++i) {
      if (std::isnan(memory[i]))
        continue;
      ++written;
      const int64_t page = i / (3 * 64 * 20);
      EXPECT_EQ(i % (3 * 64 * 20) / (64 * 20), 1u) << "another head's";
      EXPECT_NE(std::find(problem.pages.begin(), problem.pages.end(), page),
                problem.pages.end())
          << "page " << page << " is nobody's";
    }
    EXPECT_EQ(written, (69 + 3) * 20);
  }
}

namespace {

/// What a row of stored keys and values sees has the bits of the same numbers
/// in a state that has them as they are.
template <typename Element>
void expect_stored_numbers(const StoredForm<Element> &form) {
  Random random(7);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    SCOPED_TRACE("sequences " + std::to_string(shape.sequences.size()) +
                 " head_dim " + std::to_string(shape.head_dim) + " value_dim " +
                 std::to_string(shape.value_dim));
    PagedProblem problem(random, shape);
    // A row of zeros, and one whose numbers differ by much.
    Buffer &first = problem.keys.front();
    std::fill_n(first.row(0), first.width, 0.0f);
    Buffer &last = problem.values.back();
    for (int64_t i = 0; i < last.width; ++i)
      last.row(0)[i] *= std::ldexp(1.0f, -static_cast<int>(i));
    PagedProblem plain = problem;
    for (auto *tensors : {&plain.keys, &plain.values})
      for (Buffer &tensor : *tensors)
        for (int64_t row = 0; row < tensor.rows; ++row)
          form.store(tensor.row(row), tensor.width);
    const auto keys =
        plain.append(plain.keys, shape.head_dim, baton_task_append_key_pages);
    const auto values = plain.append(plain.values, shape.value_dim,
                                     baton_task_append_value_pages);
    for (int64_t tile : {16, 5, 1}) {
      const Buffer out = form.attend(problem, tile);
      const Buffer expected =
          plain.attend(keys, values, tile, baton_task_paged_attention);
      for (int64_t row = 0; row < problem.rows; ++row) {
        expect_same_bits(out.row(row), expected.row(row), out.width);
        if (testing::Test::HasFatalFailure())
          FAIL() << "row " << row << " in tiles of " << tile;
      }
    }
  }
}

/// How far attention is from that of F32: values are off by the form's error,
/// and scores, sums over a head of products with numbers up to 2, move weights.
template <typename Element>
void expect_near_f32(const char *name, const StoredForm<Element> &form) {
  Random random(8);
  double worst = 0;
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    const auto keys = problem.append(problem.keys, shape.head_dim,
                                     baton_task_append_key_pages);
    const auto values = problem.append(problem.values, shape.value_dim,
                                       baton_task_append_value_pages);
    const Buffer exact =
        problem.attend(keys, values, 16, baton_task_paged_attention);
    const Buffer out = form.attend(problem, 16);
    for (int64_t row = 0; row < out.rows; ++row)
      for (int64_t i = 0; i < out.width; ++i)
        worst = std::max(worst,
                         double(std::fabs(out.at(row, i) - exact.at(row, i))));
  }
  EXPECT_LT(worst, 2 * form.error) << name;
  // It is no better than it has to be.
  EXPECT_GT(worst, form.error / 16) << name;
  testing::Test::RecordProperty(name, std::to_string(worst));
}

/// Of numbers up to 1: each is off by the form's error at most.
template <typename Element>
void expect_small_error(const StoredForm<Element> &form) {
  Random random(9);
  for (int64_t width : {1, 7, 16, 40, 64}) {
    std::vector<float> row = random.vector(width), stored = row;
    form.store(stored.data(), width);
    float largest = 0;
    for (float number : row)
      largest = std::max(largest, std::fabs(number));
    for (int64_t i = 0; i < width; ++i)
      EXPECT_LE(std::fabs(stored[i] - row[i]), form.error * largest) << row[i];
  }
}

/// A number that is none spoils what sees it, and nothing else.
template <typename Element>
void expect_nan_where_it_is_seen(const StoredForm<Element> &form) {
  Random random(10);
  for (float wrong : {std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::quiet_NaN()}) {
    PagedProblem problem(random, {{{10, 4}, {10, 4}}, 1, 16, 16});
    problem.keys[1].row(11)[3] = wrong;
    const Buffer out = form.attend(problem, 8);
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t i = 0; i < out.width; ++i)
        EXPECT_EQ(std::isnan(out.at(row, i)),
                  problem.sequences[row] == 1 && problem.positions[row] >= 11)
            << "row " << row;
  }
}

} // namespace

/// The same of a state that has keys and values.
template <typename Element>
void expect_stored_rows(const StoredForm<Element> &form,
                        LatentBody<Element> body) {
  Random random(12);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    PagedProblem plain = problem;
    for (Buffer &tensor : plain.keys)
      for (int64_t row = 0; row < tensor.rows; ++row)
        form.store(tensor.row(row), tensor.width);
    const Buffer expected = plain.attend_latent(
        plain.append(plain.keys, shape.head_dim, baton_task_append_key_pages),
        16, baton_task_paged_latent_attention);
    const Buffer out = problem.attend_latent(
        problem.append<Element>(problem.keys, shape.head_dim,
                                shape.head_dim + form.extra, form.append_keys),
        5, body, form.extra);
    for (int64_t row = 0; row < problem.rows; ++row)
      expect_same_bits(out.row(row), expected.row(row), out.width);
  }
}

TEST(PagedAttention, StoredRowsOfOneStateAreThoseOfTheForm) {
  expect_stored_rows(bfloat_form(), baton_task_paged_latent_attention_bf16);
  expect_stored_rows(int8_form(), baton_task_paged_latent_attention_int8);
  expect_stored_rows(float8_form(), baton_task_paged_latent_attention_fp8);
}

TEST(PagedAttention, StoredNumbersAreThoseOfTheForm) {
  expect_stored_numbers(bfloat_form());
  expect_stored_numbers(int8_form());
  expect_stored_numbers(float8_form());
}

TEST(PagedAttention, StoredNumbersAreNear) {
  expect_small_error(bfloat_form());
  expect_small_error(int8_form());
  expect_small_error(float8_form());
  expect_near_f32("bf16", bfloat_form());
  expect_near_f32("int8", int8_form());
  expect_near_f32("fp8", float8_form());
}

TEST(PagedAttention, StoredNumbersThatAreNotFiniteAreSeen) {
  expect_nan_where_it_is_seen(int8_form());
  expect_nan_where_it_is_seen(float8_form());
}

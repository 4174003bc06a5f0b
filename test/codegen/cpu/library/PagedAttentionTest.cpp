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
            problem.gates.stride, shape.gate_width, scratch.data());
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

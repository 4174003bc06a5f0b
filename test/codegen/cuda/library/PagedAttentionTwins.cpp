//===- PagedAttentionTwins.cpp - attention over states in pages -----------===//

#include "test/codegen/cpu/library/PagedProblem.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

/// Of all shapes, what appending leaves in memory.
template <typename Body>
void expect_same_pages(const Twin<Body> &twin, bool as_keys) {
  Random random(3);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    twin.agree([&](auto body) {
      return as_keys ? problem.append(problem.keys, shape.head_dim, body)
                     : problem.append(problem.values, shape.value_dim, body);
    });
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

} // namespace

TWIN_TEST(baton_task_append_key_pages) { expect_same_pages(twin, true); }

TWIN_TEST(baton_task_append_value_pages) { expect_same_pages(twin, false); }

TWIN_TEST(baton_task_paged_attention) {
  Random random(4);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    SCOPED_TRACE("sequences " + std::to_string(shape.sequences.size()) +
                 " window " + std::to_string(shape.window));
    const PagedProblem problem(random, shape);
    const auto keys = problem.append(problem.keys, shape.head_dim,
                                     baton_task_append_key_pages);
    const auto values = problem.append(problem.values, shape.value_dim,
                                       baton_task_append_value_pages);
    for (int64_t tile : {16, 5})
      twin.agree(
          [&](auto body) { return problem.attend(keys, values, tile, body); });
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

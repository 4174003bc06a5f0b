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

namespace {

template <typename Element, typename Body>
void expect_same_elements(const Twin<Body> &twin, bool as_keys, int64_t extra) {
  Random random(3);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    twin.agree([&](auto body) {
      const auto memory =
          as_keys ? problem.append<Element>(problem.keys, shape.head_dim,
                                            shape.head_dim + extra, body)
                  : problem.append<Element>(problem.values, shape.value_dim,
                                            shape.value_dim + extra, body);
      return std::vector<float>(memory.begin(), memory.end());
    });
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

template <typename Element, typename Body>
void expect_same_attention(const Twin<Body> &twin,
                           const StoredForm<Element> &form) {
  Random random(4);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    const auto keys =
        problem.append<Element>(problem.keys, shape.head_dim,
                                shape.head_dim + form.extra, form.append_keys);
    const auto values = problem.append<Element>(problem.values, shape.value_dim,
                                                shape.value_dim + form.extra,
                                                form.append_values);
    twin.agree([&](auto body) {
      return problem.attend(keys, values, 16, body, form.extra);
    });
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

} // namespace

template <typename Element, typename Body, typename Append>
void expect_same_latent_attention(const Twin<Body> &twin, Append append,
                                  int64_t extra) {
  Random random(5);
  for (const PagedProblem::Shape &shape : paged_shapes()) {
    const PagedProblem problem(random, shape);
    const auto keys = problem.append<Element>(problem.keys, shape.head_dim,
                                              shape.head_dim + extra, append);
    for (int64_t tile : {16, 5})
      twin.agree([&](auto body) {
        return problem.attend_latent(keys, tile, body, extra);
      });
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

#define STORED_TWINS(suffix, Element, form, extra)                             \
  TWIN_TEST(baton_task_append_key_pages_##suffix) {                            \
    expect_same_elements<Element>(twin, true, extra);                          \
  }                                                                            \
  TWIN_TEST(baton_task_append_value_pages_##suffix) {                          \
    expect_same_elements<Element>(twin, false, extra);                         \
  }                                                                            \
  TWIN_TEST(baton_task_paged_attention_##suffix) {                             \
    expect_same_attention(twin, form);                                         \
  }                                                                            \
  TWIN_TEST(baton_task_paged_latent_attention_##suffix) {                      \
    expect_same_latent_attention<Element>(                                     \
        twin, baton_task_append_key_pages_##suffix, extra);                    \
  }
STORED_TWINS(bf16, uint16_t, bfloat_form(), 0)
STORED_TWINS(int8, int8_t, int8_form(), 4)
STORED_TWINS(fp8, int8_t, float8_form(), 4)

TWIN_TEST(baton_task_append_key_pages) { expect_same_pages(twin, true); }

TWIN_TEST(baton_task_append_value_pages) { expect_same_pages(twin, false); }

TWIN_TEST(baton_task_paged_latent_attention) {
  expect_same_latent_attention<float>(twin, baton_task_append_key_pages, 0);
}

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

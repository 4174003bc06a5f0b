//===- EmbeddingTwins.cpp - token and position embeddings -----------------===//

#include "codegen/cpu/library/library.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

constexpr int64_t widths[] = {1, 7, 16, 33, 100, 517};
constexpr int64_t vocabulary = 37;

/// All of a table's kinds of tokens, unknown ones included.
const std::vector<int32_t> tokens = {36, 0, 15, 16, -1, 37, 31, 1 << 30};

/// `stored` returns the table as the body wants it.
template <typename Type, typename Function, typename Stored>
void expect_agree(const Twin<Function> &twin, Stored stored) {
  Random random(1);
  const int64_t rows = static_cast<int64_t>(tokens.size());
  for (int64_t width : widths)
    for (float multiplier : {1.0f, 3.3f}) {
      const auto table = stored(Weight<Type>(random, vocabulary, width));
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, tokens.data(), table.data(), rows, width,
             vocabulary, multiplier);
        return out;
      });
    }
}

template <typename Type, typename Function>
void expect_rows_agree(const Twin<Function> &twin) {
  expect_agree<Type>(twin, [](const auto &weight) { return weight.stored; });
}
template <typename Type, typename Function>
void expect_panels_agree(const Twin<Function> &twin) {
  expect_agree<Type>(twin, [](const auto &weight) { return weight.packed(); });
}

template <typename Type, typename Function>
void expect_positions_agree(const Twin<Function> &twin) {
  Random random(2);
  for (int64_t width : widths)
    for (int64_t rows : {0, 1, 9}) {
      Weight<Type> table(random, 20, width);
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, table.stored.data(), 6, rows, width);
        return out;
      });
    }
}

/// Ranks that have tokens, some of them with room for more, and one without.
template <typename Type, typename Function, typename Stored>
void expect_parts_agree(const Twin<Function> &twin, Stored stored) {
  Random random(3);
  const int64_t rows = static_cast<int64_t>(tokens.size());
  for (int64_t width : widths) {
    const auto table = stored(Weight<Type>(random, 20, width));
    for (auto [begin, count] :
         {std::pair<int32_t, int32_t>{0, 20}, {20, 17}, {37, 0}}) {
      const std::vector<int32_t> place = {begin, count};
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, tokens.data(), table.data(), rows, width,
             vocabulary, 3.3f, place.data());
        return out;
      });
    }
  }
}

template <typename Type, typename Function>
void expect_rows_of_parts_agree(const Twin<Function> &twin) {
  expect_parts_agree<Type>(twin,
                           [](const auto &weight) { return weight.stored; });
}
template <typename Type, typename Function>
void expect_panels_of_parts_agree(const Twin<Function> &twin) {
  expect_parts_agree<Type>(twin,
                           [](const auto &weight) { return weight.packed(); });
}

TWIN_TEST(baton_task_embedding_part_f32) {
  expect_rows_of_parts_agree<F32>(twin);
}
TWIN_TEST(baton_task_embedding_part_bf16) {
  expect_rows_of_parts_agree<BF16>(twin);
}
TWIN_TEST(baton_task_embedding_part_f16) {
  expect_rows_of_parts_agree<F16>(twin);
}
TWIN_TEST(baton_task_embedding_panels_part_f32) {
  expect_panels_of_parts_agree<F32>(twin);
}
TWIN_TEST(baton_task_embedding_panels_part_bf16) {
  expect_panels_of_parts_agree<BF16>(twin);
}
TWIN_TEST(baton_task_embedding_panels_part_f16) {
  expect_panels_of_parts_agree<F16>(twin);
}

TWIN_TEST(baton_task_embedding_f32) { expect_rows_agree<F32>(twin); }
TWIN_TEST(baton_task_embedding_bf16) { expect_rows_agree<BF16>(twin); }
TWIN_TEST(baton_task_embedding_f16) { expect_rows_agree<F16>(twin); }
TWIN_TEST(baton_task_embedding_panels_f32) { expect_panels_agree<F32>(twin); }
TWIN_TEST(baton_task_embedding_panels_bf16) { expect_panels_agree<BF16>(twin); }
TWIN_TEST(baton_task_embedding_panels_f16) { expect_panels_agree<F16>(twin); }
TWIN_TEST(baton_task_position_embedding_f32) {
  expect_positions_agree<F32>(twin);
}
TWIN_TEST(baton_task_position_embedding_bf16) {
  expect_positions_agree<BF16>(twin);
}
TWIN_TEST(baton_task_position_embedding_f16) {
  expect_positions_agree<F16>(twin);
}

} // namespace

//===- BlocksTwins.cpp - bodies on quantised weights ----------------------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cpu/library/BlocksProblem.h"
#include "test/codegen/cuda/library/Twins.h"

#include <limits>

using namespace baton;
using namespace baton::test;

namespace {

template <typename Function>
void expect_linear_agrees(const Twin<Function> &twin,
                          const std::vector<DataType> &types,
                          const char *formats) {
  Random random(1);
  const int64_t k = 512;
  const QuantisedWeight weight(types, 48, k, formats, 3);
  for (int64_t rows : {0, 1, 2, 8, 13})
    for (int64_t columns : {1, 16, 33, 48}) {
      const Buffer x = random.buffer(rows, k);
      const std::vector<float> bias = random.vector(columns);
      twin.agree([&](auto body) {
        Buffer out(rows, columns);
        body(out.data(), out.stride, x.data(), x.stride, weight.data(),
             bias.data(), nullptr, 0, rows, k, columns, BATON_ACTIVATION_SILU);
        return out;
      });
    }
}

template <typename Function>
void expect_linear_transposed_agrees(const Twin<Function> &twin,
                                     const std::vector<DataType> &types,
                                     const char *formats) {
  Random random(3);
  // A panel has one format.
  const int64_t outputs = types.size() > 1 ? 32 : 40, inputs = 512, first = 48,
                columns = 100;
  const QuantisedWeight weight(types, outputs, inputs, formats, 6);
  const int64_t depth = outputs * static_cast<int64_t>(types.size());
  std::vector<float> scratch(baton_linear_transposed_scratch_bytes(columns) /
                             4);
  for (int64_t rows : {0, 1, 9}) {
    const Buffer a = random.buffer(rows, depth);
    twin.agree([&](auto body) {
      Buffer out(rows, columns);
      body(out.data(), out.stride, a.data(), a.stride, weight.data(), nullptr,
           0, first, rows, columns, depth, inputs, scratch.data());
      return out;
    });
  }
}

template <typename Function>
void expect_adapted_squares_agree(const Twin<Function> &twin,
                                  const std::vector<DataType> &types,
                                  const char *formats) {
  Random random(8);
  const int64_t outputs = types.size() > 1 ? 32 : 40, inputs = 512, rank = 3;
  const QuantisedWeight weight(types, outputs, inputs, formats, 6);
  const int64_t columns = outputs * static_cast<int64_t>(types.size());
  const Buffer down = random.buffer(rank, inputs),
               up = random.buffer(columns, rank);
  std::vector<float> scratch(
      baton_adapted_squares_scratch_bytes(columns, rank) / 4);
  twin.agree([&](auto body) {
    std::vector<float> out(columns);
    body(out.data(), weight.data(), down.data(), down.stride, up.data(),
         up.stride, 1.5f, columns, rank, inputs, scratch.data());
    return out;
  });
}

template <typename Function>
void expect_gated_linear_agrees(const Twin<Function> &twin, DataType type,
                                const char *format) {
  Random random(2);
  const int64_t k = 256;
  const QuantisedWeight weight({type}, 96, k, format, 4);
  for (int64_t rows : {1, 2, 13}) {
    const Buffer x = random.buffer(rows, k);
    twin.agree([&](auto body) {
      Buffer out(rows, 40);
      body(out.data(), out.stride, x.data(), x.stride, weight.data(), nullptr,
           nullptr, rows, k, 40, BATON_ACTIVATION_SILU);
      return out;
    });
  }
}

template <typename Function, typename... Place>
void expect_embedding_agrees(const Twin<Function> &twin, DataType type,
                             const char *format, Place... place) {
  const int64_t width = 256;
  const QuantisedWeight weight({type}, 40, width, format, 5);
  const std::vector<int32_t> tokens = {0, 39, 17, 15, -1, 40};
  twin.agree([&](auto body) {
    Buffer out(static_cast<int64_t>(tokens.size()), width);
    body(out.data(), out.stride, tokens.data(), weight.data(), out.rows, width,
         40, 1.5f, place...);
    return out;
  });
}

const int32_t place[] = {7, 20};

#define BATON_BLOCKS_TWINS(NAME, BLOCK)                                        \
  TWIN_TEST(baton_task_linear_##NAME) {                                        \
    expect_linear_agrees(twin, {DataType::BLOCK}, #NAME);                      \
  }                                                                            \
  TWIN_TEST(baton_task_linear_transposed_##NAME) {                             \
    expect_linear_transposed_agrees(twin, {DataType::BLOCK}, #NAME);           \
  }                                                                            \
  TWIN_TEST(baton_task_adapted_squares_##NAME) {                               \
    expect_adapted_squares_agree(twin, {DataType::BLOCK}, #NAME);              \
  }                                                                            \
  TWIN_TEST(baton_task_gated_linear_##NAME) {                                  \
    expect_gated_linear_agrees(twin, DataType::BLOCK, #NAME);                  \
  }                                                                            \
  TWIN_TEST(baton_task_embedding_panels_##NAME) {                              \
    expect_embedding_agrees(twin, DataType::BLOCK, #NAME);                     \
  }                                                                            \
  TWIN_TEST(baton_task_embedding_panels_part_##NAME) {                         \
    expect_embedding_agrees(twin, DataType::BLOCK, #NAME, place);              \
  }
BATON_FOR_EACH_BLOCK(BATON_BLOCKS_TWINS)
#undef BATON_BLOCKS_TWINS

Buffer quantise(const Buffer &x, int64_t k) {
  Buffer out(x.rows, k / 32 * 10);
  baton_task_quantise_rows(out.data(), out.stride, x.data(), x.stride, x.rows,
                           k);
  return out;
}

TWIN_TEST(baton_task_quantise_rows) {
  Random random(6);
  Buffer x = random.buffer(7, 96);
  for (int64_t i = 0; i < 32; ++i) {
    x.row(1)[i] = 0;
    x.row(2)[i] = static_cast<float>(i) - 15.5f;
    x.row(3)[i] *= 0x1p-130f;
  }
  x.row(4)[3] = std::numeric_limits<float>::infinity();
  twin.agree([&](auto body) {
    Buffer out(x.rows, 30);
    body(out.data(), out.stride, x.data(), x.stride, x.rows, 96);
    return out;
  });
}

template <typename Function>
void expect_integer_linear_agrees(const Twin<Function> &twin,
                                  const std::vector<DataType> &types,
                                  const char *formats) {
  Random random(7);
  const int64_t k = 512;
  const QuantisedWeight weight(types, 48, k, formats, 3);
  for (int64_t rows : {0, 1, 2, 8, 13})
    for (int64_t columns : {1, 33, 48}) {
      const Buffer x = quantise(random.buffer(rows, k), k);
      const std::vector<float> bias = random.vector(columns);
      twin.agree([&](auto body) {
        Buffer out(rows, columns);
        body(out.data(), out.stride, x.data(), x.stride, weight.data(),
             bias.data(), nullptr, 0, rows, k, columns, BATON_ACTIVATION_SILU);
        return out;
      });
    }
}

template <typename Function>
void expect_integer_gated_linear_agrees(const Twin<Function> &twin,
                                        DataType type, const char *format) {
  Random random(8);
  const int64_t k = 256;
  const QuantisedWeight weight({type}, 96, k, format, 4);
  for (int64_t rows : {1, 2, 13}) {
    const Buffer x = quantise(random.buffer(rows, k), k);
    twin.agree([&](auto body) {
      Buffer out(rows, 40);
      body(out.data(), out.stride, x.data(), x.stride, weight.data(), nullptr,
           nullptr, rows, k, 40, BATON_ACTIVATION_SILU);
      return out;
    });
  }
}

#define BATON_INTEGER_TWINS(NAME, BLOCK)                                       \
  TWIN_TEST(baton_task_integer_linear_##NAME) {                                \
    expect_integer_linear_agrees(twin, {DataType::BLOCK}, #NAME);              \
  }                                                                            \
  TWIN_TEST(baton_task_integer_gated_linear_##NAME) {                          \
    expect_integer_gated_linear_agrees(twin, DataType::BLOCK, #NAME);          \
  }
BATON_FOR_EACH_INTEGER_BLOCK(BATON_INTEGER_TWINS)
#undef BATON_INTEGER_TWINS

TWIN_TEST(baton_task_integer_linear_mixed) {
  expect_integer_linear_agrees(
      twin, {DataType::Q8_0, DataType::Q4_K, DataType::Q6_K, DataType::Q3_K},
      "q8_0|q3_k|q4_k|q6_k");
}

TWIN_TEST(baton_task_partly_integer_linear_mixed) {
  Random random(9);
  const int64_t k = 512;
  const QuantisedWeight weight({DataType::Q4_K, DataType::F16, DataType::Q8_0,
                                DataType::BF16, DataType::F32},
                               32, k, "q8_0|q4_k|f16|bf16|f32", 3);
  for (int64_t rows : {0, 1, 2, 8, 13})
    for (int64_t columns : {1, 48, 160}) {
      const Buffer exact = random.buffer(rows, k), x = quantise(exact, k);
      const std::vector<float> bias = random.vector(columns);
      twin.agree([&](auto body) {
        Buffer out(rows, columns);
        body(out.data(), out.stride, x.data(), x.stride, exact.data(),
             exact.stride, weight.data(), bias.data(), nullptr, 0, rows, k,
             columns, BATON_ACTIVATION_SILU);
        return out;
      });
    }
}

// One of blocks of each kind, and numbers as they are.
const std::vector<DataType> some_types = {
    DataType::Q8_0, DataType::Q4_K, DataType::Q6_K, DataType::NF4,
    DataType::F16,  DataType::BF16, DataType::F32};
const char *some_formats = "q8_0|q4_k|q6_k|nf4|f16|bf16|f32";

TWIN_TEST(baton_task_linear_transposed_mixed) {
  expect_linear_transposed_agrees(twin, some_types, some_formats);
}
TWIN_TEST(baton_task_adapted_squares_mixed) {
  expect_adapted_squares_agree(twin, some_types, some_formats);
}
TWIN_TEST(baton_task_linear_mixed) {
  const std::string formats = all_formats();
  expect_linear_agrees(twin, all_types(), formats.c_str());
}

} // namespace

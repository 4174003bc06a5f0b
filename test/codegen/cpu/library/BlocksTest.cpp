//===- BlocksTest.cpp - bodies on quantised weights -----------------------===//
//
// What bodies compute has the bits that they compute from the numbers in F32,
// which runtime/weights decodes by itself, from the file's blocks.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/training.h"
#include "runtime/error.h"
#include "test/codegen/cpu/library/BlocksProblem.h"
#include "test/codegen/cpu/library/Support.h"

#include <algorithm>

using namespace baton;
using namespace baton::test;

namespace {

struct Bodies {
  decltype(&baton_task_linear_q8_0) linear;
  decltype(&baton_task_linear_transposed_q8_0) transposed;
  decltype(&baton_task_gated_linear_q8_0) gated;
  decltype(&baton_task_embedding_panels_q8_0) embedding;
  decltype(&baton_task_adapted_squares_q8_0) squares;
};

Bodies bodies_of(std::string_view format) {
#define BATON_BODIES_OF(NAME, BLOCK)                                           \
  if (format == #NAME)                                                         \
    return {baton_task_linear_##NAME, baton_task_linear_transposed_##NAME,     \
            baton_task_gated_linear_##NAME,                                    \
            baton_task_embedding_panels_##NAME,                                \
            baton_task_adapted_squares_##NAME};
  BATON_FOR_EACH_BLOCK(BATON_BODIES_OF)
#undef BATON_BODIES_OF
  return {baton_task_linear_mixed, baton_task_linear_transposed_mixed, nullptr,
          nullptr, baton_task_adapted_squares_mixed};
}

void expect_same_bits(const Buffer &found, const Buffer &expected,
                      const std::string &what) {
  for (int64_t row = 0; row < found.rows; ++row)
    ASSERT_EQ(std::memcmp(found.row(row), expected.row(row),
                          found.stride * sizeof(float)),
              0)
        << what << ", row " << row << " of " << found.rows;
}

void expect_linears_agree(const QuantisedWeight &weight, int64_t k,
                          std::string_view format, Random &random) {
  const std::vector<float> panels = weight.as_panels(k);
  const int64_t outputs = static_cast<int64_t>(weight.numbers.size()) / k;
  for (int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 13})
    for (int64_t columns : {int64_t(1), int64_t(16), int64_t(33), outputs}) {
      Buffer x = random.buffer(rows, k),
             residual = random.buffer(rows, columns);
      std::vector<float> bias = random.vector(columns);
      Buffer found(rows, columns), expected(rows, columns);
      bodies_of(format).linear(found.data(), found.stride, x.data(), x.stride,
                               weight.data(), bias.data(), residual.data(),
                               residual.stride, rows, k, columns,
                               BATON_ACTIVATION_SILU);
      baton_task_linear_f32(expected.data(), expected.stride, x.data(),
                            x.stride, panels.data(), bias.data(),
                            residual.data(), residual.stride, rows, k, columns,
                            BATON_ACTIVATION_SILU);
      expect_same_bits(found, expected,
                       std::string(format) + " of " + std::to_string(k));
    }
}

TEST(Blocks, LinearsHaveTheBitsOfF32) {
  Random random(1);
  for (const StoredFormat &stored : stored_formats) {
    const int64_t block = stored_block(stored.type).elements;
    for (int64_t k : {block, 3 * block})
      expect_linears_agree(
          QuantisedWeight({stored.type}, 72, k, stored.format, k), k,
          stored.format, random);
  }
}

TEST(Blocks, PanelsMayHaveSeveralFormats) {
  Random random(2);
  expect_linears_agree(QuantisedWeight(all_types(), 32, 512, all_formats(), 5),
                       512, "mixed", random);
}

/// A parameter of three layers, of which each has formats of its own.
std::shared_ptr<const WeightForm> form_of_layers(const nlohmann::json &layers) {
  ParameterPart part;
  part.sources = {"weight"};
  part.shape = {40, 256};
  part.transposed = false;
  part.own_outputs = {0, 40};
  part.own_inputs = {0, 256};
  part.room_outputs = 40;
  part.room_inputs = 256;
  const std::string name = "weight";
  const nlohmann::json sizes = {{"kind", "blocks"},
                                {"k", 256},
                                {"n", 40},
                                {"formats", "q4_k|q6_k|f32"},
                                {"layer_formats", layers}};
  return WeightForm::parse(
      "blocks", FormDescription{name, DataType::I8, 3, {part}, sizes});
}

TEST(Blocks, LayersTakeTheRoomOfTheirOwnFormats) {
  const auto form = form_of_layers({"q4_k", "f32", "q4_k|q6_k"});
  // Three panels of 16 outputs, each with a head.
  const auto room = [](int bytes_of_block) {
    return uint64_t(3) * (64 + 16 * bytes_of_block);
  };
  EXPECT_EQ(form->layer_bytes(), room(256 * 4));
  EXPECT_EQ(form->of_layer(0)->layer_bytes(), room(148));
  EXPECT_EQ(form->of_layer(1)->layer_bytes(), room(256 * 4));
  EXPECT_EQ(form->of_layer(2)->layer_bytes(), room(210));

  // What one layer has is not read into another's room.
  const StoredWeight stored(DataType::Q4_K, 40, 256, 3);
  const std::vector<StoredTensor> tensors = {
      {"weight", &stored.get(), nullptr}};
  Random random(7);
  const Buffer x = random.buffer(5, 256);
  std::vector<Buffer> found;
  for (uint64_t layer : {0, 2}) {
    const auto own = form->of_layer(layer);
    std::vector<std::byte> panels(own->layer_bytes());
    own->pack(tensors, 0, own->units(), panels.data());
    blocks::MixedHead head;
    std::memcpy(&head, panels.data(), sizeof head);
    EXPECT_EQ(head.stride, own->layer_bytes() / 3);
    EXPECT_EQ(head.format, blocks::q4_k);
    Buffer out(5, 40);
    baton_task_linear_mixed(out.data(), out.stride, x.data(), x.stride,
                            reinterpret_cast<const int8_t *>(panels.data()),
                            nullptr, nullptr, 0, 5, 256, 40,
                            BATON_ACTIVATION_NONE);
    found.push_back(out);
  }
  expect_same_bits(found[0], found[1], "a layer with room for Q6_K");
}

TEST(Blocks, FormatsOfLayersThatMakeNoSenseAreRefused) {
  for (const nlohmann::json &layers :
       {nlohmann::json{"q4_k"}, nlohmann::json{"q4_k", "q4_k", "q5_k"},
        nlohmann::json{"q4_k", "", "f32"}})
    EXPECT_THROW(form_of_layers(layers), Error) << layers;
}

void expect_transposed_agree(const QuantisedWeight &weight, int64_t inputs,
                             std::string_view format, Random &random) {
  const int64_t outputs = static_cast<int64_t>(weight.numbers.size()) / inputs;
  for (int64_t rows : {0, 1, 7, 20})
    // Tiles that begin and end within blocks.
    for (auto [first, columns] : {std::pair<int64_t, int64_t>{0, inputs},
                                  {16, 10},
                                  {16, inputs - 16}}) {
      if (columns < 1)
        continue;
      Buffer a = random.buffer(rows, outputs),
             residual = random.buffer(rows, columns);
      Buffer found(rows, columns), expected(rows, columns);
      std::vector<float> scratch(
          baton_linear_transposed_scratch_bytes(columns) / 4);
      bodies_of(format).transposed(found.data(), found.stride, a.data(),
                                   a.stride, weight.data(), residual.data(),
                                   residual.stride, first, rows, columns,
                                   outputs, inputs, scratch.data());
      baton_task_product(expected.data(), expected.stride, a.data(), a.stride,
                         1, weight.numbers.data() + first, inputs, 1, nullptr,
                         residual.data(), residual.stride, rows, columns,
                         outputs, scratch.data());
      expect_same_bits(found, expected,
                       std::string(format) + " of " + std::to_string(inputs));
    }
}

TEST(Blocks, TransposedLinearsHaveTheBitsOfProducts) {
  Random random(4);
  for (const StoredFormat &stored : stored_formats) {
    const int64_t block = stored_block(stored.type).elements;
    // The depth is in pieces, and ends within a panel.
    for (uint64_t outputs : {72, 264})
      for (int64_t inputs : {block, 3 * block})
        expect_transposed_agree(
            QuantisedWeight({stored.type}, outputs, inputs, stored.format, 7),
            inputs, stored.format, random);
  }
}

void expect_squares_agree(const QuantisedWeight &weight, int64_t inputs,
                          std::string_view format, Random &random) {
  const std::vector<float> panels = weight.as_panels(inputs);
  const int64_t outputs = static_cast<int64_t>(weight.numbers.size()) / inputs;
  const int64_t rank = 3;
  const Buffer down = random.buffer(rank, inputs),
               up = random.buffer(outputs, rank);
  for (int64_t columns : {int64_t(1), int64_t(33), outputs}) {
    Buffer found(1, columns), expected(1, columns);
    std::vector<float> scratch(
        baton_adapted_squares_scratch_bytes(columns, rank) / 4);
    bodies_of(format).squares(found.data(), weight.data(), down.data(),
                              down.stride, up.data(), up.stride, 1.5f, columns,
                              rank, inputs, scratch.data());
    baton_task_adapted_squares_f32(expected.data(), panels.data(), down.data(),
                                   down.stride, up.data(), up.stride, 1.5f,
                                   columns, rank, inputs, scratch.data());
    expect_same_bits(found, expected,
                     std::string(format) + " of " + std::to_string(inputs));
  }
}

TEST(Blocks, SquaresOfAdaptedRowsHaveTheBitsOfF32) {
  Random random(6);
  for (const StoredFormat &stored : stored_formats) {
    const int64_t block = stored_block(stored.type).elements;
    for (int64_t inputs : {block, 3 * block})
      expect_squares_agree(
          QuantisedWeight({stored.type}, 72, inputs, stored.format, 7), inputs,
          stored.format, random);
  }
  expect_squares_agree(QuantisedWeight(all_types(), 32, 512, all_formats(), 5),
                       512, "mixed", random);
}

TEST(Blocks, TransposedPanelsMayHaveSeveralFormats) {
  Random random(5);
  expect_transposed_agree(
      QuantisedWeight(all_types(), 32, 512, all_formats(), 5), 512, "mixed",
      random);
}

TEST(Blocks, GatedLinearsHaveTheBitsOfF32) {
  Random random(3);
  for (const StoredFormat &stored : stored_formats) {
    const int64_t k = 256, columns = 40;
    const QuantisedWeight weight({stored.type}, 96, k, stored.format, 9);
    const std::vector<float> panels = weight.as_panels(k);
    for (int64_t rows : {1, 2, 6, 13}) {
      Buffer x = random.buffer(rows, k);
      Buffer found(rows, columns), expected(rows, columns);
      bodies_of(stored.format)
          .gated(found.data(), found.stride, x.data(), x.stride, weight.data(),
                 nullptr, nullptr, rows, k, columns, BATON_ACTIVATION_SILU);
      baton_task_gated_linear_f32(expected.data(), expected.stride, x.data(),
                                  x.stride, panels.data(), nullptr, nullptr,
                                  rows, k, columns, BATON_ACTIVATION_SILU);
      expect_same_bits(found, expected, stored.format);
    }
  }
}

TEST(Blocks, EmbeddingsAreTheNumbers) {
  for (const StoredFormat &stored : stored_formats) {
    const int64_t width = 512, vocabulary = 40;
    const QuantisedWeight weight({stored.type}, vocabulary, width,
                                 stored.format, 11);
    const std::vector<int32_t> tokens = {0, 39, 17, 15, 16, -1, 40};
    Buffer found(static_cast<int64_t>(tokens.size()), width);
    bodies_of(stored.format)
        .embedding(found.data(), found.stride, tokens.data(), weight.data(),
                   found.rows, width, vocabulary, 2.0f);
    for (int64_t row = 0; row < found.rows; ++row)
      for (int64_t i = 0; i < width; ++i) {
        if (tokens[row] < 0 || tokens[row] >= vocabulary)
          ASSERT_TRUE(std::isnan(found.at(row, i)));
        else
          ASSERT_EQ(found.at(row, i),
                    2 * weight.numbers[tokens[row] * width + i])
              << stored.format << " token " << tokens[row] << " at " << i;
      }
  }
}

} // namespace

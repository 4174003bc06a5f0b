//===- QuantisationTest.cpp - quantised checkpoints of Hugging Face -------===//
//
// What is found and what is refused. What numbers weights are is
// test/e2e/quantised_folders.py's.
//
//===----------------------------------------------------------------------===//

#include "fixture.h"

#include "runtime/weight_blocks.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/stored_blocks.h"

#include <gtest/gtest.h>

namespace baton::test {
namespace {

using Tensors = std::vector<NamedTensor>;

/// Of one value everywhere.
NamedTensor filled(const std::string &name, DataType type,
                   const std::vector<uint64_t> &shape, double value = 0) {
  size_t count = 1;
  for (uint64_t extent : shape)
    count *= extent;
  return {name, type, shape, std::vector<double>(count, value)};
}

NamedTensor text_tensor(const std::string &name, const std::string &text) {
  return {name, DataType::U8, {text.size()}, {text.begin(), text.end()}};
}

const char gptq[] = R"({"quant_method": "gptq", "bits": 4, "group_size": 32})";
const char awq[] = R"({"quant_method": "awq", "bits": 4, "group_size": 32})";
const char compressed[] = R"({"quant_method": "compressed-tensors"})";
const char blocks_of_fp8[] =
    R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";
const char bitsandbytes[] = R"({"quant_method": "bitsandbytes"})";

/// GPTQ's of 16 outputs and 64 inputs.
Tensors gptq_tensors() {
  return {filled("x.qweight", DataType::I32, {8, 16}),
          filled("x.qzeros", DataType::I32, {2, 2}),
          filled("x.scales", DataType::F16, {2, 16}, 0.5)};
}

Tensors packed_tensors() {
  NamedTensor shape = filled("x.weight_shape", DataType::I64, {2}, 16);
  shape.values[1] = 64;
  return {filled("x.weight_packed", DataType::I32, {16, 8}),
          filled("x.weight_scale", DataType::BF16, {16, 2}, 0.5), shape};
}

Tensors nf4_tensors() {
  NamedTensor map = filled("x.weight.quant_map", DataType::F32, {16});
  for (unsigned i = 0; i < 16; ++i)
    map.values[i] = blocks::NF4::numbers[i];
  return {filled("x.weight", DataType::U8, {512, 1}),
          filled("x.weight.absmax", DataType::F32, {16}, 0.5), map,
          text_tensor("x.weight.quant_state.bitsandbytes__nf4",
                      R"({"blocksize": 64, "shape": [16, 64]})")};
}

class QuantisedFolder : public testing::Test {
protected:
  Checkpoint open(const std::string &config, const Tensors &tensors) {
    write_file(folder.path / "config.json",
               R"({"quantization_config": )" + config + "}");
    write_file(folder.path / "model.safetensors", safetensors_bytes(tensors));
    return Checkpoint::open(folder.path);
  }
  void expect_found(const std::string &config, const Tensors &tensors,
                    DataType type, float first) {
    const Checkpoint checkpoint = open(config, tensors);
    const StoredTensor found = checkpoint.find({"x.weight"});
    EXPECT_TRUE(checkpoint.contains("x.weight"));
    EXPECT_EQ(found.tensor->type, type);
    EXPECT_EQ(found.tensor->shape, (std::vector<uint64_t>{16, 64}));
    EXPECT_EQ(found.file->path(), folder.path / "model.safetensors");
    std::vector<float> row(64);
    dequantise(*found.tensor, 64, 15, 0, 64, row.data());
    for (float weight : row)
      EXPECT_EQ(weight, first);
  }
  void expect_refused(const std::string &config, const Tensors &tensors,
                      const std::string &what) {
    const std::string message = error_of([&] { open(config, tensors); });
    expect_contains(message, folder.path.string());
    expect_contains(message, what);
  }

  TemporaryFolder folder;
};

/// Without a tensor, or with it in another shape or type.
Tensors without(Tensors tensors, const std::string &name) {
  std::erase_if(tensors,
                [&](const NamedTensor &tensor) { return tensor.name == name; });
  return tensors;
}
Tensors with(Tensors tensors, const NamedTensor &other) {
  tensors = without(std::move(tensors), other.name);
  tensors.push_back(other);
  return tensors;
}

TEST_F(QuantisedFolder, FindsWeights) {
  // Zeros are stored minus one.
  expect_found(gptq, gptq_tensors(), DataType::Int4_G32, -0.5f);
  expect_found(R"({"quant_method": "gptq", "group_size": 32,
                   "checkpoint_format": "gptq_v2"})",
               gptq_tensors(), DataType::Int4_G32, 0);
  expect_found(
      R"({"quant_method": "gptq", "group_size": -1})",
      with(with(gptq_tensors(), filled("x.qzeros", DataType::I32, {1, 2})),
           filled("x.scales", DataType::F16, {1, 16}, 0.5)),
      DataType::Int4_G64, -0.5f);
  expect_found(
      awq, with(gptq_tensors(), filled("x.qweight", DataType::I32, {64, 2})),
      DataType::Int4_G32, 0);
  // Without zeros, 8 is 0.
  expect_found(compressed, packed_tensors(), DataType::Int4_G32, -4);
  expect_found(compressed,
               with(packed_tensors(),
                    filled("x.weight_zero_point", DataType::I32, {2, 2})),
               DataType::Int4_G32, 0);
  expect_found(compressed,
               {filled("x.weight", DataType::F8E4M3, {16, 64}, 0x38),
                filled("x.weight_scale", DataType::F32, {}, 0.25)},
               DataType::FP8_G64, 0.25f);
  expect_found(blocks_of_fp8,
               {filled("x.weight", DataType::F8E4M3, {16, 64}, 0x38),
                filled("x.weight_scale_inv", DataType::F32, {1, 1}, 0.25)},
               DataType::FP8_G64, 0.25f);
  expect_found(compressed,
               {filled("x.weight_packed", DataType::U8, {16, 32}, 0x22),
                filled("x.weight_scale", DataType::F8E4M3, {16, 4}, 0x38),
                filled("x.weight_global_scale", DataType::F32, {1}, 2)},
               DataType::NVFP4, 0.5f);
  expect_found(compressed,
               {filled("x.weight_packed", DataType::U8, {16, 32}, 0x22),
                filled("x.weight_scale", DataType::U8, {16, 2}, 128)},
               DataType::MXFP4, 2);
  expect_found(bitsandbytes, nf4_tensors(), DataType::NF4, -0.5f);
  expect_found(bitsandbytes,
               {filled("x.weight", DataType::I8, {16, 64}, 127),
                filled("x.SCB", DataType::F32, {16}, 1)},
               DataType::Int8_G64, 127 * (1.0f / 127));
}

TEST_F(QuantisedFolder, LeavesOtherTensorsAlone) {
  Tensors tensors = gptq_tensors();
  tensors.push_back(filled("y.weight", DataType::BF16, {4, 4}, 1));
  const Checkpoint checkpoint = open(gptq, tensors);
  EXPECT_EQ(checkpoint.find({"y.weight"}).tensor->type, DataType::BF16);
  EXPECT_EQ(checkpoint.find({"x.scales"}).tensor->type, DataType::F16);
}

TEST_F(QuantisedFolder, FindsCompanionsInOtherFiles) {
  write_file(folder.path / "config.json",
             R"({"quantization_config": )" + std::string(gptq) + "}");
  const Tensors tensors = gptq_tensors();
  nlohmann::json index;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string file = std::to_string(i) + ".safetensors";
    index["weight_map"][tensors[i].name] = file;
    write_file(folder.path / file, safetensors_bytes({tensors[i]}));
  }
  write_file(folder.path / "model.safetensors.index.json", index.dump());
  // What it has outlives the checkpoint.
  const StoredTensor found = Checkpoint::open(folder.path).find({"x.weight"});
  float weight = 0;
  dequantise(*found.tensor, 64, 3, 40, 1, &weight);
  EXPECT_EQ(weight, -0.5f);
}

TEST_F(QuantisedFolder, RefusesConfigs) {
  const Tensors tensors = gptq_tensors();
  expect_refused("[4]", tensors, "'quantization_config' is no object");
  expect_refused("{}", tensors,
                 "config.json: 'quantization_config.quant_method' is missing, "
                 "expected one of awq, bitsandbytes, compressed-tensors, fp8, "
                 "gptq");
  expect_refused(R"({"quant_method": "gptq", "bits": 8})", tensors,
                 "'quantization_config.bits' is 8, expected 4");
  expect_refused(R"({"quant_method": "gptq", "group_size": 0})", tensors,
                 "'quantization_config.group_size' is 0");
  expect_refused(
      R"({"quant_method": "gptq", "checkpoint_format": "marlin"})", tensors,
      "'quantization_config.checkpoint_format' is \"marlin\", expected gptq, "
      "gptq_v2");
  expect_refused(R"({"quant_method": "awq", "version": "gemv"})", tensors,
                 "'quantization_config.version' is \"gemv\", expected gemm");
  expect_refused(
      R"({"quant_method": "compressed-tensors", "format": "marlin-24"})",
      tensors, "'quantization_config.format' is \"marlin-24\"");
  expect_refused(R"({"quant_method": "fp8", "weight_block_size": [128]})",
                 tensors, "'quantization_config.weight_block_size' is a list");
  expect_refused(R"({"quant_method": "gptq", "group_size": 1e999})", tensors,
                 "config.json: holds a number that is too large");
}

TEST_F(QuantisedFolder, RefusesWordsThatDoNotFit) {
  const Tensors tensors = gptq_tensors();
  expect_refused(gptq, without(tensors, "x.scales"),
                 "tensor \"x.qweight\" is quantised, but there is no tensor "
                 "\"x.scales\"");
  expect_refused(gptq, without(tensors, "x.qzeros"), "no tensor \"x.qzeros\"");
  expect_refused(gptq,
                 with(tensors, filled("x.scales", DataType::F16, {4, 16})),
                 "tensor \"x.scales\" has the shape [4, 16], expected [2, 16]");
  expect_refused(gptq,
                 with(tensors, filled("x.scales", DataType::I16, {2, 16})),
                 "tensor \"x.scales\" has the dtype I16, expected F16 or BF16 "
                 "or F32");
  expect_refused(gptq, with(tensors, filled("x.qzeros", DataType::I32, {2, 3})),
                 "tensor \"x.qzeros\" has the shape [2, 3]");
  expect_refused(gptq, with(tensors, filled("x.qweight", DataType::I32, {8})),
                 "tensor \"x.qweight\" has the shape [8], expected a matrix's");
  expect_refused(gptq,
                 with(tensors, filled("x.qweight", DataType::I32, {0, 16})),
                 "tensor \"x.qweight\"");
  expect_refused(R"({"quant_method": "gptq", "group_size": 16})",
                 with(with(tensors, filled("x.qzeros", DataType::I32, {4, 2})),
                      filled("x.scales", DataType::F16, {4, 16})),
                 "tensor \"x.qweight\" has groups of 16 of 64 inputs, which "
                 "are no blocks of 32, 64 or 128");
  NamedTensor index = filled("x.g_idx", DataType::I32, {64});
  for (unsigned i = 0; i < 64; ++i)
    index.values[i] = i % 2;
  expect_refused(gptq, with(tensors, index),
                 "tensor \"x.g_idx\" has inputs in the order of their "
                 "activations (act-order, desc_act), which is not supported");
  for (unsigned i = 0; i < 64; ++i)
    index.values[i] = i < 32 ? 0 : 1;
  expect_found(gptq, with(tensors, index), DataType::Int4_G32, -0.5f);
  expect_refused(
      R"({"quant_method": "gptq", "group_size": 32, "desc_act": true})",
      tensors, "no tensor \"x.g_idx\"");
}

TEST_F(QuantisedFolder, RefusesCompressedTensorsThatDoNotFit) {
  const Tensors packed = packed_tensors();
  expect_refused(compressed, without(packed, "x.weight_shape"),
                 "no tensor \"x.weight_shape\"");
  expect_refused(compressed,
                 with(packed, filled("x.weight_shape", DataType::I64, {2}, 99)),
                 "tensor \"x.weight_packed\" has the shape [16, 8], which is "
                 "not that of [99, 99] in 4 or 8 bits");
  expect_refused(
      compressed,
      with(packed, filled("x.weight_scale", DataType::BF16, {16, 3}, 1)),
      "tensor \"x.weight_scale\" has the shape [16, 3], expected "
      "one scale for each group of [16, 64]");
  expect_refused(
      compressed,
      with(packed, filled("x.weight_zero_point", DataType::I32, {16, 2})),
      "tensor \"x.weight_zero_point\" has the shape [16, 2], expected [2, 2]");
  expect_refused(compressed,
                 {filled("x.weight", DataType::I8, {16, 64}),
                  filled("x.weight_scale", DataType::F32, {16, 1}),
                  filled("x.weight_zero_point", DataType::I8, {16, 1}, 3)},
                 "tensor \"x.weight_zero_point\" has zeros of 8 bits");
  expect_refused(compressed, {filled("x.weight", DataType::F8E4M3, {16, 64})},
                 "tensor \"x.weight\" is quantised, but there is no tensor "
                 "\"x.weight_scale\"");
  expect_refused(blocks_of_fp8,
                 {filled("x.weight", DataType::F8E4M3, {16, 256}),
                  filled("x.weight_scale_inv", DataType::F32, {2, 2})},
                 "tensor \"x.weight_scale_inv\" has the shape [2, 2], expected "
                 "[1, 2]");
  expect_refused(compressed,
                 {filled("x.weight", DataType::F8E4M3, {16, 60}),
                  filled("x.weight_scale", DataType::F32, {1})},
                 "tensor \"x.weight\" has groups of 60 of 60 inputs, which are "
                 "no blocks of 64");
  expect_refused(compressed,
                 {filled("x.weight_packed", DataType::U8, {16, 32}),
                  filled("x.weight_scale", DataType::U8, {16, 4})},
                 "tensor \"x.weight_scale\" has the shape [16, 4], expected "
                 "[16, 2]");
}

TEST_F(QuantisedFolder, RefusesBitsandbytesThatDoNotFit) {
  const Tensors tensors = nf4_tensors();
  const std::string state = "x.weight.quant_state.bitsandbytes__nf4";
  expect_refused(bitsandbytes, without(tensors, state), "no tensor \"" + state);
  for (const char *text :
       {"{", "[]", "{}", R"({"blocksize": 64, "shape": [16]})",
        R"({"blocksize": -64, "shape": [16, 64]})"})
    expect_refused(bitsandbytes, with(tensors, text_tensor(state, text)),
                   "is no JSON object with a blocksize and a shape");
  expect_refused(
      bitsandbytes,
      with(tensors,
           text_tensor(state, R"({"blocksize": 64, "shape": [16, 128]})")),
      "tensor \"x.weight\" has 512 bytes, which are not those of [16, 128]");
  expect_refused(
      bitsandbytes,
      with(tensors,
           text_tensor(state, R"({"blocksize": 100, "shape": [16, 64]})")),
      state + "\" has a blocksize of 100, which is no multiple of 64");
  expect_refused(
      bitsandbytes,
      with(tensors, filled("x.weight.quant_map", DataType::F32, {16}, 1)),
      "tensor \"x.weight.quant_map\" has other numbers than NF4 has");
  const Tensors nested =
      with(tensors, text_tensor(state, R"({"blocksize": 64, "shape": [16, 64],
                "nested_blocksize": 256, "nested_offset": 0.5})"));
  expect_refused(bitsandbytes, nested,
                 "tensor \"x.weight.absmax\" has the dtype F32, expected U8");
  expect_refused(bitsandbytes,
                 with(nested, filled("x.weight.absmax", DataType::U8, {16})),
                 "no tensor \"x.weight.nested_absmax\"");
  expect_refused(bitsandbytes, {filled("x.weight", DataType::I8, {16, 64})},
                 "no tensor \"x.SCB\"");
}

TEST(QuantisedWeights, SayWhereTheyAreNoNumbers) {
  StoredNumbers numbers = {};
  numbers.unit = 16;
  EXPECT_FALSE(has_nan(DataType::FP8_G64, numbers));
  numbers.numbers[63] = 0x7f;
  EXPECT_TRUE(has_nan(DataType::FP8_G64, numbers));
  EXPECT_FALSE(has_nan(DataType::NVFP4, numbers));
  numbers.unit_scales[3] = static_cast<int8_t>(0xff);
  EXPECT_TRUE(has_nan(DataType::NVFP4, numbers));
  EXPECT_FALSE(has_nan(DataType::MXFP4, numbers));
  numbers.unit_scales[0] = static_cast<int8_t>(0xff);
  EXPECT_TRUE(has_nan(DataType::MXFP4, numbers));
}

} // namespace
} // namespace baton::test

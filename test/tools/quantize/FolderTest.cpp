//===- FolderTest.cpp - folders of quantised weights ----------------------===//
//
// What is written is read back by the reader of checkpoints, whose numbers are
// compared with the weights before.
//
//===----------------------------------------------------------------------===//

#include "tools/quantize/quantize.h"

#include "runtime/weights/checkpoint.h"
#include "runtime/weights/stored_blocks.h"
#include "test/runtime/weights/fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace baton::test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t width = 256, inner = 512, vocabulary = 24;

class QuantizingFolder : public ::testing::Test {
protected:
  QuantizingFolder() {
    std::mt19937 generator(7);
    std::normal_distribution<double> normal(0, 0.05);
    const auto add = [&](const std::string &name, DataType type,
                         std::vector<uint64_t> shape) {
      uint64_t count = 1;
      for (uint64_t extent : shape)
        count *= extent;
      std::vector<double> values(count);
      for (double &value : values)
        value = normal(generator);
      tensors.push_back({name, type, std::move(shape), std::move(values)});
    };
    add("model.embed_tokens.weight", DataType::BF16, {vocabulary, width});
    add("lm_head.weight", DataType::BF16, {vocabulary, width});
    add("model.norm.weight", DataType::F32, {width});
    for (const char *layer : {"0", "1"}) {
      const std::string prefix = std::string("model.layers.") + layer + ".";
      add(prefix + "input_layernorm.weight", DataType::F32, {width});
      add(prefix + "self_attn.q_proj.weight", DataType::F32, {64, width});
      add(prefix + "self_attn.q_proj.bias", DataType::F32, {64});
      add(prefix + "mlp.up_proj.weight", DataType::BF16, {inner, width});
      add(prefix + "mlp.down_proj.weight", DataType::F16, {width, inner});
    }
    // A row of zeros, and one with a single weight.
    std::vector<double> &values =
        at("model.layers.0.mlp.up_proj.weight").values;
    std::fill_n(values.begin(), 2 * width, 0.0);
    values[width + 3] = -0.25;

    options.model = folder.path / "model";
    options.output = folder.path / "out";
    options.threads = 2;
    fs::create_directory(options.model);
    write_file(options.model / "model.safetensors", safetensors_bytes(tensors));
    write_file(options.model / "config.json",
               "{\"model_type\": \"llama\", \"hidden_size\": 256}");
    write_file(options.model / "tokenizer.json", "{}");
    write_file(options.model / "LICENSE", "free");
    write_file(options.model / "pytorch_model.bin", "old weights");
  }

  NamedTensor &at(const std::string &name) {
    for (NamedTensor &tensor : tensors)
      if (tensor.name == name)
        return tensor;
    throw std::out_of_range(name);
  }

  static void ignore(uint64_t, uint64_t, const std::string &) {}

  /// Root of the mean square error over that of the weights, of what the
  /// folder is read as.
  double error_in(const fs::path &path, const std::string &name) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    const StoredTensor stored = checkpoint.find({name});
    const NamedTensor &before = at(name);
    EXPECT_EQ(stored.tensor->shape, before.shape);
    EXPECT_EQ(stored.tensor->type, options.format) << name;
    const std::string bytes = stored_bytes(before);
    const uint64_t rows = before.shape[0], columns = before.shape[1];
    std::vector<float> weights(rows * columns), numbers(columns);
    if (before.type == DataType::F32)
      std::memcpy(weights.data(), bytes.data(), bytes.size());
    else
      conversion(before.type, DataType::F32)(bytes.data(), weights.data(),
                                             weights.size());
    double errors = 0, squares = 0;
    for (uint64_t row = 0; row < rows; ++row) {
      dequantise(*stored.tensor, columns, row, 0, columns, numbers.data());
      for (uint64_t i = 0; i < columns; ++i) {
        const double weight = double(weights[row * columns + i]);
        errors += std::pow(weight - double(numbers[i]), 2);
        squares += weight * weight;
      }
    }
    return std::sqrt(errors / squares);
  }

  std::string problem() {
    return error_of([&] { quantize(options, ignore); });
  }

  TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  QuantizeOptions options;
};

TEST_F(QuantizingFolder, IsReadAsTheNumbersThatItReports) {
  // Of weights of a normal distribution: what a format's authors' own
  // quantisers stay below, too.
  const std::pair<DataType, double> bounds[] = {
      {DataType::Int4_G32, 0.11},  {DataType::Int4_G64, 0.12},
      {DataType::Int4_G128, 0.13}, {DataType::Int8_G64, 0.01},
      {DataType::FP8_G64, 0.03},   {DataType::NVFP4, 0.11},
      {DataType::MXFP4, 0.14},     {DataType::NF4, 0.10}};
  for (const auto &[format, bound] : bounds) {
    SCOPED_TRACE(format_name(format));
    options.format = format;
    std::map<std::string, double> searched;
    for (ScaleChoice choice : {ScaleChoice::Search, ScaleChoice::Largest}) {
      options.scales = choice;
      const QuantizedModel made = quantize(options, ignore);
      const auto file =
          SafetensorsFile::open(options.output / "model.safetensors");
      EXPECT_EQ(file->file_bytes(), made.bytes);
      unsigned linears = 0;
      for (const QuantizedTensor &tensor : made.tensors) {
        if (tensor.to != format) {
          EXPECT_EQ(tensor.to, tensor.from) << tensor.name;
          const Tensor &stored = file->tensors().at(tensor.name);
          EXPECT_EQ(std::string(reinterpret_cast<const char *>(stored.data),
                                stored.bytes),
                    stored_bytes(at(tensor.name)))
              << tensor.name;
          continue;
        }
        ++linears;
        ASSERT_TRUE(tensor.error);
        EXPECT_NEAR(*tensor.error, error_in(options.output, tensor.name), 1e-7)
            << tensor.name;
        EXPECT_GT(*tensor.error, bound / 8) << tensor.name;
        EXPECT_LT(*tensor.error, bound) << tensor.name;
        if (choice == ScaleChoice::Search)
          searched[tensor.name] = *tensor.error;
        else
          EXPECT_LT(searched[tensor.name], *tensor.error) << tensor.name;
      }
      EXPECT_EQ(linears, 6u);
      EXPECT_FALSE(fs::exists(options.output.string() + ".part"));
      EXPECT_FALSE(fs::exists(options.output.string() + ".part.journal"));
      fs::remove_all(options.output);
    }
  }
}

TEST_F(QuantizingFolder, HasTheOtherFilesAndAConfig) {
  options.format = DataType::Int4_G128;
  quantize(options, ignore);
  EXPECT_EQ(read_file(options.output / "tokenizer.json"), "{}");
  EXPECT_EQ(read_file(options.output / "LICENSE"), "free");
  EXPECT_FALSE(fs::exists(options.output / "pytorch_model.bin"));
  const auto config =
      nlohmann::json::parse(read_file(options.output / "config.json"));
  EXPECT_EQ(config["hidden_size"], 256);
  const auto &quantisation = config["quantization_config"];
  EXPECT_EQ(quantisation["format"], "pack-quantized");
  EXPECT_EQ(quantisation["ignore"],
            nlohmann::json({"lm_head", "model.embed_tokens"}));
  EXPECT_EQ(quantisation["config_groups"]["group_0"]["weights"]["group_size"],
            128);
  options.no_tokenizer = true;
  options.output = folder.path / "without";
  quantize(options, ignore);
  EXPECT_FALSE(fs::exists(options.output / "tokenizer.json"));
  EXPECT_TRUE(fs::exists(options.output / "LICENSE"));
}

TEST_F(QuantizingFolder, LeavesLinearsThatDoNotFit) {
  at("model.layers.0.mlp.down_proj.weight") = {
      "model.layers.0.mlp.down_proj.weight",
      DataType::F32,
      {4, 96},
      std::vector<double>(4 * 96, 1)};
  write_file(options.model / "model.safetensors", safetensors_bytes(tensors));
  options.format = DataType::NF4;
  const QuantizedModel planned = plan_quantization(options);
  EXPECT_FALSE(fs::exists(options.output));
  ASSERT_EQ(planned.notes.size(), 1u);
  expect_contains(planned.notes[0], "1 linears stay as they are");
  quantize(options, ignore);
  const auto config =
      nlohmann::json::parse(read_file(options.output / "config.json"));
  const auto &skipped = config["quantization_config"]["llm_int8_skip_modules"];
  EXPECT_NE(
      std::find(skipped.begin(), skipped.end(), "model.layers.0.mlp.down_proj"),
      skipped.end());
}

TEST_F(QuantizingFolder, LeavesRouters) {
  const std::string mixture = "model.layers.2.mlp.";
  for (const char *module : {"gate", "experts.0.up_proj", "experts.1.up_proj",
                             "shared_expert.up_proj", "shared_expert_gate"})
    tensors.push_back({mixture + module + ".weight",
                       DataType::F32,
                       {2, width},
                       std::vector<double>(2 * width, 1)});
  write_file(options.model / "model.safetensors", safetensors_bytes(tensors));
  options.format = DataType::Int4_G128;
  for (const QuantizedTensor &tensor : plan_quantization(options).tensors)
    if (tensor.name.starts_with(mixture))
      EXPECT_EQ(tensor.to == DataType::Int4_G128,
                tensor.name.ends_with("up_proj.weight"))
          << tensor.name;
}

TEST_F(QuantizingFolder, ARunThatWasInterruptedGoesOn) {
  options.format = DataType::NVFP4;
  quantize(options, ignore);
  const std::string whole = read_file(options.output / "model.safetensors");
  fs::remove_all(options.output);
  std::set<std::string> seen;
  EXPECT_THROW(quantize(options,
                        [&](uint64_t, uint64_t, const std::string &tensor) {
                          if (seen.insert(tensor).second && seen.size() > 6)
                            throw std::runtime_error("as planned");
                        }),
               std::runtime_error);
  EXPECT_FALSE(fs::exists(options.output));
  const QuantizedModel made = quantize(options, ignore);
  EXPECT_EQ(made.resumed, 6u);
  EXPECT_EQ(read_file(options.output / "model.safetensors"), whole);
}

TEST_F(QuantizingFolder, RefusesByName) {
  options.format = DataType::FP8_G64;
  options.output = options.model;
  expect_contains(problem(), "is the model that is read");
  options.output = folder.path;
  expect_contains(problem(), "is a folder that is not empty");
  write_file(folder.path / "file", "");
  options.output = folder.path / "file";
  expect_contains(problem(), "is a file, and --format fp8 makes a folder");
  options.output = folder.path / "out";

  options.model = folder.path / "none";
  expect_contains(problem(), "none: no such folder");
  options.model = folder.path / "model";
  at("model.layers.1.self_attn.q_proj.weight").values[5] = NAN;
  write_file(options.model / "model.safetensors", safetensors_bytes(tensors));
  expect_contains(problem(),
                  "tensor model.layers.1.self_attn.q_proj.weight has "
                  "weights that are no numbers");
  fs::remove_all(options.output.string() + ".part");
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].name = "h." + std::to_string(i) + ".weight";
  write_file(options.model / "model.safetensors", safetensors_bytes(tensors));
  expect_contains(problem(), "there is no matrix");

  write_file(options.model / "config.json",
             "{\"quantization_config\": {\"quant_method\": \"fp8\"}}");
  expect_contains(problem(), "is quantised: begin with the model before");
}

} // namespace
} // namespace baton::test

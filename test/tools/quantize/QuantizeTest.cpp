//===- QuantizeTest.cpp - GGUF files of quantised weights -----------------===//

#include "tools/quantize/quantize.h"

#include "runtime/error.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/stored_blocks.h"
#include "test/runtime/weights/fixture.h"
#include "test/runtime/weights/gguf_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace baton::test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t width = 64, inner = 256, vocabulary = 40;

std::string random_floats(uint64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::string bytes;
  for (uint64_t i = 0; i < count; ++i)
    bytes += GgufWriter::little(normal(generator));
  return bytes;
}

std::string text_of(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Quantizing : public ::testing::Test {
protected:
  Quantizing() {
    GgufWriter writer;
    writer.text("general.architecture", "llama")
        .text("general.name", "small")
        .integer("general.file_type", 0)
        .integer("llama.block_count", 11)
        .texts("tokenizer.ggml.tokens", {"a", "", "bc"})
        .list<float>("tokenizer.ggml.scores", GgufWriter::F32, {1, 2, 3})
        .boolean("tokenizer.ggml.add_bos_token", true);
    unsigned seed = 1;
    const auto add = [&](const std::string &name, uint64_t columns,
                         uint64_t rows) {
      std::vector<uint64_t> shape = {columns};
      if (rows > 1)
        shape.push_back(rows);
      writer.tensor(name, shape, 0, random_floats(columns * rows, seed++));
    };
    add("token_embd.weight", width, vocabulary);
    add("output_norm.weight", width, 1);
    for (const char *layer : {"0", "2", "10"}) {
      const std::string prefix = std::string("blk.") + layer + ".";
      add(prefix + "attn_norm.weight", width, 1);
      add(prefix + "ffn_up.weight", width, inner);
      add(prefix + "ffn_down.weight", inner, width);
    }
    model = folder.path / "model.gguf";
    std::ofstream(model, std::ios::binary) << writer.bytes();
    options.model = model;
    options.output = folder.path / "out.gguf";
    options.format = DataType::Q4_K;
    options.threads = 2;
  }

  static void ignore(uint64_t, uint64_t, const std::string &) {}

  /// Ends a run as a crash would, once so many tensors are complete.
  void run_in_part(size_t tensors) {
    std::set<std::string> seen;
    EXPECT_THROW(quantize(options,
                          [&](uint64_t, uint64_t, const std::string &tensor) {
                            seen.insert(tensor);
                            if (seen.size() > tensors)
                              throw std::runtime_error("as planned");
                          }),
                 std::runtime_error);
    EXPECT_FALSE(fs::exists(options.output));
    EXPECT_TRUE(fs::exists(part()));
  }
  fs::path part() const { return options.output.string() + ".part"; }

  std::string problem() {
    try {
      quantize(options, ignore);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
  fs::path model;
  QuantizeOptions options;
};

TEST_F(Quantizing, WritesAFileOfTheSameModel) {
  const QuantizedModel made = quantize(options, ignore);
  const auto source = GgufFile::open(model),
             result = GgufFile::open(options.output);
  EXPECT_EQ(result->file_bytes(), made.bytes);
  for (std::string_view key : source->keys())
    if (key != "general.file_type")
      EXPECT_EQ(result->stored_value(key), source->stored_value(key)) << key;
  EXPECT_EQ(result->integer("general.file_type", 100), 14u);
  EXPECT_EQ(result->integer("general.quantization_version", 100), 2u);
  ASSERT_EQ(result->tensors().size(), source->tensors().size());
  for (const QuantizedTensor &each : made.tensors) {
    const Tensor &before = source->tensors().at(each.name),
                 &after = result->tensors().at(each.name);
    EXPECT_EQ(after.shape, before.shape);
    EXPECT_EQ(after.type, each.to);
    EXPECT_EQ(after.bytes, each.bytes);
    std::vector<float> weights(each.elements), numbers(each.elements);
    std::memcpy(weights.data(), before.data, before.bytes);
    if (after.type == DataType::F32)
      std::memcpy(numbers.data(), after.data, after.bytes);
    else
      dequantise(after.type, after.data, 0, each.elements, numbers.data());
    double errors = 0, squares = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      errors += std::pow(double(weights[i]) - double(numbers[i]), 2);
      squares += std::pow(double(weights[i]), 2);
    }
    ASSERT_TRUE(each.error);
    EXPECT_NEAR(*each.error, std::sqrt(errors / squares), 1e-9) << each.name;
    EXPECT_LT(*each.error, 0.08) << each.name;
  }
  EXPECT_FALSE(fs::exists(part()));
  EXPECT_FALSE(fs::exists(part().string() + ".journal"));
}

TEST_F(Quantizing, TypesFollowRowsAndNames) {
  const auto types = [&] {
    std::map<std::string, DataType> result;
    for (const QuantizedTensor &tensor : plan_quantization(options).tensors)
      result[tensor.name] = tensor.to;
    return result;
  };
  // Rows of 64 are no blocks of 256.
  auto found = types();
  EXPECT_EQ(found["token_embd.weight"], DataType::Q8_0);
  EXPECT_EQ(found["blk.2.ffn_up.weight"], DataType::Q5_0);
  EXPECT_EQ(found["blk.2.ffn_down.weight"], DataType::Q4_K);
  EXPECT_EQ(found["blk.2.attn_norm.weight"], DataType::F32);
  for (auto [format, narrow] : {std::pair(DataType::Q2_K, DataType::Q4_0),
                                std::pair(DataType::Q3_K, DataType::Q4_0),
                                std::pair(DataType::Q5_K, DataType::Q5_1),
                                std::pair(DataType::Q6_K, DataType::Q8_0),
                                std::pair(DataType::Q4_0, DataType::Q4_0)}) {
    options.format = format;
    EXPECT_EQ(types()["blk.2.ffn_up.weight"], narrow);
    EXPECT_EQ(types()["blk.2.ffn_down.weight"], format);
  }
  options.head = DataType::F16;
  EXPECT_EQ(types()["token_embd.weight"], DataType::F16);
  EXPECT_FALSE(fs::exists(options.output));
  // Layers in their order, and not in their names'.
  std::vector<std::string> names;
  for (const QuantizedTensor &tensor : plan_quantization(options).tensors)
    names.push_back(tensor.name);
  EXPECT_EQ(names[2], "blk.0.attn_norm.weight");
  EXPECT_EQ(names[5], "blk.2.attn_norm.weight");
  EXPECT_EQ(names[8], "blk.10.attn_norm.weight");
}

TEST_F(Quantizing, ARunThatWasInterruptedGoesOn) {
  quantize(options, ignore);
  const std::string whole = text_of(options.output);
  fs::remove(options.output);

  run_in_part(4);
  // A torn last line.
  std::ofstream(part().string() + ".journal", std::ios::app) << "0.01";
  std::set<std::string> written;
  const QuantizedModel made =
      quantize(options, [&](uint64_t, uint64_t, const std::string &tensor) {
        written.insert(tensor);
      });
  EXPECT_EQ(made.resumed, 4u);
  EXPECT_EQ(written.size(), made.tensors.size() - 4);
  for (const QuantizedTensor &tensor : made.tensors)
    EXPECT_TRUE(tensor.error) << tensor.name;
  EXPECT_EQ(text_of(options.output), whole);
}

TEST_F(Quantizing, WhatIsMadeOfSomethingElseBeginsAnew) {
  run_in_part(4);
  options.scales = ScaleChoice::Largest;
  EXPECT_EQ(quantize(options, ignore).resumed, 0u);
  const std::string largest = text_of(options.output);
  fs::remove(options.output);

  options.scales = ScaleChoice::Search;
  run_in_part(4);
  options.format = DataType::Q8_0;
  EXPECT_EQ(quantize(options, ignore).resumed, 0u);
  fs::remove(options.output);

  options.format = DataType::Q4_K;
  options.scales = ScaleChoice::Largest;
  run_in_part(4);
  // Another program has written into the file.
  std::fstream(part(), std::ios::binary | std::ios::in | std::ios::out) << "x";
  EXPECT_EQ(quantize(options, ignore).resumed, 0u);
  EXPECT_EQ(text_of(options.output), largest);
}

TEST_F(Quantizing, TheSameBytesComeOfAnyNumberOfThreads) {
  quantize(options, ignore);
  const std::string two = text_of(options.output);
  options.threads = 1;
  quantize(options, ignore);
  EXPECT_EQ(text_of(options.output), two);
}

TEST_F(Quantizing, WhatCannotBeDoneIsRefusedByName) {
  quantize(options, ignore);
  QuantizeOptions again = options;
  options.model = options.output;
  options.output = folder.path / "again.gguf";
  EXPECT_EQ(problem(),
            options.model.string() +
                ": tensor \"blk.0.ffn_down.weight\" is stored as Q4_K; "
                "quantize reads F32, F16, BF16 and F64: begin with the model "
                "before it was quantised");
  options = again;
  options.output = options.model;
  EXPECT_EQ(problem(),
            "output " + model.string() + " is the model that is read");
  options.output = folder.path;
  EXPECT_EQ(problem(), "output " + folder.path.string() + " is a folder");
  options.output = folder.path / "none" / "out.gguf";
  EXPECT_EQ(problem(), (folder.path / "none" / "out.gguf.part").string() +
                           ": cannot be written: No such file or directory");
  options.model = folder.path / "none";
  options.output = again.output;
  EXPECT_EQ(problem(), options.model.string() +
                           ": no such file or folder; expected a checkpoint's "
                           "folder or a .gguf file");
  GgufWriter writer;
  writer.text("general.architecture", "llama")
      .tensor("token_embd.weight", {32}, 0,
              std::string(124, '\0') + GgufWriter::little(std::nanf("")));
  options.model = folder.path / "nan.gguf";
  std::ofstream(options.model, std::ios::binary) << writer.bytes();
  EXPECT_EQ(problem(),
            options.model.string() +
                ": tensor token_embd.weight has weights that are no numbers");
}

} // namespace
} // namespace baton::test

//===- SafetensorsWriterTest.cpp - written, and read by others -----------===//

#include "runtime/train/safetensors_writer.h"

#include "formats.h"
#include "test/runtime/weights/fixture.h"

#include <cstring>

namespace baton::test {
namespace {

namespace fs = std::filesystem;

class SafetensorsWriterTest : public testing::Test {
protected:
  TemporaryFolder folder;
  fs::path path = folder.path / "model.safetensors";

  void write(const std::vector<TensorSource> &tensors) {
    SafetensorsWriter writer(path);
    writer.write(tensors);
    FileSummary summary = writer.summary();
    writer.publish();
    EXPECT_EQ(summarize_file(path), summary);
  }

  std::string refusal(const std::vector<TensorSource> &tensors) {
    std::string message = error_of([&] { write(tensors); });
    EXPECT_TRUE(fs::is_empty(folder.path)) << "left a file";
    return message;
  }

  size_t files() const {
    fs::directory_iterator entries(folder.path);
    return std::distance(fs::begin(entries), fs::end(entries));
  }
};

TEST_F(SafetensorsWriterTest, IsReadByOurselvesAndByPython) {
  std::vector<NamedTensor> tensors = {
      {"norm", DataType::F32, {3}, distinct_values(3, 1)},
      {"half", DataType::F16, {5}, distinct_values(5, 2)},
      {"weight \"q\"", DataType::BF16, {7, 3}, distinct_values(21, 3)},
      {"Gewicht \xC3\xA4", DataType::F64, {2, 1, 2}, distinct_values(4, 4)},
      {"scalar", DataType::F32, {}, {0.5}},
      {"empty", DataType::F32, {0, 1u << 31, 1u << 31, 9}, {}},
      {"a.flag", DataType::U8, {3}, {1, 0, 7}},
  };
  std::vector<std::string> bytes;
  for (const NamedTensor &tensor : tensors)
    bytes.push_back(stored_bytes(tensor));
  std::vector<TensorSource> sources;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TensorSource source = {tensors[i].name, tensors[i].type, tensors[i].shape};
    if (i % 2)
      source.data = bytes[i].data();
    else
      source.read = [&bytes, i](uint64_t first, uint64_t count,
                                std::byte *destination) {
        EXPECT_EQ(first, 0u);
        EXPECT_EQ(bytes[i].size() % count, 0u);
        std::memcpy(destination, bytes[i].data(), bytes[i].size());
      };
    sources.push_back(source);
  }
  write(sources);

  auto file = SafetensorsFile::open(path);
  ASSERT_EQ(file->tensors().size(), tensors.size());
  nlohmann::json seen = read_format("safetensors", path);
  EXPECT_EQ(seen["metadata"], nlohmann::json({{"format", "pt"}}));
  ASSERT_EQ(seen["tensors"].size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &read = file->tensors().find(tensors[i].name)->second;
    EXPECT_EQ(read.type, tensors[i].type);
    EXPECT_EQ(read.shape, tensors[i].shape);
    ASSERT_EQ(read.bytes, bytes[i].size());
    EXPECT_EQ(std::memcmp(read.data, bytes[i].data(), read.bytes), 0);
    nlohmann::json other = seen["tensors"][tensors[i].name];
    EXPECT_EQ(other["dtype"], stored_type_name(tensors[i].type));
    EXPECT_EQ(other["shape"], nlohmann::json(tensors[i].shape));
    EXPECT_EQ(other["values"], nlohmann::json(tensors[i].values));
  }
}

TEST_F(SafetensorsWriterTest, AsksForWholeRowsInOrder) {
  // Several pieces; a row that is larger than one; rows of one element.
  for (const std::vector<uint64_t> &shape :
       {std::vector<uint64_t>{3000, 1000}, {3, 2000000}, {3000000}}) {
    uint64_t columns = shape.size() > 1 ? shape[1] : 1;
    uint64_t next = 0;
    TensorSource source = {"rows", DataType::F32, shape};
    source.read = [&](uint64_t first, uint64_t count, std::byte *destination) {
      EXPECT_EQ(first, next);
      next = first + count;
      for (uint64_t i = 0; i < count * columns; ++i) {
        float value = float((first * columns + i) % 65521);
        std::memcpy(destination + 4 * i, &value, 4);
      }
    };
    write({source});
    EXPECT_EQ(next, shape[0]);
    auto file = SafetensorsFile::open(path);
    const Tensor &tensor = file->tensors().find("rows")->second;
    for (uint64_t i = 0; i < shape[0] * columns; ++i) {
      float value;
      std::memcpy(&value, tensor.data + 4 * i, 4);
      ASSERT_EQ(value, float(i % 65521));
    }
  }
}

TEST_F(SafetensorsWriterTest, OfNoTensors) {
  write({});
  EXPECT_TRUE(SafetensorsFile::open(path)->tensors().empty());
  EXPECT_TRUE(read_format("safetensors", path)["tensors"].empty());
}

TEST_F(SafetensorsWriterTest, Refuses) {
  float value = 1;
  TensorSource good = {"a", DataType::F32, {1}, &value};
  TensorSource other = {"a", DataType::F16, {1}, &value};
  expect_contains(refusal({good, other}),
                  "model.safetensors: tensor \"a\" is to be written twice");
  expect_contains(refusal({{"__metadata__", DataType::F32, {1}, &value}}),
                  "keeps for itself");
  expect_contains(refusal({{"a", DataType::F4, {2}, &value}}),
                  "elements of less than a byte, F4");
  expect_contains(refusal({{"a", DataType::F32, {1}}}),
                  "nothing that delivers");
  uint64_t large = uint64_t(1) << 40;
  expect_contains(refusal({{"a", DataType::F32, {large, large}, &value}}),
                  "tensor \"a\" has the shape");
  expect_contains(refusal({{"a", DataType::U8, {large << 21}, &value},
                           {"b", DataType::U8, {large << 21}, &value}}),
                  "tensor \"b\" makes the file too large");
  expect_contains(refusal({{"\xFF", DataType::F32, {1}, &value}}),
                  "is not UTF-8");
  expect_contains(
      refusal({{"a", DataType::F32, std::vector<uint64_t>(65, 1), &value}}),
      "more than 64 dimensions");
}

TEST_F(SafetensorsWriterTest, KeepsTheOldFileUnlessPublished) {
  write_file(path, "old");
  float value = 1;
  {
    SafetensorsWriter writer(path);
    writer.write({{"a", DataType::F32, {1}, &value}});
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files(), 1u);
  TensorSource failing = {"a", DataType::F32, {1}};
  failing.read = [](uint64_t, uint64_t, std::byte *) {
    throw Error("the weights are gone");
  };
  EXPECT_EQ(error_of([&] { write({failing}); }), "the weights are gone");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files(), 1u);
}

} // namespace
} // namespace baton::test

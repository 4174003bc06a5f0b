//===- GgufTest.cpp - headers of GGUF files ------------------------------===//

#include "fixture.h"
#include "gguf_writer.h"

#include "runtime/weights/gguf.h"

#include <gtest/gtest.h>

namespace baton::test {
namespace {

class Gguf : public testing::Test {
protected:
  std::shared_ptr<const GgufFile> open(const GgufWriter &writer) {
    return open_bytes(writer.bytes());
  }
  std::shared_ptr<const GgufFile> open_bytes(const std::string &bytes) {
    write_file(path, bytes);
    return GgufFile::open(path);
  }
  std::string refuse(const GgufWriter &writer) {
    return refuse_bytes(writer.bytes());
  }
  std::string refuse_bytes(const std::string &bytes) {
    std::string message = error_of([&] { open_bytes(bytes); });
    expect_contains(message, path.string() + ": ");
    return message;
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path / "x.gguf";
};

TEST_F(Gguf, HasValuesOfAllTypes) {
  GgufWriter writer;
  writer.raw("u8", GgufWriter::U8, "\xFF")
      .raw("i8", GgufWriter::I8, "\xFF")
      .raw("i16", GgufWriter::I16, GgufWriter::little(int16_t(-5)))
      .raw("u16", GgufWriter::U16, GgufWriter::little(uint16_t(65535)))
      .raw("i64", GgufWriter::I64, GgufWriter::little(int64_t(7)))
      .raw("u64", GgufWriter::U64, GgufWriter::little(uint64_t(1) << 63))
      .raw("f64", GgufWriter::F64, GgufWriter::little(0.25))
      .integer("u32", 42)
      .number("f32", 1.5f)
      .boolean("yes", true)
      .text("text", "héllo")
      .texts("texts", {"a", "", "b c"})
      .list<float>("numbers", GgufWriter::F32, {1, -2})
      .list<int32_t>("integers", GgufWriter::I32, {3, -4})
      .array("empty", GgufWriter::String, 0, "");
  auto file = open(writer);
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->integer("u8", 1000), 255u);
  EXPECT_EQ(file->integer("u16", 65535), 65535u);
  EXPECT_EQ(file->integer("u32", 42), 42u);
  EXPECT_EQ(file->integer("i64", 42), 7u);
  EXPECT_EQ(file->integer("none", 42), std::nullopt);
  EXPECT_EQ(file->number("f32"), 1.5);
  EXPECT_EQ(file->number("f64"), 0.25);
  EXPECT_EQ(file->number("u32"), 42);
  EXPECT_EQ(file->number("i16"), -5);
  EXPECT_EQ(file->boolean("yes"), true);
  EXPECT_EQ(file->text("text"), "héllo");
  EXPECT_EQ(*file->texts("texts"),
            (std::vector<std::string_view>{"a", "", "b c"}));
  EXPECT_TRUE(file->texts("empty")->empty());
  EXPECT_EQ(*file->numbers("numbers"), (std::vector<float>{1, -2}));
  EXPECT_EQ(*file->integers("integers"), (std::vector<int64_t>{3, -4}));
  EXPECT_EQ(file->keys().size(), 15u);

  auto fails = [&](const std::function<void()> &action, const char *what) {
    expect_contains(error_of(action), path.string() + ": the key " + what);
  };
  fails([&] { file->integer("u32", 41); },
        "\"u32\" is 42, expected an integer from 0 to 41");
  fails([&] { file->integer("i8", 9); }, "\"i8\" is -1, expected");
  fails([&] { file->integer("u64", 9); }, "\"u64\" is 9223372036854775808,");
  fails([&] { file->integer("f32", 9); }, "\"f32\" is no integer");
  fails([&] { file->integer("yes", 9); }, "\"yes\" is no integer");
  fails([&] { file->integer("integers", 9); }, "\"integers\" is a list");
  fails([&] { file->number("text"); }, "\"text\" is not a finite number");
  fails([&] { file->boolean("u8"); }, "\"u8\" is neither true nor false");
  fails([&] { file->text("u8"); }, "\"u8\" is not a text");
  fails([&] { file->texts("text"); }, "\"text\" is not a list of texts");
  fails([&] { file->numbers("integers"); },
        "\"integers\" is not a list of 32-bit floats");
  fails([&] { file->integers("texts"); },
        "\"texts\" is not a list of integers");
}

TEST_F(Gguf, HasTensorsOfAllTypesThatAreRead) {
  struct Case {
    uint32_t number;
    DataType type;
    uint64_t row_bytes;
  } cases[] = {
      {0, DataType::F32, 1024},    {1, DataType::F16, 512},
      {2, DataType::Q4_0, 144},    {3, DataType::Q4_1, 160},
      {6, DataType::Q5_0, 176},    {7, DataType::Q5_1, 192},
      {8, DataType::Q8_0, 272},    {10, DataType::Q2_K, 84},
      {11, DataType::Q3_K, 110},   {12, DataType::Q4_K, 144},
      {13, DataType::Q5_K, 176},   {14, DataType::Q6_K, 210},
      {20, DataType::IQ4_NL, 144}, {39, DataType::GgufMXFP4, 136},
      {28, DataType::F64, 2048},   {30, DataType::BF16, 512},
  };
  GgufWriter writer;
  for (const Case &it : cases)
    writer.tensor("t" + std::to_string(it.number), {256, 2}, it.number,
                  std::string(2 * it.row_bytes, char('A' + it.number)));
  auto file = open(writer);
  ASSERT_EQ(file->tensors().size(), std::size(cases));
  for (const Case &it : cases) {
    const Tensor &tensor = file->tensors().at("t" + std::to_string(it.number));
    EXPECT_EQ(tensor.type, it.type);
    EXPECT_EQ(tensor.shape, (std::vector<uint64_t>{2, 256}));
    ASSERT_EQ(tensor.bytes, 2 * it.row_bytes);
    EXPECT_EQ(char(tensor.data[0]), char('A' + it.number));
    EXPECT_EQ(char(tensor.data[tensor.bytes - 1]), char('A' + it.number));
    EXPECT_EQ(tensor.paired_rows, 0u);
  }
  EXPECT_LT(file->header().size(), file->file_bytes());
  EXPECT_TRUE(file->header().starts_with("GGUF"));
}

TEST_F(Gguf, IsReadInVersion2AndWithoutTensors) {
  GgufWriter writer;
  writer.version = 2;
  writer.text("a", "b");
  EXPECT_EQ(open(writer)->version(), 2u);
  EXPECT_TRUE(open(writer)->tensors().empty());
  // Without the padding at the end.
  EXPECT_EQ(open_bytes(writer.bytes().substr(0, 24 + 9 + 4 + 9))->text("a"),
            "b");
}

TEST_F(Gguf, HasAnAlignmentOfItsOwn) {
  GgufWriter writer;
  writer.alignment = 128;
  writer.integer("general.alignment", 128).zeros("a", {1}).zeros("b", {1});
  auto file = open(writer);
  EXPECT_EQ(file->tensors().at("b").data - file->tensors().at("a").data, 128);
  GgufWriter odd;
  odd.integer("general.alignment", 24);
  expect_contains(refuse(odd), "expected a power of two");
  GgufWriter none;
  none.integer("general.alignment", 0);
  expect_contains(refuse(none), "is 0, expected a power of two");
  GgufWriter crooked;
  crooked.tensor_at("a", {1}, 0, 4);
  expect_contains(refuse(crooked), "no multiple of the alignment 32");
}

TEST_F(Gguf, RefusesOtherFiles) {
  expect_contains(error_of([&] { GgufFile::open(folder.path / "none"); }),
                  "cannot open");
  expect_contains(error_of([&] { GgufFile::open(folder.path); }),
                  "is not a regular file");
  expect_contains(refuse_bytes("GGUF"), "too short for a GGUF file");
  expect_contains(refuse_bytes(std::string(64, 'x')), "is not a GGUF file");
  GgufWriter writer;
  writer.version = 1;
  expect_contains(refuse(writer), "version 1; versions 2 and 3");
  writer.version = 0x03000000;
  expect_contains(refuse(writer), "is big-endian");
}

TEST_F(Gguf, RefusesBrokenKeys) {
  expect_contains(refuse(GgufWriter().text("", "a")), "a key without a name");
  expect_contains(refuse(GgufWriter().text("a", "b").integer("a", 1)),
                  "has the key \"a\" twice");
  expect_contains(refuse(GgufWriter().raw("a", 13, "")),
                  "the key \"a\" has the type 13");
  expect_contains(refuse(GgufWriter().raw("a", GgufWriter::Bool, "\2")),
                  "the key \"a\" is neither true nor false");
  expect_contains(refuse(GgufWriter().array("a", GgufWriter::Array, 1, "")),
                  "the key \"a\" is a list of lists");
  // Counts and lengths that nothing can have.
  for (uint64_t count : {uint64_t(1) << 40, uint64_t(1) << 62, ~uint64_t(0)}) {
    for (uint32_t kind : {GgufWriter::U8, GgufWriter::U32, GgufWriter::U64,
                          GgufWriter::String, GgufWriter::Bool})
      expect_contains(refuse(GgufWriter().array("a", kind, count, "")),
                      "ends inside the key \"a\"");
    expect_contains(refuse(GgufWriter().raw("a", GgufWriter::String,
                                            GgufWriter::little(count))),
                    "ends inside the key \"a\"");
    GgufWriter more;
    more.more_keys = count;
    refuse(more);
    more.more_keys = 0;
    more.more_tensors = count;
    refuse(more);
  }
}

TEST_F(Gguf, RefusesBrokenTensors) {
  auto one = [&](std::vector<uint64_t> shape, uint32_t type,
                 uint64_t offset = 0) {
    return refuse(GgufWriter().tensor_at("t", shape, type, offset));
  };
  expect_contains(refuse(GgufWriter().zeros("", {1})), "without a name");
  expect_contains(refuse(GgufWriter().zeros("t", {1}).zeros("t", {1})),
                  "tensor \"t\" twice");
  expect_contains(one({1, 1, 1, 1, 1}, 0), "\"t\" has 5 dimensions");
  expect_contains(one({1}, 1000), "\"t\" has the type 1000");
  expect_contains(one({256}, 16), "\"t\" has the type IQ2_XXS, which is not");
  expect_contains(one({256}, 34), "\"t\" has the type TQ1_0");
  expect_contains(one({256}, 40), "\"t\" has the type NVFP4");
  expect_contains(one({33}, 8),
                  "rows of 33 elements, but blocks of Q8_0 have 32");
  expect_contains(one({128, 2}, 12), "blocks of Q4_K have 256");
  expect_contains(one({1ull << 40, 1ull << 40}, 0), "no number of bytes");
  expect_contains(one({1ull << 62, 4}, 0), "no number of bytes");
  expect_contains(one({8}, 0), "the file holds only 0");
  expect_contains(one({8}, 0, ~uint64_t(31)), "truncated");
  expect_contains(
      refuse(GgufWriter().zeros("a", {16}).tensor_at("b", {1}, 0, 32)),
      "tensors \"a\" and \"b\" overlap");
}

TEST_F(Gguf, IsRefusedWhereverItEnds) {
  GgufWriter writer;
  writer.text("a", "b")
      .texts("c", {"d", "e"})
      .integer("f", 1)
      .tensor("t", {32, 2}, 8, std::string(68, 'x'));
  const std::string bytes = writer.bytes();
  open_bytes(bytes);
  for (size_t end = 0; end < bytes.size(); ++end)
    refuse_bytes(bytes.substr(0, end));
}

TEST_F(Gguf, TakesNoTensorOfAnyElements) {
  auto file =
      open(GgufWriter().zeros("none", {0, 1ull << 62}).zeros("one", {}));
  EXPECT_EQ(file->tensors().at("none").bytes, 0u);
  EXPECT_EQ(file->tensors().at("one").bytes, 4u);
}

} // namespace
} // namespace baton::test

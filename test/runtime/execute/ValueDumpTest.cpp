//===- ValueDumpTest.cpp - what phases write, in files -------------------===//

#include "runtime/execute/value_dump.h"

#include "array_file.h"
#include "runtime/error.h"
#include "toy_program.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

using test::ArrayFile;
using test::TemporaryFolder;

/// A phase that writes one buffer of the given description; its storage holds
/// 1, 2, 3, ...
class DumpedBuffer {
public:
  explicit DumpedBuffer(const std::string &buffer) {
    auto json = nlohmann::json::parse(toy::metadata());
    json["phases"] = nlohmann::json::parse(
        R"([{"name": "p", "segment": "s", "repeat": 2, "writes": []}])");
    json["phases"][0]["writes"].push_back(nlohmann::json::parse(buffer));
    metadata = Metadata::parse(json.dump());
    dump.emplace(metadata, folder.path());
  }

  template <typename T>
  void record(BatonStep step, uint32_t iteration, T first = 1) {
    std::vector<T> storage(1000);
    for (size_t i = 0; i < storage.size(); ++i)
      storage[i] = static_cast<T>(first + T(i));
    void *storages[] = {storage.data()};
    dump->record(step, 0, iteration, storages);
  }

  ArrayFile file(uint32_t iteration) {
    if (dump) {
      dump->publish();
      dump.reset();
    }
    return ArrayFile::read(folder /
                           ("00" + std::to_string(iteration) + "_p.layer" +
                            std::to_string(iteration) + ".npy"));
  }

  TemporaryFolder folder;
  Metadata metadata;
  std::optional<ValueDump> dump;
};

TEST(ValueDump, FollowsOffsetStridesAndLayers) {
  DumpedBuffer dumped(
      R"({"buffer": "b", "element": "i32", "storage": 0, "offset": 5,
          "strides": [10, 2], "capacity": [4, 3], "layers": 2,
          "layer_stride": 100, "extents": ["past+rows", 3]})");
  for (uint32_t iteration : {0u, 1u}) {
    dumped.record<int32_t>({1, 0, 0, 0}, iteration);
    dumped.record<int32_t>({1, 1, 0, 0}, iteration);
  }
  EXPECT_EQ(dumped.file(0).values<int32_t>(),
            (std::vector<int32_t>{6, 8, 10, 16, 18, 20}));
  EXPECT_EQ(dumped.file(1).values<int32_t>(),
            (std::vector<int32_t>{106, 108, 110, 116, 118, 120}));
  EXPECT_EQ(dumped.file(1).shape, (std::vector<uint64_t>{2, 3}));
}

TEST(ValueDump, FollowsInterleavedRuns) {
  DumpedBuffer dumped(
      R"({"buffer": "b", "element": "i32", "storage": 0, "offset": 0,
          "strides": [3, 4], "capacity": [8, 3], "interleave": 4,
          "extents": ["past+rows", 3]})");
  dumped.record<int32_t>({6, 0, 0, 0}, 0);
  EXPECT_EQ(dumped.file(0).values<int32_t>(),
            (std::vector<int32_t>{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12, 13, 17,
                                  21, 14, 18, 22}));
}

TEST(ValueDump, FollowsInterleavedColumns) {
  // Tiles of 2 by 2, row by row; the last column stands alone.
  DumpedBuffer dumped(
      R"({"buffer": "b", "element": "i32", "storage": 0, "offset": 0,
          "strides": [3, 2], "capacity": [8, 3], "interleave": 2,
          "interleave_columns": 2, "extents": ["past+rows", 3]})");
  dumped.record<int32_t>({4, 0, 0, 0}, 0);
  EXPECT_EQ(dumped.file(0).values<int32_t>(),
            (std::vector<int32_t>{1, 2, 5, 3, 4, 6, 7, 8, 11, 9, 10, 12}));
}

TEST(ValueDump, WidensShortFloats) {
  DumpedBuffer brain(
      R"({"buffer": "b", "element": "bf16", "storage": 0, "offset": 0,
          "strides": [1], "capacity": [8], "extents": ["rows"]})");
  brain.record<uint16_t>({2, 0, 0, 0}, 0, 0x3f80);
  EXPECT_EQ(brain.file(0).values<float>(),
            (std::vector<float>{1.0f, 1.0078125f}));
  DumpedBuffer half(
      R"({"buffer": "b", "element": "f16", "storage": 0, "offset": 0,
          "strides": [1], "capacity": [8], "extents": ["rows"]})");
  half.record<uint16_t>({2, 0, 0, 0}, 0, 0x3c00);
  half.record<uint16_t>({1, 2, 0, 0}, 0, 0xc000);
  EXPECT_EQ(half.file(0).values<float>(),
            (std::vector<float>{1.0f, 1.0009765625f, -2.0f}));
  EXPECT_EQ(half.file(0).type, "<f4");
}

TEST(ValueDump, JoinsRowsInAnyDimensionAndFillsShorterOnes) {
  // Attention scores: [heads, rows, positions].
  DumpedBuffer dumped(
      R"({"buffer": "scores", "element": "i32", "storage": 0, "offset": 0,
          "strides": [100, 10, 1], "capacity": [2, 4, 8],
          "extents": [2, "rows", "past+rows"]})");
  dumped.record<int32_t>({2, 0, 0, 0}, 0);
  dumped.record<int32_t>({1, 2, 0, 0}, 0);
  ArrayFile file = dumped.file(0);
  EXPECT_EQ(file.shape, (std::vector<uint64_t>{2, 3, 3}));
  EXPECT_EQ(file.values<int32_t>(),
            (std::vector<int32_t>{1, 2, 0, 11, 12, 0, 1, 2, 3, 101, 102, 0, 111,
                                  112, 0, 101, 102, 103}));
}

TEST(ValueDump, LeavesOutWhatOnlyTheProgramCanMeasure) {
  DumpedBuffer dumped(
      R"({"buffer": "b", "element": "f32", "storage": 0, "offset": 0,
          "strides": [1], "capacity": [8], "extents": ["rows ceildiv 2"]})");
  dumped.record<float>({2, 0, 0, 0}, 0);
  EXPECT_THROW(dumped.file(0), std::runtime_error);
  auto index =
      nlohmann::json::parse(test::read_file(dumped.folder / "index.json"));
  EXPECT_EQ(index["values"].size(), 0u);
}

TEST(ValueDump, RefusesAFolderThatIsAFile) {
  TemporaryFolder folder;
  test::write_file(folder / "file", "");
  Metadata metadata = Metadata::parse(toy::metadata());
  EXPECT_THROW(ValueDump(metadata, folder / "file"), Error);
  EXPECT_THROW(ValueDump(metadata, folder / "file/below"), Error);
}

TEST(NpyWriter, HeadersAreAlignedForEveryShape) {
  TemporaryFolder folder;
  for (size_t rank : {1, 2, 5, 12}) {
    std::vector<uint64_t> row_shape(rank - 1, 1);
    NpyWriter writer(folder / "a.npy", NpyType::F64, row_shape);
    double value = 1.5;
    writer.append(&value, 1);
    writer.append(&value, 1);
    writer.publish();
    ArrayFile array = ArrayFile::read(folder / "a.npy");
    EXPECT_EQ(array.header_bytes % 64, 0u);
    EXPECT_EQ(array.shape.size(), rank);
    EXPECT_EQ(array.shape[0], 2u);
    EXPECT_EQ(array.type, "<f8");
    EXPECT_EQ(array.values<double>(), (std::vector<double>{1.5, 1.5}));
  }
}

TEST(NpyWriter, TheOldFileStaysUntilTheNewOneIsComplete) {
  TemporaryFolder folder;
  test::write_file(folder / "a.npy", "old");
  {
    NpyWriter writer(folder / "a.npy", NpyType::F32, {});
    float value = 1;
    writer.append(&value, 1);
    EXPECT_EQ(test::read_file(folder / "a.npy"), "old");
  }
  EXPECT_EQ(test::read_file(folder / "a.npy"), "old");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(NpyWriter, RefusesWhatCannotBeReplaced) {
  TemporaryFolder folder;
  EXPECT_THROW(NpyWriter(folder.path(), NpyType::F32, {}), Error);
  EXPECT_THROW(NpyWriter("/dev/null", NpyType::F32, {}), Error);
  try {
    NpyWriter(folder / "none/a.npy", NpyType::F32, {});
    ADD_FAILURE() << "no error";
  } catch (const Error &failure) {
    EXPECT_EQ(failure.what(), (folder / "none/a.npy").string() +
                                  ": cannot be written: No such file or "
                                  "directory");
  }
}

} // namespace
} // namespace baton

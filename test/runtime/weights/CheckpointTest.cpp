//===- CheckpointTest.cpp - single files, shards and their index ---------===//

#include "fixture.h"

#include "runtime/weights/checkpoint.h"

#include <gtest/gtest.h>

namespace baton::test {
namespace {

class CheckpointFolder : public testing::Test {
protected:
  void write_tensor(const std::string &file, const std::string &name) {
    write_file(folder.path / file, safetensors_bytes({tensor(name)}));
  }
  static NamedTensor tensor(const std::string &name) {
    return {name, DataType::F32, {2}, {1, 2}};
  }
  void write_index(const std::string &text) {
    write_file(folder.path / "model.safetensors.index.json", text);
  }
  std::string refuse() {
    std::string message = error_of([&] { Checkpoint::open(folder.path); });
    expect_contains(message, folder.path.string());
    return message;
  }
  std::string refuse_index(const std::string &text) {
    write_index(text);
    std::string message = refuse();
    expect_contains(message, "model.safetensors.index.json");
    return message;
  }

  TemporaryFolder folder;
};

TEST_F(CheckpointFolder, OpensASingleFile) {
  write_tensor("model.safetensors", "a");
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  EXPECT_EQ(checkpoint.names(), std::vector<std::string>{"a"});
  StoredTensor found = checkpoint.find({"z", "a"});
  EXPECT_EQ(found.name, "a");
  EXPECT_EQ(found.tensor->shape, std::vector<uint64_t>{2});
  EXPECT_EQ(found.file->path(), folder.path / "model.safetensors");
}

TEST_F(CheckpointFolder, PrefersEarlierNames) {
  write_file(folder.path / "model.safetensors",
             safetensors_bytes({tensor("a"), tensor("b")}));
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  EXPECT_EQ(checkpoint.find({"b", "a"}).name, "b");
  EXPECT_EQ(checkpoint.find({"a", "b"}).name, "a");
}

TEST_F(CheckpointFolder, OpensShards) {
  write_tensor("model-1.safetensors", "a");
  write_tensor("model-2.safetensors", "b");
  write_index(R"({"metadata":{"total_size":16,"nested":{"x":[1]}},
                  "weight_map":{"a":"model-1.safetensors",
                                "b":"model-2.safetensors"}})");
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  EXPECT_EQ(checkpoint.files().size(), 2u);
  EXPECT_EQ(checkpoint.find({"b"}).file->path().filename(),
            "model-2.safetensors");
  EXPECT_TRUE(checkpoint.contains("a"));
  EXPECT_FALSE(checkpoint.contains("c"));
}

TEST_F(CheckpointFolder, RefusesFoldersWithout) {
  expect_contains(refuse(), "holds neither");
  expect_contains(error_of([&] { Checkpoint::open(folder.path / "missing"); }),
                  "no such file or folder");
}

TEST_F(CheckpointFolder, RefusesBrokenIndexes) {
  expect_contains(refuse_index(""), "not valid JSON");
  expect_contains(refuse_index("{"), "not valid JSON");
  expect_contains(refuse_index("[]"), "no weight_map");
  expect_contains(refuse_index("{}"), "no weight_map");
  expect_contains(refuse_index(R"({"weight_map":[]})"), "no weight_map");
  expect_contains(refuse_index(R"({"weight_map":{}})"), "is empty");
  expect_contains(refuse_index(R"({"weight_map":{"a":1}})"), "\"a\"");
  expect_contains(refuse_index(R"({"weight_map":{"a":"x","a":"y"}})"),
                  "\"a\" twice");
  expect_contains(refuse_index(std::string(1'000'000, '[')), "nests deeper");
}

TEST_F(CheckpointFolder, RefusesShardsElsewhere) {
  for (const char *shard : {"../x", "/etc/passwd", "a/b", "..", ".", "",
                            "a\\\\b", "x\\u0000y", "x\\ny"})
    expect_contains(
        refuse_index(std::string(R"({"weight_map":{"t":")") + shard + "\"}}"),
        "\"t\" is mapped");
}

TEST_F(CheckpointFolder, RefusesMissingShardsAndTensors) {
  write_index(R"({"weight_map":{"a":"one.safetensors"}})");
  expect_contains(refuse(), "one.safetensors: cannot open");
  write_tensor("one.safetensors", "b");
  expect_contains(refuse(), "lacks the tensor \"a\"");
}

TEST_F(CheckpointFolder, RefusesATensorInAnotherShardThanPromised) {
  write_tensor("one.safetensors", "a");
  write_tensor("two.safetensors", "b");
  write_index(
      R"({"weight_map":{"a":"two.safetensors","b":"one.safetensors"}})");
  expect_contains(refuse(), "two.safetensors: lacks the tensor \"a\"");
}

TEST_F(CheckpointFolder, RefusesATensorInTwoShards) {
  write_tensor("one.safetensors", "a");
  write_file(folder.path / "two.safetensors",
             safetensors_bytes({tensor("a"), tensor("b")}));
  write_index(
      R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  std::string message = refuse();
  expect_contains(message, "two.safetensors: tensor \"a\" is also in");
  expect_contains(message, "one.safetensors");
}

TEST_F(CheckpointFolder, SuggestsTheNearestNames) {
  write_file(folder.path / "model.safetensors",
             safetensors_bytes({tensor("model.layers.0.mlp.up_proj.weight"),
                                tensor("model.layers.0.mlp.down_proj.weight"),
                                tensor("lm_head.weight"),
                                tensor("model.norm.weight")}));
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  std::string message =
      error_of([&] { checkpoint.find({"layers.0.mlp.up_proj.weight", "up"}); });
  expect_contains(message,
                  "no tensor \"layers.0.mlp.up_proj.weight\" or \"up\"");
  expect_contains(message, "holds: \"model.layers.0.mlp.up_proj.weight\", ");
}

} // namespace
} // namespace baton::test

//===- ShardsTest.cpp ----------------------------------------------------===//

#include "runtime/comm/shards.h"
#include "runtime/error.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <optional>

namespace baton {

namespace {

using Shape = std::vector<uint64_t>;
using Ranges = std::vector<IndexRange>;

Mesh mesh_of(uint32_t dp, uint32_t tp) {
  return {{{"dp", dp}, {"tp", tp}}, {"dp"}};
}

nlohmann::json json(const char *text) { return nlohmann::json::parse(text); }

/// Puts all owners' parts together, element by element, as whoever saves does,
/// and holds them against the whole: each is there once.
void expect_partition(const ShardedTensor &tensor, const Mesh &mesh) {
  auto size = [](const Shape &shape) {
    return std::accumulate(shape.begin(), shape.end(), uint64_t(1),
                           std::multiplies<>());
  };
  // Flat parts are of all elements together.
  const Shape whole = tensor.is_flat() ? Shape{size(tensor.whole_shape())}
                                       : tensor.whole_shape();
  const Shape &part = tensor.part_shape();
  std::vector<std::optional<uint32_t>> writer(size(whole));
  for (uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
    Ranges ranges = tensor.ranges(rank);
    EXPECT_EQ(ranges, tensor.ranges(tensor.owner(rank)));
    uint64_t elements = 0, last = 0, expected = 1;
    for (const IndexRange &range : ranges)
      expected *= range.count;
    tensor.for_each_run(
        rank, [&](uint64_t at, uint64_t in_part, uint64_t count) {
          EXPECT_TRUE(elements == 0 || at > last);
          last = at;
          for (uint64_t i = 0; i < count; ++i) {
            // The same element by its indices.
            uint64_t rest = at + i, place = 0, scale = 1;
            for (size_t d = whole.size(); d-- > 0;) {
              uint64_t index = rest % whole[d];
              rest /= whole[d];
              ASSERT_GE(index, ranges[d].begin);
              ASSERT_LT(index - ranges[d].begin, ranges[d].count);
              place += (index - ranges[d].begin) * scale;
              scale *= part[d];
            }
            ASSERT_EQ(place, in_part + i);
            if (tensor.owner(rank) == rank) {
              ASSERT_FALSE(writer[at + i]) << "twice";
              writer[at + i] = rank;
            }
          }
          elements += count;
        });
    EXPECT_EQ(elements, expected);
  }
  for (const auto &rank : writer)
    EXPECT_TRUE(rank);
}

std::string complaint(Shape shape, const nlohmann::json &shards) {
  try {
    ShardedTensor("w", std::move(shape), shards, mesh_of(2, 2));
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

} // namespace

TEST(Shards, WithoutAnyAllRanksHaveAll) {
  Mesh mesh = mesh_of(2, 3);
  ShardedTensor tensor("w", {5, 7}, nullptr, mesh);
  EXPECT_FALSE(tensor.is_cut());
  EXPECT_EQ(tensor.whole_shape(), Shape({5, 7}));
  EXPECT_EQ(tensor.ranges(4), Ranges({{0, 5}, {0, 7}}));
  EXPECT_EQ(tensor.owner(4), 0u);
  expect_partition(tensor, mesh);
}

TEST(Shards, EqualRowsAndColumns) {
  Mesh mesh = mesh_of(2, 3);
  ShardedTensor rows(
      "w", {4, 7}, json(R"([{"dimension": 0, "extent": 12, "axes": ["tp"]}])"),
      mesh);
  EXPECT_TRUE(rows.is_cut());
  EXPECT_EQ(rows.axes(), std::vector<std::string>({"tp"}));
  EXPECT_EQ(rows.whole_shape(), Shape({12, 7}));
  EXPECT_EQ(rows.ranges(5), Ranges({{8, 4}, {0, 7}}));
  EXPECT_EQ(rows.owner(5), 2u);
  expect_partition(rows, mesh);
  ShardedTensor columns(
      "w", {4, 7}, json(R"([{"dimension": 1, "extent": 21, "axes": ["tp"]}])"),
      mesh);
  EXPECT_EQ(columns.ranges(4), Ranges({{0, 4}, {7, 7}}));
  expect_partition(columns, mesh);
}

TEST(Shards, UnevenRows) {
  Mesh mesh = mesh_of(1, 4);
  ShardedTensor tensor("w", {33, 6},
                       json(R"([{"dimension": 0, "extent": 131, "axes": ["tp"],
                "granularity": 1, "units": [33, 33, 33, 32]}])"),
                       mesh);
  EXPECT_EQ(tensor.ranges(3), Ranges({{99, 32}, {0, 6}}));
  expect_partition(tensor, mesh);
  // The last block is shorter, and one rank has nothing.
  ShardedTensor blocks("w", {32, 2},
                       json(R"([{"dimension": 0, "extent": 70, "axes": ["tp"],
                "granularity": 16, "units": [2, 2, 1, 0]}])"),
                       mesh);
  EXPECT_EQ(blocks.ranges(2), Ranges({{64, 6}, {0, 2}}));
  EXPECT_EQ(blocks.ranges(3), Ranges({{70, 0}, {0, 2}}));
  expect_partition(blocks, mesh);
}

TEST(Shards, TwoDimensions) {
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor("w", {3, 5, 4},
                       json(R"([{"dimension": 2, "extent": 8, "axes": ["tp"]},
               {"dimension": 0, "extent": 5, "axes": ["dp"],
                "granularity": 1, "units": [3, 2]}])"),
                       mesh);
  EXPECT_EQ(tensor.whole_shape(), Shape({5, 5, 8}));
  EXPECT_EQ(tensor.ranges(3), Ranges({{3, 2}, {0, 5}, {4, 4}}));
  expect_partition(tensor, mesh);
}

TEST(Shards, OneDimensionTwice) {
  // What a rank of tp has, ranks of dp cut once more; the last one has less.
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor("w", {33, 3},
                       json(R"([{"dimension": 0, "extent": 131, "axes": ["tp"],
                "granularity": 1, "units": [66, 65]},
               {"dimension": 0, "extent": 66, "axes": ["dp"]}])"),
                       mesh);
  EXPECT_EQ(tensor.ranges(1), Ranges({{66, 33}, {0, 3}}));
  EXPECT_EQ(tensor.ranges(3), Ranges({{99, 32}, {0, 3}}));
  expect_partition(tensor, mesh);
}

TEST(Shards, OverTwoAxesTheFirstIsOutermost) {
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor(
      "w", {2},
      json(R"([{"dimension": 0, "extent": 8, "axes": ["tp", "dp"]}])"), mesh);
  EXPECT_EQ(tensor.ranges(1), Ranges({{4, 2}}));
  EXPECT_EQ(tensor.ranges(2), Ranges({{2, 2}}));
  expect_partition(tensor, mesh);
}

TEST(Shards, StatesOfWholeParameters) {
  // Elements of a parameter that all ranks have, in blocks of a cache line.
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor("w.exp_avg", {32},
                       json(R"([{"dimension": 0, "extent": 60, "axes": ["dp"],
                "granularity": 16, "units": [2, 2]}])"),
                       mesh);
  EXPECT_EQ(tensor.ranges(3), Ranges({{32, 28}}));
  EXPECT_EQ(tensor.owner(3), 2u);
  expect_partition(tensor, mesh);
}

TEST(Shards, OfAWholeTensor) {
  nlohmann::json shards =
      json(R"([{"dimension": 0, "extent": 131, "axes": ["tp"],
                "granularity": 1, "units": [66, 65]}])");
  Mesh mesh = mesh_of(1, 2);
  EXPECT_EQ(ShardedTensor::of_whole("w", {131, 60}, shards, mesh).part_shape(),
            Shape({66, 60}));
  EXPECT_EQ(ShardedTensor::of_whole("w", {131}, nullptr, mesh).part_shape(),
            Shape({131}));
  EXPECT_THROW(ShardedTensor::of_whole("w", {130, 60}, shards, mesh), Error);
}

TEST(Shards, FlatOnesCutElementsWhateverTheShape) {
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor("w", {48},
                       json(R"([{"dimension": 0, "extent": 77, "axes": ["dp"],
                "granularity": 16, "units": [3, 2], "flat": [11, 7]}])"),
                       mesh);
  EXPECT_TRUE(tensor.is_flat());
  EXPECT_EQ(tensor.whole_shape(), std::vector<uint64_t>({11, 7}));
  EXPECT_EQ(tensor.ranges(0), Ranges({{0, 48}}));
  EXPECT_EQ(tensor.ranges(3), Ranges({{48, 29}}));
  EXPECT_EQ(tensor.owner(3), 2u);
  expect_partition(tensor, mesh);
}

TEST(Shards, FlatOnesMayLeaveRanksWithoutAny) {
  // Memory is of whole blocks: of 8 elements one of 16.
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor("w", {16},
                       json(R"([{"dimension": 0, "extent": 8, "axes": ["dp"],
                "granularity": 16, "units": [1, 0], "flat": [8]}])"),
                       mesh);
  EXPECT_EQ(tensor.ranges(0), Ranges({{0, 8}}));
  EXPECT_EQ(tensor.ranges(2), Ranges({{8, 0}}));
  expect_partition(tensor, mesh);
}

TEST(Shards, FlatOnesCutWhatOthersLeave) {
  // The vocabulary among ranks of tp, and the elements of each part, with what
  // the shorter one has no rows for, among those of dp.
  Mesh mesh = mesh_of(2, 2);
  ShardedTensor tensor("w", {32},
                       json(R"([{"dimension": 0, "extent": 11, "axes": ["tp"],
                "granularity": 1, "units": [6, 5]},
               {"dimension": 0, "extent": 42, "axes": ["dp"],
                "granularity": 16, "units": [2, 1], "flat": [6, 7]}])"),
                       mesh);
  EXPECT_TRUE(tensor.is_flat());
  EXPECT_EQ(tensor.whole_shape(), Shape({11, 7}));
  EXPECT_EQ(tensor.axes(), std::vector<std::string>({"dp", "tp"}));
  EXPECT_EQ(tensor.owner(3), 3u);
  using Runs = std::vector<std::array<uint64_t, 3>>;
  auto runs = [&](uint32_t rank) {
    Runs found;
    tensor.for_each_run(rank,
                        [&](uint64_t whole, uint64_t part, uint64_t count) {
                          found.push_back({whole, part, count});
                        });
    return found;
  };
  EXPECT_EQ(runs(0), Runs({{0, 0, 32}}));
  EXPECT_EQ(runs(1), Runs({{42, 0, 32}}));
  EXPECT_EQ(runs(2), Runs({{32, 0, 10}}));
  EXPECT_EQ(runs(3), Runs({{74, 0, 3}}));
  // Each element once.
  std::vector<int> times(77, 0);
  for (uint32_t rank = 0; rank < mesh.ranks(); ++rank)
    for (auto [whole, part, count] : runs(rank))
      for (uint64_t i = 0; i < count; ++i)
        ++times.at(whole + i);
  EXPECT_EQ(times, std::vector<int>(77, 1));
}

TEST(Shards, PlacesOfARank) {
  nlohmann::json places = json(R"([
      {"storage": 1,
       "shards": [{"dimension": 0, "extent": 131, "axes": ["tp"],
                   "granularity": 1, "units": [66, 65]},
                  {"dimension": 0, "extent": 2, "axes": ["dp"]}]},
      {"storage": 0,
       "shards": [{"dimension": 0, "extent": 4, "axes": ["dp", "tp"]}]}])");
  std::vector<int32_t> first(2), second(4);
  void *storages[] = {first.data(), second.data()};
  write_places(places, mesh_of(2, 2), 3, storages);
  EXPECT_EQ(first, std::vector<int32_t>({3, 1}));
  EXPECT_EQ(second, std::vector<int32_t>({66, 65, 1, 1}));
  EXPECT_THROW(write_places(places, mesh_of(3, 2), 0, storages), Error);
  // One rank's has none.
  write_places(nullptr, mesh_of(1, 1), 0, nullptr);
}

TEST(Shards, DamagedOnesAreNamed) {
  const char *shards[] = {
      R"([{"dimension": 1, "extent": 4, "axes": ["tp"]}])",
      R"([{"dimension": 0, "extent": 5, "axes": ["tp"]}])",
      R"([{"dimension": 0, "extent": 4, "axes": ["pp"]}])",
      R"([{"dimension": 0, "extent": 8, "axes": ["tp", "tp"]}])",
      R"([{"dimension": 0, "extent": 3, "axes": ["tp"], "units": [2]}])",
      R"([{"dimension": 0, "extent": 5, "axes": ["tp"], "units": [2, 2]}])",
      R"([{"dimension": 0, "extent": 4, "axes": ["tp"], "granularity": 0,
           "units": [2, 2]}])",
      R"([{"dimension": 0, "axes": ["tp"]}])",
      R"([{"dimension": 0, "extent": 4, "axes": ["tp"], "flat": [2, 3]}])",
      R"([{"dimension": 0, "extent": 4, "axes": ["tp"]},
          {"dimension": 0, "extent": 8, "axes": ["dp"]}])"};
  for (const char *text : shards) {
    std::string found = complaint({2}, json(text));
    EXPECT_NE(found.find("the shards of w "), std::string::npos)
        << text << ": " << found;
  }
}

} // namespace baton

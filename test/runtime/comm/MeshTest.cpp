//===- MeshTest.cpp ------------------------------------------------------===//

#include "runtime/comm/mesh.h"
#include "runtime/error.h"

#include <gtest/gtest.h>

namespace baton {

namespace {

using Ranks = std::vector<uint32_t>;

nlohmann::json two_axes() {
  return nlohmann::json::parse(R"({
    "mesh": {"axes": [{"name": "dp", "size": 2}, {"name": "tp", "size": 3}],
             "batch": ["dp"]},
    "collectives": [
      {"name": "all_reduce.0", "kind": "all_to_all", "axes": ["dp"],
       "operation": "all_reduce", "payload": "4 * 131 * 60", "iterations": 4},
      {"name": "all_gather.1", "kind": "all_gather", "axes": ["dp", "tp"]}]})");
}

std::string complaint(const nlohmann::json &description) {
  try {
    Mesh mesh = Mesh::parse(description);
    Collective::parse(description, mesh);
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

} // namespace

TEST(Mesh, OfOneRank) {
  Mesh mesh = Mesh::parse({{"model", "any"}});
  EXPECT_EQ(mesh.ranks(), 1u);
  EXPECT_EQ(mesh.group(0, {}), Ranks({0}));
  EXPECT_EQ(mesh.batch_place(0).count, 1u);
  EXPECT_TRUE(Collective::parse({{"model", "any"}}, mesh).empty());
}

TEST(Mesh, RanksAreRowMajor) {
  Mesh mesh = Mesh::parse(two_axes());
  EXPECT_EQ(mesh.ranks(), 6u);
  EXPECT_EQ(mesh.text(), "dp=2,tp=3");
  EXPECT_EQ(mesh.group(4, {"dp"}), Ranks({1, 4}));
  EXPECT_EQ(mesh.group(4, {"tp"}), Ranks({3, 4, 5}));
  EXPECT_EQ(mesh.group(4, {"tp", "dp"}), Ranks({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(mesh.group(4, {}), Ranks({4}));
  EXPECT_EQ(mesh.place(4, {"tp"}).index, 1u);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(mesh.batch_place(rank).index, rank / 3);
    EXPECT_EQ(mesh.batch_place(rank).count, 2u);
  }
}

TEST(Mesh, CollectivesOfADescription) {
  Mesh mesh = Mesh::parse(two_axes());
  std::vector<Collective> all = Collective::parse(two_axes(), mesh);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "all_reduce.0");
  EXPECT_EQ(all[0].kind, Collective::Kind::AllToAll);
  EXPECT_EQ(all[0].payload, "4 * 131 * 60");
  EXPECT_EQ(all[0].iterations, 4u);
  EXPECT_EQ(all[1].kind, Collective::Kind::AllGather);
  EXPECT_EQ(all[1].iterations, 1u);
}

TEST(Mesh, DamagedDescriptionsAreRefused) {
  auto damaged = two_axes();
  damaged["mesh"]["batch"] = {"rows"};
  EXPECT_NE(complaint(damaged).find("\"rows\", which the mesh lacks"),
            std::string::npos);
  damaged = two_axes();
  damaged["collectives"][1]["axes"] = {"pp"};
  EXPECT_NE(complaint(damaged).find("all_gather.1 names the axis \"pp\""),
            std::string::npos);
  damaged = two_axes();
  damaged["collectives"][1]["kind"] = "all_reduce";
  EXPECT_NE(complaint(damaged).find("is of the kind all_reduce"),
            std::string::npos);
  damaged = two_axes();
  damaged["mesh"]["axes"][0]["size"] = 0;
  EXPECT_NE(complaint(damaged).find("number of ranks"), std::string::npos);
  damaged = two_axes();
  damaged["mesh"]["axes"] = 3;
  EXPECT_NE(complaint(damaged).find("description is damaged"),
            std::string::npos);
}

TEST(Mesh, PartsCoverATensor) {
  BatonExchange tensor = {nullptr, nullptr, 150, 64, 64};
  EXPECT_EQ(TensorPart::of(tensor, 0).bytes, 64u);
  EXPECT_EQ(TensorPart::of(tensor, 2).begin, 128u);
  EXPECT_EQ(TensorPart::of(tensor, 2).bytes, 22u);
  EXPECT_EQ(TensorPart::of(tensor, 3).bytes, 0u);
}

} // namespace baton

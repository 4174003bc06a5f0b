//===- PipelineTest.cpp --------------------------------------------------===//

#include "runtime/execute/pipeline.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <set>

namespace baton {

namespace {

using Json = nlohmann::json;

Json program(const char *part, int stage, Json storages) {
  Json result = {{"part", part}, {"stage", nullptr}, {"storages", storages}};
  if (stage >= 0)
    result["stage"] = stage;
  return result;
}

Json use(uint32_t storage, uint64_t bytes, const char *scope,
         const char *slot = "") {
  return {
      {"storage", storage}, {"bytes", bytes}, {"scope", scope}, {"slot", slot}};
}

/// Two stages of one chunk, or of two that go round.
Json description(uint32_t chunks, bool fused, std::vector<uint32_t> in_flight,
                 std::vector<std::string> tables) {
  Json stages = Json::array(), programs = Json::array();
  programs.push_back(
      program("agreement", -1,
              {use(0, 4 * 64, "rank"), use(1, chunks * 64, "rank"),
               use(5, 100, "transient")}));
  for (uint32_t stage = 0; stage < 2 * chunks; ++stage) {
    stages.push_back({{"positions", {stage}}, {"offsets", {0}}});
    Json kept = {use(2, 1000 + stage, "stage", "flight"), use(3, 5000, "stage"),
                 use(5, 9000, "transient"), use(6, 10, "transient"),
                 use(0, 64, "rank", "microbatch")};
    for (const char *part : {"forward", "input", "weight", "backward"})
      programs.push_back(program(part, int(stage), kept));
    programs.push_back(
        program("norm", int(stage),
                {use(3, 5000, "stage"), use(1, 64, "rank", "chunk")}));
    programs.push_back(program("update", int(stage),
                               {use(3, 5000, "stage"), use(4, 70, "stage")}));
  }
  return {{"programs", programs},
          {"pipeline",
           {{"schedule", "test"},
            {"axis", "pp"},
            {"microbatches", 4},
            {"chunks", chunks},
            {"fused", fused},
            {"in_flight", in_flight},
            {"tables", tables},
            {"stages", stages}}}};
}

/// "forward 2 in 1, ..." of the calls of microbatches.
std::string text_of(const Pipeline &pipeline, const Json &json,
                    uint32_t place) {
  std::string text;
  for (const StageCall &call : pipeline.calls(place)) {
    text += json["programs"][call.program]["part"].get<std::string>()[0];
    if (pipeline.chunks > 1)
      text += "." + std::to_string(call.chunk);
    if (call.microbatch)
      text +=
          std::to_string(*call.microbatch) + "@" + std::to_string(call.slot);
    text += " ";
  }
  return text;
}

} // namespace

TEST(Pipeline, PhasesOfAMicrobatchHaveOnePlace) {
  Json json = description(1, false, {2, 1},
                          {"F0 F1 B0 W0 F2 B1 W1 F3 B2 B3 W2 W3",
                           "F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3"});
  auto pipeline = Pipeline::parse(json);
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(text_of(*pipeline, json, 0),
            "f0@0 f1@1 i0@0 w0@0 f2@0 i1@1 w1@1 f3@1 i2@0 i3@1 w2@0 w3@1 "
            "n a u ");
  EXPECT_EQ(text_of(*pipeline, json, 1),
            "f0@0 i0@0 w0@0 f1@0 i1@0 w1@0 f2@0 i2@0 w2@0 f3@0 i3@0 w3@0 "
            "n a u ");
}

TEST(Pipeline, BothHalvesThatAreOneRunOnce) {
  Json json = description(1, true, {2, 1},
                          {"F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3",
                           "F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3"});
  EXPECT_EQ(text_of(*Pipeline::parse(json), json, 0),
            "f0@0 f1@1 b0@0 f2@0 b1@1 f3@1 b2@0 b3@1 n a u ");
}

TEST(Pipeline, ChunksShareThePlacesAndEachEndsTheStep) {
  Json json =
      description(2, true, {3, 3},
                  {"F0 F1 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 B0 W0 B1 W1", "F0"});
  EXPECT_EQ(text_of(*Pipeline::parse(json), json, 0),
            "f.00@0 f.01@1 f.10@2 b.10@2 f.11@2 b.11@2 b.00@0 b.01@1 "
            "n.0 n.1 a.0 u.0 u.1 ");
}

TEST(Pipeline, MoreInFlightThanStatedIsDamage) {
  Json json = description(1, true, {1, 1}, {"F0 F1 B0 W0 B1 W1", "F0"});
  EXPECT_THROW(Pipeline::parse(json)->calls(0), Error);
  json = description(1, true, {1, 1}, {"F0 X0", "F0"});
  EXPECT_THROW(Pipeline::parse(json)->calls(0), Error);
  EXPECT_FALSE(Pipeline::parse(Json::object()));
}

TEST(StageLayout, StoragesOfAStageDoNotOverlap) {
  Json json = description(
      2, true, {3, 3}, {"F0 F0.1 B0.1 W0.1 B0 W0", "F0 F0.1 B0.1 W0.1 B0 W0"});
  StageLayout layout(*Pipeline::parse(json), 1);
  // One loss for each microbatch and one sum of squares for each chunk.
  EXPECT_EQ(StageLayout::find(layout.shared, 0, 0).bytes, 4 * 64);
  EXPECT_EQ(StageLayout::find(layout.shared, 1, 0).bytes, 2 * 64);
  // Parameters of each chunk, and the optimizer's states.
  std::set<uint64_t> begins;
  for (uint32_t chunk : {0u, 1u})
    for (uint32_t storage : {3u, 4u})
      begins.insert(StageLayout::find(layout.stage, storage, chunk).begin);
  EXPECT_EQ(begins.size(), 4u);
  EXPECT_GE(layout.stage_bytes, 2u * (5000 + 70));
  // What is kept has the size of the larger chunk, so many times.
  EXPECT_EQ(StageLayout::find(layout.flight, 2, 1).bytes, 1003u);
  EXPECT_EQ(layout.slots, 3u);
  EXPECT_GE(layout.flight_bytes, 1003u);
  // Programs share what is free between them.
  EXPECT_GE(layout.transient_bytes, 9010u);
  EXPECT_LT(layout.transient_bytes, 2u * 9010u);
  EXPECT_EQ(layout.bytes(), layout.shared_bytes + layout.stage_bytes +
                                3 * layout.flight_bytes +
                                layout.transient_bytes);
  EXPECT_THROW(StageLayout::find(layout.stage, 2, 0), std::logic_error);
}

} // namespace baton

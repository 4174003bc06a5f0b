//===- MetadataTest.cpp - descriptions of programs, sound and damaged ----===//

#include "runtime/execute/metadata.h"

#include "runtime/error.h"
#include "toy_program.h"

#include <gtest/gtest.h>

#include <functional>

namespace baton {
namespace {

TEST(Metadata, ReadsAProgram) {
  Metadata metadata = Metadata::parse(toy::metadata());
  EXPECT_EQ(metadata.vocabulary, 259u);
  EXPECT_EQ(metadata.max_rows, toy::max_rows);
  EXPECT_EQ(metadata.event_words, 2u);
  EXPECT_TRUE(metadata.storages[0].state);
  EXPECT_FALSE(metadata.storages[1].state);
  EXPECT_EQ(metadata.phases[1].writes[0].extents[0].kind,
            Extent::Kind::Outputs);
  EXPECT_EQ(metadata.phases[0].writes[0].extents[0].evaluate({3, 4, 1, 0}), 7);
  ASSERT_TRUE(metadata.costs);
  EXPECT_EQ(metadata.costs->kv_bytes_per_position, 4);
}

TEST(Metadata, CountsWhatAPromptCosts) {
  Costs costs{1000, 100, 0, 0, {{0, 10}, {3, 1}}, {}};
  // Linears, then positions seen: 1 + 2 + 3 + 4 + 5, and at most 3 of them.
  EXPECT_EQ(costs.prompt_flops(5), 5 * 900 + 100 + 15 * 10 + 12 * 1);
  EXPECT_EQ(costs.prompt_flops(1), 1000 + 10 + 1);
  // Two of eight experts each: a second token shares a quarter of them.
  costs.weight_bytes_per_token = 100;
  costs.experts = {{2, 8, 40}};
  EXPECT_DOUBLE_EQ(costs.weight_bytes(1), 100);
  EXPECT_DOUBLE_EQ(costs.weight_bytes(2), 60 + 40 * 1.75);
  EXPECT_NEAR(costs.weight_bytes(1000), 60 + 40 * 4, 1e-9);
}

TEST(Metadata, CostsAreOptional) {
  auto json = nlohmann::json::parse(toy::metadata());
  json["costs"] = nullptr;
  EXPECT_FALSE(Metadata::parse(json.dump()).costs);
  json.erase("costs");
  EXPECT_FALSE(Metadata::parse(json.dump()).costs);
}

TEST(Metadata, RefusesDamage) {
  std::vector<std::function<void(nlohmann::json &)>> damages = {
      [](auto &json) { json["format"] = 2; },
      [](auto &json) { json.erase("max_rows"); },
      [](auto &json) { json["max_outputs"] = 9; },
      [](auto &json) { json["max_seq"] = 7; },
      [](auto &json) { json["max_outputs"] = 0; },
      [](auto &json) { json["model"]["vocabulary"] = 0; },
      [](auto &json) { json["storages"] = 3; },
      [](auto &json) { json["phases"][0]["writes"][0]["storage"] = 2; },
      [](auto &json) { json["phases"][0]["writes"][0]["storage"] = nullptr; },
      [](auto &json) { json["phases"][0]["writes"][0]["strides"] = {1, 1}; },
      [](auto &json) { json["phases"][0]["writes"][0]["extents"][0] = 1.5; },
      [](auto &json) { json["phases"][0]["writes"][0]["layers"] = 0; },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    auto json = nlohmann::json::parse(toy::metadata());
    damages[i](json);
    EXPECT_THROW(Metadata::parse(json.dump()), Error) << "damage " << i;
  }
  EXPECT_THROW(Metadata::parse("{"), Error);
  EXPECT_THROW(Metadata::parse(""), Error);
}

TEST(Metadata, LayersOfIterations) {
  PhaseDescription forward = {"a", "layers", 3, {}};
  PhaseDescription backward = {"a", "layers.backward", 3, {}, true};
  EXPECT_EQ(forward.layer(0), 0u);
  EXPECT_EQ(forward.layer(2), 2u);
  EXPECT_EQ(backward.layer(0), 2u);
  EXPECT_EQ(backward.layer(2), 0u);
  // What the next iteration has; the last one has no next.
  forward.ahead = backward.ahead = true;
  EXPECT_EQ(forward.layer(0), 1u);
  EXPECT_EQ(forward.layer(2), 2u);
  EXPECT_EQ(backward.layer(0), 1u);
  EXPECT_EQ(backward.layer(2), 0u);
}

TEST(ProgramOrder, RepeatsSegmentsNotPhases) {
  std::vector<PhaseDescription> phases = {{"a", "start", 1, {}},
                                          {"b", "layers", 2, {}},
                                          {"c", "layers", 2, {}},
                                          {"d", "end", 1, {}}};
  EXPECT_EQ(program_order(phases, {1, 0, 4, std::nullopt}),
            (std::vector<std::pair<uint32_t, uint32_t>>{
                {0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {3, 0}}));
  // Of one program of several.
  EXPECT_EQ(program_order(phases, {1, 1, 2, std::nullopt}),
            (std::vector<std::pair<uint32_t, uint32_t>>{
                {1, 0}, {2, 0}, {1, 1}, {2, 1}}));
}

TEST(Programs, AStepIsOfTheSmallestThatTakesIt) {
  auto json = nlohmann::json::parse(toy::metadata());
  Metadata one = Metadata::parse(json.dump());
  EXPECT_EQ(one.programs.size(), 1u);
  EXPECT_EQ(one.program_of(1), 0u);
  uint64_t rows = json["max_rows"], phases = json["phases"].size();
  json["programs"] = {
      {{"max_rows", rows}, {"first_phase", 0}, {"phases", 1}},
      {{"max_rows", 1}, {"first_phase", 1}, {"phases", phases - 1}}};
  Metadata two = Metadata::parse(json.dump());
  EXPECT_EQ(two.program_of(1), 1u);
  EXPECT_EQ(two.program_of(2), 0u);
  for (auto damage : std::vector<std::pair<const char *, uint64_t>>{
           {"max_rows", rows - 1},
           {"phases", phases + 1},
           {"first_phase", phases + 1}}) {
    auto damaged = json;
    damaged["programs"][0][damage.first] = damage.second;
    EXPECT_THROW(Metadata::parse(damaged.dump()), Error) << damage.first;
  }
}

} // namespace
} // namespace baton

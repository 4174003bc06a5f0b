//===- RopeFrequenciesTest.cpp - rotary angles against transformers -------===//
//
// Expected values are inv_freq of transformers' LlamaRotaryEmbedding, printed
// as F32.
//
//===----------------------------------------------------------------------===//

#include "models/RopeFrequencies.h"
#include "ModelFolder.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace baton::models;
using namespace baton::models::test;
using nlohmann::json;

static std::vector<float> frequencies(const json &config, int64_t headDim) {
  ModelFolder folder(config);
  return ropeAngles(Config::read(folder.getPath()), headDim, /*maxSeq=*/64)
      .frequencies;
}

static void expectNear(const std::vector<float> &found,
                       const std::vector<float> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_FLOAT_EQ(found[i], expected[i]) << "pair " << i;
}

TEST(RopeFrequencies, DefaultHasBaseTenThousand) {
  expectNear(frequencies(json::object(), 10),
             {1.0f, 0.15848931670188904f, 0.025118863210082054f,
              0.003981070592999458f, 0.0006309573072940111f});
}

TEST(RopeFrequencies, BaseStandsAtTheTopOrNested) {
  std::vector<float> top = frequencies({{"rope_theta", 5e5}}, 8);
  EXPECT_FLOAT_EQ(top[2], std::pow(5e5f, -0.5f));
  EXPECT_EQ(frequencies({{"rope_parameters", {{"rope_theta", 5e5}}}}, 8), top);
  EXPECT_EQ(frequencies({{"rope_theta", 5e5}, {"rope_scaling", nullptr}}, 8),
            top);
}

TEST(RopeFrequencies, LinearDividesByTheFactor) {
  std::vector<float> expected = {0.4000000059604645f,    0.10730782896280289f,
                                 0.02878742292523384f,   0.007722790353000164f,
                                 0.0020717892330139875f, 0.0005557980621233582f,
                                 0.00014910372556187212f};
  expectNear(frequencies(
                 {{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}}, 14),
             expected);
  expectNear(frequencies({{"rope_parameters",
                           {{"rope_type", "linear"}, {"factor", 2.5}}}},
                         14),
             expected);
}

TEST(RopeFrequencies, YarnStretchesPairsThatTurnSeldom) {
  expectNear(frequencies({{"rope_scaling",
                           {{"rope_type", "yarn"},
                            {"factor", 4},
                            {"original_max_position_embeddings", 2048}}}},
                         16),
             {1.0f, 0.3162277638912201f, 0.10000000149011612f,
              0.025693506002426147f, 0.00624999962747097f,
              0.0013834965648129582f, 0.0002500000118743628f,
              7.905694656074047e-05f});
  // gpt-oss's.
  json config = {{"rope_theta", 150000},
                 {"rope_scaling",
                  {{"rope_type", "yarn"},
                   {"factor", 32},
                   {"beta_fast", 32},
                   {"beta_slow", 1},
                   {"truncate", false},
                   {"original_max_position_embeddings", 4096}}}};
  expectNear(frequencies(config, 16),
             {1.0f, 0.22541800141334534f, 0.05081327259540558f,
              0.006794959306716919f, 0.0004564839182421565f,
              1.818833698052913e-05f, 4.099978468730114e-06f,
              9.242089618055616e-07f});
  ModelFolder folder(config);
  EXPECT_FLOAT_EQ(ropeAngles(Config::read(folder.getPath()), 16, 64).scale,
                  1.3465735902799727f);
  // Two factors, and the original context beside the object.
  ModelFolder deep({{"max_position_embeddings", 4096},
                    {"rope_scaling",
                     {{"rope_type", "yarn"},
                      {"factor", 40},
                      {"mscale", 0.707},
                      {"mscale_all_dim", 1}}}});
  RopeAngles angles = ropeAngles(Config::read(deep.getPath()), 8, 64);
  expectNear(angles.frequencies,
             {1.0f, 0.10000000149011612f, 0.005124999675899744f,
              2.499999936844688e-05f});
  EXPECT_FLOAT_EQ(angles.scale, 0.9210423553163399f);
}

TEST(RopeFrequencies, Llama3KeepsShortWavelengthsAndStretchesLongOnes) {
  expectNear(frequencies({{"rope_theta", 500000.0},
                          {"rope_scaling",
                           {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}}}},
                         16),
             {1.0f, 0.07940301299095154f, 0.004700753837823868f,
              0.0009115831344388425f, 0.00017677668074611574f,
              3.428102354519069e-05f, 6.647869668086059e-06f,
              1.289173155782919e-06f});
}

TEST(RopeFrequencies, PartOfAHeadTurns) {
  ModelFolder folder({{"partial_rotary_factor", 0.5}});
  Config config = Config::read(folder.getPath());
  RopeAngles angles = ropeAngles(config, 20, 64, {.mayBePartial = true});
  // As a whole head of that size would.
  EXPECT_EQ(angles.frequencies, frequencies(json::object(), 10));
  EXPECT_EQ(angles.scale, 1);
}

TEST(RopeFrequencies, LongRopeHasAFactorForEachPair) {
  ModelFolder folder({{"max_position_embeddings", 1024},
                      {"original_max_position_embeddings", 256},
                      {"rope_scaling",
                       {{"type", "longrope"},
                        {"short_factor", {1.0, 2.0, 4.0}},
                        {"long_factor", {8.0, 8.0, 8.0}}}}});
  Config config = Config::read(folder.getPath());
  RopeAngles angles = ropeAngles(config, 6, 256, {.mayBeLong = true});
  std::vector<float> plain = frequencies(json::object(), 6);
  expectNear(angles.frequencies, {plain[0], plain[1] / 2, plain[2] / 4});
  // sqrt(1 + ln 4 / ln 256)
  EXPECT_FLOAT_EQ(angles.scale, std::sqrt(1.25f));
  EXPECT_THROW(ropeAngles(config, 6, 257, {.mayBeLong = true}), ConfigError);
  EXPECT_THROW(ropeAngles(config, 8, 256, {.mayBeLong = true}), ConfigError);
}

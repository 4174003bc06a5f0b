#include "runtime/train/optimizer_numbers.h"

#include "runtime/error.h"
#include "runtime/train/safetensors_writer.h"
#include "test/runtime/execute/array_file.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

nlohmann::json description() {
  return nlohmann::json::parse(R"({"training": {"tensors": [
      {"name": "tokens", "role": "input"},
      {"name": "numbers", "role": "input", "numbers": [
        {"name": "step"}, {"name": "learning_rate"}, {"name": "clip"},
        {"name": "loss_scale"},
        {"name": "adamw.beta1", "default": 0.5},
        {"name": "muon.beta1", "default": 0.25},
        {"name": "muon.momentum", "default": 0.75}]}]}})");
}

std::vector<double> written(const OptimizerNumbers &numbers) {
  return numbers.values({7, 0.125, 2});
}

TEST(OptimizerNumbers, StandInTheOrderOfTheDescription) {
  OptimizerNumbers numbers(description());
  EXPECT_EQ(written(numbers),
            (std::vector<double>{7, 0.125, 2, 1, 0.5, 0.25, 0.75}));
  EXPECT_EQ(numbers.text(),
            "adamw.beta1 = 0.5, muon.beta1 = 0.25, muon.momentum = 0.75");
}

TEST(OptimizerNumbers, AreSetForAllRulesOrOne) {
  OptimizerNumbers numbers(description());
  numbers.set("beta1=0");
  EXPECT_EQ(written(numbers),
            (std::vector<double>{7, 0.125, 2, 1, 0, 0, 0.75}));
  numbers.set("muon.beta1=1e-1");
  EXPECT_EQ(written(numbers),
            (std::vector<double>{7, 0.125, 2, 1, 0, 0.1, 0.75}));
}

TEST(OptimizerNumbers, RefuseWhatIsNoneOfTheirs) {
  OptimizerNumbers numbers(description());
  for (const char *text :
       {"", "=1", "beta1", "beta1=", "beta1=x", "beta1=1x", "beta1=nan",
        "beta1=inf", "beta1=1e39", "eta1=1", "step=1", "clip=1",
        "learning_rate=1", "loss_scale=1"})
    EXPECT_THROW(numbers.set(text), Error) << text;
  EXPECT_EQ(written(numbers),
            (std::vector<double>{7, 0.125, 2, 1, 0.5, 0.25, 0.75}));
  try {
    numbers.set("momentun=1");
  } catch (const Error &error) {
    EXPECT_TRUE(
        std::string_view(error.what()).ends_with("; did you mean momentum?"))
        << error.what();
  }
}

TEST(OptimizerNumbers, StandWhereTheirNamesDo) {
  auto json = nlohmann::json::parse(R"({"training": {"tensors": [
      {"numbers": [{"name": "r.a", "default": 3}, {"name": "clip"},
                   {"name": "step"}]}]}})");
  EXPECT_EQ(written(OptimizerNumbers(json)), (std::vector<double>{3, 2, 7}));
  json["training"]["tensors"][0]["numbers"][2]["name"] = "weather";
  EXPECT_THROW(OptimizerNumbers{json}, Error);
}

/// Three weights without defaults, and two with some.
nlohmann::json learned() {
  return nlohmann::json::parse(R"({"training": {"tensors": [
      {"name": "numbers", "role": "input", "numbers": [
        {"name": "step"}, {"name": "rule.keep", "default": 0.5},
        {"name": "weight", "shape": [1, 3]},
        {"name": "decays", "shape": [2], "default": [0.25, -1]}]}]}})");
}

class LearnedOptimizer : public testing::Test {
protected:
  std::filesystem::path write(const std::vector<TensorSource> &tensors) {
    SafetensorsWriter writer(folder.path() / "model.safetensors");
    writer.write(tensors);
    writer.publish();
    return writer.target();
  }
  /// What reading the tensors is refused with.
  std::string refused(const std::vector<TensorSource> &tensors) {
    OptimizerNumbers numbers(learned());
    try {
      numbers.read_weights(write(tensors));
    } catch (const Error &error) {
      EXPECT_TRUE(numbers.needs_weights());
      return error.what();
    }
    ADD_FAILURE() << "read what is none of its weights";
    return "";
  }

  test::TemporaryFolder folder;
  const float values[3] = {1, -2, 0.1f};
};

TEST_F(LearnedOptimizer, HasItsWeightsBehindTheNumbers) {
  OptimizerNumbers numbers(learned());
  EXPECT_TRUE(numbers.has_weights() && numbers.needs_weights());
  EXPECT_EQ(numbers.weights_text(), "weight [1, 3], decays [2]");
  EXPECT_EQ(numbers.text(), "rule.keep = 0.5");
  numbers.set("keep=1");
  EXPECT_THROW(numbers.set("weight=1"), Error);
  const std::string before = numbers.weights_hash();
  numbers.read_weights(
      write({{"weight", DataType::F32, {1, 3}, values}}).parent_path());
  EXPECT_FALSE(numbers.needs_weights());
  EXPECT_NE(numbers.weights_hash(), before);
  EXPECT_EQ(written(numbers),
            (std::vector<double>{7, 1, 1, -2, double(0.1f), 0.25, -1}));

  const uint16_t halves[] = {0x3c00, 0xbc00};
  numbers.read_weights(write({{"weight", DataType::F32, {1, 3}, values},
                              {"decays", DataType::F16, {2}, halves}}));
  EXPECT_EQ(written(numbers),
            (std::vector<double>{7, 1, 1, -2, double(0.1f), 1, -1}));
}

TEST_F(LearnedOptimizer, RefusesOtherTensors) {
  EXPECT_NE(refused({{"weights", DataType::F32, {1, 3}, values}})
                .find("model.safetensors: there is no tensor \"weight\", which "
                      "the optimizer's weights have; it reads weight [1, 3], "
                      "decays [2]"),
            std::string::npos);
  EXPECT_NE(refused({{"weight", DataType::F32, {3}, values}})
                .find("tensor \"weight\" is [3], expected [1, 3]"),
            std::string::npos);
  const int32_t integers[3] = {1, 2, 3};
  EXPECT_NE(refused({{"weight", DataType::I32, {1, 3}, integers}})
                .find("is none of F32, F16, BF16 and F64"),
            std::string::npos);
  // Beyond F32, in which a program reads it.
  const double large[3] = {1, 1e300, 0};
  EXPECT_NE(refused({{"weight", DataType::F64, {1, 3}, large}})
                .find("has a number that is not finite"),
            std::string::npos);
}

TEST(OptimizerNumbers, WithoutWeightsNeedNone) {
  OptimizerNumbers numbers(description());
  EXPECT_FALSE(numbers.has_weights() || numbers.needs_weights());
}

TEST(OptimizerNumbers, NeedAProgramThatTrains) {
  EXPECT_THROW(OptimizerNumbers{nlohmann::json::object()}, Error);
  EXPECT_THROW((OptimizerNumbers{nlohmann::json{{"training", nullptr}}}),
               Error);
}

} // namespace
} // namespace baton

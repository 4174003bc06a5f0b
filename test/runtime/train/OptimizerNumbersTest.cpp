#include "runtime/train/optimizer_numbers.h"

#include "runtime/error.h"

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

TEST(OptimizerNumbers, NeedAProgramThatTrains) {
  EXPECT_THROW(OptimizerNumbers{nlohmann::json::object()}, Error);
  EXPECT_THROW((OptimizerNumbers{nlohmann::json{{"training", nullptr}}}),
               Error);
}

} // namespace
} // namespace baton

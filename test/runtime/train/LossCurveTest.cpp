//===- LossCurveTest.cpp - pictures that a parser of XML reads -----------===//

#include "runtime/train/loss_curve.h"

#include "formats.h"
#include "test/runtime/weights/fixture.h"

#include <cmath>
#include <limits>

namespace baton::test {
namespace {

nlohmann::json parsed(const LossCurve &curve) {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path / "loss.svg";
  write_loss_curve(path, curve);
  EXPECT_EQ(read_file(path), loss_curve_svg(curve));
  EXPECT_LT(std::filesystem::file_size(path), 150'000u);
  return read_format("svg", path);
}

bool has(const nlohmann::json &list, const std::string &value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

LossCurve falling(uint64_t steps) {
  LossCurve curve = {"a run", {}, {}};
  for (uint64_t step = 1; step <= steps; ++step) {
    double noise = double(step * 7919 % 101) / 500;
    curve.training.push_back(
        {step, 1 + 4 * std::exp(-5 * double(step) / double(steps)) + noise});
    if (step % std::max<uint64_t>(1, steps / 10) == 0)
      curve.validation.push_back({step, curve.training.back().loss + 0.1});
  }
  return curve;
}

TEST(LossCurve, HasTitleAxesAndCurves) {
  nlohmann::json picture = parsed(falling(1000));
  EXPECT_EQ(picture["title"], "a run");
  for (const char *text :
       {"a run", "step", "loss", "training", "training, smoothed", "validation",
        "200", "800", "2", "4"})
    EXPECT_TRUE(has(picture["texts"], text)) << text << picture["texts"];
  // Ten points, and the one that explains them.
  EXPECT_EQ(picture["circles"].size(), 11u);
  double first = picture["circles"][0][1], last = picture["circles"][9][1];
  EXPECT_LT(first, last) << "a smaller loss lies below";
}

TEST(LossCurve, OfAMillionSteps) {
  nlohmann::json picture = parsed(falling(1'000'000));
  EXPECT_TRUE(has(picture["texts"], "800000")) << picture["texts"];
}

TEST(LossCurve, OfLittle) {
  EXPECT_TRUE(has(parsed({"empty", {}, {}})["texts"], "no losses"));
  size_t none = parsed({"empty", {}, {}})["paths"].size();
  // One point is a dot: both lines have one.
  nlohmann::json one = parsed({"one", {{5, 2.5}}, {}});
  EXPECT_FALSE(has(one["texts"], "no losses"));
  EXPECT_GT(one["paths"].size(), none);
  parsed({"same", {{1, 3}, {2, 3}, {3, 3}}, {}});
  parsed({"zero", {{0, 0}, {1, 0}}, {{1, 0}}});
  parsed({"close", {{1, 1e9}, {2, 1e9 + 1e-7}}, {}});
  EXPECT_EQ(parsed({"only validation", {}, {{1, 3}}})["circles"].size(), 2u);
}

TEST(LossCurve, OfLossesThatAreNoNumbers) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::nan("");
  LossCurve curve = {"gaps", {}, {{1, nan}, {2, infinity}, {3, 2}}};
  for (uint64_t step = 0; step < 100; ++step)
    curve.training.push_back({step, step % 10 == 3   ? nan
                                    : step % 10 == 5 ? -infinity
                                    : step % 10 == 7 ? 1e300
                                                     : double(step)});
  nlohmann::json picture = parsed(curve);
  EXPECT_EQ(picture["circles"].size(), 2u);
  for (const auto &path : picture["paths"])
    for (const char *word : {"nan", "inf"})
      EXPECT_EQ(path.get<std::string>().find(word), std::string::npos);
  EXPECT_TRUE(
      has(parsed({"all", {{1, nan}, {2, infinity}}, {{1, nan}}})["texts"],
          "no losses"));
  parsed({"far", {{0, -9e99}, {~uint64_t(0), 9e99}}, {}});
}

TEST(LossCurve, OfAnyTitle) {
  std::string title = "<a> & \"b\" ]]> \x01\x1b\n\t \xFF\xFE \xEF\xBF\xBE "
                      "\xEF\xBF\xBF \xED\xA0\x80 \xC3\xA4";
  std::string text = parsed({title, {{1, 1}}, {}})["title"];
  expect_contains(text, "<a> & \"b\" ]]>");
  expect_contains(text, "\xC3\xA4");
}

TEST(LossCurve, ThatCannotBeWritten) {
  TemporaryFolder folder;
  expect_contains(
      error_of([&] { write_loss_curve(folder.path / "no" / "loss.svg", {}); }),
      "loss.svg: cannot be written");
}

} // namespace
} // namespace baton::test

//===- RopeFrequencies.cpp - rotary angles per position, as HF scales them ===//

#include "models/RopeFrequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace baton;
using namespace baton::models;

// Far past published values (1e4 to 1e9) yet with finite F32 frequencies.
static constexpr double kMaxTheta = 1e15;
static constexpr double kMinFactor = 1e-3, kMaxFactor = 1e6;

/// theta^(-2i / turning)
static std::vector<float> unscaledFrequencies(float theta, int64_t turning) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < turning; i += 2)
    frequencies.push_back(
        1.0f /
        std::pow(theta, static_cast<float>(i) / static_cast<float>(turning)));
  return frequencies;
}

static void scaleAsLlama3(std::vector<float> &frequencies,
                          const Config &scaling) {
  double factor = scaling.number("factor", kMinFactor, kMaxFactor);
  double low = scaling.number("low_freq_factor", kMinFactor, kMaxFactor);
  double high = scaling.number("high_freq_factor", kMinFactor, kMaxFactor);
  auto context = static_cast<double>(
      scaling.integer("original_max_position_embeddings", 1, kMaxPositions));
  if (!(high > low))
    scaling.fail("high_freq_factor", "more than 'low_freq_factor'");
  auto longest = static_cast<float>(context / low);
  auto shortest = static_cast<float>(context / high);
  auto divisor = static_cast<float>(factor);
  for (float &frequency : frequencies) {
    float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wavelength > longest) {
      frequency /= divisor;
    } else if (wavelength >= shortest) {
      float smooth =
          (static_cast<float>(context) / wavelength - static_cast<float>(low)) /
          static_cast<float>(high - low);
      frequency = (1 - smooth) * frequency / divisor + smooth * frequency;
    }
  }
}

static void divideByFactors(std::vector<float> &frequencies,
                            const Config &scaling) {
  std::vector<double> factors =
      scaling.numbers("factors", kMinFactor, kMaxFactor);
  if (factors.size() != frequencies.size())
    scaling.fail("'factors' has " + std::to_string(factors.size()) +
                 " numbers, expected " + std::to_string(frequencies.size()) +
                 ", one for each pair that turns");
  for (size_t i = 0; i < factors.size(); ++i)
    frequencies[i] /= static_cast<float>(factors[i]);
}

/// 0.1 ln(scale) + 1, which temperatures of attention are made of.
static double yarnScale(double scale, double factor) {
  return scale <= 1 ? 1 : 0.1 * factor * std::log(scale) + 1;
}

static RopeAngles yarnAngles(const Config &config, const Config &scaling,
                             float theta, int64_t turning) {
  const char *name = "original_max_position_embeddings";
  double factor = scaling.number("factor", kMinFactor, kMaxFactor);
  auto original = static_cast<double>(
      scaling.has(name)
          ? scaling.integer(name, 1, kMaxPositions)
          : config.integer("max_position_embeddings", 1, kMaxPositions));
  double fast = scaling.number("beta_fast", kMinFactor, kMaxFactor, 32);
  double slow = scaling.number("beta_slow", kMinFactor, kMaxFactor, 1);
  if (theta <= 1)
    config.fail("'rope_theta' is 1, expected more for yarn");
  // Which pair turns so often within the original context.
  auto dimensions = static_cast<double>(turning);
  auto pairOf = [&](double turns) {
    return dimensions * std::log(original / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(double(theta)));
  };
  double low = pairOf(fast), high = pairOf(slow);
  if (scaling.boolean("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dimensions - 1);
  if (low == high)
    high += 0.001;

  RopeAngles angles;
  angles.frequencies = unscaledFrequencies(theta, turning);
  for (size_t i = 0; i < angles.frequencies.size(); ++i) {
    float &frequency = angles.frequencies[i];
    auto ramp = (static_cast<float>(i) - static_cast<float>(low)) /
                static_cast<float>(high - low);
    float kept = 1 - std::clamp(ramp, 0.0f, 1.0f);
    float stretched = 1.0f / (static_cast<float>(factor) *
                              std::pow(theta, static_cast<float>(2 * i) /
                                                  static_cast<float>(turning)));
    frequency = stretched * (1 - kept) + frequency * kept;
  }
  double scale = yarnScale(factor, 1);
  const double own = scaling.number("mscale", 0, kMaxFactor, 0),
               all = scaling.number("mscale_all_dim", 0, kMaxFactor, 0);
  if (own != 0 && all != 0)
    scale = yarnScale(factor, own) / yarnScale(factor, all);
  angles.scale = static_cast<float>(
      scaling.number("attention_factor", kMinFactor, kMaxFactor, scale));
  return angles;
}

static RopeAngles longAngles(const Config &config, const Config &scaling,
                             float theta, int64_t turning, int64_t maxSeq) {
  const char *name = "original_max_position_embeddings";
  // Phi-3 holds it beside rope_scaling, newer configs inside.
  const Config &holder = scaling.has(name) ? scaling : config;
  int64_t original = holder.integer(name, 1, kMaxPositions);
  int64_t longest = config.integer("max_position_embeddings", 1, kMaxPositions);
  if (maxSeq > original)
    config.fail("sequences past '" + std::string(name) + "', " +
                std::to_string(original) +
                ", take other rotary factors than shorter ones, which is not "
                "built; --max-seq=" +
                std::to_string(original) + " compiles for those");
  std::vector<double> factors =
      scaling.numbers("short_factor", kMinFactor, kMaxFactor);
  if (static_cast<int64_t>(factors.size()) != turning / 2)
    scaling.fail("'short_factor' has " + std::to_string(factors.size()) +
                 " numbers, expected " + std::to_string(turning / 2) +
                 ", one for each pair that turns");

  RopeAngles angles;
  for (int64_t i = 0; i < turning; i += 2)
    angles.frequencies.push_back(
        1.0f /
        (static_cast<float>(factors[i / 2]) *
         std::pow(theta, static_cast<float>(i) / static_cast<float>(turning))));
  double factor = scaling.number("factor", kMinFactor, kMaxFactor,
                                 static_cast<double>(longest) /
                                     static_cast<double>(original));
  double scale =
      factor <= 1
          ? 1
          : std::sqrt(1 + std::log(factor) / std::log(double(original)));
  angles.scale = static_cast<float>(
      scaling.number("attention_factor", kMinFactor, kMaxFactor, scale));
  return angles;
}

/// The object that says more than the base, if there is one.
static std::optional<Config> readScaling(const Config &config,
                                         const RopeDefaults &defaults) {
  if (config.has("rope_scaling") && config.has("rope_parameters"))
    config.fail("has both 'rope_scaling' and 'rope_parameters', expected one");
  std::optional<Config> parameters = config.object("rope_parameters");
  if (!parameters)
    return defaults.scalingField ? config.object(defaults.scalingField)
                                 : std::nullopt;
  if (!defaults.layerType)
    return parameters;
  parameters->allowOnly({"full_attention", "sliding_attention"});
  return parameters->object(defaults.layerType);
}

RopeAngles models::ropeAngles(const Config &config, int64_t headDim,
                              int64_t maxSeq, const RopeDefaults &defaults) {
  std::optional<Config> scaling = readScaling(config, defaults);
  double theta = config.number(defaults.baseField, 1, kMaxTheta, defaults.base);
  double partial = config.number("partial_rotary_factor", 0, 1,
                                 defaults.partialRotaryFactor);
  const char *typeName = "rope_type";
  std::string type = "default";
  const Config *partialHolder = &config;
  if (scaling) {
    theta = scaling->number("rope_theta", 1, kMaxTheta, theta);
    // The key of older configs.
    if (!scaling->has("rope_type") && scaling->has("type"))
      typeName = "type";
    type = scaling->text(typeName, "default");
    if (scaling->has("partial_rotary_factor"))
      partialHolder = &*scaling;
    partial = scaling->number("partial_rotary_factor", 0, 1, partial);
  }
  if (partial != 1 && !defaults.mayBePartial)
    partialHolder->fail("partial_rotary_factor", "1");
  auto turning = static_cast<int64_t>(static_cast<double>(headDim) * partial);
  if (turning < 2 || turning % 2)
    config.fail("'partial_rotary_factor' turns " + std::to_string(turning) +
                " of a head's " + std::to_string(headDim) +
                " dimensions, expected an even number of at least 2");

  if (defaults.mayBeLong &&
      (type == "longrope" || type == "su" || type == "yarn"))
    return longAngles(config, *scaling, static_cast<float>(theta), turning,
                      maxSeq);
  if (type == "yarn")
    return yarnAngles(config, *scaling, static_cast<float>(theta), turning);
  RopeAngles angles;
  angles.frequencies = unscaledFrequencies(static_cast<float>(theta), turning);
  if (type == "default")
    return angles;
  if (type == "linear") {
    auto factor =
        static_cast<float>(scaling->number("factor", kMinFactor, kMaxFactor));
    for (float &frequency : angles.frequencies)
      frequency /= factor;
    return angles;
  }
  if (type == "llama3") {
    scaleAsLlama3(angles.frequencies, *scaling);
    return angles;
  }
  if (type == "factors") {
    divideByFactors(angles.frequencies, *scaling);
    return angles;
  }
  scaling->fail(typeName, defaults.mayBeLong
                              ? "default, linear, llama3 or longrope"
                              : "default, linear, llama3 or yarn");
}

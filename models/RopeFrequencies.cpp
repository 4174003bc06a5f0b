//===- RopeFrequencies.cpp - rotary angles per position, as HF scales them ===//

#include "models/RopeFrequencies.h"

#include <cmath>
#include <numbers>

using namespace baton;
using namespace baton::models;

// Far past published values (1e4 to 1e9) yet with finite F32 frequencies.
static constexpr double kMaxTheta = 1e15;
static constexpr double kMinFactor = 1e-3, kMaxFactor = 1e6;

/// theta^(-2i / headDim)
static std::vector<float> unscaledFrequencies(float theta, int64_t headDim) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < headDim; i += 2)
    frequencies.push_back(
        1.0f /
        std::pow(theta, static_cast<float>(i) / static_cast<float>(headDim)));
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

std::vector<float> models::ropeFrequencies(const Config &config,
                                           int64_t headDim) {
  if (config.has("rope_scaling") && config.has("rope_parameters"))
    config.fail("has both 'rope_scaling' and 'rope_parameters', expected one");
  std::optional<Config> scaling = config.object("rope_scaling");
  if (!scaling)
    scaling = config.object("rope_parameters");

  double theta = config.number("rope_theta", 1, kMaxTheta, 10000);
  const char *typeName = "rope_type";
  std::string type = "default";
  if (scaling) {
    theta = scaling->number("rope_theta", 1, kMaxTheta, theta);
    // The key of older configs.
    if (!scaling->has("rope_type") && scaling->has("type"))
      typeName = "type";
    type = scaling->text(typeName, "default");
    if (scaling->number("partial_rotary_factor", 0, 1, 1) != 1)
      scaling->fail("partial_rotary_factor", "1");
  }

  std::vector<float> frequencies =
      unscaledFrequencies(static_cast<float>(theta), headDim);
  if (type == "default")
    return frequencies;
  if (type == "linear") {
    auto factor =
        static_cast<float>(scaling->number("factor", kMinFactor, kMaxFactor));
    for (float &frequency : frequencies)
      frequency /= factor;
    return frequencies;
  }
  if (type == "llama3") {
    scaleAsLlama3(frequencies, *scaling);
    return frequencies;
  }
  scaling->fail(typeName, "default, linear or llama3");
}

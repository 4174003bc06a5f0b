//===- calibration.cpp - what one measured step says of a machine ---------===//

#include "tools/plan/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace baton;
using namespace baton::plan;

static constexpr double host_deviation = .25, network_deviation = .30;
static constexpr double noise = .05;
static constexpr double furthest = 1.5;

static Slowness exponential(const std::array<double, 3> &logarithms) {
  return {std::exp(logarithms[0]), std::exp(logarithms[1]),
          std::exp(logarithms[2])};
}

namespace {
using Logarithms = std::array<double, 3>;
/// The logarithm of a prediction at a slowness, and how it changes.
struct Local {
  double value = 0;
  Logarithms slopes;
};
} // namespace

static Local local_at(const std::function<double(const Slowness &)> &predict,
                      const Logarithms &at) {
  Local local{std::log(predict(exponential(at))), {}};
  for (size_t which = 0; which < at.size(); ++which) {
    Logarithms beside = at;
    beside[which] += .02;
    local.slopes[which] =
        (std::log(predict(exponential(beside))) - local.value) / .02;
  }
  return local;
}

double plan::surprise(const std::function<double(const Slowness &)> &predict,
                      double uncertainty, double seconds) {
  const Local expected = local_at(predict, {0, 0, 0});
  const Logarithms deviations = {uncertainty, host_deviation,
                                 network_deviation};
  double variance = noise * noise;
  for (size_t which = 0; which < deviations.size(); ++which)
    variance += std::pow(deviations[which] * expected.slopes[which], 2);
  return std::pow(std::log(seconds) - expected.value, 2) / variance +
         std::log(variance);
}

Slowness plan::calibrate(const std::function<double(const Slowness &)> &predict,
                         double uncertainty, double seconds) {
  const Logarithms deviations = {uncertainty, host_deviation,
                                 network_deviation};
  // Gauss-Newton: the prediction is close to linear in the logarithms, but for
  // who waits for whom. Half steps, so that it does not swing.
  Logarithms at = {0, 0, 0};
  for (int round = 0; round < 40; ++round) {
    const auto [here, slopes] = local_at(predict, at);
    double error = std::log(seconds) - here, variance = noise * noise;
    for (size_t which = 0; which < at.size(); ++which) {
      error += slopes[which] * at[which];
      variance += std::pow(deviations[which] * slopes[which], 2);
    }
    const double most = furthest * std::sqrt(variance);
    error = std::clamp(error, -most, most);
    for (size_t which = 0; which < at.size(); ++which)
      at[which] = (at[which] + deviations[which] * deviations[which] *
                                   slopes[which] * error / variance) /
                  2;
  }
  return exponential(at);
}

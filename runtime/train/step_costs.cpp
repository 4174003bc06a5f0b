//===- step_costs.cpp - what a training step computes and moves -----------===//

#include "runtime/train/step_costs.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace baton {

StepCosts &StepCosts::operator+=(const StepCosts &other) {
  for (const auto &[name, amount] : other.kinds) {
    kinds[name].flops += amount.flops;
    kinds[name].bytes += amount.bytes;
  }
  return *this;
}

double StepCosts::flops() const {
  double sum = 0;
  for (const auto &[name, amount] : kinds)
    sum += amount.flops;
  return sum;
}

double StepCosts::bytes() const {
  double sum = 0;
  for (const auto &[name, amount] : kinds)
    sum += amount.bytes;
  return sum;
}

double StepCosts::seconds(double flops_per_second,
                          double bytes_per_second) const {
  double sum = 0;
  for (const auto &[name, amount] : kinds)
    sum += std::max(amount.flops / flops_per_second,
                    amount.bytes / bytes_per_second);
  return sum;
}

/// Pairs of a row and one that it sees, in a sequence.
static double pairs(double length, double window) {
  const double growing = window > 0 ? std::min(window, length) : length;
  return growing * (growing + 1) / 2 + (length - growing) * window;
}

StepCosts step_costs(const nlohmann::json &program, uint64_t sequences,
                     uint64_t length, bool updates) {
  StepCosts result;
  const nlohmann::json &costs = program.at("costs");
  const double rows = double(sequences) * double(length);
  for (const auto &[name, kind] : costs.at("kinds").items()) {
    if (name == "updates" && !updates)
      continue;
    auto of = [&, &kind = kind](const char *what) {
      return kind.at("step").at(what).get<double>() +
             rows * kind.at("row").at(what).get<double>();
    };
    result.kinds[name] = {of("flops"), of("bytes")};
  }
  for (const nlohmann::json &entry : costs.at("attention"))
    result.kinds["attention"].flops +=
        double(sequences) *
        pairs(double(length), entry.at("window").get<double>()) *
        entry.at("flops_per_pair").get<double>();
  return result;
}

} // namespace baton

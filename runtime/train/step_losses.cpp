//===- step_losses.cpp - what a step's summaries say of its loss ----------===//

#include "runtime/train/step_losses.h"

#include "runtime/train/reals.h"

#include <algorithm>

namespace baton {

StepLosses::StepLosses(const nlohmann::json &description, DataType type)
    : type(type) {
  if (auto training = description.find("training");
      training != description.end() && training->is_object() &&
      training->contains("losses"))
    names = training->at("losses").get<std::vector<std::string>>();
  restart();
}

void StepLosses::restart() { sums.assign(names.size(), 0); }

void StepLosses::add(const void *summary) {
  sums[0] += real_at(summary, type, 0);
  for (size_t i = 1; i < sums.size(); ++i)
    sums[i] += real_at(summary, type, 3 + i);
}

double StepLosses::own() const {
  const auto found = std::ranges::find(names, "cross_entropy");
  return sums[found == names.end()
                  ? 0
                  : static_cast<size_t>(found - names.begin())];
}

std::vector<std::pair<std::string, double>> StepLosses::parts() const {
  std::vector<std::pair<std::string, double>> result;
  for (size_t i = 1; i < sums.size(); ++i)
    result.emplace_back(names[i], sums[i]);
  return result;
}

} // namespace baton

//===- loss_scale.cpp - losses scaled so that F16 holds their gradients ---===//

#include "runtime/train/loss_scale.h"

#include "runtime/error.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace baton {

bool LossScale::finished(bool finite) {
  if (finite) {
    if (dynamic && ++good_steps == patience) {
      good_steps = 0;
      current = std::min(2 * current, largest);
    }
    return true;
  }
  if (!dynamic || current == 1)
    return false;
  current /= 2;
  good_steps = 0;
  ++skipped_steps;
  return true;
}

nlohmann::json LossScale::state() const {
  return {{"value", current},
          {"good_steps", good_steps},
          {"skipped_steps", skipped_steps}};
}

void LossScale::restore(const nlohmann::json &state) {
  double value = state.at("value").get<double>();
  check_loss_scale(value);
  const nlohmann::json &good = state.at("good_steps");
  const nlohmann::json &skipped = state.at("skipped_steps");
  if (!good.is_number_unsigned() || good.get<uint64_t>() >= patience ||
      !skipped.is_number_unsigned())
    throw Error("counts of steps that no run has");
  skipped_steps = skipped.get<uint64_t>();
  if (!dynamic)
    return;
  current = value;
  good_steps = good.get<uint64_t>();
}

void check_loss_scale(double initial) {
  int exponent = 0;
  if (initial >= 1 && initial <= LossScale::largest &&
      std::frexp(initial, &exponent) == 0.5)
    return;
  std::ostringstream text;
  text << "--loss-scale " << initial
       << ": expected a power of two from 1 to 2^32";
  throw Error(text.str());
}

} // namespace baton

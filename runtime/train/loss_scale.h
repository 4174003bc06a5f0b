//===- loss_scale.h - losses scaled so that F16 holds their gradients -----===//
//
// Gradients that a product rounds to F16 vanish below 6e-8 and are infinite
// beyond 65504. Losses, and with them all gradients, are multiplied by a power
// of two until the step sums them up (Micikevicius et al., Mixed Precision
// Training, 2018). It is halved when a gradient was infinite, whose step then
// changes nothing, and doubled after many steps without one.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_LOSS_SCALE_H
#define BATON_RUNTIME_TRAIN_LOSS_SCALE_H

#include <nlohmann/json.hpp>

#include <cstdint>

namespace baton {

class LossScale {
public:
  /// Steps without an infinity after which the scale doubles.
  static constexpr uint64_t patience = 2000;
  static constexpr double usual = 65536, largest = 0x1p32;

  /// Of products that are not rounded to F16: always 1.
  LossScale() = default;
  /// `initial` is a power of two from 1 to `largest`.
  explicit LossScale(double initial) : dynamic(true), current(initial) {}

  bool is_dynamic() const { return dynamic; }
  double value() const { return current; }
  /// Steps so far that changed nothing.
  uint64_t skipped() const { return skipped_steps; }

  /// After a step. Returns whether the run goes on: a norm that is not finite
  /// is only a reason to scale less while there is a scale.
  bool finished(bool finite);

  /// What a checkpoint keeps of it, and back: of one that is always 1, how many
  /// steps were skipped before. Throws std::exception for something else.
  nlohmann::json state() const;
  void restore(const nlohmann::json &state);

private:
  bool dynamic = false;
  double current = 1;
  uint64_t good_steps = 0, skipped_steps = 0;
};

/// Throws Error, naming --loss-scale, for a number that is no initial scale.
void check_loss_scale(double initial);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_LOSS_SCALE_H

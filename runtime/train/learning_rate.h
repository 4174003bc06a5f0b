//===- learning_rate.h - how the learning rate changes over a run --------===//

#ifndef BATON_RUNTIME_TRAIN_LEARNING_RATE_H
#define BATON_RUNTIME_TRAIN_LEARNING_RATE_H

#include <cstdint>
#include <string_view>

namespace baton {

enum class ScheduleKind {
  /// Stays at the peak.
  Constant,
  /// Falls in a straight line, to 0 unless another fraction is given.
  Linear,
  /// Falls along half a cosine, to a tenth unless another fraction is given.
  Cosine,
};

/// "constant", "linear" or "cosine". Throws Error, naming --lr-schedule, for
/// another word.
ScheduleKind parse_schedule(std::string_view name);

/// 0 for Linear, 0.1 for Cosine; 1 for Constant, which has no other.
double usual_final_fraction(ScheduleKind kind);

struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::Cosine;
  /// The largest learning rate, above 0.
  double peak = 0;
  /// Steps of the whole run, and of those the ones that come before the peak.
  uint64_t steps = 0;
  uint64_t warm_up = 0;
  /// What the rate falls to, as a fraction of the peak in [0, 1]; of Constant
  /// 1.
  double final_fraction = usual_final_fraction(ScheduleKind::Cosine);
};

/// Throws Error, naming the flag (--lr, --warmup, --steps,
/// --final-fraction), for a schedule that breaks a rule above.
void check(const LearningRateSchedule &schedule);

/// The rate of one step, the first of which is 0; a pure function of its
/// arguments, so that a resumed run goes on as the first one would have:
///   step < warm_up    peak * (step + 1) / (warm_up + 1), never 0
///   step = warm_up    peak
///   afterwards        peak * (f + (1 - f) * g(x)),
///                     x = (step - warm_up) / (steps - warm_up),
///                     g = 1 - x or (1 + cos(pi x)) / 2
/// where f is final_fraction. The last step, steps - 1, is still above the
/// final rate, which all from `steps` on have.
double learning_rate(const LearningRateSchedule &schedule, uint64_t step);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_LEARNING_RATE_H

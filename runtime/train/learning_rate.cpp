//===- learning_rate.cpp - how the learning rate changes over a run ------===//

#include "runtime/train/learning_rate.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace baton {

ScheduleKind parse_schedule(std::string_view name) {
  if (name == "constant")
    return ScheduleKind::Constant;
  if (name == "linear")
    return ScheduleKind::Linear;
  if (name == "cosine")
    return ScheduleKind::Cosine;
  throw Error("--lr-schedule: " + quote_name(name) +
              " is none; expected constant, linear or cosine" +
              nearest_text(name, {"constant", "linear", "cosine"}));
}

double usual_final_fraction(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::Constant:
    return 1;
  case ScheduleKind::Linear:
    return 0;
  case ScheduleKind::Cosine:
    break;
  }
  return 0.1;
}

void check(const LearningRateSchedule &schedule) {
  if (!(schedule.peak > 0) || !std::isfinite(schedule.peak))
    throw Error("--lr: expected a number above 0");
  if (schedule.steps == 0)
    throw Error("--steps: expected a number above 0");
  if (schedule.warm_up > schedule.steps)
    throw Error("--warmup: " + std::to_string(schedule.warm_up) +
                " steps are more than the whole run's --steps " +
                std::to_string(schedule.steps));
  if (!(schedule.final_fraction >= 0 && schedule.final_fraction <= 1))
    throw Error("--final-fraction: expected a number from 0 to 1");
  if (schedule.kind == ScheduleKind::Constant && schedule.final_fraction != 1)
    throw Error("--final-fraction: of --lr-schedule constant it is 1");
}

double learning_rate(const LearningRateSchedule &schedule, uint64_t step) {
  double warm_up = double(schedule.warm_up);
  if (step < schedule.warm_up)
    return schedule.peak * (double(step) + 1) / (warm_up + 1);
  if (schedule.kind == ScheduleKind::Constant)
    return schedule.peak;
  if (step >= schedule.steps)
    return schedule.peak * schedule.final_fraction;
  double done = (double(step) - warm_up) / (double(schedule.steps) - warm_up);
  double left = schedule.kind == ScheduleKind::Linear
                    ? 1 - done
                    : (1 + std::cos(std::numbers::pi * done)) / 2;
  return schedule.peak *
         (schedule.final_fraction + (1 - schedule.final_fraction) * left);
}

} // namespace baton

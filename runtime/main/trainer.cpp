//===- trainer.cpp - feeds a program that trains --------------------------===//

#include "runtime/main/trainer.h"

#include "runtime/main/non_finite.h"

#include <cmath>

namespace baton {

Trainer::Trainer(const TrainingRun &run, TrainingTensors &tensors,
                 LossScale &scale, std::span<const StageCall> calls,
                 Communicator *communicator, StepResults *results,
                 const Comparison &comparison, RankHealth *health)
    : run(run), scale(scale), communicator(communicator), results(results),
      inputs(tensors, batch_place(communicator), comparison),
      numbers(tensors.find("numbers")), calls(calls),
      losses(run.metadata.json, numbers.type), health(health) {}

BatonStep Trainer::begin(std::span<int32_t>) {
  microbatch = 0;
  losses.restart();
  started = Clock::now();
  if (health)
    health->times.begin();
  return prepare();
}

RankTimes::Part Trainer::part() const {
  using Part = RankTimes::Part;
  if (calls.empty())
    return Part::Compute;
  switch (calls[microbatch].kind) {
  case StageCall::Kind::Forward:
    return Part::Forward;
  case StageCall::Kind::Backward:
    return Part::Backward;
  case StageCall::Kind::End:
  case StageCall::Kind::Update:
    break;
  }
  return Part::Update;
}

std::string Trainer::tell() {
  return health ? health->times.tell(part()) : std::string();
}

void Trainer::hear(std::span<const std::string> told) {
  if (health)
    health->hear(told);
}

double row_flops(const Metadata &metadata) {
  return metadata.json.at("training").value("flops_per_row", 0.0);
}

// What a program of several ranks comes to is the same on all of them, and so
// is what is decided here.
BatonStep Trainer::advance(const BatonStep &current, const Logits &summary) {
  if (current.call + 1 < calls.size()) {
    if (health)
      health->times.count(part());
    ++microbatch;
    return prepare();
  }
  losses.add(summary.data);
  const double loss = losses.all();
  double norm = real_at(summary.data, numbers.type, 1);
  if (!std::isfinite(loss))
    throw NonFiniteStep(step + 1, NonFiniteStep::Number::Loss);
  if (!current.outputs) {
    ++microbatch;
    return prepare();
  }
  const bool skips = !std::isfinite(norm);
  const double scaled_by = scale.value();
  if (!scale.finished(!skips))
    throw NonFiniteStep(step + 1, NonFiniteStep::Number::GradientNorm);
  Clock::time_point now = Clock::now();
  double seconds = std::chrono::duration<double>(now - started).count();
  report = {step + 1, loss, norm, learning_rate(run.schedule, step),
            double(run.batches.tokens(step)) / seconds};
  report.loss_parts = losses.parts();
  if (results && results->peak > 0)
    report.utilisation =
        report.tokens_per_second * row_flops(run.metadata) / results->peak;
  report.skipped = skips;
  if (scale.is_dynamic())
    report.loss_scale = scaled_by;
  started = now;
  if (health)
    health->times.end_step();
  ++step;
  microbatch = 0;
  losses.restart();
  if (step == end)
    return {};
  add(report);
  return prepare();
}

BatonStep Trainer::prepare() {
  if (communicator)
    communicator->set_step(step + 1);
  if (!health)
    return fill();
  health->times.go_on();
  const BatonStep next = fill();
  health->times.count(RankTimes::Part::Inputs);
  return next;
}

BatonStep Trainer::fill() {
  uint64_t place = 0;
  for (double value : run.optimizer.values({step + 1 - scale.skipped(),
                                            learning_rate(run.schedule, step),
                                            run.options.clip}))
    set_real(numbers.data, numbers.type, place++, value);
  if (!calls.empty()) {
    const StageCall &call = calls[microbatch];
    BatonStep next = {1, 0, 1, 0};
    if (call.microbatch)
      next = inputs.fill(run.batches, step, *call.microbatch,
                         /*updates=*/false, scale.value());
    next.call = static_cast<uint32_t>(microbatch);
    return next;
  }
  bool updates = microbatch + 1 == run.batches.shape().accumulation;
  return inputs.fill(run.batches, step, microbatch, updates, scale.value());
}

} // namespace baton

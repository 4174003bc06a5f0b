//===- execution.cpp - a compiled program, ready to run ------------------===//

#include "runtime/execute/execution.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace baton {

Execution::Execution(const Metadata &metadata, const ExecutionOptions &options)
    : Execution(metadata, options.communicator) {
  if (metadata.batch)
    page_count =
        options.pages ? options.pages : pages_of(metadata.batch->max_positions);
}

void Execution::drive_by(StepDriver &next_driver) {
  driver = &next_driver;
  if (metadata.batch && !next_driver.provides_inputs())
    driver = &one_sequence.emplace(next_driver,
                                   batch_capacities(metadata, page_count),
                                   step_inputs, adapter_ranks);
}

void Execution::check(const BatonStep &step) {
  if (step.rows > metadata.max_rows ||
      (metadata.batch ? step.past != 0
                      : uint64_t(step.past) + step.rows > metadata.max_seq) ||
      step.outputs > std::min(step.rows, metadata.max_outputs))
    throw std::logic_error("a step exceeds the program's limits");
#ifdef BATON_JUDGES_STEPS
  auto plan = metadata.json.find("plan");
  if (plan == metadata.json.end() || step.rows == 0)
    return;
  if (!step_judge)
    step_judge = StepJudge::make(*plan, workers());
  step_judge->judge(step);
#endif
}

BatonStep Execution::first_step(std::span<int32_t> tokens) {
  failure = nullptr;
  BatonStep step = driver->begin(tokens);
  check(step);
  if (step.rows == 0)
    driver->finish();
  else if (recorder)
    recorded = recorder->record_step(step.rows, step.past, step.outputs);
  return step;
}

bool Execution::should_stop() {
  bool stops = stop.load(std::memory_order_relaxed);
  if (communicator) {
    std::vector<std::string> told = communicator->share(
        (stops ? "1" : "0") + driver->tell(), "the end of a step");
    stops = std::ranges::any_of(
        told, [](const std::string &text) { return text[0] == '1'; });
    for (std::string &text : told)
      text.erase(0, 1);
    driver->hear(told);
  }
  stopped = stopped || stops;
  return stops;
}

BatonStep Execution::next_step(const BatonStep &current,
                               const Logits &logits) noexcept {
  BatonStep step = {};
  if (!failure) {
    try {
      if (!ends_step(current) || !should_stop()) {
        step = driver->advance(current, logits);
        check(step);
      }
    } catch (...) {
      failure = std::current_exception();
      step = {};
    }
  }
  if (step.rows == 0)
    driver->finish();
  else if (recorder)
    recorded = recorder->record_step(step.rows, step.past, step.outputs);
  return step;
}

void Execution::show(const BatonStep &step, uint32_t phase, uint32_t iteration,
                     void *const *storages) noexcept {
  if (failure)
    return;
  try {
    driver->observe(step, phase, iteration, storages);
  } catch (...) {
    failure = std::current_exception();
  }
}

void Execution::rethrow() {
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

} // namespace baton

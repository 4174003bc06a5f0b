//===- execution.cpp - a compiled program, ready to run ------------------===//

#include "runtime/decode/execution.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace baton {

Execution::Execution(const Metadata &metadata, const void *const *parameters,
                     const ExecutionOptions &options)
    : metadata(metadata), memory(metadata, options.workers),
      // The token sampled from the last position is stored, never computed on.
      tokens(size_t(metadata.max_seq) + 1), event_origin(options.event_origin),
      team(options.workers) {
  context.parameters = parameters;
  context.storages = memory.storages();
  context.events = memory.events();
  context.workers = memory.workers();
  context.tokens = tokens.data();
  context.advance = &Execution::advance;
  context.host = this;
}

Execution::~Execution() {
  stop = true;
  team.wait();
}

void Execution::start(StepDriver &next_driver, bool observed) {
  team.wait();
  if (observed && workers() != 1)
    throw std::logic_error("only one worker can be observed");
  driver = &next_driver;
  failure = nullptr;
  memory.reset_events(event_origin);
  context.border = 0;
  context.observe = observed ? &Execution::observe : nullptr;
  context.trace = recorder ? &Execution::trace : nullptr;
  context.steps[0] = driver->begin(tokens);
  context.steps[1] = {};
  check(context.steps[0]);
  if (context.steps[0].rows == 0) {
    driver->finish();
    return;
  }
  if (recorder)
    recorder->record_step(context.steps[0].rows, context.steps[0].past,
                          context.steps[0].outputs);
  team.start([this](unsigned worker) {
    baton_program(&context, worker, team.size());
  });
}

void Execution::wait() {
  team.wait();
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

void Execution::check(const BatonStep &step) const {
  if (step.rows > metadata.max_rows ||
      uint64_t(step.past) + step.rows > metadata.max_seq ||
      step.outputs > std::min(step.rows, metadata.max_outputs))
    throw std::logic_error("a step exceeds the program's limits");
}

// The callbacks are called from compiled code, through which no exception may
// pass.

void Execution::advance(BatonContext *context, const BatonStep *current,
                        BatonStep *next, const float *logits, int64_t stride,
                        int64_t vocabulary) {
  auto &self = *static_cast<Execution *>(context->host);
  BatonStep step = {};
  if (!self.failure && !self.stop.load(std::memory_order_relaxed)) {
    try {
      step = self.driver->advance(*current, {logits, stride, vocabulary});
      self.check(step);
    } catch (...) {
      self.failure = std::current_exception();
      step = {};
    }
  }
  *next = step;
  if (step.rows == 0)
    self.driver->finish();
  else if (self.recorder)
    self.recorder->record_step(step.rows, step.past, step.outputs);
}

void Execution::observe(BatonContext *context, uint32_t phase,
                        uint32_t iteration, const BatonStep *step) {
  auto &self = *static_cast<Execution *>(context->host);
  if (self.failure)
    return;
  try {
    self.driver->observe(*step, phase, iteration, context->storages);
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void Execution::trace(BatonContext *context, const BatonWorker *worker,
                      uint32_t phase, uint32_t iteration, uint64_t task,
                      uint64_t begin, uint64_t ready) {
  auto &self = *static_cast<Execution *>(context->host);
  auto index = static_cast<unsigned>(worker - context->workers);
  self.recorder->record(index, phase, iteration, task, begin, ready);
}

} // namespace baton

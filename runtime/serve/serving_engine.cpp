//===- serving_engine.cpp - the compiled program under a server -----------===//

#include "runtime/serve/serving_engine.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace baton {

/// One interval for the tasks of a phase that a worker has in a row.
static EngineTimeline timeline_of(const TraceRecorder &recorder) {
  EngineTimeline timeline;
  const std::vector<StepRecord> &steps = recorder.steps();
  if (steps.empty())
    return timeline;
  timeline.workers = static_cast<uint32_t>(recorder.records().size());
  const double rate = recorder.ticks_per_microsecond();
  auto time = [&](uint64_t stamp) {
    return double(stamp - steps.front().begin) / rate;
  };
  for (const StepRecord &step : steps)
    timeline.steps.push_back(
        {time(step.begin), time(step.begin), step.rows, {}});
  for (uint32_t worker = 0; worker < timeline.workers; ++worker) {
    const TaskRecord *before = nullptr;
    for (const TaskRecord &task : recorder.records()[worker]) {
      EngineTimeline::Step &step = timeline.steps[task.step];
      const double end = time(task.end);
      step.end = std::max(step.end, end);
      if (before && before->step == task.step && before->phase == task.phase &&
          before->iteration == task.iteration)
        step.intervals.back().end = end;
      else
        step.intervals.push_back({worker, task.phase, time(task.ready), end});
      before = &task;
    }
  }
  // Those without tasks are what the stop has left.
  std::erase_if(timeline.steps, [](const EngineTimeline::Step &step) {
    return step.intervals.empty();
  });
  return timeline;
}

ServingEngine::ServingEngine(Execution &execution, const BatchCapacities &shape,
                             BatchOptions options, std::function<void()> wake)
    : execution(execution), wake(std::move(wake)),
      driver(
          shape, execution.inputs(), std::move(options),
          {.on_result =
               [this](BatchResult &&result) {
                 const uint64_t tag = result.request.tag;
                 push({.tag = tag,
                       .result =
                           std::make_unique<BatchResult>(std::move(result))});
               },
           .on_token =
               [this](const BatchRequest &request, uint32_t choice,
                      int32_t token, std::span<const TokenLogprob> logprobs) {
                 push({.tag = request.tag,
                       .choice = choice,
                       .token = token,
                       .logprobs = {logprobs.begin(), logprobs.end()}});
               },
           .on_prompt =
               [this](const BatchRequest &request,
                      const PromptProgress &progress) {
                 push({.tag = request.tag, .prompt = progress});
               },
           .on_finish = [this] { ended = true; }}),
      thread([this] { run(); }) {}

ServingEngine::~ServingEngine() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    execution.stop = true;
  }
  changed.notify_one();
  thread.join();
}

bool ServingEngine::submit(BatchRequest &&request) {
  if (!driver.submit(std::move(request)))
    return false;
  // Whoever sees no work holds the mutex until it waits.
  {
    std::lock_guard lock(mutex);
  }
  changed.notify_one();
  return true;
}

void ServingEngine::cancel(const std::string &id) { driver.cancel(id); }

void ServingEngine::take(std::vector<EngineEvent> &taken) {
  taken.clear();
  std::lock_guard lock(mutex);
  taken.swap(events);
}

std::string ServingEngine::failure() const {
  std::lock_guard lock(mutex);
  return failed;
}

void ServingEngine::run() {
  std::string message;
  for (;;) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stopping || driver.has_work(); });
      if (stopping)
        return;
    }
    try {
      bool records = false;
      {
        std::lock_guard lock(mutex);
        records = wants_timeline;
        execution.stop = stopping;
      }
      if (records)
        run_recorded();
      else
        execution.run(driver);
      continue;
    } catch (const std::exception &problem) {
      message = problem.what();
    }
    {
      std::lock_guard lock(mutex);
      if (stopping)
        return;
      failed = message;
    }
    wake();
    return;
  }
}

/// A few steps, and then no more: records are read when no worker runs.
void ServingEngine::run_recorded() {
  TraceRecorder recorder(execution.workers(), 1 << 17);
  const uint64_t before = driver.counts().steps;
  ended = false;
  execution.record(&recorder);
  try {
    execution.start(driver);
    while (!ended && driver.counts().steps < before + recorded_steps)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    execution.stop = true;
    execution.wait();
  } catch (...) {
    execution.record(nullptr);
    throw;
  }
  execution.record(nullptr);
  auto made = std::make_shared<EngineTimeline>(timeline_of(recorder));
  std::lock_guard lock(mutex);
  latest = std::move(made);
  wants_timeline = false;
  latest_time = Clock::now();
}

std::shared_ptr<const EngineTimeline> ServingEngine::timeline() {
  std::lock_guard lock(mutex);
  if (!wants_timeline && Clock::now() - latest_time > std::chrono::seconds(1) &&
      driver.has_work() && !stopping && failed.empty()) {
    wants_timeline = true;
    execution.stop = true;
  }
  return latest;
}

void ServingEngine::push(EngineEvent &&event) {
  bool is_first = false;
  {
    std::lock_guard lock(mutex);
    is_first = events.empty();
    events.push_back(std::move(event));
  }
  if (is_first)
    wake();
}

} // namespace baton

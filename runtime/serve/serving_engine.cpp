//===- serving_engine.cpp - the compiled program under a server -----------===//

#include "runtime/serve/serving_engine.h"

#include <exception>
#include <utility>

namespace baton {

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
               }}),
      thread([this] { run(); }) {}

ServingEngine::~ServingEngine() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  execution.stop = true;
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

//===- ServingSimulatorTest.cpp - the simulator against the runtime -------===//
//
// Its policy is that of BatchDriver: both do the same requests here, and each
// step is compared. Its times are those of queues that are known in closed
// form.
//
//===----------------------------------------------------------------------===//

#include "tools/plan/serving_simulator.h"

#include "runtime/batch/batch_driver.h"
#include "runtime/error.h"
#include "runtime/weights/hash.h"

#include <gtest/gtest.h>

#include <cmath>

namespace baton::plan {
namespace {

/// Steps that take longer with more rows, none as long as another.
class ToyTimes : public StepTimes {
public:
  explicit ToyTimes(double step = 1, double row = .0137)
      : step(step), row(row) {}
  double seconds(const StepShape &shape) const override {
    return step + row * (shape.outputs + shape.rows);
  }

private:
  const double step, row;
};

struct Step {
  uint32_t rows, outputs;
  bool operator==(const Step &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Step &step) {
  return out << step.rows << "/" << step.outputs;
}

/// The runtime's driver, with requests that come when the trace says.
std::vector<Step> run_driver(const Trace &trace, const EngineLimits &limits,
                             const StepTimes &times, BatchCounts &counts) {
  const BatchCapacities shape = {
      .max_rows = uint32_t(limits.max_rows),
      .max_outputs = uint32_t(limits.max_outputs),
      .max_sequences = uint32_t(limits.max_sequences),
      .max_positions = uint32_t(limits.max_positions),
      .max_changes = 8,
      .pages = uint64_t(limits.pages),
      .vocabulary = 1u << 30};
  std::vector<int32_t> rows[4];
  for (auto &row : rows)
    row.resize(shape.max_rows);
  std::vector<int32_t> pages(shape.max_sequences * shape.line_entries());
  std::vector<BatonSampling> sampling(shape.max_outputs);
  std::vector<BatonChange> changes(shape.max_sequences * shape.max_changes);
  std::vector<BatonDraw> draws(shape.max_outputs);
  const BatchInputs inputs = {rows[0].data(), rows[1].data(), rows[2].data(),
                              rows[3].data(), pages.data(),   sampling.data(),
                              changes.data(), nullptr,        draws.data()};
  BatchDriver driver(shape, inputs,
                     {.prefill_chunk = uint32_t(limits.prefill_chunk),
                      .prefix_cache = limits.prefix_cache,
                      .capacity = trace.size()});
  int32_t token = 1 << 20;
  size_t next = 0;
  double now = trace[0].arrival;
  auto submit = [&] {
    for (; next < trace.size() && trace[next].arrival <= now; ++next) {
      BatchRequest request;
      request.id = std::to_string(next);
      for (int64_t at = 0; at < trace[next].prompt; ++at)
        request.prompt.push_back(
            at < trace[next].prefix_length
                ? int32_t(mix(uint64_t(trace[next].prefix * 10000 + at + 1)) %
                          1000000)
                : token++);
      request.max_new_tokens = uint64_t(trace[next].answer);
      EXPECT_TRUE(driver.submit(std::move(request)));
    }
  };
  std::vector<Step> steps;
  while (next < trace.size()) {
    now = std::max(now, trace[next].arrival);
    submit();
    BatonStep step = driver.begin({});
    while (step.rows) {
      steps.push_back({step.rows, step.outputs});
      StepShape holds;
      holds.outputs = step.outputs;
      holds.rows = step.rows - step.outputs;
      now += times.seconds(holds);
      for (uint32_t row = 0; row < step.outputs; ++row)
        draws[row].drawn = {token++, 0};
      submit();
      step = driver.advance(step, {});
    }
  }
  counts = driver.counts();
  return steps;
}

void expect_same_steps(const Trace &trace, const EngineLimits &limits) {
  const ToyTimes times;
  BatchCounts counts;
  const std::vector<Step> expected = run_driver(trace, limits, times, counts);
  std::vector<Step> steps;
  SimulationOptions options;
  options.limits = limits;
  options.on_step = [&](const PlannedStep &step) {
    steps.push_back({uint32_t(step.shape.rows + step.shape.outputs),
                     uint32_t(step.shape.outputs)});
  };
  const Simulation played = simulate(trace, times, options);
  EXPECT_EQ(steps, expected);
  EXPECT_EQ(played.steps, int64_t(counts.steps));
  EXPECT_EQ(played.rows, int64_t(counts.rows));
  EXPECT_EQ(played.prompt_tokens, int64_t(counts.prompt_tokens));
  EXPECT_EQ(played.cached_tokens, int64_t(counts.cached_tokens));
  EXPECT_EQ(played.generated_tokens, int64_t(counts.generated_tokens));
  EXPECT_EQ(played.preemptions, int64_t(counts.preemptions));
  EXPECT_EQ(played.recomputed, int64_t(counts.recomputed));
}

Trace drawn(double rate, int64_t prefixes, uint64_t seed) {
  TraceOptions options;
  options.requests = 120;
  options.rate = rate;
  options.prompt = {120, .8, 600};
  options.answer = {60, .8, 300};
  options.prefixes = prefixes;
  options.prefix_length = prefixes ? 200 : 0;
  options.seed = seed;
  return make_trace(options);
}

constexpr EngineLimits usual = {.max_sequences = 16,
                                .max_rows = 64,
                                .max_outputs = 16,
                                .max_positions = 1200,
                                .pages = 300};

TEST(ServingSimulator, MakesTheStepsOfTheRuntime) {
  uint64_t seed = 0;
  for (double rate : {0.0, .02, .1, 1.0})
    for (int64_t prefixes : {0, 3}) {
      SCOPED_TRACE(testing::Message() << rate << " " << prefixes);
      expect_same_steps(drawn(rate, prefixes, ++seed), usual);
      EngineLimits other = usual;
      other.prefix_cache = false;
      other.prefill_chunk = 20;
      expect_same_steps(drawn(rate, prefixes, ++seed), other);
    }
}

TEST(ServingSimulator, RunsOutOfPagesAsTheRuntime) {
  for (int64_t pages : {20, 33, 60})
    for (int64_t prefixes : {0, 2})
      for (uint64_t seed : {7, 8, 9}) {
        SCOPED_TRACE(testing::Message() << pages << " " << prefixes);
        EngineLimits limits = usual;
        limits.pages = pages;
        expect_same_steps(drawn(.05, prefixes, seed), limits);
      }
  // It comes to that.
  EngineLimits limits = usual;
  limits.pages = 20;
  SimulationOptions options;
  options.limits = limits;
  const Simulation played = simulate(drawn(0, 0, 7), ToyTimes(), options);
  EXPECT_GT(played.preemptions, 0);
  EXPECT_GT(played.recomputed, 0);
}

TEST(ServingSimulator, TakesTurnsAsTheRuntime) {
  EngineLimits limits = usual;
  limits.max_outputs = 5;
  expect_same_steps(drawn(0, 0, 3), limits);
  limits.max_rows = 4;
  expect_same_steps(drawn(.1, 2, 4), limits);
}

/// Requests of one step each, and one at a time.
Simulation queue(double rate, double service, int64_t requests) {
  TraceOptions options;
  options.requests = requests;
  options.rate = rate;
  options.seed = 11;
  SimulationOptions wanted;
  wanted.limits = {.max_sequences = 1,
                   .max_rows = 8,
                   .max_outputs = 1,
                   .max_positions = 8,
                   .pages = 1};
  return simulate(make_trace(options), ToyTimes(service, 0), wanted);
}

/// Pollaczek and Khinchine: the mean wait of M/D/1 is half of r / (1 - r)
/// services, where r is the part of the time that the server is busy.
TEST(ServingSimulator, WaitsAsLongAsAQueueOfFixedServices) {
  for (double load : {.3, .6, .8}) {
    const double service = .01;
    const Simulation played = queue(load / service, service, 200000);
    double mean = 0;
    for (const ServedTimes &request : played.requests)
      mean += request.to_first() / double(played.requests.size());
    const double expected = service * (1 + load / (1 - load) / 2);
    EXPECT_NEAR(mean / expected, 1, .03) << load;
    EXPECT_NEAR(played.busy / played.seconds / load, 1, .02) << load;
  }
}

TEST(ServingSimulator, ATextAloneTakesItsSteps) {
  Trace trace = {{5, 100, 11, 0, 0}};
  SimulationOptions options;
  options.limits = usual;
  options.step_overhead = .5;
  const Simulation played = simulate(trace, ToyTimes(1, 0), options);
  // Two chunks of 64 and 36 rows, the second of which draws the first token.
  EXPECT_DOUBLE_EQ(played.requests[0].to_first(), 3);
  EXPECT_DOUBLE_EQ(played.requests[0].between(), 1.5);
  EXPECT_EQ(played.steps, 12);
  EXPECT_DOUBLE_EQ(played.mean_running, 1);
}

/// A guess and all before it right with probability a: of k guesses a step
/// makes 1 + a + ... + a^k tokens.
TEST(ServingSimulator, GuessesMakeTheTokensThatTheyShould) {
  Trace trace = {{0, 4, 4000, 0, 0}};
  SimulationOptions options;
  options.limits = usual;
  options.limits.max_positions = 8000;
  for (double acceptance : {.3, .7, 1.0}) {
    options.guesses = 3;
    options.acceptance = acceptance;
    // Rows cost nothing: all three are worth it.
    const Simulation played = simulate(trace, ToyTimes(1, 0), options);
    double expected = 1;
    for (int power = 1; power <= 3; ++power)
      expected += std::pow(acceptance, power);
    EXPECT_NEAR(4000 / double(played.steps) / expected, 1, .05) << acceptance;
    EXPECT_EQ(played.generated_tokens, 4000);
    EXPECT_LE(played.right_guesses, played.guessed_tokens);
    // Where a row costs as much as a step nothing is gained.
    EXPECT_EQ(simulate(trace, ToyTimes(0, 1), options).guessed_tokens, 0);
  }
}

TEST(ServingSimulator, ImportedPromptsTakeNoSteps) {
  Trace trace = {{0, 300, 5, 0, 0}, {0, 1, 1, 0, 0}};
  SimulationOptions options;
  options.limits = usual;
  options.imported = true;
  const Simulation played = simulate(trace, ToyTimes(1, 0), options);
  EXPECT_EQ(played.steps, 4);
  EXPECT_EQ(played.rows, 4);
  EXPECT_EQ(played.requests[0].tokens, 5);
  EXPECT_DOUBLE_EQ(played.requests[0].last_token, 4);
  EXPECT_EQ(played.requests[1].tokens, 1);
}

TEST(ServingSimulator, NamesTheLimitThatARequestIsAbove) {
  SimulationOptions options;
  options.limits = usual;
  auto message = [&](int64_t prompt, int64_t answer) -> std::string {
    try {
      simulate({{0, prompt, answer, 0, 0}}, ToyTimes(), options);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(1000, 201), "");
  EXPECT_NE(message(1000, 202).find("longest sequence"), std::string::npos);
  options.limits.pages = 3;
  EXPECT_NE(message(190, 10).find("more pages"), std::string::npos);
}

} // namespace
} // namespace baton::plan

//===- bench_batches.cpp - speed of many sequences at once ---------------===//
//
// So many sequences with prompts of their own decode together; of the steps in
// which all of them get a token, the best window of consecutive ones counts, as
// for one sequence (bench_command.cpp). A step reads all weights and what its
// rows see, and multiplies for each row: the limit is the longer of the two.
// A figure is only shown beside the verdict that each sequence has the tokens
// that it has alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/bench_batches.h"

#include "runtime/batch/batch_driver.h"
#include "runtime/decode/generation.h"
#include "runtime/error.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/main/adapters.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/offload_setup.h"
#include "runtime/main/output.h"
#include "runtime/main/table.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <utility>

namespace baton {

namespace {

using StepClock = std::chrono::steady_clock;

constexpr uint64_t window_steps = 8;
/// Of the sequences, so many are compared with themselves alone.
constexpr size_t compared = 4;

/// Passes a driver's steps on, and notes when each had come, and how long it
/// took to decide the next one.
class TimedSteps : public StepDriver {
public:
  struct Step {
    uint32_t rows, outputs;
    StepClock::time_point end, decided;
  };

  explicit TimedSteps(BatchDriver &driver) : driver(driver) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    start = StepClock::now();
    return driver.begin(tokens);
  }
  BatonStep advance(const BatonStep &current, const Logits &logits) override {
    steps.push_back({current.rows, current.outputs, StepClock::now(), {}});
    const BatonStep next = driver.advance(current, logits);
    steps.back().decided = StepClock::now();
    return next;
  }
  bool provides_inputs() const override { return true; }
  bool needs_logits() const override { return driver.needs_logits(); }
  void finish() noexcept override { driver.finish(); }

  StepClock::time_point start;
  std::vector<Step> steps;

private:
  BatchDriver &driver;
};

double seconds_from(StepClock::time_point begin, StepClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Tokens that the first sequences of so many have when the last begin to
/// decode: prompts take turns beside those that do.
uint64_t head_start(const Metadata &metadata, const BenchOptions &options,
                    uint64_t sequences) {
  const uint64_t left = metadata.max_rows > sequences
                            ? metadata.max_rows - sequences
                            : metadata.max_rows;
  return sequences * options.prefill / left + 1;
}

/// Any tokens do; no two sequences begin alike.
BatchRequest request_of(uint64_t sequence, const BenchOptions &options,
                        uint64_t vocabulary, uint64_t more) {
  BatchRequest request;
  request.id = std::to_string(sequence);
  for (uint64_t position = 0; position < options.prefill; ++position)
    request.prompt.push_back(static_cast<int32_t>(
        mix(sequence * options.prefill + position + 1) % vocabulary));
  request.max_new_tokens = options.decode + 1 + more;
  request.tag = sequence;
  return request;
}

struct BatchSpeed {
  uint64_t sequences = 0;
  /// Of all sequences together.
  double prefill_tokens_per_second = 0;
  /// Of the best window, and of all steps in which each had a row.
  double step_seconds = 0, mean_step_seconds = 0;
  /// The median of these: tokens are taken, the next step is decided and
  /// checked, while workers wait.
  double host_seconds = 0;
  /// Which the middle of the best window sees, of each sequence.
  double positions = 0;
  std::vector<std::vector<int32_t>> tokens;
};

using Adapters = std::vector<std::shared_ptr<ServedAdapter>>;

/// Sequences have adapters in turn.
std::shared_ptr<ServedAdapter> adapter_of(uint64_t sequence,
                                          const Adapters &adapters) {
  return adapters.empty() ? nullptr : adapters[sequence % adapters.size()];
}

/// Of a step, the median; there is one at least.
double host_seconds(std::span<const TimedSteps::Step> steps) {
  std::vector<double> seconds;
  for (const TimedSteps::Step &step : steps)
    seconds.push_back(seconds_from(step.end, step.decided));
  auto middle = seconds.begin() + ptrdiff_t(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

BatchSpeed run_batch(const Metadata &metadata, const BenchOptions &options,
                     const Adapters &adapters, Execution &execution,
                     uint64_t sequences, uint32_t chunk) {
  BatchSpeed speed;
  speed.sequences = sequences;
  speed.tokens.resize(sequences);
  BatchDriver driver(batch_capacities(metadata, execution.pages()),
                     execution.inputs(),
                     {.prefill_chunk = chunk,
                      .prefix_cache = false,
                      .capacity = sequences,
                      .write_storage = storage_writer(execution)},
                     {.on_result = [&](BatchResult &&result) {
                       speed.tokens[result.request.tag] =
                           std::move(result.choices.front().tokens);
                     }});
  const uint64_t more = head_start(metadata, options, sequences);
  for (uint64_t sequence = 0; sequence < sequences; ++sequence) {
    BatchRequest request =
        request_of(sequence, options, metadata.vocabulary, more);
    request.adapter = adapter_of(sequence, adapters);
    if (!driver.submit(std::move(request)))
      throw std::logic_error("a batch takes fewer requests than sequences");
  }
  driver.close();
  TimedSteps timed(driver);
  execution.run(timed);

  const std::vector<TimedSteps::Step> &steps = timed.steps;
  auto decodes = [&](const TimedSteps::Step &step) {
    return step.rows == sequences && step.outputs == sequences;
  };
  size_t first = 0;
  while (first < steps.size() && !decodes(steps[first]))
    ++first;
  size_t last = first;
  while (last < steps.size() && decodes(steps[last]))
    ++last;
  // The first of them may hold the end of a prompt of one token.
  if (last < first + 2)
    throw Error("bench: --batch " + std::to_string(sequences) +
                ": no two steps of --decode " + std::to_string(options.decode) +
                " have all sequences; decode more");
  speed.prefill_tokens_per_second =
      double(sequences * options.prefill) /
      seconds_from(timed.start, steps[first > 0 ? first - 1 : first].end);
  const size_t count = last - first - 1;
  const size_t window = std::min<size_t>(window_steps, count);
  speed.mean_step_seconds =
      seconds_from(steps[first].end, steps[last - 1].end) / double(count);
  speed.host_seconds = host_seconds(std::span(steps).subspan(first, count));
  speed.step_seconds = speed.mean_step_seconds;
  for (size_t begin = first; begin + window < last; ++begin) {
    const double seconds =
        seconds_from(steps[begin].end, steps[begin + window].end) /
        double(window);
    if (seconds > speed.step_seconds)
      continue;
    speed.step_seconds = seconds;
    speed.positions = double(options.prefill) + double(more) / 2 +
                      double(begin - first) + double(window) / 2 + 1;
  }
  return speed;
}

/// Nothing if the first sequences have the tokens that they have alone.
std::string find_difference(const Metadata &metadata,
                            const BenchOptions &options,
                            const Adapters &adapters, Execution &execution,
                            const BatchSpeed &speed, uint32_t chunk) {
  for (size_t i = 0; i < std::min<size_t>(compared, speed.tokens.size()); ++i) {
    GenerationRequest request;
    const uint64_t more = head_start(metadata, options, speed.sequences);
    BatchRequest same = request_of(i, options, metadata.vocabulary, more);
    request.prompt = std::move(same.prompt);
    request.max_new_tokens = same.max_new_tokens;
    request.prefill_chunk = chunk;
    Generation alone(request);
    LoneAdapter(adapter_of(i, adapters)).load(execution);
    execution.run(alone);
    if (alone.new_tokens() != speed.tokens[i])
      return "sequence " + std::to_string(i) +
             " has other tokens than it has alone";
  }
  return "";
}

void check_options(const Metadata &metadata, const BenchOptions &options) {
  for (auto [flag, is_given] :
       {std::pair("--profile", options.profile),
        std::pair("--steps", options.steps > 0),
        std::pair("--logits", options.logits.has_value()),
        std::pair("--trace", options.run.trace.has_value())})
    if (is_given)
      throw Error(std::string("bench: ") + flag +
                  " is of one sequence; leave it or --batch out");
  for (uint64_t size : options.batch)
    if (size > metadata.batch->max_sequences)
      throw Error("bench: --batch: " + std::to_string(size) +
                  " sequences are more than the program's " +
                  std::to_string(metadata.batch->max_sequences) +
                  "; compile with a larger --max-batch");
}

/// The fractions of each limit that a step takes, if they are known.
struct Fractions {
  std::optional<double> bytes, flops;

  Fractions(const Metadata &metadata, const MachineLimits &limits,
            const BatchSpeed &speed) {
    if (!metadata.costs || limits.bandwidth == 0)
      return;
    const Costs &costs = *metadata.costs;
    const auto size = double(speed.sequences);
    bytes = (costs.weight_bytes(size) +
             size * costs.kv_bytes_per_position * speed.positions) /
            limits.bandwidth / speed.step_seconds;
    double of_row = costs.flops_per_token;
    for (auto [window, flops_per_position] : costs.attention)
      of_row += flops_per_position *
                (window ? std::min(double(window), speed.positions)
                        : speed.positions);
    flops = size * of_row / limits.arithmetic / speed.step_seconds;
  }
};

/// Pages for so many sequences of the longest that the options ask for.
uint64_t pages_for(const Metadata &metadata, const BenchOptions &options,
                   uint64_t sequences) {
  const uint64_t positions = options.prefill + options.decode + 1 +
                             head_start(metadata, options, sequences);
  if (positions > metadata.max_seq)
    throw Error("bench: --prefill " + std::to_string(options.prefill) +
                " and --decode " + std::to_string(options.decode) + " of " +
                std::to_string(sequences) + " sequences take " +
                std::to_string(positions) +
                " positions each, more than the program's " +
                std::to_string(metadata.max_seq));
  // One more for each sequence: what it does not need is put aside for others.
  return std::max(sequences * (pages_of(positions) + 1),
                  pages_of(metadata.batch->max_positions));
}

struct BatchMeasurements {
  std::vector<BatchSpeed> speeds;
  /// Zeros where nobody asks, or a device computes.
  MachineLimits limits;
  unsigned workers = 0;
  /// Empty if there is none.
  std::string difference;
  /// What --memory came to; null without.
  nlohmann::ordered_json memory;
  std::string memory_text;
};

BatchMeasurements measure_batches(const Metadata &metadata,
                                  const BenchOptions &options) {
  const uint32_t chunk = chosen_prefill_chunk(options.run, metadata);
  const DecodeRanks ranks(metadata, options);
  const uint64_t pages =
      pages_for(metadata, options, std::ranges::max(options.batch));
  const unsigned workers = program_workers(options.run, metadata);
  const OffloadSetup offload =
      OffloadSetup::make(metadata, with_usual_memory(metadata, options.offload),
                         workers, pages, ".");
  const RankParameters parameters =
      options.run.weights
          ? ranks.load_weights(options.run, offload.weights)
          : ranks.random_weights(chosen_workers(options.run), offload.weights);
  std::unique_ptr<Execution> execution = ranks.make_execution(
      parameters, options.run, workers, pages, offload.pages);
  const Adapters adapters = read_adapters(metadata, options.adapters)->all();
  BatchMeasurements measured;
  measured.workers = execution->workers();
  measured.limits = limits_of(metadata);
  auto measure_machine = [&] {
    // That takes memory of its own.
    if (metadata.device.is_null() && !options.brief && !offload.is_wanted())
      measured.limits.measure(measured.workers, parameters.front().packed());
  };
  for (uint64_t size : options.batch) {
    if (!options.run.quiet)
      std::fprintf(stderr, "measuring %llu sequence%s\n",
                   static_cast<unsigned long long>(size), size == 1 ? "" : "s");
    BatchSpeed best;
    for (uint64_t run = 0; run < std::max<uint64_t>(options.repeat, 1); ++run) {
      measure_machine();
      BatchSpeed speed =
          run_batch(metadata, options, adapters, *execution, size, chunk);
      if (run == 0 || speed.step_seconds < best.step_seconds) {
        speed.prefill_tokens_per_second = std::max(
            speed.prefill_tokens_per_second, best.prefill_tokens_per_second);
        best = std::move(speed);
      }
    }
    if (measured.difference.empty())
      measured.difference =
          find_difference(metadata, options, adapters, *execution, best, chunk);
    measured.speeds.push_back(std::move(best));
  }
  measure_machine();
  if (offload.is_wanted()) {
    measured.memory = offload.json(*execution);
    measured.memory_text = offload.text(*execution);
  }
  return measured;
}

std::string verdict_of(const BatchMeasurements &measured) {
  return measured.difference.empty()
             ? "sequences have the tokens that they have alone"
             : measured.difference;
}

nlohmann::ordered_json json_of(const Metadata &metadata,
                               const BenchOptions &options,
                               const BatchMeasurements &measured) {
  auto optional_json = [](const std::optional<double> &value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  auto results = nlohmann::ordered_json::array();
  for (const BatchSpeed &speed : measured.speeds) {
    const Fractions fractions(metadata, measured.limits, speed);
    const auto size = double(speed.sequences);
    results.push_back(
        {{"sequences", speed.sequences},
         {"prefill_tokens_per_s", speed.prefill_tokens_per_second},
         {"decode_tokens_per_s", size / speed.step_seconds},
         {"decode_mean_tokens_per_s", size / speed.mean_step_seconds},
         {"step_s", speed.step_seconds},
         {"host_s", speed.host_seconds},
         {"read_bandwidth_fraction", optional_json(fractions.bytes)},
         {"fma_fraction", optional_json(fractions.flops)}});
  }
  nlohmann::ordered_json json = {{"batches", results},
                                 {"prefill", options.prefill},
                                 {"decode", options.decode},
                                 {"workers", measured.workers},
                                 {"read_bandwidth", measured.limits.bandwidth},
                                 {"fma_peak", measured.limits.arithmetic},
                                 {"verdict", verdict_of(measured)}};
  if (!measured.memory.is_null())
    json["memory"] = measured.memory;
  return json;
}

std::string text_of(const Metadata &metadata,
                    const BatchMeasurements &measured) {
  Table table({0, 1, 2, 3, 4, 5});
  table.add({"sequences", "prompts", "decoding", "a step", "host", "", "of"});
  auto per_second = [](double tokens) {
    return fixed_text(tokens, 1) + " tokens/s";
  };
  for (const BatchSpeed &speed : measured.speeds) {
    const auto [bytes, flops] = Fractions(metadata, measured.limits, speed);
    table.add({std::to_string(speed.sequences),
               per_second(speed.prefill_tokens_per_second),
               per_second(double(speed.sequences) / speed.step_seconds),
               fixed_text(speed.step_seconds * 1e3, 2) + " ms",
               fixed_text(speed.host_seconds * 1e6, 0) + " us",
               bytes ? percent_text(std::max(*bytes, *flops)) : "",
               !bytes            ? ""
               : *bytes > *flops ? "read bandwidth"
                                 : measured.limits.name_of_arithmetic()});
  }
  std::string text = table.text(0);
  if (measured.limits.bandwidth > 0)
    text += "machine: " + fixed_text(measured.limits.arithmetic / 1e9, 1) +
            " GFLOP/s, " + fixed_text(measured.limits.bandwidth / 1e9, 1) +
            " GB/s read\n";
  return text + measured.memory_text + "verdict: " + verdict_of(measured) +
         "\n";
}

} // namespace

void bench_batches(const Metadata &metadata, const BenchOptions &options) {
  check_options(metadata, options);
  const BatchMeasurements measured = measure_batches(metadata, options);
  print(options.json ? json_of(metadata, options, measured).dump() + "\n"
                     : text_of(metadata, measured));
  if (!measured.difference.empty())
    throw Error("bench: " + measured.difference);
}

} // namespace baton

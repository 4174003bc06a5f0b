//===- bench_command.cpp - speed, against what the machine can do --------===//
//
// Cores of shared machines vanish for seconds at a time. So prefill is judged
// by the best of several runs and decode by the best window of consecutive
// tokens in any of them. Where even these are longer than the peace between two
// disturbances, layers are not: a traced run tells what steps of undisturbed
// layers would take. The machine's own limits are the best of short windows. A
// figure is only shown beside the verdict that the result is right: the same
// prompt, run by one worker, gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/commands.h"

#include "runtime/comm/message_passing.h"
#include "runtime/decode/generation.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/execute/npy.h"
#include "runtime/main/batch_commands.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/decoding_forecast.h"
#include "runtime/main/output.h"
#include "runtime/main/ranks.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/table.h"
#include "runtime/main/weights.h"
#include "runtime/trace/phase_times.h"
#include "runtime/trace/undisturbed.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include <sys/resource.h>

namespace baton {

namespace {

using Clock = Generation::Clock;

/// Unless told otherwise, runs repeat while they take no longer than this all
/// together.
constexpr double enough_seconds = 15;
constexpr uint64_t most_runs = 8;
constexpr uint64_t window_tokens = 8;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Any tokens do; these are the same on every machine.
std::vector<int32_t> bench_prompt(uint64_t size, uint64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (uint64_t position = 0; position < size; ++position)
    tokens.push_back(static_cast<int32_t>(mix(position + 1) % vocabulary));
  return tokens;
}

GenerationRequest bench_request(const Metadata &metadata, uint64_t prefill,
                                uint64_t decode, uint32_t chunk) {
  GenerationRequest request;
  request.prompt = bench_prompt(prefill, metadata.vocabulary);
  // The first new token comes out of the prompt's last step.
  request.max_new_tokens = decode + 1;
  request.prefill_chunk = chunk;
  return request;
}

struct Speed {
  uint64_t runs = 0;
  uint64_t window = 0;
  double prefill_tokens_per_second = 0;
  double decode_tokens_per_second = 0;
  double decode_mean_tokens_per_second = 0;
  /// Positions attended to by the middle token of the best window.
  double decode_positions = 0;
  /// Of prompts and of tokens, the first `most_samples` of each: a program may
  /// run for days.
  std::vector<double> prefill_seconds, decode_seconds;
  static constexpr size_t most_samples = 4096;
};

/// As often as `repeat` says, 0 as time allows. `between` is called after every
/// run.
template <typename Between>
Speed measure(Execution &execution, const GenerationRequest &request,
              uint64_t repeat, Between between) {
  uint64_t prefill = request.prompt.size();
  uint64_t decode = request.max_new_tokens - 1;
  Speed speed;
  speed.window = std::min(window_tokens, decode);
  double decode_seconds = 0;
  Clock::time_point start = Clock::now();
  double longest = 0;
  do {
    Clock::time_point run_start = Clock::now();
    Generation generation(request);
    execution.run(generation);
    ++speed.runs;
    if (speed.prefill_seconds.size() < Speed::most_samples)
      speed.prefill_seconds.push_back(generation.prefill_seconds());
    speed.prefill_tokens_per_second =
        std::max(speed.prefill_tokens_per_second,
                 double(prefill) / generation.prefill_seconds());
    decode_seconds += generation.decode_seconds();
    const auto &times = generation.token_times();
    for (uint64_t token = 1; token < times.size() &&
                             speed.decode_seconds.size() < Speed::most_samples;
         ++token)
      speed.decode_seconds.push_back(
          seconds_between(times[token - 1], times[token]));
    for (uint64_t first = 0; first + speed.window < times.size(); ++first) {
      double rate = double(speed.window) /
                    seconds_between(times[first], times[first + speed.window]);
      if (rate > speed.decode_tokens_per_second) {
        speed.decode_tokens_per_second = rate;
        speed.decode_positions =
            double(prefill + first) + double(speed.window + 1) / 2;
      }
    }
    between();
    longest = std::max(longest, seconds_between(run_start, Clock::now()));
  } while (repeat ? speed.runs < repeat
                  : speed.runs < most_runs &&
                        seconds_between(start, Clock::now()) + longest <
                            enough_seconds);
  speed.decode_mean_tokens_per_second =
      double(decode * speed.runs) / decode_seconds;
  return speed;
}

/// The greedy tokens and all their logits.
struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<float> logits;

  bool operator==(const Outcome &other) const {
    return tokens == other.tokens && logits.size() == other.logits.size() &&
           std::memcmp(logits.data(), other.logits.data(),
                       logits.size() * sizeof(float)) == 0;
  }
};

Outcome outcome_of(Execution &execution, const GenerationRequest &request) {
  Outcome outcome;
  Generation generation(
      request, {.on_logits = [&](uint64_t, std::span<const float> logits) {
        outcome.logits.insert(outcome.logits.end(), logits.begin(),
                              logits.end());
      }});
  execution.run(generation);
  outcome.tokens = generation.new_tokens();
  return outcome;
}

/// Compares with one worker, or, when there is no more than that, with a second
/// run. Throws Error when the bits differ: no speed is worth showing then.
std::string verdict(Execution &execution, Execution &single,
                    const GenerationRequest &request) {
  if (outcome_of(execution, request) != outcome_of(single, request))
    throw Error("bench: " + std::to_string(execution.workers()) +
                " workers do not compute the same bits as 1 worker");
  return execution.workers() == 1 ? "bit-identical when repeated"
                                  : "bit-identical with 1 worker";
}

/// Of the prompt's last position and of each token decoded, in order.
void write_logits(const std::string &path, const Metadata &metadata,
                  Execution &execution, const GenerationRequest &request) {
  Outcome outcome = outcome_of(execution, request);
  NpyWriter array(path, NpyType::F32, {metadata.vocabulary});
  array.append(outcome.logits.data(),
               outcome.logits.size() / metadata.vocabulary);
  array.publish();
}

/// Each phase's segment, numbered in the program's order.
std::vector<uint32_t> segments_of_phases(const Metadata &metadata) {
  std::map<std::string, uint32_t> numbers;
  std::vector<uint32_t> segments;
  for (const PhaseDescription &phase : metadata.phases)
    segments.push_back(
        numbers.emplace(phase.segment, numbers.size()).first->second);
  return segments;
}

TraceRecorder traced_run(Execution &execution, const GenerationRequest &request,
                         uint64_t runs = 1) {
  TraceRecorder recorder(execution.workers(), /*capacity=*/1 << 23);
  execution.record(&recorder);
  for (uint64_t run = 0; run < runs; ++run) {
    Generation generation(request);
    execution.run(generation);
  }
  execution.record(nullptr);
  return recorder;
}

/// A generation that notes how long every phase took.
class Profile : public Generation {
public:
  Profile(const GenerationRequest &request, size_t phases)
      : Generation(request), times(phases),
        prefill_size(request.prompt.size()) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    BatonStep step = Generation::begin(tokens);
    last = Clock::now();
    return step;
  }
  void observe(const BatonStep &step, uint32_t phase, uint32_t,
               void *const *) override {
    Clock::time_point now = Clock::now();
    auto &seconds = step.past < prefill_size ? times.prefill : times.decode;
    seconds[phase] += seconds_between(last, now);
    last = Clock::now();
  }

  PhaseTimes times;

private:
  uint64_t prefill_size;
  Clock::time_point last;
};

/// With one worker, as the host sees phases end. A device is busy only with all
/// its workers, and tells by itself when their tasks ran.
PhaseTimes measure_phases(const Metadata &metadata, Execution &execution,
                          Execution &single, const GenerationRequest &request) {
  if (metadata.device.is_null()) {
    Profile profile(request, metadata.phases.size());
    single.run(profile, /*observed=*/true);
    return profile.times;
  }
  TraceRecorder recorder = traced_run(execution, request);
  if (recorder.dropped())
    throw Error("bench: --profile: the run has more tasks than a trace keeps; "
                "take a smaller --prefill or --decode");
  return phase_times(recorder, segments_of_phases(metadata),
                     request.prompt.size());
}

/// Steps of one run after another.
std::vector<StepTimes> measure_steps(const Metadata &metadata,
                                     Execution &execution,
                                     const GenerationRequest &request,
                                     uint64_t runs) {
  TraceRecorder recorder = traced_run(execution, request, runs);
  if (recorder.dropped())
    throw Error("bench: --steps: the runs have more tasks than a trace keeps; "
                "take fewer of them, or a smaller --prefill or --decode");
  return step_times(recorder, segments_of_phases(metadata));
}

double sum(const std::vector<double> &values) {
  double total = 0;
  for (double value : values)
    total += value;
  return total;
}

std::string profile_text(const Metadata &metadata, const PhaseTimes &profile,
                         unsigned workers) {
  double prefill = sum(profile.prefill);
  double decode = sum(profile.decode);
  Table table({1, 2, 3, 4});
  table.add({"phase", "prefill", "", "decode", ""});
  auto row = [&](const std::string &name, double prefill_seconds,
                 double decode_seconds) {
    table.add({name, fixed_text(prefill_seconds * 1e3, 2) + " ms",
               percent_text(prefill > 0 ? prefill_seconds / prefill : 0),
               fixed_text(decode_seconds * 1e3, 2) + " ms",
               percent_text(decode > 0 ? decode_seconds / decode : 0)});
  };
  for (size_t phase = 0; phase < metadata.phases.size(); ++phase)
    row(metadata.phases[phase].name, profile.prefill[phase],
        profile.decode[phase]);
  row("total", prefill, decode);
  return "where the time goes, with " + std::to_string(workers) +
         (workers == 1 ? " worker\n" : " workers\n") + table.text(2);
}

nlohmann::ordered_json profile_json(const Metadata &metadata,
                                    const PhaseTimes &profile) {
  auto list = nlohmann::ordered_json::array();
  for (size_t phase = 0; phase < metadata.phases.size(); ++phase)
    list.push_back({{"phase", metadata.phases[phase].name},
                    {"prefill_s", profile.prefill[phase]},
                    {"decode_s", profile.decode[phase]}});
  return list;
}

nlohmann::ordered_json steps_json(const std::vector<StepTimes> &steps) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StepTimes &step : steps) {
    nlohmann::ordered_json json = {{"rows", step.step.rows},
                                   {"past", step.step.past},
                                   {"outputs", step.step.outputs},
                                   {"seconds", step.seconds}};
    json["border_s"] = step.border ? nlohmann::ordered_json(*step.border)
                                   : nlohmann::ordered_json();
    json["phases_s"] = step.phases;
    list.push_back(std::move(json));
  }
  return list;
}

/// Of this program. What getrusage() tells begins with the peak of the process
/// that started it.
uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    uint64_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %" SCNu64 " kB", &kibibytes) == 1)
      return kibibytes * 1024;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void check_request(const Metadata &metadata, const BenchOptions &options) {
  if (!options.step_times &&
      (options.prefill > metadata.max_seq ||
       options.decode > metadata.max_seq - options.prefill))
    throw Error("bench: --prefill " + std::to_string(options.prefill) +
                " and --decode " + std::to_string(options.decode) +
                " do not fit into the program's " +
                std::to_string(metadata.max_seq) + " positions");
  if (launched_ranks().value_or(1) != 1)
    throw Error("mpirun: bench times ranks that are threads of one process; "
                "start it without mpirun");
  if (options.ranks)
    check_ranks(Mesh::parse(metadata.json), options);
  if (options.steps && !options.json)
    throw Error("bench: --steps prints what programs read: give --json, too");
}

struct Measurements {
  /// Whether `machine` is measured.
  bool has_limits = false;
  unsigned workers = 0;
  uint64_t peak_bytes = 0, weights_bytes = 0;
  Speed speed;
  UndisturbedTimes layers;
  /// Of the host, if it is what computes, and not only times are asked for.
  MachineLimits machine;
  std::string verdict;
  std::optional<PhaseTimes> profile;
  std::vector<StepTimes> steps;
};

Measurements measure_all(const Metadata &metadata,
                         const BenchOptions &options) {
  const DecodeRanks ranks(metadata, options);
  Measurements measured;
  const bool on_device = !metadata.device.is_null();
  measured.has_limits = !on_device && !options.brief;
  measured.machine = limits_of(metadata);
  unsigned cores = chosen_workers(options.run);
  uint32_t chunk = chosen_prefill_chunk(options.run, metadata);
  RankParameters parameters = options.run.weights
                                  ? ranks.load_weights(options.run)
                                  : ranks.random_weights(cores);
  for (const Parameters &rank : parameters)
    measured.weights_bytes += rank.resident_bytes();

  auto note = [&](const char *what) {
    if (!options.run.quiet)
      std::fprintf(stderr, "%s\n", what);
  };
  GenerationRequest request =
      bench_request(metadata, options.prefill, options.decode, chunk);
  std::unique_ptr<Execution> made = ranks.make_execution(
      parameters, options.run, program_workers(options.run, metadata));
  Execution &execution = *made;
  measured.workers = execution.workers();
  note("measuring the program");
  std::span<const std::byte> memory = parameters.front().packed();
  auto measure_machine = [&] {
    if (measured.has_limits)
      measured.machine.measure(measured.workers, memory);
  };
  auto measure_machine_between = [&] {
    if (can_measure_bandwidth(memory))
      measure_machine();
  };
  measured.speed =
      measure(execution, request, options.repeat, measure_machine_between);
  // Before memory is taken for anything that is not the program's.
  measured.peak_bytes = peak_resident_bytes();

  if (!options.brief) {
    note("timing layers");
    measured.layers =
        undisturbed_times(traced_run(execution, request),
                          segments_of_phases(metadata), request.prompt.size());
    measure_machine_between();
  }

  note("comparing with one worker");
  std::unique_ptr<Execution> single =
      ranks.make_execution(parameters, options.run, 1);
  measured.verdict =
      verdict(execution, *single,
              bench_request(metadata, std::min<uint64_t>(options.prefill, 32),
                            std::min<uint64_t>(options.decode, 8), chunk));
  if (options.run.trace) {
    note("tracing tasks");
    // A run of its own: tracing takes time.
    RunTrace trace(metadata, options.run, execution);
    Generation generation(request);
    execution.run(generation);
    trace.publish();
  }
  if (options.profile) {
    note("timing phases");
    measured.profile = measure_phases(metadata, execution, *single, request);
  }
  if (options.steps) {
    note("timing steps");
    measured.steps = measure_steps(metadata, execution, request, options.steps);
  }
  if (options.logits)
    write_logits(*options.logits, metadata, execution, request);
  if (measured.has_limits)
    note("measuring the machine");
  measure_machine();
  return measured;
}

/// A rate, and the fraction of what the machine can do; nothing where no task
/// was timed, or no limit is known.
struct Rate {
  std::optional<double> tokens_per_second, fraction;
};

/// What is shown of prefill and of decode: as measured, and as it would be if
/// no layer was disturbed.
struct Rates {
  Rate prefill, prefill_by_layers, decode, decode_by_layers;

  Rates(const Metadata &metadata, const BenchOptions &options,
        const Measurements &measured) {
    const Speed &speed = measured.speed;
    const UndisturbedTimes &layers = measured.layers;
    prefill.tokens_per_second = speed.prefill_tokens_per_second;
    decode.tokens_per_second = speed.decode_tokens_per_second;
    // A program by hand may not say when its tasks ran.
    if (layers.prefill > 0)
      prefill_by_layers.tokens_per_second =
          double(options.prefill) / layers.prefill;
    if (layers.decode > 0)
      decode_by_layers.tokens_per_second = 1 / layers.decode;
    if (!metadata.costs || !measured.has_limits)
      return;
    const Costs &costs = *metadata.costs;
    auto limit = [](Rate &rate, double cost_per_token, double most) {
      if (rate.tokens_per_second)
        rate.fraction = *rate.tokens_per_second * cost_per_token / most;
    };
    const double bandwidth = measured.machine.bandwidth;
    auto bytes = [&](double positions) {
      return costs.weight_bytes_per_token +
             costs.kv_bytes_per_position * positions;
    };
    limit(decode, bytes(speed.decode_positions), bandwidth);
    limit(decode_by_layers, bytes(layers.decode_positions), bandwidth);
    const double flops =
        costs.prompt_flops(options.prefill) / double(options.prefill);
    limit(prefill, flops, measured.machine.arithmetic);
    limit(prefill_by_layers, flops, measured.machine.arithmetic);
  }
};

nlohmann::ordered_json result_json(const Metadata &metadata,
                                   const BenchOptions &options,
                                   const Measurements &measured) {
  const Rates rates(metadata, options, measured);
  const Speed &speed = measured.speed;
  auto optional_json = [](const std::optional<double> &value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  auto limit = [&](double rate) {
    return optional_json(measured.has_limits ? std::optional(rate)
                                             : std::nullopt);
  };
  nlohmann::ordered_json result;
  result["prefill_tokens_per_s"] = speed.prefill_tokens_per_second;
  result["decode_tokens_per_s"] = speed.decode_tokens_per_second;
  result["read_bandwidth_fraction"] = optional_json(rates.decode.fraction);
  result["fma_fraction"] = optional_json(rates.prefill.fraction);
  result["peak_bytes"] = measured.peak_bytes;
  result["workers"] = measured.workers;
  result["prefill"] = options.prefill;
  result["decode"] = options.decode;
  result["decode_mean_tokens_per_s"] = speed.decode_mean_tokens_per_second;
  result["runs"] = speed.runs;
  result["decode_window"] = speed.window;
  result["prefill_by_layers_tokens_per_s"] =
      optional_json(rates.prefill_by_layers.tokens_per_second);
  result["decode_by_layers_tokens_per_s"] =
      optional_json(rates.decode_by_layers.tokens_per_second);
  result["read_bandwidth_fraction_by_layers"] =
      optional_json(rates.decode_by_layers.fraction);
  result["fma_fraction_by_layers"] =
      optional_json(rates.prefill_by_layers.fraction);
  result["read_bandwidth"] = limit(measured.machine.bandwidth);
  result["fma_peak"] = limit(measured.machine.arithmetic);
  result["weights_bytes"] = measured.weights_bytes;
  result["prefill_seconds"] = speed.prefill_seconds;
  result["decode_seconds"] = speed.decode_seconds;
  result["verdict"] = measured.verdict;
  if (measured.profile)
    result["profile"] = profile_json(metadata, *measured.profile);
  if (options.steps) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const PhaseDescription &phase : metadata.phases)
      names.push_back(phase.name);
    result["phases"] = std::move(names);
    result["steps"] = steps_json(measured.steps);
  }
  return result;
}

std::string result_text(const Metadata &metadata, const BenchOptions &options,
                        const Measurements &measured) {
  const Rates rates(metadata, options, measured);
  const Speed &speed = measured.speed;
  std::string runs = std::to_string(speed.runs);
  auto of_peak = [&](const Rate &rate) {
    return rate.fraction ? percent_text(*rate.fraction) + " of " +
                               measured.machine.name_of_arithmetic()
                         : "";
  };
  auto of_bandwidth = [](const Rate &rate) {
    return rate.fraction
               ? percent_text(*rate.fraction) + " of read bandwidth" +
                     // More than memory delivers comes from the caches.
                     (*rate.fraction > 1 ? ", from caches" : "")
               : "";
  };
  auto per_second = [](double tokens) {
    return fixed_text(tokens, 1) + " tokens/s";
  };
  Table table;
  auto add_by_layers = [&](const Rate &rate, const std::string &fraction) {
    if (rate.tokens_per_second)
      table.add({"", per_second(*rate.tokens_per_second), fraction,
                 "if all layers ran as the fastest tenth of them"});
  };
  table.add({"prefill", per_second(speed.prefill_tokens_per_second),
             of_peak(rates.prefill),
             "best of " + runs + " runs of " + std::to_string(options.prefill) +
                 " tokens"});
  add_by_layers(rates.prefill_by_layers, of_peak(rates.prefill_by_layers));
  table.add({"decode", per_second(speed.decode_tokens_per_second),
             of_bandwidth(rates.decode),
             "best window of " + std::to_string(speed.window) + " tokens in " +
                 runs + " runs of " + std::to_string(options.decode) +
                 "; mean " + per_second(speed.decode_mean_tokens_per_second)});
  add_by_layers(rates.decode_by_layers, of_bandwidth(rates.decode_by_layers));
  if (measured.has_limits)
    table.add({"machine",
               fixed_text(measured.machine.arithmetic / 1e9, 1) + " GFLOP/s",
               fixed_text(measured.machine.bandwidth / 1e9, 1) + " GB/s read",
               "best windows, between the runs"});
  table.add({"memory", bytes_text(double(measured.peak_bytes)), "peak", ""});
  table.add({"workers", std::to_string(measured.workers), "", ""});
  table.add({"verdict", measured.verdict, "", ""});
  return table.text(0);
}

} // namespace

void bench_command(const Metadata &metadata, const BenchOptions &options) {
  check_request(metadata, options);
  if (options.offload.memory &&
      (options.dry_run || options.step_times || options.batch.empty()))
    throw Error("bench: --memory is for --batch, without --dry-run and "
                "--step-times");
  if (options.dry_run)
    return forecast_decoding(metadata, options);
  if (options.step_times)
    return batch_commands("bench: --step-times").bench_steps(metadata, options);
  if (!options.batch.empty())
    return batch_commands("bench: --batch").bench(metadata, options);
  Measurements measured = measure_all(metadata, options);
  if (options.json) {
    print(result_json(metadata, options, measured).dump() + "\n");
    return;
  }
  print(result_text(metadata, options, measured));
  if (measured.profile)
    print(profile_text(metadata, *measured.profile,
                       metadata.device.is_null() ? 1 : measured.workers));
}

} // namespace baton

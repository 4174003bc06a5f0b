//===- calibration.cpp - measures a machine by micro-programs -------------===//

#include "tools/calibrate/calibration.h"

#include "runtime/error.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/main/progress.h"
#include "tools/command/child.h"
#include "tools/command/command.h"
#include "tools/plan/measured_ops.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

using namespace baton;
using namespace baton::calibrate;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Weights take so many times the largest cache, and at least so many bytes.
static constexpr double caches = 4, fewest_bytes = 64e6;

static std::vector<MicroProgram> programs(const CalibrationOptions &options,
                                          const Host &host) {
  using Sizes = std::vector<int64_t>;
  const Sizes sizes = options.quick ? Sizes{256, 1024} : Sizes{256, 1024, 4096};
  const bool coarse = options.quick || options.coarse_steps;
  const Sizes rows =
      coarse ? Sizes{1, 8, 64} : Sizes{1, 2, 4, 8, 16, 32, 64, 128, 256};
  const double bytes = std::max(fewest_bytes, caches * host.cache);
  std::vector<MicroProgram> programs;
  for (const std::string &type : options.types)
    programs.push_back(linear_program(type, sizes, rows, bytes));
  std::vector<Step> steps;
  for (int64_t many : coarse ? Sizes{1, 64} : Sizes{1, 16, 64})
    for (int64_t positions : coarse ? Sizes{64, 512} : Sizes{64, 512, 2048})
      steps.push_back({many, positions});
  const Heads heads{{2, 8}, {1, 4}, options.quick ? Sizes{64} : Sizes{64, 128}};
  programs.push_back(attention_program(heads, steps));
  return programs;
}

static ExchangeSizes exchanges(const CalibrationOptions &options) {
  ExchangeSizes sizes;
  for (int64_t ranks = 2; ranks <= options.ranks; ranks *= 2)
    sizes.ranks.push_back(ranks);
  sizes.bytes = {4 << 10, 64 << 10, 1 << 20};
  if (!options.quick)
    sizes.bytes.push_back(16 << 20);
  return sizes;
}

/// What `bench` takes so that the step occurs, in so many traced runs.
static std::vector<std::string> bench_words(const std::string &program,
                                            const Step &step, int64_t runs) {
  std::vector<std::string> words = {program,
                                    "bench",
                                    "--brief",
                                    "--json",
                                    "--quiet",
                                    "--repeat=1",
                                    "--steps=" + std::to_string(runs)};
  if (step.rows == 1) {
    words.push_back("--prefill=" +
                    std::to_string(std::max<int64_t>(
                        1, step.positions - decoded_tokens / 2)));
    words.push_back("--decode=" + std::to_string(decoded_tokens));
  } else {
    words.push_back("--prefill=" + std::to_string(step.positions));
    words.push_back("--prefill-chunk=" + std::to_string(step.rows));
    words.push_back("--decode=1");
  }
  return words;
}

static Json read_json(const fs::path &file) {
  std::ifstream stream(file);
  try {
    return Json::parse(stream);
  } catch (const Json::exception &error) {
    throw Error(file.string() + ": " + error.what());
  }
}

/// "12 s" or "3 min".
static std::string duration(double seconds) {
  return seconds < 100 ? std::to_string(int(std::ceil(seconds))) + " s"
                       : std::to_string(int(std::ceil(seconds / 60))) + " min";
}

namespace {
/// Says how far it is, and about how long the rest takes.
class Estimated {
public:
  Estimated(uint64_t all, bool quiet)
      : progress("measuring", quiet), all(all) {}

  void done() {
    ++many;
    const double passed =
        std::chrono::duration<double>(Clock::now() - begin).count();
    progress.update(many, all,
                    "about " +
                        duration(passed / double(many) * double(all - many)) +
                        " left");
  }

private:
  Progress progress;
  uint64_t all, many = 0;
  Clock::time_point begin = Clock::now();
};
} // namespace

static Rates measure_rates(unsigned workers) {
  Rates rates;
  rates.operations = measure_arithmetic_peak(workers);
  rates.pair_operations =
      std::max(rates.operations,
               measure_arithmetic_peak(workers, Arithmetic::bf16_pairs));
  rates.bytes = measure_read_bandwidth(workers);
  rates.hand_over = measure_hand_over(workers);
  return rates;
}

Calibration calibrate::measure(const CalibrationOptions &options,
                               const fs::path &folder,
                               const std::atomic<bool> &stopped) {
  Calibration calibration;
  calibration.host = this_host();
  const std::vector<MicroProgram> all = programs(options, calibration.host);
  auto check = [&] {
    if (stopped)
      throw Error("interrupted; nothing was written");
  };
  // A signal ends the program that runs now, too.
  auto run = [&](const std::vector<std::string> &words,
                 const fs::path &output = {}) {
    check();
    try {
      run_child(words, output);
    } catch (const AlreadySaid &) {
      check();
      throw;
    }
    check();
  };
  {
    Progress progress("compiling", options.quiet);
    for (size_t at = 0; at < all.size(); ++at) {
      progress.update(at, all.size(), all[at].name);
      const fs::path source = folder / (all[at].name + ".mlir");
      std::ofstream(source) << all[at].text;
      run({options.batonc, source.string(), "-o",
           (folder / all[at].name).string(), "--quiet"});
    }
  }
  uint64_t runs = uint64_t(options.ranks > 1) + 1;
  for (const MicroProgram &program : all)
    runs += program.steps.size();
  Samples samples;
  Estimated progress(runs * uint64_t(options.rounds), options.quiet);
  for (int64_t round = 0; round < options.rounds; ++round) {
    samples.begin_round();
    calibration.rates.push_back(
        measure_rates(unsigned(calibration.host.cores)));
    progress.done();
    for (const MicroProgram &program : all)
      for (const Step &step : program.steps) {
        const fs::path output = folder / "bench.json";
        // A prompt's last step occurs once in a run, one that decodes several
        // times; a run of many steps takes long.
        const bool is_long = step.rows == 1 || step.positions > 8 * step.rows;
        run(bench_words((folder / program.name).string(), step,
                        is_long ? 2 : 5),
            output);
        samples.add(program, step, read_json(output));
        progress.done();
      }
    if (options.ranks > 1) {
      check();
      measure_exchanges(exchanges(options), samples);
      progress.done();
    }
  }
  calibration.points = samples.estimates();
  return calibration;
}

Rates calibrate::best(const std::vector<Rates> &rates) {
  Rates best = rates.front();
  for (const Rates &one : rates) {
    best.operations = std::max(best.operations, one.operations);
    best.pair_operations = std::max(best.pair_operations, one.pair_operations);
    best.bytes = std::max(best.bytes, one.bytes);
    best.hand_over = std::min(best.hand_over, one.hand_over);
  }
  return best;
}

double calibrate::peak_of(const Rates &rates,
                          const std::vector<std::string> &types) {
  return std::find(types.begin(), types.end(), "bf16") != types.end()
             ? rates.pair_operations
             : rates.operations;
}

/// The most that points of an op reach of a rate, as a part of it.
template <typename Work>
static double reached(const Calibration &calibration, const std::string &op,
                      double rate, Work work) {
  double most = 0;
  for (const auto &[point, estimate] : calibration.points)
    if (point.op == op)
      most = std::max(most, work(point) / estimate.seconds);
  // Caches deliver more than memory.
  return std::clamp(most / rate, .01, 1.);
}

Json calibrate::device_json(const CalibrationOptions &options,
                            const Calibration &calibration) {
  const Host &host = calibration.host;
  const Rates rates = best(calibration.rates);
  const double peak = peak_of(rates, options.types);
  auto at = [](const Point &point, const char *size) {
    return point.sizes.at(size);
  };
  const double products =
      reached(calibration, "linear", peak, [&](const Point &point) {
        return 2 * at(point, "rows") * at(point, "outputs") *
               at(point, "inputs");
      });
  const double attention =
      reached(calibration, "attention", peak, [&](const Point &point) {
        // Rows that see no later ones compute fewer; a chunk's last sees all.
        return 4 * at(point, "rows") *
               (at(point, "positions") - at(point, "rows") / 2) *
               at(point, "key_heads") * at(point, "group") *
               at(point, "head_size");
      });
  const double stream =
      reached(calibration, "linear", rates.bytes, [&](const Point &point) {
        return at(point, "rows") == 1
                   ? plan::weight_bytes(point.type) * at(point, "outputs") *
                         at(point, "inputs")
                   : 0.;
      });
  std::vector<double> spreads;
  // Of links: what a large exchange reaches, and what a small one takes.
  double link = 0, latency = 1;
  for (const auto &[point, estimate] : calibration.points) {
    spreads.push_back(estimate.spread);
    if (point.op != "exchange")
      continue;
    const double ranks = at(point, "ranks");
    link = std::max(link, at(point, "bytes") * (ranks - 1) / ranks /
                              estimate.seconds);
    latency = std::min(latency, estimate.seconds);
  }
  if (link == 0) {
    // One rank sends nothing; memory is what others would be reached through.
    link = rates.bytes / 2;
    latency = rates.hand_over;
  }
  const std::string cores =
      std::to_string(host.cores) + (host.cores == 1 ? " core" : " cores");
  Json json;
  json["name"] = cores + " of " + host.processor;
  json["source"] =
      "Measured by batonc calibrate on " + host.date + ", on " + cores +
      " of " + host.processor + ": the median of " +
      std::to_string(options.rounds) +
      " rounds' fastest tenths. One machine has no network: its links stand "
      "for it.";
  json["memory_gb"] = host.memory / 1e9;
  json["memory_gb_per_s"] = rates.bytes / 1e9;
  json["stream_fraction"] = stream;
  json["dropout_fraction"] = stream;
  json["matmul_tflops"] = peak / 1e12;
  json["matmul_fraction"] = products;
  json["attention_fraction"] = attention;
  json["multiprocessors"] = host.cores;
  json["kernel_us"] = rates.hand_over * 1e6;
  json["devices_per_node"] = std::max<int64_t>(1, options.ranks);
  json["link_gb_per_s"] = link / 1e9;
  json["link_us"] = latency * 1e6;
  json["network_gb_per_s"] = link / 1e9;
  json["network_us"] = latency * 1e6;
  json["uncertainty"] = std::clamp(median(spreads), .02, 1.);
  Json peaks;
  peaks["f32"] = rates.operations / 1e12;
  if (rates.pair_operations > rates.operations)
    peaks["bf16_pairs"] = rates.pair_operations / 1e12;
  json["measured"] = {{"date", host.date},
                      {"processor", host.processor},
                      {"cores", host.cores},
                      {"workers", host.cores},
                      {"cache_mb", host.cache / 1e6},
                      {"peak_tflops", std::move(peaks)},
                      {"types", options.types},
                      {"ranks", options.ranks},
                      {"rounds", options.rounds},
                      {"quick", options.quick}};
  Json tables = Json::array();
  for (const plan::OpTable &table : tables_of(calibration.points))
    tables.push_back(table.to_json());
  json["tables"] = std::move(tables);
  return json;
}

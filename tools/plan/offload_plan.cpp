//===- offload_plan.cpp - decoding in less memory than a model takes ------===//

#include "tools/plan/offload_plan.h"

#include "passes/planning/IntegerProgram.h"
#include "runtime/execute/layer_arrivals.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <thread>
#include <utility>

using namespace baton;
using namespace baton::plan;

static constexpr double never = std::numeric_limits<double>::infinity();

OffloadStep plan::offload_step(const Metadata &metadata,
                               const OffloadNeeds &needs,
                               const OffloadMachine &machine,
                               uint64_t sequences, double positions) {
  const Costs &costs = metadata.costs.value();
  const auto rows = double(sequences);
  OffloadStep step;
  step.layers = double(needs.layers);
  double pieces = 0;
  for (const LayerPiece &piece : needs.weights.pieces)
    pieces += double(piece.bytes);
  step.layer_weights = pieces / step.layers;

  double flops = costs.flops_per_token - costs.flops_per_output;
  for (auto [window, per_position] : costs.attention)
    flops += per_position *
             (window ? std::min(double(window), positions) : positions);
  const double kv = rows * costs.kv_bytes_per_position * positions;
  const double bytes = costs.weight_bytes(rows);
  const double of_layers = std::min(bytes, pieces);
  // Of few rows a core waits for weights before it multiplies by them: the
  // times add up.
  step.layer_seconds = ((of_layers + kv) / machine.memory_rate +
                        rows * flops / machine.operation_rate) /
                       step.layers;
  step.tail_seconds = (bytes - of_layers) / machine.memory_rate +
                      rows * costs.flops_per_output / machine.operation_rate;

  const double of_page = double(needs.page_moves) / step.layers;
  const double of_sequence =
      double(pages_of(uint64_t(std::max(positions, 1.0))));
  step.layer_read = rows * of_sequence * of_page;
  step.layer_written = rows * of_page;
  return step;
}

double plan::overlapped_seconds(const OffloadMachine &machine, double computes,
                                double bytes) {
  // Beside the disk computing takes longer, and so does the disk.
  const double beside = computes / machine.share_beside_disk;
  const double meanwhile = beside * machine.busy_disk_rate;
  if (bytes >= meanwhile)
    return beside + (bytes - meanwhile) / machine.disk_rate;
  const double reads = bytes / machine.busy_disk_rate;
  return reads + computes - reads * machine.share_beside_disk;
}

double plan::layer_seconds(const OffloadStep &step,
                           const OffloadMachine &machine, double weights,
                           double pages) {
  const double bytes = (1 - weights) * step.layer_weights +
                       (1 - pages) * (step.layer_read + step.layer_written);
  return overlapped_seconds(machine, step.layer_seconds, bytes);
}

double plan::shares_memory(const OffloadStep &step, const OffloadNeeds &needs,
                           double weights, double pages) {
  const double fixed =
      double(needs.process + needs.activations) + double(needs.weights.fixed);
  const double moving_page =
      double(needs.page_rest) + 2 * double(needs.page_layer);
  return fixed + weights * step.layers * step.layer_weights +
         (1 - weights) * 2 * step.layer_weights +
         double(needs.pages) *
             (pages * double(needs.page_bytes) + (1 - pages) * moving_page);
}

std::optional<OffloadShares> plan::best_shares(const OffloadStep &step,
                                               const OffloadNeeds &needs,
                                               const OffloadMachine &machine,
                                               double limit) {
  // In mebibytes and milliseconds, so that numbers are of one size.
  constexpr double unit = 1 << 20, milli = 1e3;
  planning::IntegerProgram program;
  const unsigned time = program.addReal(1), weights = program.addReal(0),
                 pages = program.addReal(0);
  program.addRow({{weights, 1}}, 0, 1);
  program.addRow({{pages, 1}}, 0, 1);
  // Two lines, of which the upper one counts: where bytes come while the layer
  // computes, and where it waits for more.
  const double bytes_of_weights = step.layer_weights,
               bytes_of_pages = step.layer_read + step.layer_written;
  const double alone = step.layer_seconds;
  for (bool waits : {false, true}) {
    const double slope =
        waits ? 1 / machine.disk_rate
              : (1 - machine.share_beside_disk) / machine.busy_disk_rate;
    const double begin =
        waits ? alone / machine.share_beside_disk *
                    (1 - machine.busy_disk_rate / machine.disk_rate)
              : alone;
    const double of_weights = bytes_of_weights * slope * milli,
                 of_pages = bytes_of_pages * slope * milli;
    program.addRow({{time, 1}, {weights, of_weights}, {pages, of_pages}},
                   begin * milli + of_weights + of_pages, never);
  }
  // Memory is linear in both.
  const double none = shares_memory(step, needs, 0, 0);
  program.addRow({{weights, (shares_memory(step, needs, 1, 0) - none) / unit},
                  {pages, (shares_memory(step, needs, 0, 1) - none) / unit}},
                 -never, (limit - none) / unit);
  const auto solution = program.solve();
  if (!solution)
    return std::nullopt;
  const double w = std::clamp((*solution)[weights], 0.0, 1.0),
               p = std::clamp((*solution)[pages], 0.0, 1.0);
  return OffloadShares{w, p, layer_seconds(step, machine, w, p)};
}

OffloadForecast plan::forecast(const OffloadStep &step,
                               const OffloadNeeds &needs,
                               const OffloadMachine &machine, uint64_t limit,
                               const OffloadShares &shares,
                               const std::string &flag) {
  // Down: what a page does not take, weights may.
  const auto staying = uint64_t(shares.pages * double(needs.pages) + 1e-6);
  OffloadForecast result =
      forecast(step, needs, machine, plan_offload(needs, limit, staying, flag));
  result.shares = shares;
  return result;
}

OffloadForecast plan::forecast(const OffloadStep &step,
                               const OffloadNeeds &needs,
                               const OffloadMachine &machine,
                               OffloadPlan plan) {
  OffloadForecast result;
  result.plan = std::move(plan);
  std::vector<double> moved(needs.layers);
  const LayerPlacement &placement = result.plan.weights;
  for (size_t i = 0; i < needs.weights.pieces.size(); ++i)
    if (!placement.stays[i])
      moved[needs.weights.pieces[i].layer] +=
          double(needs.weights.pieces[i].bytes);
  const double leaving =
      needs.pages ? 1 - double(result.plan.staying_pages) / double(needs.pages)
                  : 0;
  const double read = leaving * step.layer_read,
               written = leaving * step.layer_written;
  const size_t layers = moved.size();
  // A layer's own pages come before it may begin; the first one's when the
  // step does. The next layer's weights and pages come while it computes.
  result.first_pages = result.step_seconds = read / machine.disk_rate;
  for (size_t layer = 0; layer < layers; ++layer) {
    const bool last = layer + 1 == layers;
    const double computes = step.layer_seconds + (last ? step.tail_seconds : 0);
    const double weights = moved[last ? 0 : layer + 1], pages = last ? 0 : read;
    const double seconds =
        overlapped_seconds(machine, computes, weights + pages + written);
    result.of_layers.push_back({computes, weights / machine.disk_rate,
                                pages / machine.disk_rate,
                                written / machine.disk_rate, seconds});
    result.step_seconds += seconds;
    result.weights_read += moved[layer];
  }
  result.pages_read = read * double(layers);
  result.pages_written = written * double(layers);
  return result;
}

/// The median of some windows' rates.
template <typename Window> static double median_rate(const Window &window) {
  constexpr int count = 5;
  std::array<double, count> rates{};
  for (double &rate : rates)
    rate = window();
  std::nth_element(rates.begin(), rates.begin() + count / 2, rates.end());
  return rates[count / 2];
}

namespace {
/// Threads that add up memory, as workers stream weights, until they are told
/// to end.
class Streams {
public:
  explicit Streams(unsigned workers) {
    for (unsigned i = 0; i < workers; ++i)
      threads.emplace_back([this] {
        // More than caches have.
        HugeRegion room(uint64_t(64) << 20);
        auto *numbers = reinterpret_cast<float *>(room.data());
        const uint64_t count = room.size() / sizeof(float);
        std::fill_n(numbers, count, 1.0F);
        while (!ends) {
          constexpr uint64_t part = 1 << 14;
          for (uint64_t at = 0; at < count && !ends; at += part) {
            std::array<float, 64> sums{};
            for (uint64_t j = at; j < at + part; j += sums.size())
              for (uint64_t k = 0; k < sums.size(); ++k)
                sums[k] += numbers[j + k];
            kept = sums[at / part % sums.size()];
            bytes += part * sizeof(float);
          }
        }
      });
  }
  Streams(const Streams &) = delete;
  ~Streams() {
    ends = true;
    for (std::thread &thread : threads)
      thread.join();
  }
  /// What all have read so far.
  double read() const { return double(bytes.load()); }

private:
  std::atomic<bool> ends = false;
  std::atomic<uint64_t> bytes = 0;
  /// So that sums are made.
  std::atomic<float> kept = 0;
  std::vector<std::thread> threads;
};
} // namespace

void plan::measure_disk(const std::string &folder, unsigned workers,
                        OffloadMachine &machine) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  constexpr uint64_t part = uint64_t(1) << 20, parts = 256;
  const DirectFile file(folder, part * parts, "--offload-dir", [&](int to) {
    // What was never written need not be read.
    std::vector<std::byte> bytes(part, std::byte(7));
    for (uint64_t i = 0; i < parts; ++i)
      write_whole(to, bytes.data(), part, i * part);
  });
  auto window = [&] {
    std::atomic<uint64_t> next = 0;
    const auto begin = Clock::now();
    // A failure of one is told when all are done.
    std::vector<std::future<void>> movers;
    for (unsigned i = 0; i < LayerArrivals::movers; ++i)
      movers.push_back(std::async(std::launch::async, [&] {
        // As a ring's place, backed by a huge page: of small ones a disk gets
        // many more pieces, and takes twice as long.
        HugeRegion room(std::max(part, HugeRegion::alignment));
        for (uint64_t at; (at = next++) < parts;)
          file.read(room.data(), part, at * part);
      }));
    for (std::future<void> &mover : movers)
      mover.get();
    return double(part * parts) / since(begin);
  };
  machine.disk_rate = median_rate(window);
  const Streams streams(workers);
  // What they do in a while, and beside the disk.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto alone = [&] {
    const auto begin = Clock::now();
    const double before = streams.read();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return (streams.read() - before) / since(begin);
  };
  const double usual = median_rate(alone);
  std::vector<double> beside;
  const double busy = median_rate([&] {
    const auto begin = Clock::now();
    const double before = streams.read(), rate = window();
    beside.push_back((streams.read() - before) / since(begin));
    return rate;
  });
  std::nth_element(beside.begin(), beside.begin() + long(beside.size() / 2),
                   beside.end());
  machine.share_beside_disk =
      std::clamp(beside[beside.size() / 2] / usual, 0.05, 1.0);
  // Nobody would do both at once where one after the other is faster.
  machine.busy_disk_rate =
      std::clamp(busy, (1 - machine.share_beside_disk) * machine.disk_rate,
                 machine.disk_rate);
}

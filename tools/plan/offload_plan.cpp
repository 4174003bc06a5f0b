//===- offload_plan.cpp - decoding in less memory than a model takes ------===//

#include "tools/plan/offload_plan.h"

#include "passes/planning/IntegerProgram.h"
#include "runtime/execute/layer_arrivals.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>

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
  step.layer_seconds = std::max((of_layers + kv) / machine.memory_rate,
                                rows * flops / machine.operation_rate) /
                       step.layers;
  step.tail_seconds =
      std::max((bytes - of_layers) / machine.memory_rate,
               rows * costs.flops_per_output / machine.operation_rate);

  const double of_page = double(needs.page_moves) / step.layers;
  const double of_sequence =
      double(pages_of(uint64_t(std::max(positions, 1.0))));
  step.layer_read = rows * of_sequence * of_page;
  step.layer_written = rows * of_page;
  return step;
}

double plan::layer_seconds(const OffloadStep &step,
                           const OffloadMachine &machine, double weights,
                           double pages) {
  const double bytes = (1 - weights) * step.layer_weights +
                       (1 - pages) * (step.layer_read + step.layer_written);
  return std::max(step.layer_seconds, bytes / machine.disk_rate);
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
  program.addRow({{time, 1}}, step.layer_seconds * milli, never);
  // What does not stay comes within the layer's time.
  const double of_weights = step.layer_weights / machine.disk_rate * milli;
  const double of_pages =
      (step.layer_read + step.layer_written) / machine.disk_rate * milli;
  program.addRow({{time, 1}, {weights, of_weights}, {pages, of_pages}},
                 of_weights + of_pages, never);
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
  OffloadForecast result;
  result.shares = shares;
  // Down: what a page does not take, weights may.
  const auto staying = uint64_t(shares.pages * double(needs.pages) + 1e-6);
  result.plan = plan_offload(needs, limit, staying, flag);
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
  double seconds = read / machine.disk_rate;
  for (size_t layer = 0; layer < layers; ++layer) {
    const bool last = layer + 1 == layers;
    const double bytes =
        moved[last ? 0 : layer + 1] + written + (last ? 0 : read);
    seconds += std::max(step.layer_seconds + (last ? step.tail_seconds : 0),
                        bytes / machine.disk_rate);
    result.weights_read += moved[layer];
  }
  result.pages_read = read * double(layers);
  result.pages_written = written * double(layers);
  result.step_seconds = seconds;
  return result;
}

double plan::measure_disk_rate(const std::string &folder) {
  using Clock = std::chrono::steady_clock;
  constexpr uint64_t part = uint64_t(1) << 20, parts = 256;
  const DirectFile file(folder, part * parts, "--offload-dir", [&](int to) {
    // What was never written need not be read.
    std::vector<std::byte> bytes(part, std::byte(7));
    for (uint64_t i = 0; i < parts; ++i)
      write_whole(to, bytes.data(), part, i * part);
  });
  std::vector<double> rates;
  for (int window = 0; window < 5; ++window) {
    std::atomic<uint64_t> next = 0;
    const auto begin = Clock::now();
    // A failure of one is told when all are done.
    std::vector<std::future<void>> movers;
    for (unsigned i = 0; i < LayerArrivals::movers; ++i)
      movers.push_back(std::async(std::launch::async, [&] {
        HugeRegion room(part);
        for (uint64_t at; (at = next++) < parts;)
          file.read(room.data(), part, at * part);
      }));
    for (std::future<void> &mover : movers)
      mover.get();
    rates.push_back(
        double(part * parts) /
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(rates.begin(), rates.begin() + 2, rates.end());
  return rates[2];
}

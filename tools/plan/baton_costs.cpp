//===- baton_costs.cpp - what a step of a program of batonc's takes -------===//

#include "tools/plan/baton_costs.h"

#include "passes/pipeline/Drawing.h"
#include "passes/pipeline/Generators.h"
#include "passes/pipeline/Simulator.h"
#include "runtime/comm/mesh.h"
#include "runtime/error.h"
#include "runtime/execute/pipeline.h"
#include "runtime/train/step_costs.h"
#include "tools/plan/byte_formula.h"
#include "tools/plan/collectives.h"

#include <algorithm>
#include <map>

using namespace baton;
using namespace baton::plan;

/// Those that differ in places along some axes: ranks that are `stride` apart.
static Group group_along(const Mesh &mesh,
                         const std::vector<std::string> &axes) {
  const std::vector<uint32_t> ranks = mesh.group(0, axes);
  Group group;
  group.ranks = int64_t(ranks.size());
  group.stride = ranks.size() > 1 ? int64_t(ranks[1]) - int64_t(ranks[0]) : 1;
  group.beside = group.stride;
  return group;
}

/// Products and attention at the rate that those reach, all else by its bytes.
static double seconds_of(const StepCosts &costs, const Device &device) {
  double sum = 0;
  for (const auto &[name, amount] : costs.kinds) {
    const double fraction = name == "attention" ? device.attention_fraction
                                                : device.matmul_fraction;
    sum += std::max(amount.flops / (device.matmul_rate * fraction),
                    amount.bytes / (device.bandwidth * device.stream_fraction));
  }
  return sum;
}

namespace {
/// What one run of one of a description's programs takes. Seconds.
struct Run {
  double computation = 0, update = 0;
  /// What ranks exchange along with rows, and of gradients and weights.
  double exchanges = 0, gradients = 0;

  double total() const { return computation + update + exchanges + gradients; }
};

class ProgramCosts {
public:
  ProgramCosts(const Metadata &metadata, const BatonSplit &split,
               const Device &device)
      : metadata(metadata), split(split), device(device),
        mesh(Mesh::parse(metadata.json)) {
    if (const auto all = metadata.json.find("collectives");
        all != metadata.json.end())
      for (const nlohmann::json &collective : *all)
        collectives[collective.value("program", "")].push_back(&collective);
  }

  /// `updates`: the run that ends a step; `rows`: whether it has a
  /// microbatch's.
  Run of(uint32_t program, bool rows, bool updates) const {
    const nlohmann::json &json = metadata.json.at("programs").at(program);
    const uint64_t sequences = rows ? uint64_t(split.sequences) : 1;
    const uint64_t length = rows ? uint64_t(split.length) : 1;
    Run run;
    StepCosts all = step_costs(json, sequences, length, updates);
    StepCosts update;
    if (auto found = all.kinds.find("updates"); found != all.kinds.end()) {
      update.kinds.insert(*found);
      all.kinds.erase(found);
    }
    run.computation = seconds_of(all, device);
    run.update = seconds_of(update, device);
    auto found = collectives.find(json.value("name", ""));
    if (found == collectives.end())
      found = collectives.find("");
    if (found == collectives.end())
      return run;
    for (const nlohmann::json *collective : found->second) {
      if (!updates && !collective->value("every_step", true))
        continue;
      const auto axes = collective->at("axes").get<std::vector<std::string>>();
      const double seconds =
          collective->value("iterations", 1.0) *
          half_reduce_seconds(
              bytes_of_formula(collective->at("payload").get<std::string>(),
                               double(sequences * length)),
              group_along(mesh, axes), device);
      const bool of_batch =
          std::all_of(axes.begin(), axes.end(), [&](const std::string &axis) {
            return std::count(mesh.batch.begin(), mesh.batch.end(), axis) > 0;
          });
      (of_batch ? run.gradients : run.exchanges) += seconds;
    }
    return run;
  }

  const Metadata &metadata;
  const BatonSplit &split;
  const Device &device;
  const Mesh mesh;

private:
  std::map<std::string, std::vector<const nlohmann::json *>> collectives;
};
} // namespace

/// One program does it all.
static BatonTime time_of_one(const ProgramCosts &costs) {
  BatonTime time;
  const auto microbatches = double(costs.split.microbatches);
  const Run some = costs.of(0, /*rows=*/true, /*updates=*/false);
  const Run last = costs.of(0, /*rows=*/true, /*updates=*/true);
  time.computation = (microbatches - 1) * some.computation + last.computation;
  time.exchanges = (microbatches - 1) * some.exchanges + last.exchanges +
                   (microbatches - 1) * some.gradients;
  time.pipeline = time.computation + time.exchanges;
  time.gradients = last.gradients;
  time.update = last.update;
  time.total = time.pipeline + time.gradients + time.update;
  return time;
}

static double message_seconds(const ProgramCosts &costs,
                              const std::string &channel) {
  const int64_t ranks = costs.split.data * costs.split.tensor;
  double slowest = 0;
  for (const Message &message : Message::parse(costs.metadata.json, costs.mesh))
    if (message.channel == channel)
      slowest = std::max(
          slowest,
          send_seconds(
              bytes_of_formula(message.payload, double(costs.split.sequences) *
                                                    double(costs.split.length)),
              0, ranks, ranks, costs.device));
  return slowest;
}

/// Stages run their tables, played out by the simulator of batonc pipeline.
static BatonTime time_of_stages(const ProgramCosts &costs,
                                const Pipeline &pipeline,
                                std::string *picture) {
  const BatonSplit &split = costs.split;
  BatonTime time;
  pipeline::PipelineCosts positions;
  positions.positions.resize(size_t(pipeline.places) * pipeline.chunks);
  positions.transfer = message_seconds(costs, "activations");
  double busiest = -1, slowest_end = -1;
  for (uint32_t place = 0; place < pipeline.places; ++place) {
    std::map<uint32_t, Run> runs;
    Run all;
    double gradients = 0, update = 0;
    for (const StageCall &call : pipeline.calls(place)) {
      const bool rows = call.microbatch.has_value();
      auto [run, is_new] = runs.try_emplace(call.program);
      if (is_new)
        run->second = costs.of(call.program, rows, !rows);
      if (!rows) {
        gradients += run->second.gradients;
        update += run->second.total() - run->second.gradients;
        continue;
      }
      all.computation += run->second.computation;
      all.exchanges += run->second.exchanges + run->second.gradients;
      pipeline::PositionCosts &position =
          positions.positions[size_t(call.chunk) * pipeline.places + place];
      const std::string part =
          costs.metadata.json.at("programs").at(call.program).at("part");
      (part == "forward"  ? position.forward
       : part == "weight" ? position.weight
                          : position.input) = run->second.total();
    }
    if (all.computation > busiest) {
      busiest = all.computation;
      time.computation = all.computation;
      time.exchanges = all.exchanges;
    }
    if (gradients + update > slowest_end) {
      slowest_end = gradients + update;
      time.gradients = gradients;
      time.update = update;
    }
  }
  time.gradients += message_seconds(costs, "shared gradients");
  std::string error;
  const auto order =
      pipeline::makeSchedule(split.schedule_text(), int(split.pipeline),
                             int(split.microbatches), error);
  if (!order)
    throw Error(error);
  const pipeline::Timeline timeline = pipeline::simulate(*order, positions);
  time.pipeline = timeline.total;
  time.bubble = timeline.total * timeline.bubble;
  time.total = time.pipeline + time.gradients + time.update;
  if (picture)
    *picture = pipeline::drawSvg(*order, timeline);
  return time;
}

BatonForecast plan::forecast(const Metadata &metadata, const BatonSplit &split,
                             const Device &device, unsigned workers,
                             bool draws) {
  BatonForecast result;
  const BatchShape shape = {uint64_t(split.data * split.sequences),
                            uint64_t(split.length),
                            uint64_t(split.microbatches)};
  const TrainingForecast training = forecast_training(metadata, shape, workers);
  const auto most =
      std::max_element(training.ranks.begin(), training.ranks.end(),
                       [](const RankForecast &a, const RankForecast &b) {
                         return a.bytes() < b.bytes();
                       });
  result.rank = *most;
  const ProgramCosts costs(metadata, split, device);
  try {
    if (const auto pipeline = Pipeline::parse(metadata.json))
      result.time =
          time_of_stages(costs, *pipeline, draws ? &result.picture : nullptr);
    else
      result.time = time_of_one(costs);
  } catch (const nlohmann::json::exception &failure) {
    throw Error(std::string("a program's description is damaged: ") +
                failure.what());
  }
  result.time.rate =
      training.costs().flops() / result.time.total / double(split.ranks());
  return result;
}

namespace {
/// What all microbatches take at least, and what a step does behind them.
struct Least {
  double microbatches = 0, rest = 0;
};
} // namespace

/// Operations of a layer's matrices in one direction, of a rank and microbatch.
static double layer_operations(const Decoder &decoder,
                               const BatonSplit &split) {
  return 2 * double(split.sequences * split.length) * decoder.layer_matrices() /
         double(split.tensor);
}

/// Two sums of a layer in one direction, each in two halves.
static double layer_exchanges(const Decoder &decoder, const BatonSplit &split,
                              const Device &device) {
  const double rows = double(split.sequences * split.length);
  return 4 * half_reduce_seconds(4 * rows * double(decoder.hidden),
                                 {split.tensor, 1, 0, 1}, device);
}

static Least least(const Decoder &decoder, const BatonSplit &split,
                   const Device &device, double states) {
  const double cut = double(split.tensor * split.pipeline);
  const double rows = double(split.sequences * split.length);
  const auto microbatches = double(split.microbatches);
  const double layers = double(decoder.layers) / double(split.pipeline);
  const double head = double(decoder.vocabulary) * double(decoder.hidden);
  // Stages have as much on average.
  const double operations = (split.recompute == Recompute::full ? 4 : 3) *
                                layers * layer_operations(decoder, split) +
                            3 * 2 * rows * head / cut;
  Least least;
  least.microbatches =
      microbatches *
      (operations / (device.matmul_rate * device.matmul_fraction) +
       2 * layers * layer_exchanges(decoder, split, device));
  const double parameters = decoder.parameters(split.length) / cut;
  // Where exchanges were measured, several small ones may be faster than one.
  if (device.tables.empty()) {
    const Group data = {split.data, split.tensor, 0, split.tensor};
    const double gradients = half_reduce_seconds(4 * parameters, data, device);
    least.rest += gradients;
    // Weights come back once, or, cut into parts, for each direction of each
    // microbatch, as numbers of two bytes at least.
    if (split.zero < 3)
      least.rest += gradients;
    else
      least.microbatches +=
          2 * microbatches * half_reduce_seconds(2 * parameters, data, device);
  }
  // States are read and written.
  least.rest += 2 * states * parameters /
                (split.zero > 0 ? double(split.data) : 1) /
                (device.bandwidth * device.stream_fraction);
  return least;
}

BatonBound plan::bound(const Decoder &decoder, const BatonSplit &split,
                       const Device &device, double states) {
  const Least seconds = least(decoder, split, device, states);
  const double parameters =
      decoder.parameters(split.length) / double(split.tensor * split.pipeline);
  auto of = [&](double bytes, int64_t from) {
    return bytes / (split.zero >= from ? double(split.data) : 1);
  };
  // Less what rounding may add.
  return {(seconds.microbatches + seconds.rest) * (1 - 1e-9),
          parameters * (of(4, 3) + of(4, 2) + of(states, 1))};
}

/// Of a layer and a microbatch, in numbers of two bytes: its input, and, unless
/// they are computed again, inputs of its products.
static double layer_activations(const Decoder &decoder,
                                const BatonSplit &split) {
  const double rows = double(split.sequences * split.length);
  // Rows that are cut along tensor parallel ranks come back for products.
  double numbers =
      double(decoder.hidden) / (split.sequence_parallel ? split.tensor : 1);
  if (split.recompute == Recompute::none)
    numbers += double(decoder.mlp) / double(split.tensor);
  return 2 * rows * numbers;
}

BatonBound plan::scheduled_bound(const Decoder &decoder,
                                 const BatonSplit &split, const Device &device,
                                 double states) {
  BatonBound result = bound(decoder, split, device, states);
  // No part of a stage has fewer layers.
  const int64_t fewest = decoder.layers / (split.pipeline * split.chunks);
  const auto layers = double(fewest);
  const double kept = layers * layer_activations(decoder, split);
  if (split.pipeline == 1) {
    result.bytes += kept;
    return result;
  }
  std::string error;
  const auto order =
      pipeline::makeSchedule(split.schedule_text(), int(split.pipeline),
                             int(split.microbatches), error);
  if (!order)
    throw Error(error);
  const double product = layers * layer_operations(decoder, split) /
                         (device.matmul_rate * device.matmul_fraction);
  const double exchange = layers * layer_exchanges(decoder, split, device);
  const bool again = split.recompute == Recompute::full;
  pipeline::PositionCosts least_of_one;
  least_of_one.forward = product + exchange;
  // Where the two halves of a backward step are one, it is the first.
  least_of_one.input =
      (1 + (order->fused ? 1 : 0) + (again ? 1 : 0)) * product + exchange;
  least_of_one.weight = order->fused ? 0 : product;
  pipeline::PipelineCosts costs;
  costs.positions.assign(size_t(order->countPositions()), least_of_one);
  result.seconds =
      std::max(result.seconds, (pipeline::simulate(*order, costs).total +
                                least(decoder, split, device, states).rest) *
                                   (1 - 1e-9));
  const std::vector<int> flights = pipeline::countInFlight(*order);
  result.bytes += kept * *std::max_element(flights.begin(), flights.end());
  return result;
}

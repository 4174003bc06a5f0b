//===- training_step.cpp - how long a training step takes, and its memory -===//

#include "tools/plan/training_step.h"

#include "passes/pipeline/Drawing.h"
#include "passes/pipeline/Generators.h"
#include "passes/pipeline/Simulator.h"
#include "tools/plan/collectives.h"
#include "tools/plan/kernels.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

using namespace baton;
using namespace baton::plan;

double plan::step_operations(const Decoder &decoder, const Split &split) {
  const double tokens = double(split.global_batch) * double(split.sequence);
  const double matrices = decoder.layers * decoder.layer_matrices() +
                          double(decoder.vocabulary) * double(decoder.hidden);
  // Of scores that are not masked, half of all.
  const double attention = 6.0 * double(decoder.layers) *
                           double(decoder.heads * decoder.head_size) *
                           double(split.sequence);
  return tokens * (6 * matrices + attention);
}

namespace {
/// Kernels that the host launches one behind another.
struct Piece {
  double times, host, device;
};
} // namespace

/// From the first launch to the end of the last kernel: the host launches
/// ahead, and a kernel begins behind the one before it.
static double phase_seconds(const std::vector<Piece> &pieces) {
  double host = 0, device = 0;
  for (const Piece &piece : pieces)
    for (int64_t time = 0; time < int64_t(piece.times); ++time) {
      const double launched = host;
      host += piece.host;
      device = std::max({device + piece.device, launched + piece.device, host});
    }
  return device;
}

static double device_seconds(const std::vector<Piece> &pieces) {
  double sum = 0;
  for (const Piece &piece : pieces)
    sum += piece.times * piece.device;
  return sum;
}

/// All but the pipeline, of whose positions it says what each takes.
static StepTime parts(const Decoder &decoder, const Framework &framework,
                      const Device &device, const Split &split,
                      const Slowness &slowness,
                      pipeline::PipelineCosts &costs) {
  const double ranks = double(split.tensor);
  const double rows = double(split.sequence) * double(split.micro_batch);
  const double hidden_bytes = 2 * rows * double(decoder.hidden);
  const double layers =
      double(decoder.layers) / double(split.pipeline * split.chunks);
  StepTime time;

  // A layer: two all-reduces in each direction.
  const LayerKernels kernels = layer_kernels(decoder, framework, split);
  const double forward = seconds(kernels.forward, device) * slowness.device;
  const double backward = seconds(kernels.backward, device) * slowness.device;
  const double all_reduce =
      all_reduce_seconds(hidden_bytes, {split.tensor, 1}, device) *
      slowness.network;
  const double collectives = 2 * all_reduce;
  double host_forward = framework.host_forward;
  double host_backward = framework.host_backward;
  if (kernels.unfused) {
    host_forward += framework.host_unfused;
    host_backward += framework.host_unfused;
  }
  if (split.tensor > 1) {
    double behind = 0;
    for (int64_t rank = 2; rank <= split.tensor; ++rank)
      behind += 1.0 / double(rank);
    const double both =
        2 * (framework.host_collective + framework.host_jitter * behind);
    host_forward += both;
    host_backward += both;
  }
  host_forward *= slowness.host;
  host_backward *= slowness.host;
  const double host_ends = framework.host_ends * slowness.host;

  // The head's loss adds up maxima, sums and the right words' logits; its
  // gradient, and the embedding's rows, are added up as a layer's are.
  const double head =
      seconds(head_kernels(decoder, split), device) * slowness.device +
      3 * all_reduce_seconds(4 * rows, {split.tensor, 1}, device) *
          slowness.network +
      all_reduce;
  const double embedding =
      seconds(embedding_kernels(decoder, split), device) * slowness.device +
      all_reduce;

  // One microbatch at each position of the pipeline.
  const int64_t positions = split.pipeline * split.chunks;
  auto phases = [&](bool first, bool last) {
    std::vector<Piece> ahead, back;
    if (first)
      ahead.push_back({1, host_ends, embedding / 2});
    ahead.push_back({layers, host_forward, forward + collectives});
    if (last) {
      ahead.push_back({1, host_ends, head / 3});
      back.push_back({1, host_ends, head * 2 / 3});
    }
    // What is made again is launched and computed with the backward.
    double host = host_backward, device_time = backward + collectives;
    if (split.recompute == Recompute::full) {
      host += host_forward;
      device_time += forward + collectives;
    } else if (split.recompute == Recompute::selective) {
      host += host_forward * double(kernels.attention.size()) /
              double(kernels.forward.size());
      device_time += seconds(kernels.attention, device) * slowness.device;
    }
    back.push_back({layers, host, device_time});
    if (first)
      back.push_back({1, host_ends, embedding / 2});
    return std::pair(ahead, back);
  };
  const double microbatch =
      framework.host_microbatch * slowness.host / 2 / double(split.chunks);
  auto cost = [&](bool first, bool last) {
    const auto [ahead, back] = phases(first, last);
    pipeline::PositionCosts cost;
    cost.forward = phase_seconds(ahead) + microbatch;
    cost.input = phase_seconds(back) + microbatch;
    return cost;
  };
  costs.positions.assign(size_t(positions), cost(false, false));
  costs.positions.front() = cost(true, positions == 1);
  if (positions > 1) {
    costs.positions.back() = cost(false, true);
    // Stages wait for what they send, and for what they receive.
    std::vector<double> borders;
    const int64_t stage_ranks = split.data * split.tensor;
    for (int64_t stage = 0; stage < split.pipeline; ++stage)
      borders.push_back(
          send_seconds(hidden_bytes / ranks, stage * stage_ranks, stage_ranks,
                       stage + 1 < split.pipeline ? stage_ranks
                                                  : -stage * stage_ranks,
                       device) *
              slowness.network +
          framework.host_exchange * slowness.host);
    for (int64_t position = 0; position < positions; ++position) {
      const int64_t stage = position % split.pipeline;
      double exchange = 0;
      if (position > 0)
        exchange =
            borders[size_t((stage + split.pipeline - 1) % split.pipeline)];
      if (position + 1 < positions)
        exchange = std::max(exchange, borders[size_t(stage)]);
      costs.positions[size_t(position)].forward += exchange;
      costs.positions[size_t(position)].input += exchange;
    }
  }
  const auto [ahead, back] = phases(false, false);
  time.forward = phase_seconds(ahead) * double(split.chunks);
  time.backward = phase_seconds(back) * double(split.chunks);
  time.collectives = double(split.chunks) * layers * collectives *
                     (split.recompute == Recompute::full ? 3 : 2);
  time.host_bound =
      time.forward + time.backward -
      double(split.chunks) * (device_seconds(ahead) + device_seconds(back));

  // Of the rank that has most of the parameters.
  const double layer_parameters =
      double(split.chunks) * layers * decoder.layer_parameters() / ranks;
  const double table =
      double(decoder.vocabulary) * double(decoder.hidden) / ranks;
  const double own =
      layer_parameters + table * (split.pipeline == 1 && !decoder.tied ? 2 : 1);
  // The first stages show all places in a node where one can begin.
  auto of_slowest = [&](auto seconds) {
    double most = 0;
    for (int64_t stage = 0;
         stage < std::min(split.pipeline, device.devices_per_node); ++stage)
      most = std::max(most, seconds(Group{split.data, split.tensor,
                                          stage * split.data * split.tensor,
                                          split.tensor}));
    return most * slowness.network;
  };
  const double sent = own * framework.sent_gradient_bytes;
  double gradients = of_slowest([&](const Group &group) {
    return split.sharded_states ? half_reduce_seconds(sent, group, device)
                                : all_reduce_seconds(sent, group, device);
  });
  if (framework.overlaps_gradients) {
    // The embedding's gradient, or a layer's, is the last to be there.
    const double last = std::max(table, decoder.layer_parameters() / ranks);
    gradients = std::max(gradients * std::min(last / own, 1.0),
                         gradients - time.backward);
  }
  time.gradients = gradients;
  if (split.sharded_states)
    time.gradients += of_slowest([&](const Group &group) {
      return half_reduce_seconds(own * framework.weight_bytes, group, device);
    });
  if (split.pipeline > 1 && decoder.tied) {
    const int64_t stage_ranks = split.data * split.tensor;
    time.embedding =
        all_reduce_seconds(
            table * framework.sent_gradient_bytes,
            {2, stage_ranks * (split.pipeline - 1), 0, stage_ranks}, device) *
        slowness.network;
  }
  time.update = own * framework.update_bytes /
                    (split.sharded_states ? double(split.data) : 1) /
                    (device.bandwidth * device.stream_fraction) *
                    slowness.device +
                (framework.host_step +
                 framework.host_step_layer * double(split.chunks) * layers) *
                    slowness.host;
  return time;
}

static pipeline::Schedule schedule(const Split &split, int64_t microbatches) {
  return split.chunks == 1
             ? pipeline::make1F1B(int(split.pipeline), int(microbatches))
             : pipeline::makeInterleaved(int(split.pipeline), int(microbatches),
                                         int(split.chunks));
}

/// What a stage computes of a microbatch.
static double busy_seconds(const Split &split,
                           const pipeline::PipelineCosts &costs,
                           int64_t stage) {
  double busy = 0;
  for (int64_t chunk = 0; chunk < split.chunks; ++chunk) {
    const auto &cost = costs.positions[size_t(chunk * split.pipeline + stage)];
    busy += cost.forward + cost.input;
  }
  return busy;
}

double plan::pipeline_seconds(const Split &split,
                              const pipeline::PipelineCosts &costs) {
  const int64_t microbatches = split.microbatches();
  if (costs.positions.size() == 1)
    return double(microbatches) *
           (costs.positions[0].forward + costs.positions[0].input);
  auto played = [&](int64_t many) {
    return pipeline::simulate(schedule(split, many), costs).total;
  };
  double busiest = 0;
  for (int64_t stage = 0; stage < split.pipeline; ++stage)
    busiest = std::max(busiest, double(split.pipeline) *
                                    busy_seconds(split, costs, stage));
  for (int64_t filling = 4; filling + 3 < microbatches / split.pipeline;
       filling *= 2) {
    const int64_t rounds = microbatches / split.pipeline - filling;
    const int64_t some = microbatches - rounds * split.pipeline;
    const double before = played(some - 2 * split.pipeline);
    const double one = played(some - split.pipeline) - before;
    const double two = played(some) - before;
    // Before the busiest stage is never idle, rounds may be alike and shorter.
    if (std::abs(two - 2 * one) <= 1e-12 * two && one >= busiest * (1 - 1e-12))
      return before + two + double(rounds) * one;
  }
  return played(microbatches);
}

StepTime plan::step_time(const Decoder &decoder, const Framework &framework,
                         const Device &device, const Split &split,
                         const Slowness &slowness) {
  pipeline::PipelineCosts costs;
  StepTime time = parts(decoder, framework, device, split, slowness, costs);
  time.pipeline = pipeline_seconds(split, costs);
  double busy = 0;
  for (int64_t stage = 0; stage < split.pipeline; ++stage)
    busy += busy_seconds(split, costs, stage);
  if (split.pipeline > 1)
    time.bubble = time.pipeline -
                  double(split.microbatches()) * busy / double(split.pipeline);
  time.total = time.pipeline + time.gradients + time.embedding + time.update;
  time.rate =
      step_operations(decoder, split) / time.total / double(split.devices());
  return time;
}

double plan::step_time_bound(const Decoder &decoder, const Framework &framework,
                             const Device &device, const Split &split,
                             const Slowness &slowness) {
  pipeline::PipelineCosts costs;
  const StepTime time =
      parts(decoder, framework, device, split, slowness, costs);
  // A stage begins once the first microbatch has come to it, and is followed
  // by the way back of the last one.
  double slowest = 0, way = 0;
  for (int64_t stage = 0; stage < split.pipeline; ++stage) {
    slowest = std::max(
        slowest,
        double(split.microbatches()) * busy_seconds(split, costs, stage) + way);
    const auto &cost = costs.positions[size_t(stage)];
    way += cost.forward + cost.input;
  }
  // Less what rounding may add.
  return (slowest + time.gradients + time.embedding + time.update) * (1 - 1e-9);
}

StepPicture plan::step_picture(const Decoder &decoder,
                               const Framework &framework, const Device &device,
                               const Split &split, const Slowness &slowness,
                               int64_t most_microbatches) {
  StepPicture picture;
  if (split.pipeline == 1)
    return picture;
  pipeline::PipelineCosts costs;
  parts(decoder, framework, device, split, slowness, costs);
  // An interleaved schedule has a multiple of the stages.
  picture.microbatches =
      std::min(split.microbatches(),
               std::max(most_microbatches / split.pipeline, int64_t(1)) *
                   split.pipeline);
  const pipeline::Schedule order = schedule(split, picture.microbatches);
  picture.svg = pipeline::drawSvg(order, pipeline::simulate(order, costs));
  return picture;
}

/// Microbatches that a stage keeps at most: 1F1B's are as many as stages
/// follow, itself included; of an interleaved schedule chunks are counted, and
/// all are kept where there are no more microbatches than stages.
static double in_flight(const Split &split, int64_t stage) {
  const int64_t microbatches = split.microbatches();
  if (split.chunks == 1)
    return double(std::min(split.pipeline - stage, microbatches));
  const int64_t all = microbatches * split.chunks;
  const int64_t kept =
      microbatches == split.pipeline
          ? all
          : std::min(all, 2 * (split.pipeline - stage - 1) +
                              (split.chunks - 1) * split.pipeline + 1);
  return double(kept) / double(split.chunks);
}

/// Of weights of a layer's products on a rank: those of each shape once.
static double parameters_by_shape(const Decoder &decoder, const Split &split) {
  const int64_t queries = decoder.heads * decoder.head_size / split.tensor;
  const int64_t keys = std::max(decoder.kv_heads, split.tensor) *
                       decoder.head_size / split.tensor;
  const int64_t mlp = decoder.mlp / split.tensor;
  const std::set<std::pair<int64_t, int64_t>> shapes = {
      {queries + 2 * keys, decoder.hidden},
      {decoder.hidden, queries},
      {mlp * (decoder.gated ? 2 : 1), decoder.hidden},
      {decoder.hidden, mlp}};
  double parameters = 0;
  for (const auto &[rows, columns] : shapes)
    parameters += double(rows) * double(columns);
  return parameters;
}

StepMemory plan::step_memory(const Decoder &decoder, const Framework &framework,
                             const Split &split) {
  const double ranks = double(split.tensor);
  const double sequence = double(split.sequence);
  const double rows = sequence * double(split.micro_batch);
  const double table =
      double(decoder.vocabulary) * double(decoder.hidden) / ranks;
  const double layers = double(decoder.layers) / double(split.pipeline);
  const double shared = split.sequence_parallel ? ranks : 1;
  const double width = rows * double(decoder.hidden) / shared;

  // Of one layer, kept of one microbatch. Rows of 2 bytes; masks of 1.
  const double head = double(decoder.head_size);
  const double queries = double(decoder.heads) * head / ranks;
  const double keys =
      double(std::max(decoder.kv_heads, split.tensor)) * head / ranks;
  const double mlp = double(decoder.mlp) / ranks;
  double kept = 2 * 2 * width                     // the norms' inputs
                + 2 * 2 * width                   // what qkv and up read
                + 2 * rows * (queries + 2 * keys) // attention's
                + 2 * rows * queries              // what output reads
                + 2 * rows * mlp * (decoder.gated ? 2 : 1) // before it, and
                + 2 * rows * mlp; // behind the activation
  if (framework.dropout)
    kept += 2 * width;
  // Attention's inside: sums of exponentials, or scores and what is behind
  // them.
  double inside = 4 * rows * queries / head;
  if (!framework.flash_attention)
    inside = double(split.micro_batch) * double(decoder.heads) / ranks *
             sequence * sequence * (framework.dropout ? 5 : 2);
  if (split.recompute != Recompute::selective)
    kept += inside;
  const double border = 2 * width;
  // The layer whose backward runs has gradients of the MLP's inside and of its
  // rows, too.
  double working = 2 * rows * mlp * (decoder.gated ? 3 : 2) + 2 * 2 * width;

  if (split.recompute == Recompute::selective)
    working += inside;

  StepMemory most;
  for (int64_t stage : {int64_t(0), split.pipeline - 1}) {
    const bool last = stage + 1 == split.pipeline;
    StepMemory memory;
    double own = layers * decoder.layer_parameters() / ranks;
    if (stage == 0 || (last && decoder.tied))
      own += table;
    if (last && !decoder.tied)
      own += table;
    if (stage == 0 && decoder.learned_positions)
      own += sequence * double(decoder.hidden);
    memory.weights = own * framework.weight_bytes;
    memory.gradients = own * framework.gradient_bytes;
    memory.states = own * framework.state_bytes /
                    (split.sharded_states ? double(split.data) : 1);
    const double microbatches = in_flight(split, stage);
    memory.activations = working + (split.recompute == Recompute::full
                                        ? microbatches * layers * border + kept
                                        : microbatches * layers * kept);
    if (last)
      // Logits in F32, and their gradient in 16 bits; or that gradient while
      // the head's is made.
      memory.logits = rows * double(decoder.vocabulary) / ranks * 2 +
                      std::max(rows * double(decoder.vocabulary) / ranks * 4,
                               table * framework.placeholder_bytes);
    memory.placeholders =
        parameters_by_shape(decoder, split) * framework.placeholder_bytes;
    memory.reserved = framework.reserved;
    memory.total = memory.weights + memory.gradients + memory.states +
                   memory.activations + memory.logits + memory.placeholders +
                   memory.reserved;
    if (memory.total > most.total)
      most = memory;
  }
  return most;
}

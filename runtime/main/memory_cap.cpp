//===- memory_cap.cpp - what a training run keeps in memory under a cap ---===//

#include "runtime/main/memory_cap.h"

#include "runtime/error.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/table.h"
#include "runtime/main/training_forecast.h"
#include "runtime/weights/memory.h"

#include <algorithm>

namespace baton {

namespace {

/// What the run's flags say of one kind of layers.
uint32_t chosen_layers(const std::string &flag,
                       const std::optional<uint64_t> &given, uint32_t usual,
                       uint32_t layers) {
  if (given.value_or(usual) > layers)
    throw Error(flag + " " + std::to_string(*given) + ": the program has " +
                std::to_string(layers) + " layers that it fetches");
  return static_cast<uint32_t>(given.value_or(usual));
}

/// What takes most of what cannot leave memory, for people.
std::string largest_text(const RankForecast &rank) {
  const auto largest = std::ranges::max_element(
      rank.memory, {}, [](const auto &entry) { return entry.second; });
  return largest == rank.memory.end()
             ? ""
             : ", of them " + bytes_text(double(largest->second)) + " of " +
                   largest->first;
}

} // namespace

std::optional<CappedRun> capped_run(const Metadata &metadata,
                                    const TrainOptions &options,
                                    const BatchShape &shape, unsigned workers) {
  std::optional<TieredLayers> layers =
      TieredLayers::parse(metadata, largest_step(metadata, shape));
  if (!layers) {
    for (auto [flag, given] :
         {std::pair{"--memory", options.memory.has_value()},
          {"--persistent-layers", options.persistent_layers.has_value()},
          {"--swapped-layers", options.swapped_layers.has_value()}})
      if (given)
        throw Error(std::string(flag) + ": this program keeps all in memory; "
                                        "compile one that obeys a cap with "
                                        "batonc --memory=SIZE");
    return std::nullopt;
  }
  if (options.state_memory)
    throw Error("--state-memory: this program obeys a cap on all of its "
                "memory, in which states have their part; leave the flag out, "
                "or give --memory");
  CappedRun run = {
      {std::move(*layers), {}}, metadata.memory_cap, 0, 0, workers};
  if (options.memory)
    run.cap = parse_memory_size("--memory", *options.memory);
  const RankForecast rank =
      forecast_training(metadata, shape, workers).ranks.at(0);
  run.fixed = rank.bytes();
  const uint64_t taken = run.fixed + room_of_process(run.cap);
  const uint64_t most = run.cap > taken ? run.cap - taken : 0;
  const TieredLayers &tiered = run.tiered.layers;
  const uint32_t count = tiered.layers();
  const std::string cap = "--memory: " + bytes_text(double(run.cap));
  const bool chosen = options.persistent_layers || options.swapped_layers;
  if (!chosen) {
    std::optional<Residence> best = tiered.choose(most, workers);
    const uint64_t least = tiered.peak({0, count}, workers);
    if (!best)
      throw Error(cap + " is too little for a step of " +
                  std::to_string(shape.rows) + " times " +
                  std::to_string(shape.length) +
                  " tokens: " + bytes_text(double(run.fixed)) +
                  " stay in memory" + largest_text(rank) + ", " +
                  bytes_text(double(room_of_process(run.cap))) +
                  " are the program's own, and " + bytes_text(double(least)) +
                  " of layers are there at once; give at least " +
                  bytes_text(double(round_up(run.fixed + least +
                                                 room_of_process(run.cap) +
                                                 (run.fixed + least) / 64,
                                             uint64_t(1) << 20))) +
                  ", or fewer tokens a step");
    run.tiered.residence = *best;
  } else {
    Residence &residence = run.tiered.residence;
    residence.persistent = chosen_layers("--persistent-layers",
                                         options.persistent_layers, 0, count);
    residence.swapped =
        chosen_layers("--swapped-layers", options.swapped_layers, count, count);
  }
  run.layers = tiered.peak(run.tiered.residence, workers);
  if (run.layers > most)
    throw Error(cap + " is too little for " +
                std::to_string(run.tiered.residence.persistent) +
                " layers that stay and " +
                std::to_string(count - run.tiered.residence.swapped) +
                " whose saved values do: that takes " +
                bytes_text(double(run.layers)) + " beside " +
                bytes_text(double(taken)) +
                " of all else; give a larger cap, fewer --persistent-layers "
                "or more --swapped-layers");
  return run;
}

nlohmann::ordered_json capped_run_json(const CappedRun &run) {
  const TieredLayers &layers = run.tiered.layers;
  const TieredLayers::Moved moved =
      layers.moved(run.tiered.residence, run.workers);
  return {{"cap", run.cap},
          {"fixed_bytes", run.fixed},
          {"layer_bytes", run.layers},
          {"layers", layers.layers()},
          {"slots", layers.slots()},
          {"persistent_layers", run.tiered.residence.persistent},
          {"swapped_layers", run.tiered.residence.swapped},
          {"forward_bytes", moved.all_forward()},
          {"backward_bytes", moved.all_backward()},
          {"update_bytes", moved.update}};
}

std::string capped_run_text(const CappedRun &run) {
  const TieredLayers &layers = run.tiered.layers;
  const Residence &residence = run.tiered.residence;
  const TieredLayers::Moved moved = layers.moved(residence, run.workers);
  const std::string of = " of " + std::to_string(layers.layers());
  Table table;
  table.add({"cap", bytes_text(double(run.cap))});
  table.add({"layers in slots", std::to_string(layers.slots()) + of});
  table.add({"layers that stay", std::to_string(residence.persistent) + of});
  table.add(
      {"layers whose saved values go", std::to_string(residence.swapped) + of});
  table.add({"fetched forward", bytes_text(double(moved.all_forward()))});
  table.add({"fetched backward", bytes_text(double(moved.all_backward()))});
  table.add({"moved by updates", bytes_text(double(moved.update))});
  return "tiers of memory\n" + table.text(2);
}

} // namespace baton

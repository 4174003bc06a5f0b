//===- training_forecast.cpp - what a training run will take --------------===//

#include "runtime/main/training_forecast.h"

#include "runtime/comm/mesh.h"
#include "runtime/error.h"
#include "runtime/execute/pipeline.h"
#include "runtime/execute/program_memory.h"
#include "runtime/execute/tiered_layers.h"
#include "runtime/execute/touched_memory.h"
#include "runtime/main/table.h"

#include <algorithm>
#include <set>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

BatonStep step_of(const BatchShape &shape, const Mesh &mesh, bool updates) {
  const uint64_t rows = shape.rows / mesh.batch_place(0).count * shape.length;
  return {static_cast<uint32_t>(rows), 0, updates ? 1u : 0u, 0};
}

uint64_t tasks_of(const Metadata &metadata, const ProgramDescription &program,
                  const BatonStep &step) {
  uint64_t tasks = 0;
  for (uint32_t i = 0; i < program.phases; ++i) {
    const PhaseDescription &phase = metadata.phases[program.first_phase + i];
    tasks += phase.tasks(step) * static_cast<uint64_t>(phase.repeat);
  }
  return tasks;
}

/// Events, and what each worker has for itself.
uint64_t worker_bytes(const Metadata &metadata, unsigned workers) {
  const uint64_t words = metadata.event_words;
  return words * cache_line +
         workers * (words * sizeof(uint32_t) + metadata.scratch_bytes);
}

void add(RankForecast &rank, const char *what, uint64_t bytes) {
  if (bytes)
    rank.memory.emplace_back(what, bytes);
}

void add_frozen(RankForecast &rank, const MemoryNeeds &needs) {
  add(rank, "frozen weights", needs.weights - needs.tables);
  add(rank, "frozen tables", needs.tables);
}

/// Of a program that every rank runs alike.
RankForecast forecast_rank(const Metadata &metadata, const BatchShape &shape,
                           unsigned workers) {
  const Mesh mesh = Mesh::parse(metadata.json);
  const ProgramDescription &program = metadata.programs.front();
  const uint64_t sequences = shape.rows / mesh.batch_place(0).count;
  RankForecast rank;
  for (uint64_t i = 0; i < shape.accumulation; ++i) {
    const bool updates = i + 1 == shape.accumulation;
    rank.tasks += tasks_of(metadata, program, step_of(shape, mesh, updates));
    rank.costs += step_costs(metadata.json.at("programs").at(0), sequences,
                             shape.length, updates);
  }
  const MemoryNeeds needs = memory_needs(metadata, 0);
  const bool on_device = !metadata.device.is_null();
  // A device has all of what is reserved.
  std::vector<uint64_t> transient;
  if (!on_device)
    transient = touched_bytes(metadata, program,
                              step_of(shape, mesh, /*updates=*/true), 0);
  std::vector<size_t> elsewhere;
  if (const auto tiered =
          TieredLayers::parse(metadata, largest_step(metadata, shape)))
    elsewhere = tiered->storages();
  std::map<std::string, uint64_t> uses =
      training_memory(metadata, needs, transient, elsewhere);
  for (auto [use, what] : training_uses)
    if (use == std::string("frozen"))
      add_frozen(rank, needs);
    else
      add(rank, what, uses[use]);
  add(rank, "activations", uses["activations"]);
  if (!on_device)
    add(rank, "workers", worker_bytes(metadata, workers));
  return rank;
}

/// Of the rank at a place of a pipeline.
RankForecast forecast_place(const Metadata &metadata, const Pipeline &pipeline,
                            uint32_t place, const BatchShape &shape,
                            unsigned workers) {
  const Mesh mesh = Mesh::parse(metadata.json);
  const uint64_t sequences = shape.rows / mesh.batch_place(0).count;
  RankForecast rank;
  for (const StageCall &call : pipeline.calls(place)) {
    const bool runs = call.microbatch.has_value();
    const BatonStep step =
        runs ? step_of(shape, mesh, /*updates=*/false) : BatonStep{1, 0, 1, 0};
    rank.tasks += tasks_of(metadata, metadata.programs[call.program], step);
    rank.costs +=
        step_costs(metadata.json.at("programs").at(call.program),
                   runs ? sequences : 1, runs ? shape.length : 1, !runs);
  }
  // What is kept is all touched, and of what is of a microbatch a part, on
  // pages of one region.
  const StageLayout layout(pipeline, place);
  const uint64_t kept = layout.shared_bytes + layout.stage_bytes,
                 transient = kept + layout.flight_bytes * layout.slots;
  const uint64_t page = page_of_region(layout.bytes());
  std::set<uint64_t> pages;
  for (const StageCall &call : pipeline.calls(place)) {
    std::vector<std::optional<uint64_t>> begins(metadata.storages.size());
    const std::vector<StorageUse> &uses = pipeline.uses[call.program];
    for (size_t i = 0; i < uses.size(); ++i)
      if (uses[i].scope == StorageUse::Scope::Transient)
        begins[uses[i].storage] = transient + layout.transient[call.program][i];
      else if (uses[i].scope == StorageUse::Scope::Stage &&
               uses[i].slot == "flight")
        begins[uses[i].storage] =
            kept + call.slot * layout.flight_bytes +
            StageLayout::find(layout.flight, uses[i].storage, call.chunk).begin;
    const BatonStep step = call.microbatch
                               ? step_of(shape, mesh, /*updates=*/false)
                               : BatonStep{1, 0, 1, 0};
    add_touched_pages(metadata, metadata.programs[call.program], step, page,
                      begins, pages);
  }
  uint64_t in_flight = 0, activations = 0;
  for (uint64_t number : pages)
    if (number * page >= transient)
      activations += page;
    else if (number * page >= kept)
      in_flight += page;
  const uint32_t first = mesh.group(0, {pipeline.axis})[place];
  add_frozen(rank, memory_needs(metadata, first));
  add(rank, "weights, gradients, states", kept);
  add(rank, "microbatches in flight", in_flight);
  add(rank, "activations", activations);
  add(rank, "workers", worker_bytes(metadata, workers));
  return rank;
}

std::string plan_text(const Metadata &metadata, const BatchShape &shape,
                      const TrainingForecast &forecast) {
  const Mesh mesh = Mesh::parse(metadata.json);
  Table table;
  table.add(
      {"step",
       std::to_string(shape.accumulation) +
           (shape.accumulation == 1 ? " microbatch of " : " microbatches of ") +
           count_text(shape.rows, "sequence") + " of " +
           count_text(shape.length, "token") + ": " +
           std::to_string(shape.sequences_per_step() * shape.length) +
           " tokens"});
  table.add({"ranks", mesh.ranks() == 1
                          ? std::string("1")
                          : std::to_string(mesh.ranks()) + ", " + mesh.text()});
  std::string tasks;
  for (const RankForecast &rank : forecast.ranks)
    tasks += (tasks.empty() ? "" : ", ") + std::to_string(rank.tasks);
  table.add({"phases", std::to_string(forecast.phases)});
  table.add({"tasks", tasks + (mesh.ranks() > 1 ? " of a rank" : "")});
  return "plan\n" + table.text(2);
}

std::string memory_text(const TrainingForecast &forecast,
                        const MachineForecast &machine, uint32_t ranks) {
  Table table({1});
  size_t place = 0;
  for (const RankForecast &rank : forecast.ranks) {
    if (forecast.ranks.size() > 1)
      table.add({"stage " + std::to_string(place++)});
    for (const auto &[what, bytes] : rank.memory)
      table.add({what, bytes_text(double(bytes))});
    if (ranks > 1)
      table.add({"of a rank", bytes_text(double(rank.bytes()))});
  }
  if (machine.process)
    table.add({"the program itself", bytes_text(double(machine.process))});
  const uint64_t all = forecast.bytes() + machine.process;
  table.add({ranks > 1 ? "of all ranks" : "in all", bytes_text(double(all))});
  return "memory\n" + table.text(2) + memory_verdict(machine, all);
}

} // namespace

BatonStep largest_step(const Metadata &metadata, const BatchShape &shape) {
  return step_of(shape, Mesh::parse(metadata.json), /*updates=*/true);
}

uint64_t RankForecast::bytes() const {
  uint64_t sum = 0;
  for (const auto &[what, bytes] : memory)
    sum += bytes;
  return sum;
}

StepCosts TrainingForecast::costs() const {
  StepCosts sum;
  for (const RankForecast &rank : ranks)
    for (uint32_t i = 0; i < alike; ++i)
      sum += rank.costs;
  return sum;
}

uint64_t TrainingForecast::bytes() const {
  uint64_t sum = 0;
  for (const RankForecast &rank : ranks)
    sum += rank.bytes();
  return sum * alike;
}

double TrainingForecast::seconds(double flops_per_second,
                                 double bytes_per_second) const {
  return costs().seconds(flops_per_second, bytes_per_second) / (1 - bubble);
}

TrainingForecast forecast_training(const Metadata &metadata,
                                   const BatchShape &shape, unsigned workers) {
  const Mesh mesh = Mesh::parse(metadata.json);
  TrainingForecast forecast;
  forecast.phases = metadata.phases.size();
  try {
    if (const auto pipeline = Pipeline::parse(metadata.json)) {
      for (uint32_t place = 0; place < pipeline->places; ++place)
        forecast.ranks.push_back(
            forecast_place(metadata, *pipeline, place, shape, workers));
      forecast.bubble = std::clamp(pipeline->bubble, 0.0, 0.99);
    } else {
      forecast.ranks.push_back(forecast_rank(metadata, shape, workers));
    }
  } catch (const nlohmann::json::exception &failure) {
    throw Error(std::string("this program's description is damaged: ") +
                failure.what());
  }
  forecast.alike = mesh.ranks() / static_cast<uint32_t>(forecast.ranks.size());
  return forecast;
}

Json forecast_json(const Metadata &metadata, const BatchShape &shape,
                   const TrainingForecast &forecast,
                   const MachineForecast &machine) {
  const Mesh mesh = Mesh::parse(metadata.json);
  const uint64_t tokens = shape.sequences_per_step() * shape.length;
  Json ranks = Json::array();
  for (const RankForecast &rank : forecast.ranks) {
    Json memory = Json::object();
    for (const auto &[what, bytes] : rank.memory)
      memory[what] = bytes;
    ranks.push_back({{"alike", forecast.alike},
                     {"tasks", rank.tasks},
                     {"flops", rank.costs.flops()},
                     {"memory", std::move(memory)},
                     {"bytes", rank.bytes()}});
  }
  const StepCosts costs = forecast.costs();
  Json kinds = Json::object();
  for (const auto &[name, amount] : costs.kinds)
    kinds[name] = {{"flops", amount.flops}, {"bytes", amount.bytes}};
  Json result = {{"plan",
                  {{"sequences", shape.rows},
                   {"tokens_of_a_sequence", shape.length},
                   {"microbatches", shape.accumulation},
                   {"tokens", tokens},
                   {"ranks", mesh.ranks()},
                   {"mesh", mesh.text()},
                   {"phases", forecast.phases}}},
                 {"ranks", std::move(ranks)},
                 {"bytes", forecast.bytes() + machine.process},
                 {"process_bytes", machine.process},
                 {"flops", costs.flops()},
                 {"kinds", std::move(kinds)},
                 {"machine", machine_json(machine)}};
  if (machine.flops > 0) {
    const double seconds = forecast.seconds(machine.flops, machine.bytes);
    result["seconds_at_least"] = seconds;
    result["tokens_per_s_at_most"] = double(tokens) / seconds;
  }
  return result;
}

std::string forecast_text(const Metadata &metadata, const BatchShape &shape,
                          const TrainingForecast &forecast,
                          const MachineForecast &machine) {
  const uint32_t ranks = Mesh::parse(metadata.json).ranks();
  std::string text = plan_text(metadata, shape, forecast) +
                     memory_text(forecast, machine, ranks);
  const StepCosts costs = forecast.costs();
  Table table({1, 2, 3});
  auto row = [&](const std::string &name, const StepCosts &of) {
    std::vector<std::string> cells = {name, scaled_text(of.flops(), "FLOP"),
                                      scaled_text(of.bytes(), "B")};
    if (machine.flops > 0)
      cells.push_back(seconds_text(of.seconds(machine.flops, machine.bytes)));
    table.add(cells);
  };
  for (const auto &[name, amount] : costs.kinds) {
    StepCosts one;
    one.kinds[name] = amount;
    row(name, one);
  }
  row("step", costs);
  text += ranks > 1 ? "computation of a step, of all ranks\n"
                    : "computation of a step\n";
  text += table.text(2);
  if (machine.flops == 0)
    return text;
  const double seconds = forecast.seconds(machine.flops, machine.bytes);
  const double tokens = double(shape.sequences_per_step() * shape.length);
  text += "time\n  a step takes at least " + seconds_text(seconds) + ", " +
          fixed_text(tokens / seconds, tokens / seconds < 10 ? 2 : 0) +
          " tokens/s at most: " + speed_text(machine) + "\n";
  if (forecast.bubble > 0)
    text += "  stages idle " + percent_text(forecast.bubble) + " of it\n";
  return text;
}

} // namespace baton

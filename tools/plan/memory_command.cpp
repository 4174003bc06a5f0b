//===- memory_command.cpp - batonc plan memory ----------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/execute/team.h"
#include "runtime/main/free_memory.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/output.h"
#include "runtime/main/table.h"
#include "runtime/main/training_forecast.h"
#include "tools/command/child.h"
#include "tools/plan/baton_costs.h"
#include "tools/plan/describe.h"
#include "tools/plan/memory_search.h"
#include "tools/plan/page.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/this_machine.h"

#include <algorithm>
#include <memory>

#include <unistd.h>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string model, dtype, optimizer, output, folder = ".", cap, html;
  uint64_t memory = 0, batch = 8, sequence = 0, workers = 0;
  uint32_t slots = 4;
  bool json = false;
};

/// A program as batonc would make it, and what its training step takes.
struct Candidate {
  Metadata metadata;
  MemoryProgram program;
  std::vector<std::pair<std::string, uint64_t>> fixed;
};

/// Looks for a plan, from the first question to batonc to the last one.
class MemoryPlanner {
public:
  explicit MemoryPlanner(const Options &options)
      : options(options), workers(options.workers ? unsigned(options.workers)
                                                  : available_workers()),
        device(this_machine_cut(1, workers)),
        scratch(std::filesystem::temp_directory_path() /
                ("baton-plan-" + std::to_string(getpid()))) {}

  void run();

private:
  Flags compile_flags(const std::string &recompute, uint32_t slots) const;
  Flags train_flags(const MemoryPlan &plan) const;
  /// Throws Error with batonc's reason.
  Candidate describe(const std::string &recompute, uint32_t slots) const;
  LayerTimes times_of(const Metadata &metadata, const TieredLayers &layers,
                      const std::string &recompute) const;
  [[noreturn]] void refuse() const;
  Json json_of(const MemoryPlan &plan) const;
  std::string heading() const;
  std::string facts() const;
  std::string text(const MemorySearchResult &result) const;
  std::string times_picture(const MemorySearchResult &result) const;
  std::string memory_picture(const MemorySearchResult &result) const;
  std::string moves_picture(const MemoryPlan &plan) const;
  void write_html(const MemorySearchResult &result) const;
  std::string commands(const MemoryPlan &plan) const;

  const Options &options;
  const unsigned workers;
  const Device device;
  const ScratchFolder scratch;
  std::vector<Candidate> candidates;
  MemorySearchOptions wanted;
};

} // namespace

Flags MemoryPlanner::compile_flags(const std::string &recompute,
                                   uint32_t slots) const {
  Flags flags = {{"--mode", "train"},
                 {"--memory", std::to_string(options.memory)},
                 {"--memory-slots", std::to_string(slots)}};
  if (recompute != "none")
    flags.emplace_back("--recompute", recompute);
  if (!options.dtype.empty())
    flags.emplace_back("--dtype", options.dtype);
  if (!options.optimizer.empty())
    flags.emplace_back("--optimizer", options.optimizer);
  return flags;
}

Flags MemoryPlanner::train_flags(const MemoryPlan &plan) const {
  return {{"--batch", std::to_string(options.batch)},
          {"--seq", std::to_string(options.sequence)},
          {"--workers", std::to_string(workers)},
          {"--persistent-layers", std::to_string(plan.residence.persistent)},
          {"--swapped-layers", std::to_string(plan.residence.swapped)}};
}

LayerTimes MemoryPlanner::times_of(const Metadata &metadata,
                                   const TieredLayers &layers,
                                   const std::string &recompute) const {
  BatonSplit split;
  split.sequences = int64_t(options.batch);
  split.length = int64_t(options.sequence);
  const BatonTime time = forecast(metadata, split, device, workers).time;
  // Products of the backward step are twice those of the forward one, and once
  // more where these are repeated.
  const double forward = time.computation / (recompute == "full" ? 4 : 3);
  LayerTimes times;
  times.forward = forward / layers.layers();
  times.backward = (time.computation - forward) / layers.layers();
  times.others = time.update;
  return times;
}

Candidate MemoryPlanner::describe(const std::string &recompute,
                                  uint32_t slots) const {
  Described described = describe_program(
      batonc_beside_this(), options.model, compile_flags(recompute, slots),
      options.batch * options.sequence, scratch.path / "description");
  if (!described.metadata)
    throw Error("batonc refuses " + options.model + ": " + described.refusal);
  Candidate candidate = {std::move(*described.metadata), {}, {}};
  const BatchShape shape = {options.batch, options.sequence, 1};
  std::optional<TieredLayers> layers = TieredLayers::parse(
      candidate.metadata, largest_step(candidate.metadata, shape));
  if (!layers)
    throw Error(options.model + ": no stack of it has two layers or more, so "
                                "that nothing takes turns in memory");
  const RankForecast rank =
      forecast_training(candidate.metadata, shape, workers).ranks.at(0);
  candidate.fixed = rank.memory;
  const LayerTimes times = times_of(candidate.metadata, *layers, recompute);
  candidate.program = {recompute, std::move(*layers), times, rank.bytes()};
  return candidate;
}

void MemoryPlanner::refuse() const {
  const Candidate *least = nullptr;
  uint64_t bytes = 0;
  for (const Candidate &candidate : candidates) {
    TieredLayers layers = candidate.program.layers;
    layers.set_slots(1);
    const uint64_t own =
        candidate.program.fixed + layers.peak({0, layers.layers()}, workers);
    if (!least || own < bytes) {
      least = &candidate;
      bytes = own;
    }
  }
  std::pair<std::string, uint64_t> most;
  for (const auto &part : least->fixed)
    if (part.second > most.second)
      most = part;
  throw Error("--memory: " + bytes_text(double(options.memory)) +
              " is too little for " + options.model + " in steps of " +
              std::to_string(options.batch * options.sequence) +
              " tokens: with --recompute=" + least->program.recompute +
              ", one layer at a time and all saved values in the file, " +
              bytes_text(double(bytes)) + " are in memory, most of it " +
              most.first + ", " + bytes_text(double(most.second)) + ", and " +
              bytes_text(double(room_of_process(options.memory))) +
              " are the program's own; give more, or fewer tokens a step");
}

Json MemoryPlanner::json_of(const MemoryPlan &plan) const {
  const Candidate &candidate = candidates.at(plan.program);
  return {{"recompute", candidate.program.recompute},
          {"slots", plan.slots},
          {"persistent_layers", plan.residence.persistent},
          {"swapped_layers", plan.residence.swapped},
          {"layers", candidate.program.layers.layers()},
          {"bytes", candidate.program.fixed + plan.layer_bytes},
          {"fixed_bytes", candidate.program.fixed},
          {"layer_bytes", plan.layer_bytes},
          {"seconds", plan.seconds()},
          {"time",
           {{"computation", plan.computation},
            {"forward", plan.forward},
            {"backward", plan.backward},
            {"update", plan.update}}},
          {"compile",
           flags_json(compile_flags(candidate.program.recompute, plan.slots))},
          {"train", flags_json(train_flags(plan))}};
}

std::string MemoryPlanner::commands(const MemoryPlan &plan) const {
  const Flags compile =
      compile_flags(candidates.at(plan.program).program.recompute, plan.slots);
  return "batonc " + options.model + " " + text_of(compile) +
         " -o trainer\n./trainer train " + text_of(train_flags(plan)) +
         " --data TEXT --out RUN";
}

std::string MemoryPlanner::text(const MemorySearchResult &result) const {
  Table table({1, 2, 3, 4, 5, 6, 7, 8});
  table.add({"recompute", "slots", "stay", "swapped", "memory", "seconds",
             "computation", "moves", "updates"});
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string &recompute = candidates[i].program.recompute;
    const std::optional<MemoryPlan> &plan = result.of_program[i];
    if (!plan) {
      table.add({recompute, "", "", "", "too large"});
      continue;
    }
    table.add(
        {recompute, std::to_string(plan->slots),
         std::to_string(plan->residence.persistent),
         std::to_string(plan->residence.swapped),
         bytes_text(double(candidates[i].program.fixed + plan->layer_bytes)),
         fixed_text(plan->seconds(), 3), fixed_text(plan->computation, 3),
         fixed_text(plan->forward + plan->backward, 3),
         fixed_text(plan->update, 3)});
  }
  return heading() + "\n\n" + table.text(0) + "\n" + commands(*result.best) +
         "\n\n" + std::to_string(result.timed) + " of " +
         std::to_string(result.all) +
         " plans were timed; no other is faster\n" + facts() + "\n";
}

std::string MemoryPlanner::heading() const {
  return options.model + ", " +
         std::to_string(candidates.front().program.layers.layers()) +
         " layers, under " + bytes_text(double(options.memory)) +
         " in steps of " + std::to_string(options.batch) + " times " +
         std::to_string(options.sequence) + " tokens";
}

std::string MemoryPlanner::facts() const {
  std::string rates =
      "Chunks come at " + fixed_text(wanted.rates.mapped / 1e9, 1) + " GB/s";
  if (wanted.rates.uncached > 0)
    rates += ", of which the disk reads " +
             percent_text(wanted.rates.uncached) + " at " +
             fixed_text(wanted.rates.disk / 1e9, 1) + " GB/s";
  return rates + ", measured now. " + device.source;
}

std::string
MemoryPlanner::times_picture(const MemorySearchResult &result) const {
  std::vector<Bar> bars;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (const std::optional<MemoryPlan> &plan = result.of_program[i])
      bars.push_back(
          {"recompute " + candidates[i].program.recompute,
           {plan->computation, plan->forward, plan->backward, plan->update}});
  return stacked_bars(
      {"computation", "moves forward", "moves backward", "moves of updates"},
      bars, "s");
}

std::string
MemoryPlanner::memory_picture(const MemorySearchResult &result) const {
  std::vector<std::string> parts = {"layers and states"};
  for (const Candidate &candidate : candidates)
    for (const auto &[what, bytes] : candidate.fixed)
      if (bytes && std::find(parts.begin(), parts.end(), what) == parts.end())
        parts.push_back(what);
  std::vector<Bar> bars;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::optional<MemoryPlan> &plan = result.of_program[i];
    if (!plan)
      continue;
    Bar bar = {"recompute " + candidates[i].program.recompute,
               std::vector<double>(parts.size())};
    bar.parts[0] = double(plan->layer_bytes) / (1 << 20);
    for (const auto &[what, bytes] : candidates[i].fixed)
      if (bytes)
        bar.parts[std::find(parts.begin(), parts.end(), what) -
                  parts.begin()] += double(bytes) / (1 << 20);
    bars.push_back(bar);
  }
  return stacked_bars(parts, bars, "MiB");
}

/// What comes before each layer of a step computes, forward, then backward.
std::string MemoryPlanner::moves_picture(const MemoryPlan &plan) const {
  TieredLayers layers = candidates.at(plan.program).program.layers;
  layers.set_slots(plan.slots);
  const TieredLayers::Moved moved = layers.moved(plan.residence, workers);
  std::vector<Point> points;
  auto add = [&](uint32_t layer, uint64_t bytes, const char *direction) {
    points.push_back({double(points.size()), double(bytes) / (1 << 20),
                      "layer " + std::to_string(layer) + " " + direction +
                          ": " + bytes_text(double(bytes))});
  };
  for (uint32_t layer = 0; layer < layers.layers(); ++layer)
    add(layer, moved.forward[layer], "forward");
  for (uint32_t layer = layers.layers(); layer-- > 0;)
    add(layer, moved.backward[layer], "backward");
  return scatter(points, "layers as they compute, forward, then backward",
                 "MiB that come before", Axes::linear);
}

void MemoryPlanner::write_html(const MemorySearchResult &result) const {
  const MemoryPlan &best = *result.best;
  write_page(
      options.html, "batonc plan memory " + options.model,
      {{"A step's time",
        heading() + ". The fastest plan of each mode of recomputing; of all, " +
            std::to_string(result.all) + ", none is faster than recompute " +
            candidates.at(best.program).program.recompute + ", with " +
            fixed_text(best.seconds(), 3) + " s.",
        times_picture(result)},
       {"Memory", "At most, in the same plans.", memory_picture(result)},
       {"What moves",
        "Weights and gradients of the first " +
            std::to_string(best.residence.persistent) +
            " layers stay; saved values of the first " +
            std::to_string(best.residence.swapped) +
            " are in the file between the forward and the backward step. The "
            "others take turns in " +
            std::to_string(best.slots) + " slots.",
        moves_picture(best)},
       {"How it is run", "", "<pre>" + escaped(commands(best)) + "</pre>\n"},
       {"Facts", facts(), ""}});
}

void MemoryPlanner::run() {
  check_plan_file(options.output);
  for (const char *recompute : {"none", "selective", "full"})
    candidates.push_back(describe(recompute, 1));
  for (const Candidate &candidate : candidates)
    wanted.programs.push_back(candidate.program);
  // What further slots take is not in the first description.
  constexpr uint64_t of_slots = uint64_t(16) << 10;
  const uint64_t own = room_of_process(options.memory) + of_slots;
  wanted.most = options.memory > own ? options.memory - own : 0;
  wanted.most_slots = options.slots;
  wanted.workers = workers;
  uint64_t file = 0;
  for (const Candidate &candidate : candidates)
    file = std::max(file, candidate.program.layers.used_bytes());
  const uint64_t free = free_memory().value_or(file + options.memory);
  wanted.rates = measure_tier(
      options.folder, file, free > options.memory ? free - options.memory : 0);
  MemorySearchResult result = search_memory(wanted);
  if (!result.best)
    refuse();
  // As it will be, to the byte.
  MemoryPlan &best = *result.best;
  Candidate final =
      describe(candidates.at(best.program).program.recompute, best.slots);
  best.layer_bytes = final.program.layers.peak(best.residence, workers);
  result.of_program.at(best.program) = best;
  candidates.at(best.program) = std::move(final);
  const uint64_t bytes =
      candidates.at(best.program).program.fixed + best.layer_bytes;
  if (!options.output.empty())
    write_plan(options.output, options.model,
               compile_flags(candidates.at(best.program).program.recompute,
                             best.slots),
               train_flags(best), best.seconds(), double(bytes));
  if (!options.html.empty())
    write_html(result);
  if (!options.json) {
    baton::print(text(result));
    return;
  }
  Json plans = Json::array();
  for (const std::optional<MemoryPlan> &plan : result.of_program)
    if (plan)
      plans.push_back(json_of(*plan));
  baton::print(
      text_of(Json{{"model", options.model},
                   {"cap", options.memory},
                   {"sequences", options.batch},
                   {"tokens_of_a_sequence", options.sequence},
                   {"workers", workers},
                   {"best", json_of(best)},
                   {"of_each_recompute", std::move(plans)},
                   {"plans", {{"timed", result.timed}, {"all", result.all}}},
                   {"tier",
                    {{"mapped_bytes_per_s", wanted.rates.mapped},
                     {"disk_bytes_per_s", wanted.rates.disk},
                     {"uncached", wanted.rates.uncached}}}}));
}

void plan::add_memory_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "memory", "finds how a model trains fastest under a cap on memory: which "
                "layers stay, which take turns, what is computed again");
  command->footer(
      "Examples:\n"
      "  batonc plan memory ./llama --memory 6GiB --batch 1 --seq 512 -o "
      "plan.json\n"
      "  batonc ./llama --plan=plan.json -o trainer     compile it\n");
  command->add_option("MODEL", options->model, "what batonc compiles")
      ->required();
  command
      ->add_option("--memory", options->cap,
                   "what a run may have resident, as 512MiB or 6GiB")
      ->type_name("SIZE")
      ->required();
  command->add_option("--batch", options->batch, "sequences of a step")
      ->type_name("N")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 20))
      ->capture_default_str();
  command->add_option("--seq", options->sequence, "tokens of a sequence")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 20));
  command
      ->add_option("--slots", options->slots,
                   "most layers that there is room for at once, beside those "
                   "that stay")
      ->type_name("N")
      ->check(CLI::Range(uint32_t(1), uint32_t(64)))
      ->capture_default_str();
  command
      ->add_option("--workers", options->workers,
                   "threads; one for each core without it")
      ->type_name("N")
      ->check(CLI::Range(uint64_t(1), uint64_t(max_workers)));
  command
      ->add_option("--offload-dir", options->folder,
                   "the folder that will have what is not in memory, whose "
                   "rates are measured")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, "as of batonc")
      ->type_name("TYPE");
  command->add_option("--optimizer", options->optimizer, "as of batonc")
      ->type_name("NAME");
  command
      ->add_option(
          "-o", options->output,
          "a file for the plan, too: batonc MODEL --plan=FILE compiles "
          "it")
      ->type_name("FILE");
  command
      ->add_option("--html", options->html,
                   "a page with pictures of times, memory and moves, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    options->memory = parse_memory_size("--memory", options->cap);
    MemoryPlanner(*options).run();
  });
}

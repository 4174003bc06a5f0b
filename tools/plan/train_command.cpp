//===- train_command.cpp - batonc plan train ------------------------------===//

#include "tools/plan/commands.h"
#include "tools/plan/describe.h"

#include "runtime/error.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "tools/plan/judge.h"
#include "tools/plan/page.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/search.h"
#include "tools/plan/train_options.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdio>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

using Options = TrainOptions;

/// What batonc takes to split a model so, and its program's train. What is
/// recomputed inside of attention only has no flag: batonc's selective means
/// another choice.
static BatonSplit for_batonc(const Split &split) {
  BatonSplit same;
  same.data = split.data;
  same.tensor = split.tensor;
  same.pipeline = split.pipeline;
  same.chunks = split.chunks;
  same.schedule = split.chunks > 1 ? "interleaved" : "1f1b";
  same.microbatches = split.microbatches();
  same.sequences = split.micro_batch;
  same.length = split.sequence;
  same.zero = split.sharded_states ? 1 : 0;
  same.sequence_parallel = split.sequence_parallel;
  if (split.recompute == Recompute::full)
    same.recompute = Recompute::full;
  return same;
}

static std::string flags(const Split &split) {
  return text_of(for_batonc(split).compile_flags());
}

static Json to_json(const Plan &plan, const Device &device) {
  const Split &split = plan.split;
  const StepTime &time = plan.time;
  const StepMemory &memory = plan.memory;
  Json json;
  json["split"] = {{"tensor", split.tensor},
                   {"pipeline", split.pipeline},
                   {"data", split.data},
                   {"chunks", split.chunks},
                   {"micro_batch", split.micro_batch},
                   {"microbatches", split.microbatches()},
                   {"recompute", name(split.recompute)},
                   {"sharded_states", split.sharded_states},
                   {"sequence_parallel", split.sequence_parallel}};
  json["flags"] = flags(split);
  json["seconds"] = time.total;
  json["operations_per_second"] = time.rate * double(split.devices());
  json["tokens_per_second"] =
      double(split.global_batch * split.sequence) / time.total;
  json["flops_utilization"] = time.rate / device.matmul_rate;
  json["time"] = {{"pipeline", time.pipeline},
                  {"bubble", time.bubble},
                  {"forward", time.forward},
                  {"backward", time.backward},
                  {"collectives", time.collectives},
                  {"host_bound", time.host_bound},
                  {"gradients", time.gradients},
                  {"embedding", time.embedding},
                  {"update", time.update}};
  json["memory"] = {{"total", memory.total},
                    {"weights", memory.weights},
                    {"gradients", memory.gradients},
                    {"states", memory.states},
                    {"activations", memory.activations},
                    {"logits", memory.logits},
                    {"placeholders", memory.placeholders},
                    {"reserved", memory.reserved}};
  return json;
}

static std::string with(const Split &split) {
  std::string text;
  auto add = [&](bool on, const char *what) {
    if (on)
      text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(split.recompute == Recompute::selective, "selective recompute");
  add(split.recompute == Recompute::full, "recompute");
  add(split.sharded_states, "sharded states");
  add(split.sequence_parallel, "sequence parallel");
  return text.empty() ? "-" : text;
}

/// The first row has the columns' names.
static std::vector<std::vector<std::string>>
rows(const std::vector<Plan> &plans, const Device &device) {
  std::vector<std::vector<std::string>> rows = {
      {"", "tp", "pp", "dp", "chunks", "micro", "with", "seconds", "bubble",
       "utilization", "tokens/s", "memory"}};
  for (size_t at = 0; at < plans.size(); ++at) {
    const Plan &plan = plans[at];
    const Split &split = plan.split;
    rows.push_back(
        {std::to_string(at + 1), std::to_string(split.tensor),
         std::to_string(split.pipeline), std::to_string(split.data),
         std::to_string(split.chunks), std::to_string(split.micro_batch),
         with(split), fixed_text(plan.time.total, 3),
         percent_text(plan.time.bubble / plan.time.total),
         percent_text(plan.time.rate / device.matmul_rate),
         fixed_text(
             double(split.global_batch * split.sequence) / plan.time.total, 0),
         bytes_text(plan.memory.total)});
  }
  return rows;
}

static std::string heading(const Options &options,
                           const SearchOptions &wanted) {
  char parameters[32];
  std::snprintf(parameters, sizeof parameters, "%.3g",
                wanted.decoder.parameters(options.sequence));
  return options.model + ": " + parameters + " parameters on " +
         std::to_string(options.devices) + " x " + wanted.device.name + ", " +
         wanted.framework.name + "; " + std::to_string(options.global_batch) +
         " sequences of " + std::to_string(options.sequence) + " tokens a step";
}

static std::string counts(const SearchResult &result) {
  return std::to_string(result.legal) + " splits have whole parts, " +
         std::to_string(result.fitting) + " of them fit; " +
         std::to_string(result.simulated) + " were played out" +
         (result.complete ? ", others cannot be among these"
                          : " until you stopped it");
}

static std::string slowness(const Options &options,
                            const SearchOptions &wanted) {
  if (options.measured.empty())
    return "Nothing measured calibrates this: --measured does.";
  return options.measured + ", row " + std::to_string(options.calibrate) +
         ", says that devices are " + fixed_text(wanted.slowness.device, 3) +
         ", hosts " + fixed_text(wanted.slowness.host, 3) + " and networks " +
         fixed_text(wanted.slowness.network, 3) + " times as slow.";
}

static std::string to_text(const Options &options, const SearchOptions &wanted,
                           const SearchResult &result) {
  Table table({0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11});
  for (const std::vector<std::string> &row : rows(result.plans, wanted.device))
    table.add(row);
  return heading(options, wanted) + "\n\n" + table.text(0) +
         "\nThe first, for batonc: " + flags(result.plans[0].split) + "\n" +
         counts(result) + "\n" + slowness(options, wanted) + "\n" +
         wanted.device.source + "\n" + wanted.framework.source + "\n";
}

/// Microbatches that a picture of a pipeline shows.
static constexpr int64_t most_drawn = 16;

static void write_html(const Options &options, const SearchOptions &wanted,
                       const SearchResult &result) {
  std::vector<Bar> times, memories;
  for (const Plan &plan : result.plans) {
    const Split &split = plan.split;
    const std::string label = "tp " + std::to_string(split.tensor) + " pp " +
                              std::to_string(split.pipeline) + " dp " +
                              std::to_string(split.data) + " chunks " +
                              std::to_string(split.chunks) + " micro " +
                              std::to_string(split.micro_batch);
    const StepTime &time = plan.time;
    times.push_back({label,
                     {time.pipeline - time.bubble, time.bubble, time.gradients,
                      time.embedding, time.update}});
    const StepMemory &memory = plan.memory;
    memories.push_back(
        {label,
         {memory.weights / 1e9, memory.gradients / 1e9, memory.states / 1e9,
          memory.activations / 1e9, memory.logits / 1e9,
          memory.placeholders / 1e9, memory.reserved / 1e9}});
  }
  std::vector<Point> front;
  for (const Plan &plan : result.front)
    front.push_back({plan.memory.total / 1e9, plan.time.total,
                     flags(plan.split) + ": " + fixed_text(plan.time.total, 3) +
                         " s, " + bytes_text(plan.memory.total),
                     false});
  std::vector<Section> sections = {
      {"The fastest plans",
       "The first, for batonc: " + flags(result.plans[0].split) + ". " +
           counts(result) + ".",
       html_table(rows(result.plans, wanted.device))},
      {"What a step takes", "",
       stacked_bars({"busy", "bubble", "gradients", "embedding", "update"},
                    times, "s")},
      {"What a device holds", "",
       stacked_bars({"weights", "gradients", "states", "activations", "logits",
                     "placeholders", "libraries"},
                    memories, "GB")}};
  if (front.size() > 1)
    sections.push_back(
        {"Memory against time",
         "Plans than which no other takes both less memory and "
         "less time. Point at one for its flags.",
         scatter(front, "GB of a device", "seconds", Axes::linear)});
  const Split &first = result.plans[0].split;
  const StepPicture timeline =
      step_picture(wanted.decoder, wanted.framework, wanted.device, first,
                   wanted.slowness, most_drawn);
  if (!timeline.svg.empty())
    sections.push_back({"The first plan's pipeline",
                        first.microbatches() > timeline.microbatches
                            ? "The first of " +
                                  std::to_string(first.microbatches()) +
                                  " microbatches, as if there were no others."
                            : "",
                        "<div class=\"wide\">" + timeline.svg + "</div>\n"});
  sections.push_back(
      {"Facts", wanted.device.source + " " + wanted.framework.source, ""});
  write_page(options.html, heading(options, wanted), sections);
}

[[noreturn]] static void refuse_memory(const Options &options, double memory,
                                       const SearchResult &result) {
  const StepMemory &least = result.smallest.memory;
  const std::pair<double, const char *> parts[] = {
      {least.weights, "weights"},
      {least.gradients, "gradients"},
      {least.states, "optimizer states"},
      {least.activations, "activations"},
      {least.logits, "logits"},
      {least.placeholders, "placeholders of gradients"},
      {least.reserved, "what libraries take"}};
  const auto most = *std::max_element(std::begin(parts), std::end(parts));
  throw Error(options.model + " does not fit " +
              std::to_string(options.devices) + " devices of " +
              bytes_text(memory) + ": the split that takes least (" +
              flags(result.smallest.split) + ") takes " +
              bytes_text(least.total) + " of each, most of it " + most.second +
              " (" + bytes_text(most.first) + ")");
}

/// What only --framework=baton has.
static void add_baton_flags(CLI::App &command, Options &options) {
  command
      .add_option("--dtype", options.dtype,
                  "--framework=baton: batonc's --dtype")
      ->type_name("TYPE");
  command
      .add_option("--optimizer", options.optimizer,
                  "--framework=baton: batonc's --optimizer")
      ->type_name("OPTIMIZER");
  command
      .add_option("--target", options.target,
                  "--framework=baton: batonc's --target, such as cuda:sm_90a "
                  "for an H100")
      ->type_name("TARGET");
  command
      .add_option("--workers", options.workers,
                  "--framework=baton, on CPUs: threads of a rank; all cores "
                  "together without it")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(256)));
}

static void check_baton_flags(const Options &options) {
  if (!options.measured.empty())
    throw Error("--measured: batonc's own programs are planned as they are; "
                "leave it out with --framework=baton");
}

static void refuse_baton_flags(const Options &options) {
  const std::pair<const char *, bool> given[] = {
      {"--dtype", !options.dtype.empty()},
      {"--optimizer", !options.optimizer.empty()},
      {"--target", !options.target.empty()},
      {"--workers", options.workers > 0},
      {"--device=this-machine", options.device == this_machine}};
  for (auto [flag, is_given] : given)
    if (is_given)
      throw Error(std::string(flag) + " is for --framework=baton");
}

/// What is looked for, and of which machines.
static SearchOptions wanted_of(const Options &options) {
  SearchOptions wanted;
  wanted.decoder = read_decoder(options.model);
  wanted.device = read_device(options.device);
  wanted.framework = read_framework(options.framework);
  wanted.devices = options.devices;
  wanted.global_batch = options.global_batch;
  wanted.sequence = options.sequence;
  wanted.memory =
      options.memory > 0 ? options.memory * 1e9 : .95 * wanted.device.memory;
  wanted.front = options.json || !options.html.empty();
  if (!options.measured.empty()) {
    const MeasuredTable table =
        read_measured_table(options.measured, usual_vocabulary);
    wanted.slowness =
        judge(table.steps,
              calibrating_row(table, options.measured, options.calibrate),
              wanted.device, wanted.framework, std::nullopt)
            .slowness;
  }
  wanted.wanted = options.top;
  return wanted;
}

/// An interrupted search has the best so far.
static SearchResult searched(const Options &options, SearchOptions &wanted) {
  std::atomic<bool> stopped = false;
  const Interruptible interruptible(stopped);
  Progress progress("planning", options.quiet);
  wanted.progress = [&](uint64_t done, uint64_t total,
                        const std::string &best) {
    progress.update(done, total, best);
    check_interrupted();
  };
  SearchResult result = search(wanted);
  if (result.plans.empty() && !result.complete)
    check_interrupted();
  return result;
}

static Json to_json(const Options &options, const SearchOptions &wanted,
                    const SearchResult &result) {
  Json json;
  json["model"] = options.model;
  json["parameters"] = wanted.decoder.parameters(options.sequence);
  json["device"] = wanted.device.name;
  json["framework"] = wanted.framework.name;
  json["devices"] = options.devices;
  json["global_batch"] = options.global_batch;
  json["sequence"] = options.sequence;
  json["slowness"] = {{"device", wanted.slowness.device},
                      {"host", wanted.slowness.host},
                      {"network", wanted.slowness.network}};
  json["legal"] = result.legal;
  json["fitting"] = result.fitting;
  json["simulated"] = result.simulated;
  json["complete"] = result.complete;
  json["plans"] = Json::array();
  for (const Plan &plan : result.plans)
    json["plans"].push_back(to_json(plan, wanted.device));
  json["front"] = Json::array();
  for (const Plan &plan : result.front)
    json["front"].push_back({{"flags", flags(plan.split)},
                             {"seconds", plan.time.total},
                             {"memory", plan.memory.total}});
  return json;
}

static void plan_with(const Options &options) {
  check_plan_file(options.output);
  SearchOptions wanted = wanted_of(options);
  const SearchResult result = searched(options, wanted);
  if (result.plans.empty())
    refuse_memory(options, wanted.memory, result);
  if (!options.output.empty()) {
    const Plan &first = result.plans[0];
    const BatonSplit split = for_batonc(first.split);
    write_plan(options.output, options.model, split.compile_flags(),
               split.train_flags(), first.time.total, first.memory.total);
  }
  if (!options.html.empty())
    write_html(options, wanted, result);
  if (!options.json) {
    baton::print(to_text(options, wanted, result));
    return;
  }
  baton::print(text_of(to_json(options, wanted, result)));
}

void plan::add_train_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "train", "finds the fastest splits of a model over devices: data, tensor "
               "and pipeline parallel");
  command->footer(
      "Examples:\n"
      "  batonc plan train --model ./llama --devices 64 --device h100-80gb "
      "--global-batch 512 --sequence 4096\n"
      "  batonc plan train --model ./llama --framework baton --device "
      "this-machine --devices 2 --global-batch 8 --sequence 512 -o plan.json\n"
      "  batonc ./llama --plan=plan.json -o trainer     compile the first\n");
  command
      ->add_option("--model", options->model,
                   "a checkpoint folder, or a config.json")
      ->required();
  command->add_option("--devices", options->devices, "how many there are")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  command
      ->add_option("--global-batch", options->global_batch,
                   "sequences of a step")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24));
  command->add_option("--sequence", options->sequence, "tokens of a sequence")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  command
      ->add_option("--device", options->device,
                   "the devices: a name, or a file; or this-machine, of which "
                   "each is a part then (--framework=baton)")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      ->add_option("--framework", options->framework,
                   "what trains: a name, or a file; or baton, which is batonc "
                   "itself: each split that may be among the fastest is "
                   "planned by it, to the byte")
      ->type_name("FRAMEWORK")
      ->capture_default_str();
  command
      ->add_option("--memory-gb", options->memory,
                   "what may be taken of a device, in 1e9 bytes; 95 % of what "
                   "it has without it")
      ->type_name("X")
      ->check(CLI::Range(1e-3, 1e9));
  CLI::Option *measured =
      command
          ->add_option("--measured", options->measured,
                       "a table as of batonc plan judge, of which a row tells "
                       "how slow the devices, hosts and networks are; data "
                       "sheets know only how fast they could be")
          ->type_name("TABLE.csv");
  CLI::Option *row =
      command->add_option("--calibrate", options->calibrate, "that row, from 1")
          ->type_name("ROW")
          ->check(CLI::Range(int64_t(1), int64_t(1) << 32))
          ->needs(measured);
  measured->needs(row);
  command->add_option("--top", options->top, "plans that are printed")
      ->type_name("N")
      ->check(CLI::Range(size_t(1), size_t(1000)))
      ->capture_default_str();
  command
      ->add_option("--html", options->html,
                   "a page with pictures of the plans, too")
      ->type_name("FILE");
  command
      ->add_option("-o", options->output,
                   "a file for the first plan, too: batonc MODEL --plan=FILE "
                   "compiles it")
      ->type_name("FILE");
  add_baton_flags(*command, *options);
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->callback([options] {
    if (options->framework == baton_framework) {
      check_baton_flags(*options);
      plan_with_baton(*options, batonc_beside_this());
      return;
    }
    refuse_baton_flags(*options);
    plan_with(*options);
  });
}

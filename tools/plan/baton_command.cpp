//===- baton_command.cpp - batonc plan train --framework=baton ------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/execute/team.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "runtime/train/training_tensors.h"
#include "tools/command/child.h"
#include "tools/plan/baton_search.h"
#include "tools/plan/describe.h"
#include "tools/plan/page.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/this_machine.h"
#include "tools/plan/train_options.h"

#include <algorithm>
#include <atomic>
#include <fstream>

#include <unistd.h>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

/// Bytes of states for each parameter, at least.
static double state_bytes(const std::string &optimizer) {
  if (optimizer.empty() || optimizer == "adamw")
    return 8;
  return 0;
}

/// Flags that all splits share.
static Flags shared_flags(const TrainOptions &options) {
  Flags flags;
  auto add = [&](const char *flag, const std::string &value) {
    if (!value.empty())
      flags.emplace_back(flag, value);
  };
  add("--dtype", options.dtype);
  add("--optimizer", options.optimizer);
  add("--target", options.target);
  return flags;
}

static Flags compile_flags(const TrainOptions &options,
                           const BatonSplit &split) {
  Flags flags = split.compile_flags();
  for (const auto &flag : shared_flags(options))
    flags.push_back(flag);
  return flags;
}

/// Data sheets have one rate of products.
static void check_type(const TrainOptions &options, const Metadata &metadata) {
  const std::string type = compute_type(metadata);
  if (type != "bf16" && type != "f16")
    throw Error("--device=" + options.device +
                " has the rate of products of 16-bit numbers, and the program "
                "computes in " +
                type + "; --dtype=bf16 is for such");
}

static std::string with(const BatonSplit &split) {
  std::string text;
  auto add = [&](const std::string &what) {
    text += (text.empty() ? "" : ", ") + what;
  };
  if (split.pipeline > 1)
    add(split.chunks > 1 ? split.schedule + ":" + std::to_string(split.chunks)
                         : split.schedule);
  if (split.recompute != Recompute::none)
    add(std::string(name(split.recompute)) + " recompute");
  if (split.zero > 0)
    add("ZeRO " + std::to_string(split.zero));
  if (split.sequence_parallel)
    add("sequence parallel");
  return text.empty() ? "-" : text;
}

/// The first row has the columns' names.
static std::vector<std::vector<std::string>>
rows(const std::vector<BatonPlan> &plans) {
  std::vector<std::vector<std::string>> rows = {
      {"", "tp", "pp", "dp", "microbatches", "sequences", "with", "seconds",
       "bubble", "exchanges", "tokens/s", "memory"}};
  for (size_t at = 0; at < plans.size(); ++at) {
    const BatonSplit &split = plans[at].split;
    const BatonTime &time = plans[at].forecast.time;
    rows.push_back(
        {std::to_string(at + 1), std::to_string(split.tensor),
         std::to_string(split.pipeline), std::to_string(split.data),
         std::to_string(split.microbatches), std::to_string(split.sequences),
         with(split), fixed_text(time.total, 3),
         percent_text(time.bubble / time.total),
         percent_text((time.exchanges + time.gradients) / time.total),
         fixed_text(double(split.global_batch() * split.length) / time.total,
                    0),
         bytes_text(double(plans[at].forecast.rank.bytes()))});
  }
  return rows;
}

static Json json_of(const TrainOptions &options, const BatonPlan &plan) {
  const BatonSplit &split = plan.split;
  const BatonTime &time = plan.forecast.time;
  Json json;
  json["split"] = {
      {"tensor", split.tensor},
      {"pipeline", split.pipeline},
      {"data", split.data},
      {"schedule", split.pipeline > 1 ? Json(split.schedule) : Json(nullptr)},
      {"chunks", split.chunks},
      {"microbatches", split.microbatches},
      {"sequences", split.sequences},
      {"recompute", name(split.recompute)},
      {"zero", split.zero},
      {"sequence_parallel", split.sequence_parallel}};
  json["flags"] = text_of(compile_flags(options, split));
  json["compile"] = flags_json(compile_flags(options, split));
  json["train"] = flags_json(split.train_flags());
  json["seconds"] = time.total;
  json["operations_per_second"] = time.rate * double(split.ranks());
  json["tokens_per_second"] =
      double(split.global_batch() * split.length) / time.total;
  json["time"] = {
      {"pipeline", time.pipeline},       {"bubble", time.bubble},
      {"computation", time.computation}, {"exchanges", time.exchanges},
      {"gradients", time.gradients},     {"update", time.update}};
  Json memory = {{"total", plan.forecast.rank.bytes()}};
  for (const auto &[what, bytes] : plan.forecast.rank.memory)
    memory[what] = bytes;
  json["memory"] = std::move(memory);
  return json;
}

static std::string heading(const TrainOptions &options, const Device &device,
                           const Decoder &decoder) {
  char parameters[32];
  std::snprintf(parameters, sizeof parameters, "%.3g",
                decoder.parameters(options.sequence));
  return options.model + ": " + parameters + " parameters on " +
         std::to_string(options.devices) + " x " + device.name +
         ", batonc's own programs; " + std::to_string(options.global_batch) +
         " sequences of " + std::to_string(options.sequence) + " tokens a step";
}

static std::string counts(const BatonSearchResult &result) {
  std::string text =
      std::to_string(result.splits) + " splits have whole parts; " +
      (result.too_large ? std::to_string(result.too_large) + " cannot fit, "
                        : std::string()) +
      std::to_string(result.described) + " were planned by batonc, of which " +
      std::to_string(result.fitting) + " fit" +
      (result.complete ? "; others cannot be among these"
                       : ", until you stopped it");
  for (const auto &[refusal, times] : result.refusals)
    text += "\nbatonc refuses " + std::to_string(times) + ": " + refusal;
  return text;
}

/// For the first plan: what to type.
static std::string commands(const TrainOptions &options,
                            const BatonSplit &split) {
  return "batonc " + options.model + " " +
         text_of(compile_flags(options, split)) + " -o trainer\n" +
         "./trainer train " + text_of(split.train_flags()) +
         " --data TEXT --out RUN";
}

static std::string to_text(const TrainOptions &options, const Device &device,
                           const Decoder &decoder,
                           const BatonSearchResult &result) {
  Table table({0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11});
  for (const std::vector<std::string> &row : rows(result.plans))
    table.add(row);
  Table memory({1});
  for (const auto &[what, bytes] : result.plans[0].forecast.rank.memory)
    memory.add({what, bytes_text(double(bytes))});
  return heading(options, device, decoder) + "\n\n" + table.text(0) +
         "\nThe first one's memory, of the rank that takes most\n" +
         memory.text(2) + "\n" + commands(options, result.plans[0].split) +
         "\n\n" + counts(result) + "\n" + device.source + "\n";
}

static void write_html(const TrainOptions &options, const Device &device,
                       const Decoder &decoder, const BatonSearchResult &result,
                       const std::string &picture) {
  // Parts differ from plan to plan.
  std::vector<std::string> names;
  for (const BatonPlan &plan : result.plans)
    for (const auto &[what, bytes] : plan.forecast.rank.memory)
      if (std::find(names.begin(), names.end(), what) == names.end())
        names.push_back(what);
  std::vector<Bar> times, memories;
  for (const BatonPlan &plan : result.plans) {
    const BatonTime &time = plan.forecast.time;
    const std::string label = plan.split.mesh() + " x " +
                              std::to_string(plan.split.microbatches) + ", " +
                              with(plan.split);
    const double busy = time.pipeline - time.bubble;
    const double exchanges = std::min(time.exchanges, busy);
    times.push_back({label,
                     {busy - exchanges, exchanges, time.bubble, time.gradients,
                      time.update}});
    std::vector<double> sizes(names.size());
    for (const auto &[what, bytes] : plan.forecast.rank.memory)
      sizes[size_t(std::find(names.begin(), names.end(), what) -
                   names.begin())] = double(bytes) / 1e9;
    memories.push_back({label, sizes});
  }
  std::vector<Section> sections = {
      {"The fastest plans",
       commands(options, result.plans[0].split) + ". " + counts(result) + ".",
       html_table(rows(result.plans))},
      {"What a step takes", "",
       stacked_bars(
           {"computation", "exchanges", "bubble", "gradients", "update"}, times,
           "s")},
      {"What a rank holds", "", stacked_bars(names, memories, "GB")}};
  std::vector<Point> front;
  for (const BatonPlan &plan : result.front)
    front.push_back({double(plan.forecast.rank.bytes()) / 1e9,
                     plan.forecast.time.total,
                     text_of(compile_flags(options, plan.split)) + ": " +
                         fixed_text(plan.forecast.time.total, 3) + " s, " +
                         bytes_text(double(plan.forecast.rank.bytes())),
                     false});
  if (front.size() > 1)
    sections.push_back(
        {"Memory against time",
         "Of the plans that batonc was asked for, those than "
         "which no other takes both less memory and less time. "
         "Point at one for its flags.",
         scatter(front, "GB of a rank", "seconds", Axes::linear)});
  if (!picture.empty())
    sections.push_back({"The first plan's pipeline", "",
                        "<div class=\"wide\">" + picture + "</div>\n"});
  sections.push_back({"Facts", device.source, ""});
  write_page(options.html, heading(options, device, decoder), sections);
}

[[noreturn]] static void refuse(const TrainOptions &options, double memory,
                                const BatonSearchResult &result) {
  const std::string begin = options.model + " does not fit " +
                            std::to_string(options.devices) + " devices of " +
                            bytes_text(memory) + ": ";
  if (!result.smallest) {
    if (result.refusals.empty())
      throw Error(begin + "weights, gradients, the optimizer's states and what "
                          "layers keep of rows are larger, however they are "
                          "cut");
    const auto most = std::max_element(
        result.refusals.begin(), result.refusals.end(),
        [](const auto &a, const auto &b) { return a.second < b.second; });
    throw Error("batonc refuses all splits of " + options.model +
                " that could fit; most of them, " +
                std::to_string(most->second) + ", since: " + most->first);
  }
  const BatonPlan &least = *result.smallest;
  const auto &parts = least.forecast.rank.memory;
  const auto most = *std::max_element(
      parts.begin(), parts.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  throw Error(begin + "the split that takes least (" +
              text_of(least.split.compile_flags()) + ") takes " +
              bytes_text(double(least.forecast.rank.bytes())) +
              " of each, most of it " + most.first + " (" +
              bytes_text(double(most.second)) + ")");
}

static Json json_of(const TrainOptions &options,
                    const BatonSearchOptions &wanted,
                    const BatonSearchResult &result) {
  Json json;
  json["model"] = options.model;
  json["parameters"] = wanted.decoder.parameters(options.sequence);
  json["device"] = wanted.device.name;
  json["framework"] = baton_framework;
  json["devices"] = options.devices;
  json["global_batch"] = options.global_batch;
  json["sequence"] = options.sequence;
  json["memory_limit"] = wanted.memory;
  json["splits"] = result.splits;
  json["too_large"] = result.too_large;
  json["described"] = result.described;
  json["fitting"] = result.fitting;
  json["refusals"] = result.refusals;
  json["complete"] = result.complete;
  json["plans"] = Json::array();
  for (const BatonPlan &plan : result.plans)
    json["plans"].push_back(json_of(options, plan));
  json["front"] = Json::array();
  for (const BatonPlan &plan : result.front)
    json["front"].push_back(
        {{"flags", text_of(compile_flags(options, plan.split))},
         {"seconds", plan.forecast.time.total},
         {"memory", plan.forecast.rank.bytes()}});
  return json;
}

void plan::plan_with_baton(const TrainOptions &options,
                           const std::string &batonc) {
  check_plan_file(options.output);
  const bool here = options.device == this_machine;
  const unsigned workers =
      options.workers > 0 ? unsigned(options.workers)
      : here ? std::max(1U, available_workers() / unsigned(options.devices))
             : 1U;
  if (here && options.devices * workers > max_workers)
    throw Error("--devices=" + std::to_string(options.devices) +
                ": this machine does not run as many ranks");
  BatonSearchOptions wanted;
  const std::filesystem::path model =
      std::filesystem::path(options.model).filename() == "config.json"
          ? std::filesystem::path(options.model).parent_path()
          : std::filesystem::path(options.model);
  wanted.decoder = read_decoder(options.model);
  wanted.device = here ? this_machine_cut(options.devices, workers)
                       : read_device(options.device);
  if (options.target.empty() && !here && !wanted.device.measured)
    throw Error("--target is missing: which code is it that " + options.device +
                " runs? cuda:sm_80 for an A100, cuda:sm_90a for an H100 or "
                "H200, cpu for CPUs; --device=" +
                std::string(this_machine) +
                " and files of batonc calibrate need none");
  wanted.splits =
      all_splits({wanted.decoder, options.devices, options.global_batch,
                  options.sequence, wanted.device.devices_per_node});
  wanted.memory =
      options.memory > 0 ? options.memory * 1e9 : .95 * wanted.device.memory;
  wanted.states = state_bytes(options.optimizer);
  wanted.workers = workers;
  wanted.wanted = options.top;
  wanted.parallel = available_workers();
  const ScratchFolder scratch(std::filesystem::temp_directory_path() /
                              ("baton-plan-" + std::to_string(getpid())));
  std::atomic<unsigned> number = 0;
  const auto describe = [&](const Flags &flags) {
    return describe_program(
        batonc, model.empty() ? "." : model, flags, /*rows=*/0,
        scratch.path / ("description-" + std::to_string(number++)));
  };
  DescribedOnce once(describe);
  wanted.describe = [&](const BatonSplit &split) {
    const Flags flags = compile_flags(options, split);
    // Those of pipelines differ in their microbatches.
    Described described = split.pipeline == 1 ? once(flags) : describe(flags);
    limit_rows(described, uint64_t(split.sequences * split.length));
    if (described.metadata && !here && !wanted.device.measured)
      check_type(options, *described.metadata);
    return described;
  };
  BatonSearchResult result;
  {
    std::atomic<bool> stopped = false;
    const Interruptible interruptible(stopped);
    Progress progress("planning", options.quiet);
    wanted.progress = [&](uint64_t done, uint64_t total,
                          const std::string &best) {
      progress.update(done, total, best);
      check_interrupted();
    };
    result = search(wanted);
  }
  if (result.plans.empty())
    refuse(options, wanted.memory, result);
  const BatonPlan &first = result.plans[0];
  if (!options.output.empty())
    write_plan(options.output, options.model,
               compile_flags(options, first.split), first.split.train_flags(),
               first.forecast.time.total, double(first.forecast.rank.bytes()));
  if (!options.html.empty()) {
    std::string picture;
    if (first.split.pipeline > 1)
      picture = forecast(*wanted.describe(first.split).metadata, first.split,
                         wanted.device, workers, /*draws=*/true)
                    .picture;
    write_html(options, wanted.device, wanted.decoder, result, picture);
  }
  if (!options.json) {
    baton::print(to_text(options, wanted.device, wanted.decoder, result));
    return;
  }
  baton::print(text_of(json_of(options, wanted, result)));
}

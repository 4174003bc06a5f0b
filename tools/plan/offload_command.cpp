//===- offload_command.cpp - batonc plan offload --------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/execute/team.h"
#include "runtime/files/temporary.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "tools/command/child.h"
#include "tools/plan/describe.h"
#include "tools/plan/offload_plan.h"
#include "tools/plan/this_machine.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <unistd.h>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string model, memory, device = "this-machine", folder = ".", out;
  std::string dtype, kv_type;
  uint64_t prompt = 128, generate = 128, sequences = 64, workers = 0;
  /// GB/s and bytes.
  double disk = 0, process = 40e6;
  std::vector<uint64_t> batches;
  bool json = false, quiet = false;
};

/// One size of a step.
struct Candidate {
  uint64_t sequences = 0, rows = 0, steps_of_prompts = 0, blocks = 0;
  OffloadNeeds needs;
  OffloadForecast forecast;
  /// Of all sequences.
  double seconds = 0, tokens_per_second = 0;
  /// Why there is none.
  std::string refusal;
};
} // namespace

static Flags flags_of(const Options &options, const Candidate &one) {
  Flags flags = {
      {"--max-batch", std::to_string(one.sequences)},
      {"--max-rows", std::to_string(one.rows)},
      {"--max-seq", std::to_string(options.prompt + options.generate)},
      {"--offload", ""}};
  if (!options.dtype.empty())
    flags.emplace_back("--dtype", options.dtype);
  if (!options.kv_type.empty())
    flags.emplace_back("--kv-type", options.kv_type);
  return flags;
}

/// The pages that all sequences may need.
static uint64_t pages_of_all(const Options &options, uint64_t sequences) {
  return sequences * pages_of(options.prompt + options.generate);
}

/// What the program is run with.
static std::string run_flags(const Options &options, const Candidate &one) {
  const OffloadPlan &plan = one.forecast.plan;
  return "--memory=" + options.memory + " --kv-memory=" +
         std::to_string(one.needs.pages * one.needs.page_bytes) +
         " --kv-in-memory=" +
         std::to_string(plan.staying_pages * one.needs.page_bytes);
}

static Candidate plan_one(const Options &options, const Metadata &metadata,
                          Candidate one, const OffloadMachine &machine,
                          unsigned workers, uint64_t limit) {
  one.needs =
      offload_needs(metadata, workers, pages_of_all(options, one.sequences),
                    uint64_t(options.process));
  auto step_at = [&](double positions) {
    return offload_step(metadata, one.needs, machine, one.sequences, positions);
  };
  // Tokens come behind the prompt; on average half of them are there.
  const OffloadStep step =
      step_at(double(options.prompt) + double(options.generate) / 2);
  // Places of the ring and the system's pages are whole.
  uint64_t ring = 0;
  place_layers(one.needs.weights.pieces, one.needs.layers, 0, &ring);
  const double slack = std::max(0.0, double(ring) - 2 * step.layer_weights) +
                       double(HugeRegion::alignment);
  const auto shares =
      best_shares(step, one.needs, machine, double(limit) - slack);
  const std::string flag = "--memory: " + options.memory;
  if (!shares) {
    // Says what takes how much.
    plan_offload(one.needs, limit, 0, flag);
    throw Error(flag + " holds no more than the least of it; give more");
  }
  one.forecast = forecast(step, one.needs, machine, limit, *shares, flag);
  // Steps of prompts have more rows, of the same sequences.
  OffloadMachine wide = machine;
  const double factor = std::max(1.0, double(one.rows) / double(one.sequences));
  wide.operation_rate /= factor;
  const OffloadStep prompts = offload_step(
      metadata, one.needs, wide, one.sequences, double(options.prompt) / 2);
  const double prompt_step =
      forecast(prompts, one.needs, machine, limit, *shares, flag).step_seconds;
  one.steps_of_prompts =
      (one.sequences * options.prompt + one.rows - 1) / one.rows;
  one.blocks = (options.sequences + one.sequences - 1) / one.sequences;
  one.seconds = double(one.blocks) *
                (double(one.steps_of_prompts) * prompt_step +
                 double(options.generate) * one.forecast.step_seconds);
  one.tokens_per_second =
      double(options.sequences * options.generate) / one.seconds;
  return one;
}

static std::string command_lines(const Options &options, const Candidate &one) {
  return "batonc " + options.model + " " + text_of(flags_of(options, one)) +
         " -o model\n./model batch --weights " + options.model +
         " --requests in.jsonl --out out.jsonl --max-new-tokens " +
         std::to_string(options.generate) + " " + run_flags(options, one) +
         "\n";
}

static Json to_json(const Options &options, const Candidate &one) {
  if (!one.refusal.empty())
    return {{"max_batch", one.sequences}, {"refusal", one.refusal}};
  const OffloadForecast &forecast = one.forecast;
  const LayerPlacement &weights = forecast.plan.weights;
  return {{"max_batch", one.sequences},
          {"max_rows", one.rows},
          {"blocks", one.blocks},
          {"weights_in_memory", forecast.shares.weights},
          {"kv_in_memory", forecast.shares.pages},
          {"pages", one.needs.pages},
          {"pages_in_memory", forecast.plan.staying_pages},
          {"layer_weights", weights.staying_bytes},
          {"ring", weights.memory() - weights.staying_bytes},
          {"moved_weights", weights.moved_bytes},
          {"planned", forecast.plan.memory},
          {"process", one.needs.process},
          {"buffers", one.needs.activations},
          {"fixed_weights", one.needs.weights.fixed},
          {"step_s", forecast.step_seconds},
          {"step_weights_read", forecast.weights_read},
          {"step_pages_read", forecast.pages_read},
          {"step_pages_written", forecast.pages_written},
          {"seconds", one.seconds},
          {"tokens_per_s", one.tokens_per_second},
          {"compile", text_of(flags_of(options, one))},
          {"run", run_flags(options, one)}};
}

static std::string to_text(const Options &options,
                           const std::vector<Candidate> &all,
                           const Candidate &best) {
  Table table({0, 1, 2, 3, 4, 5, 6});
  table.add({"sequences", "weights in memory", "pages in memory", "in all",
             "from disk, a step", "a step", "tokens/s", ""});
  for (const Candidate &one : all) {
    if (!one.refusal.empty()) {
      table.add(
          {std::to_string(one.sequences), "", "", "", "", "", "", one.refusal});
      continue;
    }
    const OffloadForecast &forecast = one.forecast;
    table.add(
        {std::to_string(one.sequences), percent_text(forecast.shares.weights),
         percent_text(forecast.shares.pages),
         bytes_text(double(forecast.plan.memory)),
         bytes_text(forecast.weights_read + forecast.pages_read),
         fixed_text(forecast.step_seconds * 1e3, 1) + " ms",
         fixed_text(one.tokens_per_second, 2), &one == &best ? "<-" : ""});
  }
  return table.text(0) + "\n" + command_lines(options, best);
}

static void run(const Options &options) {
  const uint64_t limit = parse_memory_size("--memory", options.memory);
  const unsigned workers =
      options.workers ? unsigned(options.workers) : available_workers();
  OffloadMachine machine;
  machine.disk_rate = options.disk * 1e9;
  Device device;
  if (options.device == "this-machine") {
    device = this_machine_cut(1, workers);
    if (machine.disk_rate == 0)
      machine.disk_rate = measure_disk_rate(options.folder);
  } else {
    device = read_device(options.device);
    if (machine.disk_rate == 0)
      throw Error("--disk: " + options.device +
                  " does not say how fast its machine's disk is; give GB/s");
  }
  machine.memory_rate = device.bandwidth * device.stream_fraction;
  machine.operation_rate = device.matmul_rate * device.matmul_fraction;

  std::vector<uint64_t> batches = options.batches;
  if (batches.empty())
    for (uint64_t size = 1; size <= options.sequences; size *= 2)
      batches.push_back(size);
  const ScratchFolder scratch(std::filesystem::temp_directory_path() /
                              ("baton-plan-" + std::to_string(getpid())));
  Progress progress("planning", options.quiet);
  std::vector<Candidate> all;
  for (uint64_t sequences : batches) {
    progress.update(all.size(), batches.size());
    Candidate one;
    one.sequences = sequences;
    // Prompts share steps as far as rows are for nothing: a tile's.
    one.rows = std::max<uint64_t>(sequences, 64);
    try {
      const Described described = describe_program(
          batonc_beside_this(), options.model, flags_of(options, one), one.rows,
          scratch.path / "description");
      if (!described.metadata)
        throw Error(described.refusal);
      one =
          plan_one(options, *described.metadata, one, machine, workers, limit);
    } catch (const Error &error) {
      one.refusal = error.what();
    }
    all.push_back(std::move(one));
  }
  const auto best = std::max_element(
      all.begin(), all.end(), [](const Candidate &a, const Candidate &b) {
        return a.tokens_per_second < b.tokens_per_second;
      });
  if (!best->refusal.empty())
    throw Error(options.model + " does not run so: " + all.front().refusal);
  Json json = {{"model", options.model},
               {"memory", limit},
               {"disk_rate", machine.disk_rate},
               {"memory_rate", machine.memory_rate},
               {"operation_rate", machine.operation_rate},
               {"best", to_json(options, *best)},
               {"all", Json::array()}};
  for (const Candidate &one : all)
    json["all"].push_back(to_json(options, one));
  if (!options.out.empty()) {
    TemporaryFile file(options.out);
    const std::string text = text_of(json);
    file.write(text.data(), text.size(), 0);
    file.publish();
  }
  print(options.json ? text_of(json) : to_text(options, all, *best));
}

void plan::add_offload_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "offload",
      "how many sequences share a step, and which parts of weights, keys and "
      "values stay in memory, where a model is larger than that");
  command->footer(
      "Examples:\n"
      "  batonc plan offload --model ./llama --memory 8GiB --prompt 512 "
      "--generate 64\n"
      "  batonc plan offload --model ./llama --memory 8GiB --device "
      "here.json --disk 2.5 --json");
  command->add_option("--model", options->model, "a checkpoint folder")
      ->required();
  command
      ->add_option("--memory", options->memory,
                   "the most that the program has in memory, as in 4GiB")
      ->required();
  command->add_option("--prompt", options->prompt, "tokens of a prompt")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--generate", options->generate, "tokens of an answer")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--sequences", options->sequences,
                   "how many there are, in blocks of --max-batch")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--max-batch", options->batches,
                   "sizes of a block that are tried; powers of two without it")
      ->delimiter(',');
  command
      ->add_option("--device", options->device,
                   "this-machine, which is measured, or a file of batonc "
                   "calibrate")
      ->capture_default_str();
  command->add_option("--disk", options->disk,
                      "GB/s that the disk reads; measured for this-machine");
  command
      ->add_option("--offload-dir", options->folder,
                   "folder on the disk that is measured")
      ->capture_default_str();
  command
      ->add_option("--process", options->process,
                   "bytes that the program has in memory before weights: its "
                   "code, libraries and tokenizer")
      ->capture_default_str();
  command->add_option("--workers", options->workers,
                      "of the program; one for each core without it");
  command->add_option("--dtype", options->dtype, "batonc's --dtype");
  command->add_option("--kv-type", options->kv_type, "batonc's --kv-type");
  command->add_option("-o,--out", options->out,
                      "write what --json prints to this file");
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->callback([options] { run(*options); });
}

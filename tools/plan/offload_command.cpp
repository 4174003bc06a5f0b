//===- offload_command.cpp - batonc plan offload --------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/execute/team.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "tools/command/child.h"
#include "tools/plan/describe.h"
#include "tools/plan/offload_plan.h"
#include "tools/plan/page.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/this_machine.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <tuple>

#include <unistd.h>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string model, memory, device = "this-machine", folder = ".", out, html;
  std::string dtype, kv_type;
  uint64_t prompt = 128, generate = 128, sequences = 64, workers = 0;
  /// GB/s; 0: measured.
  double disk = 0;
  /// Bytes; nothing: measured.
  std::optional<double> process;
  std::vector<uint64_t> batches;
  bool json = false, quiet = false;
};

/// One size of a step.
struct Candidate {
  uint64_t sequences = 0, rows = 0, steps = 0;
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

/// How much of it is in memory.
static Flags memory_flags(const Options &options, const Candidate &one) {
  const uint64_t page = one.needs.page_bytes;
  return {{"--memory", options.memory},
          {"--kv-memory", std::to_string(one.needs.pages * page)},
          {"--kv-in-memory",
           std::to_string(one.forecast.plan.staying_pages * page)}};
}

/// The same, with what it then has in memory unless it is told otherwise.
static Flags planned_flags(const Options &options, const Candidate &one) {
  Flags flags = flags_of(options, one);
  for (const auto &flag : memory_flags(options, one))
    flags.push_back(flag);
  return flags;
}

/// The pages that all sequences may need; a program has two at least.
static uint64_t pages_of_all(const Options &options, uint64_t sequences) {
  return std::max<uint64_t>(2, sequences *
                                   pages_of(options.prompt + options.generate));
}

/// Sequences that have rows in a step, rows, and pages that each sequence has
/// on average; and how many such steps there are.
using StepKinds = std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t>;

/// Of all sequences: in each step those that decode have a row, and prompts get
/// what is left of the rows, one after the other. Who is done makes room.
static StepKinds steps_of_all(const Options &options, const Candidate &one) {
  struct Sequence {
    uint64_t prompt, generate;
  };
  const Sequence whole = {options.prompt, options.generate};
  StepKinds kinds;
  std::vector<Sequence> active;
  for (uint64_t waiting = options.sequences; waiting || !active.empty();) {
    while (waiting && active.size() < one.sequences) {
      active.push_back(whole);
      --waiting;
    }
    uint64_t decoding = 0;
    for (const Sequence &sequence : active)
      decoding += sequence.prompt == 0;
    uint64_t left = one.rows - decoding, positions = 0, present = 0;
    for (Sequence &sequence : active) {
      const uint64_t taken = std::min(left, sequence.prompt);
      const bool has_rows = sequence.prompt == 0 || taken > 0;
      sequence.prompt -= taken;
      left -= taken;
      // The prompt's last row has a token, too.
      sequence.generate -= has_rows && sequence.prompt == 0;
      present += has_rows;
      if (has_rows)
        positions += options.prompt - sequence.prompt + options.generate -
                     sequence.generate;
    }
    ++kinds[{present, one.rows - left, pages_of(positions / present)}];
    std::erase_if(active, [](const Sequence &sequence) {
      return sequence.generate == 0;
    });
  }
  return kinds;
}

static Candidate plan_one(const Options &options, const Metadata &metadata,
                          Candidate one, const OffloadMachine &machine,
                          unsigned workers, uint64_t process, uint64_t limit) {
  one.needs = offload_needs(metadata, workers,
                            pages_of_all(options, one.sequences), process);
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
  for (const auto &[kind, count] : steps_of_all(options, one)) {
    const auto [active, rows, pages] = kind;
    // Rows of prompts, too, are products; they are of the same sequences.
    OffloadMachine wide = machine;
    wide.operation_rate *= double(active) / double(rows);
    const OffloadStep now = offload_step(metadata, one.needs, wide, active,
                                         double(pages * page_positions));
    one.seconds +=
        double(count) *
        forecast(now, one.needs, machine, one.forecast.plan).step_seconds;
    one.steps += count;
  }
  one.tokens_per_second =
      double(options.sequences * options.generate) / one.seconds;
  return one;
}

static std::string command_lines(const Options &options, const Candidate &one) {
  return "batonc " + options.model + " " +
         text_of(planned_flags(options, one)) +
         " -o model\n./model batch --weights " + options.model +
         " --requests in.jsonl --out out.jsonl --max-new-tokens " +
         std::to_string(options.generate) + "\n";
}

/// Bytes that such a program has in memory before it loads weights, as it says
/// itself: its code, libraries and tokenizer. Compiled quickly, as it is not
/// kept.
static uint64_t measure_process(const Options &options, const Flags &flags,
                                unsigned workers,
                                const std::filesystem::path &folder) {
  const std::filesystem::path program = folder / "program",
                              requests = folder / "in.jsonl",
                              answer = folder / "answer";
  std::vector<std::string> words = {
      batonc_beside_this(), options.model, "--optimize=1", "--quiet", "-o",
      program.string()};
  for (const auto &[flag, value] : flags)
    words.push_back(value.empty() ? flag : flag + "=" + value);
  run_child(words);
  std::ofstream(requests) << "{\"id\": \"0\", \"tokens\": [0]}\n";
  run_child({program.string(), "batch", "--weights", options.model,
             "--requests", requests.string(), "--out",
             (folder / "out.jsonl").string(), "--workers",
             std::to_string(workers), "--memory", "1TiB", "--dry-run", "--json",
             "--quiet"},
            answer);
  std::ifstream stream(answer);
  const Json said = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object() || !said.contains("resident"))
    throw Error(options.model + ": its program does not say what it takes; "
                                "give --process");
  return said["resident"].get<uint64_t>();
}

static Json to_json(const Options &options, const Candidate &one) {
  if (!one.refusal.empty())
    return {{"max_batch", one.sequences}, {"refusal", one.refusal}};
  const OffloadForecast &forecast = one.forecast;
  const LayerPlacement &weights = forecast.plan.weights;
  return {{"max_batch", one.sequences},
          {"max_rows", one.rows},
          {"steps", one.steps},
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
          {"kv_memory", one.needs.kv_memory(forecast.plan.staying_pages)},
          {"step_s", forecast.step_seconds},
          {"step_weights_read", forecast.weights_read},
          {"step_pages_read", forecast.pages_read},
          {"step_pages_written", forecast.pages_written},
          {"seconds", one.seconds},
          {"tokens_per_s", one.tokens_per_second},
          {"compile", flags_json(planned_flags(options, one))}};
}

static double milliseconds(double seconds) { return seconds * 1e3; }

static std::string sequences_text(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " sequence" : " sequences");
}

/// The first row has names.
static std::vector<std::vector<std::string>>
rows_of(const std::vector<Candidate> &all, const Candidate &best) {
  std::vector<std::vector<std::string>> rows = {
      {"sequences", "weights in memory", "pages in memory", "in all",
       "from disk, a step", "a step", "tokens/s", ""}};
  for (const Candidate &one : all) {
    if (!one.refusal.empty()) {
      rows.push_back(
          {std::to_string(one.sequences), "", "", "", "", "", "", one.refusal});
      continue;
    }
    const OffloadForecast &forecast = one.forecast;
    rows.push_back(
        {std::to_string(one.sequences), percent_text(forecast.shares.weights),
         percent_text(forecast.shares.pages),
         bytes_text(double(forecast.plan.memory)),
         bytes_text(forecast.weights_read + forecast.pages_read),
         fixed_text(milliseconds(forecast.step_seconds), 1) + " ms",
         fixed_text(one.tokens_per_second, 2), &one == &best ? "<-" : ""});
  }
  return rows;
}

/// What computes and what comes, side by side: the longer one counts.
static std::string layers_picture(const std::vector<Candidate> &all) {
  std::vector<Bar> bars;
  for (const Candidate &one : all) {
    if (!one.refusal.empty())
      continue;
    OffloadForecast::Layer mean;
    for (const OffloadForecast::Layer &layer : one.forecast.of_layers) {
      mean.computes += layer.computes;
      mean.weights += layer.weights;
      mean.pages_in += layer.pages_in;
      mean.pages_out += layer.pages_out;
    }
    const double part = milliseconds(1 / double(one.forecast.of_layers.size()));
    const std::string label = sequences_text(one.sequences);
    bars.push_back({label + ": computes", {mean.computes * part}});
    bars.push_back({"disk",
                    {0, mean.weights * part, mean.pages_in * part,
                     mean.pages_out * part}});
  }
  return stacked_bars({"computes", "weights come", "keys and values come",
                       "keys and values go"},
                      bars, "ms");
}

/// Layer by layer of one step.
static std::string step_picture(const Candidate &one) {
  std::vector<Bar> bars;
  if (one.forecast.first_pages > 0)
    bars.push_back({"keys and values of the first",
                    {0, milliseconds(one.forecast.first_pages)}});
  for (size_t i = 0; i < one.forecast.of_layers.size(); ++i) {
    const OffloadForecast::Layer &layer = one.forecast.of_layers[i];
    bars.push_back({"layer " + std::to_string(i),
                    {milliseconds(layer.computes),
                     milliseconds(layer.seconds - layer.computes)}});
  }
  return stacked_bars({"computes", "more for the disk"}, bars, "ms");
}

/// Bytes in memory, and those in files.
static std::string memory_picture(const std::vector<Candidate> &all) {
  constexpr double unit = 1 << 20;
  std::vector<Bar> bars;
  for (const Candidate &one : all) {
    if (!one.refusal.empty())
      continue;
    const OffloadNeeds &needs = one.needs;
    const OffloadPlan &plan = one.forecast.plan;
    const std::string label = sequences_text(one.sequences);
    bars.push_back(
        {label + ": memory",
         {double(needs.process) / unit, double(needs.activations) / unit,
          double(needs.weights.fixed) / unit,
          double(plan.weights.staying_bytes) / unit,
          double(plan.weights.memory() - plan.weights.staying_bytes) / unit,
          double(needs.kv_memory(plan.staying_pages)) / unit}});
    const uint64_t leaving =
        needs.pages - std::min(needs.pages, plan.staying_pages);
    bars.push_back({"disk",
                    {0, 0, 0, double(plan.weights.moved_bytes) / unit, 0,
                     double(leaving * needs.page_moves) / unit}});
  }
  return stacked_bars({"the process", "buffers", "weights outside of layers",
                       "layers' weights", "places of layers that come",
                       "keys and values"},
                      bars, "MiB");
}

static void write_html(const Options &options,
                       const std::vector<Candidate> &all, const Candidate &best,
                       const std::string &facts) {
  std::vector<Point> points;
  for (const Candidate &one : all)
    if (one.refusal.empty())
      points.push_back({double(one.sequences), one.tokens_per_second,
                        sequences_text(one.sequences) + ": " +
                            fixed_text(one.tokens_per_second, 2) + " tokens/s",
                        &one == &best});
  write_page(
      options.html,
      "batonc plan offload --model " + options.model + " --memory " +
          options.memory,
      {{"How many sequences share a step",
        "The marked one makes most tokens a second, prompts included.",
        scatter(points, "sequences", "tokens/s", Axes::logarithmic) +
            html_table(rows_of(all, best))},
       {"A layer of a step",
        "While a layer computes, the next one comes: the longer of both "
        "counts, and each is slower beside the other.",
        layers_picture(all)},
       {"A step of " + sequences_text(best.sequences), "", step_picture(best)},
       {"Memory and disk", "", memory_picture(all)},
       {"How it is run", "",
        "<pre>" + escaped(command_lines(options, best)) + "</pre>\n"},
       {"Facts", facts, ""}});
}

static std::string to_text(const Options &options,
                           const std::vector<Candidate> &all,
                           const Candidate &best) {
  Table table({0, 1, 2, 3, 4, 5, 6});
  for (const std::vector<std::string> &row : rows_of(all, best))
    table.add(row);
  return table.text(0) + "\n" + command_lines(options, best);
}

static void run(const Options &options) {
  check_plan_file(options.out);
  const uint64_t limit = parse_memory_size("--memory", options.memory);
  const unsigned workers =
      options.workers ? unsigned(options.workers) : available_workers();
  OffloadMachine machine;
  machine.disk_rate = options.disk * 1e9;
  Device device;
  if (options.device == "this-machine") {
    device = this_machine_cut(1, workers);
    if (machine.disk_rate == 0)
      measure_disk(options.folder, workers, machine);
  } else {
    device = read_device(options.device);
    if (machine.disk_rate == 0)
      throw Error("--disk: " + options.device +
                  " does not say how fast its machine's disk is; give GB/s");
  }
  if (machine.busy_disk_rate == 0)
    machine.busy_disk_rate = machine.disk_rate;
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
  std::optional<double> process = options.process;
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
      if (!process)
        process = double(measure_process(options, flags_of(options, one),
                                         workers, scratch.path));
      one = plan_one(options, *described.metadata, one, machine, workers,
                     uint64_t(*process), limit);
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
               {"busy_disk_rate", machine.busy_disk_rate},
               {"share_beside_disk", machine.share_beside_disk},
               {"memory_rate", machine.memory_rate},
               {"operation_rate", machine.operation_rate},
               {"resident", *process},
               {"best", to_json(options, *best)},
               {"all", Json::array()}};
  for (const Candidate &one : all)
    json["all"].push_back(to_json(options, one));
  if (!options.out.empty())
    write_plan(options.out, options.model, planned_flags(options, *best), {},
               best->forecast.step_seconds, double(best->forecast.plan.memory));
  if (!options.html.empty())
    write_html(
        options, all, *best,
        "The disk " + std::string(options.disk > 0 ? "as said" : "measured") +
            " at " + fixed_text(machine.disk_rate / 1e9, 2) +
            " GB/s, memory at " + fixed_text(machine.memory_rate / 1e9, 1) +
            " GB/s, products at " +
            fixed_text(machine.operation_rate / 1e9, 1) + " GFLOP/s. " +
            device.source);
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
      "here.json --disk 2.5 -o plan.json\n"
      "  batonc ./llama --plan=plan.json -o model     compile it");
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
                   "code, libraries and tokenizer; without it such a program "
                   "is compiled, and says it")
      ->check(CLI::PositiveNumber);
  command->add_option("--workers", options->workers,
                      "of the program; one for each core without it");
  command->add_option("--dtype", options->dtype, "batonc's --dtype");
  command->add_option("--kv-type", options->kv_type, "batonc's --kv-type");
  command
      ->add_option("-o,--out", options->out,
                   "a file for the best plan, too: batonc MODEL --plan=FILE "
                   "compiles it, and its batch runs as was planned")
      ->type_name("FILE");
  command
      ->add_option("--html", options->html,
                   "a page with the parts of a layer's time, memory and disk, "
                   "and other numbers of sequences, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->callback([options] { run(*options); });
}

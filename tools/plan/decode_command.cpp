//===- decode_command.cpp - batonc plan decode ----------------------------===//

#include "tools/plan/commands.h"

#include "runtime/main/output.h"
#include "runtime/main/table.h"
#include "tools/plan/decode_step.h"
#include "tools/plan/measured_ops.h"
#include "tools/plan/page.h"

#include <algorithm>
#include <cstdio>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string model, device, type = "f32", html;
  std::vector<int64_t> rows = {1};
  int64_t positions = 512;
  bool batched = false, json = false;
};
} // namespace

static std::string microseconds(double seconds) {
  return fixed_text(seconds * 1e6, 1) + " us";
}

static std::string to_text(const DecodeStep &step,
                           const std::vector<StepPart> &parts) {
  const double total = seconds(parts);
  Table table({1, 2, 3, 4});
  table.add({"", "times", "each", "all", ""});
  bool outside = false;
  for (const StepPart &part : parts) {
    table.add({part.name + (part.inside ? "" : " *"), fixed_text(part.times, 0),
               microseconds(part.seconds),
               microseconds(part.seconds * part.times),
               percent_text(part.seconds * part.times / total)});
    outside = outside || !part.inside;
  }
  table.add({"step", "", "", microseconds(total), ""});
  return std::to_string(step.rows) + (step.rows == 1 ? " row" : " rows") +
         (step.batched ? " of as many sequences" : "") + ", " +
         std::to_string(step.positions) + " positions, weights " + step.type +
         "\n\n" + table.text(0) +
         (outside ? "* outside of the sizes that were measured\n" : "");
}

static Json to_json(const DecodeStep &step,
                    const std::vector<StepPart> &parts) {
  Json list = Json::array();
  for (const StepPart &part : parts)
    list.push_back({{"part", part.name},
                    {"times", part.times},
                    {"seconds", part.seconds},
                    {"measured", part.inside}});
  return {{"rows", step.rows},         {"positions", step.positions},
          {"batched", step.batched},   {"type", step.type},
          {"seconds", seconds(parts)}, {"parts", std::move(list)}};
}

namespace {
struct TimedStep {
  DecodeStep step;
  std::vector<StepPart> parts;
};
} // namespace

/// Bars have what an op takes in all, for all of a model's layers.
static void write_html(const Options &options, const Device &device,
                       const std::vector<TimedStep> &steps) {
  std::vector<std::string> names;
  for (const TimedStep &timed : steps)
    for (const StepPart &part : timed.parts)
      if (std::find(names.begin(), names.end(), part.name) == names.end())
        names.push_back(part.name);
  std::vector<Bar> bars;
  std::vector<std::vector<std::string>> rows = {
      {"rows", "positions", "weights", "us", "us a row"}};
  for (const TimedStep &timed : steps) {
    Bar bar{std::to_string(timed.step.rows) +
                (timed.step.rows == 1 ? " row" : " rows"),
            std::vector<double>(names.size())};
    for (const StepPart &part : timed.parts)
      bar.parts[size_t(std::find(names.begin(), names.end(), part.name) -
                       names.begin())] += part.seconds * part.times * 1e6;
    bars.push_back(std::move(bar));
    const double total = seconds(timed.parts) * 1e6;
    rows.push_back({std::to_string(timed.step.rows),
                    std::to_string(timed.step.positions), timed.step.type,
                    fixed_text(total, 1),
                    fixed_text(total / double(timed.step.rows), 1)});
  }
  write_page(options.html, "batonc plan decode --model " + options.model,
             {{"Steps", "", html_table(rows)},
              {"What a step takes", "Point at a part for its op.",
               stacked_bars(names, bars, "us")},
              {"Facts", device.source, ""}});
}

void plan::add_decode_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "decode",
      "how long a step of a program that batonc writes takes, by what "
      "batonc calibrate has measured");
  command->footer("Examples:\n"
                  "  batonc calibrate -o here.json\n"
                  "  batonc plan decode --model ./llama --device here.json "
                  "--rows 1,16 --positions 1024");
  command
      ->add_option("--model", options->model,
                   "a checkpoint folder, or a config.json")
      ->required();
  command
      ->add_option("--device", options->device,
                   "a file that batonc calibrate has written")
      ->type_name("FILE.json")
      ->required();
  command
      ->add_option("--rows", options->rows,
                   "tokens of a step: one that is decoded, or a prompt's; "
                   "several numbers are several steps")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  command
      ->add_option("--positions", options->positions,
                   "keys and values that the last row sees, or the rows where "
                   "these are more")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  command->add_flag("--batched", options->batched,
                    "each row is of a sequence of its own, and has logits");
  command
      ->add_option("--dtype", options->type,
                   "type of linear weights, as batonc's")
      ->type_name("TYPE")
      ->capture_default_str();
  command
      ->add_option("--html", options->html,
                   "a page with bars of each step's ops, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    const Decoder decoder = read_decoder(options->model);
    const Device device = read_device(options->device);
    weight_bytes(options->type); // Refuses what is no type.
    Json list = Json::array();
    std::string text;
    std::vector<TimedStep> steps;
    for (int64_t rows : options->rows) {
      DecodeStep step;
      step.rows = rows;
      step.positions = options->batched ? options->positions
                                        : std::max(options->positions, rows);
      step.outputs = options->batched ? rows : 1;
      step.batched = options->batched;
      step.type = options->type;
      const std::vector<StepPart> parts = decode_step(decoder, device, step);
      list.push_back(to_json(step, parts));
      text += (text.empty() ? "" : "\n") + to_text(step, parts);
      steps.push_back({step, parts});
    }
    if (!options->html.empty())
      write_html(*options, device, steps);
    print(options->json
              ? text_of({{"steps", std::move(list)}, {"source", device.source}})
              : text + device.source + "\n");
  });
}

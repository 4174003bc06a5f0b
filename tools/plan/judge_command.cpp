//===- judge_command.cpp - batonc plan judge ------------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/main/output.h"
#include "runtime/main/table.h"
#include "tools/plan/judged_machine.h"
#include "tools/plan/page.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string table, device = "auto", framework = "auto", recompute = "auto",
                     html;
  int64_t calibrate = 0, vocabulary = usual_vocabulary;
  bool json = false;
};
} // namespace

static Json to_json(const Options &options, const Device &device,
                    const Framework &framework, const MeasuredTable &table,
                    const Judgement &judgement) {
  Json json;
  json["table"] = options.table;
  json["device"] = device.name;
  json["framework"] = framework.name;
  json["recompute"] = name(judgement.recompute);
  json["calibrated_by"] = options.calibrate;
  json["slowness"] = {{"device", judgement.slowness.device},
                      {"host", judgement.slowness.host},
                      {"network", judgement.slowness.network}};
  Json rows = Json::array();
  for (size_t at = 0; at < judgement.rows.size(); ++at) {
    const JudgedStep &row = judgement.rows[at];
    const auto &[line, decoder, split, seconds, allocated] = row.measured;
    rows.push_back({{"row", at + 1},
                    {"line", line},
                    {"gpus", split.devices()},
                    {"tensor", split.tensor},
                    {"data", split.data},
                    {"pipeline", split.pipeline},
                    {"micro_batch", split.micro_batch},
                    {"measured_ms", seconds * 1e3},
                    {"predicted_ms", row.time.total * 1e3},
                    {"error", row.error},
                    {"calibrates", row.calibrates},
                    {"memory_gb", row.memory.total / 1e9}});
    if (row.memory_error)
      rows.back()["memory_error"] = *row.memory_error;
  }
  json["rows"] = std::move(rows);
  json["mean_error"] =
      judgement.mean_error ? Json(*judgement.mean_error) : Json();
  json["best_rank"] = judgement.best_rank ? Json(*judgement.best_rank) : Json();
  json["rows_too_large"] = judgement.too_large;
  if (judgement.mean_memory_error)
    json["mean_memory_error"] = *judgement.mean_memory_error;
  Json workloads = Json::array();
  for (const JudgedWorkload &workload : judgement.workloads) {
    const auto &[line, decoder, split, seconds, allocated] =
        judgement.rows[workload.fastest].measured;
    workloads.push_back({{"gpus", split.devices()},
                         {"global_batch", split.global_batch},
                         {"hidden", decoder.hidden},
                         {"layers", decoder.layers},
                         {"rows", workload.rows.size()},
                         {"fastest_row", workload.fastest + 1},
                         {"rank", workload.rank}});
  }
  json["workloads"] = std::move(workloads);
  json["skipped"] = table.skipped;
  return json;
}

static std::string summary(const Judgement &judgement) {
  std::string text =
      judgement.mean_error
          ? "mean error " + fixed_text(*judgement.mean_error * 100, 2) +
                " % of " + std::to_string(judgement.rows.size() - 1) +
                " other rows"
          : "there is no other row to judge";
  if (judgement.best_rank)
    text += "; the fastest row of each of " +
            std::to_string(judgement.workloads.size()) + " workloads ranks " +
            std::to_string(*judgement.best_rank) + " or better";
  text += "\n";
  if (judgement.mean_memory_error)
    text += "mean error of memory " +
            fixed_text(*judgement.mean_memory_error * 100, 2) + " %\n";
  if (judgement.too_large)
    text +=
        "by what is counted here, " + std::to_string(judgement.too_large) +
        " rows do not fit the device, though they ran: is it another one?\n";
  return text;
}

static std::string to_text(const Options &options, const Device &device,
                           const Framework &framework,
                           const MeasuredTable &measured,
                           const Judgement &judgement) {
  Table table({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  table.add({"row", "GPUs", "hidden", "layers", "batch", "micro", "tp", "dp",
             "pp", "measured ms", "predicted ms", "error"});
  for (size_t at = 0; at < judgement.rows.size(); ++at) {
    const JudgedStep &row = judgement.rows[at];
    const auto &[line, decoder, split, seconds, allocated] = row.measured;
    char error[32];
    std::snprintf(error, sizeof error, "%+.1f %%%s", row.error * 100,
                  row.calibrates ? " calibrates" : "");
    table.add({std::to_string(at + 1), std::to_string(split.devices()),
               std::to_string(decoder.hidden), std::to_string(decoder.layers),
               std::to_string(split.global_batch),
               std::to_string(split.micro_batch), std::to_string(split.tensor),
               std::to_string(split.data), std::to_string(split.pipeline),
               fixed_text(seconds * 1e3, 1),
               fixed_text(row.time.total * 1e3, 1), error});
  }
  std::string text = table.text(0);
  for (const std::string &skipped : measured.skipped)
    text += "left out: " + skipped + "\n";
  text += "\n" + device.source + "\n" + framework.source + "\n";
  if (options.device == "auto" || options.framework == "auto")
    text += "Row " + std::to_string(options.calibrate) +
            " is the likeliest with this device and framework, among those "
            "that the flags leave.\n";
  text += "recompute: " + std::string(name(judgement.recompute)) + ". Row " +
          std::to_string(options.calibrate) + " says that devices are " +
          fixed_text(judgement.slowness.device, 3) + ", hosts " +
          fixed_text(judgement.slowness.host, 3) + " and networks " +
          fixed_text(judgement.slowness.network, 3) + " times as slow.\n";
  return text + summary(judgement);
}

static void write_html(const Options &options, const Device &device,
                       const Framework &framework, const Judgement &judgement) {
  std::vector<Point> points;
  for (size_t at = 0; at < judgement.rows.size(); ++at) {
    const JudgedStep &row = judgement.rows[at];
    const Split &split = row.measured.split;
    points.push_back({row.measured.seconds * 1e3, row.time.total * 1e3,
                      "row " + std::to_string(at + 1) + ": tp " +
                          std::to_string(split.tensor) + ", dp " +
                          std::to_string(split.data) + ", pp " +
                          std::to_string(split.pipeline) + ", micro batch " +
                          std::to_string(split.micro_batch) + ", error " +
                          percent_text(row.error),
                      row.calibrates});
  }
  write_page(
      options.html, "batonc plan judge " + options.table,
      {{"Predicted and measured",
        "The row that calibrates is the large point: " + summary(judgement),
        scatter(points, "measured ms", "predicted ms", Axes::compared)},
       {"Facts", device.source + " " + framework.source, ""}});
}

void plan::add_judge_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "judge", "predicts training steps that somebody measured, and says how "
               "far off it is");
  command->footer("One row tells how slow the machine is; all others are "
                  "predicted, and no other measured time is used.\n\nExample:\n"
                  "  batonc plan judge vtrain.csv --calibrate 1 --json");
  command
      ->add_option(
          "TABLE", options->table,
          "a CSV file with vTrain's columns: GPUs, global batch, micro "
          "batch, hidden size, attention heads, layers, sequence "
          "length, tensor, data and pipeline parallelism, iteration "
          "time (ms)")
      ->required();
  command
      ->add_option("--calibrate", options->calibrate,
                   "the row that calibrates, from 1")
      ->type_name("ROW")
      ->required()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 32));
  command
      ->add_option("--device", options->device,
                   "the devices: a name, a file, or auto: those that the "
                   "table's comments name, or with which the row that "
                   "calibrates is likeliest")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      ->add_option("--framework", options->framework,
                   "what trained: a name, a file, or auto: with which the row "
                   "that calibrates is likeliest")
      ->type_name("FRAMEWORK")
      ->capture_default_str();
  command
      ->add_option("--vocabulary", options->vocabulary,
                   "words of the vocabulary, which the columns do not tell")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 32))
      ->capture_default_str();
  command
      ->add_option(
          "--recompute", options->recompute,
          "activations that are made again: none, selective (inside of "
          "attention), full, or auto: the least with which all rows "
          "fit the device")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"none", "selective", "full", "auto"}))
      ->capture_default_str();
  command
      ->add_option("--html", options->html,
                   "a page with a picture of all rows, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    const MeasuredTable table =
        read_measured_table(options->table, options->vocabulary);
    std::optional<Recompute> recompute;
    for (Recompute one :
         {Recompute::none, Recompute::selective, Recompute::full})
      if (options->recompute == name(one))
        recompute = one;
    const std::vector<Machine> machines =
        possible_machines(table, options->device, options->framework);
    const size_t row =
        calibrating_row(table, options->table, options->calibrate);
    const auto &[device, framework] =
        likeliest(machines, table.steps, row, recompute);
    const Judgement judgement =
        judge(table.steps, row, device, framework, recompute);
    if (!options->html.empty())
      write_html(*options, device, framework, judgement);
    baton::print(
        options->json
            ? text_of(to_json(*options, device, framework, table, judgement))
            : to_text(*options, device, framework, table, judgement));
  });
}

//===- plan_shard.cpp - batonc plan shard ---------------------------------===//

#include "tools/batonc/plan_shard.h"

#include "compiler/Outputs.h"
#include "compiler/ShardingPlan.h"
#include "compiler/targets/Targets.h"
#include "tools/batonc/compile_flags.h"
#include "tools/batonc/device_facts.h"
#include "tools/batonc/errors.h"
#include "tools/plan/page.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace baton;
using namespace baton::compiler;
using namespace baton::planning;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  CompileOptions compile;
  std::string device = "h100-80gb", output, html;
  double rows = 4096, kv = 4096, memory = 0;
  bool json = false;
};

/// What the command answers.
struct Answer {
  std::string device, mesh;
  ShardingPlan plan;
  Communication counted;
};

} // namespace

static std::string meshText(const CompileOptions &options) {
  std::string text;
  for (const MeshAxis &axis : options.mesh)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

static std::string milliseconds(double seconds) {
  return formatv("{0:f3} ms", seconds * 1e3).str();
}

static std::string bytes(double number) {
  return number < 1e6 ? formatv("{0:f1} kB", number * 1e-3).str()
                      : formatv("{0:f1} MB", number * 1e-6).str();
}

static std::vector<std::vector<std::string>> rowsOf(const Answer &answer) {
  const PlacementSummary &plan = answer.plan.predicted;
  return {
      {"of a step", "predicted"},
      {"time", milliseconds(plan.seconds())},
      {"computing", milliseconds(plan.compute)},
      {"exchanging", milliseconds(plan.exchange)},
      {"collectives", formatv("{0:f0}", plan.communication.collectives).str()},
      {"their payload", bytes(plan.communication.payload)},
      {"a rank sends", bytes(plan.communication.sent)},
      {"a rank's memory", bytes(plan.bytes())},
      {"parameters", bytes(plan.parameterBytes)},
      {"saved for backward", bytes(plan.savedBytes)},
      {"keys and values", bytes(plan.stateBytes)},
  };
}

static std::string placementText(const PlannedParameter &parameter) {
  llvm::StringRef text = parameter.placement;
  if (text.empty())
    return "whole";
  text.consume_front("#dist.placement<");
  text.consume_back(">");
  return text.str();
}

static std::string table(const std::vector<std::vector<std::string>> &rows) {
  size_t width = 0;
  for (const auto &row : rows)
    width = std::max(width, row[0].size());
  std::string text;
  for (const auto &row : rows)
    text +=
        row[0] + std::string(width - row[0].size() + 2, ' ') + row[1] + "\n";
  return text;
}

static std::vector<std::vector<std::string>>
parametersOf(const Answer &answer) {
  std::vector<std::vector<std::string>> rows = {{"parameter", "lies"}};
  for (const PlannedParameter &parameter : answer.plan.parameters)
    rows.push_back({parameter.name, placementText(parameter)});
  return rows;
}

static std::string textOf(const Answer &answer) {
  return answer.mesh + " on " + answer.device + "\n\n" + table(rowsOf(answer)) +
         "\n" + table(parametersOf(answer));
}

static std::string jsonOf(const Answer &answer) {
  const PlacementSummary &plan = answer.plan.predicted;
  Json json = {
      {"mesh", answer.mesh},
      {"device", answer.device},
      {"seconds", plan.seconds()},
      {"compute_seconds", plan.compute},
      {"exchange_seconds", plan.exchange},
      {"collectives", plan.communication.collectives},
      {"payload_bytes", plan.communication.payload},
      {"sent_bytes", plan.communication.sent},
      {"counted_payload_bytes", answer.counted.payload},
      {"memory_bytes", plan.bytes()},
      {"parameter_bytes", plan.parameterBytes},
      {"saved_bytes", plan.savedBytes},
      {"state_bytes", plan.stateBytes},
  };
  json["parameters"] = Json::array();
  for (const PlannedParameter &parameter : answer.plan.parameters)
    json["parameters"].push_back(
        {{"name", parameter.name}, {"placement", placementText(parameter)}});
  return json.dump(2) + "\n";
}

static void writePage(const Answer &answer, const std::string &file) {
  const PlacementSummary &plan = answer.plan.predicted;
  std::vector<plan::Section> sections = {
      {"A step", "Predicted, of one rank.",
       plan::stacked_bars(
           {"computing", "exchanging"},
           {{answer.mesh, {plan.compute * 1e3, plan.exchange * 1e3}}}, "ms") +
           plan::html_table(rowsOf(answer))},
      {"Memory", "Of one rank.",
       plan::stacked_bars(
           {"parameters", "saved for backward", "keys and values"},
           {{answer.mesh,
             {plan.parameterBytes * 1e-6, plan.savedBytes * 1e-6,
              plan.stateBytes * 1e-6}}},
           "MB")},
      {"Placements",
       "Of each dimension, the axis whose ranks have parts of it.",
       plan::html_table(parametersOf(answer))},
  };
  plan::write_page(file, answer.mesh + " on " + answer.device, sections);
}

/// The plan as a file: `output`, or one that is gone behind this.
static Expected<Communication>
countIn(const Options &options, const Answer &answer, const Sizes &sizes,
        llvm::ArrayRef<TargetDescription> targets) {
  std::string file = options.output;
  std::optional<llvm::FileRemover> remover;
  if (file.empty()) {
    llvm::SmallString<128> path;
    if (auto error =
            llvm::sys::fs::createTemporaryFile("planned", "mlir", path))
      return llvm::createStringError(error, "no temporary file");
    file = path.str().str();
    remover.emplace(file);
  }
  if (Error error = writeOutput(file, answer.plan.text))
    return std::move(error);
  return countCommunication(options.compile, file, sizes, targets);
}

static Error run(Options &options, const Installation &installation) {
  if (Error error = findOptimizer(options.compile, installation))
    return error;
  auto target = findTarget(options.compile.target);
  if (!target)
    return target.takeError();
  auto descriptions = (*target).describe(options.compile, installation);
  if (!descriptions)
    return descriptions.takeError();
  auto request = requestPlan(options.compile);
  if (!request)
    return request.takeError();
  int64_t ranks = 1;
  for (const MeshAxis &axis : options.compile.mesh)
    if (isTensorAxis(axis.name))
      ranks *= axis.size;
  auto device = tools::readDeviceFacts(options.device, ranks, installation);
  if (!device)
    return device.takeError();
  request->facts = device->facts;
  if (options.memory > 0)
    request->facts.memory = options.memory * 1e9;
  request->sizes = {options.rows, 1, options.kv};
  Answer answer{device->name, meshText(options.compile), {}, {}};
  auto plan = planSharding(options.compile, *request, *descriptions);
  if (!plan)
    return plan.takeError();
  answer.plan = std::move(*plan);
  auto counted = countIn(options, answer, request->sizes, *descriptions);
  if (!counted)
    return counted.takeError();
  answer.counted = *counted;
  // Placements of parameters alone say all of it.
  if (answer.counted.payload != answer.plan.predicted.communication.payload)
    return createStringError(
        formatv("plan shard: {0}: placements of parameters alone do not say "
                "this plan: it exchanges {1} bytes, and the program that "
                "batonc compiles {2}",
                options.compile.model,
                int64_t(answer.plan.predicted.communication.payload),
                int64_t(answer.counted.payload)));
  if (!options.html.empty())
    try {
      writePage(answer, options.html);
    } catch (const std::exception &error) {
      return createStringError(error.what());
    }
  return writeOutput("", options.json ? jsonOf(answer) : textOf(answer));
}

int tools::planShardCommand(int argc, char **argv, const char *tool) {
  CLI::App app{
      "batonc plan shard finds which part of each parameter every rank along "
      "tp (and tq) has, so that\na step takes least time. Ops' placements come "
      "from the same rules that --mesh cuts a model by; all\nof them together "
      "are one integer program. What it writes is the model with these "
      "placements,\nwhich batonc compiles with the same --mesh.",
      "batonc plan shard"};
  app.footer(
      "Examples:\n"
      "  batonc plan shard ./llama --mesh=tp=4 --device a100-80gb -o "
      "planned.mlir\n"
      "  batonc planned.mlir --mesh=tp=4 -o llama\n"
      "  batonc plan shard ./llama --mesh=dp=2,tp=4 --mode=train --rows 16384 "
      "--html plan.html\n");
  Options options;
  CompileFlags flags;
  flags.addTo(app);
  app.add_option("-o", options.output,
                 "where the model with its placements goes, an .mlir file");
  app.add_option("--device", options.device,
                 "what a rank runs on: a name (those of batonc plan train), or "
                 "a file of facts (h100-80gb)");
  app.add_option("--memory-gb", options.memory,
                 "memory that a rank may take, in GB; the device's without it");
  app.add_option("--rows", options.rows,
                 "rows of a step, of all ranks: of a prompt, or of a "
                 "microbatch (4096)");
  app.add_option("--kv", options.kv,
                 "positions of keys and values that are kept (4096)");
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--html", options.html, "write a page into a file");
  if (auto status = parse(app, argc, argv, "batonc plan shard"))
    return *status;
  if (std::string error = flags.finish(options.compile); !error.empty())
    return fail(error);
  for (auto [name, value] :
       {std::pair{"--rows", options.rows}, {"--kv", options.kv}})
    if (!(value >= 1 && value <= 1e12))
      return fail(std::string(name) + " is out of range, expected 1 to 1e12");
  if (!(options.memory >= 0 && options.memory <= 1e9))
    return fail("--memory-gb is out of range, expected 0 to 1e9");
  reportFatalErrors(options.compile.model);
  if (Error error = run(options, Installation::ofTool(tool)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

//===- plan_stages.cpp - batonc plan stages -------------------------------===//

#include "tools/batonc/plan_stages.h"

#include "compiler/Outputs.h"
#include "compiler/ShardingPlan.h"
#include "compiler/targets/Targets.h"
#include "passes/pipeline/StagePlan.h"
#include "tools/batonc/compile_flags.h"
#include "tools/batonc/device_facts.h"
#include "tools/batonc/errors.h"
#include "tools/batonc/progress.h"
#include "tools/plan/page.h"

#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <map>
#include <numeric>

using namespace baton;
using namespace baton::compiler;
using namespace baton::pipeline;
using namespace baton::planning;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  CompileOptions compile;
  std::vector<std::string> devices;
  std::string html;
  int64_t microbatches = 8;
  double rows = 4096;
  bool alike = false, json = false;
};

/// What the command answers.
struct Answer {
  std::vector<DeviceKind> kinds;
  /// Of each of the items that stages have several of.
  std::vector<int64_t> layers;
  int64_t microbatches = 1;
  StagePlan plan;
  bool wasInterrupted = false;

  int64_t layersBefore(int item) const {
    return std::accumulate(layers.begin(), layers.begin() + item, int64_t(0));
  }
};

volatile std::sig_atomic_t interrupted = 0;

} // namespace

static std::string milliseconds(double seconds) {
  return formatv("{0:f3} ms", seconds * 1e3).str();
}

/// "h100-80gb:2x8": two nodes of eight.
static Expected<DeviceKind> parseDevices(const std::string &text) {
  auto fail = [&] {
    return createStringError("--devices=" + text +
                             ": expected NAME:NODESxDEVICES, such as "
                             "h100-80gb:2x8, where devices of a node are a "
                             "power of two");
  };
  auto [name, counts] = llvm::StringRef(text).rsplit(':');
  auto [nodes, perNode] = counts.split('x');
  DeviceKind kind{name.str()};
  if (name.empty() || nodes.getAsInteger(10, kind.nodes) ||
      perNode.getAsInteger(10, kind.perNode) || kind.nodes < 1 ||
      kind.nodes > 64 || kind.perNode < 1 || kind.perNode > 64 ||
      (kind.perNode & (kind.perNode - 1)))
    return fail();
  return kind;
}

static std::string devicesText(const Answer &answer, const Submesh &submesh) {
  return formatv("{0} {1}", submesh.devices, answer.kinds[submesh.kind].name)
      .str();
}

static double memoryOf(const Answer &answer, size_t stage) {
  const StageCost &cost = answer.plan.stages[stage].cost;
  return cost.bytes +
         double(std::min<int64_t>(answer.plan.stages.size() - stage,
                                  answer.microbatches)) *
             cost.microbatchBytes;
}

/// batonc's flags for the same plan; nothing where stages have unlike devices,
/// as a mesh has as many in each.
static std::string flagsOf(const Answer &answer) {
  const std::vector<PlannedStage> &stages = answer.plan.stages;
  std::string cuts;
  for (const PlannedStage &stage : stages) {
    if (stage.submesh.devices != stages.front().submesh.devices)
      return "";
    cuts += (cuts.empty() ? "" : ",") +
            std::to_string(answer.layersBefore(stage.end) -
                           answer.layersBefore(stage.begin));
  }
  const int tensor = stages.front().submesh.devices;
  std::string mesh;
  if (stages.size() > 1)
    mesh = "pp=" + std::to_string(stages.size());
  if (tensor > 1)
    mesh = "tp=" + std::to_string(tensor) + (mesh.empty() ? "" : "," + mesh);
  if (mesh.empty())
    return "--mode=train";
  std::string flags = "--mode=train --mesh=" + mesh;
  if (stages.size() > 1)
    flags += " --pipeline-cuts=" + cuts +
             " --microbatches=" + std::to_string(answer.microbatches);
  return flags;
}

static std::vector<std::vector<std::string>> rowsOf(const Answer &answer) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "layers", "devices", "a microbatch", "a device's memory"}};
  for (auto [i, stage] : llvm::enumerate(answer.plan.stages))
    rows.push_back({std::to_string(i),
                    formatv("{0} to {1}", answer.layersBefore(stage.begin),
                            answer.layersBefore(stage.end) - 1)
                        .str(),
                    devicesText(answer, stage.submesh),
                    milliseconds(stage.cost.seconds),
                    formatv("{0:f1} MB", memoryOf(answer, i) * 1e-6).str()});
  return rows;
}

static std::string textOf(const Answer &answer) {
  std::string text =
      formatv("{0} layers, {1} microbatches: {2} a step{3}\n\n",
              answer.layersBefore(int(answer.layers.size())),
              answer.microbatches, milliseconds(answer.plan.seconds),
              answer.wasInterrupted ? ", the best until the search was "
                                      "interrupted"
                                    : "");
  auto rows = rowsOf(answer);
  std::vector<size_t> widths(rows[0].size());
  for (const auto &row : rows)
    for (auto [i, cell] : llvm::enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  for (const auto &row : rows) {
    std::string line;
    for (auto [i, cell] : llvm::enumerate(row))
      line +=
          (i ? "  " : "") + cell + std::string(widths[i] - cell.size(), ' ');
    text += llvm::StringRef(line).rtrim().str() + "\n";
  }
  std::string flags = flagsOf(answer);
  return text + (flags.empty()
                     ? "\nStages have unlike devices, which no --mesh has; "
                       "--alike finds the best plan that has one.\n"
                     : "\nbatonc " + flags + "\n");
}

static std::string jsonOf(const Answer &answer) {
  Json json = {{"seconds", answer.plan.seconds},
               {"layers", answer.layersBefore(int(answer.layers.size()))},
               {"microbatches", answer.microbatches},
               {"interrupted", answer.wasInterrupted},
               {"flags", flagsOf(answer)}};
  json["stages"] = Json::array();
  for (auto [i, stage] : llvm::enumerate(answer.plan.stages))
    json["stages"].push_back(
        {{"layers",
          {answer.layersBefore(stage.begin), answer.layersBefore(stage.end)}},
         {"device", answer.kinds[stage.submesh.kind].name},
         {"devices", stage.submesh.devices},
         {"seconds", stage.cost.seconds},
         {"memory_bytes", memoryOf(answer, i)}});
  return json.dump(2) + "\n";
}

static void writePage(const Answer &answer, const std::string &file) {
  std::vector<plan::Bar> bars;
  for (auto [i, stage] : llvm::enumerate(answer.plan.stages))
    bars.push_back({"stage " + std::to_string(i) + ", " +
                        devicesText(answer, stage.submesh),
                    {stage.cost.seconds * 1e3}});
  plan::write_page(file, "Stages",
                   {{"Stages",
                     milliseconds(answer.plan.seconds) + " a step of " +
                         std::to_string(answer.microbatches) + " microbatches",
                     plan::stacked_bars({"a microbatch"}, bars, "ms") +
                         plan::html_table(rowsOf(answer))}});
}

namespace {
/// What a model takes on so many devices of a kind, as plan shard finds it.
class Costs {
public:
  Costs(const Options &options, const Installation &installation,
        llvm::ArrayRef<TargetDescription> targets)
      : options(options), installation(installation), targets(targets) {}

  Error add(const DeviceKind &kind, const Submesh &submesh);
  StageCost of(int begin, int end, const Submesh &submesh) const;
  /// Of each iteration of the model's stacks.
  std::vector<int64_t> layers;

private:
  struct Entry {
    PlacementSummary summary;
    /// Of a message between stages.
    double message = 0;
  };
  const Options &options;
  const Installation &installation;
  llvm::ArrayRef<TargetDescription> targets;
  std::map<std::pair<int, int>, Entry> entries;
};
} // namespace

Error Costs::add(const DeviceKind &kind, const Submesh &submesh) {
  auto device =
      tools::readDeviceFacts(kind.name, submesh.devices, installation);
  if (!device)
    return device.takeError();
  PlanRequest request;
  request.axes = {kTensorAxis};
  request.facts = device->facts;
  // A stage has a part of the model, which is looked at there.
  request.facts.memory = kForbidden;
  request.sizes = {options.rows, 1, options.rows};
  CompileOptions compile = options.compile;
  compile.mesh = {{kTensorAxis, submesh.devices}};
  auto plan = planSharding(compile, request, targets);
  if (!plan)
    return plan.takeError();
  Entry &entry = entries[{submesh.kind, submesh.devices}];
  entry.summary = plan->predicted;
  layers.clear();
  for (const PartSummary &part : plan->predicted.parts)
    if (part.layers)
      layers.push_back(part.layers);
  if (layers.empty())
    return createStringError("plan stages: " + options.compile.model +
                             ": has no stack of layers to cut");
  // To a neighbour, over the network where a node is full.
  bool leaves = submesh.devices >= kind.perNode;
  entry.message = (leaves ? device->networkLatency : device->linkLatency) +
                  plan->predicted.carriedBytes /
                      (leaves ? device->networkRate : device->linkRate);
  return Error::success();
}

StageCost Costs::of(int begin, int end, const Submesh &submesh) const {
  const Entry &entry = entries.at({submesh.kind, submesh.devices});
  const PlacementSummary &summary = entry.summary;
  StageCost cost;
  auto add = [&](const PartSummary &part) {
    cost.seconds += part.seconds;
    cost.bytes += part.parameterBytes;
    cost.microbatchBytes += part.savedBytes;
  };
  for (int item = begin; item < end; ++item)
    add(summary.parts[size_t(item) + 1]);
  if (begin == 0)
    add(summary.parts.front());
  else
    cost.seconds += 2 * entry.message;
  if (end == int(layers.size()))
    add(summary.parts.back());
  return cost;
}

static Error search(const Options &options, const Costs &costs,
                    Answer &answer) {
  const int items = int(answer.layers.size());
  StageRequest request{items, int(answer.microbatches), answer.kinds,
                       options.alike};
  tools::Progress progress(options.compile.quiet);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  auto plan = planStages(
      request,
      [&](int begin, int end, const Submesh &submesh) {
        return costs.of(begin, end, submesh);
      },
      [&](const std::optional<StagePlan> &best) {
        progress.show(best ? "best so far " + milliseconds(best->seconds)
                           : "nothing fits so far");
        return !interrupted;
      });
  std::signal(SIGINT, SIG_DFL);
  progress.clear();
  answer.wasInterrupted = interrupted;
  if (plan) {
    answer.plan = std::move(*plan);
    return Error::success();
  }
  if (interrupted)
    return createStringError("plan stages: interrupted before any plan fit");
  // What binds: even a layer alone, on all devices of a kind.
  double least = kForbidden, memory = 0;
  for (const Submesh &submesh : submeshesOf(answer.kinds)) {
    double most = 0;
    for (int layer = 0; layer < items; ++layer) {
      StageCost cost = costs.of(layer, layer + 1, submesh);
      most = std::max(most, cost.bytes + cost.microbatchBytes);
    }
    if (most < least) {
      least = most;
      memory = answer.kinds[submesh.kind].memory;
    }
  }
  return createStringError(
      formatv("plan stages: {0}: no plan fits the devices' memory: with one "
              "layer a stage the largest stage takes {1:f1} MB of a device, "
              "which has {2:f1}, and each microbatch on its way and each "
              "further layer more; take more devices, or fewer --rows",
              options.compile.model, least * 1e-6, memory * 1e-6));
}

static Error run(Options &options, const Installation &installation) {
  Answer answer;
  answer.microbatches = options.microbatches;
  for (const std::string &text : options.devices) {
    auto kind = parseDevices(text);
    if (!kind)
      return kind.takeError();
    auto device = tools::readDeviceFacts(kind->name, 1, installation);
    if (!device)
      return device.takeError();
    kind->memory = device->facts.memory;
    answer.kinds.push_back(*kind);
  }
  if (Error error = findOptimizer(options.compile, installation))
    return error;
  auto target = findTarget(options.compile.target);
  if (!target)
    return target.takeError();
  auto descriptions = target->describe(options.compile, installation);
  if (!descriptions)
    return descriptions.takeError();
  Costs costs(options, installation, *descriptions);
  tools::Progress progress(options.compile.quiet);
  for (const Submesh &submesh : submeshesOf(answer.kinds)) {
    progress.show("placements on " + devicesText(answer, submesh));
    if (Error error = costs.add(answer.kinds[submesh.kind], submesh))
      return error;
  }
  progress.clear();
  answer.layers = costs.layers;
  if (Error error = search(options, costs, answer))
    return error;
  if (!options.html.empty())
    try {
      writePage(answer, options.html);
    } catch (const std::exception &error) {
      return createStringError(error.what());
    }
  return writeOutput("", options.json ? jsonOf(answer) : textOf(answer));
}

int tools::planStagesCommand(int argc, char **argv, const char *tool) {
  CLI::App app{
      "batonc plan stages cuts a model that trains into stages of a pipeline, "
      "and says on how many devices\neach runs: 1, 2, 4, ... of a node, or "
      "whole nodes, of one kind or several. Inside of a stage\ndevices are "
      "tensor parallel, placed as batonc plan shard does. No other plan of "
      "these takes less\ntime: the sum of stages' times, and all microbatches "
      "but one times the longest.",
      "batonc plan stages"};
  app.footer("Examples:\n"
             "  batonc plan stages ./llama --mode=train --devices "
             "h100-80gb:1x8 --step-microbatches 16\n"
             "  batonc plan stages ./llama --mode=train --devices "
             "h100-80gb:1x4 --devices a100-80gb:1x4\n"
             "  batonc plan stages ./llama --mode=train --devices "
             "h100-80gb:1x4 --alike --json\n");
  Options options;
  CompileFlags flags;
  flags.addTo(app);
  app.add_option("--devices", options.devices,
                 "NAME:NODESxDEVICES, for each kind of device; a name of "
                 "batonc plan train's, or a file of facts")
      ->required();
  app.add_option("--step-microbatches", options.microbatches,
                 "microbatches of a step (8)");
  app.add_option("--rows", options.rows, "rows of a microbatch (4096)");
  app.add_flag("--alike", options.alike,
               "as many devices in each stage, as --mesh=pp=N,tp=M has");
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--html", options.html, "write a page into a file");
  if (auto status = parse(app, argc, argv, "batonc plan stages"))
    return *status;
  if (std::string error = flags.finish(options.compile); !error.empty())
    return fail(error);
  if (!options.compile.mesh.empty())
    return fail("--mesh: plan stages finds one; leave the flag out");
  if (!options.compile.training)
    return fail("plan stages is for --mode=train: a program that decodes has "
                "one sequence, and stages one after the other");
  if (options.microbatches < 1 || options.microbatches > 65536)
    return fail("--step-microbatches is out of range, expected 1 to 65536");
  if (!(options.rows >= 1 && options.rows <= 1e12))
    return fail("--rows is out of range, expected 1 to 1e12");
  reportFatalErrors(options.compile.model);
  if (Error error = run(options, Installation::ofTool(tool)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

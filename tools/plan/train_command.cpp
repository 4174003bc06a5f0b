//===- train_command.cpp - batonc plan train ------------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "tools/plan/search.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdio>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string model, device = "h100-80gb", framework = "megatron-core";
  int64_t devices = 0, global_batch = 0, sequence = 4096;
  double memory = 0;
  size_t top = 10;
  bool json = false, quiet = false;
};
} // namespace

/// What batonc takes to split a model so.
static std::string flags(const Split &split) {
  std::string mesh;
  auto axis = [&](const char *name, int64_t size) {
    if (size > 1)
      mesh += (mesh.empty() ? "--mesh=" : ",") + std::string(name) + "=" +
              std::to_string(size);
  };
  axis("pp", split.pipeline);
  axis("dp", split.data);
  axis("tp", split.tensor);
  std::string text = "--mode=train" + (mesh.empty() ? "" : " " + mesh);
  if (split.pipeline > 1) {
    text += split.chunks > 1
                ? " --pipeline=interleaved:" + std::to_string(split.chunks)
                : " --pipeline=1f1b";
    text += " --microbatches=" + std::to_string(split.microbatches());
  }
  if (split.sharded_states)
    text += " --zero=1";
  if (split.sequence_parallel)
    text += " --sequence-parallel";
  if (split.recompute)
    text += " --recompute=full";
  return text;
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
                   {"recompute", split.recompute},
                   {"sharded_states", split.sharded_states},
                   {"sequence_parallel", split.sequence_parallel}};
  json["flags"] = flags(split);
  json["seconds"] = time.total;
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
                    {"reserved", memory.reserved}};
  return json;
}

static void print(const Options &options, const Device &device,
                  const Framework &framework, const Decoder &decoder,
                  const SearchResult &result) {
  std::printf("%s: %.3g parameters on %lld x %s, %s; %lld sequences of %lld "
              "tokens a step\n\n",
              options.model.c_str(), decoder.parameters(options.sequence),
              static_cast<long long>(options.devices), device.name.c_str(),
              framework.name.c_str(),
              static_cast<long long>(options.global_batch),
              static_cast<long long>(options.sequence));
  Table table({0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11});
  table.add({"", "tp", "pp", "dp", "chunks", "micro", "with", "seconds",
             "bubble", "utilization", "tokens/s", "memory"});
  for (size_t at = 0; at < result.plans.size(); ++at) {
    const Plan &plan = result.plans[at];
    const Split &split = plan.split;
    std::string with;
    auto add = [&](bool on, const char *what) {
      if (on)
        with += (with.empty() ? "" : ", ") + std::string(what);
    };
    add(split.recompute, "recompute");
    add(split.sharded_states, "sharded states");
    add(split.sequence_parallel, "sequence parallel");
    table.add(
        {std::to_string(at + 1), std::to_string(split.tensor),
         std::to_string(split.pipeline), std::to_string(split.data),
         std::to_string(split.chunks), std::to_string(split.micro_batch),
         with.empty() ? "-" : with, fixed_text(plan.time.total, 3),
         percent_text(plan.time.bubble / plan.time.total),
         percent_text(plan.time.rate / device.matmul_rate),
         fixed_text(
             double(split.global_batch * split.sequence) / plan.time.total, 0),
         bytes_text(plan.memory.total)});
  }
  std::printf("%s\n", table.text(0).c_str());
  std::printf("The first, for batonc: %s\n",
              flags(result.plans[0].split).c_str());
  std::printf(
      "%llu splits have whole parts, %llu of them fit; %llu were played "
      "out%s\n%s\n%s\n",
      static_cast<unsigned long long>(result.legal),
      static_cast<unsigned long long>(result.fitting),
      static_cast<unsigned long long>(result.simulated),
      result.complete ? ", others cannot be among these"
                      : " until you stopped it",
      device.source.c_str(), framework.source.c_str());
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
      {least.reserved, "what libraries take"}};
  const auto most = *std::max_element(std::begin(parts), std::end(parts));
  throw Error(options.model + " does not fit " +
              std::to_string(options.devices) + " devices of " +
              bytes_text(memory) + ": the split that takes least (" +
              flags(result.smallest.split) + ") takes " +
              bytes_text(least.total) + " of each, most of it " + most.second +
              " (" + bytes_text(most.first) + ")");
}

void plan::add_train_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "train", "finds the fastest splits of a model over devices: data, tensor "
               "and pipeline parallel");
  command->footer("Example:\n"
                  "  batonc plan train --model ./llama --devices 64 "
                  "--device h100-80gb --global-batch 512 --sequence 4096");
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
                   "the devices: a name, or a file")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      ->add_option("--framework", options->framework,
                   "what trains: a name, or a file")
      ->type_name("FRAMEWORK")
      ->capture_default_str();
  command
      ->add_option("--memory", options->memory,
                   "bytes of a device that may be taken, with a unit as in "
                   "60GB; 95 % of what it has without it")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--top", options->top, "plans that are printed")
      ->type_name("N")
      ->check(CLI::Range(size_t(1), size_t(1000)))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->callback([options] {
    SearchOptions wanted;
    wanted.decoder = read_decoder(options->model);
    wanted.device = read_device(options->device);
    wanted.framework = read_framework(options->framework);
    wanted.devices = options->devices;
    wanted.global_batch = options->global_batch;
    wanted.sequence = options->sequence;
    wanted.memory =
        options->memory > 0 ? options->memory : .95 * wanted.device.memory;
    wanted.wanted = options->top;
    SearchResult result;
    {
      std::atomic<bool> stopped = false;
      const Interruptible interruptible(stopped);
      Progress progress("planning", options->quiet);
      wanted.progress = [&](uint64_t done, uint64_t total,
                            const std::string &best) {
        progress.update(done, total, best);
        check_interrupted();
      };
      result = search(wanted);
      if (result.plans.empty() && !result.complete)
        check_interrupted();
    }
    if (result.plans.empty())
      refuse_memory(*options, wanted.memory, result);
    if (!options->json) {
      print(*options, wanted.device, wanted.framework, wanted.decoder, result);
      return;
    }
    Json json;
    json["model"] = options->model;
    json["parameters"] = wanted.decoder.parameters(options->sequence);
    json["device"] = wanted.device.name;
    json["framework"] = wanted.framework.name;
    json["devices"] = options->devices;
    json["global_batch"] = options->global_batch;
    json["sequence"] = options->sequence;
    json["legal"] = result.legal;
    json["fitting"] = result.fitting;
    json["simulated"] = result.simulated;
    json["complete"] = result.complete;
    json["plans"] = Json::array();
    for (const Plan &plan : result.plans)
      json["plans"].push_back(to_json(plan, wanted.device));
    std::printf("%s\n", json.dump(2).c_str());
  });
}

//===- evaluate_command.cpp - how well a model foretells data -------------===//

#include "runtime/main/commands.h"

#include "runtime/error.h"
#include "runtime/main/batch_shape.h"
#include "runtime/main/frozen_weights.h"
#include "runtime/main/handshake.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/model_config.h"
#include "runtime/main/output.h"
#include "runtime/main/ranks.h"
#include "runtime/main/table.h"
#include "runtime/main/training_data.h"
#include "runtime/main/training_run.h"
#include "runtime/main/validation.h"
#include "runtime/main/weights.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/hash.h"

#include <cmath>
#include <cstdio>
#include <span>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// The mean loss of each part, on each rank.
std::vector<double> measure(const Metadata &metadata,
                            const EvaluationOptions &options,
                            const std::filesystem::path &folder,
                            const std::string &data,
                            std::span<const TrainingData::Part> parts,
                            Communicator *communicator, unsigned workers) {
  const uint32_t rank = communicator ? communicator->rank() : 0;
  const bool adapts = Adapter::parse(metadata.json).has_value();
  const Parameters frozen = frozen_weights(
      metadata,
      adapts ? std::optional<std::filesystem::path>(folder) : std::nullopt,
      /*seed=*/0, options.run, communicator);
  std::unique_ptr<Execution> execution = make_execution(
      metadata, frozen,
      {workers, static_cast<uint32_t>(options.run.event_origin), communicator});
  TrainingTensors tensors(metadata, *execution, rank);
  const unsigned threads =
      communicator && workers ? workers : chosen_workers(options.run);
  const Checkpoint model = Checkpoint::open(folder);
  tensors.load(model, threads);
  using Of = TrainingTensors::Of;
  if (options.adapter)
    tensors.load(Checkpoint::open_file(*options.adapter, adapter_weights_name),
                 threads, Of::Adapter);
  else {
    tensors.initialize(/*seed=*/0, Of::Adapter);
    tensors.initialize_magnitudes(model, threads);
  }
  if (communicator) {
    Json own = identity(metadata, options.run);
    own["data"] = data;
    own["--batch"] = options.batch;
    own["--json"] = options.json;
    shake_hands(*communicator, own, "");
  }
  tensors.send_state([](uint64_t, uint64_t) {});
  // A signal that stops one rank stops all.
  std::optional<Interruptible> interruptible;
  if (!communicator || communicator->hears_signals())
    interruptible.emplace(execution->stop);
  std::vector<double> losses;
  for (const TrainingData::Part &part : parts) {
    Validation validation(metadata.json, *part.batches, tensors,
                          execution->calls(), batch_place(communicator));
    losses.push_back(validation.measure(*execution));
    if (communicator && execution->was_stopped())
      throw AgreedError("interrupted");
    if (!communicator)
      check_interrupted();
  }
  return losses;
}

/// Null where it is not finite.
Json numbers_of(uint64_t targets, double loss) {
  return {{"targets", targets}, {"loss", loss}, {"perplexity", std::exp(loss)}};
}

std::string fixed(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

void print_losses(std::span<const TrainingData::Part> parts,
                  std::span<const double> losses, bool json) {
  Json files = Json::array();
  uint64_t targets = 0;
  double sum = 0;
  Table table({1, 2, 3, 4});
  auto add_row = [&](const std::string &name, const Json &numbers) {
    table.add({name, fixed(numbers["loss"].get<double>()) + " nats a token",
               "perplexity " + fixed(numbers["perplexity"].get<double>()),
               numbers["targets"].dump() + " targets"});
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    Json own = {{"file", parts[i].name}};
    if (parts[i].documents)
      own["documents"] = *parts[i].documents;
    const uint64_t count = parts[i].batches->validation_targets();
    own.update(numbers_of(count, losses[i]));
    targets += count;
    sum += losses[i] * static_cast<double>(count);
    add_row(parts[i].name, own);
    files.push_back(std::move(own));
  }
  Json all = numbers_of(targets, sum / static_cast<double>(targets));
  if (parts.size() > 1)
    add_row("all", all);
  if (!json)
    return print(table.text(0));
  all["files"] = std::move(files);
  print(all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void evaluate(const Metadata &metadata, const EvaluationOptions &options,
              Ranks &ranks) {
  const std::optional<Adapter> adapter = Adapter::parse(metadata.json);
  if (options.adapter) {
    if (!adapter)
      throw Error("--adapter: this program has all of the model; batonc "
                  "--mode=train --adapter=" +
                  *options.adapter + " makes one of it and the pairs");
    adapter->expect(Adapter::read(*options.adapter), *options.adapter);
  }
  const std::filesystem::path folder = weights_path(options.run);
  if (const auto file = find_gguf(folder); file && !adapter)
    throw Error("--weights: " + file->string() +
                " is a GGUF file; eval reads a folder that has safetensors and "
                "config.json");
  check_model_config(metadata, folder);
  const BatchShape shape =
      batch_shape(metadata, options.batch, options.sequence, /*accumulate=*/1);
  const TrainingData data =
      TrainingData::open(metadata, options.data, folder, shape.length,
                         /*notes=*/!options.run.quiet && ranks.speak());
  if (data.has_pairs())
    throw Error("eval: this program's loss is of pairs of answers, beside a "
                "reference that only a run has; train --validate-every "
                "measures those that are set aside");
  const std::vector<TrainingData::Part> parts = data.parts(shape);
  ranks.run([&](Communicator *communicator, unsigned workers) {
    const std::vector<double> losses =
        measure(metadata, options, folder, data.settings().dump(), parts,
                communicator, workers);
    if (!communicator || communicator->rank() == 0)
      print_losses(parts, losses, options.json);
  });
}

} // namespace

void evaluate_command(const Metadata &metadata,
                      const EvaluationOptions &options) {
  on_ranks(metadata, options.run, options,
           [&](Ranks &ranks) { evaluate(metadata, options, ranks); });
}

} // namespace baton

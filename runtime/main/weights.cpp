//===- weights.cpp - the weights that --weights names --------------------===//

#include "runtime/main/weights.h"

#include "runtime/error.h"
#include "runtime/main/progress.h"

namespace baton {

std::filesystem::path weights_path(const RunOptions &options) {
  if (!options.weights || options.weights->empty())
    throw Error("--weights: name the checkpoint's folder or .gguf file");
  std::filesystem::path path = *options.weights;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure))
    throw Error("--weights: " + path.string() + ": no such file or folder");
  if (!std::filesystem::is_directory(path, failure) &&
      path.extension() != ".gguf")
    throw Error("--weights: " + path.string() +
                " is neither a folder nor a .gguf file");
  return path;
}

Parameters load_weights(const Metadata &metadata,
                        const std::filesystem::path &path,
                        const RunOptions &options, uint32_t rank,
                        const std::optional<LayerLoading> &layers) {
  Checkpoint checkpoint = Checkpoint::open(path);
  Progress progress("loading weights", options.quiet);
  LoadOptions load;
  load.rank = rank;
  load.use_cache = !options.no_cache;
  load.threads = chosen_workers(options);
  load.quiet = options.quiet;
  load.layers = layers;
  load.progress = [&](uint64_t done, uint64_t total) {
    progress.update(done, total);
  };
  return Parameters::load(metadata.json, checkpoint, load);
}

Parameters load_weights(const Metadata &metadata, const RunOptions &options,
                        uint32_t rank,
                        const std::optional<LayerLoading> &layers) {
  return load_weights(metadata, weights_path(options), options, rank, layers);
}

std::unique_ptr<Execution>
make_execution(const Metadata &metadata, const Parameters &parameters,
               const RunOptions &options, unsigned workers, uint64_t pages,
               const std::optional<OffloadedPages> &layer_pages) {
  Progress progress("copying weights to the device", options.quiet);
  ExecutionOptions execution;
  execution.workers = workers;
  execution.pages = pages;
  execution.layer_pages = layer_pages;
  execution.event_origin = static_cast<uint32_t>(options.event_origin);
  execution.progress = [&](uint64_t done, uint64_t total) {
    progress.update(done, total);
  };
  return make_execution(metadata, parameters, execution);
}

} // namespace baton

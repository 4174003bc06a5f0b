//===- calibrate_command.cpp - how large the inputs of linears are --------===//

#include "runtime/main/commands.h"

#include "runtime/decode/scoring.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/execute/input_squares.h"
#include "runtime/main/data_windows.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/weights.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/description.h"

namespace baton {

/// Means by the names that a checkpoint may have for the weights.
static std::map<std::string, std::vector<float>>
means_by_tensor(const Metadata &metadata, const InputSquares &squares) {
  std::map<std::string, std::vector<float>> result;
  for (const ParameterDescription &parameter : parse_parameters(metadata.json))
    for (uint64_t i = 0; i < parameter.layers; ++i) {
      const auto found =
          squares.sums().find({parameter.name, static_cast<uint32_t>(i)});
      if (found == squares.sums().end())
        continue;
      const uint64_t layer = parameter.first_layer + i * parameter.layer_step;
      for (const ParameterPart &part : parameter.parts)
        for (const std::string &name : names_in_layer(part.sources, layer))
          result[name] = found->second.means();
    }
  return result;
}

static void write_means(SafetensorsWriter &writer,
                        const std::map<std::string, std::vector<float>> &means,
                        uint64_t tokens) {
  std::vector<TensorSource> tensors;
  for (const auto &[name, values] : means)
    tensors.push_back({name, DataType::F32, {values.size()}, values.data()});
  writer.write(tensors, {{"format", "baton-input-squares"},
                         {"tokens", std::to_string(tokens)}});
  writer.publish();
}

void calibrate_command(const Metadata &metadata,
                       const CalibrateOptions &options) {
  if (options.run.workers > 1)
    throw Error("calibrate runs one worker; leave out --workers");
  if (metadata.json.contains("mesh"))
    throw Error("calibrate runs on one rank; compile without --mesh");
  if (!metadata.device.is_null())
    throw Error("calibrate: the program runs on a device, whose memory it does "
                "not see; compile it with --target=cpu");
  InputSquares squares(metadata);
  const TextWindows windows = read_windows(metadata, options.run, options.text);
  // Before the weights are loaded, which may take long.
  SafetensorsWriter writer(options.out);
  const Parameters parameters = load_weights(metadata, options.run);
  const uint64_t all = windows.count() * windows.rows();
  uint64_t done = 0;
  {
    Progress progress("calibrating", options.run.quiet);
    Scoring scoring(
        windows.texts(), windows.first(),
        chosen_prefill_chunk(options.run, metadata), metadata.max_outputs,
        [&](const float *, uint64_t rows) {
          done += rows;
          progress.update(done, all);
        },
        &squares);
    // A phase is complete behind it only when one worker runs all.
    const auto execution = make_execution(metadata, parameters, options.run, 1);
    RunTrace trace(metadata, options.run, *execution);
    execution->run(scoring, /*observed=*/true);
    trace.publish();
  }
  write_means(writer, means_by_tensor(metadata, squares),
              windows.count() * (windows.context - 1));
}

} // namespace baton

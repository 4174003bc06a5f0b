//===- calibrate_command.cpp - how large the inputs of linears are --------===//

#include "runtime/main/commands.h"

#include "runtime/decode/scoring.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/execute/input_moments.h"
#include "runtime/execute/input_squares.h"
#include "runtime/main/data_windows.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/weights.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/description.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <set>

namespace baton {

namespace {

/// A copy of a parameter, and the names that a checkpoint may have for each of
/// its tensors.
struct Copy {
  std::string parameter;
  uint32_t copy;
  /// As tensors' names count it.
  uint64_t layer;
  std::vector<std::vector<std::string>> tensors;
};

std::vector<Copy> copies_of(const Metadata &metadata) {
  std::vector<Copy> result;
  for (const ParameterDescription &parameter : parse_parameters(metadata.json))
    for (uint64_t i = 0; i < parameter.layers; ++i) {
      Copy copy{parameter.name,
                static_cast<uint32_t>(i),
                parameter.first_layer + i * parameter.layer_step,
                {}};
      for (const ParameterPart &part : parameter.parts)
        copy.tensors.push_back(names_in_layer(part.sources, copy.layer));
      result.push_back(std::move(copy));
    }
  return result;
}

/// What a text's steps are watched for, and the file that comes of it.
class Measurement {
public:
  virtual ~Measurement() = default;
  virtual PhaseObserver &observer() = 0;
  virtual void write(SafetensorsWriter &writer, uint64_t tokens) const = 0;
};

class Squares : public Measurement {
public:
  explicit Squares(const Metadata &metadata)
      : metadata(metadata), squares(metadata) {}

  PhaseObserver &observer() override { return squares; }

  void write(SafetensorsWriter &writer, uint64_t tokens) const override {
    std::map<std::string, std::vector<float>> means;
    for (const Copy &copy : copies_of(metadata))
      if (const auto found = squares.sums().find({copy.parameter, copy.copy});
          found != squares.sums().end())
        for (const std::vector<std::string> &tensor : copy.tensors)
          for (const std::string &name : tensor)
            means[name] = found->second.means();
    std::vector<TensorSource> tensors;
    for (const auto &[name, values] : means)
      tensors.push_back({name, DataType::F32, {values.size()}, values.data()});
    writer.write(tensors, {{"format", "baton-input-squares"},
                           {"tokens", std::to_string(tokens)}});
  }

private:
  const Metadata &metadata;
  InputSquares squares;
};

/// "4-7", or "4".
std::pair<uint64_t, uint64_t> parse_layers(const std::string &text) {
  const char *end = text.data() + text.size();
  uint64_t first = 0, last = 0;
  auto [middle, failure] = std::from_chars(text.data(), end, first);
  last = first;
  if (failure == std::errc() && middle != end && *middle == '-') {
    auto [rest, wrong] = std::from_chars(middle + 1, end, last);
    middle = rest;
    failure = wrong;
  }
  if (failure != std::errc() || middle != end || last < first)
    throw Error("--layers: " + quote_name(text) +
                " is no range of layers; expected one as in 4-7");
  return {first, last};
}

class Moments : public Measurement {
public:
  Moments(const Metadata &metadata, const CalibrateOptions &options)
      : moments(metadata, wanted(metadata, options)) {}

  PhaseObserver &observer() override { return moments; }

  void write(SafetensorsWriter &writer, uint64_t tokens) const override {
    std::vector<TensorSource> tensors;
    for (const auto &[linear, sum] : moments.sums())
      for (const std::string &name : names.at(linear))
        tensors.push_back(
            {name,
             DataType::F64,
             {sum.width, sum.width},
             nullptr,
             [&sum = sum](uint64_t first, uint64_t count, std::byte *to) {
               for (uint64_t i = first; i < first + count; ++i)
                 for (uint64_t j = 0; j < sum.width; ++j) {
                   const double mean = sum.products[std::max(i, j) * sum.width +
                                                    std::min(i, j)] /
                                       double(sum.rows);
                   std::memcpy(to, &mean, sizeof(mean));
                   to += sizeof(mean);
                 }
             }});
    writer.write(tensors, {{"format", "baton-input-moments"},
                           {"tokens", std::to_string(tokens)}});
  }

private:
  std::set<InputMoments::Linear> wanted(const Metadata &metadata,
                                        const CalibrateOptions &options) {
    std::pair<uint64_t, uint64_t> layers = {0, UINT64_MAX};
    if (options.layers)
      layers = parse_layers(*options.layers);
    std::set<InputMoments::Linear> result;
    for (const Copy &copy : copies_of(metadata))
      for (const std::vector<std::string> &tensor : copy.tensors)
        // Matrices are large: under one name.
        if (tensor.front().find(*options.moments) != std::string::npos &&
            copy.layer >= layers.first && copy.layer <= layers.second) {
          result.insert({copy.parameter, copy.copy});
          names[{copy.parameter, copy.copy}].push_back(tensor.front());
        }
    if (result.empty())
      throw Error("--moments " + *options.moments +
                  ": no weight of these layers has a name that holds it");
    return result;
  }

  std::map<InputMoments::Linear, std::vector<std::string>> names;
  InputMoments moments;
};

} // namespace

void calibrate_command(const Metadata &metadata,
                       const CalibrateOptions &options) {
  if (options.run.workers > 1)
    throw Error("calibrate runs one worker; leave out --workers");
  if (metadata.json.contains("mesh"))
    throw Error("calibrate runs on one rank; compile without --mesh");
  if (!metadata.device.is_null())
    throw Error("calibrate: the program runs on a device, whose memory it does "
                "not see; compile it with --target=cpu");
  std::unique_ptr<Measurement> measurement;
  if (options.moments)
    measurement = std::make_unique<Moments>(metadata, options);
  else
    measurement = std::make_unique<Squares>(metadata);
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
        &measurement->observer());
    // A phase is complete behind it only when one worker runs all.
    const auto execution = make_execution(metadata, parameters, options.run, 1);
    RunTrace trace(metadata, options.run, *execution);
    execution->run(scoring, /*observed=*/true);
    trace.publish();
  }
  measurement->write(writer, windows.count() * (windows.context - 1));
  writer.publish();
}

} // namespace baton

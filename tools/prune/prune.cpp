//===- prune.cpp - a model with fewer neurons and layers ------------------===//

#include "tools/prune/prune.h"

#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/message.h"
#include "tools/command/checkpoint_files.h"
#include "tools/command/child.h"
#include "tools/prune/mlp_layout.h"
#include "tools/prune/neuron_choice.h"
#include "tools/prune/pruned_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <set>

namespace baton {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string &flag, const std::string &text,
                         const std::string &why) {
  throw Error(flag + ": " + quote_name(text) + " " + why);
}

/// A whole number, all of the text.
std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t number = 0;
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

} // namespace

std::vector<uint64_t> kept_layers(const std::string &dropped, uint64_t layers) {
  auto expect = [&](bool condition, const std::string &why) {
    if (!condition)
      refuse("--drop-layers", dropped, why);
  };
  const std::string form =
      "is neither last:8 nor a list of layers as in 3,5,7-9";
  std::set<uint64_t> gone;
  std::string_view rest = dropped;
  if (rest.starts_with("last:")) {
    const std::optional<uint64_t> count = parse_number(rest.substr(5));
    expect(count.has_value(), form);
    expect(*count <= layers,
           "are more layers than the model's " + std::to_string(layers));
    for (uint64_t i = 0; i < *count; ++i)
      gone.insert(layers - 1 - i);
  } else {
    while (true) {
      const size_t comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      const size_t dash = item.find('-');
      const auto first = parse_number(item.substr(0, dash));
      const auto last =
          dash == item.npos ? first : parse_number(item.substr(dash + 1));
      expect(first && last && *first <= *last, form);
      expect(*last < layers, "names layer " + std::to_string(*last) +
                                 ", and the model's last one is " +
                                 std::to_string(layers - 1));
      for (uint64_t layer = *first; layer <= *last; ++layer)
        gone.insert(layer);
      if (comma == rest.npos)
        break;
      rest.remove_prefix(comma + 1);
    }
  }
  expect(!gone.empty(), "drops no layer");
  expect(gone.size() < layers, "drops all layers");
  std::vector<uint64_t> kept;
  for (uint64_t layer = 0; layer < layers; ++layer)
    if (!gone.contains(layer))
      kept.push_back(layer);
  return kept;
}

uint64_t kept_neurons(const std::string &text, uint64_t neurons) {
  uint64_t kept = 0;
  if (text.ends_with('%')) {
    double percent = 0;
    const char *end = text.data() + text.size() - 1;
    auto [rest, failure] = std::from_chars(text.data(), end, percent);
    if (failure != std::errc() || rest != end || !(percent > 0) ||
        percent > 100)
      refuse("--mlp-neurons", text, "is no part from more than 0% to 100%");
    kept = std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(
                                     double(neurons) * percent / 100)));
  } else {
    const std::optional<uint64_t> number = parse_number(text);
    if (!number || *number == 0)
      refuse("--mlp-neurons", text,
             "is neither a number of neurons nor a part of them as in 50%");
    kept = *number;
  }
  if (kept > neurons)
    refuse("--mlp-neurons", text,
           "are more neurons than an MLP's " + std::to_string(neurons));
  return kept;
}

namespace {

uint64_t row_bytes(const Tensor &tensor) {
  uint64_t bytes = bytes_of(tensor.type);
  for (size_t i = 1; i < tensor.shape.size(); ++i)
    bytes *= tensor.shape[i];
  return bytes;
}

uint64_t bytes_of_tensor(const TensorSource &source) {
  uint64_t bytes = bytes_of(source.type);
  for (uint64_t extent : source.shape)
    bytes *= extent;
  return bytes;
}

/// Second moments of the inputs of down projections: files of some layers each,
/// which a compiled program writes.
class Moments {
public:
  /// Of so many layers of so many neurons.
  Moments(const PruneOptions &options, const fs::path &model,
          const fs::path &folder, const MlpLayout &layout, uint64_t layers);

  std::vector<double> of(uint64_t layer) const;

private:
  std::map<uint64_t, fs::path> files;
  uint64_t neurons;
};

Moments::Moments(const PruneOptions &options, const fs::path &model,
                 const fs::path &folder, const MlpLayout &layout,
                 uint64_t layers)
    : neurons(layout.neurons()) {
  const std::string program = (folder / "program").string();
  run_child({options.batonc, model.string(), "-o", program,
             "--disable-pass=norm-rewrites", "--quiet"});
  const uint64_t bytes = neurons * neurons * sizeof(double);
  const uint64_t at_once = std::max<uint64_t>(1, options.memory / bytes);
  for (uint64_t first = 0; first < layers; first += at_once) {
    const uint64_t last = std::min(layers, first + at_once) - 1;
    const fs::path file =
        folder / ("moments-" + std::to_string(first) + ".safetensors");
    std::vector<std::string> measuring = {
        program,
        "calibrate",
        "--weights=" + model.string(),
        "--data=" + options.text.string(),
        "--windows=" + std::to_string(options.windows),
        "--moments=" + layout.down(),
        "--layers=" + std::to_string(first) + "-" + std::to_string(last),
        "--out=" + file.string(),
        "--no-cache"};
    if (options.quiet)
      measuring.push_back("--quiet");
    run_child(measuring);
    for (uint64_t layer = first; layer <= last; ++layer)
      files[layer] = file;
  }
}

std::vector<double> Moments::of(uint64_t layer) const {
  const fs::path &path = files.at(layer);
  const Checkpoint file =
      Checkpoint::open_file(path.parent_path(), path.filename().string());
  for (const std::string &name : file.names())
    if (const auto parsed = LayerName::parse(name);
        parsed && parsed->layer == layer) {
      const StoredTensor stored = file.find({name});
      const auto *values =
          reinterpret_cast<const double *>(stored.tensor->data);
      return {values, values + neurons * neurons};
    }
  throw Error(path.string() + ": has no moments of layer " +
              std::to_string(layer));
}

/// What stays of a layer's neurons.
struct LayerChoice {
  std::vector<uint32_t> kept;
  /// [outputs, kept]; empty where weights stay as they are.
  std::vector<float> weights;
};

/// Writes a folder of a model's weights, some of them cut.
class Pruning {
public:
  Pruning(const PruneOptions &options, const fs::path &from,
          const Checkpoint &model, std::vector<uint64_t> layers,
          const MlpLayout *layout, uint64_t keep, const Moments *moments);

  void write(const fs::path &to, const std::string &config);
  std::vector<double> losses;

private:
  TensorSource source_of(const StoredTensor &stored,
                         const std::optional<LayerName> &name);
  /// Of a layer, as the model counts it; the last one asked for is remembered:
  /// a file has the tensors of a layer one behind the other.
  const LayerChoice &choice(const LayerName &name);
  LayerChoice choose(const LayerName &name);
  /// Of the matrix of outputs, [outputs, neurons].
  std::vector<float> down_of(const LayerName &name) const;
  void cut_rows(const Tensor &tensor, const NeuronDimension &dimension,
                const LayerName &name, uint64_t first, uint64_t count,
                std::byte *to);
  void solved_rows(const Tensor &tensor, const NeuronDimension &dimension,
                   const LayerName &name, uint64_t first, uint64_t count,
                   std::byte *to);

  const PruneOptions &options;
  const fs::path &from;
  const Checkpoint &model;
  const std::vector<uint64_t> layers;
  const MlpLayout *const layout;
  const uint64_t keep;
  const Moments *const moments;
  std::map<std::pair<std::string, uint64_t>, LayerChoice> last;
  uint64_t done = 0, total = 0;
};

Pruning::Pruning(const PruneOptions &options, const fs::path &from,
                 const Checkpoint &model, std::vector<uint64_t> layers,
                 const MlpLayout *layout, uint64_t keep, const Moments *moments)
    : options(options), from(from), model(model), layers(std::move(layers)),
      layout(layout), keep(keep), moments(moments) {}

std::vector<float> Pruning::down_of(const LayerName &name) const {
  const StoredTensor stored =
      model.find({name.before + std::to_string(name.layer) + layout->down()});
  const Tensor &tensor = *stored.tensor;
  const Conversion widen = conversion(tensor.type, DataType::F32);
  const uint64_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<float> values(rows * columns);
  widen(tensor.data, values.data(), values.size());
  if (layout->find(layout->down())->dimension == 1)
    return values;
  std::vector<float> turned(values.size());
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < columns; ++j)
      turned[j * rows + i] = values[i * columns + j];
  return turned;
}

LayerChoice Pruning::choose(const LayerName &name) {
  const uint64_t neurons = layout->neurons();
  if (moments) {
    LeastSquaresChoice found =
        choose_by_least_squares(down_of(name), moments->of(name.layer), neurons,
                                keep, options.damping, options.exchanges);
    losses.push_back(found.loss);
    return {std::move(found.kept), std::move(found.weights)};
  }
  // How much a neuron can matter: the product of the norms of its weights.
  std::vector<double> sizes(neurons, 1);
  const std::string prefix = name.before + std::to_string(name.layer);
  for (const std::string &other : model.names()) {
    if (!other.starts_with(prefix + "."))
      continue;
    const auto dimension = layout->find(other.substr(prefix.size()));
    const StoredTensor stored = model.find({other});
    const Tensor &tensor = *stored.tensor;
    if (!dimension || tensor.shape.size() != 2)
      continue;
    std::vector<float> values(tensor.shape[0] * tensor.shape[1]);
    conversion(tensor.type, DataType::F32)(tensor.data, values.data(),
                                           values.size());
    std::vector<double> squares(neurons * dimension->parts);
    for (uint64_t i = 0; i < tensor.shape[0]; ++i)
      for (uint64_t j = 0; j < tensor.shape[1]; ++j) {
        const double value = values[i * tensor.shape[1] + j];
        squares[dimension->dimension == 0 ? i : j] += value * value;
      }
    for (uint64_t i = 0; i < squares.size(); ++i)
      sizes[i % neurons] *= std::sqrt(squares[i]);
  }
  return {largest(sizes, keep), {}};
}

const LayerChoice &Pruning::choice(const LayerName &name) {
  const std::pair<std::string, uint64_t> key = {name.before, name.layer};
  auto found = last.find(key);
  if (found == last.end()) {
    last.clear();
    found = last.emplace(key, choose(name)).first;
  }
  return found->second;
}

void Pruning::cut_rows(const Tensor &tensor, const NeuronDimension &dimension,
                       const LayerName &name, uint64_t first, uint64_t count,
                       std::byte *to) {
  const std::vector<uint32_t> &kept = choice(name).kept;
  const uint64_t element = bytes_of(tensor.type), row = row_bytes(tensor);
  for (uint64_t i = first; i < first + count; ++i) {
    if (dimension.dimension == 0) {
      const uint64_t at =
          i / kept.size() * layout->neurons() + kept[i % kept.size()];
      to = std::copy_n(tensor.data + at * row, row, to);
      continue;
    }
    for (uint32_t neuron : kept)
      to = std::copy_n(tensor.data + i * row + neuron * element, element, to);
  }
}

void Pruning::solved_rows(const Tensor &tensor,
                          const NeuronDimension &dimension,
                          const LayerName &name, uint64_t first, uint64_t count,
                          std::byte *to) {
  const LayerChoice &chosen = choice(name);
  const Conversion narrow = conversion(DataType::F32, tensor.type);
  const uint64_t kept = chosen.kept.size(),
                 outputs = chosen.weights.size() / kept;
  std::vector<float> row;
  for (uint64_t i = first; i < first + count; ++i) {
    if (dimension.dimension == 1) {
      row.assign(chosen.weights.begin() + static_cast<ptrdiff_t>(i * kept),
                 chosen.weights.begin() +
                     static_cast<ptrdiff_t>((i + 1) * kept));
    } else {
      row.resize(outputs);
      for (uint64_t j = 0; j < outputs; ++j)
        row[j] = chosen.weights[j * kept + i];
    }
    narrow(row.data(), to, row.size());
    to += row.size() * bytes_of(tensor.type);
  }
}

TensorSource Pruning::source_of(const StoredTensor &stored,
                                const std::optional<LayerName> &name) {
  const Tensor &tensor = *stored.tensor;
  TensorSource source;
  source.name = stored.name;
  source.type = tensor.type;
  source.shape = tensor.shape;
  std::optional<NeuronDimension> dimension;
  if (name) {
    const auto place = std::find(layers.begin(), layers.end(), name->layer);
    source.name = name->of(static_cast<uint64_t>(place - layers.begin()));
    if (layout)
      dimension = layout->find(name->after);
  }
  if (!dimension) {
    source.read = [&tensor, file = stored.file](uint64_t first, uint64_t count,
                                                std::byte *to) {
      const uint64_t row = row_bytes(tensor);
      std::copy_n(tensor.data + first * row, count * row, to);
    };
    return source;
  }
  const std::string where =
      stored.file->path().string() + ": tensor " + quote_name(stored.name);
  if (tensor.shape.size() <= dimension->dimension ||
      tensor.shape[dimension->dimension] !=
          layout->neurons() * dimension->parts)
    throw Error(where + " has the shape " + shape_text(tensor.shape) +
                ", which is not of " + std::to_string(layout->neurons()) +
                " neurons, as another layer has them");
  if (!conversion(tensor.type, DataType::F32))
    throw Error(where + " is not of floating-point numbers");
  source.shape[dimension->dimension] = keep * dimension->parts;
  source.read = [this, &tensor, file = stored.file, dimension = *dimension,
                 name = *name](uint64_t first, uint64_t count, std::byte *to) {
    if (dimension.is_down && moments)
      solved_rows(tensor, dimension, name, first, count, to);
    else
      cut_rows(tensor, dimension, name, first, count, to);
  };
  return source;
}

void Pruning::write(const fs::path &to, const std::string &config) {
  std::vector<TensorSource> sources;
  for (const std::string &stored : model.names()) {
    const std::optional<LayerName> name = LayerName::parse(stored);
    if (name &&
        std::find(layers.begin(), layers.end(), name->layer) == layers.end())
      continue;
    TensorSource source = source_of(model.find({stored}), name);
    total += bytes_of_tensor(source);
    const uint64_t row = source.shape.empty() || source.shape[0] == 0
                             ? 0
                             : bytes_of_tensor(source) / source.shape[0];
    source.read = [this, row, read = std::move(source.read)](
                      uint64_t first, uint64_t count, std::byte *bytes) {
      read(first, count, bytes);
      done += count * row;
      if (options.progress)
        options.progress(done, total);
    };
    sources.push_back(std::move(source));
  }
  TemporaryFolder folder(to);
  std::error_code failure;
  try {
    SafetensorsWriter writer(to / "model.safetensors");
    writer.write(sources);
    copy_other_files(from, to);
    TemporaryFile file(to / "config.json");
    file.write(config.data(), config.size(), 0);
    file.sync();
    file.publish();
    writer.publish();
  } catch (...) {
    fs::remove_all(to, failure);
    throw;
  }
  sync_folder(to);
  folder.keep();
}

/// The model of a folder that something is cut from.
Checkpoint open_whole(const fs::path &folder) {
  if (!fs::is_directory(folder))
    throw Error(folder.string() + (fs::exists(folder)
                                       ? ": is no folder of a checkpoint; "
                                         "prune the one that it was made of"
                                       : ": no such folder"));
  const Checkpoint model = Checkpoint::open(folder);
  if (find_gguf(folder) || !model.quantisation().empty())
    throw Error(folder.string() +
                " is quantised; prune the checkpoint that it was made of, and "
                "batonc quantize then takes the result");
  return model;
}

} // namespace

PruneSummary prune(const PruneOptions &options) {
  const fs::path model_path = fs::absolute(options.model).lexically_normal();
  std::error_code failure;
  if (fs::exists(fs::symlink_status(options.output, failure)))
    throw Error("-o " + options.output.string() + " is there already");
  Checkpoint model = open_whole(options.model);
  PrunedConfig config = PrunedConfig::read(options.model / "config.json");
  PruneSummary summary;
  summary.layers = summary.kept_layers = config.layers();
  std::vector<uint64_t> layers;
  for (uint64_t layer = 0; layer < config.layers(); ++layer)
    layers.push_back(layer);
  // What is asked for is checked before anything takes long.
  std::vector<uint64_t> kept = layers;
  if (options.layers) {
    kept = kept_layers(*options.layers, config.layers());
    config.keep_layers(kept);
    summary.kept_layers = kept.size();
  }
  std::optional<MlpLayout> layout;
  uint64_t keep = 0;
  if (options.neurons) {
    layout.emplace(model, config.json());
    keep = kept_neurons(*options.neurons, layout->neurons());
    summary.neurons = layout->neurons();
    summary.kept_neurons = keep;
  }
  const bool calibrates =
      options.neurons && options.by == NeuronChoice::LeastSquares;
  if (calibrates && !fs::is_regular_file(options.text))
    throw Error("--data: " + options.text.string() +
                (fs::exists(options.text) ? " is no plain file; give one text"
                                          : ": no such file"));
  if (!calibrates) {
    if (options.neurons)
      config.set_neurons(layout->config_key(), keep);
    Pruning pruning(options, options.model, model, kept,
                    layout ? &*layout : nullptr, keep, nullptr);
    pruning.write(options.output, config.text());
    return summary;
  }
  const ScratchFolder scratch(
      fs::absolute(options.output.string() + ".part.calibration"));
  // Neurons are chosen by what they do where layers are gone already.
  fs::path from = model_path;
  if (options.layers) {
    from = scratch.path / "layers";
    PruneOptions quietly = options;
    quietly.progress = nullptr;
    Pruning pruning(quietly, options.model, model, kept, nullptr, 0, nullptr);
    pruning.write(from, config.text());
    model = open_whole(from);
    layers.resize(kept.size());
  }
  const Moments moments(options, from, scratch.path, *layout, layers.size());
  config.set_neurons(layout->config_key(), keep);
  Pruning pruning(options, from, model, layers, &*layout, keep, &moments);
  pruning.write(options.output, config.text());
  summary.losses = pruning.losses;
  return summary;
}

} // namespace baton

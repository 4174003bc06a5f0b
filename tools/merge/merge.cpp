//===- merge.cpp - an adapter and its model as one checkpoint -------------===//

#include "tools/merge/merge.h"

#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/adapter.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/json_file.h"
#include "runtime/weights/message.h"
#include "tools/command/checkpoint_files.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace baton {

namespace fs = std::filesystem;

namespace {

/// The two matrices of a pair, in F32, and the lengths of the adapted weight's
/// rows, if it has them.
struct Pair {
  std::vector<float> down, up;   // [rank, inputs], [outputs, rank]
  std::vector<float> magnitudes; // [outputs]
  uint64_t rank = 0, inputs = 0, outputs = 0;
};

std::vector<float> values_of(const StoredTensor &stored, size_t dimensions) {
  const Tensor &tensor = *stored.tensor;
  const Conversion convert = conversion(tensor.type, DataType::F32);
  if (!convert || tensor.shape.size() != dimensions)
    throw Error(stored.file->path().string() + ": tensor " +
                quote_name(stored.name) + " is no " +
                (dimensions == 1 ? "vector" : "matrix") +
                " of floating-point numbers");
  uint64_t count = 1;
  for (uint64_t extent : tensor.shape)
    count *= extent;
  std::vector<float> values(count);
  convert(tensor.data, values.data(), values.size());
  return values;
}

Pair read_pair(const Checkpoint &adapter, const std::string &module,
               bool decomposed) {
  const StoredTensor down = adapter.find({module + std::string(adapter_down)}),
                     up = adapter.find({module + std::string(adapter_up)});
  Pair pair;
  pair.down = values_of(down, 2);
  pair.up = values_of(up, 2);
  pair.rank = down.tensor->shape[0];
  pair.inputs = down.tensor->shape[1];
  pair.outputs = up.tensor->shape[0];
  if (up.tensor->shape[1] != pair.rank)
    throw Error(up.file->path().string() + ": tensor " + quote_name(up.name) +
                " has the shape " + shape_text(up.tensor->shape) +
                ", but lora_A the rank " + std::to_string(pair.rank));
  if (!decomposed)
    return pair;
  const StoredTensor lengths =
      adapter.find({module + std::string(adapter_magnitude)});
  pair.magnitudes = values_of(lengths, 1);
  if (pair.magnitudes.size() != pair.outputs)
    throw Error(lengths.file->path().string() + ": tensor " +
                quote_name(lengths.name) + " has the shape " +
                shape_text(lengths.tensor->shape) + ", but lora_B " +
                std::to_string(pair.outputs) + " rows");
  return pair;
}

/// A weight, and what is added to it.
struct Sum {
  StoredTensor weight;
  Pair pair;
  float factor = 0;
  /// The weight is stored by its inputs.
  bool transposed = false;

  /// Rows as they are stored, in ascending order.
  void read(uint64_t first, uint64_t count, std::byte *destination);

private:
  /// A stored row of the sum in F32; `added` is room for as many numbers.
  void add(uint64_t at, std::vector<float> &row,
           std::vector<float> &added) const;
  /// What each output of the sum is multiplied by to have its magnitude.
  std::vector<float> scales() const;

  /// These, while the weight is read.
  std::vector<float> scaled;
};

void Sum::add(uint64_t at, std::vector<float> &row,
              std::vector<float> &added) const {
  const Tensor &tensor = *weight.tensor;
  const uint64_t columns = tensor.shape[1];
  conversion(tensor.type, DataType::F32)(
      tensor.data + at * columns * bytes_of(tensor.type), row.data(), columns);
  std::fill(added.begin(), added.end(), 0.0f);
  for (uint64_t r = 0; r < pair.rank; ++r)
    for (uint64_t column = 0; column < columns; ++column)
      added[column] += transposed ? pair.up[column * pair.rank + r] *
                                        pair.down[r * pair.inputs + at]
                                  : pair.up[at * pair.rank + r] *
                                        pair.down[r * pair.inputs + column];
  for (uint64_t column = 0; column < columns; ++column)
    row[column] += factor * added[column];
}

std::vector<float> Sum::scales() const {
  const Tensor &tensor = *weight.tensor;
  const uint64_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<float> row(columns), added(columns);
  std::vector<double> squares(pair.outputs, 0.0);
  for (uint64_t at = 0; at < rows; ++at) {
    add(at, row, added);
    for (uint64_t column = 0; column < columns; ++column)
      squares[transposed ? column : at] +=
          double(row[column]) * double(row[column]);
  }
  std::vector<float> result(pair.outputs);
  for (uint64_t output = 0; output < pair.outputs; ++output)
    result[output] = static_cast<float>(double(pair.magnitudes[output]) /
                                        std::sqrt(squares[output]));
  return result;
}

void Sum::read(uint64_t first, uint64_t count, std::byte *destination) {
  const Tensor &tensor = *weight.tensor;
  const uint64_t columns = tensor.shape[1], element = bytes_of(tensor.type);
  const Conversion narrow = conversion(DataType::F32, tensor.type);
  std::vector<float> row(columns), added(columns);
  if (first == 0 && !pair.magnitudes.empty())
    scaled = scales();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = first + i;
    add(at, row, added);
    if (!scaled.empty())
      for (uint64_t column = 0; column < columns; ++column)
        row[column] *= scaled[transposed ? column : at];
    narrow(row.data(), destination + i * columns * element, columns);
  }
}

/// The weight that a pair is beside: as PEFT calls it behind its prefix, or
/// without the first part of that, as folders of bare models have it.
StoredTensor weight_of(const Checkpoint &model, const std::string &module) {
  const std::string name = module.substr(adapter_prefix.size()) + ".weight";
  return model.find({name, name.substr(name.find('.') + 1)});
}

/// GPT-2's linears are stored by their inputs.
bool stores_by_inputs(const fs::path &model) {
  const nlohmann::json config = read_json(model / "config.json");
  return config.is_object() &&
         config.value("model_type", nlohmann::json()) == "gpt2";
}

Sum make_sum(const Checkpoint &model, const Checkpoint &adapter,
             const std::string &module, const Adapter &settings,
             bool by_inputs) {
  Sum sum;
  sum.weight = weight_of(model, module);
  sum.pair = read_pair(adapter, module, settings.decomposed);
  if (sum.pair.rank != settings.rank_of(module))
    throw Error((adapter.folder() / adapter_weights_name).string() +
                ": the pair beside " + quote_name(module) + " has rank " +
                std::to_string(sum.pair.rank) + ", but " +
                std::string(adapter_config_name) + " says " +
                std::to_string(settings.rank_of(module)));
  sum.factor = static_cast<float>(settings.factor_of(module));
  sum.transposed = by_inputs;
  const Tensor &tensor = *sum.weight.tensor;
  std::vector<uint64_t> shape = {sum.pair.outputs, sum.pair.inputs};
  if (by_inputs)
    std::swap(shape[0], shape[1]);
  if (tensor.shape != shape)
    throw Error(sum.weight.file->path().string() + ": tensor " +
                quote_name(sum.weight.name) + " has the shape " +
                shape_text(tensor.shape) + ", but the adapter's pair " +
                shape_text(shape));
  if (!conversion(tensor.type, DataType::F32))
    throw Error(sum.weight.file->path().string() + ": tensor " +
                quote_name(sum.weight.name) +
                " is no matrix of floating-point numbers");
  return sum;
}

/// All pairs, by the names of their weights.
std::map<std::string, Sum> sums_of(const Checkpoint &model,
                                   const Checkpoint &adapter,
                                   const Adapter &settings, bool by_inputs) {
  std::map<std::string, Sum> sums;
  for (const std::string &name : adapter.names()) {
    if (!is_of_adapter(name) ||
        !(name.ends_with(adapter_down) || name.ends_with(adapter_up) ||
          (settings.decomposed && name.ends_with(adapter_magnitude))))
      throw Error((adapter.folder() / adapter_weights_name).string() +
                  ": tensor " + quote_name(name) +
                  " belongs to no pair of a linear");
    if (!name.ends_with(adapter_down))
      continue;
    Sum sum = make_sum(model, adapter,
                       name.substr(0, name.size() - adapter_down.size()),
                       settings, by_inputs);
    sums.emplace(sum.weight.name, std::move(sum));
  }
  return sums;
}

/// The tensor as it is written: merged, or as it was.
TensorSource source_of(const StoredTensor &stored, Sum *sum,
                       const std::function<void(uint64_t)> &wrote) {
  const Tensor &tensor = *stored.tensor;
  TensorSource source;
  source.name = stored.name;
  source.type = tensor.type;
  source.shape = tensor.shape;
  uint64_t row = bytes_of(tensor.type);
  for (size_t i = 1; i < tensor.shape.size(); ++i)
    row *= tensor.shape[i];
  source.read = [&tensor, file = stored.file, sum, row,
                 wrote](uint64_t first, uint64_t count, std::byte *to) {
    if (sum)
      sum->read(first, count, to);
    else
      std::copy_n(tensor.data + first * row, count * row, to);
    wrote(count * row);
  };
  return source;
}

} // namespace

MergeSummary merge(const MergeOptions &options) {
  const Adapter settings = Adapter::read(options.adapter);
  const Checkpoint adapter =
      Checkpoint::open_file(options.adapter, adapter_weights_name);
  if (!options.model && settings.base.empty())
    throw Error((options.adapter / adapter_config_name).string() +
                ": names no model; give --model");
  MergeSummary summary;
  summary.model = options.model.value_or(settings.base);
  std::error_code failure;
  if (!options.model && !fs::exists(summary.model, failure))
    throw Error((options.adapter / adapter_config_name).string() +
                ": the model " + summary.model.string() +
                " that it names is not there; say with --model where it is");
  const Checkpoint model = Checkpoint::open(summary.model);
  if (find_gguf(summary.model) || !model.quantisation().empty())
    throw Error(summary.model.string() +
                " is quantised; an adapter is merged into the checkpoint that "
                "it was made of (--model), which batonc quantize then takes");
  std::map<std::string, Sum> sums =
      sums_of(model, adapter, settings, stores_by_inputs(summary.model));
  if (fs::exists(fs::symlink_status(options.output, failure)))
    throw Error("-o " + options.output.string() + " is there already");

  uint64_t done = 0, total = 0;
  std::vector<TensorSource> sources;
  for (const std::string &name : model.names()) {
    const StoredTensor stored = model.find({name});
    auto sum = sums.find(name);
    sources.push_back(source_of(stored,
                                sum == sums.end() ? nullptr : &sum->second,
                                [&](uint64_t bytes) {
                                  done += bytes;
                                  if (options.progress)
                                    options.progress(done, total);
                                }));
    uint64_t bytes = bytes_of(stored.tensor->type);
    for (uint64_t extent : stored.tensor->shape)
      bytes *= extent;
    total += bytes;
  }
  TemporaryFolder folder(options.output);
  try {
    SafetensorsWriter writer(options.output / "model.safetensors");
    writer.write(sources);
    copy_other_files(summary.model, options.output);
    writer.publish();
  } catch (...) {
    fs::remove_all(options.output, failure);
    throw;
  }
  sync_folder(options.output);
  folder.keep();
  summary.tensors = sources.size();
  summary.adapted = sums.size();
  return summary;
}

} // namespace baton

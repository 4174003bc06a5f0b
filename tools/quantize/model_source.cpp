//===- model_source.cpp - a model's tensors, as a GGUF file has them ------===//

#include "tools/quantize/model_source.h"

#include "runtime/error.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/gguf_names.h"
#include "runtime/weights/message.h"
#include "tools/quantize/checkpoint_config.h"
#include "tools/quantize/checkpoint_vocabulary.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace baton {

namespace fs = std::filesystem;

static constexpr std::string_view expert_mark = "{expert}";
/// More than any model has, so that a name asks for no more memory.
static constexpr uint64_t most_experts = 1 << 16;

uint64_t SourceTensor::elements() const {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    count *= extent;
  return count;
}

DataType SourceTensor::type() const {
  return parts.empty() ? DataType::F32 : parts.front().tensor->type;
}

std::string SourceTensor::origin_of(uint64_t row) const {
  std::string result = origin;
  const size_t place = result.find(expert_mark);
  if (place != result.npos)
    result.replace(place, expert_mark.size(),
                   std::to_string(row / rows_of_expert()));
  return result;
}

std::vector<std::string> SourceTensor::origins() const {
  const bool has_experts = origin.find(expert_mark) != origin.npos;
  std::vector<std::string> result;
  for (uint64_t row = 0; row < rows();
       row += has_experts ? rows_of_expert() : rows())
    result.push_back(origin_of(row));
  return result;
}

/// Reads `count` elements from `first` on.
static void read_elements(const Tensor &tensor, uint64_t first, uint64_t count,
                          float *weights) {
  const std::byte *data = tensor.data + first * bytes_of(tensor.type);
  if (tensor.type == DataType::F32)
    std::memcpy(weights, data, count * sizeof(float));
  else
    conversion(tensor.type, DataType::F32)(data, weights, count);
}

void SourceTensor::read_row(uint64_t row, float *weights) const {
  const uint64_t width = columns();
  if (parts.empty()) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * width),
                width, weights);
    return;
  }
  const uint64_t rows_of_part = rows() / parts.size();
  const Tensor &tensor = *parts[row / rows_of_part].tensor;
  row %= rows_of_part;
  // Row 2i + j of a head is row i of its half j.
  const auto source_of = [&](uint64_t place) {
    const uint64_t in_head = place % paired_rows;
    return place - in_head + in_head % 2 * (paired_rows / 2) + in_head / 2;
  };
  if (is_transposed) {
    for (uint64_t column = 0; column < width; ++column)
      read_elements(tensor, column * rows_of_part + row, 1, weights + column);
  } else if (paired_rows && shape.size() == 1) {
    for (uint64_t column = 0; column < width; ++column)
      read_elements(tensor, source_of(column), 1, weights + column);
  } else {
    read_elements(tensor, (paired_rows ? source_of(row) : row) * width, width,
                  weights);
  }
  if (added != 0)
    for (uint64_t column = 0; column < width; ++column)
      weights[column] += added;
}

void SourceTensor::release() const {
  for (const Part &part : parts)
    part.file->release(*part.tensor);
}

class SourceReader {
public:
  explicit SourceReader(const fs::path &path) : path(path) {}

  ModelSource read(bool no_tokenizer);

private:
  void read_folder(bool no_tokenizer);
  void read_gguf(const fs::path &file);
  void add(const std::shared_ptr<const WeightFile> &file,
           const std::string &stored, const std::string &origin,
           const Tensor &tensor, const GgufName &form, uint64_t head_rows);
  void add_experts(const std::string &stored, const std::string &origin,
                   std::vector<SourceTensor::Part> experts);
  static void expect_readable(const WeightFile &file, const std::string &name,
                              const Tensor &tensor, bool of_experts);

  fs::path path;
  ModelSource source;
};

void SourceReader::expect_readable(const WeightFile &file,
                                   const std::string &name,
                                   const Tensor &tensor, bool of_experts) {
  const auto fail = [&](const std::string &what) {
    throw Error(file.path().string() + ": tensor " + quote_name(name) + " " +
                what);
  };
  const DataType type = tensor.type;
  if (type != DataType::F32 && type != DataType::F16 &&
      type != DataType::BF16 && type != DataType::F64)
    fail("is stored as " + std::string(stored_type_name(type)) +
         "; quantize reads F32, F16, BF16 and F64: begin with the model before "
         "it was quantised");
  if (tensor.shape.empty() || tensor.shape.size() > (of_experts ? 3 : 2) ||
      std::find(tensor.shape.begin(), tensor.shape.end(), 0) !=
          tensor.shape.end())
    fail("has the shape " + shape_text(tensor.shape) +
         ", expected a list or a matrix");
}

void SourceReader::add(const std::shared_ptr<const WeightFile> &file,
                       const std::string &stored, const std::string &origin,
                       const Tensor &tensor, const GgufName &form,
                       uint64_t head_rows) {
  expect_readable(*file, form.name.empty() ? stored : form.name, tensor,
                  form.is_of_experts);
  SourceTensor result;
  result.name = stored;
  result.origin = origin;
  result.shape = tensor.shape;
  result.parts = {{file, &tensor}};
  if (form.is_row && tensor.shape.size() == 2 && tensor.shape[0] == 1)
    result.shape = {tensor.shape[1]};
  if (form.is_flipped) {
    result.is_transposed = true;
    std::reverse(result.shape.begin(), result.shape.end());
  }
  if (form.is_paired)
    result.paired_rows = head_rows;
  if (form.is_paired && (head_rows % 2 || tensor.shape[0] % head_rows))
    throw Error(file->path().string() + ": tensor " + quote_name(form.name) +
                " has " + std::to_string(tensor.shape[0]) +
                " rows, which are no heads of " + std::to_string(head_rows));
  result.added = form.is_plus_one ? 1 : 0;
  source.tensors.push_back(std::move(result));
}

void SourceReader::add_experts(const std::string &stored,
                               const std::string &origin,
                               std::vector<SourceTensor::Part> experts) {
  auto name_of = [&](size_t expert) {
    return std::string(origin).replace(
        origin.find(expert_mark), expert_mark.size(), std::to_string(expert));
  };
  for (size_t expert = 0; expert < experts.size(); ++expert) {
    const auto &[file, tensor] = experts[expert];
    if (!tensor)
      throw Error(path.string() + ": there is no tensor " +
                  quote_name(name_of(expert)) + ", of an expert among " +
                  std::to_string(experts.size()));
    expect_readable(*file, name_of(expert), *tensor, /*of_experts=*/false);
    const Tensor &first = *experts.front().tensor;
    if (tensor->shape != first.shape || tensor->type != first.type)
      throw Error(file->path().string() + ": tensor " +
                  quote_name(name_of(expert)) + " is " +
                  std::string(stored_type_name(tensor->type)) + " of shape " +
                  shape_text(tensor->shape) + ", that of expert 0 " +
                  std::string(stored_type_name(first.type)) + " of shape " +
                  shape_text(first.shape));
  }
  SourceTensor result;
  result.name = stored;
  result.origin = origin;
  result.shape = experts.front().tensor->shape;
  result.shape.insert(result.shape.begin(), experts.size());
  result.parts = std::move(experts);
  source.tensors.push_back(std::move(result));
}

/// What some checkpoints hold and no model computes with.
static bool is_buffer(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

/// Layers in their order, what lies outside of them first: "blk.2." before
/// "blk.10.".
static std::pair<int64_t, std::string> order_of(const SourceTensor &tensor) {
  int64_t layer = -1;
  if (tensor.name.starts_with("blk."))
    layer = std::stoll(tensor.name.substr(4));
  return {layer, tensor.name};
}

void SourceReader::read_folder(bool no_tokenizer) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  CheckpointConfig config = describe_checkpoint(path, source.header);
  source.notes = std::move(config.notes);
  if (no_tokenizer)
    source.header.text("tokenizer.ggml.model", "none");
  else if (!describe_vocabulary(path, config.vocabulary, source.header))
    source.notes.push_back((path / "tokenizer.json").string() +
                           ": no such file; the GGUF file has no tokenizer");
  source.files = checkpoint.files();
  std::map<std::string, std::vector<SourceTensor::Part>> experts;
  for (const auto &file : checkpoint.files())
    for (const auto &[name, tensor] : file->tensors()) {
      if (is_buffer(name) || (config.ties_head && name == "lm_head.weight"))
        continue;
      const auto place = find_gguf_name(config.architecture, name);
      if (!place || place->expert.value_or(0) >= most_experts)
        throw Error(file->path().string() + ": tensor " + quote_name(name) +
                    " has no place in a GGUF file of " + config.architecture);
      if (place->expert) {
        auto &all = experts[place->name];
        all.resize(std::max<size_t>(all.size(), *place->expert + 1));
        all[*place->expert] = {file, &tensor};
        continue;
      }
      add(file, place->name, name, tensor,
          *translate_gguf_name(config.architecture, place->name),
          config.head_rows);
    }
  for (auto &[stored, all] : experts)
    add_experts(stored, translate_gguf_name(config.architecture, stored)->name,
                std::move(all));
  for (ConfigTensor &tensor : config.tensors) {
    SourceTensor result;
    result.name = tensor.name;
    result.shape = {tensor.values.size()};
    result.values = std::move(tensor.values);
    source.tensors.push_back(std::move(result));
  }
}

void SourceReader::read_gguf(const fs::path &file) {
  // Which parts there are, and whether all tensors are known.
  const GgufModel model = GgufModel::open(file);
  const GgufFile &metadata = model.metadata();
  const std::string architecture(model.architecture());
  for (std::string_view key : metadata.keys())
    // Of parts, of the file's own layout, and of what its types were.
    if (!key.starts_with("split.") && key != "general.alignment" &&
        key != "general.file_type" && key != "general.quantization_version")
      source.header.copy(metadata, key);
  for (const auto &part : model.files()) {
    // By the file's names.
    const auto own = GgufFile::open(part->path());
    source.files.push_back(own);
    for (const auto &[name, tensor] : own->tensors()) {
      const auto known = translate_gguf_name(architecture, name);
      GgufName form;
      form.is_of_experts = known && known->is_of_experts;
      add(own, name, known ? known->name : name, tensor, form, 0);
    }
  }
}

ModelSource SourceReader::read(bool no_tokenizer) {
  if (const auto file = find_gguf(path))
    read_gguf(*file);
  else
    read_folder(no_tokenizer);
  std::sort(source.tensors.begin(), source.tensors.end(),
            [](const SourceTensor &a, const SourceTensor &b) {
              return order_of(a) < order_of(b);
            });
  return std::move(source);
}

ModelSource open_source(const fs::path &path, bool no_tokenizer) {
  if (!fs::exists(path))
    throw Error(path.string() + ": no such file or folder; expected a "
                                "checkpoint's folder or a .gguf file");
  return SourceReader(path).read(no_tokenizer);
}

} // namespace baton

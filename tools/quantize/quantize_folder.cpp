//===- quantize_folder.cpp - a folder of quantised weights ----------------===//

#include "tools/quantize/quantize_folder.h"

#include "runtime/error.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/json_file.h"
#include "runtime/weights/message.h"
#include "runtime/weights/parallel.h"
#include "tools/quantize/error_sum.h"
#include "tools/quantize/linear_layout.h"
#include "tools/quantize/tensor_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

namespace baton {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

/// A tensor of the new file.
struct Written {
  std::string name;
  DataType type;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0, offset = 0;
};

/// A tensor of the model, and those that it becomes.
struct FolderTensor {
  std::string name;
  const Tensor *tensor;
  const WeightFile *file;
  /// Nothing of what stays as it is.
  std::optional<LinearLayout> layout;
  std::vector<Written> parts;

  uint64_t elements() const {
    uint64_t count = 1;
    for (uint64_t extent : tensor->shape)
      count *= extent;
    return count;
  }
};

struct FolderPlan {
  std::vector<std::shared_ptr<const WeightFile>> files;
  std::vector<FolderTensor> tensors;
  std::string header, config;
  uint64_t bytes = 0;
  std::vector<std::string> notes;
};

} // namespace

//===----------------------------------------------------------------------===//
// What becomes of tensors
//===----------------------------------------------------------------------===//

static bool has_layer(std::string_view name) {
  constexpr std::string_view layers = "layers.";
  const size_t place = name.find(layers);
  return place != name.npos && (place == 0 || name[place - 1] == '.') &&
         place + layers.size() < name.size() &&
         std::isdigit(static_cast<unsigned char>(name[place + layers.size()]));
}

static bool is_matrix_of_weights(const std::string &name,
                                 const Tensor &tensor) {
  return tensor.shape.size() == 2 && name.ends_with(".weight") &&
         tensor.shape[0] && tensor.shape[1];
}

/// "a.b" of "a.b.c".
static std::string parent_of(const std::string &name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

/// Modules that have experts. Linears of their own are routers and gates, of
/// few weights, by which rows go to other experts if they change.
static std::set<std::string>
mixtures_of(const std::vector<std::shared_ptr<const WeightFile>> &files) {
  std::set<std::string> result;
  for (const auto &file : files)
    for (const auto &[name, tensor] : file->tensors())
      if (const size_t place = name.find(".experts."); place != name.npos)
        result.insert(name.substr(0, place));
  return result;
}

static bool is_readable(DataType type) {
  return type == DataType::F32 || type == DataType::F16 ||
         type == DataType::BF16 || type == DataType::F64;
}

/// "a.weight" and "weight_scale" make "a.weight_scale".
static std::string part_name(const std::string &weight,
                             const std::string &part) {
  return weight.substr(0, weight.size() - std::strlen("weight")) + part;
}

/// Sorts the planned tensors, and lays the new file out: wide types first, so
/// that all are aligned.
static void lay_out(FolderPlan &plan) {
  std::sort(plan.tensors.begin(), plan.tensors.end(),
            [](const FolderTensor &a, const FolderTensor &b) {
              return a.name < b.name;
            });
  std::vector<Written *> order;
  for (FolderTensor &tensor : plan.tensors)
    for (Written &part : tensor.parts)
      order.push_back(&part);
  std::sort(order.begin(), order.end(), [](const Written *a, const Written *b) {
    const unsigned wide = bits_of(a->type), other = bits_of(b->type);
    return std::tie(other, a->name) < std::tie(wide, b->name);
  });
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (Written *part : order) {
    part->offset = offset;
    offset += part->bytes;
    header[part->name] = {{"dtype", stored_type_name(part->type)},
                          {"shape", part->shape},
                          {"data_offsets", {part->offset, offset}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  plan.header.assign(reinterpret_cast<const char *>(&length), sizeof length);
  plan.header += text;
  for (Written *part : order)
    part->offset += plan.header.size();
  plan.bytes = plan.header.size() + offset;
}

static FolderTensor plan_tensor(const std::string &name, const Tensor &tensor,
                                const WeightFile &file, DataType format,
                                bool is_quantised) {
  FolderTensor planned{name, &tensor, &file, std::nullopt, {}};
  if (!is_quantised) {
    planned.parts = {{name, tensor.type, tensor.shape, tensor.bytes}};
    return planned;
  }
  planned.layout.emplace(format, tensor.type, tensor.shape[0], tensor.shape[1]);
  for (const LayoutPart &part : planned.layout->parts())
    planned.parts.push_back(
        {part_name(name, part.name), part.type, part.shape, part.size()});
  return planned;
}

static FolderPlan make_folder_plan(const QuantizeOptions &options) {
  const std::string model = options.model.string();
  if (!fs::exists(options.model))
    throw Error(model + ": no such folder");
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  if (checkpoint.is_gguf())
    throw Error(model + " is of GGUF files, and --format " +
                format_name(options.format) +
                " makes a folder of Hugging Face of another: begin with the "
                "model's folder, or name a format of GGUF files");
  if (Quantisation::read(options.model))
    throw Error(model + " is quantised: begin with the model before it was");
  const uint64_t group = LinearLayout::group_of(options.format);
  FolderPlan plan;
  plan.files = checkpoint.files();
  std::vector<std::string> ignored = {"lm_head"}, linears;
  const std::set<std::string> mixtures = mixtures_of(plan.files);
  uint64_t unfit = 0;
  for (const auto &file : plan.files)
    for (const auto &[name, tensor] : file->tensors()) {
      const bool is_matrix = is_matrix_of_weights(name, tensor);
      const bool is_linear = is_matrix && has_layer(name) &&
                             !mixtures.contains(parent_of(parent_of(name)));
      const bool fits = is_linear && tensor.shape[1] % group == 0;
      if (is_linear && !is_readable(tensor.type))
        throw Error(file->path().string() + ": tensor " + quote_name(name) +
                    " is stored as " +
                    std::string(stored_type_name(tensor.type)) +
                    "; quantize reads F32, F16, BF16 and F64");
      if (is_matrix && !fits && name != "lm_head.weight")
        ignored.push_back(part_name(name, ""));
      if (fits)
        linears.push_back(name);
      unfit += is_linear && !fits;
      plan.tensors.push_back(
          plan_tensor(name, tensor, *file, options.format, fits));
    }
  for (std::string &name : ignored)
    if (name.ends_with('.'))
      name.pop_back();
  if (linears.empty())
    throw Error(
        unfit ? model + ": no linear has a multiple of " +
                    std::to_string(group) + " inputs, which --format " +
                    format_name(options.format) + " needs"
              : model + ": there is no matrix \"...layers.N....weight\" of a "
                        "linear; name a format of GGUF files");
  if (unfit)
    plan.notes.push_back(std::to_string(unfit) +
                         " linears stay as they are: "
                         "their inputs are no multiple of " +
                         std::to_string(group));
  options.importance.expect_one_of(linears);
  lay_out(plan);

  std::sort(ignored.begin(), ignored.end());
  const fs::path config_file = options.model / "config.json";
  if (!fs::exists(config_file))
    throw Error(config_file.string() + ": no such file");
  // What is read is checked by the reader, and kept in its order.
  read_json(config_file);
  std::ifstream stream(config_file, std::ios::binary);
  Json config = Json::parse(stream);
  if (!config.is_object())
    throw Error(config_file.string() + ": expected an object");
  config["quantization_config"] = LinearLayout::config(options.format, ignored);
  plan.config =
      config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return plan;
}

static QuantizedModel describe(const FolderPlan &plan, DataType format) {
  QuantizedModel model;
  model.bytes = plan.bytes;
  model.notes = plan.notes;
  for (const FolderTensor &tensor : plan.tensors) {
    uint64_t bytes = 0;
    for (const Written &part : tensor.parts)
      bytes += part.bytes;
    const DataType from = tensor.tensor->type;
    model.tensors.push_back({tensor.name, tensor.tensor->shape, from,
                             tensor.layout ? format : from, tensor.elements(),
                             bytes, std::nullopt});
  }
  return model;
}

QuantizedModel plan_folder(const QuantizeOptions &options) {
  return describe(make_folder_plan(options), options.format);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static void read_row(const Tensor &tensor, uint64_t row, float *weights) {
  const uint64_t count = tensor.shape[1];
  const std::byte *data = tensor.data + row * count * bytes_of(tensor.type);
  if (tensor.type == DataType::F32)
    std::memcpy(weights, data, count * sizeof(float));
  else
    conversion(tensor.type, DataType::F32)(data, weights, count);
}

namespace {

/// Writes a tensor, some rows at a time.
class TensorWriter {
public:
  using Progress = std::function<void(uint64_t elements)>;

  TensorWriter(const FolderTensor &planned, const QuantizeOptions &options,
               const PartFile &file, Progress progress)
      : planned(planned), options(options), file(file),
        progress(std::move(progress)) {}

  /// The tensor's error.
  double write() {
    const double error = planned.layout ? write_linear() : copy();
    planned.file->release(*planned.tensor);
    return error;
  }

private:
  static constexpr uint64_t elements_of_job = 1 << 18;

  double copy() const {
    constexpr uint64_t piece = 4 << 20;
    const Written &part = planned.parts.front();
    for (uint64_t done = 0; done < part.bytes; done += piece)
      file.write(planned.tensor->data + done,
                 std::min(piece, part.bytes - done), part.offset + done);
    progress(planned.elements());
    return 0;
  }

  void for_each_job(const std::function<void(uint64_t job, uint64_t first,
                                             uint64_t end)> &work) const {
    parallel_for(jobs(), options.threads, [&](size_t job) {
      const uint64_t first = job * step();
      work(job, first, std::min(rows(), first + step()));
    });
  }

  /// Of all weights, for the scale that all share.
  float largest() const {
    std::vector<float> each(jobs());
    for_each_job([&](uint64_t job, uint64_t first, uint64_t end) {
      std::vector<float> weights(columns());
      for (uint64_t row = first; row < end; ++row) {
        read_row(*planned.tensor, row, weights.data());
        for (float weight : weights)
          each[job] = std::max(each[job], std::fabs(weight));
      }
    });
    return *std::max_element(each.begin(), each.end());
  }

  double write_linear() {
    LinearLayout layout = *planned.layout;
    if (layout.needs_largest())
      layout.set_largest(largest());
    const uint64_t code_bytes = layout.code_row_bytes(),
                   scale_bytes = layout.scale_row_bytes();
    const std::vector<float> importance =
        options.importance.of(planned.name, columns());
    std::vector<ErrorSum> sums(jobs());
    std::mutex mutex;
    for_each_job([&](uint64_t job, uint64_t first, uint64_t end) {
      std::vector<float> weights(columns()), numbers(columns());
      std::vector<std::byte> codes(code_bytes * (end - first)),
          scales(scale_bytes * (end - first));
      for (uint64_t row = first; row < end; ++row) {
        read_row(*planned.tensor, row, weights.data());
        layout.encode_row(options.scales, weights.data(), importance.data(),
                          codes.data() + (row - first) * code_bytes,
                          scales.data() + (row - first) * scale_bytes,
                          numbers.data());
        sums[job].add(weights.data(), numbers.data(), columns(),
                      options.model.string() + ": tensor " + planned.name);
      }
      file.write(codes.data(), codes.size(),
                 planned.parts[0].offset + first * code_bytes);
      file.write(scales.data(), scales.size(),
                 planned.parts[1].offset + first * scale_bytes);
      std::lock_guard lock(mutex);
      progress((end - first) * columns());
    });
    for (size_t i = 2; i < planned.parts.size(); ++i)
      file.write(layout.parts()[i].bytes.data(), planned.parts[i].bytes,
                 planned.parts[i].offset);
    return ErrorSum::relative(sums);
  }

  uint64_t rows() const { return planned.tensor->shape[0]; }
  uint64_t columns() const { return planned.tensor->shape[1]; }
  uint64_t step() const {
    return std::max<uint64_t>(1, elements_of_job / columns());
  }
  uint64_t jobs() const { return (rows() + step() - 1) / step(); }

  const FolderTensor &planned;
  const QuantizeOptions &options;
  const PartFile &file;
  Progress progress;
};

} // namespace

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

static void expect_writable_folder(const QuantizeOptions &options) {
  std::error_code failure;
  const std::string output = options.output.string();
  if (fs::equivalent(options.output, options.model, failure))
    throw Error("output " + output + " is the model that is read");
  if (fs::is_directory(options.output, failure) &&
      fs::is_empty(options.output, failure))
    return;
  if (fs::exists(options.output, failure))
    throw Error("output " + output +
                (fs::is_directory(options.output, failure)
                     ? " is a folder that is not empty"
                     : std::string(" is a file, and --format ") +
                           format_name(options.format) + " makes a folder"));
}

/// Files beside weights: the tokenizer's, the generation's defaults, licences.
static void copy_others(const QuantizeOptions &options, const fs::path &part) {
  constexpr const char *weights[] = {
      ".safetensors", ".bin",  ".pt",   ".pth",        ".gguf",   ".h5",
      ".msgpack",     ".onnx", ".part", ".index.json", ".journal"};
  for (const auto &entry : fs::directory_iterator(options.model)) {
    const std::string name = entry.path().filename().string();
    const bool is_tokenizer =
        name.starts_with("tokenizer") || name.starts_with("chat_template") ||
        name == "vocab.json" || name == "merges.txt" ||
        name == "special_tokens_map.json" || name == "added_tokens.json";
    if (!entry.is_regular_file() || name == "config.json" ||
        name.starts_with('.') || (options.no_tokenizer && is_tokenizer) ||
        std::any_of(std::begin(weights), std::end(weights),
                    [&](const char *end) { return name.ends_with(end); }))
      continue;
    std::error_code failure;
    fs::copy_file(entry.path(), part / name,
                  fs::copy_options::overwrite_existing, failure);
    if (failure)
      throw Error((part / name).string() +
                  ": cannot be written: " + failure.message());
  }
}

static void write_text(const fs::path &path, const std::string &text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text << std::flush;
  if (!stream)
    throw Error(path.string() + ": cannot be written");
}

/// What decides about the weights' bytes beside their file's header.
static std::string journal_key(const FolderPlan &plan,
                               const QuantizeOptions &options) {
  Json files = Json::array();
  for (const auto &file : plan.files)
    files.push_back({fs::absolute(file->path()).string(), file->file_bytes(),
                     file->changed()});
  return Json{{"quantize_folder", 1},
              {"format", format_name(options.format)},
              {"scales", int(options.scales)},
              {"importance", options.importance.digest()},
              {"files", files},
              {"bytes", plan.bytes}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

QuantizedModel quantize_folder(const QuantizeOptions &options,
                               const QuantizeProgress &progress) {
  expect_writable_folder(options);
  const FolderPlan plan = make_folder_plan(options);
  QuantizedModel model = describe(plan, options.format);
  const TensorRun run(options.output);
  std::error_code failure;
  fs::create_directories(run.part(), failure);
  if (failure)
    throw Error(run.part().string() + ": cannot be made: " + failure.message());
  run.write(run.part() / "model.safetensors", journal_key(plan, options),
            plan.header, model, progress,
            [&](const PartFile &file, size_t tensor, const auto &elements) {
              return TensorWriter(plan.tensors[tensor], options, file, elements)
                  .write();
            });
  copy_others(options, run.part());
  write_text(run.part() / "config.json", plan.config);
  run.publish();
  return model;
}

} // namespace baton

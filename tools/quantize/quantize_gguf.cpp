//===- quantize_gguf.cpp - a GGUF file of quantised weights ---------------===//

#include "tools/quantize/quantize_gguf.h"

#include "runtime/error.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/stored_blocks.h"
#include "tools/quantize/error_sum.h"
#include "tools/quantize/model_source.h"
#include "tools/quantize/tensor_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

namespace baton {

namespace fs = std::filesystem;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {

/// A tensor on its way.
struct FileTensor {
  SourceTensor source;
  GgufEntry entry;
  uint64_t offset = 0;
};

struct FilePlan {
  ModelSource source;
  std::vector<FileTensor> tensors;
  std::string header;
  uint64_t bytes = 0;
};

} // namespace

/// The type itself, or where rows are no whole blocks of it the next one that
/// llama.cpp takes, which has as many bits or more.
static DataType fitting_type(DataType type, uint64_t columns) {
  const auto fits = [&](DataType other) {
    return columns % stored_block(other).elements == 0;
  };
  if (fits(type))
    return type;
  DataType next = DataType::F16;
  if (type == DataType::Q2_K || type == DataType::Q3_K)
    next = DataType::Q4_0;
  if (type == DataType::Q4_K)
    next = DataType::Q5_0;
  if (type == DataType::Q5_K)
    next = DataType::Q5_1;
  if (type == DataType::Q6_K)
    next = DataType::Q8_0;
  return fits(next) ? next : DataType::F16;
}

/// Of the head: one that costs little and saves much.
static DataType head_type(const QuantizeOptions &options) {
  if (options.head)
    return *options.head;
  if (!is_quantised(options.format) || options.format == DataType::Q8_0)
    return options.format;
  return DataType::Q6_K;
}

static DataType type_of(const SourceTensor &tensor,
                        const QuantizeOptions &options, bool has_output) {
  // Vectors are few, and positions and routers as sensitive.
  if (tensor.shape.size() < 2 || tensor.name == "position_embd.weight" ||
      tensor.name.ends_with(".ffn_gate_inp.weight"))
    return DataType::F32;
  const bool is_head =
      tensor.name == (has_output ? "output.weight" : "token_embd.weight");
  return fitting_type(is_head ? head_type(options) : options.format,
                      tensor.columns());
}

/// llama.cpp's number of a mix whose tensors are mostly of the type.
static uint64_t file_type(DataType type) {
  switch (type) {
  case DataType::F16:
    return 1;
  case DataType::Q4_0:
    return 2;
  case DataType::Q4_1:
    return 3;
  case DataType::Q8_0:
    return 7;
  case DataType::Q5_0:
    return 8;
  case DataType::Q5_1:
    return 9;
  case DataType::Q2_K:
    return 10;
  case DataType::Q3_K:
    return 11;
  case DataType::Q4_K:
    return 14;
  case DataType::Q5_K:
    return 16;
  case DataType::Q6_K:
    return 18;
  case DataType::BF16:
    return 32;
  default:
    return 0;
  }
}

static FilePlan make_file_plan(const QuantizeOptions &options) {
  FilePlan plan{open_source(options.model, options.no_tokenizer), {}, {}, 0};
  GgufHeader &header = plan.source.header;
  header.integer("general.file_type", file_type(options.format));
  header.integer("general.quantization_version", 2);
  const bool has_output =
      std::any_of(plan.source.tensors.begin(), plan.source.tensors.end(),
                  [](const SourceTensor &tensor) {
                    return tensor.name == "output.weight";
                  });
  std::vector<GgufEntry> entries;
  std::vector<std::string> origins;
  uint64_t offset = 0;
  for (SourceTensor &tensor : plan.source.tensors) {
    GgufEntry entry{tensor.name, type_of(tensor, options, has_output),
                    tensor.shape};
    entries.push_back(entry);
    for (std::string &origin : tensor.origins())
      origins.push_back(std::move(origin));
    plan.tensors.push_back({std::move(tensor), std::move(entry), offset});
    offset = GgufHeader::aligned(offset + entries.back().bytes());
  }
  options.importance.expect_one_of(origins);
  plan.header = header.bytes(entries);
  for (FileTensor &tensor : plan.tensors)
    tensor.offset += plan.header.size();
  plan.bytes = plan.header.size() + offset;
  return plan;
}

static QuantizedModel describe(const FilePlan &plan) {
  QuantizedModel model;
  model.bytes = plan.bytes;
  model.notes = plan.source.notes;
  for (const FileTensor &tensor : plan.tensors)
    model.tensors.push_back({tensor.entry.name, tensor.entry.shape,
                             tensor.source.type(), tensor.entry.type,
                             tensor.source.elements(), tensor.entry.bytes(),
                             std::nullopt});
  return model;
}

QuantizedModel plan_gguf(const QuantizeOptions &options) {
  return describe(make_file_plan(options));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// What decides about a file's bytes beside its header.
static std::string journal_key(const FilePlan &plan,
                               const QuantizeOptions &options) {
  json files = json::array();
  for (const auto &file : plan.source.files)
    files.push_back({fs::absolute(file->path()).string(), file->file_bytes(),
                     file->changed()});
  return json{{"quantize", 1},
              {"scales", int(options.scales)},
              {"importance", options.importance.digest()},
              {"files", files},
              {"bytes", plan.bytes}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Encodes elements of a row; `numbers` gets what they are read as.
static void encode_row(DataType type, ScaleChoice scales, const float *weights,
                       const float *importance, uint64_t count,
                       std::byte *bytes, float *numbers) {
  if (is_quantised(type)) {
    encode(type, scales, weights, importance, count, bytes);
    dequantise(type, bytes, 0, count, numbers);
    return;
  }
  if (type == DataType::F32) {
    std::memcpy(bytes, weights, count * sizeof(float));
    std::memcpy(numbers, weights, count * sizeof(float));
    return;
  }
  conversion(DataType::F32, type)(weights, bytes, count);
  conversion(type, DataType::F32)(bytes, numbers, count);
}

/// Rows from `first` to `end`, into the file.
static ErrorSum write_rows(const FileTensor &tensor,
                           const QuantizeOptions &options, uint64_t first,
                           uint64_t end, const PartFile &file) {
  const uint64_t columns = tensor.source.columns();
  const StoredBlock block = stored_block(tensor.entry.type);
  const uint64_t row_bytes = columns / block.elements * block.bytes;
  std::vector<float> weights(columns), numbers(columns);
  std::string origin;
  std::vector<float> importance;
  std::vector<std::byte> bytes(row_bytes * (end - first));
  ErrorSum sum;
  for (uint64_t row = first; row < end; ++row) {
    if (std::string own = tensor.source.origin_of(row); own != origin) {
      importance = options.importance.of(own, columns);
      origin = std::move(own);
    }
    tensor.source.read_row(row, weights.data());
    encode_row(tensor.entry.type, options.scales, weights.data(),
               importance.data(), columns,
               bytes.data() + (row - first) * row_bytes, numbers.data());
    sum.add(weights.data(), numbers.data(), columns,
            options.model.string() + ": tensor " + tensor.entry.name);
  }
  file.write(bytes.data(), bytes.size(), tensor.offset + first * row_bytes);
  return sum;
}

/// Writes a tensor; its error.
static double
write_tensor(const FileTensor &tensor, const QuantizeOptions &options,
             const PartFile &file,
             const std::function<void(uint64_t elements)> &progress) {
  constexpr uint64_t elements_of_job = 1 << 18;
  const uint64_t rows = tensor.source.rows(), columns = tensor.source.columns();
  const uint64_t step = std::max<uint64_t>(1, elements_of_job / columns);
  const uint64_t jobs = (rows + step - 1) / step;
  std::vector<ErrorSum> sums(jobs);
  std::mutex mutex;
  parallel_for(jobs, options.threads, [&](size_t job) {
    const uint64_t first = job * step, end = std::min(rows, first + step);
    sums[job] = write_rows(tensor, options, first, end, file);
    std::lock_guard lock(mutex);
    progress((end - first) * columns);
  });
  tensor.source.release();
  return ErrorSum::relative(sums);
}

static void expect_writable_file(const QuantizeOptions &options) {
  const fs::path &output = options.output;
  std::error_code failure;
  if (fs::is_directory(output, failure))
    throw Error("output " + output.string() + " is a folder");
  if (fs::exists(output, failure) && !fs::is_regular_file(output, failure))
    throw Error("output " + output.string() + " is not a plain file");
  if (fs::equivalent(output, options.model, failure))
    throw Error("output " + output.string() + " is the model that is read");
}

QuantizedModel quantize_gguf(const QuantizeOptions &options,
                             const QuantizeProgress &progress) {
  expect_writable_file(options);
  const FilePlan plan = make_file_plan(options);
  QuantizedModel model = describe(plan);
  const TensorRun run(options.output);
  run.write(
      run.part(), journal_key(plan, options), plan.header, model, progress,
      [&](const PartFile &file, size_t tensor, const auto &elements) {
        return write_tensor(plan.tensors[tensor], options, file, elements);
      });
  run.publish();
  return model;
}

} // namespace baton

//===- training_tensors.cpp - what a program that trains keeps -----------===//

#include "runtime/train/training_tensors.h"

#include "runtime/error.h"
#include "runtime/train/stage_tensors.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/message.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/parameters.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

namespace baton {

namespace {

const nlohmann::json &training_of(const nlohmann::json &description) {
  auto found = description.find("training");
  if (found == description.end() || !found->is_object())
    throw Error("this program does not train; compile one with "
                "batonc --mode=train");
  return *found;
}

/// What the loader of weights would make the same values of.
nlohmann::json as_parameter(const nlohmann::json &tensor) {
  nlohmann::json entry = tensor;
  entry["dtype"] = "f32";
  entry["kind"] = tensor.at("shape").size() == 1 ? "vector" : "panels";
  entry["n"] = tensor.at("shape").at(0);
  if (tensor.at("shape").size() == 2)
    entry["k"] = tensor.at("shape").at(1);
  return entry;
}

/// splitmix64 (Steele, Lea and Flood, 2014).
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// A number in (0, 1] of every key.
double uniform(uint64_t key) { return (double(mix(key) >> 11) + 1) * 0x1p-53; }

/// The shape of all layers, one behind the other.
std::vector<uint64_t> stacked(const TrainingTensor &tensor) {
  std::vector<uint64_t> shape = tensor.shape;
  shape[0] *= tensor.layers;
  return shape;
}

/// Element `index` of a row-major [outputs, columns], as it is stored.
struct StoredPlace {
  const ParameterPart &part;
  uint64_t columns;

  uint64_t of(uint64_t output, uint64_t column) const {
    uint64_t stored = part.blocks.stored(output);
    return part.transposed ? column * part.stored_outputs() + stored
                           : stored * columns + column;
  }
};

} // namespace

uint64_t TrainingTensor::elements() const {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    count *= extent;
  return count;
}

uint64_t longest_sequence(const Metadata &metadata) {
  return training_of(metadata.json).at("longest_sequence").get<uint64_t>();
}

std::string compute_type(const Metadata &metadata) {
  return training_of(metadata.json).value("compute", "f32");
}

TrainingTensors::TrainingTensors(const Metadata &metadata, Execution &execution)
    : execution(execution) {
  const nlohmann::json &training = training_of(metadata.json);
  if (std::optional<Pipeline> pipeline = Pipeline::parse(metadata.json)) {
    add_stages(training, *pipeline);
    return;
  }
  uint64_t number = 0;
  for (const nlohmann::json &entry : training.at("tensors")) {
    add(entry, execution.storages());
    if (tensors.back().role == "parameter")
      tensors.back().number = ++number;
  }
}

/// But where it lies.
static TrainingTensor parse_tensor(const nlohmann::json &entry) {
  TrainingTensor tensor;
  tensor.name = entry.at("name");
  tensor.role = entry.at("role");
  std::string element = entry.at("element");
  tensor.type = element == "i32"
                    ? DataType::I32
                    : parse_program_type(element).value_or(DataType::F32);
  tensor.shape = entry.at("shape").get<std::vector<uint64_t>>();
  tensor.layers = entry.at("layers");
  tensor.first_layer = entry.value("first_layer", uint64_t(0));
  tensor.layer_step = entry.value("layer_step", uint64_t(1));
  tensor.storage = entry.at("storage");
  if (entry.contains("numbers"))
    for (const nlohmann::json &number : entry.at("numbers")) {
      if (number.at("name") == "loss_scale")
        break;
      ++tensor.loss_scale;
    }
  if (entry.contains("parts"))
    tensor.part =
        parse_parameters({{"parameters", {as_parameter(entry)}}})[0].parts[0];
  tensor.whole =
      tensor.role == "optimizer" ? stacked(tensor)[0] : tensor.layers;
  return tensor;
}

/// One that lies in one of these storages, if the host has them.
void TrainingTensors::add(const nlohmann::json &entry, void *const *storages) {
  TrainingTensor tensor = parse_tensor(entry);
  if (storages)
    tensor.data = static_cast<std::byte *>(storages[tensor.storage]);
  else
    tensor.data =
        copies.emplace_back(std::max<uint64_t>(1, tensor.bytes())).data();
  tensors.push_back(std::move(tensor));
}

/// What the rank's programs share, and its chunks have.
void TrainingTensors::add_stages(const nlohmann::json &training,
                                 const Pipeline &pipeline) {
  const auto wholes = whole_parameters(training, pipeline);
  // Layers of each stage's parameters.
  std::map<std::pair<uint64_t, std::string>, const nlohmann::json *> parameters;
  for (const nlohmann::json &entry : training.at("tensors")) {
    if (!entry.contains("stage"))
      add(entry, execution.storages());
    else if (entry.at("role") == "parameter")
      parameters[{entry.at("stage"), parameter_of(entry)}] = &entry;
  }
  for (uint32_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
    auto [stage, offset] = pipeline.part(execution.place(), chunk);
    for (const nlohmann::json &entry : training.at("tensors")) {
      if (!entry.contains("stage") || entry.at("stage") != stage)
        continue;
      add(entry, execution.stage_storages(chunk));
      TrainingTensor &tensor = tensors.back();
      const std::string name = parameter_of(entry);
      const nlohmann::json &parameter = *parameters.at({stage, name});
      const WholeParameter &whole = wholes.at(name);
      uint64_t first = 0;
      if (parameter.contains("first_layer")) {
        first = parameter.at("first_layer").get<uint64_t>();
        // One that is no layer's is where it is at every position.
        if (whole.layers > 1)
          first += offset;
        tensor.first_layer = first;
      }
      tensor.number = whole.number;
      tensor.begin =
          whole.layers > 1 ? (first - whole.first_layer) / whole.layer_step : 0;
      tensor.whole = whole.layers;
      if (tensor.role == "optimizer") {
        uint64_t rows =
            stacked(tensor)[0] / parameter.at("layers").get<uint64_t>();
        tensor.begin *= rows;
        tensor.whole *= rows;
      }
    }
  }
}

void TrainingTensors::collect(Communicator &communicator,
                              std::string_view role) {
  if (execution.calls().empty())
    return;
  const Pipeline pipeline = *Pipeline::parse(execution.description());
  const nlohmann::json &training = training_of(execution.description());
  const auto wholes = whole_parameters(training, pipeline);
  const bool first = communicator.rank() == 0;
  const bool gives =
      communicator.mesh().batch_place(communicator.rank()).index == 0;
  std::map<std::string, const nlohmann::json *> entries;
  for (const nlohmann::json &entry : training.at("tensors"))
    if (entry.at("role") == role)
      entries.try_emplace(entry.at("name"), &entry);
  // Where a piece belongs, and its bytes.
  struct Place {
    uint64_t begin, bytes;
  };
  for (const auto &[name, entry] : entries) {
    std::string own;
    for (const TrainingTensor &tensor : tensors) {
      if (tensor.name != name || tensor.role != role || !gives)
        continue;
      uint64_t unit = tensor.bytes() / (role == "optimizer" ? stacked(tensor)[0]
                                                            : tensor.layers);
      Place place = {tensor.begin * unit, tensor.bytes()};
      own.append(reinterpret_cast<const char *>(&place), sizeof(place));
      own.append(reinterpret_cast<const char *>(tensor.data), tensor.bytes());
    }
    std::vector<std::string> pieces = communicator.share(
        own, "the layers of all stages", 0, Communicator::Patience::Endless);
    if (!first)
      continue;
    // As a program of one rank has it.
    const WholeParameter &whole = wholes.at(parameter_of(*entry));
    uint64_t layers = (*entry).at("layers");
    for (const nlohmann::json &parameter : training.at("tensors"))
      if (parameter.at("role") == "parameter" &&
          parameter.at("stage") == entry->at("stage") &&
          parameter_of(parameter) == parameter_of(*entry))
        layers = parameter.at("layers");
    nlohmann::json description = *entry;
    if (description.contains("first_layer"))
      description["first_layer"] = whole.first_layer;
    if (role == "optimizer" && description.at("layers") == 1)
      description["shape"][0] =
          description["shape"][0].get<uint64_t>() / layers * whole.layers;
    else
      description["layers"] = whole.layers;
    TrainingTensor tensor = parse_tensor(description);
    HugeRegion memory(std::max<uint64_t>(1, tensor.bytes()));
    tensor.data = memory.data();
    collected.push_back({std::move(tensor), std::move(memory)});
    for (const std::string &piece : pieces)
      for (size_t at = 0; at < piece.size();) {
        Place place;
        std::memcpy(&place, piece.data() + at, sizeof(place));
        at += sizeof(place);
        std::memcpy(collected.back().tensor.data + place.begin,
                    piece.data() + at, place.bytes);
        at += place.bytes;
      }
  }
}

std::vector<const TrainingTensor *>
TrainingTensors::of_role(std::string_view role) const {
  std::vector<const TrainingTensor *> result;
  for (const Collected &one : collected)
    if (one.tensor.role == role)
      result.push_back(&one.tensor);
  if (result.empty())
    for (const TrainingTensor &tensor : tensors)
      if (tensor.role == role)
        result.push_back(&tensor);
  return result;
}

void TrainingTensors::send(std::string_view role) const {
  for (const TrainingTensor &tensor : tensors)
    if (tensor.role == role && !execution.storages())
      execution.write_storage(tensor.storage, tensor.data, tensor.bytes());
}

void TrainingTensors::fetch(std::string_view role) const {
  for (const TrainingTensor &tensor : tensors)
    if (tensor.role == role && !execution.storages())
      execution.read_storage(tensor.storage, tensor.data, tensor.bytes());
}

const TrainingTensor &TrainingTensors::find(const std::string &name) const {
  for (const TrainingTensor &tensor : tensors)
    if (tensor.name == name)
      return tensor;
  throw Error("the compiled program has no tensor " + quote_name(name));
}

void TrainingTensors::load(const Checkpoint &checkpoint, unsigned threads) {
  struct Job {
    const TrainingTensor *tensor;
    uint64_t layer;
    StoredTensor stored;
  };
  std::vector<Job> jobs;
  for (const TrainingTensor &tensor : tensors)
    if (tensor.role == "parameter")
      for (uint64_t layer = 0; layer < tensor.layers; ++layer)
        jobs.push_back(
            {&tensor, layer,
             find_stored(*tensor.part,
                         tensor.first_layer + layer * tensor.layer_step,
                         checkpoint)});
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const Job &job = jobs[i];
    const TrainingTensor &tensor = *job.tensor;
    const ParameterPart &part = *tensor.part;
    const Tensor &stored = *job.stored.tensor;
    uint64_t columns = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    std::vector<std::byte> whole(part.stored_outputs() * columns *
                                 bytes_of(tensor.type));
    conversion(stored.type, tensor.type)(stored.data, whole.data(),
                                         part.stored_outputs() * columns);
    job.stored.file->release(stored);
    StoredPlace place{part, columns};
    std::byte *values = tensor.layer_data(job.layer);
    for (uint64_t output = 0; output < tensor.shape[0]; ++output)
      for (uint64_t column = 0; column < columns; ++column)
        set_real(values, tensor.type, output * columns + column,
                 real_at(whole.data(), tensor.type, place.of(output, column)) +
                     part.plus);
  });
}

void TrainingTensors::initialize(uint64_t seed) {
  for (const TrainingTensor &tensor : tensors) {
    if (tensor.role != "parameter")
      continue;
    uint64_t stream = mix(seed + mix(tensor.number));
    const uint64_t before = tensor.begin * tensor.elements();
    bool vector = tensor.shape.size() == 1;
    bool bias = vector && tensor.part->sources[0].ends_with("bias");
    uint64_t count = tensor.elements() * tensor.layers;
    for (uint64_t i = 0; i < count; ++i) {
      if (vector) {
        set_real(tensor.data, tensor.type, i, bias ? 0 : 1);
        continue;
      }
      // Box and Muller (1958).
      const uint64_t key = stream + 2 * (before + i);
      double radius = std::sqrt(-2 * std::log(uniform(key)));
      double angle = 2 * std::numbers::pi * uniform(key + 1);
      set_real(tensor.data, tensor.type, i, 0.02 * radius * std::cos(angle));
    }
  }
}

std::vector<TensorSource> TrainingTensors::sources(const Checkpoint *like,
                                                   const char *role,
                                                   double factor) const {
  struct Source {
    const TrainingTensor *tensor;
    uint64_t layer;
  };
  // Several parameters may be parts of one stored tensor.
  std::map<std::string, std::vector<Source>> stored;
  for (const TrainingTensor *tensor : of_role(role))
    for (uint64_t layer = 0; layer < tensor->layers; ++layer) {
      std::vector<std::string> names =
          tensor->part->names(tensor->first_layer + layer * tensor->layer_step);
      std::string name = names[0];
      for (const std::string &other : names)
        if (like && like->contains(other)) {
          name = other;
          break;
        }
      stored[name].push_back({tensor, layer});
    }
  bool gradients = std::string_view(role) == "gradient";
  std::vector<TensorSource> result;
  for (auto &[name, parts] : stored) {
    TensorSource source;
    source.name = name;
    source.type = parts[0].tensor->type;
    source.shape = parts[0].tensor->part->shape;
    source.read = [parts, gradients, factor, whole = std::vector<std::byte>()](
                      uint64_t first, uint64_t count,
                      std::byte *destination) mutable {
      const std::vector<uint64_t> &shape = parts[0].tensor->part->shape;
      DataType type = parts[0].tensor->type;
      uint64_t row = shape.size() == 2 ? shape[1] : 1;
      if (first == 0) {
        whole.assign(shape[0] * row * bytes_of(type), std::byte(0));
        for (const Source &part : parts) {
          uint64_t columns =
              part.tensor->shape.size() == 2 ? part.tensor->shape[1] : 1;
          StoredPlace place{*part.tensor->part, columns};
          const std::byte *values = part.tensor->layer_data(part.layer);
          double plus = gradients ? 0 : part.tensor->part->plus;
          for (uint64_t output = 0; output < part.tensor->shape[0]; ++output)
            for (uint64_t column = 0; column < columns; ++column)
              set_real(whole.data(), type, place.of(output, column),
                       real_at(values, type, output * columns + column) *
                               factor -
                           plus);
        }
      }
      std::memcpy(destination, whole.data() + first * row * bytes_of(type),
                  count * row * bytes_of(type));
      if (first + count == shape[0])
        whole = {};
    };
    result.push_back(std::move(source));
  }
  return result;
}

std::vector<TensorSource> TrainingTensors::optimizer() const {
  std::vector<TensorSource> result;
  for (const TrainingTensor *tensor : of_role("optimizer"))
    result.push_back(
        {tensor->name, tensor->type, stacked(*tensor), tensor->data});
  return result;
}

void TrainingTensors::load_optimizer(const SafetensorsFile &file) {
  for (const TrainingTensor &tensor : tensors) {
    if (tensor.role != "optimizer")
      continue;
    auto found = file.tensors().find(tensor.name);
    const Tensor *stored =
        found == file.tensors().end() ? nullptr : &found->second;
    std::vector<uint64_t> shape = stacked(tensor);
    const uint64_t row_bytes = tensor.bytes() / shape[0];
    shape[0] = tensor.whole;
    if (!stored || stored->shape != shape || stored->type != tensor.type)
      throw Error(file.path().string() + ": no tensor " +
                  quote_name(tensor.name) + " of the shape " +
                  shape_text(shape) + " in " +
                  std::string(stored_type_name(tensor.type)) +
                  "; the checkpoint is of another program");
    std::memcpy(tensor.data,
                static_cast<const std::byte *>(stored->data) +
                    tensor.begin * row_bytes,
                tensor.bytes());
  }
}

} // namespace baton

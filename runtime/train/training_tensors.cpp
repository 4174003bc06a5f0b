//===- training_tensors.cpp - what a program that trains keeps -----------===//

#include "runtime/train/training_tensors.h"

#include "runtime/error.h"
#include "runtime/step_sequence.h"
#include "runtime/train/stage_tensors.h"
#include "runtime/weights/adapter.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/packing.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/parameters.h"
#include "runtime/weights/stacked_experts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <numbers>
#include <set>

namespace baton {

namespace {

const nlohmann::json &training_of(const nlohmann::json &description) {
  auto found = description.find("training");
  if (found == description.end() || !found->is_object())
    throw Error("this program does not train; compile one with "
                "batonc --mode=train");
  return *found;
}

/// What the loader of weights would make the same values of, on all ranks.
nlohmann::json as_parameter(const nlohmann::json &tensor,
                            const std::vector<uint64_t> &whole) {
  nlohmann::json entry = tensor;
  const bool is_vector = entry.at("parts").at(0).at("shape").size() == 1;
  entry["dtype"] = "f32";
  entry["kind"] = is_vector ? "vector" : "panels";
  // Of experts and heads, those of all of them.
  uint64_t outputs = whole.at(0);
  for (size_t i = 1; i + !is_vector < whole.size(); ++i)
    outputs *= whole[i];
  entry["n"] = outputs;
  if (!is_vector)
    entry["k"] = whole.back();
  for (nlohmann::json &part : entry.at("parts"))
    part.erase("shards");
  return entry;
}

/// Of a tensor, or of the part of a checkpoint that it is.
nlohmann::json shards_of(const nlohmann::json &tensor) {
  if (auto own = tensor.find("shards"); own != tensor.end())
    return *own;
  if (auto parts = tensor.find("parts"); parts != tensor.end())
    return parts->at(0).value("shards", nlohmann::json());
  return nullptr;
}

/// A number in (0, 1] of every key.
double uniform(uint64_t key) { return (double(mix(key) >> 11) + 1) * 0x1p-53; }

/// The whole shape of all layers, and of all experts of each, one behind the
/// other.
std::vector<uint64_t> stacked(const TrainingTensor &tensor) {
  std::vector<uint64_t> shape = tensor.cut->whole_shape();
  while (shape.size() > 2) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  shape[0] *= tensor.layers;
  return shape;
}

/// What a rank has of a parameter: outputs and columns, and how many columns
/// its memory has.
struct MatrixPart {
  IndexRange outputs, columns = {0, 1};
  uint64_t stride = 1;

  MatrixPart(const TrainingTensor &tensor, uint32_t rank) {
    std::vector<IndexRange> ranges = tensor.cut->ranges(rank);
    outputs = ranges[0];
    if (ranges.size() == 2) {
      columns = ranges[1];
      stride = tensor.shape[1];
    }
  }
};

/// What ranks have of a layer, where it lies: all owners' parts with `parts`
/// or where they were collected, and this rank's own without. `visit` gets the
/// rank and its bytes.
void for_each_owner(
    const TrainingTensor &tensor, uint64_t layer, uint32_t rank,
    const PartsOfRanks &parts,
    const std::function<void(uint32_t rank, const std::byte *)> &visit) {
  for (auto [owner, data] : tensor.owners)
    visit(owner, data + layer * tensor.layer_stride * bytes_of(tensor.type));
  if (!tensor.owners.empty())
    return;
  if (!parts || !tensor.cut->is_cut())
    return visit(rank, tensor.layer_data(layer));
  std::string own;
  if (tensor.cut->owner(rank) == rank)
    own.assign(reinterpret_cast<const char *>(tensor.layer_data(layer)),
               tensor.elements() * bytes_of(tensor.type));
  std::vector<std::string> all = parts(own);
  for (uint32_t other = 0; other < all.size(); ++other)
    if (tensor.cut->owner(other) == other)
      visit(other, reinterpret_cast<const std::byte *>(all[other].data()));
}

/// Where elements of a row-major [outputs, columns] are stored.
struct StoredPlace {
  const ParameterPart &part;

  /// Of what is stored, which may have more.
  uint64_t columns() const { return part.own_inputs.count; }
  uint64_t of(uint64_t output, uint64_t column) const {
    const uint64_t stored = part.blocks.stored(output),
                   input = part.own_inputs.begin + column;
    return part.transposed ? input * part.stored_outputs() + stored
                           : stored * part.all_inputs() + input;
  }
};

/// Calls `run` for the runs of a rank's elements of one of a tensor's parts,
/// with where they begin in that part and in the rank's memory.
void for_each_run_of(const TrainingTensor &tensor, size_t part, uint32_t rank,
                     const ShardedTensor::Run &run) {
  const uint64_t size = tensor.whole_elements() / tensor.parts.size();
  const uint64_t begin = part * size;
  tensor.cut->for_each_run(
      rank, [&](uint64_t first, uint64_t own, uint64_t count) {
        const uint64_t from = std::max(first, begin),
                       to = std::min(first + count, begin + size);
        if (from < to)
          run(from - begin, own + (from - first), to - from);
      });
}

/// Whether a part is read and written by runs of elements, whatever the shape.
bool is_by_runs(const TrainingTensor &tensor) {
  return tensor.cut->is_flat() || tensor.parts.size() > 1 ||
         tensor.cut->whole_shape().size() > tensor.parts[0].shape.size();
}

/// Whether elements are stored in the order that they have in memory.
bool is_in_order(const ParameterPart &part) {
  return !part.transposed && part.blocks.size == part.blocks.stride &&
         part.own_inputs.count == part.all_inputs();
}

/// Reads by runs.
void read_runs(const TrainingTensor &tensor, size_t number, uint32_t rank,
               const Tensor &stored, std::byte *values) {
  const ParameterPart &part = tensor.parts[number];
  const StoredPlace place{part};
  const uint64_t columns = place.columns();
  const Conversion convert = conversion(stored.type, tensor.type);
  for_each_run_of(
      tensor, number, rank, [&](uint64_t first, uint64_t own, uint64_t count) {
        std::byte *value = values + own * bytes_of(tensor.type);
        if (is_in_order(part)) {
          convert(stored.data + first * bytes_of(stored.type), value, count);
        } else {
          for (uint64_t i = 0; i < count; ++i) {
            uint64_t at =
                place.of((first + i) / columns, (first + i) % columns);
            convert(stored.data + at * bytes_of(stored.type),
                    value + i * bytes_of(tensor.type), 1);
          }
        }
        if (part.plus != 0)
          for (uint64_t i = 0; i < count; ++i)
            set_real(value, tensor.type, i,
                     real_at(value, tensor.type, i) + part.plus);
      });
}

/// Reads what a rank has of a stored parameter, and no more of it.
void read_part(const TrainingTensor &tensor, size_t number, uint32_t rank,
               const Tensor &stored, std::byte *values) {
  const ParameterPart &part = tensor.parts[number];
  if (is_by_runs(tensor))
    return read_runs(tensor, number, rank, stored, values);
  const MatrixPart own(tensor, rank);
  const uint64_t element = bytes_of(tensor.type),
                 stored_element = bytes_of(stored.type);
  const Conversion convert = conversion(stored.type, tensor.type);
  const StoredPlace place{part};
  auto source = [&](uint64_t output, uint64_t column) {
    return stored.data +
           place.of(own.outputs.begin + output, own.columns.begin + column) *
               stored_element;
  };
  if (!part.transposed) {
    for (uint64_t output = 0; output < own.outputs.count; ++output) {
      std::byte *row = values + output * own.stride * element;
      convert(source(output, 0), row, own.columns.count);
      if (part.plus != 0)
        for (uint64_t column = 0; column < own.columns.count; ++column)
          set_real(row, tensor.type, column,
                   real_at(row, tensor.type, column) + part.plus);
    }
    return;
  }
  std::vector<std::byte> run_values(own.outputs.count * element);
  for (uint64_t column = 0; column < own.columns.count; ++column)
    for (uint64_t output = 0, run; output < own.outputs.count; output += run) {
      run = std::min(own.outputs.count - output,
                     part.blocks.adjacent(own.outputs.begin + output));
      convert(source(output, column), run_values.data(), run);
      for (uint64_t i = 0; i < run; ++i)
        set_real(values, tensor.type, (output + i) * own.stride + column,
                 real_at(run_values.data(), tensor.type, i));
    }
}

/// Writes what a rank has of a part of a parameter where it is stored.
void write_part(const TrainingTensor &tensor, size_t number, uint32_t rank,
                const std::byte *values, double factor, double plus,
                std::byte *whole) {
  const StoredPlace place{tensor.parts[number]};
  if (is_by_runs(tensor)) {
    const uint64_t columns = place.columns();
    return for_each_run_of(
        tensor, number, rank,
        [&](uint64_t first, uint64_t own, uint64_t count) {
          for (uint64_t i = 0; i < count; ++i)
            set_real(whole, tensor.type,
                     place.of((first + i) / columns, (first + i) % columns),
                     real_at(values, tensor.type, own + i) * factor - plus);
        });
  }
  const MatrixPart own(tensor, rank);
  for (uint64_t output = 0; output < own.outputs.count; ++output)
    for (uint64_t column = 0; column < own.columns.count; ++column)
      set_real(whole, tensor.type,
               place.of(own.outputs.begin + output, own.columns.begin + column),
               real_at(values, tensor.type, output * own.stride + column) *
                       factor -
                   plus);
}

} // namespace

uint64_t TrainingTensor::elements() const {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    count *= extent;
  return count;
}

uint64_t TrainingTensor::whole_elements() const {
  uint64_t count = 1;
  for (uint64_t extent : cut->whole_shape())
    count *= extent;
  return count;
}

uint64_t longest_sequence(const Metadata &metadata) {
  return training_of(metadata.json).at("longest_sequence").get<uint64_t>();
}

std::string compute_type(const Metadata &metadata) {
  return training_of(metadata.json).value("compute", "f32");
}

std::vector<size_t>
TrainingTensors::optimizer_storages(const Metadata &metadata) {
  std::set<size_t> own, others;
  for (const nlohmann::json &entry : training_of(metadata.json).at("tensors"))
    (entry.at("role") == "optimizer" ? own : others)
        .insert(entry.at("storage").get<size_t>());
  std::vector<size_t> result;
  std::ranges::set_difference(own, others, std::back_inserter(result));
  return result;
}

TrainingTensors::TrainingTensors(const Metadata &metadata, Execution &execution,
                                 uint32_t rank, bool paged)
    : execution(execution), rank(rank), paged(paged),
      mesh(Mesh::parse(metadata.json)),
      adapts(Adapter::parse(metadata.json).has_value()) {
  if (adapts)
    for (const ParameterDescription &parameter :
         parse_parameters(metadata.json))
      for (const ParameterPart &part : parameter.parts)
        frozen.try_emplace(part.sources[0], FrozenWeight{part, parameter.type});
  const nlohmann::json &training = training_of(metadata.json);
  if (std::optional<Pipeline> pipeline = Pipeline::parse(metadata.json)) {
    add_stages(training, *pipeline);
    return;
  }
  for (const nlohmann::json &entry : training.at("tensors"))
    add(entry, execution.storages());
}

/// But where it lies.
static TrainingTensor parse_tensor(const nlohmann::json &entry,
                                   const Mesh &mesh) {
  TrainingTensor tensor;
  tensor.name = entry.at("name");
  tensor.role = entry.at("role");
  // The proof counts on these being written before each program.
  if (tensor.role == "input" &&
      std::ranges::find(step_inputs, tensor.name) == step_inputs.end())
    throw Error("this program's description is damaged: nobody provides the "
                "input " +
                tensor.name);
  std::string element = entry.at("element");
  tensor.type = element == "i32"
                    ? DataType::I32
                    : parse_program_type(element).value_or(DataType::F32);
  tensor.shape = entry.at("shape").get<std::vector<uint64_t>>();
  tensor.cut.emplace(tensor.name, tensor.shape, shards_of(entry), mesh);
  tensor.layers = entry.at("layers");
  tensor.first_layer = entry.value("first_layer", uint64_t(0));
  tensor.layer_step = entry.value("layer_step", uint64_t(1));
  tensor.storage = entry.at("storage");
  tensor.offset = entry.value("offset", uint64_t(0));
  tensor.layer_stride = entry.value("layer_stride", tensor.elements());
  if (entry.contains("numbers"))
    for (const nlohmann::json &number : entry.at("numbers")) {
      if (number.at("name") == "loss_scale")
        break;
      ++tensor.loss_scale;
    }
  if (entry.contains("parts"))
    tensor.parts = parse_parameters(
                       {{"parameters",
                         {as_parameter(entry, tensor.cut->whole_shape())}}})[0]
                       .parts;
  tensor.whole =
      tensor.role == "optimizer" ? stacked(tensor)[0] : tensor.layers;
  return tensor;
}

/// One that lies in one of these storages, if the host has them.
void TrainingTensors::add(const nlohmann::json &entry, void *const *storages) {
  TrainingTensor tensor = parse_tensor(entry, mesh);
  std::byte *begin =
      storages
          ? static_cast<std::byte *>(storages[tensor.storage])
          : copies
                .emplace_back(std::max<uint64_t>(1, tensor.bytes_in_storage()))
                .data();
  tensor.data = begin + tensor.offset * bytes_of(tensor.type);
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
      tensor.chunk = chunk;
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
  std::map<std::string, const nlohmann::json *> entries;
  for (const nlohmann::json &entry : training.at("tensors"))
    if (entry.at("role") == role)
      entries.try_emplace(entry.at("name"), &entry);
  // Whose part a piece is of, as far as it is cut, where in it, and its bytes.
  struct Place {
    uint64_t owner, begin, bytes;
  };
  for (const auto &[name, entry] : entries) {
    std::string own;
    for (const TrainingTensor &tensor : tensors) {
      std::vector<std::string> axes = tensor.cut->axes();
      axes.push_back(pipeline.axis);
      if (tensor.name != name || tensor.role != role ||
          mesh.first_like(rank, axes) != rank)
        continue;
      uint64_t units = role == "optimizer" ? stacked(tensor)[0] : tensor.layers;
      Place place = {tensor.cut->owner(rank),
                     tensor.begin * tensor.bytes() / units, tensor.bytes()};
      own.append(reinterpret_cast<const char *>(&place), sizeof(place));
      for (uint64_t layer = 0; layer < tensor.layers; ++layer)
        own.append(reinterpret_cast<const char *>(tensor.layer_data(layer)),
                   tensor.elements() * bytes_of(tensor.type));
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
    description.erase("offset");
    description.erase("layer_stride");
    if (role == "optimizer" && description.at("layers") == 1 &&
        !description.contains("shards"))
      description["shape"][0] =
          description["shape"][0].get<uint64_t>() / layers * whole.layers;
    else
      description["layers"] = whole.layers;
    TrainingTensor tensor = parse_tensor(description, mesh);
    const uint64_t bytes = std::max<uint64_t>(1, tensor.bytes());
    collected.push_back({std::move(tensor), {}});
    auto &[made, memory] = collected.back();
    auto memory_of = [&, &made = made, &memory = memory](uint32_t owner) {
      for (auto [known, data] : made.owners)
        if (known == owner)
          return data;
      std::byte *data = memory.emplace_back(bytes).data();
      made.owners.emplace_back(owner, data);
      return data;
    };
    made.data = memory_of(0);
    for (const std::string &piece : pieces)
      for (size_t at = 0; at < piece.size();) {
        Place place;
        std::memcpy(&place, piece.data() + at, sizeof(place));
        at += sizeof(place);
        std::memcpy(memory_of(static_cast<uint32_t>(place.owner)) + place.begin,
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
      execution.write_storage(tensor.storage, tensor.in_storage().data(),
                              tensor.in_storage().size());
}

void TrainingTensors::send_state(
    const std::function<void(uint64_t done, uint64_t total)> &progress) const {
  if (execution.storages())
    return;
  std::vector<StorageCopy> copies;
  for (std::string_view role : {"parameter", "optimizer"})
    for (const TrainingTensor &tensor : tensors)
      if (tensor.role == role)
        copies.push_back({tensor.storage, tensor.in_storage()});
  execution.write_storages(copies, progress);
}

void TrainingTensors::fetch(std::string_view role) const {
  for (const TrainingTensor &tensor : tensors)
    if (tensor.role == role && !execution.storages())
      execution.read_storage(tensor.storage, tensor.in_storage().data(),
                             tensor.in_storage().size());
}

const TrainingTensor *TrainingTensors::find_if(const std::string &name) const {
  const auto found = std::ranges::find(tensors, name, &TrainingTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

const TrainingTensor &TrainingTensors::find(const std::string &name) const {
  if (const TrainingTensor *found = find_if(name))
    return *found;
  throw Error("the compiled program has no tensor " + quote_name(name));
}

/// Whether a tensor is a parameter of the model's or an adapter's.
static bool is_of(const TrainingTensor &tensor, TrainingTensors::Of of) {
  return tensor.role == "parameter" &&
         is_of_adapter(tensor.parts[0].sources[0]) ==
             (of == TrainingTensors::Of::Adapter);
}

void TrainingTensors::load(const Checkpoint &checkpoint, unsigned threads,
                           Of of) {
  struct Job {
    const TrainingTensor *tensor;
    uint64_t layer;
    size_t part;
    StoredTensor stored;
  };
  std::vector<Job> jobs;
  for (const TrainingTensor &tensor : tensors)
    if (is_of(tensor, of))
      for (uint64_t layer = 0; layer < tensor.layers; ++layer)
        for (size_t part = 0; part < tensor.parts.size(); ++part)
          jobs.push_back(
              {&tensor, layer, part,
               find_stored(tensor.parts[part],
                           tensor.first_layer + layer * tensor.layer_step,
                           checkpoint)});
  for (const Job &job : jobs)
    if (is_quantised(job.stored.tensor->type))
      throw Error(job.stored.file->path().string() + ": tensor " +
                  quote_name(job.stored.name) +
                  " is quantised, and weights that train are floating-point "
                  "numbers");
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const Job &job = jobs[i];
    read_part(*job.tensor, job.part, rank, *job.stored.tensor,
              job.tensor->layer_data(job.layer));
    job.stored.file->release(*job.stored.tensor);
  });
}

/// Draws one part of one layer.
static void initialize_part(const TrainingTensor &tensor, uint64_t layer,
                            size_t number, uint32_t rank, uint64_t seed) {
  const ParameterPart &part = tensor.parts[number];
  const bool vector = part.shape.size() == 1;
  const std::string_view source = part.sources[0];
  // A sink of zero is a score as any other one at first.
  const bool zero =
      vector ? source.ends_with("bias") || source.ends_with("sinks")
             : is_of_adapter(source) && source.ends_with(".lora_B.weight");
  const bool is_down =
      is_of_adapter(source) && source.ends_with(".lora_A.weight");
  // By the checkpoint's name, which is the same on every mesh.
  const std::string name =
      part.names(tensor.first_layer + layer * tensor.layer_step)[0];
  const uint64_t stream =
      mix(seed + hash_bytes(name.data(), name.size(),
                            part.blocks.offset + part.own_inputs.begin));
  // Of the element at this place of the whole, on whichever rank it is.
  auto value = [&](uint64_t i) {
    if (zero)
      return 0.0;
    if (vector)
      return 1.0;
    if (is_down)
      return (2 * uniform(stream + i) - 1) / std::sqrt(double(part.shape[1]));
    // Box and Muller (1958).
    double radius = std::sqrt(-2 * std::log(uniform(stream + 2 * i)));
    double angle = 2 * std::numbers::pi * uniform(stream + 2 * i + 1);
    return 0.02 * radius * std::cos(angle);
  };
  for_each_run_of(tensor, number, rank,
                  [&](uint64_t whole, uint64_t own, uint64_t count) {
                    for (uint64_t i = 0; i < count; ++i)
                      set_real(tensor.layer_data(layer), tensor.type, own + i,
                               value(whole + i));
                  });
}

void TrainingTensors::initialize(uint64_t seed, Of of) {
  for (const TrainingTensor &tensor : tensors)
    if (is_of(tensor, of))
      for (uint64_t layer = 0; layer < tensor.layers; ++layer)
        for (size_t part = 0; part < tensor.parts.size(); ++part)
          initialize_part(tensor, layer, part, rank, seed);
}

/// Lengths of the rows of a matrix, which the program has as numbers of `type`
/// or as they are stored.
static std::vector<double> lengths_of_rows(const ParameterPart &part,
                                           const Tensor &tensor,
                                           DataType type) {
  const uint64_t outputs = part.stored_outputs(), inputs = part.all_inputs();
  const Conversion narrow = type == DataType::BF16 || type == DataType::F16
                                ? conversion(DataType::F32, type)
                                : nullptr;
  std::vector<float> panel(inputs * panel_lanes);
  std::vector<uint16_t> rounded(narrow ? panel.size() : 0);
  std::vector<double> lengths(outputs);
  for (uint64_t first = 0; first < outputs; first += panel_lanes) {
    const uint64_t count = std::min(panel_lanes, outputs - first);
    const PanelCut cut = {first, count, 0, inputs, inputs};
    pack_panels({{{tensor.data, tensor.type, count, outputs,
                   part.transposed != tensor.is_flipped, OutputBlocks(),
                   -tensor.added, tensor.paired_rows, cut,
                   is_quantised(tensor.type) ? &tensor : nullptr}},
                 inputs,
                 /*interleave=*/false,
                 DataType::F32},
                0, 1, reinterpret_cast<std::byte *>(panel.data()));
    if (narrow) {
      narrow(panel.data(), rounded.data(), panel.size());
      conversion(type, DataType::F32)(rounded.data(), panel.data(),
                                      panel.size());
    }
    double squares[panel_lanes] = {};
    for (uint64_t input = 0; input < inputs; ++input)
      for (uint64_t lane = 0; lane < panel_lanes; ++lane) {
        const double value = panel[input * panel_lanes + lane];
        squares[lane] += value * value;
      }
    for (uint64_t lane = 0; lane < count; ++lane)
      lengths[first + lane] = std::sqrt(squares[lane]);
  }
  return lengths;
}

void TrainingTensors::initialize_magnitudes(const Checkpoint &model,
                                            unsigned threads) {
  struct Job {
    const TrainingTensor *tensor;
    uint64_t layer;
    const FrozenWeight *weight;
    StoredTensor stored;
  };
  std::vector<Job> jobs;
  for (const TrainingTensor &tensor : tensors) {
    if (!is_of(tensor, Of::Adapter) ||
        !tensor.parts[0].sources[0].ends_with(adapter_magnitude))
      continue;
    std::string name = tensor.parts[0].sources[0];
    name.erase(name.size() - adapter_magnitude.size());
    name = name.substr(adapter_prefix.size()) + ".weight";
    const auto found = frozen.find(name);
    if (found == frozen.end())
      throw Error("this program's description is damaged: it has rows' lengths "
                  "of a weight that it does not have, " +
                  quote_name(name));
    for (uint64_t layer = 0; layer < tensor.layers; ++layer)
      jobs.push_back(
          {&tensor, layer, &found->second,
           find_stored(found->second.part,
                       tensor.first_layer + layer * tensor.layer_step, model)});
  }
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const auto &[tensor, layer, weight, stored] = jobs[i];
    std::vector<double> lengths =
        lengths_of_rows(weight->part, *stored.tensor, weight->type);
    const Tensor made = {DataType::F64,
                         {lengths.size()},
                         reinterpret_cast<const std::byte *>(lengths.data()),
                         lengths.size() * sizeof(double)};
    read_part(*tensor, 0, rank, made, tensor->layer_data(layer));
    stored.file->release(*stored.tensor);
  });
}

std::vector<TensorSource>
TrainingTensors::sources(const Checkpoint *like, const char *role,
                         double factor, const PartsOfRanks &others) const {
  struct Source {
    const TrainingTensor *tensor;
    uint64_t layer;
    size_t number;
    /// Whose part of a tensor of all experts it is.
    uint64_t expert;

    const ParameterPart &part() const { return tensor->parts[number]; }
  };
  // Several parameters may be parts of one stored tensor.
  struct Stored {
    std::vector<Source> parts;
    /// Of how many experts it has tensors; 0 for a tensor by itself.
    uint64_t experts = 0;
  };
  std::map<std::string, Stored> stored;
  for (const TrainingTensor *tensor : of_role(role)) {
    if (adapts && !is_of_adapter(tensor->parts[0].sources[0]))
      continue;
    for (uint64_t layer = 0; layer < tensor->layers; ++layer)
      for (size_t part = 0; part < tensor->parts.size(); ++part) {
        std::vector<std::string> names = tensor->parts[part].names(
            tensor->first_layer + layer * tensor->layer_step);
        std::string name = names[0];
        for (const std::string &other : names)
          if (like && like->contains(other)) {
            name = other;
            break;
          }
        const auto stack = stack_of_expert(name);
        Stored &whole = stored[stack ? stack->name : name];
        whole.parts.push_back({tensor, layer, part, stack ? stack->expert : 0});
        if (stack)
          whole.experts = std::max(whole.experts, stack->expert + 1);
      }
  }
  bool gradients = std::string_view(role) == "gradient";
  std::vector<TensorSource> result;
  for (auto &[name, entry] : stored) {
    const auto &parts = entry.parts;
    TensorSource source;
    source.name = name;
    source.type = parts[0].tensor->type;
    source.shape = parts[0].part().shape;
    // Of one of the experts, or of all there is.
    uint64_t size = bytes_of(source.type);
    for (uint64_t extent : source.shape)
      size *= extent;
    if (entry.experts)
      source.shape.insert(source.shape.begin(), entry.experts);
    source.read = [parts, gradients, factor, others, rank = rank, size,
                   shape = source.shape, type = source.type,
                   whole = std::vector<std::byte>()](
                      uint64_t first, uint64_t count,
                      std::byte *destination) mutable {
      uint64_t row = 1;
      for (size_t i = 1; i < shape.size(); ++i)
        row *= shape[i];
      if (first == 0) {
        whole.assign(shape[0] * row * bytes_of(type), std::byte(0));
        for (const Source &source : parts)
          for_each_owner(*source.tensor, source.layer, rank, others,
                         [&](uint32_t owner, const std::byte *values) {
                           write_part(*source.tensor, source.number, owner,
                                      values, factor,
                                      gradients ? 0 : source.part().plus,
                                      whole.data() + source.expert * size);
                         });
      }
      if (count)
        std::memcpy(destination, whole.data() + first * row * bytes_of(type),
                    count * row * bytes_of(type));
      // An empty list would keep the memory until all tensors are written.
      if (first + count == shape[0])
        whole = std::vector<std::byte>();
    };
    result.push_back(std::move(source));
  }
  return result;
}

std::vector<TensorSource>
TrainingTensors::optimizer(const PartsOfRanks &others) const {
  std::vector<TensorSource> result;
  for (const TrainingTensor *pointer : of_role("optimizer")) {
    const TrainingTensor &tensor = *pointer;
    TensorSource source = {tensor.name, tensor.type, stacked(tensor),
                           tensor.data};
    source.is_paged = paged;
    if (tensor.cut->is_cut()) {
      source.data = nullptr;
      source.read = [&tensor, others, rank = rank,
                     whole = std::vector<std::byte>()](
                        uint64_t first, uint64_t count,
                        std::byte *destination) mutable {
        const uint64_t element = bytes_of(tensor.type);
        const uint64_t layer_bytes = tensor.whole_elements() * element;
        const uint64_t rows = stacked(tensor)[0];
        const uint64_t row_bytes = layer_bytes * tensor.layers / rows;
        if (first == 0) {
          whole.assign(layer_bytes * tensor.layers, std::byte(0));
          for (uint64_t layer = 0; layer < tensor.layers; ++layer)
            for_each_owner(
                tensor, layer, rank, others,
                [&](uint32_t owner, const std::byte *values) {
                  tensor.cut->for_each_run(
                      owner, [&](uint64_t at, uint64_t part, uint64_t size) {
                        std::memcpy(whole.data() + layer * layer_bytes +
                                        at * element,
                                    values + part * element, size * element);
                      });
                });
        }
        if (count)
          std::memcpy(destination, whole.data() + first * row_bytes,
                      count * row_bytes);
        if (first + count == rows)
          whole = std::vector<std::byte>();
      };
    }
    result.push_back(std::move(source));
  }
  return result;
}

void give_parts(const std::vector<TensorSource> &sources) {
  for (const TensorSource *source : file_order(sources))
    if (source->read)
      source->read(0, 0, nullptr);
}

void TrainingTensors::load_optimizer(const SafetensorsFile &file) {
  for (const TrainingTensor &tensor : tensors) {
    if (tensor.role != "optimizer")
      continue;
    auto found = file.tensors().find(tensor.name);
    const Tensor *stored =
        found == file.tensors().end() ? nullptr : &found->second;
    std::vector<uint64_t> shape = stacked(tensor);
    const uint64_t element = bytes_of(tensor.type);
    const uint64_t row_bytes =
        tensor.whole_elements() * tensor.layers * element / shape[0];
    shape[0] = tensor.whole;
    if (!stored || stored->shape != shape || stored->type != tensor.type)
      throw Error(file.path().string() + ": no tensor " +
                  quote_name(tensor.name) + " of the shape " +
                  shape_text(shape) + " in " +
                  std::string(stored_type_name(tensor.type)) +
                  "; the checkpoint is of another program");
    const std::byte *begin = stored->data + tensor.begin * row_bytes;
    for (uint64_t layer = 0; layer < tensor.layers; ++layer) {
      const std::byte *whole =
          begin + layer * tensor.whole_elements() * element;
      tensor.cut->for_each_run(
          rank, [&](uint64_t at, uint64_t part, uint64_t count) {
            std::memcpy(tensor.layer_data(layer) + part * element,
                        whole + at * element, count * element);
          });
    }
    file.release(*stored);
  }
}

} // namespace baton

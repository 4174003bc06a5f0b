//===- value_dump.cpp - every value of a run as files --------------------===//

#include "runtime/execute/value_dump.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

namespace baton {

namespace {

/// Letters that file systems and shells take as they are.
std::string file_name_part(const std::string &name) {
  std::string part = name;
  for (char &letter : part)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.' &&
        letter != '_' && letter != '-')
      letter = '_';
  return part;
}

std::string file_name(const PhaseDescription &phase, size_t number,
                      size_t digits, uint32_t iteration,
                      const WrittenBuffer &buffer) {
  std::string text = std::to_string(number);
  text.insert(0, digits - std::min(digits, text.size()), '0');
  text += "_" + file_name_part(phase.name);
  if (phase.writes.size() > 1)
    text += "." + file_name_part(buffer.buffer);
  if (phase.repeat > 1)
    text += ".layer" + std::to_string(iteration);
  return text + ".npy";
}

/// The dimension along which steps are joined.
std::optional<size_t> joined_dimension(const WrittenBuffer &buffer) {
  for (size_t i = 0; i < buffer.extents.size(); ++i)
    if (buffer.extents[i].kind == Extent::Kind::Rows ||
        buffer.extents[i].kind == Extent::Kind::Outputs)
      return i;
  return std::nullopt;
}

/// Whether the rows of one step follow those of the step before in memory.
bool is_appendable(const WrittenBuffer &buffer) {
  return joined_dimension(buffer) == 0 &&
         std::all_of(buffer.extents.begin() + 1, buffer.extents.end(),
                     [](const Extent &extent) {
                       return extent.kind == Extent::Kind::Number;
                     });
}

std::vector<uint64_t> without_first(const std::vector<uint64_t> &extents) {
  return {extents.begin() + 1, extents.end()};
}

} // namespace

ValueDump::ValueDump(const Metadata &metadata,
                     const std::filesystem::path &folder)
    : metadata(metadata), folder(folder), own_folder(folder) {
  size_t count = 0;
  for (const PhaseDescription &phase : metadata.phases)
    count += phase.writes.size() * phase.repeat;
  size_t digits = std::max<size_t>(3, std::to_string(count).size());
  for (const ProgramDescription &program : metadata.programs)
    add_program(program, digits);
}

/// A value that another program computes too, for steps of other numbers of
/// rows, is one.
void ValueDump::add_program(const ProgramDescription &program, size_t digits) {
  for (auto [phase, iteration] : program_order(metadata.phases, program)) {
    const PhaseDescription &description = metadata.phases[phase];
    for (const WrittenBuffer &buffer : description.writes) {
      if (!can_be_evaluated(buffer))
        continue;
      NpyType type = stored_type(buffer);
      auto same =
          std::find_if(values.begin(), values.end(), [&](const Value &value) {
            return value.iteration == iteration &&
                   value.buffer->buffer == buffer.buffer &&
                   metadata.phases[value.phase].segment ==
                       description.segment &&
                   value.phase < program.first_phase;
          });
      additions[{phase, iteration}].push_back(
          {static_cast<size_t>(same - values.begin()), &buffer});
      if (same != values.end())
        continue;
      std::vector<uint64_t> row_shape;
      if (is_appendable(buffer))
        for (size_t i = 1; i < buffer.extents.size(); ++i)
          row_shape.push_back(static_cast<uint64_t>(buffer.extents[i].number));
      std::string name =
          file_name(description, values.size(), digits, iteration, buffer);
      values.push_back({phase,
                        iteration,
                        &buffer,
                        type,
                        NpyWriter(folder / name, type, row_shape),
                        {}});
    }
  }
}

void ValueDump::record(const BatonStep &step, uint32_t phase,
                       uint32_t iteration, void *const *storages) {
  for (const Addition &addition : additions[{phase, iteration}]) {
    Value &value = values[addition.value];
    const WrittenBuffer &buffer = *addition.buffer;
    const auto *storage =
        static_cast<const std::byte *>(storages[buffer.storage]);
    uint32_t layer = metadata.phases[phase].layer(iteration);
    WrittenValues piece = copy_values(buffer, step, layer, storage);
    if (is_appendable(buffer)) {
      value.writer.append(piece.bytes.data(), piece.extents[0]);
      continue;
    }
    if (!joined_dimension(buffer))
      value.pieces.clear();
    value.pieces.push_back(std::move(piece));
  }
}

/// Writes the pieces of a value as one array.
void ValueDump::join(Value &value) {
  if (value.pieces.empty())
    return;
  std::optional<size_t> joined = joined_dimension(*value.buffer);
  std::vector<uint64_t> extents(value.buffer->extents.size());
  for (const WrittenValues &piece : value.pieces)
    for (size_t i = 0; i < extents.size(); ++i)
      extents[i] = i == joined ? extents[i] + piece.extents[i]
                               : std::max(extents[i], piece.extents[i]);
  size_t element_bytes = npy_element_bytes(value.type);
  std::vector<int64_t> strides(extents.size());
  uint64_t count = 1;
  for (size_t i = extents.size(); i-- > 0; count *= extents[i])
    strides[i] = static_cast<int64_t>(count);

  std::vector<std::byte> bytes(count * element_bytes);
  uint64_t done = 0;
  for (const WrittenValues &piece : value.pieces) {
    std::byte *base = bytes.data();
    if (joined) {
      base += done * static_cast<uint64_t>(strides[*joined]) * element_bytes;
      done += piece.extents[*joined];
    }
    const std::byte *from = piece.bytes.data();
    for_each_index(piece.extents, [&](const ValueIndex &index) {
      std::memcpy(base + position_of(index, strides) *
                             static_cast<int64_t>(element_bytes),
                  from, element_bytes);
      from += element_bytes;
    });
  }
  value.writer.restart(without_first(extents));
  value.writer.append(bytes.data(), extents[0]);
  value.pieces.clear();
}

void ValueDump::publish() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (Value &value : values) {
    join(value);
    const PhaseDescription &phase = metadata.phases[value.phase];
    list.push_back({{"file", value.writer.path().filename().string()},
                    {"phase", phase.name},
                    {"segment", phase.segment},
                    {"iteration", value.iteration},
                    {"buffer", value.buffer->buffer},
                    {"dtype", npy_type_name(value.type)},
                    {"shape", value.writer.shape()}});
    value.writer.complete();
  }
  nlohmann::ordered_json index = {{"format", 1},
                                  {"model", metadata.json.at("model")},
                                  {"values", std::move(list)}};
  std::string text = index.dump(1) + "\n";
  TemporaryFile index_file(folder / "index.json");
  index_file.write(text.data(), text.size(), 0);

  Uninterrupted all_or_nothing;
  own_folder.keep();
  for (Value &value : values)
    value.writer.publish();
  index_file.publish();
}

} // namespace baton

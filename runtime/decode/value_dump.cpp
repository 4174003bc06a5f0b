//===- value_dump.cpp - every value of a run as files --------------------===//

#include "runtime/decode/value_dump.h"

#include "runtime/error.h"
#include "runtime/weights/convert.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

namespace baton {

namespace {

struct Element {
  const char *name;
  size_t bytes;
  NpyType stored_as;
};

constexpr Element elements[] = {
    {"f32", 4, NpyType::F32}, {"bf16", 2, NpyType::F32},
    {"f16", 2, NpyType::F32}, {"f64", 8, NpyType::F64},
    {"i32", 4, NpyType::I32}, {"i64", 8, NpyType::I64},
};

const Element &element_of(const WrittenBuffer &buffer) {
  for (const Element &element : elements)
    if (buffer.element == element.name)
      return element;
  throw Error("--dump: buffer \"" + buffer.buffer + "\" has elements of type " +
              buffer.element + ", which no .npy file is written for");
}

void convert_element(const std::string &element, const std::byte *from,
                     std::byte *to, size_t bytes) {
  if (bytes != 2) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  float value = element == "bf16" ? f32_from_bf16(bits) : f32_from_f16(bits);
  std::memcpy(to, &value, sizeof(value));
}

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

bool can_be_evaluated(const WrittenBuffer &buffer) {
  return std::none_of(
      buffer.extents.begin(), buffer.extents.end(),
      [](const Extent &extent) { return extent.kind == Extent::Kind::Other; });
}

using Index = std::vector<uint64_t>;

/// Calls visit(index) for every index of a box, in row-major order.
template <typename Visit>
void for_each_index(const std::vector<uint64_t> &extents, Visit visit) {
  uint64_t count = 1;
  for (uint64_t extent : extents)
    count *= extent;
  Index index(extents.size());
  for (uint64_t i = 0; i < count; ++i) {
    visit(index);
    for (size_t dimension = index.size(); dimension-- > 0;) {
      if (++index[dimension] < extents[dimension])
        break;
      index[dimension] = 0;
    }
  }
}

int64_t position_of(const Index &index, const std::vector<int64_t> &strides) {
  int64_t position = 0;
  for (size_t i = 0; i < index.size(); ++i)
    position += static_cast<int64_t>(index[i]) * strides[i];
  return position;
}

/// As event.buffer defines it.
int64_t position_of(const Index &index, const WrittenBuffer &buffer) {
  int64_t position = position_of(index, buffer.strides);
  const auto first = static_cast<int64_t>(index.front());
  const int64_t in_run = first % buffer.interleave;
  position -= in_run * buffer.strides.front();
  const int64_t columns = buffer.interleave_columns;
  if (columns == 1)
    return position + in_run;
  const auto last = static_cast<int64_t>(index.back());
  const int64_t column = last % columns;
  const int64_t width =
      std::min(columns, buffer.capacity.back() - (last - column));
  return position - column * buffer.strides.back() + in_run * width + column;
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
      NpyType type = element_of(buffer).stored_as;
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

ValueDump::Piece ValueDump::copy(const WrittenBuffer &buffer,
                                 const BatonStep &step, uint32_t iteration,
                                 const std::byte *storage) const {
  const Element &element = element_of(buffer);
  size_t stored_bytes = npy_element_bytes(element.stored_as);
  Piece piece;
  uint64_t count = 1;
  for (const Extent &extent : buffer.extents) {
    piece.extents.push_back(static_cast<uint64_t>(extent.evaluate(step)));
    count *= piece.extents.back();
  }
  piece.bytes.resize(count * stored_bytes);
  int64_t origin =
      buffer.offset + (buffer.layers > 1 ? iteration * buffer.layer_stride : 0);
  std::byte *to = piece.bytes.data();
  for_each_index(piece.extents, [&](const Index &index) {
    convert_element(buffer.element,
                    storage + (origin + position_of(index, buffer)) *
                                  static_cast<int64_t>(element.bytes),
                    to, element.bytes);
    to += stored_bytes;
  });
  return piece;
}

void ValueDump::record(const BatonStep &step, uint32_t phase,
                       uint32_t iteration, void *const *storages) {
  for (const Addition &addition : additions[{phase, iteration}]) {
    Value &value = values[addition.value];
    const WrittenBuffer &buffer = *addition.buffer;
    const auto *storage =
        static_cast<const std::byte *>(storages[buffer.storage]);
    Piece piece = copy(buffer, step, iteration, storage);
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
  for (const Piece &piece : value.pieces)
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
  for (const Piece &piece : value.pieces) {
    std::byte *base = bytes.data();
    if (joined) {
      base += done * static_cast<uint64_t>(strides[*joined]) * element_bytes;
      done += piece.extents[*joined];
    }
    const std::byte *from = piece.bytes.data();
    for_each_index(piece.extents, [&](const Index &index) {
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

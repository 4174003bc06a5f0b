//===- written_values.cpp - what a phase left in a buffer -----------------===//

#include "runtime/execute/written_values.h"

#include "runtime/error.h"
#include "runtime/weights/convert.h"

#include <algorithm>
#include <cstring>
#include <string>

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

/// As event.buffer defines it.
int64_t position_of(const ValueIndex &index, const WrittenBuffer &buffer) {
  int64_t position = baton::position_of(index, buffer.strides);
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

} // namespace

NpyType stored_type(const WrittenBuffer &buffer) {
  return element_of(buffer).stored_as;
}

bool can_be_evaluated(const WrittenBuffer &buffer) {
  return std::none_of(
      buffer.extents.begin(), buffer.extents.end(),
      [](const Extent &extent) { return extent.kind == Extent::Kind::Other; });
}

int64_t position_of(const ValueIndex &index,
                    const std::vector<int64_t> &strides) {
  int64_t position = 0;
  for (size_t i = 0; i < index.size(); ++i)
    position += static_cast<int64_t>(index[i]) * strides[i];
  return position;
}

void expect_inputs(const PhaseDescription &phase, const Product &product) {
  if (!product.inputs || !can_be_evaluated(*product.inputs) ||
      stored_type(*product.inputs) != NpyType::F32)
    throw Error("phase " + phase.name +
                " computes its linear's inputs by itself, where nothing can "
                "see them; compile with --disable-pass=norm-rewrites");
}

WrittenValues copy_values(const WrittenBuffer &buffer, const BatonStep &step,
                          uint32_t layer, const std::byte *storage) {
  const Element &element = element_of(buffer);
  size_t stored_bytes = npy_element_bytes(element.stored_as);
  WrittenValues values;
  uint64_t count = 1;
  for (const Extent &extent : buffer.extents) {
    values.extents.push_back(static_cast<uint64_t>(extent.evaluate(step)));
    count *= values.extents.back();
  }
  values.bytes.resize(count * stored_bytes);
  int64_t copy = buffer.ring ? layer % buffer.layers : layer;
  int64_t origin =
      buffer.offset + (buffer.layers > 1 ? copy * buffer.layer_stride : 0);
  std::byte *to = values.bytes.data();
  for_each_index(values.extents, [&](const ValueIndex &index) {
    convert_element(buffer.element,
                    storage + (origin + position_of(index, buffer)) *
                                  static_cast<int64_t>(element.bytes),
                    to, element.bytes);
    to += stored_bytes;
  });
  return values;
}

} // namespace baton

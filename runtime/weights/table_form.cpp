//===- table_form.cpp - rows as a checkpoint stores them ------------------===//

#include "runtime/weights/convert.h"
#include "runtime/weights/form.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/random.h"
#include "runtime/weights/stored_blocks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace baton {

namespace {

class TableForm : public WeightForm {
public:
  explicit TableForm(const FormDescription &description);

  uint64_t layer_bytes() const override {
    return rows * columns * bytes_of(type);
  }
  uint64_t units() const override { return rows; }
  bool reads_in_place(const std::vector<StoredTensor> &tensors) const override;
  std::span<const std::byte>
  bytes_in_place(const std::vector<StoredTensor> &tensors) const override;
  void pack(const std::vector<StoredTensor> &tensors, uint64_t first,
            uint64_t last, std::byte *layer) const override;
  void fill_randomly(uint64_t first, uint64_t last,
                     std::span<const uint64_t> seeds,
                     std::byte *layer) const override;

private:
  DataType type;
  uint64_t rows, columns;
  ParameterPart part;
};

} // namespace

TableForm::TableForm(const FormDescription &description)
    : type(description.type), rows(description.size("rows")),
      columns(description.size("columns")) {
  if (type == DataType::I8)
    description.fail("is of dtype i8, which only blocks have");
  description.check_product({description.layers, rows, columns, 8});
  if (description.parts.size() != 1 || description.parts[0].transposed ||
      description.parts[0].blocks.size != description.parts[0].blocks.stride ||
      description.parts[0].shape.size() != 2 ||
      description.parts[0].room_outputs != rows ||
      description.parts[0].room_inputs != columns)
    description.fail("is a table, but not made of one part of shape " +
                     shape_text({rows, columns}));
  part = description.parts[0];
}

bool TableForm::reads_in_place(const std::vector<StoredTensor> &tensors) const {
  const Tensor &tensor = *tensors[0].tensor;
  // Rows that only other ranks have nobody reads.
  return tensor.type == type && !tensor.is_flipped &&
         part.own_inputs.count == part.shape[1] &&
         reinterpret_cast<uintptr_t>(tensor.data) % bytes_of(type) == 0;
}

std::span<const std::byte>
TableForm::bytes_in_place(const std::vector<StoredTensor> &tensors) const {
  const Tensor &tensor = *tensors[0].tensor;
  const uint64_t row = part.shape[1] * bytes_of(tensor.type);
  return {tensor.data + part.own_outputs.begin * row,
          static_cast<size_t>(part.own_outputs.count * row)};
}

void TableForm::pack(const std::vector<StoredTensor> &tensors, uint64_t first,
                     uint64_t last, std::byte *layer) const {
  const Tensor &tensor = *tensors[0].tensor;
  std::vector<float> numbers(is_quantised(tensor.type) ? part.shape[1] : 0);
  Conversion convert =
      conversion(numbers.empty() ? tensor.type : DataType::F32, type);
  for (uint64_t row = first; row < std::min(last, part.own_outputs.count);
       ++row) {
    const uint64_t stored = part.own_outputs.begin + row;
    std::byte *elements = layer + row * columns * bytes_of(type);
    if (numbers.empty()) {
      convert(tensor.data + (stored * part.shape[1] + part.own_inputs.begin) *
                                bytes_of(tensor.type),
              elements, part.own_inputs.count);
      continue;
    }
    dequantise(tensor, part.shape[1], stored, part.own_inputs.begin,
               part.own_inputs.count, numbers.data());
    convert(numbers.data(), elements, part.own_inputs.count);
  }
}

void TableForm::fill_randomly(uint64_t first, uint64_t last,
                              std::span<const uint64_t> seeds,
                              std::byte *layer) const {
  fill_random(type, layer + first * columns * bytes_of(type),
              (last - first) * columns, 0.0f,
              1.0f / std::sqrt(static_cast<float>(columns)),
              seeds_of(mix(seeds[0] + first)));
}

std::shared_ptr<const WeightForm>
parse_table(const FormDescription &description) {
  return std::make_shared<TableForm>(description);
}

} // namespace baton

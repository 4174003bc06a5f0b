//===- input_squares.cpp - how large the inputs of linears are ------------===//

#include "runtime/execute/input_squares.h"

#include "runtime/execute/written_values.h"

#include <cstring>

namespace baton {

InputSquares::InputSquares(const Metadata &metadata) : metadata(metadata) {
  for (const PhaseDescription &phase : metadata.phases)
    for (const Product &product : phase.products)
      expect_inputs(phase, product);
}

void InputSquares::record(const BatonStep &step, uint32_t phase,
                          uint32_t iteration, void *const *storages) {
  const PhaseDescription &description = metadata.phases[phase];
  const uint32_t layer = description.layer(iteration);
  for (const Product &product : description.products) {
    const auto *storage =
        static_cast<const std::byte *>(storages[product.inputs->storage]);
    const WrittenValues values =
        copy_values(*product.inputs, step, layer, storage);
    const uint64_t width = values.extents.back();
    const uint64_t rows =
        width ? values.bytes.size() / sizeof(float) / width : 0;
    Sum &sum = all[{product.parameter, layer}];
    sum.squares.resize(width);
    sum.rows += rows;
    std::vector<float> row(width);
    for (uint64_t i = 0; i < rows; ++i) {
      std::memcpy(row.data(), values.bytes.data() + i * width * sizeof(float),
                  width * sizeof(float));
      for (uint64_t k = 0; k < width; ++k)
        sum.squares[k] += double(row[k]) * double(row[k]);
    }
  }
}

std::vector<float> InputSquares::Sum::means() const {
  std::vector<float> result;
  for (double square : squares)
    result.push_back(rows ? static_cast<float>(square / double(rows)) : 0);
  return result;
}

} // namespace baton

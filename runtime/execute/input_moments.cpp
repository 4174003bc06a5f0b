//===- input_moments.cpp - how inputs of linears go together --------------===//

#include "runtime/execute/input_moments.h"

#include "runtime/execute/written_values.h"
#include "runtime/weights/parallel.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace baton {

namespace {

/// A part of the sums that stays in a core's cache while all rows pass by.
constexpr uint64_t tile_rows = 8, tile_columns = 512;

/// Adds the products of a step's rows, [count, width], to the lower triangle.
void add_products(const std::vector<double> &rows, InputMoments::Sum &sum,
                  unsigned threads) {
  const uint64_t width = sum.width, count = rows.size() / width;
  const uint64_t bands = (width + tile_rows - 1) / tile_rows;
  // The longest bands first.
  parallel_for(bands, threads, [&](size_t band) {
    const uint64_t first = (bands - 1 - band) * tile_rows,
                   last = std::min(width, first + tile_rows);
    for (uint64_t begin = 0; begin < last; begin += tile_columns) {
      const uint64_t end = std::min(begin + tile_columns, last);
      for (uint64_t row = 0; row < count; ++row) {
        const double *values = rows.data() + row * width;
        for (uint64_t i = first; i < last; ++i) {
          double *products = sum.products.data() + i * width;
          const double factor = values[i];
          for (uint64_t j = begin; j < end; ++j)
            products[j] += factor * values[j];
        }
      }
    }
  });
}

} // namespace

InputMoments::InputMoments(const Metadata &metadata, std::set<Linear> linears,
                           unsigned threads)
    : metadata(metadata), wanted(std::move(linears)), threads(threads) {
  for (const PhaseDescription &phase : metadata.phases)
    for (const Product &product : phase.products) {
      const bool is_wanted =
          std::any_of(wanted.begin(), wanted.end(), [&](const Linear &linear) {
            return linear.first == product.parameter;
          });
      if (is_wanted)
        expect_inputs(phase, product);
    }
}

void InputMoments::record(const BatonStep &step, uint32_t phase,
                          uint32_t iteration, void *const *storages) {
  const PhaseDescription &description = metadata.phases[phase];
  const uint32_t layer = description.layer(iteration);
  for (const Product &product : description.products) {
    if (!wanted.contains({product.parameter, layer}))
      continue;
    const WrittenValues values = copy_values(
        *product.inputs, step, layer,
        static_cast<const std::byte *>(storages[product.inputs->storage]));
    std::vector<float> stored(values.bytes.size() / sizeof(float));
    std::memcpy(stored.data(), values.bytes.data(), values.bytes.size());
    const uint64_t width = values.extents.back();
    if (stored.empty())
      continue;
    Sum &sum = all[{product.parameter, layer}];
    sum.width = width;
    sum.products.resize(width * width);
    sum.rows += stored.size() / width;
    add_products({stored.begin(), stored.end()}, sum, threads);
  }
}

} // namespace baton

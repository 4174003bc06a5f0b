//===- stored_blocks.h - quantised weights as files have them -------------===//
//
// ggml's blocks, of one output each, as its file formats define them: where the
// bits of each number are, and what scales them; and the blocks that weights
// with companions are cut into (companions.h). Read into one form, from which
// numbers are made and panels are packed.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_STORED_BLOCKS_H
#define BATON_RUNTIME_WEIGHTS_STORED_BLOCKS_H

#include "runtime/weights/tensor.h"

#include <cstddef>
#include <cstdint>

namespace baton {

/// A block, taken apart. Of ggml's, weight i is fma(numbers[i], s, o), with s =
/// scale * unit_scales[u] and o = minimum * unit_minimums[u] - zero * s in the
/// unit u of `unit` weights that has it. Every product but the fused one is
/// exact.
///
/// Of weights with companions, numbers are codes, and weight i is
///   INT4   fma(numbers[i], factor, -zero * factor), where that offset is exact
///          if the factor was F16 or BF16, or the zero is 8
///   INT8   numbers[i] * factor
///   FP8    numbers[i] as E4M3, * factor
///   NVFP4  numbers[i] as E2M1, * (unit_scales[u] as E4M3 / factor)
///   MXFP4  numbers[i] as E2M1, * 2^(unit_scales[0] - 127)
///   NF4    NF4's numbers[i], * factor; FP4 alike
struct StoredNumbers {
  /// F16.
  uint16_t scale = 0, minimum = 0;
  /// Weights of a unit; as many as the block has where it has one scale.
  unsigned unit = 0;
  int8_t unit_scales[16];
  /// None is positive.
  int8_t unit_minimums[16];
  int zero = 0;
  int8_t numbers[256];
  float factor = 1;
};

/// Takes a block of a type of ggml's apart.
void read_block(DataType type, const std::byte *block, StoredNumbers &numbers);

/// Takes the block of a quantised matrix apart that begins at an input of an
/// output, as they are stored; rows have so many `inputs`.
void read_block(const Tensor &tensor, uint64_t inputs, uint64_t output,
                uint64_t input, StoredNumbers &numbers);

/// Whether neighbouring outputs of a quantised matrix lie side by side.
bool has_columns(const Tensor &tensor);

/// Whether a block that was taken apart has weights that are no numbers.
bool has_nan(DataType type, const StoredNumbers &numbers);

/// `count` weights of a row from `first` on, as F32. Both are any; `row` begins
/// with a block.
void dequantise(DataType type, const std::byte *row, uint64_t first,
                uint64_t count, float *weights);

/// The same of an output of a matrix, whose rows have so many `inputs`.
void dequantise(const Tensor &tensor, uint64_t inputs, uint64_t output,
                uint64_t first, uint64_t count, float *weights);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_STORED_BLOCKS_H

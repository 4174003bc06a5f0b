//===- matrix_blocks_shape.h - tiles of quantised weights -----------------===//
//
// How much shared memory the bodies of matrix_blocks.h need, for kernels and
// for the compiler that emits them alike. Formats are bits, those of
// runtime/weight_blocks.h by their Index: all that a kernel's weights have,
// since one body multiplies them all.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_SHAPE_H

#include "codegen/cuda/library/matrix_shape.h"
#include "runtime/weight_blocks.h"

namespace baton::cuda {

/// Instead of an Index, where panels begin with a MixedHead.
constexpr uint32_t mixed_format = ~0u;

/// Formats whose numbers are whole ones of 8 bits.
constexpr uint32_t integer_formats = 0
#define BATON_INTEGER_FORMAT(NAME, BLOCK) | 1u << blocks::NAME
    BATON_FOR_EACH_INTEGER_BLOCK(BATON_INTEGER_FORMAT)
#undef BATON_INTEGER_FORMAT
    ;

/// Inputs of blocks that come to shared memory at a time, whole ones of all
/// `formats`.
BATON_CONSTANT int chunk_inputs(uint32_t formats) {
  int inputs = BatonMatrixShape::depths;
#define BATON_LONGER(NAME, BLOCK)                                              \
  if ((formats >> blocks::NAME & 1) != 0 && blocks::BLOCK::inputs > inputs)    \
    inputs = blocks::BLOCK::inputs;
  BATON_FOR_EACH_BLOCK(BATON_LONGER)
#undef BATON_LONGER
  return inputs;
}

/// The chunks of a tile's panels in shared memory: 256 inputs of blocks at
/// least, of numbers as they are as many as are in 8 KiB.
struct BlockChunks {
  int columns;
  uint32_t formats;
  /// BatonMatrixShape::bytes_under_way() of the tile.
  int under_way;

  static constexpr int plain_bytes = 8192;
  /// Groups of copies that a wait leaves under way are a few bits of the
  /// instruction.
  static constexpr int most_slots = 32;

  BATON_CONSTANT int panels() const { return columns / 16; }
  BATON_CONSTANT int slots() const {
    if (under_way == 0 || slot_bytes() == 0)
      return usual_slots();
    const int fitting = under_way / slot_bytes(),
              more = fitting < most_slots ? fitting : most_slots;
    return more > usual_slots() ? more : usual_slots();
  }
  BATON_CONSTANT int usual_slots() const {
    return chunk_inputs(formats) < 128 && (formats >> blocks::f32 & 1) == 0 ? 4
                                                                            : 2;
  }
  /// Of a chunk of a panel.
  template <typename Format> BATON_CONSTANT int inputs_of() const {
    return blocks::IsPlain<Format>::value
               ? plain_bytes / usual_slots() / static_cast<int>(sizeof(Format))
               : chunk_inputs(formats);
  }
  template <typename Format> BATON_CONSTANT int stages_of() const {
    return inputs_of<Format>() / BatonMatrixShape::depths;
  }
  /// Of the longest of the formats.
  BATON_CONSTANT int bytes() const {
    int bytes = 0;
#define BATON_LARGER(NAME, FORMAT)                                             \
  if ((formats >> blocks::NAME & 1) != 0) {                                    \
    const int own = inputs_of<blocks::FORMAT>() / blocks::FORMAT::inputs *     \
                    static_cast<int>(sizeof(blocks::FORMAT));                  \
    bytes = own > bytes ? own : bytes;                                         \
  }
    BATON_FOR_EACH_BLOCK(BATON_LARGER)
    BATON_FOR_EACH_PLAIN_FORMAT(BATON_LARGER)
#undef BATON_LARGER
    return bytes;
  }
  /// Of the shortest chunk. All are multiples of it.
  BATON_CONSTANT int stages() const {
    int stages = chunk_inputs(formats) / BatonMatrixShape::depths;
#define BATON_SHORTER(NAME, FORMAT)                                            \
  if ((formats >> blocks::NAME & 1) != 0 &&                                    \
      stages_of<blocks::FORMAT>() < stages)                                    \
    stages = stages_of<blocks::FORMAT>();
    BATON_FOR_EACH_PLAIN_FORMAT(BATON_SHORTER)
#undef BATON_SHORTER
    return stages;
  }
  BATON_CONSTANT bool are_several() const {
    return (formats & (formats - 1)) != 0;
  }
  BATON_CONSTANT int slot_bytes() const { return panels() * bytes(); }
  /// Of several formats, with that of each panel behind the slots.
  BATON_CONSTANT int shared_bytes() const {
    return slots() * slot_bytes() + (are_several() ? panels() * 4 : 0);
  }
};

} // namespace baton::cuda

/// A tile of BatonMatrixShape whose weights are blocks.
struct BatonBlocksMatrixShape {
  BatonMatrixShape tile;
  uint32_t formats;

  /// Between two panels of a stage of decoded weights, in bytes: two
  /// neighbours' elements of the same depth are in different banks.
  static constexpr int panel_bytes = BatonMatrixShape::depths * 32 + 64;
  static constexpr int decoded_stages = 2;
  /// Of a row of 64 inputs of 8 bits: two QuantisedInputs.
  static constexpr int integer_row_bytes = 80;

  BATON_CONSTANT baton::cuda::BlockChunks chunks() const {
    return {tile.columns, formats, tile.bytes_under_way()};
  }
  BATON_CONSTANT int decoded_bytes() const {
    return tile.columns / 16 * panel_bytes;
  }
  /// Of inputs in F32: stages of activations, of decoded weights, chunks.
  BATON_CONSTANT int chunk_offset() const {
    return tile.activation_stages() * tile.activation_bytes() +
           decoded_stages * decoded_bytes();
  }
  BATON_CONSTANT int shared_bytes() const {
    const int operands = chunk_offset() + chunks().shared_bytes();
    return operands > tile.product_bytes() ? operands : tile.product_bytes();
  }
  /// Of inputs of 8 bits: two stages of rows, chunks of those formats whose
  /// numbers are whole ones. The tile is one of warps.
  BATON_CONSTANT int integer_chunk_offset() const {
    return 2 * tile.rows * integer_row_bytes;
  }
  BATON_CONSTANT baton::cuda::BlockChunks integer_chunks() const {
    return {tile.columns, formats & baton::cuda::integer_formats,
            tile.bytes_under_way()};
  }
  BATON_CONSTANT int integer_shared_bytes() const {
    const int operands =
        integer_chunk_offset() + integer_chunks().shared_bytes();
    return operands > tile.product_bytes() ? operands : tile.product_bytes();
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_SHAPE_H

//===- amx.h - products of matrices by AMX's instructions -----------------===//
//
// AMX multiplies tiles: 16 rows of 32 inputs by 16 outputs of as many weights.
// Code generation gives these functions the instructions where the chosen CPU
// has them (codegen/cpu/MachineBodies.h); elsewhere baton_has_amx() says 0, and
// nothing calls the others. What amx.cpp computes is what the instructions do,
// for tests on any CPU.
//
// A worker has eight tiles: sums of two tiles of rows by two of outputs, both
// tiles of rows, and both of weights. They hold numbers from baton_amx_begin()
// to baton_amx_end() only.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_AMX_H
#define BATON_CODEGEN_CPU_LIBRARY_AMX_H

#include <stdint.h>

namespace baton::cpu {

/// Of a tile.
constexpr int amx_rows = 16, amx_outputs = 16, amx_inputs = 32;
/// Numbers of a tile of sums, and of one of weights.
constexpr int amx_sums = amx_rows * amx_outputs;
constexpr int amx_weights = amx_inputs * amx_outputs;

/// What baton_amx_begin() reads, as LDTILECFG does.
struct AmxShapes {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  /// Bytes of a row, and rows, of each tile; there are eight.
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(AmxShapes) == 64);

} // namespace baton::cpu

extern "C" {

/// Whether there are such instructions.
int32_t baton_has_amx();

/// Tiles get these shapes, and zeros.
void baton_amx_begin(const void *shapes);
void baton_amx_end();

void baton_amx_zero_sums();
/// Four tiles of sums [16][16], behind one another: the first rows' by the
/// first outputs, by the second ones, and those of the second rows.
void baton_amx_load_sums(const float *sums);
void baton_amx_store_sums(float *sums);

/// Adds to the sums of both tiles of rows, or of the first one, the products of
/// 32 inputs: of pairs in BF16, `stride` bytes from row to row, and two tiles
/// of weights [16 pairs][16 outputs][2]. In each sum two chains of 16 fused
/// multiply-adds begin at +0, one of inputs 0, 2, 4 and so on, one of the
/// others; both are added up, and the result is added to what the sum was.
/// Numbers are those of baton_dots_pairs(): that is TDPBF16PS.
void baton_amx_multiply(const void *first, const void *second, int64_t stride,
                        const uint16_t *weights);
void baton_amx_multiply_first(const void *first, int64_t stride,
                              const uint16_t *weights);
}

#endif // BATON_CODEGEN_CPU_LIBRARY_AMX_H

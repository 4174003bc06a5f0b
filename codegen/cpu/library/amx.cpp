//===- amx.cpp - what AMX's instructions compute --------------------------===//

#include "codegen/cpu/library/amx.h"

#include "codegen/cpu/library/dots.h"

using namespace baton::cpu;

namespace {

/// A worker's sums, and the rows of each of their tiles.
thread_local float tiles[4][amx_rows][amx_outputs];
thread_local int shaped_rows;

/// One tile of rows by two of weights.
void multiply(int tile, const char *inputs, int64_t stride,
              const uint16_t *weights) {
  for (int panel = 0; panel < 2; ++panel)
    for (int row = 0; row < shaped_rows; ++row) {
      float even[amx_outputs] = {}, odd[amx_outputs] = {};
      for (int pair = 0; pair < amx_inputs / 2; ++pair) {
        const uint16_t *from =
            weights + panel * amx_weights + pair * 2 * amx_outputs;
        uint16_t line[2 * amx_outputs];
        for (int output = 0; output < amx_outputs; ++output) {
          line[output] = from[2 * output];
          line[amx_outputs + output] = from[2 * output + 1];
        }
        uint32_t x;
        __builtin_memcpy(&x, inputs + row * stride + 4 * pair, sizeof x);
        baton_chain_pairs(even, odd, line, x);
      }
      baton_join_chains(tiles[tile + panel][row], even, odd);
    }
}

} // namespace

// Not inlined before code generation has chosen their bodies.

#ifndef BATON_HAS_AMX
#define BATON_HAS_AMX 0
#endif
extern "C" __attribute__((noinline)) int32_t baton_has_amx() {
  return BATON_HAS_AMX;
}

extern "C" __attribute__((noinline)) void baton_amx_begin(const void *shapes) {
  shaped_rows = static_cast<const AmxShapes *>(shapes)->rows[0];
  baton_amx_zero_sums();
}

extern "C" __attribute__((noinline)) void baton_amx_end() { shaped_rows = 0; }

extern "C" __attribute__((noinline)) void baton_amx_zero_sums() {
  __builtin_memset(tiles, 0, sizeof tiles);
}

extern "C" __attribute__((noinline)) void
baton_amx_load_sums(const float *sums) {
  for (int tile = 0; tile < 4; ++tile)
    __builtin_memcpy(tiles[tile], sums + tile * amx_sums,
                     shaped_rows * sizeof tiles[0][0]);
}

extern "C" __attribute__((noinline)) void baton_amx_store_sums(float *sums) {
  for (int tile = 0; tile < 4; ++tile)
    __builtin_memcpy(sums + tile * amx_sums, tiles[tile],
                     shaped_rows * sizeof tiles[0][0]);
}

extern "C" __attribute__((noinline)) void
baton_amx_multiply(const void *first, const void *second, int64_t stride,
                   const uint16_t *weights) {
  multiply(0, static_cast<const char *>(first), stride, weights);
  multiply(2, static_cast<const char *>(second), stride, weights);
}

extern "C" __attribute__((noinline)) void
baton_amx_multiply_first(const void *first, int64_t stride,
                         const uint16_t *weights) {
  multiply(0, static_cast<const char *>(first), stride, weights);
}

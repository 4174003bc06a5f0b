//===- library.h - the tile bodies of the CPU target ----------------------===//
//
// What a generated CPU program calls for one tile of one operator, as
// codegen/bodies/*.td declare it (docs/reference/bodies.md). The functions are
// compiled to one LLVM bitcode file; code generation links it into the program,
// inlines each body with its shapes as constants and optimises the result for
// the chosen CPU.
//
// Conventions
// - Real is F32; the library is built a second time with F64, for programs
//   compiled with --dtype=f64, where all that is said of F32 holds for F64, exp
//   and its like are the C library's, and speed is no aim.
// - Activations are Real, row-major. Strides count elements, `x_stride` lies
//   between two rows; a row is contiguous. Counts may be zero only for `rows`.
// - Suffixes name the weights' storage: _f32 (Real), _bf16 (upper half of an
// F32) and
//   _f16 (IEEE binary16), the latter two passed as uint16_t. Conversion to F32
//   is exact.
// - Packed weights ("panels"): a weight of N output and K input features is
//   stored as [ceil(N / 16)][K][16], the columns beyond N zero. Bodies get the
//   first panel of their tile. What lies behind the tile's panels is prefetched
//   (not read), whatever it is.
// - `out` overlaps an input only where that is said. "In place" means the same
//   pointer and the same stride.
// - No body allocates, throws, or keeps state. The only functions called are
//   memcpy, sinf and cosf (baton_task_rope_table), log (baton_task_sample, for
//   log-probabilities), baton_yield, and what a row is given
//   (baton_task_token_mask).
// - In the bitcode every body but baton_wait_slow is always_inline and carries
//   the attributes of the oldest x86-64; inlined, it takes those of its caller.
//   A caller without FMA or F16C gets library calls instead, correct but slow.
//
// Numeric contract: a row's bits depend neither on how many rows share its
// tile, nor on where a tile's columns begin and end, nor on the CPU's vector
// width.
// - Every element of a matrix product is one chain of F32 fused multiply-adds
//   that starts at +0 and ascends in depth; of rounded inputs in pairs, of
//   which the second comes first, without denormal numbers (dots.h).
// - Every other sum keeps 16 partial sums, element i in partial sum i mod 16,
//   and adds these lanes 8 apart, then 4, 2 and 1.
// - Nothing else is fused, reassociated or approximated; exp, log, tanh and erf
//   are the polynomials of math.h.
// Callers must not set fast-math flags, nor contract multiplications.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_LIBRARY_H
#define BATON_CODEGEN_CPU_LIBRARY_LIBRARY_H

#include <stdint.h>

#ifndef BATON_REAL
#define BATON_REAL float
#endif
typedef BATON_REAL Real;

/// Applied to x W^T + bias.
enum BatonActivation {
  BATON_ACTIVATION_NONE = 0,
  BATON_ACTIVATION_SILU = 1,
  /// The exact form, with erf.
  BATON_ACTIVATION_GELU = 2,
  /// The approximation with tanh.
  BATON_ACTIVATION_GELU_TANH = 3,
  BATON_ACTIVATION_RELU = 4,
  /// Of gated products only.
  BATON_ACTIVATION_CLAMPED_SWIGLU = 5,
};

/// How logits of a router become weights.
enum BatonScoring {
  BATON_SCORING_SOFTMAX = 0,
  BATON_SCORING_SIGMOID = 1,
};

/// How residual streams mix from one sublayer to the next.
enum BatonMixing {
  BATON_MIXING_NONE = 0,
  BATON_MIXING_IDENTITY = 1,
  BATON_MIXING_FREE = 2,
  BATON_MIXING_SINKHORN = 3,
};

#ifdef __cplusplus
extern "C" {
#endif

//===- Scratch and layouts ------------------------------------------------===//

/// Bytes of `scratch` that baton_task_attention needs for tiles of up to `rows`
/// rows: a maximum and a sum per query, and either a transposed block of keys
/// and six queries or, for a row alone, a block's values and two blocks' scores
/// of each query head.
#ifdef __cplusplus
constexpr
#else
static inline
#endif
    int64_t
    baton_attention_scratch_bytes(int64_t rows, int64_t group, int64_t head_dim,
                                  int64_t value_dim) {
  const int64_t tile = 70 * head_dim;
  const int64_t row = group * ((value_dim + 15) / 16 * 16 + 130);
  return sizeof(Real) * (2 * rows * group + (tile > row ? tile : row));
}

/// Elements of what a query makes of one block of 64 positions: its values'
/// weighted sum, the maximum of its scores and the sum of its weights.
#ifdef __cplusplus
constexpr
#else
static inline
#endif
    int64_t
    baton_attention_partial_width(int64_t value_dim) {
  return value_dim + 2;
}

//===- Tile bodies --------------------------------------------------------===//

#include "codegen/bodies/CpuLibrary.h"

//===- Measuring ----------------------------------------------------------===//

/// Floating-point operations in one iteration of baton_task_fma_probe: 7
/// independent chains, 16 lanes, 2 operations.
enum { BATON_FMA_PROBE_OPERATIONS = 7 * 16 * 2 };

/// Runs fused multiply-adds in registers, the peak of one core where two of
/// them start per cycle with a latency of 4 (AVX2: 14 chains). Returns a value
/// that depends on all of them.
Real baton_task_fma_probe(int64_t iterations);

//===- Synchronisation ----------------------------------------------------===//

/// Provided by the runtime: lets another thread run (sched_yield).
void baton_yield(void);

/// Returns once (int32_t)(*word - target) >= 0, with everything visible that
/// preceded the notifications counted in *word. Spins briefly, then yields
/// between polls.
void baton_wait(const uint32_t *word, uint32_t target);

/// The part of baton_wait that is not inlined: `word` was not there yet.
void baton_wait_slow(const uint32_t *word, uint32_t target);

/// Adds one to *word; everything before it is visible to whoever waits for it.
void baton_notify(uint32_t *word);

/// The border between steps: arrives (adds one to *border) and returns when
/// *border has reached `target`, the running sum over all workers and borders
/// including this one: `workers` more at every border, wrapping at 2^32.
void baton_border(uint32_t *border, uint32_t workers, uint32_t target);

/// Starts loading `bytes` from `address` on into the caches.
void baton_prefetch(const void *address, int64_t bytes);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // BATON_CODEGEN_CPU_LIBRARY_LIBRARY_H

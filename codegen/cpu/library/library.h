//===- library.h - the tile bodies of the CPU target ----------------------===//
//
// What a generated CPU program calls for one tile of one operator. The
// functions are compiled to one LLVM bitcode file; code generation links it
// into the program, inlines each body with its shapes as constants and
// optimises the result for the chosen CPU.
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
//   memcpy, sinf and cosf (baton_task_rope_table) and baton_yield.
// - In the bitcode every body but baton_wait_slow is always_inline and carries
//   the attributes of the oldest x86-64; inlined, it takes those of its caller.
//   A caller without FMA or F16C gets library calls instead, correct but slow.
//
// Numeric contract: a row's bits depend neither on how many rows share its
// tile, nor on where a tile's columns begin and end, nor on the CPU's vector
// width.
// - Every element of a matrix product is one chain of F32 fused multiply-adds
//   that starts at +0 and ascends in depth.
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

//===- Embeddings ---------------------------------------------------------===//

/// out[r][0 .. width) = table[tokens[r]] * multiplier; table is [vocabulary,
/// width]. A token outside the vocabulary gives a row of NaN.
void baton_task_embedding_f32(Real *out, int64_t out_stride,
                              const int32_t *tokens, const Real *table,
                              int64_t rows, int64_t width, int64_t vocabulary,
                              Real multiplier);
void baton_task_embedding_bf16(Real *out, int64_t out_stride,
                               const int32_t *tokens, const uint16_t *table,
                               int64_t rows, int64_t width, int64_t vocabulary,
                               Real multiplier);
void baton_task_embedding_f16(Real *out, int64_t out_stride,
                              const int32_t *tokens, const uint16_t *table,
                              int64_t rows, int64_t width, int64_t vocabulary,
                              Real multiplier);

/// The same from a table in panels, of `width` input features and `vocabulary`
/// output features.
void baton_task_embedding_panels_f32(Real *out, int64_t out_stride,
                                     const int32_t *tokens, const Real *panels,
                                     int64_t rows, int64_t width,
                                     int64_t vocabulary, Real multiplier);
void baton_task_embedding_panels_bf16(Real *out, int64_t out_stride,
                                      const int32_t *tokens,
                                      const uint16_t *panels, int64_t rows,
                                      int64_t width, int64_t vocabulary,
                                      Real multiplier);
void baton_task_embedding_panels_f16(Real *out, int64_t out_stride,
                                     const int32_t *tokens,
                                     const uint16_t *panels, int64_t rows,
                                     int64_t width, int64_t vocabulary,
                                     Real multiplier);

/// out[r] = table[position + r]; table is [at least position + rows, width].
void baton_task_position_embedding_f32(Real *out, int64_t out_stride,
                                       const Real *table, int64_t position,
                                       int64_t rows, int64_t width);
void baton_task_position_embedding_bf16(Real *out, int64_t out_stride,
                                        const uint16_t *table, int64_t position,
                                        int64_t rows, int64_t width);
void baton_task_position_embedding_f16(Real *out, int64_t out_stride,
                                       const uint16_t *table, int64_t position,
                                       int64_t rows, int64_t width);

//===- Norms --------------------------------------------------------------===//

/// out = (x / sqrt(mean(x^2) + epsilon)) * weight, per row. In place allowed.
void baton_task_rms_norm(Real *out, int64_t out_stride, const Real *x,
                         int64_t x_stride, const Real *weight, int64_t rows,
                         int64_t width, Real epsilon);

/// out = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias, per
/// row; `bias` may be null. In place allowed.
void baton_task_layer_norm(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, const Real *weight,
                           const Real *bias, int64_t rows, int64_t width,
                           Real epsilon);

/// scaled = x * weight, and squares[r] = the sum of x[r]^2. `scaled` may be in
/// the place of x.
void baton_task_norm_begin(Real *scaled, int64_t scaled_stride, Real *squares,
                           int64_t squares_stride, const Real *x,
                           int64_t x_stride, const Real *weight, int64_t rows,
                           int64_t width);

/// out[r] = x[r] / sqrt(squares[r] / width + epsilon). In place allowed.
void baton_task_norm_end(Real *out, int64_t out_stride, const Real *x,
                         int64_t x_stride, const Real *squares,
                         int64_t squares_stride, int64_t rows, int64_t columns,
                         int64_t width, Real epsilon);

//===- Linear layers ------------------------------------------------------===//

/// out[r][0 .. columns) = activation(x W^T + bias) + residual.
/// x is [rows, k]; `panels`, `bias` and `residual` begin at the tile's first
/// column; `bias` and `residual` may be null. `columns` is at least 1, its last
/// panel may be partial. `residual` may be `out` itself, in place.
/// `activation` is a BatonActivation.
void baton_task_linear_f32(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, const Real *panels,
                           const Real *bias, const Real *residual,
                           int64_t residual_stride, int64_t rows, int64_t k,
                           int64_t columns, int32_t activation);
void baton_task_linear_bf16(Real *out, int64_t out_stride, const Real *x,
                            int64_t x_stride, const uint16_t *panels,
                            const Real *bias, const Real *residual,
                            int64_t residual_stride, int64_t rows, int64_t k,
                            int64_t columns, int32_t activation);
void baton_task_linear_f16(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, const uint16_t *panels,
                           const Real *bias, const Real *residual,
                           int64_t residual_stride, int64_t rows, int64_t k,
                           int64_t columns, int32_t activation);

/// out = activation(x G^T + bias_gate) * (x U^T + bias_up). The panels of the
/// two weights alternate: gate panel 0, up panel 0, gate panel 1, ...;
/// `columns` counts outputs. Either bias may be null.
void baton_task_gated_linear_f32(Real *out, int64_t out_stride, const Real *x,
                                 int64_t x_stride, const Real *panels,
                                 const Real *bias_gate, const Real *bias_up,
                                 int64_t rows, int64_t k, int64_t columns,
                                 int32_t activation);
void baton_task_gated_linear_bf16(Real *out, int64_t out_stride, const Real *x,
                                  int64_t x_stride, const uint16_t *panels,
                                  const Real *bias_gate, const Real *bias_up,
                                  int64_t rows, int64_t k, int64_t columns,
                                  int32_t activation);
void baton_task_gated_linear_f16(Real *out, int64_t out_stride, const Real *x,
                                 int64_t x_stride, const uint16_t *panels,
                                 const Real *bias_gate, const Real *bias_up,
                                 int64_t rows, int64_t k, int64_t columns,
                                 int32_t activation);

/// out[r][j] = sum over d of a[r][d] * b[j * b_column_stride + d *
/// b_depth_stride], for j < columns and d < depth. Fast when either stride of b
/// is 1.
void baton_task_matmul(Real *out, int64_t out_stride, const Real *a,
                       int64_t a_stride, const Real *b, int64_t b_column_stride,
                       int64_t b_depth_stride, int64_t rows, int64_t columns,
                       int64_t depth);

//===- Rotary position embedding ------------------------------------------===//

/// out[r] = [cos(a_i) * scale for i < half | sin(a_i) * scale for i < half]
/// with a_i = Real(position + r) * inverse_frequencies[i].
void baton_task_rope_table(Real *out, int64_t out_stride,
                           const Real *inverse_frequencies, int64_t half,
                           int64_t position, int64_t rows, Real scale);

/// Rotates every head of x ([rows, heads * head_dim]) by its row of `table` (as
/// baton_task_rope_table writes it): for i < half
///   out[i] = x[i] cos_i - x[i + half] sin_i,
///   out[i + half] = x[i + half] cos_i + x[i] sin_i,
/// each product rounded; elements from 2 * half on are copied. In place
/// allowed.
void baton_task_rope(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, const Real *table, int64_t table_stride,
                     int64_t rows, int64_t heads, int64_t head_dim,
                     int64_t half);

//===- Attention ----------------------------------------------------------===//

/// Writes rows of keys, [rows, width], into the panels of one head: position
/// p behind `panels` has element d at panels[(p / 16 * width + d) * 16 + p %
/// 16]. The first row is at `position`.
void baton_task_append_keys(Real *panels, const Real *x, int64_t x_stride,
                            int64_t position, int64_t rows, int64_t width);

/// The same for values: element d of position p at panels[p / 16 * 16 * width +
/// d / 16 * 256 + p % 16 * w + d % 16], where w is 16, or what is left of
/// `width` for the last elements.
void baton_task_append_values(Real *panels, const Real *x, int64_t x_stride,
                              int64_t position, int64_t rows, int64_t width);

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

/// Attention of `group` query heads that share one key/value head.
/// Query head i of row r lies at q + r * q_stride + i * head_dim, its output at
/// out + r * out_stride + i * value_dim. keys and values are indexed by
/// absolute position; row r is at position + r and sees the positions up to its
/// own, with window > 0 only the last `window` of them. Positions that no row
/// of the tile sees are not read, except keys in panels.
/// With a key_stride of 0 the keys lie in panels of 16 positions, as
/// baton_task_append_keys writes them; panels with a position that is seen are
/// read whole, whatever the others hold. With a value_stride of 0 the values
/// lie as baton_task_append_values writes them.
/// score = (q . k) * scale, then softcap * tanh(score / softcap) if softcap is
/// not 0.
/// Blocks of 64 absolute positions are computed each on its own and merged in
/// ascending order (FlashAttention-2, Dao 2023, algorithm 1), so that neither
/// the tile's rows nor the chunking of a prompt changes a bit. A row whose
/// scores are all -infinity gives zeros.
/// With `gate`, each row of a head's output is multiplied by the sigmoid of its
/// gate: of gate[r * gate_stride + i] with a gate_width of 1, of value_dim
/// elements from gate + r * gate_stride + i * value_dim with one of value_dim.
/// `scratch`: baton_attention_scratch_bytes, 4-byte aligned.
void baton_task_attention(Real *out, int64_t out_stride, const Real *q,
                          int64_t q_stride, const Real *keys,
                          int64_t key_stride, const Real *values,
                          int64_t value_stride, int64_t rows, int64_t position,
                          int64_t group, int64_t head_dim, int64_t value_dim,
                          Real scale, Real softcap, int64_t window,
                          const Real *gate, int64_t gate_stride,
                          int64_t gate_width, Real *scratch);

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

/// The part of baton_task_attention that computes blocks, for the positions
/// [begin, begin + positions), both multiples of 64. What query head i of row r
/// makes of block b, counted from `begin`, goes to partials + r *
/// partials_stride + i * head_stride + b * baton_attention_partial_width. Of
/// blocks that a row does not see nothing is written.
/// `scratch`: baton_attention_scratch_bytes, 4-byte aligned.
void baton_task_attention_partial(Real *partials, int64_t partials_stride,
                                  const Real *q, int64_t q_stride,
                                  const Real *keys, int64_t key_stride,
                                  const Real *values, int64_t value_stride,
                                  int64_t rows, int64_t position, int64_t group,
                                  int64_t head_dim, int64_t value_dim,
                                  Real scale, Real softcap, int64_t window,
                                  int64_t begin, int64_t positions,
                                  int64_t head_stride, Real *scratch);

/// The rest of it, for one query head: merges the blocks that each row sees, of
/// which block 0 of row 0 is at `partials`, in ascending order, and applies the
/// gate. The result has the bits of baton_task_attention.
void baton_task_attention_merge(Real *out, int64_t out_stride,
                                const Real *partials, int64_t partials_stride,
                                int64_t rows, int64_t position,
                                int64_t value_dim, int64_t window,
                                const Real *gate, int64_t gate_stride,
                                int64_t gate_width);

/// out[r][i] = x[r][i] * sigmoid(gate of r and i) for heads of `width` elements
/// behind one another; `gate_width` is 1 or `width`, as for attention. In place
/// allowed.
void baton_task_gate(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, const Real *gate, int64_t gate_stride,
                     int64_t rows, int64_t heads, int64_t width,
                     int64_t gate_width);

/// out[r][j] = x[r][j] where j <= position + r (and, with window > 0,
/// j > position + r - window), else -infinity. In place allowed.
void baton_task_mask_causal(Real *out, int64_t out_stride, const Real *x,
                            int64_t x_stride, int64_t rows, int64_t width,
                            int64_t position, int64_t window);

/// out = e^(x - max x) / sum, per row; a row of -infinity only gives zeros. In
/// place allowed.
void baton_task_softmax(Real *out, int64_t out_stride, const Real *x,
                        int64_t x_stride, int64_t rows, int64_t width);

//===- Element-wise bodies: [rows, width], in place allowed ---------------===//

void baton_task_copy(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, int64_t rows, int64_t width);
void baton_task_scale(Real *out, int64_t out_stride, const Real *x,
                      int64_t x_stride, int64_t rows, int64_t width,
                      Real factor);
/// `out` may be `a` or `b`, in place.
void baton_task_add(Real *out, int64_t out_stride, const Real *a,
                    int64_t a_stride, const Real *b, int64_t b_stride,
                    int64_t rows, int64_t width);
void baton_task_mul(Real *out, int64_t out_stride, const Real *a,
                    int64_t a_stride, const Real *b, int64_t b_stride,
                    int64_t rows, int64_t width);
void baton_task_tanh(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, int64_t rows, int64_t width);
void baton_task_silu(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, int64_t rows, int64_t width);
void baton_task_gelu(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, int64_t rows, int64_t width);
void baton_task_gelu_tanh(Real *out, int64_t out_stride, const Real *x,
                          int64_t x_stride, int64_t rows, int64_t width);
void baton_task_relu(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, int64_t rows, int64_t width);

//===- Hyper-connections --------------------------------------------------===//

// A row has `streams` (1 to 8) streams of `width` elements, one behind the
// other. Its maps are `streams` weights of what is read; with a mixing other
// than NONE as many of what is written; and with FREE or SINKHORN a matrix
// [streams][streams] of how they mix. Sums over streams, and over rows and
// columns of that matrix, ascend one by one.

/// out[r][i] = (x[r] · phi[i]) / sqrt(mean(x[r]^2) + epsilon); phi is [outputs,
/// width], and width that of all streams. The products are sums as a norm's:
/// of 16 partial sums each.
void baton_task_hyper_project(Real *out, int64_t out_stride, const Real *x,
                              int64_t x_stride, const Real *phi, int64_t rows,
                              int64_t width, int64_t outputs, Real epsilon);

/// With z = scale * logits + base, each part of the maps with its own scale:
/// sigmoid(z) + epsilon, 2 sigmoid(z), and z or sinkhorn(z), which is softmax
/// of the rows plus epsilon; columns divided by their sums plus epsilon; then
/// iterations - 1 times rows and columns so divided. In place allowed.
void baton_task_hyper_maps(Real *out, int64_t out_stride, const Real *logits,
                           int64_t logits_stride, const Real *scale,
                           const Real *base, int64_t rows, int64_t streams,
                           int32_t mixing, int64_t iterations, Real epsilon);

/// out = sum over j of weights[j] * x[j], ascending, fused from the second on.
void baton_task_hyper_pre(Real *out, int64_t out_stride, const Real *x,
                          int64_t x_stride, const Real *weights,
                          int64_t weights_stride, int64_t rows, int64_t streams,
                          int64_t width);

/// out[j] = weights[j] * y + sum over m of weights[streams + m * streams + j] *
/// x[m], a chain of fused multiply-adds; or, where nothing mixes, weights[j] *
/// y + x[j], fused. In place of x allowed.
void baton_task_hyper_post(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, const Real *y, int64_t y_stride,
                           const Real *weights, int64_t weights_stride,
                           int64_t rows, int64_t streams, int64_t width,
                           int32_t mixes);

/// hyper_project, hyper_maps and hyper_pre, with the same bits.
void baton_task_hyper_enter(Real *out, int64_t out_stride, Real *maps,
                            int64_t maps_stride, const Real *x,
                            int64_t x_stride, const Real *phi,
                            const Real *scale, const Real *base, int64_t rows,
                            int64_t streams, int64_t width, Real norm_epsilon,
                            int32_t mixing, int64_t iterations, Real epsilon);

/// hyper_post into `streams_out`, and hyper_enter of that, with the same bits.
/// `streams_out` in place of x allowed.
void baton_task_hyper_turn(Real *streams_out, int64_t streams_stride, Real *out,
                           int64_t out_stride, Real *maps, int64_t maps_stride,
                           const Real *x, int64_t x_stride, const Real *y,
                           int64_t y_stride, const Real *weights,
                           int64_t weights_stride, const Real *phi,
                           const Real *scale, const Real *base, int64_t rows,
                           int64_t streams, int64_t width, int32_t mixes,
                           Real norm_epsilon, int32_t mixing,
                           int64_t iterations, Real epsilon);

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

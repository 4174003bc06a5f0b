//===- weight_blocks.h - quantised weights as programs read them ----------===//
//
// A quantised weight is the F32 number fma(q, scale, offset) of a small number
// q, whole or of a table; the products of a linear are sums of those numbers,
// as of any others. Weights lie in panels of 16 outputs, as unquantised ones do
// (runtime/weights/packing.h). A panel is blocks of 32 or 256 inputs, one
// behind the other, and a block is one of the structures below: scales of all
// 16 outputs, then units, in each of which an output has one scale. Inputs of
// an output share words. Four neighbours are in the four bytes of a word, the
// first in the lowest, and other fours in higher bits of the same bytes: of
// those with b bits each, input i is at bit 8 (i % 4) + b (i / 4). A shift and
// a mask therefore make four bytes of a word, which products of bytes want.
//
// Formats from Q8_0 to Q6_K have the names and the numbers of ggml's, whose
// blocks are those of one output (runtime/weights/stored_blocks.h); those
// behind them are what quantised checkpoints of Hugging Face become
// (runtime/weights/companions.h). The last three are numbers that nobody has
// quantised, which panels have beside others' blocks. The loader, the bodies of
// both libraries and the compiler include this header, which therefore includes
// nothing that NVRTC lacks.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHT_BLOCKS_H
#define BATON_RUNTIME_WEIGHT_BLOCKS_H

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace baton::blocks {

/// Outputs of a panel.
constexpr int lanes = 16;

// F16 is kept as its bits.

/// 32 inputs; q is the byte, with its sign, scale d.
struct Q8_0 {
  static constexpr int inputs = 32;
  uint16_t scale[lanes];
  uint32_t quants[8][lanes];
};

/// 32 inputs, eight to a word; scale d, offset -8 d.
struct Q4_0 {
  static constexpr int inputs = 32;
  uint16_t scale[lanes];
  uint32_t low[4][lanes];
};

/// 32 inputs; scale d, offset m.
struct Q4_1 {
  static constexpr int inputs = 32;
  uint16_t scale[lanes], minimum[lanes];
  uint32_t low[4][lanes];
};

/// 32 inputs, whose fifth bits are a word; scale d, offset -16 d.
struct Q5_0 {
  static constexpr int inputs = 32;
  uint16_t scale[lanes];
  uint32_t low[4][lanes], high[lanes];
};

/// 32 inputs; scale d, offset m.
struct Q5_1 {
  static constexpr int inputs = 32;
  uint16_t scale[lanes], minimum[lanes];
  uint32_t low[4][lanes], high[lanes];
};

/// 256 inputs in units of 16, two bits each; of a unit's byte the lower half
/// times d is the scale, the upper half times -dmin the offset.
struct Q2_K {
  static constexpr int inputs = 256;
  uint16_t scale[lanes], minimum[lanes];
  uint8_t units[16][lanes];
  uint32_t low[16][lanes];
};

/// 256 inputs in units of 16, two bits each and a third, which two units share,
/// in `high`; scale d times the unit's, offset -4 scales.
struct Q3_K {
  static constexpr int inputs = 256;
  uint16_t scale[lanes];
  int8_t units[16][lanes];
  struct {
    uint32_t low[2][lanes], high[lanes];
  } quants[8];
};

/// 256 inputs in units of 32, four bits each; scale d times the unit's, offset
/// -dmin times the unit's.
struct Q4_K {
  static constexpr int inputs = 256;
  uint16_t scale[lanes], minimum[lanes];
  uint8_t units[8][lanes], unit_minimums[8][lanes];
  uint32_t low[8][4][lanes];
};

/// The same with a fifth bit.
struct Q5_K {
  static constexpr int inputs = 256;
  uint16_t scale[lanes], minimum[lanes];
  uint8_t units[8][lanes], unit_minimums[8][lanes];
  struct {
    uint32_t low[4][lanes], high[lanes];
  } quants[8];
};

/// 256 inputs in units of 16, four bits each and two more in `high`; scale d
/// times the unit's, offset -32 scales.
struct Q6_K {
  static constexpr int inputs = 256;
  uint16_t scale[lanes];
  int8_t units[16][lanes];
  struct {
    uint32_t low[2][lanes], high[lanes];
  } quants[16];
};

/// `Inputs` inputs, four bits each; scale s, an F32, offset -zero s.
template <int Inputs> struct Int4 {
  static constexpr int inputs = Inputs;
  float scale[lanes];
  uint8_t zero[lanes];
  uint32_t low[Inputs / 32][4][lanes];
};
typedef Int4<32> Int4_G32;
typedef Int4<64> Int4_G64;
typedef Int4<128> Int4_G128;

/// 64 inputs; q is the byte, with its sign, scale an F32.
struct Int8_G64 {
  static constexpr int inputs = 64;
  float scale[lanes];
  uint32_t quants[16][lanes];
};

/// 64 inputs; q is the byte as an E4M3 number (four bits of exponent, three of
/// mantissa, no infinity), scale an F32.
struct FP8_G64 {
  static constexpr int inputs = 64;
  float scale[lanes];
  uint32_t quants[16][lanes];
};

/// 64 inputs in units of 16, four bits each, which are an E2M1 number; a unit's
/// scale is its byte, an E4M3 number, divided by the block's F32.
struct NVFP4 {
  static constexpr int inputs = 64;
  float divisor[lanes];
  uint8_t units[4][lanes];
  uint32_t low[4][2][lanes];
};

/// 32 inputs, four bits each, which are an E2M1 number; the scale is the power
/// of two of which the byte is the exponent of an F32.
struct MXFP4 {
  static constexpr int inputs = 32;
  uint8_t exponent[lanes];
  uint32_t low[4][lanes];
};

/// 64 inputs, four bits each, which choose one of 16 numbers; scale an F32.
struct CodeWords {
  static constexpr int inputs = 64;
  float scale[lanes];
  uint32_t low[2][4][lanes];
};

/// E2M1 numbers: a sign, two bits of exponent, one of mantissa.
struct E2M1 {
  static constexpr float numbers[16] = {
      0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
};
/// Quantiles of the normal distribution (Dettmers and others, "QLoRA", 2023).
struct NF4 : CodeWords {
  static constexpr float numbers[16] = {-1.0f,
                                        -0.6961928009986877f,
                                        -0.5250730514526367f,
                                        -0.39491748809814453f,
                                        -0.28444138169288635f,
                                        -0.18477343022823334f,
                                        -0.09105003625154495f,
                                        0.0f,
                                        0.07958029955625534f,
                                        0.16093020141124725f,
                                        0.24611230194568634f,
                                        0.33791524171829224f,
                                        0.44070982933044434f,
                                        0.5626170039176941f,
                                        0.7229568362236023f,
                                        1.0f};
};
/// bitsandbytes' own numbers of three bits and a sign, of which 1 is the
/// largest.
struct FP4 : CodeWords {
  static constexpr float numbers[16] = {
      0, 0.0625f / 12,  8.0f / 12,  1,  4.0f / 12,  0.5f,  2.0f / 12,  0.25f,
      0, -0.0625f / 12, -8.0f / 12, -1, -4.0f / 12, -0.5f, -2.0f / 12, -0.25f};
};

// A line of a panel of numbers that are weights as they are: such a panel is
// [inputs][16], as those of parameters that are not quantised.
struct F16 {
  static constexpr int inputs = 1;
  uint16_t numbers[lanes];
};
/// The upper halves of F32s.
struct BF16 {
  static constexpr int inputs = 1;
  uint16_t numbers[lanes];
};
struct F32 {
  static constexpr int inputs = 1;
  float numbers[lanes];
};

/// What a panel begins with where a parameter's panels have several formats.
struct MixedHead {
  /// An Index.
  uint32_t format;
  /// Bytes from this panel to the next, the same of all in a layer.
  uint32_t stride;
  uint32_t unused[14];
};

/// APPLY(name, structure) for each format whose q is a whole number of 8 bits.
#define BATON_FOR_EACH_INTEGER_BLOCK(APPLY)                                    \
  APPLY(q8_0, Q8_0)                                                            \
  APPLY(q4_0, Q4_0)                                                            \
  APPLY(q4_1, Q4_1)                                                            \
  APPLY(q5_0, Q5_0)                                                            \
  APPLY(q5_1, Q5_1)                                                            \
  APPLY(q2_k, Q2_K)                                                            \
  APPLY(q3_k, Q3_K)                                                            \
  APPLY(q4_k, Q4_K)                                                            \
  APPLY(q5_k, Q5_K)                                                            \
  APPLY(q6_k, Q6_K)                                                            \
  APPLY(int4_g32, Int4_G32)                                                    \
  APPLY(int4_g64, Int4_G64)                                                    \
  APPLY(int4_g128, Int4_G128)                                                  \
  APPLY(int8_g64, Int8_G64)

/// For each format of blocks.
#define BATON_FOR_EACH_BLOCK(APPLY)                                            \
  BATON_FOR_EACH_INTEGER_BLOCK(APPLY)                                          \
  APPLY(fp8_g64, FP8_G64)                                                      \
  APPLY(nvfp4, NVFP4)                                                          \
  APPLY(mxfp4, MXFP4)                                                          \
  APPLY(nf4, NF4)                                                              \
  APPLY(fp4, FP4)

/// For each whose numbers are weights as they are: panels have these only where
/// others of the parameter have blocks.
#define BATON_FOR_EACH_PLAIN_FORMAT(APPLY)                                     \
  APPLY(f16, F16)                                                              \
  APPLY(bf16, BF16)                                                            \
  APPLY(f32, F32)

/// Whether a format's q is a whole number of 8 bits.
template <typename Block> struct IsInteger {
  static constexpr bool value = false;
};
#define BATON_IS_INTEGER(NAME, BLOCK)                                          \
  template <> struct IsInteger<BLOCK> {                                        \
    static constexpr bool value = true;                                        \
  };
BATON_FOR_EACH_INTEGER_BLOCK(BATON_IS_INTEGER)
#undef BATON_IS_INTEGER

/// Whether a format's numbers are weights as they are.
template <typename Format> struct IsPlain {
  static constexpr bool value = false;
};
#define BATON_IS_PLAIN(NAME, FORMAT)                                           \
  template <> struct IsPlain<FORMAT> {                                         \
    static constexpr bool value = true;                                        \
  };
BATON_FOR_EACH_PLAIN_FORMAT(BATON_IS_PLAIN)
#undef BATON_IS_PLAIN

/// Each format's number: Q4_K's is q4_k.
enum Index : uint32_t {
#define BATON_INDEX(NAME, BLOCK) NAME,
  BATON_FOR_EACH_BLOCK(BATON_INDEX) BATON_FOR_EACH_PLAIN_FORMAT(BATON_INDEX)
#undef BATON_INDEX
      format_count,
  first_plain_format = f16
};

#ifndef __CUDACC_RTC__
/// The same of a number.
constexpr bool is_plain(uint32_t format) {
  return format >= first_plain_format;
}
#endif

/// 32 inputs of a row as products of whole numbers read them: x is scale times
/// q, to the nearest. Not finite where an x is not; then every q is 0.
struct QuantisedInputs {
  static constexpr int inputs = 32;
  int8_t quants[32];
  float scale;
  /// Of the first and the last 16.
  int16_t sums[2];
};
static_assert(sizeof(QuantisedInputs) == 40);

} // namespace baton::blocks

#endif // BATON_RUNTIME_WEIGHT_BLOCKS_H

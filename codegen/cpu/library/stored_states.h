//===- stored_states.h - keys and values as states keep them --------------===//
//
// F32 and BF16 are numbers. Int8 and Float8 are bytes: a row of one head is a
// scale times numbers that bytes stand for, rounded to F32. The scale is in the
// four bytes behind the numbers, laid out as elements of the row are. A row
// that has something infinite, or no number, has a scale that is no number.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_STORED_STATES_H
#define BATON_CODEGEN_CPU_LIBRARY_STORED_STATES_H

#include "codegen/cpu/library/rounding.h"
#include "codegen/cpu/library/weights.h"

namespace baton::cpu {

struct Int8 {
  uint8_t bits;
};
/// E4M3: a sign, four bits of exponent, three of mantissa, no infinity.
struct Float8 {
  uint8_t bits;
};

/// Bytes of the scale behind the numbers of a row; 0 if rows have none.
template <typename Element> struct ScaleOf {
  static constexpr int64_t bytes = 0;
};
constexpr int64_t scale_bytes = sizeof(float);
template <> struct ScaleOf<Int8> {
  static constexpr int64_t bytes = scale_bytes;
};
template <> struct ScaleOf<Float8> {
  static constexpr int64_t bytes = scale_bytes;
};

typedef uint8_t Bytes __attribute__((ext_vector_type(16)));
typedef uint32_t Words __attribute__((ext_vector_type(16)));
typedef float Floats __attribute__((ext_vector_type(16)));

/// Rounds to nearest, ties to even, what is far below 2^22.
BATON_INLINE Words to_whole(Floats value) {
  const Floats shift = Floats(0x1.8p23f);
  return __builtin_bit_cast(Words, value + shift) -
         __builtin_bit_cast(Words, shift);
}

// What bytes stand for, and the largest of it.
// -----------------------------------

BATON_INLINE Floats number_of(Int8, Bytes bytes) {
  typedef int8_t SignedBytes __attribute__((ext_vector_type(16)));
  return __builtin_convertvector(__builtin_bit_cast(SignedBytes, bytes),
                                 Floats);
}
BATON_INLINE Floats number_of(Float8, Bytes bytes) {
  const Words bits = __builtin_convertvector(bytes, Words);
  // Also of those without a leading one: a power of two makes them normal.
  const Floats magnitude =
      __builtin_bit_cast(Floats, (bits & 0x7f) << 20) * Floats(0x1p120f);
  return __builtin_bit_cast(Floats, __builtin_bit_cast(Words, magnitude) |
                                        (bits & 0x80) << 24);
}
BATON_INLINE float largest_of(Int8) { return 127; }
BATON_INLINE float largest_of(Float8) { return 448; }

/// The nearest of what bytes stand for, ties to even, of numbers up to the
/// largest.
BATON_INLINE Bytes bytes_of(Int8, Floats number) {
  return __builtin_convertvector(to_whole(number), Bytes);
}
BATON_INLINE Bytes bytes_of(Float8, Floats number) {
  const Words bits = __builtin_bit_cast(Words, number);
  const Words sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  // Without a leading one they are multiples of 2^-9.
  const Words small = to_whole(__builtin_bit_cast(Floats, magnitude) * 512.0f);
  const Words rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
  const Words normal = (rounded >> 20) - (120 << 3);
  const Words code = magnitude < (121u << 23) ? small
                     : normal > 0x7e          ? Words(0x7e)
                                              : normal;
  return __builtin_convertvector(sign | code, Bytes);
}

// Reading
// ------------------------------------------------------------------------

struct NoScale {};

/// Elements next to one another, of which `count` (1 ..= 16) are there.
BATON_INLINE Vector read(const Real *source, int64_t count, NoScale) {
  return load(source, count);
}
BATON_INLINE Vector read(const BFloat16 *source, int64_t count, NoScale) {
  return load_weights(source, count);
}
template <typename Element>
BATON_INLINE Vector read(const Element *source, int64_t count, Vector scale) {
  Bytes bytes = Bytes(0);
  if (count == lanes)
    __builtin_memcpy(&bytes, source, lanes);
  else
    __builtin_memcpy(&bytes, source, count);
  return __builtin_convertvector(number_of(Element{}, bytes), Vector) * scale;
}

// Where elements of a row lie in a panel of 16 positions, of rows of `row`.
// Those of keys lie 16 apart, and those of values next to one another, 16 at
// most.
// -------------------------------------------------------------------------

struct KeyPlaces {
  static BATON_INLINE int64_t of(int64_t place, int64_t element,
                                 int64_t /*row*/) {
    return element * lanes + place;
  }
  /// The scales' bits of a panel's rows, of `width` numbers.
  static BATON_INLINE Words scales(const uint8_t *panel, int64_t width) {
    Words bits = Words(0);
    for (int64_t byte = 0; byte < scale_bytes; ++byte) {
      Bytes bytes;
      __builtin_memcpy(&bytes, panel + (width + byte) * lanes, lanes);
      bits |= __builtin_convertvector(bytes, Words) << 8 * byte;
    }
    return bits;
  }
};
struct ValuePlaces {
  static BATON_INLINE int64_t of(int64_t place, int64_t element, int64_t row) {
    const int64_t first = element / lanes * lanes;
    const int64_t count = row - first < lanes ? row - first : lanes;
    return first * lanes + place * count + element - first;
  }
  static BATON_INLINE Words scales(const uint8_t *panel, int64_t width) {
    Words bits = Words(0);
    // Behind whole vectors they lie together.
    if (width % lanes == 0)
      __builtin_memcpy(&bits, panel + width * lanes, sizeof bits);
    else
      for (int64_t place = 0; place < lanes; ++place)
        for (int64_t byte = 0; byte < scale_bytes; ++byte)
          bits[place] |=
              static_cast<uint32_t>(
                  panel[of(place, width + byte, width + scale_bytes)])
              << 8 * byte;
    return bits;
  }
};

/// The scales of a panel's rows, of `width` numbers, if they are `wanted`.
template <typename Places, typename Element>
BATON_INLINE auto scales_of(const Element *panel, int64_t width,
                            bool wanted = true) {
  if constexpr (ScaleOf<Element>::bytes != 0) {
    Words bits = Words(0);
    if (wanted)
      bits = Places::scales(reinterpret_cast<const uint8_t *>(panel), width);
    return __builtin_convertvector(__builtin_bit_cast(Floats, bits), Vector);
  } else {
    return NoScale{};
  }
}

// Writing
// ------------------------------------------------------------------------

/// A row of `width` numbers goes to `place` of a panel.
template <typename Places>
BATON_INLINE void write(BFloat16 *panel, int64_t place, const Real *x,
                        int64_t width) {
  for (int64_t first = 0; first < width; first += lanes) {
    const int64_t count = width - first < lanes ? width - first : lanes;
    const Vector rounded = ToBFloat16::round(load(x + first, count));
    Words bits =
        __builtin_bit_cast(Words, __builtin_convertvector(rounded, Floats));
    // What tells a NaN from infinity may be in the lower half.
    bits |= (bits & 0x7fffffff) > 0x7f800000u ? Words(0x400000) : Words(0);
    for (int64_t i = 0; i < count; ++i)
      panel[Places::of(place, first + i, width)].bits =
          static_cast<uint16_t>(bits[i] >> 16);
  }
}
template <typename Places, typename Element>
BATON_INLINE void write(Element *panel, int64_t place, const Real *x,
                        int64_t width) {
  const int64_t row = width + scale_bytes;
  Floats largest = Floats(0);
  Words finite = Words(0xffffffff);
  auto numbers_at = [&](int64_t first) BATON_INLINE_LAMBDA {
    const int64_t count = width - first < lanes ? width - first : lanes;
    return __builtin_convertvector(load(x + first, count), Floats);
  };
  for (int64_t first = 0; first < width; first += lanes) {
    const Floats numbers = numbers_at(first);
    const Floats magnitudes = __builtin_elementwise_abs(numbers);
    finite &= __builtin_bit_cast(Words, magnitudes) < 0x7f800000u;
    largest = magnitudes > largest ? magnitudes : largest;
  }
  float scale = __builtin_reduce_max(largest) / largest_of(Element{});
  const bool is_finite = __builtin_reduce_and(finite) != 0;
  if (!is_finite)
    scale = __builtin_nanf("");
  const bool is_zero = !is_finite || scale == 0;
  for (int64_t first = 0; first < width; first += lanes) {
    const int64_t count = width - first < lanes ? width - first : lanes;
    const Bytes bytes =
        is_zero ? Bytes(0)
                : bytes_of(Element{}, numbers_at(first) / Floats(scale));
    for (int64_t i = 0; i < count; ++i)
      panel[Places::of(place, first + i, row)].bits = bytes[i];
  }
  const auto bits = __builtin_bit_cast(uint32_t, scale);
  for (int64_t byte = 0; byte < scale_bytes; ++byte)
    panel[Places::of(place, width + byte, row)].bits =
        static_cast<uint8_t>(bits >> 8 * byte);
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_STORED_STATES_H

//===- convert.cpp - conversions between floating-point formats ----------===//

#include "runtime/weights/convert.h"

#include <cstring>

namespace baton {

namespace {

// A format says how its storage is read as F32 for widening and written from
// F32 for narrowing.
struct F32Format {
  using Storage = float;
  static float read(Storage value) { return value; }
  static Storage write(float value) { return value; }
};

struct F16Format {
  using Storage = uint16_t;
  static float read(Storage bits) { return f32_from_f16(bits); }
  static Storage write(float value) { return f16_from_f32(value); }
};

struct BF16Format {
  using Storage = uint16_t;
  static float read(Storage bits) { return f32_from_bf16(bits); }
  static Storage write(float value) { return bf16_from_f32(value); }
};

// On its way to a 16-bit format.
struct F64ToOddFormat {
  using Storage = double;
  static float read(Storage value) { return f32_from_f64_to_odd(value); }
};

// On its way to F32, where one plain rounding is the right one, and as a
// destination.
struct F64Format {
  using Storage = double;
  static float read(Storage value) { return static_cast<float>(value); }
  static Storage write(float value) { return value; }
};

template <typename From, typename To>
void convert(const void *source, void *destination, size_t count) {
  const char *from = static_cast<const char *>(source);
  auto *to = static_cast<typename To::Storage *>(destination);
  for (size_t i = 0; i < count; ++i) {
    typename From::Storage element;
    std::memcpy(&element, from + i * sizeof(element), sizeof(element));
    to[i] = To::write(From::read(element));
  }
}

template <size_t ElementBytes>
void copy(const void *source, void *destination, size_t count) {
  std::memcpy(destination, source, count * ElementBytes);
}

template <typename From, typename WideFrom>
Conversion conversion_from(DataType to) {
  switch (to) {
  case DataType::F32:
    return convert<WideFrom, F32Format>;
  case DataType::BF16:
    return convert<From, BF16Format>;
  case DataType::F16:
    return convert<From, F16Format>;
  case DataType::F64:
    return convert<WideFrom, F64Format>;
  default:
    return nullptr;
  }
}

} // namespace

Conversion conversion(DataType from, DataType to) {
  // Copies keep every bit, those of a signalling NaN included.
  if (from == to && from == DataType::F32)
    return copy<4>;
  if (from == to && from == DataType::F64)
    return copy<8>;
  if (from == to && (from == DataType::BF16 || from == DataType::F16))
    return copy<2>;
  switch (from) {
  case DataType::F32:
    return conversion_from<F32Format, F32Format>(to);
  case DataType::BF16:
    return conversion_from<BF16Format, BF16Format>(to);
  case DataType::F16:
    return conversion_from<F16Format, F16Format>(to);
  case DataType::F64:
    return conversion_from<F64ToOddFormat, F64Format>(to);
  default:
    return nullptr;
  }
}

} // namespace baton

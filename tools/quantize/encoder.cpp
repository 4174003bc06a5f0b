//===- encoder.cpp - weights become blocks of a quantised format ----------===//

#include "tools/quantize/encoder.h"

#include "runtime/weights/convert.h"
#include "runtime/weights/stored_blocks.h"
#include "tools/quantize/block_writer.h"
#include "tools/quantize/unit_fit.h"

#include <cstring>
#include <limits>

namespace baton {

namespace {

constexpr float any_offset = std::numeric_limits<float>::infinity();

float stored(float value) { return f32_from_f16(f16_from_f32(value)); }

//===----------------------------------------------------------------------===//
// Blocks of one unit
//===----------------------------------------------------------------------===//

/// Numbers from `range`, stored plus `zero`, or with an offset of their own.
struct SimpleForm {
  NumberRange range;
  int zero;
  bool has_offset;
};

void begin_block(StoredNumbers &block, const SimpleForm &form) {
  block.unit = 32;
  block.unit_scales[0] = 1;
  block.unit_minimums[0] = form.has_offset;
  block.zero = form.zero;
  block.minimum = 0;
}

/// Rounds half away from zero.
int8_t half_away(float value) {
  const float magnitude = std::fabs(value);
  const auto whole = static_cast<int>(magnitude);
  const int rounded =
      whole + (2 * (magnitude - static_cast<float>(whole)) >= 1);
  return static_cast<int8_t>(value < 0 ? -rounded : rounded);
}

/// What ggml's reference has.
void by_largest(Weighted unit, const SimpleForm &form, StoredNumbers &block) {
  const float *weights = unit.weights;
  begin_block(block, form);
  if (form.has_offset) {
    const auto [low, high] = std::minmax_element(weights, weights + 32);
    const float scale = (*high - *low) / form.range.high;
    const float inverse = inverse_of(scale);
    for (unsigned i = 0; i < 32; ++i)
      block.numbers[i] = static_cast<int8_t>(
          std::min(form.range.high, (weights[i] - *low) * inverse + 0.5f));
    block.scale = f16_from_f32(scale);
    block.minimum = f16_from_f32(*low);
    return;
  }
  if (!form.zero) {
    const float scale = std::fabs(largest_of<32>(weights)) / form.range.high;
    const float inverse = inverse_of(scale);
    for (unsigned i = 0; i < 32; ++i)
      block.numbers[i] = half_away(weights[i] * inverse);
    block.scale = f16_from_f32(scale);
    return;
  }
  const auto zero = static_cast<float>(form.zero);
  const float scale = largest_of<32>(weights) / -zero;
  const float inverse = inverse_of(scale);
  for (unsigned i = 0; i < 32; ++i)
    block.numbers[i] = static_cast<int8_t>(
        std::min(form.range.high + zero, weights[i] * inverse + (zero + 0.5f)));
  block.scale = f16_from_f32(scale);
}

void by_search(Weighted unit, const SimpleForm &form, StoredNumbers &block) {
  begin_block(block, form);
  UnitFit fit = form.has_offset ? fit_affine<32>(unit, form.range, any_offset)
                                : fit_scale<32>(unit, form.range);
  fit = {stored(fit.scale), stored(fit.offset)};
  const float inverse = inverse_of(fit.scale);
  for (unsigned i = 0; i < 32; ++i)
    block.numbers[i] = static_cast<int8_t>(
        number_of(unit.weights[i], fit.offset, inverse, form.range) +
        static_cast<float>(form.zero));
  block.scale = f16_from_f32(fit.scale);
  block.minimum = f16_from_f32(fit.offset);
}

//===----------------------------------------------------------------------===//
// Blocks of several units
//===----------------------------------------------------------------------===//

/// Units whose scales, and offsets if they have some, are whole numbers times
/// the block's.
template <unsigned unit_size> struct UnitsForm {
  static constexpr unsigned size = unit_size, count = 256 / unit_size;

  NumberRange range;
  int zero;
  bool has_offset;
  /// What a unit's scale can be: from `least` where it has no offset, else from
  /// 0; `most` is also the most of an offset, which is taken away.
  float least, most;
};

/// A block that is being made.
template <typename Form> struct Units {
  const Form &form;
  Weighted block;
  /// Of the block, as they are stored.
  float scale = 0, minimum = 0;
  float scales[Form::count] = {}, minimums[Form::count] = {};

  UnitFit unit(unsigned index) const {
    return {scale * scales[index], -minimum * minimums[index]};
  }
  float error(unsigned index) const {
    return error_of<Form::size>(block.from(index * Form::size), unit(index),
                                form.range);
  }
  float error() const {
    float sum = 0;
    for (unsigned i = 0; i < Form::count; ++i)
      sum += error(i);
    return sum;
  }

  /// Rounds units' scales and offsets to multiples of the block's.
  void round(const UnitFit *fits);
  /// Moves each unit's scale and offset by one, where that is better.
  void improve_units();
  /// Fits the block's scales to the numbers.
  void improve_block();
  void write(StoredNumbers &stored) const;
};

template <typename Form> void Units<Form>::round(const UnitFit *fits) {
  float own[Form::count], lowest = 0;
  for (unsigned i = 0; i < Form::count; ++i) {
    own[i] = fits[i].scale;
    lowest = std::min(lowest, fits[i].offset);
  }
  const float largest = largest_of<Form::count>(own);
  scale = stored(largest / (form.has_offset ? form.most : form.least));
  minimum = lowest < 0 ? stored(-lowest / form.most) : 0;
  const float inverse = inverse_of(scale);
  const float inverse_minimum = inverse_of(minimum);
  for (unsigned i = 0; i < Form::count; ++i) {
    scales[i] = number_of(fits[i].scale, 0, inverse, {form.least, form.most});
    minimums[i] =
        number_of(-fits[i].offset, 0, inverse_minimum, {0, form.most});
  }
}

template <typename Form> void Units<Form>::improve_units() {
  for (unsigned i = 0; i < Form::count; ++i) {
    const float own_scale = scales[i], own_minimum = minimums[i];
    float best_scale = own_scale, best_minimum = own_minimum;
    float least = error(i);
    for (const float step : {-1.0f, 0.0f, 1.0f})
      for (const float other : {-1.0f, 0.0f, 1.0f}) {
        if ((step == 0 && other == 0) || (!form.has_offset && other != 0))
          continue;
        scales[i] = std::clamp(own_scale + step, form.least, form.most);
        minimums[i] = std::clamp(own_minimum + other, 0.0f, form.most);
        if (const float now = error(i); now < least) {
          least = now;
          best_scale = scales[i];
          best_minimum = minimums[i];
        }
      }
    scales[i] = best_scale;
    minimums[i] = best_minimum;
  }
}

template <typename Form> void Units<Form>::improve_block() {
  // Of weight = scale * a - minimum * b, in the least squares.
  double aa = 0, ab = 0, bb = 0, wa = 0, wb = 0;
  for (unsigned i = 0; i < Form::count; ++i) {
    const UnitFit fit = unit(i);
    const float inverse = inverse_of(fit.scale);
    float count = 0, numbers = 0, squares = 0, products = 0, sum = 0;
    for (unsigned k = 0; k < Form::size; ++k) {
      const float weight = block.weights[i * Form::size + k];
      const float counts = block.importance[i * Form::size + k];
      const float number = number_of(weight, fit.offset, inverse, form.range);
      count += counts;
      numbers += counts * number;
      squares += counts * (number * number);
      products += counts * (weight * number);
      sum += counts * weight;
    }
    const double s = static_cast<double>(scales[i]),
                 t = static_cast<double>(minimums[i]);
    aa += s * s * static_cast<double>(squares);
    ab -= s * t * static_cast<double>(numbers);
    bb += t * t * static_cast<double>(count);
    wa += s * static_cast<double>(products);
    wb -= t * static_cast<double>(sum);
  }
  Units next = *this;
  const double determinant = aa * bb - ab * ab;
  if (form.has_offset && determinant > 0) {
    next.scale = stored(static_cast<float>((wa * bb - wb * ab) / determinant));
    next.minimum =
        stored(static_cast<float>((wb * aa - wa * ab) / determinant));
  } else if (aa > 0) {
    next.scale = stored(static_cast<float>((wa - ab * double(minimum)) / aa));
  }
  // Offsets are taken away, never added.
  if (next.minimum < 0)
    return;
  if (next.error() < error()) {
    scale = next.scale;
    minimum = next.minimum;
  }
}

template <typename Form> void Units<Form>::write(StoredNumbers &stored) const {
  stored.unit = Form::size;
  stored.zero = form.zero;
  stored.scale = f16_from_f32(scale);
  stored.minimum = f16_from_f32(minimum);
  for (unsigned i = 0; i < Form::count; ++i) {
    stored.unit_scales[i] = static_cast<int8_t>(scales[i]);
    stored.unit_minimums[i] = static_cast<int8_t>(-minimums[i]);
    const UnitFit fit = unit(i);
    const float inverse = inverse_of(fit.scale);
    for (unsigned k = i * Form::size; k < (i + 1) * Form::size; ++k)
      stored.numbers[k] = static_cast<int8_t>(
          number_of(block.weights[k], fit.offset, inverse, form.range) +
          static_cast<float>(form.zero));
  }
}

template <unsigned size>
void by_largest(Weighted weighted, const UnitsForm<size> &form,
                StoredNumbers &block) {
  using Form = UnitsForm<size>;
  UnitFit fits[Form::count];
  for (unsigned i = 0; i < Form::count; ++i) {
    const float *own = weighted.weights + i * size;
    if (!form.has_offset) {
      fits[i].scale = largest_of<size>(own) / form.range.low;
      continue;
    }
    const auto [low, high] = std::minmax_element(own, own + size);
    const float offset = std::min(*low, 0.0f);
    fits[i] = {std::max(*high - offset, 0.0f) / form.range.high, offset};
  }
  Units<Form> units{form, weighted};
  units.round(fits);
  units.write(block);
}

template <unsigned size>
void by_search(Weighted weighted, const UnitsForm<size> &form,
               StoredNumbers &block) {
  using Form = UnitsForm<size>;
  UnitFit fits[Form::count];
  for (unsigned i = 0; i < Form::count; ++i)
    fits[i] = form.has_offset
                  ? fit_affine<size>(weighted.from(i * size), form.range, 0)
                  : fit_scale<size>(weighted.from(i * size), form.range);
  Units<Form> units{form, weighted};
  units.round(fits);
  for (int round = 0; round < 2; ++round) {
    units.improve_units();
    units.improve_block();
  }
  units.write(block);
}

//===----------------------------------------------------------------------===//
// Any block
//===----------------------------------------------------------------------===//

double squared_error(DataType type, Weighted weighted, const std::byte *block) {
  const unsigned count = stored_block(type).elements;
  float numbers[256];
  dequantise(type, block, 0, count, numbers);
  double sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double error = double(weighted.weights[i]) - double(numbers[i]);
    sum += double(weighted.importance[i]) * (error * error);
  }
  return sum;
}

template <typename Form>
void encode_block(DataType type, const Form &form, ScaleChoice scales,
                  Weighted weighted, std::byte *block) {
  StoredNumbers numbers{};
  by_largest(weighted, form, numbers);
  write_block(type, numbers, block);
  if (scales == ScaleChoice::Largest)
    return;
  std::byte found[256];
  by_search(weighted, form, numbers);
  write_block(type, numbers, found);
  if (squared_error(type, weighted, found) <
      squared_error(type, weighted, block))
    std::memcpy(block, found, stored_block(type).bytes);
}

template <typename Form>
void encode_all(DataType type, const Form &form, ScaleChoice scales,
                Weighted weighted, uint64_t count, std::byte *blocks) {
  const StoredBlock size = stored_block(type);
  for (uint64_t i = 0; i < count / size.elements; ++i)
    encode_block(type, form, scales, weighted.from(i * size.elements),
                 blocks + i * size.bytes);
}

/// Calls with the type's form; whether it has one.
template <typename Function> bool with_form(DataType type, Function function) {
  switch (type) {
  case DataType::Q8_0:
    function(SimpleForm{{-127, 127}, 0, false});
    return true;
  case DataType::Q4_0:
    function(SimpleForm{{-8, 7}, 8, false});
    return true;
  case DataType::Q4_1:
    function(SimpleForm{{0, 15}, 0, true});
    return true;
  case DataType::Q5_0:
    function(SimpleForm{{-16, 15}, 16, false});
    return true;
  case DataType::Q5_1:
    function(SimpleForm{{0, 31}, 0, true});
    return true;
  case DataType::Q2_K:
    function(UnitsForm<16>{{0, 3}, 0, true, 0, 15});
    return true;
  case DataType::Q3_K:
    function(UnitsForm<16>{{-4, 3}, 4, false, -32, 31});
    return true;
  case DataType::Q4_K:
    function(UnitsForm<32>{{0, 15}, 0, true, 0, 63});
    return true;
  case DataType::Q5_K:
    function(UnitsForm<32>{{0, 31}, 0, true, 0, 63});
    return true;
  case DataType::Q6_K:
    function(UnitsForm<16>{{-32, 31}, 32, false, -128, 127});
    return true;
  default:
    return false;
  }
}

} // namespace

bool can_encode(DataType type) {
  return with_form(type, [](const auto &) {});
}

void encode(DataType type, ScaleChoice scales, const float *weights,
            const float *importance, uint64_t count, std::byte *blocks) {
  with_form(type, [&](const auto &form) {
    encode_all(type, form, scales, {weights, importance}, count, blocks);
  });
}

} // namespace baton

//===- math.h - exp, log, tanh and erf of one value -----------------------===//
//
// The polynomials of codegen/cpu/library/math.h, which says where they come
// from and how far off they are, in the same operations in the same order: a
// value's bits are those of a lane on the CPU. CUDA's own functions would be as
// close to the truth, and differ.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATH_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATH_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

BATON_DEVICE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
BATON_DEVICE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

BATON_DEVICE float negative_infinity() { return __uint_as_float(0xff800000u); }
BATON_DEVICE float quiet_nan() { return __uint_as_float(0x7fc00000u); }

/// e^x; 0 for -infinity, +infinity above 88.72, NaN for NaN.
BATON_DEVICE float exp(float x) {
  // The results are 0 and infinity beyond these; comparing so keeps NaN.
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;

  // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer and leaves it in the
  // low bits.
  const float shift = 0x1.8p23f;
  const float shifted = fmaf(x, 0x1.715476p+0f, shift);
  const float n = shifted - shift;
  float r = fmaf(n, -0x1.62e43p-1f, x);
  r = fmaf(n, 0x1.05c61p-29f, r);

  // e^r = 1 + r + r^2 p(r) for |r| <= ln(2) / 2.
  float p = 0x1.6d11b6p-10f;
  p = fmaf(p, r, 0x1.120c1ap-7f);
  p = fmaf(p, r, 0x1.555518p-5f);
  p = fmaf(p, r, 0x1.5554dcp-3f);
  p = fmaf(p, r, 0.5f);
  const float result = fmaf(r * r, p, r) + 1.0f;

  // 2^n in two factors: n reaches from -150 to 129, an exponent does not.
  const int32_t exponent = __float_as_int(shifted) - __float_as_int(shift);
  const int32_t half = exponent >> 1;
  const float first = __uint_as_float(static_cast<uint32_t>(half + 127) << 23);
  const float second =
      __uint_as_float(static_cast<uint32_t>(exponent - half + 127) << 23);
  return result * first * second;
}

/// log x; -infinity for zero, NaN below it.
BATON_DEVICE float log(float x) {
  const bool is_subnormal = x < 0x1p-126f;
  const float normal = is_subnormal ? x * 0x1p23f : x;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)).
  const int32_t offset = __float_as_int(normal) - 0x3f3504f3;
  const int32_t exponent = (offset >> 23) - (is_subnormal ? 23 : 0);
  const float n = static_cast<float>(exponent);
  const float f = __int_as_float((offset & 0x7fffff) + 0x3f3504f3) - 1.0f;

  // log(1 + f) = f - f^2 / 2 + f^3 q(f).
  const float square = f * f;
  float q = 0x1.1d8ea6p-4f;
  q = fmaf(q, f, -0x1.d635bcp-4f);
  q = fmaf(q, f, 0x1.dea282p-4f);
  q = fmaf(q, f, -0x1.fcf4c6p-4f);
  q = fmaf(q, f, 0x1.23d21ap-3f);
  q = fmaf(q, f, -0x1.555b4ap-3f);
  q = fmaf(q, f, 0x1.999d5ap-3f);
  q = fmaf(q, f, -0x1.fffffcp-3f);
  q = fmaf(q, f, 0x1.555554p-2f);
  float small = fmaf(n, 0x1.0bfbe8p-15f, f * square * q);
  small = fmaf(square, -0.5f, small);
  const float result = fmaf(n, 0x1.62ep-1f, f + small);

  const float infinity = -negative_infinity();
  const float edge = x == 0.0f ? -infinity : quiet_nan();
  return x > 0.0f ? (x == infinity ? infinity : result) : edge;
}

BATON_DEVICE float tanh(float x) {
  const float magnitude = fabsf(x);
  // Near zero the exponential form cancels: x + x^3 q(x^2).
  const float square = x * x;
  float q = -0x1.8f8de4p-8f;
  q = fmaf(q, square, 0x1.58048ep-6f);
  q = fmaf(q, square, -0x1.b9258ap-5f);
  q = fmaf(q, square, 0x1.110e1cp-3f);
  q = fmaf(q, square, -0x1.555552p-2f);
  const float small = fmaf(x * square, q, x);

  const float large = 1.0f - 2.0f / (exp(magnitude + magnitude) + 1.0f);
  // The sign of the argument, that of zero included.
  return copysignf(magnitude < 0.625f ? small : large, x);
}

BATON_DEVICE float erf(float x) {
  const float magnitude = fabsf(x);
  const float square = x * x;
  float q = -0x1.281efap-11f;
  q = fmaf(q, square, 0x1.428d76p-8f);
  q = fmaf(q, square, -0x1.b5b31p-6f);
  q = fmaf(q, square, 0x1.ce0ab2p-4f);
  q = fmaf(q, square, -0x1.812680p-2f);
  q = fmaf(q, square, 0x1.20dd74p+0f);
  const float small = x * q;

  // erf x = 1 - e^-p(x) with p = -log erfc on [1, 4]; beyond 4 it is 1 in F32.
  const float clamped = magnitude > 4.0f ? 4.0f : magnitude;
  float p = -0x1.b778300p-20f;
  p = fmaf(p, clamped, 0x1.825ce4p-15f);
  p = fmaf(p, clamped, -0x1.38e5e6p-11f);
  p = fmaf(p, clamped, 0x1.37ecc6p-8f);
  p = fmaf(p, clamped, -0x1.b0e246p-6f);
  p = fmaf(p, clamped, 0x1.c2e356p-4f);
  p = fmaf(p, clamped, 0x1.437eb4p-1f);
  p = fmaf(p, clamped, 0x1.2156fap+0f);
  p = fmaf(p, clamped, -0x1.4fb068p-12f);
  const float large = copysignf(1.0f - exp(-p), x);
  return magnitude < 1.0f ? small : large;
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATH_H

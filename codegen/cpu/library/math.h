//===- math.h - exp, log, tanh and erf on vectors -------------------------===//
//
// Own polynomials, so that a lane's bits depend neither on its position nor on
// the C library of the machine. The coefficients interpolate the functions at
// Chebyshev nodes and are rounded to F32; the errors were measured over all
// binades against F64 (test/codegen/cpu/library/MathTest.cpp holds them).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_MATH_H
#define BATON_CODEGEN_CPU_LIBRARY_MATH_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// e^x within 2 units in the last place, subnormal results included; 0 for
/// -infinity, +infinity above 88.72, NaN for NaN.
BATON_INLINE Vector exp(Vector x) {
  // The results are 0 and infinity beyond these; comparing so keeps NaN.
  x = x < -104.0f ? splat(-104.0f) : x;
  x = x > 89.0f ? splat(89.0f) : x;

  // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer and leaves it in the
  // low bits, which also gives it as an integer without a conversion that
  // would be undefined for NaN.
  const Vector shift = splat(0x1.8p23f);
  Vector shifted = fma(x, splat(0x1.715476p+0f), shift);
  Vector n = shifted - shift;
  Vector r = fma(n, splat(-0x1.62e43p-1f), x);
  r = fma(n, splat(0x1.05c61p-29f), r);

  // e^r = 1 + r + r^2 p(r) for |r| <= ln(2) / 2.
  Vector p = splat(0x1.6d11b6p-10f);
  p = fma(p, r, splat(0x1.120c1ap-7f));
  p = fma(p, r, splat(0x1.555518p-5f));
  p = fma(p, r, splat(0x1.5554dcp-3f));
  p = fma(p, r, splat(0.5f));
  Vector result = fma(r * r, p, r) + 1.0f;

  // 2^n in two factors: n reaches from -150 to 129, an exponent does not.
  IntegerVector exponent = __builtin_bit_cast(IntegerVector, shifted) -
                           __builtin_bit_cast(IntegerVector, shift);
  IntegerVector half = exponent >> 1;
  Vector first = __builtin_bit_cast(Vector, (half + 127) << 23);
  Vector second = __builtin_bit_cast(Vector, (exponent - half + 127) << 23);
  return result * first * second;
}

/// The same arithmetic for one value.
BATON_INLINE float exp(float x) { return exp(splat(x)).x; }

/// log x within 2 units in the last place, of subnormal x too; -infinity for
/// zero, NaN below it.
BATON_INLINE Vector log(Vector x) {
  const IntegerVector is_subnormal = x < 0x1p-126f;
  const Vector normal = is_subnormal ? x * 0x1p23f : x;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)), the interval around 1 that needs
  // the shortest polynomial.
  const IntegerVector bits = __builtin_bit_cast(IntegerVector, normal);
  const IntegerVector offset = bits - 0x3f3504f3;
  const IntegerVector exponent =
      (offset >> 23) - (is_subnormal ? IntegerVector(23) : IntegerVector(0));
  const Vector n = __builtin_convertvector(exponent, Vector);
  const Vector f =
      __builtin_bit_cast(Vector, (offset & 0x7fffff) + 0x3f3504f3) - 1.0f;

  // log(1 + f) = f - f^2 / 2 + f^3 q(f).
  const Vector square = f * f;
  Vector q = splat(0x1.1d8ea6p-4f);
  q = fma(q, f, splat(-0x1.d635bcp-4f));
  q = fma(q, f, splat(0x1.dea282p-4f));
  q = fma(q, f, splat(-0x1.fcf4c6p-4f));
  q = fma(q, f, splat(0x1.23d21ap-3f));
  q = fma(q, f, splat(-0x1.555b4ap-3f));
  q = fma(q, f, splat(0x1.999d5ap-3f));
  q = fma(q, f, splat(-0x1.fffffcp-3f));
  q = fma(q, f, splat(0x1.555554p-2f));
  // ln 2 in two parts; products with the first are exact.
  Vector small = fma(n, splat(0x1.0bfbe8p-15f), f * square * q);
  small = fma(square, splat(-0.5f), small);
  const Vector result = fma(n, splat(0x1.62ep-1f), f + small);

  const Vector infinity = splat(__builtin_inff());
  const Vector edge = x == 0.0f ? -infinity : splat(__builtin_nanf(""));
  return x > 0.0f ? (x == infinity ? infinity : result) : edge;
}

/// The same arithmetic for one value.
BATON_INLINE float log(float x) { return log(splat(x)).x; }

/// tanh x within 3 units in the last place.
BATON_INLINE Vector tanh(Vector x) {
  Vector magnitude = __builtin_elementwise_abs(x);
  // Near zero the exponential form cancels: x + x^3 q(x^2).
  Vector square = x * x;
  Vector q = splat(-0x1.8f8de4p-8f);
  q = fma(q, square, splat(0x1.58048ep-6f));
  q = fma(q, square, splat(-0x1.b9258ap-5f));
  q = fma(q, square, splat(0x1.110e1cp-3f));
  q = fma(q, square, splat(-0x1.555552p-2f));
  Vector small = fma(x * square, q, x);

  Vector large = 1.0f - 2.0f / (exp(magnitude + magnitude) + 1.0f);
  // The sign of the argument, that of zero included.
  return __builtin_elementwise_copysign(magnitude < 0.625f ? small : large, x);
}

/// erf x within 3 units in the last place.
BATON_INLINE Vector erf(Vector x) {
  Vector magnitude = __builtin_elementwise_abs(x);
  Vector square = x * x;
  Vector q = splat(-0x1.281efap-11f);
  q = fma(q, square, splat(0x1.428d76p-8f));
  q = fma(q, square, splat(-0x1.b5b31p-6f));
  q = fma(q, square, splat(0x1.ce0ab2p-4f));
  q = fma(q, square, splat(-0x1.812680p-2f));
  q = fma(q, square, splat(0x1.20dd74p+0f));
  Vector small = x * q;

  // erf x = 1 - e^-p(x) with p = -log erfc on [1, 4]; beyond 4 it is 1 in F32.
  Vector clamped = magnitude > 4.0f ? splat(4.0f) : magnitude;
  Vector p = splat(-0x1.b778300p-20f);
  p = fma(p, clamped, splat(0x1.825ce4p-15f));
  p = fma(p, clamped, splat(-0x1.38e5e6p-11f));
  p = fma(p, clamped, splat(0x1.37ecc6p-8f));
  p = fma(p, clamped, splat(-0x1.b0e246p-6f));
  p = fma(p, clamped, splat(0x1.c2e356p-4f));
  p = fma(p, clamped, splat(0x1.437eb4p-1f));
  p = fma(p, clamped, splat(0x1.2156fap+0f));
  p = fma(p, clamped, splat(-0x1.4fb068p-12f));
  Vector large = __builtin_elementwise_copysign(1.0f - exp(-p), x);
  return magnitude < 1.0f ? small : large;
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_MATH_H

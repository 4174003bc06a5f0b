//===- math.h - exp, log, tanh and erf on vectors -------------------------===//
//
// Own polynomials, so that a lane's bits depend neither on its position nor on
// the C library of the machine. The coefficients interpolate the functions at
// Chebyshev nodes and are rounded to F32; the errors were measured over all
// binades against F64 (test/codegen/cpu/library/MathTest.cpp holds them). F64
// has the C library's functions.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_MATH_H
#define BATON_CODEGEN_CPU_LIBRARY_MATH_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

typedef float FloatVector __attribute__((ext_vector_type(16)));
typedef int32_t FloatMask __attribute__((ext_vector_type(16)));
typedef double DoubleVector __attribute__((ext_vector_type(16)));

/// e^x within 2 units in the last place, subnormal results included; 0 for
/// -infinity, +infinity above 88.72, NaN for NaN.
BATON_INLINE FloatVector exp(FloatVector x) {
  // The results are 0 and infinity beyond these; comparing so keeps NaN.
  x = x < -104.0f ? FloatVector(-104.0f) : x;
  x = x > 89.0f ? FloatVector(89.0f) : x;

  // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer and leaves it in the
  // low bits, which also gives it as an integer without a conversion that
  // would be undefined for NaN.
  const FloatVector shift = FloatVector(0x1.8p23f);
  FloatVector shifted =
      __builtin_elementwise_fma(x, FloatVector(0x1.715476p+0f), shift);
  FloatVector n = shifted - shift;
  FloatVector r = __builtin_elementwise_fma(n, FloatVector(-0x1.62e43p-1f), x);
  r = __builtin_elementwise_fma(n, FloatVector(0x1.05c61p-29f), r);

  // e^r = 1 + r + r^2 p(r) for |r| <= ln(2) / 2.
  FloatVector p = FloatVector(0x1.6d11b6p-10f);
  p = __builtin_elementwise_fma(p, r, FloatVector(0x1.120c1ap-7f));
  p = __builtin_elementwise_fma(p, r, FloatVector(0x1.555518p-5f));
  p = __builtin_elementwise_fma(p, r, FloatVector(0x1.5554dcp-3f));
  p = __builtin_elementwise_fma(p, r, FloatVector(0.5f));
  FloatVector result = __builtin_elementwise_fma(r * r, p, r) + 1.0f;

  // 2^n in two factors: n reaches from -150 to 129, an exponent does not.
  FloatMask exponent = __builtin_bit_cast(FloatMask, shifted) -
                       __builtin_bit_cast(FloatMask, shift);
  FloatMask half = exponent >> 1;
  FloatVector first = __builtin_bit_cast(FloatVector, (half + 127) << 23);
  FloatVector second =
      __builtin_bit_cast(FloatVector, (exponent - half + 127) << 23);
  return result * first * second;
}

/// log x within 2 units in the last place, of subnormal x too; -infinity for
/// zero, NaN below it.
BATON_INLINE FloatVector log(FloatVector x) {
  const FloatMask is_subnormal = x < 0x1p-126f;
  const FloatVector normal = is_subnormal ? x * 0x1p23f : x;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)), the interval around 1 that needs
  // the shortest polynomial.
  const FloatMask bits = __builtin_bit_cast(FloatMask, normal);
  const FloatMask offset = bits - 0x3f3504f3;
  const FloatMask exponent =
      (offset >> 23) - (is_subnormal ? FloatMask(23) : FloatMask(0));
  const FloatVector n = __builtin_convertvector(exponent, FloatVector);
  const FloatVector f =
      __builtin_bit_cast(FloatVector, (offset & 0x7fffff) + 0x3f3504f3) - 1.0f;

  // log(1 + f) = f - f^2 / 2 + f^3 q(f).
  const FloatVector square = f * f;
  FloatVector q = FloatVector(0x1.1d8ea6p-4f);
  q = __builtin_elementwise_fma(q, f, FloatVector(-0x1.d635bcp-4f));
  q = __builtin_elementwise_fma(q, f, FloatVector(0x1.dea282p-4f));
  q = __builtin_elementwise_fma(q, f, FloatVector(-0x1.fcf4c6p-4f));
  q = __builtin_elementwise_fma(q, f, FloatVector(0x1.23d21ap-3f));
  q = __builtin_elementwise_fma(q, f, FloatVector(-0x1.555b4ap-3f));
  q = __builtin_elementwise_fma(q, f, FloatVector(0x1.999d5ap-3f));
  q = __builtin_elementwise_fma(q, f, FloatVector(-0x1.fffffcp-3f));
  q = __builtin_elementwise_fma(q, f, FloatVector(0x1.555554p-2f));
  // ln 2 in two parts; products with the first are exact.
  FloatVector small = __builtin_elementwise_fma(n, FloatVector(0x1.0bfbe8p-15f),
                                                f * square * q);
  small = __builtin_elementwise_fma(square, FloatVector(-0.5f), small);
  const FloatVector result =
      __builtin_elementwise_fma(n, FloatVector(0x1.62ep-1f), f + small);

  const FloatVector infinity = FloatVector(__builtin_inff());
  const FloatVector edge =
      x == 0.0f ? -infinity : FloatVector(__builtin_nanf(""));
  return x > 0.0f ? (x == infinity ? infinity : result) : edge;
}

/// tanh x within 3 units in the last place.
BATON_INLINE FloatVector tanh(FloatVector x) {
  FloatVector magnitude = __builtin_elementwise_abs(x);
  // Near zero the exponential form cancels: x + x^3 q(x^2).
  FloatVector square = x * x;
  FloatVector q = FloatVector(-0x1.8f8de4p-8f);
  q = __builtin_elementwise_fma(q, square, FloatVector(0x1.58048ep-6f));
  q = __builtin_elementwise_fma(q, square, FloatVector(-0x1.b9258ap-5f));
  q = __builtin_elementwise_fma(q, square, FloatVector(0x1.110e1cp-3f));
  q = __builtin_elementwise_fma(q, square, FloatVector(-0x1.555552p-2f));
  FloatVector small = __builtin_elementwise_fma(x * square, q, x);

  FloatVector large = 1.0f - 2.0f / (exp(magnitude + magnitude) + 1.0f);
  // The sign of the argument, that of zero included.
  return __builtin_elementwise_copysign(magnitude < 0.625f ? small : large, x);
}

/// erf x within 3 units in the last place.
BATON_INLINE FloatVector erf(FloatVector x) {
  FloatVector magnitude = __builtin_elementwise_abs(x);
  FloatVector square = x * x;
  FloatVector q = FloatVector(-0x1.281efap-11f);
  q = __builtin_elementwise_fma(q, square, FloatVector(0x1.428d76p-8f));
  q = __builtin_elementwise_fma(q, square, FloatVector(-0x1.b5b31p-6f));
  q = __builtin_elementwise_fma(q, square, FloatVector(0x1.ce0ab2p-4f));
  q = __builtin_elementwise_fma(q, square, FloatVector(-0x1.812680p-2f));
  q = __builtin_elementwise_fma(q, square, FloatVector(0x1.20dd74p+0f));
  FloatVector small = x * q;

  // erf x = 1 - e^-p(x) with p = -log erfc on [1, 4]; beyond 4 it is 1 in F32.
  FloatVector clamped = magnitude > 4.0f ? FloatVector(4.0f) : magnitude;
  FloatVector p = FloatVector(-0x1.b778300p-20f);
  p = __builtin_elementwise_fma(p, clamped, FloatVector(0x1.825ce4p-15f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(-0x1.38e5e6p-11f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(0x1.37ecc6p-8f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(-0x1.b0e246p-6f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(0x1.c2e356p-4f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(0x1.437eb4p-1f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(0x1.2156fap+0f));
  p = __builtin_elementwise_fma(p, clamped, FloatVector(-0x1.4fb068p-12f));
  FloatVector large = __builtin_elementwise_copysign(1.0f - exp(-p), x);
  return magnitude < 1.0f ? small : large;
}

#define BATON_EACH_LANE(name)                                                  \
  BATON_INLINE DoubleVector name(DoubleVector x) {                             \
    DoubleVector result;                                                       \
    for (int64_t lane = 0; lane < lanes; ++lane)                               \
      result[lane] = __builtin_##name(x[lane]);                                \
    return result;                                                             \
  }
BATON_EACH_LANE(exp)
BATON_EACH_LANE(log)
BATON_EACH_LANE(tanh)
BATON_EACH_LANE(erf)
#undef BATON_EACH_LANE

/// The same arithmetic for one value.
BATON_INLINE Real exp(Real x) { return exp(splat(x)).x; }
BATON_INLINE Real log(Real x) { return log(splat(x)).x; }

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_MATH_H

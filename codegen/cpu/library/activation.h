//===- activation.h - activation functions on vectors ---------------------===//
//
// The activations that linear layers apply and the element-wise bodies of the
// same names; each follows the F32 formula of the reference implementation.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_ACTIVATION_H
#define BATON_CODEGEN_CPU_LIBRARY_ACTIVATION_H

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/math.h"

namespace baton::cpu {

constexpr Real root_of_half = 0.70710678118654752440;
constexpr Real root_of_two_over_pi = 0.79788456080286535588;
constexpr Real cubic = 0.044715;
constexpr Real cubic_slope = 0.134145;

BATON_INLINE Vector sigmoid(Vector x) { return 1.0f / (1.0f + exp(-x)); }

BATON_INLINE Vector silu(Vector x) { return x / (1.0f + exp(-x)); }

/// x / 2 * (1 + erf(x / sqrt 2)).
BATON_INLINE Vector gelu(Vector x) {
  return x * 0.5f * (1.0f + erf(x * root_of_half));
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
BATON_INLINE Vector gelu_tanh(Vector x) {
  Vector inner = root_of_two_over_pi * (x + cubic * (x * x * x));
  return x * 0.5f * (1.0f + tanh(inner));
}

/// NaN stays NaN.
BATON_INLINE Vector relu(Vector x) { return x < 0.0f ? splat(0.0f) : x; }

BATON_INLINE Vector activate(Vector x, int32_t activation) {
  switch (activation) {
  case BATON_ACTIVATION_SILU:
    return silu(x);
  case BATON_ACTIVATION_GELU:
    return gelu(x);
  case BATON_ACTIVATION_GELU_TANH:
    return gelu_tanh(x);
  case BATON_ACTIVATION_RELU:
    return relu(x);
  default:
    return x;
  }
}

constexpr Real swiglu_limit = 7;
constexpr Real swiglu_slope = 1.702;

/// NaN stays NaN.
BATON_INLINE Vector clamped_gate(Vector gate) {
  return gate > swiglu_limit ? splat(swiglu_limit) : gate;
}
BATON_INLINE Vector clamped_up(Vector up) {
  up = up > swiglu_limit ? splat(swiglu_limit) : up;
  return up < -swiglu_limit ? splat(-swiglu_limit) : up;
}

/// gpt-oss's: g * sigmoid(1.702 g) * (u + 1), of a gate g of at most 7 and a u
/// within -7 and 7.
BATON_INLINE Vector clamped_swiglu(Vector gate, Vector up) {
  gate = clamped_gate(gate);
  return gate / (1.0f + exp(gate * -swiglu_slope)) * (clamped_up(up) + 1.0f);
}

/// Its derivatives, for the gate and for the up.
BATON_INLINE Vector clamped_swiglu_gate_slope(Vector gate, Vector up) {
  const Vector open = sigmoid(gate * swiglu_slope);
  const Vector slope = open * (1.0f + gate * swiglu_slope * (1.0f - open));
  return gate > swiglu_limit ? splat(0.0f) : slope * (clamped_up(up) + 1.0f);
}
BATON_INLINE Vector clamped_swiglu_up_slope(Vector gate, Vector up) {
  gate = clamped_gate(gate);
  Vector slope = gate / (1.0f + exp(gate * -swiglu_slope));
  slope = up > swiglu_limit ? splat(0.0f) : slope;
  return up < -swiglu_limit ? splat(0.0f) : slope;
}

/// What a gated product makes of its two sums.
BATON_INLINE Vector activate_gated(Vector gate, Vector up, int32_t activation) {
  if (activation == BATON_ACTIVATION_CLAMPED_SWIGLU)
    return clamped_swiglu(gate, up);
  return activate(gate, activation) * up;
}

/// The derivatives, at x.
BATON_INLINE Vector silu_slope(Vector x) {
  const Vector open = sigmoid(x);
  return open * (1.0f + x * (1.0f - open));
}

BATON_INLINE Vector gelu_slope(Vector x) {
  const Vector density = exp(x * x * -0.5f) * (root_of_two_over_pi / 2);
  return 0.5f * (1.0f + erf(x * root_of_half)) + x * density;
}

BATON_INLINE Vector gelu_tanh_slope(Vector x) {
  // Beyond 16 the slope is 0 or 1, and powers of x would overflow.
  x = x > 16.0f ? splat(16.0f) : x;
  x = x < -16.0f ? splat(-16.0f) : x;
  const Vector square = x * x;
  const Vector t = tanh(root_of_two_over_pi * (x + cubic * (square * x)));
  const Vector inner = root_of_two_over_pi * (1.0f + cubic_slope * square);
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

BATON_INLINE Vector relu_slope(Vector x) {
  return x <= 0.0f ? splat(0.0f) : splat(1.0f);
}

BATON_INLINE Vector slope(Vector x, int32_t activation) {
  switch (activation) {
  case BATON_ACTIVATION_SILU:
    return silu_slope(x);
  case BATON_ACTIVATION_GELU:
    return gelu_slope(x);
  case BATON_ACTIVATION_GELU_TANH:
    return gelu_tanh_slope(x);
  case BATON_ACTIVATION_RELU:
    return relu_slope(x);
  default:
    return splat(1.0f);
  }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_ACTIVATION_H

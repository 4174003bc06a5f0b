//===- activation.h - activation functions of one value -------------------===//
//
// The activations that linear layers apply and the element-wise bodies of the
// same names, in the arithmetic of codegen/cpu/library/activation.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ACTIVATION_H
#define BATON_CODEGEN_CUDA_LIBRARY_ACTIVATION_H

#include "codegen/cuda/library/math.h"

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

namespace baton::cuda {

BATON_DEVICE float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

BATON_DEVICE float silu(float x) { return x / (1.0f + exp(-x)); }

/// x / 2 * (1 + erf(x / sqrt 2)).
BATON_DEVICE float gelu(float x) {
  return x * 0.5f * (1.0f + erf(x * 0x1.6a09e6p-1f));
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
BATON_DEVICE float gelu_tanh(float x) {
  const float inner = 0x1.988454p-1f * (x + 0.044715f * (x * x * x));
  return x * 0.5f * (1.0f + tanh(inner));
}

/// NaN stays NaN.
BATON_DEVICE float relu(float x) { return x < 0.0f ? 0.0f : x; }

BATON_DEVICE float activate(float x, int32_t activation) {
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

constexpr float swiglu_limit = 7;
constexpr float swiglu_slope = 1.702f;

/// NaN stays NaN.
BATON_DEVICE float clamped_gate(float gate) {
  return gate > swiglu_limit ? swiglu_limit : gate;
}
BATON_DEVICE float clamped_up(float up) {
  up = up > swiglu_limit ? swiglu_limit : up;
  return up < -swiglu_limit ? -swiglu_limit : up;
}

/// gpt-oss's: g * sigmoid(1.702 g) * (u + 1), of a gate g of at most 7 and a u
/// within -7 and 7.
BATON_DEVICE float clamped_swiglu(float gate, float up) {
  gate = clamped_gate(gate);
  return gate / (1.0f + exp(gate * -swiglu_slope)) * (clamped_up(up) + 1.0f);
}

/// Its derivatives, for the gate and for the up.
BATON_DEVICE float clamped_swiglu_gate_slope(float gate, float up) {
  const float open = sigmoid(gate * swiglu_slope);
  const float slope = open * (1.0f + gate * swiglu_slope * (1.0f - open));
  return gate > swiglu_limit ? 0.0f : slope * (clamped_up(up) + 1.0f);
}
BATON_DEVICE float clamped_swiglu_up_slope(float gate, float up) {
  gate = clamped_gate(gate);
  const float slope = gate / (1.0f + exp(gate * -swiglu_slope));
  return up > swiglu_limit || up < -swiglu_limit ? 0.0f : slope;
}

/// What a gated product makes of its two sums.
BATON_DEVICE float activate_gated(float gate, float up, int32_t activation) {
  if (activation == BATON_ACTIVATION_CLAMPED_SWIGLU)
    return clamped_swiglu(gate, up);
  return activate(gate, activation) * up;
}

/// The derivatives, at x.
BATON_DEVICE float silu_slope(float x) {
  const float open = sigmoid(x);
  return open * (1.0f + x * (1.0f - open));
}

BATON_DEVICE float gelu_slope(float x) {
  const float density = exp(x * x * -0.5f) * 0x1.988454p-2f;
  return 0.5f * (1.0f + erf(x * 0x1.6a09e6p-1f)) + x * density;
}

BATON_DEVICE float gelu_tanh_slope(float x) {
  // Beyond 16 the slope is 0 or 1, and powers of x would overflow.
  x = x > 16.0f ? 16.0f : x;
  x = x < -16.0f ? -16.0f : x;
  const float square = x * x;
  const float t = tanh(0x1.988454p-1f * (x + 0.044715f * (square * x)));
  const float inner = 0x1.988454p-1f * (1.0f + 0.134145f * square);
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

BATON_DEVICE float relu_slope(float x) { return x <= 0.0f ? 0.0f : 1.0f; }

BATON_DEVICE float slope(float x, int32_t activation) {
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
    return 1.0f;
  }
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ACTIVATION_H

//===- deferred_norm.h - what the halves of an RMS norm share -------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_DEFERRED_NORM_H
#define BATON_CODEGEN_CPU_LIBRARY_DEFERRED_NORM_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// 1 / sqrt(mean of squares + epsilon).
BATON_INLINE Real inverse_root(Real squares, int64_t width, Real epsilon) {
  const Real mean = squares / static_cast<Real>(width);
  return 1.0f / __builtin_elementwise_sqrt(mean + epsilon);
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_DEFERRED_NORM_H

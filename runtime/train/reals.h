//===- reals.h - numbers of a program that computes in F32 or F64 ---------===//

#ifndef BATON_RUNTIME_TRAIN_REALS_H
#define BATON_RUNTIME_TRAIN_REALS_H

#include "runtime/weights/data_type.h"

#include <cstddef>
#include <cstdint>

namespace baton {

/// Element `index` of an array of `type`, F32 or F64.
inline double real_at(const void *values, DataType type, uint64_t index) {
  return type == DataType::F64 ? static_cast<const double *>(values)[index]
                               : static_cast<const float *>(values)[index];
}

inline void set_real(void *values, DataType type, uint64_t index,
                     double value) {
  if (type == DataType::F64)
    static_cast<double *>(values)[index] = value;
  else
    static_cast<float *>(values)[index] = static_cast<float>(value);
}

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_REALS_H

//===- batches.cpp - what a training step reads ---------------------------===//

#include "runtime/train/batches.h"

#include "runtime/error.h"

#include <string>

namespace baton {

Batches::Batches(const BatchShape &shape, const BatchOrigin &origin)
    : batch(shape), origin(origin) {
  if (shape.rows == 0)
    throw Error("--batch: expected a number above 0");
  if (shape.accumulation == 0)
    throw Error("--accumulate: expected a number above 0");
  uint64_t targets;
  if (__builtin_mul_overflow(shape.rows, shape.accumulation, &targets) ||
      __builtin_mul_overflow(targets, shape.length, &targets) || targets >> 48)
    throw Error("--batch: " + std::to_string(shape.rows) + " sequences of " +
                std::to_string(shape.length) + " tokens, accumulated " +
                std::to_string(shape.accumulation) +
                " times, are too many for one step");
}

Batches::~Batches() = default;

} // namespace baton

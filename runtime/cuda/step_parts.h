//===- step_parts.h - a step around products by cuBLASLt ------------------===//
//
// A step of many rows with products that cuBLASLt computes is a list: some of
// its phases, a product, more of its phases, and so on. The phase of a product
// comes behind it, and its tasks take what has been multiplied.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_STEP_PARTS_H
#define BATON_RUNTIME_CUDA_STEP_PARTS_H

#include "runtime/device_program.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace baton {

/// A product of one of the program's phases.
struct StepProduct {
  /// What lays its sides out.
  std::string kernel;
  size_t phase;
  uint32_t least_rows;
  uint64_t depth, columns;
};

struct StepPart {
  /// Phases, or where there is a product that of an iteration.
  BatonPart phases;
  std::optional<size_t> product;
  int64_t iteration;
};

class StepParts {
public:
  /// Of one entry of "kernels" in the description of a device.
  explicit StepParts(const nlohmann::json &program);

  const std::vector<StepProduct> &products() const { return list; }
  /// None where a step of so many rows has no such product.
  std::vector<StepPart> of(uint32_t rows) const;

private:
  std::vector<StepProduct> list;
  struct Segment {
    size_t phases;
    int64_t repeat;
  };
  std::vector<Segment> segments;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_STEP_PARTS_H

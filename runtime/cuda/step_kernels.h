//===- step_kernels.h - the kernels that a step is launched as ------------===//
//
// A program whose steps are CUDA graphs has a kernel for each phase. A step
// runs them in order of rank, those of a layer once for each layer, and needs
// nothing else: kernel order is what events are in a persistent kernel.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_STEP_KERNELS_H
#define BATON_RUNTIME_CUDA_STEP_KERNELS_H

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace baton {

struct StepKernel {
  std::string name;
  unsigned shared_bytes;
  /// The most that a step has.
  uint64_t tiles;
};

struct StepKernels {
  unsigned threads;
  std::vector<StepKernel> kernels;
  /// In the order in which a step runs them.
  struct Launch {
    size_t kernel;
    int64_t iteration;
  };
  std::vector<Launch> launches;

  /// Of one entry of "kernels" in the description of a device.
  explicit StepKernels(const nlohmann::json &program);

  /// A block is a worker; those that would have no tile are left out.
  unsigned blocks(const Launch &launch, unsigned workers) const {
    return static_cast<unsigned>(
        std::min<uint64_t>(workers, kernels[launch.kernel].tiles));
  }
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_STEP_KERNELS_H

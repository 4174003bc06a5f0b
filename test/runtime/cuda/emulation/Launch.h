//===- Launch.h - lambdas as kernels --------------------------------------===//

#ifndef BATON_TEST_RUNTIME_CUDA_EMULATION_LAUNCH_H
#define BATON_TEST_RUNTIME_CUDA_EMULATION_LAUNCH_H

#include <functional>

#include "runtime/cuda/emulation/emulation.h"

/// Runs `kernel` as every thread of a launch.
inline void launch(const baton::emulation::Launch &shape,
                   const std::function<void()> &kernel) {
  baton::emulation::launch(
      shape,
      [](void *argument) {
        (*static_cast<const std::function<void()> *>(argument))();
      },
      const_cast<std::function<void()> *>(&kernel));
}

#endif // BATON_TEST_RUNTIME_CUDA_EMULATION_LAUNCH_H

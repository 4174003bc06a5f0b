//===- phase_observer.h - sees what phases compute ------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_PHASE_OBSERVER_H
#define BATON_RUNTIME_EXECUTE_PHASE_OBSERVER_H

#include "runtime/program.h"

#include <cstdint>

namespace baton {

class PhaseObserver {
public:
  virtual ~PhaseObserver() = default;

  /// Called when a phase's iteration is complete; see StepDriver::observe.
  virtual void record(const BatonStep &step, uint32_t phase, uint32_t iteration,
                      void *const *storages) = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_PHASE_OBSERVER_H

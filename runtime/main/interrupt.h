//===- interrupt.h - signals end a program in good order -----------------===//

#ifndef BATON_RUNTIME_MAIN_INTERRUPT_H
#define BATON_RUNTIME_MAIN_INTERRUPT_H

#include "runtime/decode/execution.h"

namespace baton {

/// Makes writes to a closed pipe and beyond the file size limit fail instead of
/// killing the process, and makes SIGINT and SIGTERM end it with status 1: at
/// once, or while an Interruptible exists after the current step.
void handle_signals();

/// While one exists, the first SIGINT or SIGTERM stops its execution and the
/// second ends the process at once.
class Interruptible {
public:
  explicit Interruptible(Execution &execution);
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;
  ~Interruptible();

  /// Throws Error when a signal has stopped the execution.
  void check() const;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_INTERRUPT_H

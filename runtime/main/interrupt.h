//===- interrupt.h - signals end a program in good order -----------------===//

#ifndef BATON_RUNTIME_MAIN_INTERRUPT_H
#define BATON_RUNTIME_MAIN_INTERRUPT_H

#include <atomic>

namespace baton {

/// Makes writes to a closed pipe and beyond the file size limit fail instead of
/// killing the process, and makes SIGINT, SIGTERM and SIGHUP, or a file that is
/// cut short while it is mapped, end it with one line and status 1 at once;
/// temporary files are removed (runtime/files/temporary.h).
void handle_signals();

/// While one exists, the first of these signals only sets its flag; the second
/// ends the process at once. One exists at a time.
class Interruptible {
public:
  explicit Interruptible(std::atomic<bool> &stop);
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;
  ~Interruptible();
};

/// From now on a signal that ends the process at once does so without a word:
/// somebody else says why.
void end_silently();

/// Whether such a signal came while there was an Interruptible.
bool is_interrupted();
/// Whether one of them was SIGTERM, which mpirun sends when another process has
/// died.
bool is_terminated();
/// Throws Error when such a signal came while there was an Interruptible.
void check_interrupted();

} // namespace baton

#endif // BATON_RUNTIME_MAIN_INTERRUPT_H

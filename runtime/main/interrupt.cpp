//===- interrupt.cpp - signals end a program in good order ---------------===//

#include "runtime/main/interrupt.h"

#include "runtime/error.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace baton {

namespace {

// Only lock-free atomics may be touched in a signal handler.
std::atomic<std::atomic<bool> *> stop_flag = nullptr;
std::atomic<bool> interrupted = false;
static_assert(std::atomic<std::atomic<bool> *>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  std::atomic<bool> *stop = stop_flag.load();
  if (stop && !interrupted.exchange(true)) {
    stop->store(true);
    return;
  }
  constexpr char message[] = "error: interrupted\n";
  [[maybe_unused]] ssize_t ignored =
      write(STDERR_FILENO, message, sizeof(message) - 1);
  _exit(1);
}

} // namespace

void handle_signals() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // A shell starts background jobs with SIGINT ignored, nohup any with
    // SIGHUP; that stays.
    struct sigaction previous;
    sigaction(signal, nullptr, &previous);
    if (previous.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

Interruptible::Interruptible(std::atomic<bool> &stop) { stop_flag = &stop; }

Interruptible::~Interruptible() { stop_flag = nullptr; }

void Interruptible::check() const {
  if (interrupted)
    throw Error("interrupted");
}

} // namespace baton

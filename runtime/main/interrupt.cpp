//===- interrupt.cpp - signals end a program in good order ---------------===//

#include "runtime/main/interrupt.h"

#include "runtime/error.h"
#include "runtime/files/temporary.h"

#include <atomic>
#include <csignal>
#include <string_view>

#include <unistd.h>

namespace baton {

namespace {

// Only lock-free atomics may be touched in a signal handler.
std::atomic<std::atomic<bool> *> stop_flag = nullptr;
std::atomic<bool> was_interrupted = false;
std::atomic<bool> was_terminated = false;
std::atomic<bool> is_silent = false;
static_assert(std::atomic<std::atomic<bool> *>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

void say(std::string_view text) {
  [[maybe_unused]] ssize_t ignored =
      write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void end(std::string_view message) {
  remove_temporary_files();
  // There may be a line that shows progress.
  if (isatty(STDERR_FILENO))
    say("\r\033[K");
  say(message);
  _exit(1);
}

void on_signal(int signal) {
  std::atomic<bool> *stop = stop_flag.load();
  if (signal == SIGTERM)
    was_terminated = true;
  bool again = was_interrupted.exchange(true);
  if (!stop && is_silent) {
    remove_temporary_files();
    _exit(1);
  }
  // Whoever else says why may send several, and kills what does not end.
  if (!stop || (again && !is_silent))
    end("error: interrupted\n");
  stop->store(true);
}

void on_bus_error(int) {
  end("error: a file was cut short, or could not be read, while it was in "
      "use\n");
}

} // namespace

void handle_signals() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
  action.sa_handler = on_bus_error;
  sigaction(SIGBUS, &action, nullptr);
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

void end_silently() { is_silent = true; }

bool is_interrupted() { return was_interrupted; }

bool is_terminated() { return was_terminated; }

void check_interrupted() {
  if (was_interrupted)
    throw Error("interrupted");
}

Interruptible::Interruptible(std::atomic<bool> &stop) { stop_flag = &stop; }

Interruptible::~Interruptible() { stop_flag = nullptr; }

} // namespace baton

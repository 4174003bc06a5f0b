//===- job_end.cpp - ends all ranks because of one ------------------------===//

#include "runtime/comm/job_end.h"

#include "runtime/files/temporary.h"

#include <atomic>
#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace baton {

namespace {

/// Handlers of signals that end the process remove temporary files as well.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void say(const std::string &message) {
  // There may be a line that shows progress.
  std::string line = isatty(STDERR_FILENO) ? "\r\033[K" : "";
  line += "error: " + message + "\n";
  [[maybe_unused]] ssize_t ignored =
      write(STDERR_FILENO, line.data(), line.size());
}

} // namespace

void leave_nothing() noexcept {
  block_signals();
  remove_temporary_files();
}

void end_job(Communicator &communicator, const std::string &message) noexcept {
  block_signals();
  static std::atomic<bool> is_ending = false;
  while (is_ending.exchange(true))
    pause();
  communicator.yield_last_word();
  leave_nothing();
  say(message);
  communicator.kill();
}

void end_process(const std::string &message) noexcept {
  block_signals();
  leave_nothing();
  say(message);
  _exit(1);
}

void end_job_together(Communicator &communicator,
                      const std::string &message) noexcept {
  leave_nothing();
  if (communicator.rank() == 0)
    say(message);
  try {
    // The first process that exits with 1 makes mpirun kill the others.
    communicator.barrier("the end of the run");
    communicator.finish();
  } catch (const CommunicationError &) {
  }
  _exit(1);
}

} // namespace baton

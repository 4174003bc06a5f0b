//===- job_end.cpp - ends all ranks because of one ------------------------===//

#include "runtime/comm/job_end.h"

#include "runtime/files/temporary.h"

#include <atomic>
#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace baton {

void end_job(Communicator &communicator, const std::string &message) noexcept {
  // Handlers of signals that end the process remove temporary files as well.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  static std::atomic<bool> is_ending = false;
  while (is_ending.exchange(true))
    pause();
  communicator.yield_last_word();
  remove_temporary_files();
  // There may be a line that shows progress.
  std::string line = isatty(STDERR_FILENO) ? "\r\033[K" : "";
  line += "error: " + message + "\n";
  [[maybe_unused]] ssize_t ignored =
      write(STDERR_FILENO, line.data(), line.size());
  communicator.kill();
}

} // namespace baton

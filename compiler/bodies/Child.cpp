//===- Child.cpp - work that may crash, in a process of its own
//------------===//

#include "compiler/bodies/Child.h"

#include "compiler/bodies/Memory.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace baton;
using namespace baton::checks;
using llvm::createStringError;

static constexpr unsigned kSeconds = 60;

namespace {
/// What both processes see.
struct Shared {
  char where[4096], touched[512];
};
} // namespace

static Shared *shared = nullptr;

/// Says which element was meant, and ends as if nobody had asked. It was the
/// body's code that failed, so that memory can still be allocated.
static void onFault(int signal, siginfo_t *information, void *) {
  std::signal(signal, SIG_DFL);
  if (const Memory *memory = Memory::at(information->si_addr))
    std::snprintf(
        shared->touched, sizeof shared->touched, "at @%s%s",
        memory->argument.name.c_str(),
        text(memory->indexOf(memory->numberOf(information->si_addr))).c_str());
  raise(signal);
}

static void watchFaults() {
  // The stack may be what ran out.
  static char stack[64 << 10];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS})
    sigaction(signal, &action, nullptr);
}

static void writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      _exit(1);
    bytes = bytes.drop_front(std::max<ssize_t>(written, 0));
  }
}

static std::string readAll(int file) {
  std::string all;
  char part[4096];
  while (true) {
    ssize_t size = read(file, part, sizeof part);
    if (size > 0)
      all.append(part, static_cast<size_t>(size));
    else if (size == 0 || errno != EINTR)
      return all;
  }
}

llvm::Expected<Outcome>
checks::runInChild(llvm::function_ref<std::string(Say say)> work) {
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (memory == MAP_FAILED || pipe(ends))
    return createStringError(std::string("no process to run bodies in: ") +
                             std::strerror(errno));
  shared = static_cast<Shared *>(memory);
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    watchFaults();
    writeAll(ends[1], work([](llvm::StringRef where) {
               where = where.take_front(sizeof shared->where - 1);
               std::memcpy(shared->where, where.data(), where.size());
               shared->where[where.size()] = 0;
               alarm(kSeconds);
             }));
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome;
  int status = 0;
  if (child > 0) {
    outcome.result = readAll(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
      ;
  }
  close(ends[0]);
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    outcome.crash =
        signal == SIGALRM
            ? "has not ended after " + std::to_string(kSeconds) + " seconds"
            : "ends with signal " + std::to_string(signal) + " (" +
                  strsignal(signal) + ")";
    if (shared->touched[0])
      outcome.crash += std::string(" ") + shared->touched;
    outcome.where = shared->where;
  } else if (child > 0 && WEXITSTATUS(status)) {
    outcome.crash =
        "ends the process with status " + std::to_string(WEXITSTATUS(status));
    outcome.where = shared->where;
  }
  munmap(memory, sizeof(Shared));
  shared = nullptr;
  if (child < 0)
    return createStringError(std::string("no process to run bodies in: ") +
                             std::strerror(errno));
  return outcome;
}

//===- child.cpp - other programs that a command runs ---------------------===//

#include "tools/command/child.h"

#include "runtime/error.h"
#include "tools/command/command.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton {

namespace fs = std::filesystem;

/// Its exit status; `prepare` runs in the child, between fork and exec.
template <typename Prepare>
static int status_of(const std::vector<std::string> &words, Prepare prepare) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prepare();
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  pid_t ended = child;
  if (child > 0)
    do
      ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
  if (child < 0 || ended < 0)
    throw Error(words[0] + ": cannot be run: " + std::strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw Error(words[0] + ": cannot be run");
  if (WIFSIGNALED(status))
    throw Error(words[0] + ": was ended by signal " +
                std::to_string(WTERMSIG(status)));
  return WEXITSTATUS(status);
}

void run_child(const std::vector<std::string> &words) {
  if (status_of(words, [] {}) != 0)
    throw AlreadySaid();
}

bool run_quiet_child(const std::vector<std::string> &words,
                     const fs::path &errors) {
  const std::string file = errors.string();
  return status_of(words, [&] {
           const int nothing = open("/dev/null", O_RDWR);
           const int said =
               open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
           if (nothing < 0 || said < 0 || dup2(nothing, 0) < 0 ||
               dup2(nothing, 1) < 0 || dup2(said, 2) < 0)
             _exit(127);
         }) == 0;
}

ScratchFolder::ScratchFolder(const fs::path &path) : path(path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure)
    throw Error(path.string() + ": cannot be made: " + failure.message());
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

} // namespace baton

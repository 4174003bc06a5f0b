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

void run_child(const std::vector<std::string> &words, const fs::path &output) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  int printed = -1;
  if (!output.empty()) {
    printed =
        open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (printed < 0)
      throw Error(output.string() +
                  ": cannot be written: " + std::strerror(errno));
  }
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (printed >= 0)
      dup2(printed, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  if (printed >= 0)
    close(printed);
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
  if (WEXITSTATUS(status) != 0)
    throw AlreadySaid();
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

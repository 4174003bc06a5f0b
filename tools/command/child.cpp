//===- child.cpp - other programs that a command runs ---------------------===//

#include "tools/command/child.h"

#include "runtime/error.h"
#include "tools/command/command.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

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

namespace {
/// A file that a child writes, open until it is started.
struct OutputFile {
  explicit OutputFile(const fs::path &path)
      : descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                        0666)) {
    if (descriptor < 0)
      throw Error(path.string() +
                  ": cannot be written: " + std::strerror(errno));
  }
  OutputFile(const OutputFile &) = delete;
  ~OutputFile() { close(descriptor); }

  int descriptor;
};
} // namespace

void run_child(const std::vector<std::string> &words, const fs::path &output) {
  std::optional<OutputFile> printed;
  if (!output.empty())
    printed.emplace(output);
  if (status_of(words, [&] {
        if (printed)
          dup2(printed->descriptor, STDOUT_FILENO);
      }) != 0)
    throw AlreadySaid();
}

bool run_quiet_child(const std::vector<std::string> &words,
                     const fs::path &errors) {
  const OutputFile nothing("/dev/null"), said(errors);
  return status_of(words, [&] {
           dup2(nothing.descriptor, STDOUT_FILENO);
           dup2(said.descriptor, STDERR_FILENO);
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

//===- calibration.cpp - the inputs of a model's linears on a text --------===//

#include "tools/quantize/calibration.h"

#include "runtime/error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton {

namespace fs = std::filesystem;

/// Runs a command, whose messages are the user's to read. It ends when this
/// process does.
static void run(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
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
  if (WEXITSTATUS(status) != 0)
    throw AlreadySaid();
}

namespace {
/// A folder, until the end of a scope.
struct Folder {
  explicit Folder(const fs::path &path) : path(path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure)
      throw Error(path.string() + ": cannot be made: " + failure.message());
  }
  Folder(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};
} // namespace

Importance calibrate(const CalibrationOptions &options) {
  if (!fs::is_regular_file(options.text))
    throw Error("--calibration: " + options.text.string() +
                (fs::exists(options.text) ? " is no plain file; give one text"
                                          : ": no such file"));
  const Folder folder(fs::absolute(options.folder));
  const std::string program = (folder.path / "program").string(),
                    squares = (folder.path / "squares.safetensors").string();
  std::vector<std::string> compiling = {options.batonc,
                                        options.model.string(),
                                        "-o",
                                        program,
                                        "--disable-pass=norm-rewrites",
                                        "--quiet"},
                           measuring = {program,
                                        "calibrate",
                                        "--weights=" + options.model.string(),
                                        "--data=" + options.text.string(),
                                        "--windows=" +
                                            std::to_string(options.windows),
                                        "--out=" + squares,
                                        "--no-cache"};
  if (options.quiet)
    measuring.push_back("--quiet");
  run(compiling);
  run(measuring);
  return Importance(squares);
}

} // namespace baton

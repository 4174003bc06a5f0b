//===- Scratch.cpp - outputs that are complete or not there ---------------===//

#include "codegen/link/Scratch.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace baton::link;

namespace {
/// What a signal ends. The thread that handles signals keeps the mutex, so that
/// nothing is created or published any more.
struct Unfinished {
  std::mutex mutex;
  std::set<std::string> folders;
  std::set<pid_t> programs;
};
} // namespace

static Unfinished &unfinished() {
  // Signals come while the process ends, too.
  static auto *state = new Unfinished;
  return *state;
}

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

Scratch::Scratch(std::string folder, std::string output)
    : folder(std::move(folder)), output(std::move(output)) {}

Scratch::Scratch(Scratch &&other)
    : folder(std::exchange(other.folder, {})), output(std::move(other.output)) {
}

Scratch::~Scratch() {
  if (folder.empty())
    return;
  std::lock_guard lock(unfinished().mutex);
  (void)sys::fs::remove_directories(folder);
  unfinished().folders.erase(folder);
}

Error Scratch::cannotWrite(std::error_code error) const {
  StringRef parent = sys::path::parent_path(output);
  return createStringError("cannot write '" + output + "' in folder '" +
                           (parent.empty() ? "." : parent) +
                           "': " + error.message());
}

Expected<Scratch> Scratch::beside(StringRef output) {
  if (sys::fs::is_directory(output))
    return createStringError("output '" + output + "' is a folder");
  // Renaming onto a device would replace it.
  if (sys::fs::exists(output) && !sys::fs::is_regular_file(output))
    return createStringError("output '" + output + "' is not a plain file");
  SmallString<128> prefix(output), folder;
  if (std::error_code error = sys::fs::make_absolute(prefix))
    return Scratch({}, output.str()).cannotWrite(error);
  std::lock_guard lock(unfinished().mutex);
  if (std::error_code error = sys::fs::createUniqueDirectory(prefix, folder))
    return Scratch({}, output.str()).cannotWrite(error);
  unfinished().folders.insert(folder.str().str());
  return Scratch(folder.str().str(), output.str());
}

Error Scratch::write(StringRef name, StringRef bytes) const {
  std::error_code error;
  // A file that appears while a signal empties the folder would stay.
  std::unique_lock lock(unfinished().mutex);
  raw_fd_ostream stream(path(name), error);
  lock.unlock();
  if (error)
    return cannotWrite(error);
  stream << bytes;
  stream.close();
  error = stream.error();
  stream.clear_error();
  return error ? cannotWrite(error) : Error::success();
}

Error Scratch::publish(StringRef name) const {
  std::lock_guard lock(unfinished().mutex);
  if (std::error_code error = sys::fs::rename(path(name), output))
    return cannotWrite(error);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Programs and signals
//===----------------------------------------------------------------------===//

int baton::link::execute(ArrayRef<std::string> arguments,
                         ArrayRef<std::optional<StringRef>> redirects,
                         std::string &message) {
  SmallVector<StringRef> references(arguments.begin(), arguments.end());
  sys::ProcessInfo process;
  {
    std::lock_guard lock(unfinished().mutex);
    bool failed = false;
    // Detached, it leads a group of its own, which a signal can be sent to.
    process = sys::ExecuteNoWait(arguments.front(), references,
                                 /*Env=*/std::nullopt, redirects,
                                 /*MemoryLimit=*/0, &message, &failed,
                                 /*AffinityMask=*/nullptr,
                                 /*DetachProcess=*/true);
    if (failed)
      return -1;
    unfinished().programs.insert(process.Pid);
  }
  int status =
      sys::Wait(process, /*SecondsToWait=*/std::nullopt, &message).ReturnCode;
  std::lock_guard lock(unfinished().mutex);
  unfinished().programs.erase(process.Pid);
  return status;
}

static std::string contents(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

Expected<std::string> baton::link::outputOf(const Scratch &scratch,
                                            ArrayRef<std::string> arguments) {
  // A file that is there would not be emptied first.
  for (const char *name : {"output", "errors"})
    (void)sys::fs::remove(scratch.path(name));
  std::string output = scratch.path("output"), errors = scratch.path("errors"),
              problem;
  int status = execute(
      arguments, {StringRef(), StringRef(output), StringRef(errors)}, problem);
  if (status == 0)
    return contents(output);
  std::string said = contents(errors);
  if (said.empty())
    said = problem.empty() ? "exit status " + std::to_string(status) : problem;
  return createStringError(said);
}

//===----------------------------------------------------------------------===//
// Programs whose output is read as it comes
//===----------------------------------------------------------------------===//

Expected<RunningProgram>
RunningProgram::start(const Scratch &scratch, StringRef file, StringRef name,
                      ArrayRef<std::string> arguments) {
  std::string errors = scratch.path(file);
  std::vector<char *> words;
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return createStringError(name + ": cannot be run: " + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  // It leads a group of its own, which a signal can be sent to.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::lock_guard lock(unfinished().mutex);
  pid_t process = -1;
  int failure = posix_spawn(&process, words.front(), &actions, &attributes,
                            words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failure) {
    close(ends[0]);
    return createStringError(name +
                             ": cannot be run: " + std::strerror(failure));
  }
  // More than a pipe has by itself, so that both sides wait less for the other.
  constexpr int kPipeBytes = 1 << 20;
  (void)fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
  unfinished().programs.insert(process);
  return RunningProgram(name.str(), std::move(errors), process, ends[0]);
}

RunningProgram::RunningProgram(RunningProgram &&other)
    : name(std::move(other.name)), errors(std::move(other.errors)),
      process(std::exchange(other.process, -1)),
      output(std::exchange(other.output, -1)) {}

RunningProgram::~RunningProgram() {
  if (process < 0)
    return;
  kill(-process, SIGKILL);
  wait();
}

int RunningProgram::wait() {
  close(std::exchange(output, -1));
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  std::lock_guard lock(unfinished().mutex);
  unfinished().programs.erase(std::exchange(process, -1));
  return status;
}

Error RunningProgram::fail(const Twine &what) const {
  return createStringError(name + ": " + what);
}

Error RunningProgram::read(void *data, size_t bytes) {
  auto *place = static_cast<char *>(data);
  while (bytes) {
    ssize_t count = ::read(output, place, bytes);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      Error error = finish();
      return error ? std::move(error)
                   : fail("ended before all of its output was there");
    }
    place += count;
    bytes -= static_cast<size_t>(count);
  }
  return Error::success();
}

Error RunningProgram::finish() {
  const int status = wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return Error::success();
  if (std::string said = contents(errors); !said.empty()) {
    StringRef text(said);
    text.consume_front("error: ");
    return fail(text);
  }
  return WIFSIGNALED(status)
             ? fail("ended by signal " + Twine(WTERMSIG(status)))
             : fail("exit status " + Twine(WEXITSTATUS(status)));
}

void baton::link::endOnSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // A shell starts background jobs with SIGINT ignored, nohup any with
    // SIGHUP; that stays.
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN)
      sigaddset(&signals, signal);
  }
  // Blocked here and in all threads to come, they reach the one that waits.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // What the linker's driver has started becomes this process's own child when
  // the driver is gone.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  unfinished();
  std::thread([signals] {
    int signal;
    sigwait(&signals, &signal);
    unfinished().mutex.lock();
    if (!unfinished().programs.empty()) {
      for (pid_t program : unfinished().programs)
        kill(-program, SIGKILL);
      while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR)
        ;
    }
    for (const std::string &folder : unfinished().folders)
      (void)sys::fs::remove_directories(folder);
    constexpr char message[] = "error: interrupted\n";
    [[maybe_unused]] ssize_t ignored =
        ::write(STDERR_FILENO, message, sizeof(message) - 1);
    _exit(1);
  }).detach();
}

//===- model_process.cpp - other programs that serve a model each ---------===//

#include "runtime/serve/model_process.h"

#include "runtime/error.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton {

namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// Of a line that says why a process has ended.
constexpr size_t longest_line = 1000;
/// Of a program that is asked what it is.
constexpr size_t longest_output = size_t(64) << 20;

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw Error(std::string("a pipe to a program cannot be made: ") +
                  std::strerror(errno));
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;

  int take_read() { return std::exchange(read, -1); }
  void close_read() {
    if (read >= 0)
      close(std::exchange(read, -1));
  }
  void close_write() {
    if (write >= 0)
      close(std::exchange(write, -1));
  }

  int read = -1, write = -1;
};

/// As execve() takes texts.
class TextPointers {
public:
  explicit TextPointers(std::vector<std::string> of) : texts(std::move(of)) {
    for (std::string &text : texts)
      pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
  char *const *data() const { return pointers.data(); }

private:
  std::vector<std::string> texts;
  std::vector<char *> pointers;
};

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>> &changes) {
  std::vector<std::string> result;
  for (char **entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(
            changes, [&](const auto &change) { return change.first == name; }))
      result.emplace_back(text);
  }
  for (const auto &[name, value] : changes)
    result.push_back(name + "=" + value);
  return result;
}

void say_within_fork(const char *text) {
  [[maybe_unused]] ssize_t ignored =
      write(STDERR_FILENO, text, std::strlen(text));
}

/// From a fork to its program: of a process with threads, only what signal
/// handlers may call.
[[noreturn]] void become(const char *program, char *const *arguments,
                         char *const *environment, int output, int error,
                         pid_t parent, const sigset_t &mask, rlim_t most) {
  // Handlers that were set would run here.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGBUS})
    std::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  // What a process does whose clients are gone is of no use to anybody.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  // Connections of clients would stay open as long as the program runs.
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
#endif
    for (rlim_t descriptor = 3; descriptor < most; ++descriptor)
      close(static_cast<int>(descriptor));
  execve(program, arguments, environment);
  say_within_fork("cannot be run: ");
  say_within_fork(std::strerror(errno));
  say_within_fork("\n");
  _exit(127);
}

pid_t start_process(const ProcessOptions &options, int output, int error) {
  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), options.program.string());
  const TextPointers arguments(std::move(words)),
      environment(environment_with(options.environment));
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t most = std::min<rlim_t>(limit.rlim_cur, 1 << 20);
  const pid_t parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = fork();
  if (process == 0)
    become(options.program.c_str(), arguments.data(), environment.data(),
           output, error, parent, before, most);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process < 0)
    throw Error(options.program.string() +
                " cannot be started: " + std::strerror(errno));
  return process;
}

/// Of a process, with the last line that it said.
std::string ending_text(int status, const std::string &last_line) {
  if (last_line.starts_with("error: "))
    return last_line.substr(7);
  const std::string text =
      WIFSIGNALED(status)
          ? "it was ended by signal " + std::to_string(WTERMSIG(status))
          : "it ended with status " + std::to_string(WEXITSTATUS(status));
  return text + (last_line.empty() ? "" : "; " + last_line);
}

/// The port of "http://127.0.0.1:8080".
std::optional<uint16_t> port_of(std::string_view line) {
  if (!line.starts_with("http://"))
    return std::nullopt;
  const std::string_view text = line.substr(line.rfind(':') + 1);
  uint16_t port = 0;
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc() || end != text.data() + text.size() || port == 0)
    return std::nullopt;
  return port;
}

/// Makes lines of parts.
class LineReader {
public:
  template <typename Function>
  void take(std::string_view part, Function function) {
    for (char letter : part) {
      if (letter == '\n')
        finish(function);
      else if (line.size() < longest_line)
        line += letter;
    }
  }
  template <typename Function> void finish(Function function) {
    if (!line.empty())
      function(std::exchange(line, {}));
  }

private:
  std::string line;
};

class RunningProcess : public ModelProcess,
                       public std::enable_shared_from_this<RunningProcess> {
public:
  RunningProcess(asio::io_context &context, std::string name, pid_t process,
                 int output, int error, Events events)
      : name(std::move(name)), process(process), events(std::move(events)),
        output(context, output), error(context, error) {}

  void end() override { signal(SIGTERM); }
  void kill() override { signal(SIGKILL); }

  void start() {
    read(output, output_part,
         [this](std::string_view part) { take_output(part); });
    read(error, error_part,
         [this](std::string_view part) { take_error(part); });
  }

  /// Whether it is gone. Does not wait unless it is to.
  bool reap(bool waits = false) {
    int status = 0;
    pid_t found = 0;
    do
      found = waitpid(process, &status, waits ? 0 : WNOHANG);
    while (found < 0 && errno == EINTR);
    if (found == 0)
      return false;
    is_gone = true;
    read_rest();
    ErrorCode ignored;
    (void)output.close(ignored);
    (void)error.close(ignored);
    const Events last = std::exchange(events, {});
    if (last.ended)
      last.ended(ending_text(status, last_line));
    return true;
  }

  void forget() { events = {}; }

private:
  void signal(int number) {
    if (!is_gone)
      ::kill(process, number);
  }

  template <typename Function>
  void read(asio::posix::stream_descriptor &from, std::array<char, 4096> &part,
            Function function) {
    from.async_read_some(asio::buffer(part),
                         [self = shared_from_this(), &from, &part,
                          function](ErrorCode failure, size_t size) {
                           if (failure || self->is_gone)
                             return;
                           function({part.data(), size});
                           self->read(from, part, function);
                         });
  }

  void take_output(std::string_view part) {
    output_lines.take(part, [this](const std::string &line) {
      const std::optional<uint16_t> port = port_of(line);
      if (port && !std::exchange(is_ready, true) && events.ready)
        events.ready(*port);
    });
  }

  void take_error(std::string_view part) {
    error_lines.take(part, [this](const std::string &line) { say(line); });
  }

  void say(const std::string &line) {
    // Notes are about what goes on.
    if (!line.starts_with("note: "))
      last_line = line;
    std::fprintf(stderr, "%s: %s\n", name.c_str(), line.c_str());
  }

  /// What it said before it ended.
  void read_rest() {
    ErrorCode failure;
    (void)error.non_blocking(true, failure);
    for (size_t turn = 0; !failure && turn < 256; ++turn) {
      const size_t size = error.read_some(asio::buffer(error_part), failure);
      take_error({error_part.data(), size});
    }
    error_lines.finish([this](const std::string &line) { say(line); });
  }

  const std::string name;
  const pid_t process;
  Events events;
  asio::posix::stream_descriptor output, error;
  std::array<char, 4096> output_part = {}, error_part = {};
  LineReader output_lines, error_lines;
  std::string last_line;
  bool is_ready = false, is_gone = false;
};

} // namespace

struct ModelProcesses::Implementation
    : std::enable_shared_from_this<Implementation> {
  explicit Implementation(asio::io_context &context)
      : context(context), signals(context, SIGCHLD) {}

  void wait() {
    signals.async_wait([self = weak_from_this()](ErrorCode failure, int) {
      const std::shared_ptr<Implementation> own = self.lock();
      if (failure || !own)
        return;
      own->wait();
      // Signals are not counted, and what is called may start others.
      const std::map<uint64_t, std::shared_ptr<RunningProcess>> all =
          own->running;
      for (const auto &[number, process] : all)
        if (process->reap())
          own->running.erase(number);
    });
  }

  asio::io_context &context;
  asio::signal_set signals;
  std::map<uint64_t, std::shared_ptr<RunningProcess>> running;
  uint64_t next = 0;
};

ModelProcesses::ModelProcesses(asio::io_context &context)
    : implementation(std::make_shared<Implementation>(context)) {
  implementation->wait();
}

ModelProcesses::~ModelProcesses() {
  for (const auto &[number, process] : implementation->running) {
    process->forget();
    process->kill();
  }
  for (const auto &[number, process] : implementation->running)
    process->reap(true);
}

std::shared_ptr<ModelProcess>
ModelProcesses::start(const ProcessOptions &options,
                      ModelProcess::Events events) {
  Pipe output, error;
  const pid_t process = start_process(options, output.write, error.write);
  auto running = std::make_shared<RunningProcess>(
      implementation->context, options.name, process, output.take_read(),
      error.take_read(), std::move(events));
  running->start();
  implementation->running[implementation->next++] = running;
  return running;
}

std::string output_of(const std::filesystem::path &program,
                      const std::vector<std::string> &arguments,
                      double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(
                                           static_cast<int64_t>(seconds * 1e3));
  Pipe output, error;
  const pid_t process = start_process({.name = {},
                                       .program = program,
                                       .arguments = arguments,
                                       .environment = {}},
                                      output.write, error.write);
  output.close_write();
  error.close_write();
  std::string text, complaint;
  bool in_time = true;
  std::array<pollfd, 2> files = {
      {{output.read, POLLIN, 0}, {error.read, POLLIN, 0}}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    const int found = left.count() <= 0 ? 0
                                        : poll(files.data(), files.size(),
                                               static_cast<int>(left.count()));
    if (found < 0 && errno == EINTR)
      continue;
    if (found <= 0 || text.size() + complaint.size() > longest_output) {
      in_time = false;
      break;
    }
    for (pollfd &file : files) {
      if (file.fd < 0 || !file.revents)
        continue;
      char part[4096];
      const ssize_t size = read(file.fd, part, sizeof part);
      if (size <= 0)
        file.fd = -1;
      else
        (&file == files.data() ? text : complaint)
            .append(part, static_cast<size_t>(size));
    }
  }
  if (!in_time)
    ::kill(process, SIGKILL);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    continue;
  if (!in_time)
    throw Error("it has not ended within " +
                std::to_string(static_cast<int>(seconds)) + " s");
  if (status != 0) {
    while (complaint.ends_with('\n'))
      complaint.pop_back();
    throw Error(
        ending_text(status, complaint.substr(complaint.rfind('\n') + 1)));
  }
  return text;
}

} // namespace baton

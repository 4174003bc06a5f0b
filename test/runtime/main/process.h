//===- process.h - runs a program and collects what it says --------------===//

#ifndef BATON_TEST_RUNTIME_MAIN_PROCESS_H
#define BATON_TEST_RUNTIME_MAIN_PROCESS_H

#include <string>
#include <vector>

#include <sys/types.h>

namespace baton::test {

struct Result {
  /// The exit status, or minus the signal that ended the process.
  int status;
  std::string output;
  std::string errors;
};

/// A child process whose standard output and error are pipes to this one.
class Process {
public:
  /// `output` is a path to open as standard output instead of a pipe.
  explicit Process(const std::vector<std::string> &command,
                   const std::string &output = "");
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;
  ~Process();

  /// Waits for at least one byte of standard output; empty at its end.
  std::string read_some();
  void close_output();
  void send(int signal);
  /// What has not been read yet, and the status.
  Result wait();

private:
  pid_t child;
  int output;
  int errors;
};

inline Result run(const std::vector<std::string> &command) {
  return Process(command).wait();
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_MAIN_PROCESS_H

//===- process.cpp - runs a program and collects what it says ------------===//

#include "process.h"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::test {

Process::Process(const std::vector<std::string> &command,
                 const std::string &output_path) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  child = fork();
  // As a process id, -1 would send signals to everything there is.
  if (child < 0)
    throw std::runtime_error("no process");
  if (child == 0) {
    if (!output_path.empty())
      out[1] = open(output_path.c_str(), O_WRONLY | O_CREAT, 0666);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  output = out[0];
  errors = err[0];
}

Process::~Process() {
  close_output();
  if (errors >= 0)
    close(errors);
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

std::string Process::read_some() {
  char buffer[4096];
  ssize_t count = read(output, buffer, sizeof(buffer));
  return {buffer, static_cast<size_t>(count > 0 ? count : 0)};
}

void Process::close_output() {
  if (output >= 0)
    close(output);
  output = -1;
}

void Process::send(int signal) {
  if (child > 0)
    kill(child, signal);
}

Result Process::wait() {
  Result result;
  // Both at once: a full pipe that nobody reads would stop the child.
  pollfd pipes[] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
  std::string *texts[] = {&result.output, &result.errors};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    poll(pipes, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (pipes[i].fd < 0 || !(pipes[i].revents & (POLLIN | POLLHUP)))
        continue;
      char buffer[4096];
      ssize_t count = read(pipes[i].fd, buffer, sizeof(buffer));
      if (count > 0)
        texts[i]->append(buffer, static_cast<size_t>(count));
      else
        pipes[i].fd = -1;
    }
  }
  int status;
  waitpid(child, &status, 0);
  child = -1;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result;
}

} // namespace baton::test

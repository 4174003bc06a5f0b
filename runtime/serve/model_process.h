//===- model_process.h - other programs that serve a model each -----------===//

#ifndef BATON_RUNTIME_SERVE_MODEL_PROCESS_H
#define BATON_RUNTIME_SERVE_MODEL_PROCESS_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace baton {

struct ProcessOptions {
  /// What stands before each line that the process says on standard error.
  std::string name;
  std::filesystem::path program;
  std::vector<std::string> arguments;
  /// Instead of what this process has of the name.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// A program that prints the address where it serves, and serves until it ends.
/// It ends with this process, however that ends, and hears no signal of its
/// terminal. In the context's thread, which has to be the one that starts it:
/// Linux ends the children of a thread.
class ModelProcess {
public:
  struct Events {
    /// It serves at 127.0.0.1, at this port.
    std::function<void(uint16_t port)> ready;
    /// It is gone: the error that it said last, or how it ended.
    std::function<void(const std::string &why)> ended;
  };

  virtual ~ModelProcess() = default;
  /// Asks it to finish what it does, and to end.
  virtual void end() = 0;
  /// Does not ask.
  virtual void kill() = 0;
};

/// Starts processes, and notices their ends. Kills those that are left.
class ModelProcesses {
public:
  explicit ModelProcesses(boost::asio::io_context &context);
  ~ModelProcesses();
  ModelProcesses(const ModelProcesses &) = delete;
  ModelProcesses &operator=(const ModelProcesses &) = delete;

  /// Throws Error when there can be no process; a program that cannot be run
  /// is one that ends.
  std::shared_ptr<ModelProcess> start(const ProcessOptions &options,
                                      ModelProcess::Events events);

  struct Implementation;

private:
  std::shared_ptr<Implementation> implementation;
};

/// What the program prints to standard output; it has that many seconds. Throws
/// Error with the reason when it fails, or when it takes longer.
std::string output_of(const std::filesystem::path &program,
                      const std::vector<std::string> &arguments,
                      double seconds);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_MODEL_PROCESS_H

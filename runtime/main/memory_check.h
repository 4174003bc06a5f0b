//===- memory_check.h - the report that --check-memory asks for -----------===//

#ifndef BATON_RUNTIME_MAIN_MEMORY_CHECK_H
#define BATON_RUNTIME_MAIN_MEMORY_CHECK_H

#include "runtime/execute/execution.h"
#include "runtime/files/temporary.h"
#include "runtime/main/run_options.h"

#include <optional>

namespace baton {

/// Watches what tasks touch in an execution's runs while it exists, if the
/// options say so. Of several ranks each watches its own tasks, and rank 0
/// writes what its tasks have touched; where ranks run other programs, in
/// stages of a pipeline, what the tasks of each have.
class MemoryCheck {
public:
  /// Throws Error when the program cannot be watched, or the file not be
  /// written there.
  MemoryCheck(const Metadata &metadata, const RunOptions &options,
              Execution &execution, Communicator *communicator = nullptr);
  MemoryCheck(const MemoryCheck &) = delete;
  ~MemoryCheck();

  /// Puts the file into its place: all of it, or nothing and an Error.
  void publish();

private:
  Execution &execution;
  Communicator *communicator;
  std::optional<TaskTouches> touches;
  std::optional<TemporaryFile> file;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MEMORY_CHECK_H

//===- child.h - other programs that a command runs -----------------------===//

#ifndef BATON_TOOLS_COMMAND_CHILD_H
#define BATON_TOOLS_COMMAND_CHILD_H

#include <filesystem>
#include <string>
#include <vector>

namespace baton {

/// Runs a program, whose messages are the user's to read. It ends when this
/// process does. What it prints goes to the file `output`, or, without, to
/// standard output. Throws Error where it cannot be run, and AlreadySaid when
/// it fails.
void run_child(const std::vector<std::string> &words,
               const std::filesystem::path &output = {});

/// The same without what it prints, but for standard error, which goes to the
/// file. Whether its status is 0; throws Error when it cannot be run, or a
/// signal has ended it. Threads may call this at once.
bool run_quiet_child(const std::vector<std::string> &words,
                     const std::filesystem::path &errors);

/// A folder, until the end of a scope.
struct ScratchFolder {
  /// Throws Error when it cannot be made.
  explicit ScratchFolder(const std::filesystem::path &path);
  ScratchFolder(const ScratchFolder &) = delete;
  ~ScratchFolder();

  std::filesystem::path path;
};

} // namespace baton

#endif // BATON_TOOLS_COMMAND_CHILD_H

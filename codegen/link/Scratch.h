//===- Scratch.h - outputs that are complete or not there -----------------===//
//
// An output is made in a folder of its own beside its final place, and renamed.
// Whatever programs that help put there goes with the folder.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_LINK_SCRATCH_H
#define BATON_CODEGEN_LINK_SCRATCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace baton::link {

/// A folder that is removed with all it holds. Errors are one line that names
/// the output.
class Scratch {
public:
  /// Creates it. The output is absent or a plain file.
  static llvm::Expected<Scratch> beside(llvm::StringRef output);
  Scratch(Scratch &&other);
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch();

  std::string path(llvm::StringRef name) const {
    return folder + "/" + name.str();
  }
  llvm::Error write(llvm::StringRef name, llvm::StringRef bytes) const;
  /// Renames one of its files to the output.
  llvm::Error publish(llvm::StringRef name) const;

private:
  Scratch(std::string folder, std::string output);
  llvm::Error cannotWrite(std::error_code error) const;

  std::string folder;
  std::string output;
};

/// Runs a program to its end, as llvm::sys::ExecuteAndWait; a signal ends it
/// too.
int execute(llvm::ArrayRef<std::string> arguments,
            llvm::ArrayRef<std::optional<llvm::StringRef>> redirects,
            std::string &message);

/// Runs a program that reads nothing, and returns what it prints, without the
/// last line's end. Fails with what it says on standard error. Its output goes
/// through the folder.
llvm::Expected<std::string> outputOf(const Scratch &scratch,
                                     llvm::ArrayRef<std::string> arguments);

/// A program that runs, reads nothing, and prints what is read as it comes.
class RunningProgram {
public:
  /// `name` is what errors call it. What it says on standard error goes to
  /// `file` in the folder, which outlives it.
  static llvm::Expected<RunningProgram>
  start(const Scratch &scratch, llvm::StringRef file, llvm::StringRef name,
        llvm::ArrayRef<std::string> arguments);
  RunningProgram(RunningProgram &&other);
  RunningProgram(const RunningProgram &) = delete;
  RunningProgram &operator=(const RunningProgram &) = delete;
  /// Ends it, where it still runs.
  ~RunningProgram();

  /// Waits for so many bytes. Fails with what the program says on standard
  /// error, when it ends before.
  llvm::Error read(void *data, size_t bytes);
  /// Waits for its end; it prints no more. Fails as read() does, unless its
  /// status is 0.
  llvm::Error finish();
  /// An error that names the program.
  llvm::Error fail(const llvm::Twine &what) const;

private:
  RunningProgram(std::string name, std::string errors, int process, int output)
      : name(std::move(name)), errors(std::move(errors)), process(process),
        output(output) {}
  /// Its status, once it has ended.
  int wait();

  std::string name, errors;
  /// -1: none.
  int process, output;
};

/// From here on SIGINT, SIGTERM and SIGHUP end the process with one line and
/// status 1, without scratch folders and programs that still run. Called before
/// there are threads.
void endOnSignals();

} // namespace baton::link

#endif // BATON_CODEGEN_LINK_SCRATCH_H

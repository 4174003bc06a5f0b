//===- Link.cpp - from an object to one executable ------------------------===//

#include "codegen/link/Link.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

namespace {

/// A file that is gone when this is, unless it was kept.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (path.empty())
      return;
    sys::fs::remove(path);
    sys::DontRemoveFileOnSignal(path);
  }

  /// Creates a file of an unused name; `%` in `model` becomes a random digit.
  std::error_code create(const Twine &model) {
    int descriptor;
    SmallString<128> result;
    if (std::error_code error =
            sys::fs::createUniqueFile(model, descriptor, result))
      return error;
    path = result.str().str();
    sys::RemoveFileOnSignal(path);
    stream = std::make_unique<raw_fd_ostream>(descriptor, /*shouldClose=*/true);
    return {};
  }

  /// Appends `bytes` and closes the file.
  std::error_code finish(StringRef bytes) {
    *stream << bytes;
    stream->close();
    std::error_code error = stream->error();
    stream->clear_error();
    return error;
  }

  std::error_code rename(const Twine &to) {
    if (std::error_code error = sys::fs::rename(path, to))
      return error;
    sys::DontRemoveFileOnSignal(path);
    path.clear();
    return {};
  }

  const std::string &name() const { return path; }

private:
  std::string path;
  std::unique_ptr<raw_fd_ostream> stream;
};

} // namespace

/// A path is taken as it is, a name is looked up in PATH.
static std::string findProgram(StringRef name) {
  if (name.contains('/'))
    return sys::fs::can_execute(name) ? name.str() : std::string();
  ErrorOr<std::string> found = sys::findProgramByName(name);
  return found ? *found : std::string();
}

static Expected<std::string> findDriver(StringRef wanted) {
  std::string source = "the chosen linker driver";
  if (wanted.empty()) {
    source = "BATON_CLANGXX";
    if (const char *variable = std::getenv("BATON_CLANGXX"))
      wanted = variable;
  }
  if (!wanted.empty()) {
    std::string path = findProgram(wanted);
    if (path.empty())
      return createStringError(source + " names '" + wanted +
                               "', which is no program");
    return path;
  }
  for (StringRef candidate : {BATON_DEFAULT_CLANGXX, "clang++-19"})
    if (std::string path = findProgram(candidate); !path.empty())
      return path;
  return createStringError("clang++-19, which links executables, was not "
                           "found; install clang-19 and lld-19 or set "
                           "BATON_CLANGXX to its path");
}

/// The line of the driver's output that says most.
static std::string summarize(StringRef diagnostics) {
  SmallVector<StringRef> lines;
  diagnostics.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("error: "))
      return line.trim().str();
  return lines.empty() ? "no diagnostics" : lines.front().trim().str();
}

/// Runs `arguments`; what it prints becomes part of the error.
static Error run(ArrayRef<std::string> arguments, const Twine &what) {
  TemporaryFile diagnostics;
  SmallString<128> folder;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  if (std::error_code error =
          diagnostics.create(folder + "/baton-link-%%%%%%%%.txt"))
    return createStringError("cannot write to folder '" + folder.str() +
                             "': " + error.message());
  diagnostics.finish("");
  std::optional<StringRef> redirects[] = {StringRef(""), diagnostics.name(),
                                          diagnostics.name()};
  SmallVector<StringRef> references(arguments.begin(), arguments.end());
  std::string message;
  int status =
      sys::ExecuteAndWait(arguments.front(), references,
                          /*Env=*/std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (status == 0)
    return Error::success();
  if (message.empty())
    if (auto text = MemoryBuffer::getFile(diagnostics.name()))
      message = summarize((*text)->getBuffer());
  return createStringError(what + " failed: " + message);
}

Error baton::link::linkExecutable(StringRef object, StringRef output,
                                  const LinkOptions &options) {
  if (sys::fs::is_directory(output))
    return createStringError("output '" + output + "' is a folder");
  // Renaming onto a device would replace it.
  if (sys::fs::exists(output) && !sys::fs::is_regular_file(output))
    return createStringError("output '" + output + "' is not a plain file");
  for (const std::string &archive : options.archives)
    if (!sys::fs::exists(archive))
      return createStringError("runtime library '" + archive +
                               "' is missing; Baton is not fully installed");
  Expected<std::string> driver = findDriver(options.driver);
  if (!driver)
    return driver.takeError();

  StringRef folder = sys::path::parent_path(output);
  if (folder.empty())
    folder = ".";
  auto cannotWrite = [&](std::error_code error) {
    return createStringError("cannot write '" + output + "' in folder '" +
                             folder + "': " + error.message());
  };
  TemporaryFile input, executable;
  if (std::error_code error = input.create(output + ".%%%%%%%%.o"))
    return cannotWrite(error);
  if (std::error_code error = input.finish(object))
    return cannotWrite(error);
  if (std::error_code error = executable.create(output + ".%%%%%%%%"))
    return cannotWrite(error);
  if (std::error_code error = executable.finish(""))
    return cannotWrite(error);

  std::vector<std::string> arguments = {*driver, "-fuse-ld=lld"};
  if (!options.sanitize.empty())
    arguments.push_back("-fsanitize=" + options.sanitize);
  arguments.insert(arguments.end(),
                   {"-static-libstdc++", "-static-libgcc", "-pthread", "-pie",
                    "-Wl,--gc-sections", "-Wl,--build-id=none",
                    "-Wl,--as-needed", "-o", executable.name(), input.name()});
  arguments.insert(arguments.end(), options.archives.begin(),
                   options.archives.end());
  arguments.push_back("-ldl");
  if (Error error = run(arguments, "linking '" + output + "'"))
    return error;
  if (std::error_code error = executable.rename(output))
    return cannotWrite(error);
  return Error::success();
}

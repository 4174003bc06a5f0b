//===- Link.cpp - from an object to one executable ------------------------===//

#include "codegen/link/Link.h"

#include "codegen/link/Scratch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace llvm;

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

Error baton::link::linkExecutable(StringRef object, StringRef output,
                                  const LinkOptions &options) {
  Expected<Scratch> scratch = Scratch::beside(output);
  if (!scratch)
    return scratch.takeError();
  for (const std::string &archive : options.archives)
    if (!sys::fs::exists(archive))
      return createStringError("runtime library '" + archive +
                               "' is missing; Baton is not fully installed");
  Expected<std::string> driver = findDriver(options.driver);
  if (!driver)
    return driver.takeError();
  for (auto [name, bytes] :
       {std::pair<const char *, StringRef>{"object.o", object},
        {"diagnostics", ""}})
    if (Error error = scratch->write(name, bytes))
      return error;

  std::vector<std::string> arguments = {*driver, "-fuse-ld=lld"};
  if (!options.sanitize.empty())
    arguments.push_back("-fsanitize=" + options.sanitize);
  arguments.insert(arguments.end(),
                   {"-static-libstdc++", "-static-libgcc", "-pthread", "-pie",
                    "-Wl,--gc-sections", "-Wl,--build-id=none",
                    "-Wl,--as-needed", "-o", scratch->path("executable"),
                    scratch->path("object.o")});
  arguments.insert(arguments.end(), options.archives.begin(),
                   options.archives.end());
  arguments.push_back("-ldl");
  std::string diagnostics = scratch->path("diagnostics"), message;
  if (execute(arguments,
              {StringRef(""), StringRef(diagnostics), StringRef(diagnostics)},
              message) != 0) {
    if (message.empty())
      if (auto text = MemoryBuffer::getFile(diagnostics))
        message = summarize((*text)->getBuffer());
    return createStringError("linking '" + output + "' failed: " + message);
  }
  return scratch->publish("executable");
}

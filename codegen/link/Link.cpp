//===- Link.cpp - from objects to one executable --------------------------===//

#include "codegen/link/Link.h"

#include "codegen/link/Cache.h"
#include "codegen/link/Scratch.h"

#include "llvm/ADT/STLExtras.h"
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

Expected<std::string> baton::link::findDriver(StringRef wanted) {
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

/// Runs the driver, whose output names what went wrong when it fails.
static Error run(const std::vector<std::string> &arguments,
                 const baton::link::Scratch &scratch, const Twine &task) {
  if (Error error = scratch.write("diagnostics", ""))
    return error;
  std::string diagnostics = scratch.path("diagnostics"), message;
  if (baton::link::execute(
          arguments,
          {StringRef(""), StringRef(diagnostics), StringRef(diagnostics)},
          message) == 0)
    return Error::success();
  if (message.empty())
    if (auto text = MemoryBuffer::getFile(diagnostics))
      message = summarize((*text)->getBuffer());
  return createStringError(task + " failed: " + message);
}

Error baton::link::linkExecutable(ArrayRef<StringRef> objects, StringRef output,
                                  const LinkOptions &options) {
  Expected<Scratch> scratch = Scratch::beside(output);
  if (!scratch)
    return scratch.takeError();
  for (const std::string &archive : options.archives)
    if (!sys::fs::exists(archive))
      return createStringError(
          "runtime library '" + archive + "' is missing; " +
          (options.sanitize.empty()
               ? "Baton is not fully installed"
               : "in Baton's source tree, tools/build release "
                 "baton-sanitizers builds those of --sanitize"));
  Expected<std::string> driver = findDriver(options.driver);
  if (!driver)
    return driver.takeError();

  std::vector<std::string> arguments = {*driver, "-fuse-ld=lld"};
  if (!options.sanitize.empty())
    arguments.push_back("-fsanitize=" + options.sanitize);
  if (options.isShared)
    arguments.push_back("-shared");
  else
    arguments.insert(arguments.end(),
                     {"-static-libstdc++", "-static-libgcc", "-pie"});
  arguments.insert(arguments.end(),
                   {"-pthread", "-Wl,--gc-sections", "-Wl,--build-id=none",
                    "-Wl,--as-needed", "-o", scratch->path("executable")});
  for (auto [i, object] : enumerate(objects)) {
    std::string name = "object" + std::to_string(i) + ".o";
    if (Error error = scratch->write(name, object))
      return error;
    arguments.push_back(scratch->path(name));
  }
  arguments.insert(arguments.end(), options.archives.begin(),
                   options.archives.end());
  arguments.push_back("-ldl");
  if (Error error = run(arguments, *scratch, "linking '" + output + "'"))
    return error;
  return scratch->publish("executable");
}

static Expected<std::string> compile(StringRef driver, StringRef source,
                                     StringRef output,
                                     ArrayRef<std::string> flags) {
  using baton::link::Scratch;
  Expected<Scratch> scratch = Scratch::beside(output);
  if (!scratch)
    return scratch.takeError();
  if (Error error = scratch->write("kernel.cpp", source))
    return std::move(error);
  std::vector<std::string> arguments = {driver.str()};
  append_range(arguments, flags);
  // Without a path that changes from run to run.
  append_range(arguments,
               std::vector<std::string>{
                   "-ffile-prefix-map=" + scratch->path("") + "=", "-c", "-o",
                   scratch->path("kernel.o"), scratch->path("kernel.cpp")});
  if (Error error = run(arguments, *scratch, "compiling for '" + output + "'"))
    return std::move(error);
  auto bytes =
      MemoryBuffer::getFile(scratch->path("kernel.o"), /*IsText=*/false,
                            /*RequiresNullTerminator=*/false,
                            /*IsVolatile=*/true);
  if (!bytes)
    return createStringError(
        "compiling for '" + output +
        "': the object cannot be read: " + bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

/// Empty where something that the object depends on cannot be read.
static std::string keyOf(StringRef driver, StringRef source,
                         ArrayRef<std::string> flags,
                         const baton::link::SourceOptions &options) {
  using baton::link::Cache;
  std::optional<std::string> compiler = Cache::identityOf(driver);
  auto headers = Cache::filesBelow(options.headers);
  if (!compiler || !headers)
    return {};
  std::string count = std::to_string(flags.size());
  SmallVector<StringRef> items = {*compiler, options.processor, source, count};
  append_range(items, flags);
  append_range(items, *headers);
  return Cache::key(items);
}

Expected<baton::link::Object>
baton::link::compileSource(StringRef source, StringRef output,
                           const SourceOptions &options) {
  Expected<std::string> driver = findDriver(options.driver);
  if (!driver)
    return driver.takeError();
  std::vector<std::string> flags = options.flags;
  flags.push_back("-I" + options.headers);
  Cache cache(options.cache);
  std::string key =
      options.cache.empty() ? "" : keyOf(*driver, source, flags, options);
  if (!key.empty())
    if (auto found = cache.find(Cache::Kind::object, key))
      return Object{std::move(*found), /*cached=*/true};
  Expected<std::string> bytes = compile(*driver, source, output, flags);
  if (!bytes)
    return bytes.takeError();
  if (!key.empty())
    cache.store(Cache::Kind::object, key, *bytes);
  return Object{std::move(*bytes)};
}

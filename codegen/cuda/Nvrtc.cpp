//===- Nvrtc.cpp - from CUDA C++ to a cubin -------------------------------===//

#include "codegen/cuda/Nvrtc.h"

#include "codegen/link/Cache.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <cstdlib>

#include <dlfcn.h>

using namespace llvm;

namespace {

/// The part of NVRTC's interface that is used (NVRTC 13.0, nvrtc.h), so that
/// building Baton takes no toolkit.
struct Nvrtc {
  using Program = void *;
  /// The version, and, with the file, whose name and size tell updates of a
  /// version apart, which it is.
  int major = 0, minor = 0;
  std::string identity;
  const char *(*errorString)(int result);
  int (*version)(int *major, int *minor);
  int (*createProgram)(Program *program, const char *source, const char *name,
                       int headerCount, const char *const *headers,
                       const char *const *includeNames);
  int (*destroyProgram)(Program *program);
  int (*compileProgram)(Program program, int optionCount,
                        const char *const *options);
  int (*cubinSize)(Program program, size_t *size);
  int (*cubin)(Program program, char *bytes);
  int (*logSize)(Program program, size_t *size);
  int (*log)(Program program, char *text);
};

} // namespace

/// Where a toolkit may be: what the caller says, what the environment says, the
/// usual place, and the loader's own path.
static SmallVector<std::string>
candidates(const std::vector<std::string> &toolkits) {
  SmallVector<std::string> folders(toolkits.begin(), toolkits.end());
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char *value = std::getenv(variable))
      folders.push_back(std::string(value) + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  SmallVector<std::string> files;
  for (const std::string &folder : folders)
    for (const char *version : {"13", "12"})
      files.push_back(folder + "/libnvrtc.so." + version);
  files.append({"libnvrtc.so.13", "libnvrtc.so.12"});
  return files;
}

static std::string identityOf(const Nvrtc &nvrtc) {
  std::string identity = (Twine(nvrtc.major) + "." + Twine(nvrtc.minor)).str();
  Dl_info info;
  SmallString<128> file;
  uint64_t bytes = 0;
  if (dladdr(reinterpret_cast<void *>(nvrtc.version), &info) &&
      !sys::fs::real_path(info.dli_fname, file) &&
      !sys::fs::file_size(file, bytes))
    identity += (" " + sys::path::filename(file) + " " + Twine(bytes)).str();
  return identity;
}

static Expected<Nvrtc> openNvrtc(const std::vector<std::string> &toolkits) {
  void *library = nullptr;
  for (const std::string &file : candidates(toolkits))
    if ((library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)))
      break;
  if (!library)
    return createStringError(
        "NVRTC, which compiles CUDA kernels, was not found; run "
        "tools/install-cuda, or set CUDA_PATH to a CUDA toolkit 12 or 13");
  Nvrtc nvrtc;
  bool complete = true;
  auto resolve = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
    complete &= function != nullptr;
  };
  resolve("nvrtcGetErrorString", nvrtc.errorString);
  resolve("nvrtcVersion", nvrtc.version);
  resolve("nvrtcCreateProgram", nvrtc.createProgram);
  resolve("nvrtcDestroyProgram", nvrtc.destroyProgram);
  resolve("nvrtcCompileProgram", nvrtc.compileProgram);
  resolve("nvrtcGetCUBINSize", nvrtc.cubinSize);
  resolve("nvrtcGetCUBIN", nvrtc.cubin);
  resolve("nvrtcGetProgramLogSize", nvrtc.logSize);
  resolve("nvrtcGetProgramLog", nvrtc.log);
  if (!complete)
    return createStringError("the NVRTC that was found lacks functions of "
                             "CUDA 12; install a newer CUDA toolkit");
  nvrtc.version(&nvrtc.major, &nvrtc.minor);
  nvrtc.identity = identityOf(nvrtc);
  return nvrtc;
}

/// The line of the compiler's output that says most.
static std::string summarize(StringRef log) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("error"))
      return line.trim().str();
  return lines.empty() ? "no diagnostics" : lines.front().trim().str();
}

/// A number that ptxas reports.
static int64_t reported(StringRef log, StringRef pattern) {
  SmallVector<StringRef> groups;
  int64_t number = 0;
  if (Regex(pattern).match(log, &groups))
    (void)to_integer(groups[1], number);
  return number;
}

static std::vector<std::string>
argumentsFor(const Nvrtc &nvrtc, const baton::cuda::CubinOptions &options) {
  std::vector<std::string> arguments = {
      "--gpu-architecture=" + options.architecture,
      "--include-path=" + options.headers, "--std=c++17",
      // As in the task library of the CPU: nothing is fused but where written.
      "--fmad=false",
      // Line numbers for profilers cost nothing.
      "--generate-line-info", "--ptxas-options=-v"};
  for (const std::string &folder : options.moreHeaders)
    arguments.push_back("--include-path=" + folder);
  // Since CUDA 12.9. A kernel that trains takes a tenth of the time.
  if (options.optimization < 3 &&
      std::pair(nvrtc.major, nvrtc.minor) >= std::pair(12, 9))
    arguments.push_back(std::string("--Ofast-compile=") +
                        (options.optimization == 1 ? "max" : "min"));
  return arguments;
}

static Expected<baton::cuda::Cubin> compile(const Nvrtc &nvrtc,
                                            StringRef source,
                                            StringRef architecture,
                                            ArrayRef<std::string> arguments) {
  auto fail = [&](const Twine &what) {
    return createStringError("compiling for " + architecture + ": " + what);
  };
  Nvrtc::Program program = nullptr;
  // Of a relative name the line numbers would name the working directory.
  if (int result = nvrtc.createProgram(&program, source.str().c_str(),
                                       "/kernel.cu", 0, nullptr, nullptr))
    return fail(nvrtc.errorString(result));
  auto destroy = make_scope_exit([&] { nvrtc.destroyProgram(&program); });

  auto pointers = map_to_vector(
      arguments, [](const std::string &text) { return text.c_str(); });
  int result = nvrtc.compileProgram(program, pointers.size(), pointers.data());
  size_t size = 0;
  nvrtc.logSize(program, &size);
  std::string log(size, '\0');
  nvrtc.log(program, log.data());
  if (result)
    return fail(Twine(nvrtc.errorString(result)) + ": " +
                summarize(StringRef(log.c_str())));

  baton::cuda::Cubin cubin;
  if (nvrtc.cubinSize(program, &size) || size == 0)
    return fail("NVRTC gives no cubin");
  cubin.bytes.resize(size);
  nvrtc.cubin(program, cubin.bytes.data());
  // Of kernels, and of each function that they call.
  SmallVector<StringRef> lines;
  StringRef(log).split(lines, '\n');
  for (StringRef line : lines) {
    cubin.registers =
        std::max(cubin.registers, reported(line, "Used ([0-9]+) registers"));
    cubin.spilledBytes += reported(line, "([0-9]+) bytes spill stores");
    cubin.serialized += line.contains("instructions are serialized");
    cubin.sharedBytes =
        std::max(cubin.sharedBytes, reported(line, "([0-9]+) bytes smem"));
  }
  return cubin;
}

/// A cubin as it is kept: a line of its figures, and its bytes.
static std::string write(const baton::cuda::Cubin &cubin) {
  std::string text =
      formatv("{0} {1} {2} {3}\n", cubin.registers, cubin.spilledBytes,
              cubin.sharedBytes, cubin.serialized);
  return text.append(cubin.bytes.begin(), cubin.bytes.end());
}

static std::optional<baton::cuda::Cubin> read(StringRef text) {
  auto [figures, bytes] = text.split('\n');
  SmallVector<StringRef, 4> numbers;
  figures.split(numbers, ' ');
  baton::cuda::Cubin cubin;
  if (numbers.size() != 4 || !to_integer(numbers[0], cubin.registers) ||
      !to_integer(numbers[1], cubin.spilledBytes) ||
      !to_integer(numbers[2], cubin.sharedBytes) ||
      !to_integer(numbers[3], cubin.serialized))
    return std::nullopt;
  cubin.bytes.assign(bytes.begin(), bytes.end());
  cubin.cached = true;
  return cubin;
}

Expected<baton::cuda::Cubin>
baton::cuda::compileCubin(StringRef source, const CubinOptions &options) {
  using link::Cache;
  Expected<Nvrtc> nvrtc = openNvrtc(options.toolkits);
  if (!nvrtc)
    return nvrtc.takeError();
  std::vector<std::string> arguments = argumentsFor(*nvrtc, options);
  auto headers = Cache::filesBelow(options.headers);
  if (options.cache.empty() || !headers)
    return compile(*nvrtc, source, options.architecture, arguments);

  std::vector<StringRef> items = {nvrtc->identity, source};
  append_range(items, arguments);
  append_range(items, *headers);
  std::string key = Cache::key(items);
  Cache cache(options.cache);
  if (std::optional<std::string> found = cache.find(Cache::Kind::cubin, key))
    if (std::optional<Cubin> cubin = read(*found))
      return std::move(*cubin);
  Expected<Cubin> cubin =
      compile(*nvrtc, source, options.architecture, arguments);
  if (cubin)
    cache.store(Cache::Kind::cubin, key, write(*cubin));
  return cubin;
}

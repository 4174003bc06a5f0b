//===- nccl_library.cpp - NCCL, opened at run time ------------------------===//

#include "runtime/comm/nccl_library.h"

#include "runtime/error.h"

#include <cstdlib>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

namespace baton {

namespace {

/// Where it may be: where the user says, or else on the loader's path or in a
/// toolkit.
std::vector<std::string> candidates() {
  if (const char *file = std::getenv("BATON_NCCL"))
    return {file};
  std::vector<std::string> files = {"libnccl.so.2"};
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char *toolkit = std::getenv(variable))
      files.push_back(std::string(toolkit) + "/lib64/libnccl.so.2");
  files.push_back("/usr/local/cuda/lib64/libnccl.so.2");
  return files;
}

/// 2.28.9 is 22809.
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

NcclLibrary open_library() {
  NcclLibrary library = {};
  void *opened = nullptr;
  for (const std::string &file : candidates())
    if ((opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))) {
      library.file = file;
      break;
    }
  if (!opened) {
    const char *file = std::getenv("BATON_NCCL");
    throw Error("NCCL, by which ranks on GPUs exchange tensors, was not found "
                "(" +
                std::string(file ? file : "libnccl.so.2") +
                "); BATON_NCCL names its file, CUDA_PATH a toolkit");
  }
  const std::string needed =
      "; this program needs " + version_text(NcclLibrary::least_version);
  auto resolve = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(opened, name));
    if (!function)
      throw Error("NCCL (" + library.file + ") is too old: it lacks " + name +
                  needed);
  };
  resolve("ncclGetVersion", library.get_version);
  if (library.get_version(&library.version) != NcclLibrary::success)
    throw Error("NCCL (" + library.file + ") does not say its version");
  if (library.version < NcclLibrary::least_version)
    throw Error("NCCL (" + library.file + ") is too old: it is " +
                version_text(library.version) + needed);
  resolve("ncclGetErrorString", library.error_string);
  resolve("ncclGetLastError", library.last_error);
  resolve("ncclGetUniqueId", library.get_unique_id);
  resolve("ncclCommInitRankConfig", library.init);
  resolve("ncclCommGetAsyncError", library.async_error);
  resolve("ncclCommDestroy", library.destroy);
  resolve("ncclGroupStart", library.group_start);
  resolve("ncclGroupEnd", library.group_end);
  resolve("ncclSend", library.send);
  resolve("ncclRecv", library.receive);
  resolve("ncclAllGather", library.all_gather);
  return library;
}

} // namespace

const NcclLibrary &NcclLibrary::get() {
  static const NcclLibrary library = open_library();
  return library;
}

std::string NcclLibrary::name() const {
  return "NCCL " + version_text(version) + " (" + file + ")";
}

std::string NcclLibrary::text(Result result, Comm communicator) const {
  const char *meaning = error_string(result);
  std::string text = meaning ? meaning : "unknown error";
  text += " (NCCL result " + std::to_string(result) + ")";
  const char *more = last_error(communicator);
  if (!more || !*more)
    return text;
  text += ": ";
  for (; *more; ++more)
    if (static_cast<unsigned char>(*more) >= ' ')
      text += *more;
    else if (text.back() != ' ')
      text += ' ';
  while (text.back() == ' ')
    text.pop_back();
  return text;
}

} // namespace baton

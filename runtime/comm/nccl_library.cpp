//===- nccl_library.cpp - NCCL, opened at run time ------------------------===//

#include "runtime/comm/nccl_library.h"

#include "runtime/error.h"
#include "runtime/files/optional_library.h"

namespace baton {

namespace {

/// 2.28.9 is 22809.
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

NcclLibrary open_library() {
  const std::string needed = version_text(NcclLibrary::least_version);
  const OptionalLibrary opened({"NCCL",
                                ", by which ranks on GPUs exchange tensors,",
                                "BATON_NCCL",
                                {"libnccl.so.2"},
                                needed});
  NcclLibrary library = {};
  library.file = opened.file();
  opened.resolve("ncclGetVersion", library.get_version);
  if (library.get_version(&library.version) != NcclLibrary::success)
    throw Error("NCCL (" + library.file + ") does not say its version");
  if (library.version < NcclLibrary::least_version)
    throw Error("NCCL (" + library.file + ") is too old: it is " +
                version_text(library.version) + "; this program needs " +
                needed);
  opened.resolve("ncclGetErrorString", library.error_string);
  opened.resolve("ncclGetLastError", library.last_error);
  opened.resolve("ncclGetUniqueId", library.get_unique_id);
  opened.resolve("ncclCommInitRankConfig", library.init);
  opened.resolve("ncclCommGetAsyncError", library.async_error);
  opened.resolve("ncclCommDestroy", library.destroy);
  opened.resolve("ncclGroupStart", library.group_start);
  opened.resolve("ncclGroupEnd", library.group_end);
  opened.resolve("ncclSend", library.send);
  opened.resolve("ncclRecv", library.receive);
  opened.resolve("ncclAllGather", library.all_gather);
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

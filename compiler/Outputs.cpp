//===- Outputs.cpp - files that are complete or not there ----------------===//

#include "compiler/Outputs.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

/// A file beside `path`, to be renamed to it.
static Expected<sys::fs::TempFile> createBeside(StringRef path) {
  // Renaming onto a device would replace it.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return createStringError("cannot write " + path + ": not a plain file");
  auto file = sys::fs::TempFile::create(path + ".%%%%%%",
                                        sys::fs::all_read | sys::fs::all_write);
  if (!file)
    return createStringError("cannot write " + path + ": " +
                             toString(file.takeError()));
  return file;
}

Error baton::compiler::checkOutput(StringRef path) {
  auto file = createBeside(path);
  return file ? file->discard() : file.takeError();
}

Error baton::compiler::writeOutput(StringRef path, StringRef bytes) {
  if (path.empty() || path == "-") {
    raw_fd_ostream out(STDOUT_FILENO, /*shouldClose=*/false);
    out << bytes;
    out.flush();
    std::error_code code = out.error();
    out.clear_error();
    if (code)
      return createStringError("cannot write to standard output: " +
                               code.message());
    return Error::success();
  }
  auto file = createBeside(path);
  if (!file)
    return file.takeError();
  raw_fd_ostream out(file->FD, /*shouldClose=*/false);
  out << bytes;
  out.flush();
  std::error_code code = out.error();
  out.clear_error();
  if (code) {
    consumeError(file->discard());
    return createStringError("cannot write " + path + ": " + code.message());
  }
  if (Error error = file->keep(path)) {
    std::string text = toString(std::move(error));
    consumeError(file->discard());
    return createStringError("cannot write " + path + ": " + text);
  }
  return Error::success();
}

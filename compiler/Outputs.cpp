//===- Outputs.cpp - files that are complete or not there ----------------===//

#include "compiler/Outputs.h"

#include "codegen/link/Scratch.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

Error baton::compiler::checkOutput(StringRef path) {
  return link::Scratch::beside(path).takeError();
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
  Expected<link::Scratch> scratch = link::Scratch::beside(path);
  if (!scratch)
    return scratch.takeError();
  if (Error error = scratch->write("output", bytes))
    return error;
  return scratch->publish("output");
}

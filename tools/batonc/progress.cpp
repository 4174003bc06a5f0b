//===- progress.cpp - a line on the terminal that is gone in the end ------===//

#include "tools/batonc/progress.h"

#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace baton;

tools::Progress::Progress(bool quiet)
    : enabled(!quiet && isatty(STDERR_FILENO)) {}

void tools::Progress::show(const std::string &text) {
  if (!enabled)
    return;
  llvm::errs() << "\r\033[K" << text;
  llvm::errs().flush();
  shown = true;
}

void tools::Progress::clear() {
  if (shown)
    llvm::errs() << "\r\033[K";
  shown = false;
}

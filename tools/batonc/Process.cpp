//===- Process.cpp - what a compiler expects of its process --------------===//

#include "tools/batonc/Process.h"

#include "codegen/link/Scratch.h"

#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

void baton::prepareProcess() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // The lowest free number is taken first; writing to it fails.
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO)
    descriptor = open("/dev/null", O_RDONLY);
  if (descriptor >= 0)
    close(descriptor);
  link::endOnSignals();
  // A remark that cannot be printed is no failure, as which LLVM takes it when
  // its stream ends: after this, as the stream is here before it.
  llvm::errs();
  std::atexit([] { llvm::errs().clear_error(); });
}

//===- Process.cpp - what a compiler expects of its process
//----------------===//

#include "Process.h"

#include "codegen/link/Scratch.h"

#include <csignal>

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
}

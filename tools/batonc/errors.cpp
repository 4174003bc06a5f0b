//===- errors.cpp - how batonc says what is wrong -------------------------===//

#include "tools/batonc/errors.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstdio>
#include <cstdlib>

using namespace baton;

int tools::fail(const std::string &message) {
  // One line, whatever the message holds.
  std::string line = message;
  for (char &c : line)
    if (c == '\n' || c == '\r')
      c = ' ';
  std::fprintf(stderr, "error: %s\n", line.c_str());
  return 1;
}

void tools::reportFatalErrors(const std::string &model) {
  llvm::install_fatal_error_handler(
      [](void *model, const char *reason, bool) {
        fail(*static_cast<std::string *>(model) + ": " + reason);
        std::_Exit(1);
      },
      const_cast<std::string *>(&model));
}

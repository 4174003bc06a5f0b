//===- output.cpp - standard output that notices failure -----------------===//

#include "runtime/main/output.h"

#include "runtime/error.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace baton {

void print(std::string_view text) {
  while (!text.empty()) {
    ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw Error(std::string("standard output cannot be written: ") +
                  std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(count));
  }
}

} // namespace baton

//===- output.cpp - standard output that notices failure -----------------===//

#include "runtime/main/output.h"

#include "runtime/error.h"
#include "runtime/main/interrupt.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace baton {

void occupy_standard_streams() {
  // The lowest free number is taken first.
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO)
    descriptor = open("/dev/null", O_RDONLY);
  if (descriptor >= 0)
    close(descriptor);
}

void print(std::string_view text) {
  constexpr int milliseconds = 100;
  while (!text.empty()) {
    pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    if (poll(&output, 1, milliseconds) <= 0) {
      check_interrupted();
      continue;
    }
    // As much as a pipe takes without waiting for its reader.
    ssize_t count = write(STDOUT_FILENO, text.data(),
                          std::min<size_t>(text.size(), PIPE_BUF));
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count < 0)
      throw Error(std::string("standard output cannot be written: ") +
                  std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(count));
  }
}

} // namespace baton

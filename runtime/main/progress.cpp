//===- progress.cpp - one line on the terminal that says how far it is ---===//

#include "runtime/main/progress.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

namespace baton {

Progress::Progress(std::string what, bool quiet)
    : what(std::move(what)), enabled(!quiet && isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  // Return to the first column and clear the line.
  if (shown_percent >= 0)
    std::fputs("\r\033[K", stderr);
}

void Progress::update(uint64_t done, uint64_t total,
                      const std::string &detail) {
  if (!enabled || total == 0)
    return;
  int percent =
      static_cast<int>(std::min(1.0, double(done) / double(total)) * 100);
  // Details may change with every step.
  const auto now = std::chrono::steady_clock::now();
  if (percent == shown_percent &&
      (detail == shown_detail ||
       now - shown_at < std::chrono::milliseconds(100)))
    return;
  shown_at = now;
  shown_percent = percent;
  shown_detail = detail;
  constexpr int width = 30;
  int filled = percent * width / 100;
  std::fprintf(stderr, "\r%s [%.*s%.*s] %3d %%", what.c_str(), filled,
               "##############################", width - filled,
               "..............................", percent);
  // One that was there before may have been longer.
  if (!detail.empty())
    std::fprintf(stderr, "  %s\033[K", detail.c_str());
  std::fflush(stderr);
}

} // namespace baton

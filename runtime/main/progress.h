//===- progress.h - one line on the terminal that says how far it is -----===//

#ifndef BATON_RUNTIME_MAIN_PROGRESS_H
#define BATON_RUNTIME_MAIN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace baton {

/// Rewrites its line on standard error, when that is a terminal; the line is
/// gone once this is destroyed. Used by one thread at a time.
class Progress {
public:
  /// `what` is, for example, "loading weights".
  Progress(std::string what, bool quiet);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

  /// `detail` stands behind the percentage.
  void update(uint64_t done, uint64_t total, const std::string &detail = {});

private:
  std::string what;
  bool enabled;
  std::chrono::steady_clock::time_point shown_at;
  int shown_percent = -1;
  std::string shown_detail;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_PROGRESS_H

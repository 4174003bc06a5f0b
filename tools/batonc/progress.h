//===- progress.h - a line on the terminal that is gone in the end --------===//

#ifndef BATON_TOOLS_BATONC_PROGRESS_H
#define BATON_TOOLS_BATONC_PROGRESS_H

#include <string>

namespace baton::tools {

/// Rewrites its line on standard error, when that is a terminal.
class Progress {
public:
  explicit Progress(bool quiet);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() { clear(); }

  void show(const std::string &text);
  void clear();

private:
  bool enabled, shown = false;
};

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_PROGRESS_H

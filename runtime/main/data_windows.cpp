//===- data_windows.cpp - the windows of the text that --data names -------===//

#include "runtime/main/data_windows.h"

#include "runtime/error.h"
#include "runtime/main/weights.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace baton {

static std::string read_text(const std::string &path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || (file.peek() != EOF && !(text << file.rdbuf())) || file.bad())
    throw Error(path +
                ": cannot be read: " + std::strerror(errno ? errno : EIO));
  return text.str();
}

TextWindows read_windows(const Metadata &metadata, const RunOptions &run,
                         const DataOptions &options) {
  constexpr uint64_t usual_context = 512;
  const uint64_t context = options.context.value_or(
      std::min<uint64_t>(usual_context, metadata.max_seq));
  if (context < least_window || context > metadata.max_seq)
    throw Error("--context: " + std::to_string(context) + " is not between " +
                std::to_string(least_window) + " and the program's " +
                std::to_string(metadata.max_seq) + " positions");
  const TextTokens tokens =
      find_text_tokens(weights_path(run), metadata.vocabulary,
                       {"--data", "--tokens instead of --data"}, !run.quiet);
  TextWindows windows = cut_windows(tokens, read_text(*options.data),
                                    *options.data, context, options.windows);
  for (uint64_t window = 0; window < windows.count(); ++window) {
    const auto own = windows.window(window);
    check_tokens("--data", {own.begin(), own.end()}, metadata);
  }
  return windows;
}

} // namespace baton

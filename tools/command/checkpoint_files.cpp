//===- checkpoint_files.cpp - what lies beside a checkpoint's weights -----===//

#include "tools/command/checkpoint_files.h"

#include "runtime/error.h"

#include <string>

namespace baton {

namespace fs = std::filesystem;

namespace {

/// Weights, their index, and what runs of Baton leave beside them.
bool is_copied(const fs::path &path) {
  const std::string name = path.filename();
  return !name.ends_with(".safetensors") &&
         name != "model.safetensors.index.json" && !name.starts_with(".") &&
         !name.ends_with(".bin") && !name.ends_with(".pth") &&
         !name.ends_with(".gguf") && name != "state.json" &&
         name != "checksums.json";
}

} // namespace

void copy_other_files(const fs::path &from, const fs::path &to) {
  for (const fs::directory_entry &entry : fs::directory_iterator(from)) {
    std::error_code failure;
    if (!entry.is_regular_file(failure) || !is_copied(entry.path()))
      continue;
    if (!fs::copy_file(entry.path(), to / entry.path().filename(), failure))
      throw Error((to / entry.path().filename()).string() +
                  ": cannot be written: " + failure.message());
  }
}

} // namespace baton

//===- checkpoint_files.h - what lies beside a checkpoint's weights -------===//

#ifndef BATON_TOOLS_COMMAND_CHECKPOINT_FILES_H
#define BATON_TOOLS_COMMAND_CHECKPOINT_FILES_H

#include <filesystem>

namespace baton {

/// Copies a folder's files but for weights, their index and what runs of Baton
/// leave beside them. Throws Error, naming the file.
void copy_other_files(const std::filesystem::path &from,
                      const std::filesystem::path &to);

} // namespace baton

#endif // BATON_TOOLS_COMMAND_CHECKPOINT_FILES_H

//===- data_windows.h - the windows of the text that --data names ---------===//

#ifndef BATON_RUNTIME_MAIN_DATA_WINDOWS_H
#define BATON_RUNTIME_MAIN_DATA_WINDOWS_H

#include "runtime/execute/metadata.h"
#include "runtime/main/run_options.h"
#include "runtime/main/text_windows.h"

namespace baton {

/// Reads the text, which is named, with the tokenizer of the weights. Throws
/// Error for one that cannot be read, is too short or has tokens that the
/// program does not know, and for a window that it has no room for.
TextWindows read_windows(const Metadata &metadata, const RunOptions &run,
                         const DataOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_DATA_WINDOWS_H

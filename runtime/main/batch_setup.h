//===- batch_setup.h - what a program of many sequences starts with -------===//

#ifndef BATON_RUNTIME_MAIN_BATCH_SETUP_H
#define BATON_RUNTIME_MAIN_BATCH_SETUP_H

#include "runtime/batch/batch_format.h"
#include "runtime/execute/metadata.h"
#include "runtime/main/run_options.h"

#include <cstdint>
#include <optional>
#include <string>

namespace baton {

/// How many pages keys and values get, on each rank: in as much memory as
/// `kv_memory` says, else for all sequences, in at most half of what is free;
/// also in more, if they need not all be in memory.
uint64_t choose_pages(const Metadata &metadata,
                      const std::optional<std::string> &kv_memory,
                      bool may_offload = false);

/// The checkpoint's tokenizer and stop tokens. A tokenizer that there is not,
/// or that is not understood, is no error: requests may do without.
BatchFormat read_batch_format(const Metadata &metadata, const RunOptions &run);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_BATCH_SETUP_H

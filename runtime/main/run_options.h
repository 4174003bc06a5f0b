//===- run_options.h - flags that several commands share -----------------===//

#ifndef BATON_RUNTIME_MAIN_RUN_OPTIONS_H
#define BATON_RUNTIME_MAIN_RUN_OPTIONS_H

#include "runtime/execute/metadata.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// What every command that runs the program takes.
struct RunOptions {
  std::optional<std::string> weights;
  /// 0: one for each core.
  uint64_t workers = 0;
  /// 0: as many rows as the program takes.
  uint64_t prefill_chunk = 0;
  bool quiet = false;
  bool no_cache = false;
  uint64_t event_origin = 0;
  /// Where a trace of all tasks goes.
  std::optional<std::string> trace;
  /// Where a report about touched memory goes.
  std::optional<std::string> check_memory;
};

/// A long text, in windows.
struct DataOptions {
  std::optional<std::string> data;
  /// Tokens of a window, and the most windows.
  std::optional<uint64_t> context, windows;
};

/// Of programs that were compiled with --offload.
struct OffloadFlags {
  /// "4GiB": the most that the process has in memory.
  std::optional<std::string> memory;
  /// Of this, for keys and values that stay there.
  std::optional<std::string> kv_in_memory;
  /// The folder of files that have what does not stay.
  std::optional<std::string> folder;
  /// For comparison: layers come one after another with what is computed.
  bool no_prefetch = false;
  /// The first two are the program's own, as it was compiled with --memory.
  bool usual = false;
};

/// What commands that run on several ranks take, too.
struct RankOptions {
  /// As many as the program is compiled for, which is what nothing means.
  std::optional<uint64_t> ranks;
  /// "threads" or "mpi"; empty: the latter under mpirun.
  std::string engine;
  /// Seconds.
  double rank_timeout = 60;
  /// For tests: which rank fails, when and how.
  std::optional<std::string> rank_fault;
};

/// The number of workers asked for. Throws Error for more than max_workers.
unsigned chosen_workers(const RunOptions &options);

/// The same for the program's own workers; 0, unless the user says otherwise,
/// for as many as its device takes.
unsigned program_workers(const RunOptions &options, const Metadata &metadata);

/// Rows of one prefill step. Throws Error for more than max_rows.
uint32_t chosen_prefill_chunk(const RunOptions &options,
                              const Metadata &metadata);

/// Reads "1,2,3". Throws Error, naming `flag`, for what is no list of ids.
std::vector<int32_t> parse_token_list(const std::string &flag,
                                      const std::string &text);

/// Throws Error, naming `flag`, unless there is at least one token, all of them
/// are in the vocabulary, and they fit into max_seq positions.
void check_tokens(const std::string &flag, const std::vector<int32_t> &tokens,
                  const Metadata &metadata);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_RUN_OPTIONS_H

//===- batch_commands.h - what only programs of many sequences do ---------===//
//
// Batches, servers, grammars and chat templates are most of a program's code. A
// program of one sequence does not name these commands, so that linking leaves
// them and all that only they need out of it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_BATCH_COMMANDS_H
#define BATON_RUNTIME_MAIN_BATCH_COMMANDS_H

#include "runtime/error.h"
#include "runtime/main/commands.h"

#include <string>

namespace baton {

struct BatchCommands {
  void (*batch)(const Metadata &metadata, const BatchCommandOptions &options);
  void (*serve)(const Metadata &metadata, const ServeOptions &options);
  /// With `options.batch`.
  void (*bench)(const Metadata &metadata, const BenchOptions &options);
  /// With `options.step_times`.
  void (*bench_steps)(const Metadata &metadata, const BenchOptions &options);
  void (*teach)(const Metadata &metadata, const TeachOptions &options);
};

} // namespace baton

extern "C" {
extern const baton::BatchCommands baton_all_batch_commands;
/// Defined by the program: these, or null where it holds one sequence.
extern const baton::BatchCommands *const baton_batch_commands;
}

namespace baton {

/// Throws Error that begins with the command where the program has none.
inline const BatchCommands &batch_commands(const std::string &command) {
  if (!baton_batch_commands)
    throw Error(command +
                ": this program holds one sequence; compile with --max-batch");
  return *baton_batch_commands;
}

} // namespace baton

#endif // BATON_RUNTIME_MAIN_BATCH_COMMANDS_H

//===- training_commands.h - what only programs that train do -------------===//
//
// As in batch_commands.h: a program that decodes does not name these commands,
// so that linking leaves them, and all that only they need, out of it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_TRAINING_COMMANDS_H
#define BATON_RUNTIME_MAIN_TRAINING_COMMANDS_H

#include "runtime/error.h"
#include "runtime/main/commands.h"

#include <string>

namespace baton {

struct TrainingCommands {
  void (*train)(const Metadata &metadata, const TrainOptions &options);
  void (*evaluate)(const Metadata &metadata, const EvaluationOptions &options);
};

} // namespace baton

extern "C" {
extern const baton::TrainingCommands baton_all_training_commands;
/// Defined by the program: these, or null where it decodes.
extern const baton::TrainingCommands *const baton_training_commands;
}

namespace baton {

/// Throws Error that begins with the command where the program has none.
inline const TrainingCommands &training_commands(const std::string &command) {
  if (!baton_training_commands)
    throw Error(command +
                ": this program decodes; compile one with --mode=train");
  return *baton_training_commands;
}

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINING_COMMANDS_H

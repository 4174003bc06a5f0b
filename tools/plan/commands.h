//===- commands.h - what batonc plan can be asked -------------------------===//

#ifndef BATON_TOOLS_PLAN_COMMANDS_H
#define BATON_TOOLS_PLAN_COMMANDS_H

#include <CLI/CLI.hpp>

namespace baton::plan {

// Each adds a subcommand, which runs as it is parsed. They throw Error.

void add_judge_command(CLI::App &app);
void add_train_command(CLI::App &app);
void add_scale_command(CLI::App &app);
void add_goodput_command(CLI::App &app);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_COMMANDS_H

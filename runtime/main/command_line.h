//===- command_line.h - the command line of a compiled program -----------===//

#ifndef BATON_RUNTIME_MAIN_COMMAND_LINE_H
#define BATON_RUNTIME_MAIN_COMMAND_LINE_H

#include <string_view>

namespace baton {

/// Runs the command that the arguments name and returns the exit status: 0, or
/// 1 after one line on standard error that says what is wrong.
int run_command_line(int argc, char **argv, std::string_view metadata);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_COMMAND_LINE_H

//===- command.h - the command line of a program that batonc runs ---------===//

#ifndef BATON_TOOLS_COMMAND_COMMAND_H
#define BATON_TOOLS_COMMAND_COMMAND_H

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace baton {

/// "error: " and the message as one line on standard error; returns the status
/// 1.
int fail(std::string message);

/// What is wrong with a command line, with the flag of `app`, or of those
/// commands of it that were named, that is nearest to an unknown one.
std::string problem_of(const CLI::App &app, const CLI::ParseError &error);

/// Parses the command line and calls `body`. Whatever is wrong becomes one line
/// on standard error and status 1; a flag that is unknown is answered with the
/// nearest one.
int run_command(CLI::App &app, int argc, char **argv,
                const std::function<void()> &body);

/// What has been said already: the status is 1, and nothing else is printed.
struct AlreadySaid {};

} // namespace baton

#endif // BATON_TOOLS_COMMAND_COMMAND_H

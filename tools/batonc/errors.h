//===- errors.h - how batonc says what is wrong ---------------------------===//

#ifndef BATON_TOOLS_BATONC_ERRORS_H
#define BATON_TOOLS_BATONC_ERRORS_H

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace baton::tools {

/// Prints "error: " and the message as one line; returns the exit status.
int fail(const std::string &message);

/// Parses a command line. If there is nothing more to do, the exit status: help
/// or the version was printed, or what is wrong, with the flag that was meant
/// if one is near, and where to read more.
std::optional<int> parse(CLI::App &app, int argc, char **argv,
                         const std::string &command);

/// Says in one line what the libraries cannot go on from, such as numbers past
/// 64 bits. The name is kept by reference.
void reportFatalErrors(const std::string &model);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_ERRORS_H

//===- errors.cpp - how batonc says what is wrong -------------------------===//

#include "tools/batonc/errors.h"

#include "tools/command/command.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstdio>
#include <cstdlib>

using namespace baton;

int tools::fail(const std::string &message) {
  // One line, whatever the message holds.
  std::string line = message;
  for (char &c : line)
    if (c == '\n' || c == '\r')
      c = ' ';
  std::fprintf(stderr, "error: %s\n", line.c_str());
  return 1;
}

std::optional<int> tools::parse(CLI::App &app, int argc, char **argv,
                                const std::string &command) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::printf("%s", app.help().c_str());
    return 0;
  } catch (const CLI::CallForVersion &version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::ParseError &error) {
    return fail(problem_of(app, error) + "; see " + command + " --help");
  }
  return std::nullopt;
}

void tools::reportFatalErrors(const std::string &model) {
  llvm::install_fatal_error_handler(
      [](void *model, const char *reason, bool) {
        fail(*static_cast<std::string *>(model) + ": " + reason);
        std::_Exit(1);
      },
      const_cast<std::string *>(&model));
}

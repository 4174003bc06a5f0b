//===- errors.cpp - how batonc says what is wrong -------------------------===//

#include "tools/batonc/errors.h"

#include "llvm/ADT/StringRef.h"
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

/// The flag of `app` that differs least from `given`, if not by much.
static std::string nearestFlag(const CLI::App &app, llvm::StringRef given) {
  std::string nearest;
  unsigned least = given.size() / 3 + 1;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      if (unsigned distance = given.edit_distance(name, true, least);
          distance < least) {
        least = distance;
        nearest = "--" + name;
      }
  return nearest;
}

static std::string problemOf(const CLI::App &app,
                             const CLI::ParseError &error) {
  std::string text = error.what();
  for (llvm::StringRef unknown : app.remaining())
    if (unknown.consume_front("--"))
      if (std::string flag = nearestFlag(app, unknown.split('=').first);
          !flag.empty())
        return text + "; did you mean " + flag + "?";
  return text;
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
    return fail(problemOf(app, error) + "; see " + command + " --help");
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

//===- command.cpp - the command line of a program that batonc runs -------===//

#include "tools/command/command.h"

#include "runtime/weights/message.h"

#include <cstdio>
#include <new>
#include <vector>

namespace baton {

int fail(std::string message) {
  for (char &letter : message)
    if (letter == '\n' || letter == '\r')
      letter = ' ';
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

/// The flags of a command and of those commands of it that were named.
static void add_flags(const CLI::App &app, std::vector<std::string> &names) {
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back(name);
  for (const CLI::App *named : app.get_subcommands())
    add_flags(*named, names);
}

std::string problem_of(const CLI::App &app, const CLI::ParseError &error) {
  std::vector<std::string> flags;
  add_flags(app, flags);
  for (const std::string &unknown : app.remaining(/*recurse=*/true))
    if (unknown.starts_with("--"))
      return error.what() +
             nearest_text(unknown.substr(2, unknown.find('=') - 2), flags,
                          "--");
  return error.what();
}

int run_command(CLI::App &app, int argc, char **argv,
                const std::function<void()> &body) {
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const CLI::CallForHelp &) {
    std::printf("%s", app.help().c_str());
    return 0;
  } catch (const CLI::ParseError &error) {
    return fail(problem_of(app, error) + "; see " + app.get_name() + " --help");
  } catch (const AlreadySaid &) {
    return 1;
  } catch (const std::bad_alloc &) {
    return fail("out of memory");
  } catch (const std::exception &error) {
    return fail(error.what());
  }
}

} // namespace baton

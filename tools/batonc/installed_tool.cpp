//===- installed_tool.cpp - commands that are programs of their own -------===//

#include "tools/batonc/installed_tool.h"

#include "compiler/Installation.h"
#include "tools/batonc/errors.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

using namespace baton;

/// Replaces this process, with `own` before the command's arguments.
static int become(const std::string &program, char **argv,
                  std::vector<std::string> own) {
  std::vector<char *> arguments = {argv[0]};
  for (std::string &argument : own)
    arguments.push_back(argument.data());
  for (char **argument = argv + 1; *argument; ++argument)
    arguments.push_back(*argument);
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  return tools::fail(program + ": cannot be run: " + std::strerror(errno));
}

int tools::quantizeCommand(char **argv, const char *tool) {
  const auto installation = compiler::Installation::ofTool(tool);
  // It compiles, too, to calibrate.
  return become(installation.tool("quantize"), argv,
                {"--batonc=" + installation.compiler()});
}

int tools::pruneCommand(char **argv, const char *tool) {
  const auto installation = compiler::Installation::ofTool(tool);
  // It compiles, too, to see what neurons do.
  return become(installation.tool("prune"), argv,
                {"--batonc=" + installation.compiler()});
}

int tools::calibrateCommand(char **argv, const char *tool,
                            const std::string &command) {
  const auto installation = compiler::Installation::ofTool(tool);
  // It compiles what it measures.
  return become(installation.tool("calibrate"), argv,
                {command, "--batonc=" + installation.compiler()});
}

int tools::planCommand(char **argv, const char *tool) {
  return become(compiler::Installation::ofTool(tool).tool("plan"), argv, {});
}

int tools::healthCommand(char **argv, const char *tool) {
  return become(compiler::Installation::ofTool(tool).tool("health"), argv, {});
}

int tools::mergeCommand(char **argv, const char *tool) {
  return become(compiler::Installation::ofTool(tool).tool("merge"), argv, {});
}

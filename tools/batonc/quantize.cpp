//===- quantize.cpp - batonc quantize: fewer bits a weight
//-----------------===//

#include "tools/batonc/quantize.h"

#include "compiler/Installation.h"
#include "tools/batonc/errors.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

using namespace baton;

int tools::quantizeCommand(char **argv, const char *tool) {
  const auto installation = compiler::Installation::ofTool(tool);
  const std::string program = installation.quantizer();
  // It compiles, too, to calibrate.
  std::string own = "--batonc=" + installation.compiler();
  std::vector<char *> arguments = {argv[0], own.data()};
  for (char **argument = argv + 1; *argument; ++argument)
    arguments.push_back(*argument);
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  return fail(program + ": cannot be run: " + std::strerror(errno));
}

//===- quantize.cpp - batonc quantize: fewer bits a weight
//-----------------===//

#include "tools/batonc/quantize.h"

#include "compiler/Installation.h"
#include "tools/batonc/errors.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

using namespace baton;

int tools::quantizeCommand(char **argv, const char *tool) {
  const std::string program = compiler::Installation::ofTool(tool).quantizer();
  execv(program.c_str(), argv);
  return fail(program + ": cannot be run: " + std::strerror(errno));
}

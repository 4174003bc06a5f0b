//===- main.cpp - the start of every executable that batonc writes -------===//

#include "runtime/main/command_line.h"
#include "runtime/program.h"

int main(int argc, char **argv) {
  return baton::run_command_line(
      argc, argv, std::string_view(baton_metadata, baton_metadata_size));
}

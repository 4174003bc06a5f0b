//===- main.cpp - what batonc plan runs -----------------------------------===//
//
// A program of its own, as it needs no compiler. One line on standard error and
// status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "tools/command/command.h"
#include "tools/plan/commands.h"

using namespace baton;

int main(int argc, char **argv) {
  occupy_standard_streams();
  handle_signals();
  CLI::App app{
      "batonc plan says, before anything runs, which split of a model "
      "trains fastest or serves most, how long a step takes, and what memory "
      "it needs.",
      "batonc plan"};
  app.footer("Two more look into a program, and are batonc's own:\n"
             "  batonc plan shard   chooses what ranks along tp have parts of\n"
             "  batonc plan stages  chooses which layers run on which devices");
  app.require_subcommand(1);
  plan::add_train_command(app);
  plan::add_decode_command(app);
  plan::add_memory_command(app);
  plan::add_judge_command(app);
  plan::add_scale_command(app);
  plan::add_goodput_command(app);
  plan::add_offload_command(app);
  plan::add_serve_command(app);
  // CLI11 would only say that one is missing.
  std::string names;
  bool known = argc < 2 || argv[1][0] == '-';
  for (const CLI::App *command : app.get_subcommands({})) {
    names += (names.empty() ? "" : ", ") + command->get_name();
    known = known || command->get_name() == argv[1];
  }
  if (!known)
    return fail("there is no batonc plan " + std::string(argv[1]) +
                "; there are " + names + ", shard, stages");
  return run_command(app, argc, argv, [] {});
}

//===- main.cpp - what batonc plan runs -----------------------------------===//
//
// A program of its own, as it needs no compiler. One line on standard error and
// status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/weights/message.h"
#include "tools/command/command.h"
#include "tools/plan/commands.h"

#include <algorithm>
#include <string>
#include <vector>

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
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  names.insert(names.end(), {"shard", "stages"});
  if (const std::string word = argc < 2 ? "-" : argv[1];
      word[0] != '-' && std::ranges::find(names, word) == names.end()) {
    std::string all;
    for (const std::string &name : names)
      all += (all.empty() ? "" : ", ") + name;
    return fail("there is no batonc plan " + word + "; there are " + all +
                nearest_text(word, names));
  }
  return run_command(app, argc, argv, [] {});
}

//===- main.cpp - what batonc merge runs ----------------------------------===//
//
// A program of its own, as the compiler has nothing of the runtime. One line on
// standard error and status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/interrupt.h"
#include "runtime/main/progress.h"
#include "tools/command/command.h"
#include "tools/merge/merge.h"

#include <atomic>
#include <cstdio>
#include <string>

using namespace baton;

static const char *const footer =
    R"(Each weight that has a pair becomes W + factor B A, computed in F32 and rounded once to the type that the
model stores it in. All else is copied. The result is a checkpoint as any other: it needs no adapter.
The model's weights have to be floating-point numbers; an adapter that was trained beside a quantised model is
merged into the checkpoint that this was made of.

Examples:
  batonc merge run/step-200 -o chat                  beside the model that the adapter names
  batonc merge run/step-200 --model ./llama -o chat  or beside this one
  batonc quantize chat --format q4_k -o chat.gguf    and as a GGUF file
)";

int main(int argc, char **argv) {
  handle_signals();
  std::atomic<bool> stopped = false;
  const Interruptible interruptible(stopped);
  CLI::App app{"batonc merge makes one checkpoint of an adapter and the model "
               "that it was trained beside.",
               "batonc merge"};
  app.footer(footer);
  MergeOptions options;
  std::string adapter, model, output;
  bool quiet = false;
  app.add_option("ADAPTER", adapter,
                 "a PEFT folder of low-rank pairs, such as a checkpoint that "
                 "train wrote")
      ->required();
  app.add_option("--model", model,
                 "the folder of the model that it was trained beside, instead "
                 "of the one that it names")
      ->type_name("DIR");
  app.add_option("-o", output, "the folder that the checkpoint goes to")
      ->type_name("OUT")
      ->required();
  app.add_flag("--quiet", quiet, "nothing but errors");
  return run_command(app, argc, argv, [&] {
    options.adapter = adapter;
    if (!model.empty())
      options.model = model;
    options.output = output;
    Progress progress("merging", quiet);
    options.progress = [&](uint64_t done, uint64_t total) {
      check_interrupted();
      progress.update(done, total);
    };
    const MergeSummary summary = merge(options);
    if (!quiet)
      std::fprintf(stderr, "%s: %llu of %llu tensors of %s have a pair\n",
                   output.c_str(),
                   static_cast<unsigned long long>(summary.adapted),
                   static_cast<unsigned long long>(summary.tensors),
                   summary.model.c_str());
  });
}

//===- main.cpp - what batonc prune runs ----------------------------------===//
//
// A program of its own, as the compiler has nothing of the runtime. One line on
// standard error and status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/progress.h"
#include "tools/command/command.h"
#include "tools/prune/prune.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>

using namespace baton;

static const char *const footer =
    R"(Each MLP loses as many neurons. By magnitude those stay whose weights have the largest product of norms;
by least squares neurons go one by one, each time the one without which the MLP's outputs on a text change
least if all others' output weights are solved for anew, as they are in the end. Layers go first.
The result is a checkpoint as any other, in the same types; train may then heal it.

Examples:
  batonc prune ./llama --mlp-neurons=50% --by=least-squares --data wiki.txt -o small
  batonc prune ./llama --drop-layers=last:8 -o short
  batonc prune ./llama --drop-layers=20-27 --mlp-neurons=4096 --by=least-squares --data wiki.txt -o both
  batonc compare ./llama small --data held-out.txt     what it costs
)";

static void say(const std::string &output, const PruneSummary &summary) {
  std::string text;
  auto add = [&](uint64_t kept, uint64_t all, const char *what) {
    if (all)
      text += (text.empty() ? "" : ", ") + std::to_string(kept) + " of " +
              std::to_string(all) + what;
  };
  add(summary.kept_layers, summary.layers, " layers");
  add(summary.kept_neurons, summary.neurons, " neurons of each MLP");
  std::fprintf(stderr, "%s: %s\n", output.c_str(), text.c_str());
  if (summary.losses.empty())
    return;
  const auto [least, most] =
      std::minmax_element(summary.losses.begin(), summary.losses.end());
  std::fprintf(stderr,
               "of an MLP's outputs on the text %.3g %% to %.3g %% is lost\n",
               *least * 100, *most * 100);
}

int main(int argc, char **argv) {
  handle_signals();
  std::atomic<bool> stopped = false;
  const Interruptible interruptible(stopped);
  CLI::App app{"batonc prune makes a smaller checkpoint of a model: with fewer "
               "neurons in its MLPs, and fewer layers.",
               "batonc prune"};
  app.footer(footer);
  PruneOptions options;
  std::string model, output, by = "magnitude", neurons, layers, text;
  app.add_option("MODEL", model, "a checkpoint folder")->required();
  CLI::Option *choosing_neurons =
      app.add_option("--mlp-neurons", neurons,
                     "neurons of each MLP that stay: a number, or a part as "
                     "in 50%")
          ->type_name("N");
  CLI::Option *choosing =
      app.add_option("--by", by,
                     "which ones: magnitude, or least-squares, which needs "
                     "--data")
          ->type_name("WAY")
          ->check(CLI::IsMember({"magnitude", "least-squares"}))
          ->capture_default_str()
          ->needs(choosing_neurons);
  app.add_option("--drop-layers", layers,
                 "layers that go: last:8, or a list as in 3,5,7-9, counted "
                 "from 0")
      ->type_name("LAYERS");
  CLI::Option *data =
      app.add_option("--data", text,
                     "of least squares: a text that the model is run on, as "
                     "long as the windows say")
          ->type_name("TEXT")
          ->needs(choosing);
  app.add_option("--windows", options.windows,
                 "the most windows of 512 tokens of it")
      ->type_name("N")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 32))
      ->capture_default_str()
      ->needs(data);
  app.add_option("--damping", options.damping,
                 "what is added to the diagonal of the second moments, as a "
                 "part of their mean; more keeps the weights nearer to what "
                 "they were")
      ->type_name("X")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(data);
  app.add_option("--exchanges", options.exchanges,
                 "of each layer, the most neurons that come back for others, "
                 "where less is lost so")
      ->type_name("N")
      ->capture_default_str()
      ->needs(data);
  app.add_option("--calibration-memory", options.memory,
                 "bytes of second moments (8 for each two neurons of a layer) "
                 "that one run over the text collects, of a layer at least; "
                 "fewer take more runs")
      ->type_name("N")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str()
      ->needs(data);
  app.add_option("-o", output, "the folder that the checkpoint goes to")
      ->type_name("OUT")
      ->required();
  app.add_flag("--quiet", options.quiet, "nothing but errors");
  // Said by batonc.
  app.add_option("--batonc", options.batonc)->group("");
  return run_command(app, argc, argv, [&] {
    if (neurons.empty() && layers.empty())
      throw Error("nothing is to be pruned; give --mlp-neurons, --drop-layers "
                  "or both");
    options.model = model;
    options.output = output;
    options.text = text;
    if (!neurons.empty())
      options.neurons = neurons;
    if (!layers.empty())
      options.layers = layers;
    if (by == "least-squares") {
      options.by = NeuronChoice::LeastSquares;
      if (text.empty())
        throw Error("--by=least-squares: --data has to name a text");
    } else if (!text.empty()) {
      throw Error("--data is for --by=least-squares");
    }
    Progress progress("pruning", options.quiet);
    options.progress = [&](uint64_t done, uint64_t total) {
      check_interrupted();
      progress.update(done, total);
    };
    const PruneSummary summary = prune(options);
    if (!options.quiet)
      say(output, summary);
  });
}

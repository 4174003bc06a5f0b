//===- explain.cpp - batonc explain ---------------------------------------===//

#include "tools/batonc/explain.h"

#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/explain/Explanation.h"
#include "compiler/explain/HostFigures.h"
#include "compiler/explain/Measurement.h"
#include "compiler/targets/Targets.h"
#include "tools/batonc/compile_flags.h"
#include "tools/batonc/errors.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdio>

using namespace baton;
using namespace baton::compiler;
using namespace baton::explain;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace {

struct ExplainOptions {
  CompileOptions compile;
  std::optional<int64_t> context, prefill, past, rows;
  MachineFigures machine;
  std::string trace, html;
  bool measure = false, json = false;
};

} // namespace

static const char *const kFooter =
    "Two steps are shown without flags that name one: a decode step, and a "
    "chunk of a prompt.\n"
    "Predicted is the greater of memory and compute time, what uneven shares "
    "of workers add, and\nevents. Figures of the machine come from flags, from "
    "--measure, from --target-file, or, of this\nmachine, from a measurement "
    "of two seconds that is kept.\n\n"
    "Examples:\n"
    "  batonc explain ./llama                           costs and reasons, "
    "phase by phase\n"
    "  batonc explain ./llama --html plan.html          a page with the task "
    "graph and a timeline\n"
    "  batonc explain ./llama --context 4000            one decoded token "
    "after 4000\n"
    "  batonc explain ./llama --prefill 256 --past 256  the second chunk of a "
    "prompt\n"
    "  batonc explain ./llama --measure --workers 8     compile, run and "
    "compare\n"
    "  ./program generate ... --trace t.json; batonc explain ./llama --trace "
    "t.json\n"
    "  batonc explain ./llama --mode=train --rows 1024  a training step of so "
    "many tokens\n";

/// Adds explain's own flags.
static void addFlags(CLI::App &app, ExplainOptions &options) {
  auto number = [&](const char *flag, auto &value, const char *text,
                    const char *type) {
    app.add_option(flag, value, text)->type_name(type);
  };
  number("--context", options.context,
         "explain a decode step after so many positions", "N");
  number("--prefill", options.prefill,
         "explain a chunk of so many rows of a prompt", "N");
  number("--past", options.past, "positions before that chunk (default 0)",
         "P");
  number("--rows", options.rows,
         "--mode=train: explain a step of so many tokens (default 1024, or as "
         "many as a step takes)",
         "N");
  number("--trace", options.trace,
         "compare with this trace, which a program of the same model wrote "
         "with --trace",
         "FILE.json");
  app.add_flag("--measure", options.measure,
               "compile the model, run it here with random weights, and "
               "compare");
  number("--workers", options.machine.workers, "workers of the machine", "N");
  number("--bandwidth", options.machine.bandwidthGigabytes,
         "GB/s that all workers together read from memory", "GB/s");
  number("--peak", options.machine.peakGigaflops,
         "GFLOP/s of all workers' fused multiply-adds", "GFLOP/s");
  number("--tensor-peak", options.machine.tensorGigaflops,
         "GFLOP/s of all workers' tensor cores, for products with BF16 or "
         "quantised weights",
         "GFLOP/s");
  number("--event-us", options.machine.eventMicroseconds,
         "microseconds from a notification to the task that waits for it",
         "US");
  app.add_flag("--json", options.json, "print one JSON object");
  number("--html", options.html, "write a page to look at instead", "OUT.html");
}

/// An error line for flags that are wrong by themselves, or nothing.
static std::string checkFlags(const ExplainOptions &options) {
  if (options.measure && !options.trace.empty())
    return "--trace and --measure are two sources of the same times; name one";
  if (options.json && !options.html.empty())
    return "--json and --html are two forms of the same; name one";
  if (options.compile.training) {
    for (auto [flag, set] : {std::pair<const char *, bool>{
                                 "--context", options.context.has_value()},
                             {"--prefill", options.prefill.has_value()},
                             {"--past", options.past.has_value()}})
      if (set)
        return std::string(flag) + " is for programs that decode; --rows N is "
                                   "how many tokens a training step has";
    if (options.measure)
      return "--measure with --mode=train is not built yet; train with --trace "
             "FILE.json and explain that";
  } else if (options.rows) {
    return "--rows is for --mode=train";
  }
  if (options.past && !options.prefill)
    return "--past is about a chunk of a prompt; --prefill N says how long "
           "the chunk is";
  auto range = [](const char *flag, const auto &value, double least,
                  double most) -> std::string {
    if (!value || (*value >= least && *value <= most))
      return "";
    char text[160];
    std::snprintf(text, sizeof(text),
                  "%s %g is out of range, expected %g to %g", flag,
                  static_cast<double>(*value), least, most);
    return text;
  };
  const MachineFigures &machine = options.machine;
  for (const std::string &error :
       {range("--workers", machine.workers, 1, 1024),
        range("--bandwidth", machine.bandwidthGigabytes, 1e-3, 1e6),
        range("--peak", machine.peakGigaflops, 1e-3, 1e9),
        range("--tensor-peak", machine.tensorGigaflops, 1e-3, 1e9),
        range("--event-us", machine.eventMicroseconds, 1e-6, 1e6)})
    if (!error.empty())
      return error;
  if (machine.workers && *machine.workers != std::floor(*machine.workers))
    return "--workers is no whole number";
  return "";
}

static Error refuseRows(const char *flag, int64_t rows, int64_t maxRows) {
  return createStringError(llvm::Twine(flag) + " " + llvm::Twine(rows) +
                           " is out of range, expected 1 to " +
                           llvm::Twine(maxRows) +
                           " rows, the most of one step");
}

/// The training step that the flags name, or the largest of a trace.
static Expected<std::vector<NamedStep>>
trainingSteps(const ExplainOptions &options, event::ProgramOp program,
              llvm::ArrayRef<TracedStep> traced) {
  int64_t maxRows = program.getMaxRows();
  int64_t rows = std::min<int64_t>(1024, maxRows);
  if (!options.rows && !traced.empty())
    rows =
        llvm::max_element(traced, [](const TracedStep &a, const TracedStep &b) {
          return a.step.rows < b.step.rows;
        })->step.rows;
  rows = options.rows.value_or(rows);
  if (rows < 1 || rows > maxRows)
    return refuseRows("--rows", rows, maxRows);
  return std::vector<NamedStep>{{"training", {rows, 0, 1}}};
}

/// Steps that a trace holds: the largest of decoding, and of a prompt.
static std::vector<NamedStep> stepsOf(llvm::ArrayRef<TracedStep> traced,
                                      bool isBatch) {
  const TracedStep *decode = nullptr, *prefill = nullptr;
  for (const TracedStep &step : traced) {
    bool isDecode = isBatch ? step.step.rows == step.step.outputs
                            : step.step.rows == 1 && step.step.past > 0;
    const TracedStep *&largest = isDecode ? decode : prefill;
    if (!largest || step.step.rows > largest->step.rows)
      largest = &step;
  }
  std::vector<NamedStep> steps;
  if (decode)
    steps.push_back({"decode", decode->step});
  if (prefill)
    steps.push_back({"prefill", prefill->step});
  return steps;
}

/// The steps that the flags name, or those that tell most.
static Expected<std::vector<NamedStep>>
chooseSteps(const ExplainOptions &options, event::ProgramOp program,
            bool takesPrompts) {
  const int64_t maxRows = program.getMaxRows(), maxSeq = program.getMaxSeq();
  bool all = !options.context && !options.prefill;
  bool hasDecoding = all || options.context,
       hasPrompt = options.prefill || (all && takesPrompts);
  // A model of one position has no past to decode after.
  const int64_t usual = std::min<int64_t>(128, maxSeq - 1);
  std::vector<NamedStep> steps;
  if (hasDecoding) {
    int64_t context = options.context.value_or(usual);
    if (context < 0 || context >= maxSeq)
      return createStringError("--context " + llvm::Twine(context) +
                               " is out of range, expected 0 to " +
                               llvm::Twine(maxSeq - 1));
    steps.push_back({"decode", {1, context, 1}});
  }
  if (hasPrompt) {
    int64_t rows = options.prefill.value_or(
        std::max<int64_t>(1, std::min(usual, maxRows)));
    int64_t past = options.past.value_or(0);
    if (rows < 1 || rows > maxRows)
      return refuseRows("--prefill", rows, maxRows);
    if (past < 0 || past > maxSeq - rows)
      return createStringError("--past " + llvm::Twine(past) +
                               " is out of range, expected 0 to " +
                               llvm::Twine(maxSeq - rows));
    steps.push_back({"prefill", {rows, past, 1}});
  }
  return steps;
}

/// Of a plan of many sequences: a row of each of them, and a prompt's rows. At
/// which positions they are, no plan knows.
static Expected<std::vector<NamedStep>>
chooseBatchSteps(const ExplainOptions &options, event::ProgramOp program,
                 int64_t sequences, bool takesPrompts) {
  for (auto [flag, isGiven] :
       {std::pair("--context", options.context.has_value()),
        {"--past", options.past.has_value()}})
    if (isGiven)
      return createStringError(llvm::Twine(flag) +
                               ": in a plan of many sequences only a step "
                               "knows positions; leave the flag out");
  const int64_t maxRows = program.getMaxRows();
  const int64_t rows =
      options.prefill.value_or(std::min<int64_t>(128, maxRows));
  if (rows < 1 || rows > maxRows)
    return refuseRows("--prefill", rows, maxRows);
  const int64_t each =
      std::min({sequences, maxRows, int64_t(program.getMaxOutputs())});
  std::vector<NamedStep> steps;
  if (!options.prefill)
    steps.push_back({"decode", {each, 0, each}});
  if (options.prefill || takesPrompts)
    steps.push_back({"prefill", {rows, 0, 1}});
  return steps;
}

static Error explainModel(ExplainOptions &options,
                          const Installation &installation) {
  // Before work that may take long.
  if (!options.html.empty())
    if (Error error = checkOutput(options.html))
      return error;
  auto found = findTarget(options.compile.target);
  if (!found)
    return found.takeError();
  std::string targetFile =
      found->descriptionFile(options.compile, installation);
  auto targets = found->describe(options.compile, installation);
  if (!targets)
    return targets.takeError();
  if (Error error = findOptimizer(options.compile, installation))
    return error;
  options.compile.stage = Stage::event;
  auto plan = Plan::build(options.compile, *targets);
  if (!plan)
    return plan.takeError();
  // One program is explained, the one for steps of few rows unless others are
  // asked for.
  size_t chosen = plan->programs().size() > 1 && !options.prefill ? 1 : 0;
  if (chosen == 0 && plan->programs().size() > 1 && options.context)
    return createStringError("--context and --prefill are of two programs, as "
                             "this target has them; name one");
  plan->lead(chosen);
  const TargetDescription *target =
      &(*targets)[std::min(chosen, targets->size() - 1)];
  options.machine.from = "flag";
  std::vector<MachineFigures> figures = {options.machine};
  std::vector<TracedStep> traced;
  std::string measuredFrom;
  if (!options.trace.empty()) {
    auto read = readTrace(options.trace, plan->programs());
    if (!read)
      return read.takeError();
    traced = std::move(*read);
  }
  const std::optional<BatchLimits> batch = batchOf(plan->program());
  auto steps = options.compile.training
                   ? trainingSteps(options, plan->program(), traced)
               : batch && (traced.empty() || options.context || options.prefill)
                   ? chooseBatchSteps(options, plan->program(),
                                      batch->sequences, chosen == 0)
               : traced.empty() || options.context || options.prefill
                   ? chooseSteps(options, plan->program(), chosen == 0)
                   : stepsOf(traced, batch.has_value());
  if (!steps)
    return steps.takeError();
  if (options.measure) {
    std::optional<unsigned> workers;
    if (options.machine.workers)
      workers = static_cast<unsigned>(*options.machine.workers);
    auto measured = measure(options.compile, installation, plan->programs(),
                            *steps, workers);
    if (!measured)
      return measured.takeError();
    traced = std::move(measured->steps);
    figures.push_back(measured->machine);
    measuredFrom = "compiled and run just now, with random weights";
  } else if (!traced.empty()) {
    MachineFigures trace;
    trace.from = "the trace";
    trace.workers = traced.front().timeline.workers;
    if (options.machine.workers && *options.machine.workers != *trace.workers)
      return createStringError(
          "--workers " + llvm::Twine(int64_t(*options.machine.workers)) + ": " +
          options.trace + " is of " + llvm::Twine(int64_t(*trace.workers)) +
          " workers");
    figures.push_back(trace);
    measuredFrom = options.trace;
  }
  figures.push_back(figuresOf(*target, targetFile));
  auto measureHost = [&] {
    return hostFigures(installation, options.compile.cache,
                       options.compile.quiet);
  };
  auto machine = found->runsOnHost()
                     ? chooseMachine(figures, targetFile, measureHost)
                     : chooseMachine(figures, targetFile);
  if (!machine)
    return machine.takeError();

  llvm::SmallString<128> path(options.compile.model);
  (void)llvm::sys::fs::make_absolute(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  bool tiledHere = plan->isTiled();
  Products products{{}, *target};
  if (found->has(Feature::cublasLt))
    products.choices =
        chooseProducts(plan->program(), options.compile, *target);
  Explanation explanation =
      explainPlan(*plan, llvm::sys::path::filename(path).str(), *steps, traced,
                  *machine, tiledHere ? target : nullptr, products);
  explanation.measuredFrom = measuredFrom;
  if (!options.html.empty())
    return writeOutput(options.html, explanationPage(explanation));
  return writeOutput("", options.json ? explanationJson(explanation) + "\n"
                                      : explanationText(explanation));
}

int tools::explainCommand(int argc, char **argv, const char *tool) {
  CLI::App app{"batonc explain says of each phase of a model's program what it "
               "computes and moves, how\nlong that takes at least, how long it "
               "takes, and why the compiler made it so.",
               "batonc explain"};
  app.footer(kFooter);
  ExplainOptions options;
  CompileFlags flags;
  flags.addTo(app);
  addFlags(app, options);
  if (auto status = parse(app, argc, argv, "batonc explain"))
    return *status;
  if (std::string error = flags.finish(options.compile); !error.empty())
    return fail(error);
  if (std::string error = checkFlags(options); !error.empty())
    return fail(error);
  reportFatalErrors(options.compile.model);
  if (Error error = explainModel(options, Installation::ofTool(tool)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

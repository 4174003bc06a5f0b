//===- batonc.cpp - the compiler's command line ---------------------------===//
//
// One line on standard error and status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compile.h"
#include "tools/batonc/Process.h"
#include "tools/batonc/check_body.h"
#include "tools/batonc/compare.h"
#include "tools/batonc/compile_flags.h"
#include "tools/batonc/errors.h"
#include "tools/batonc/explain.h"
#include "tools/batonc/installed_tool.h"
#include "tools/batonc/names.h"
#include "tools/batonc/pipeline.h"
#include "tools/batonc/plan_shard.h"
#include "tools/batonc/plan_stages.h"
#include "tools/batonc/tune.h"

#include <cstdio>
#include <cstring>

using namespace baton::compiler;
using namespace baton::tools;

static constexpr char about[] =
    "batonc compiles a transformer into one executable whose whole decode "
    "step is a single persistent program of event-driven tasks.\n\n"
    "batonc explain MODEL says what each phase of that program costs, and "
    "why "
    "it is as it is;\nsee batonc explain --help. (A folder of that name is "
    "./explain.)\n"
    "batonc names MODEL lists the ops and phases that a schedule can name.\n"
    "batonc check-body FILE.mlir runs task bodies against what they state.\n"
    "batonc pipeline says what a pipeline schedule costs; see batonc "
    "pipeline "
    "--help.\n"
    "batonc tune MODEL measures schedules on this machine, and writes the "
    "fastest; see batonc tune --help.\n"
    "batonc compare A B --data TEXT says how two models differ on a text, "
    "such as a quantised one\nfrom the one that it was made of; see batonc "
    "compare --help.\n"
    "batonc quantize MODEL writes it with fewer bits a weight; see batonc "
    "quantize --help.\n"
    "batonc merge ADAPTER makes one checkpoint of an adapter and its model; "
    "see batonc merge --help.\n"
    "batonc prune MODEL writes it with fewer neurons or layers; see batonc "
    "prune --help.\n"
    "batonc plan finds how a model is best split over devices, and says how "
    "long that takes; see batonc plan --help.\n"
    "batonc plan shard MODEL chooses what ranks along tp have parts of, "
    "and plan stages MODEL\nwhich layers run on which devices; see their "
    "--help.\n"
    "batonc calibrate measures this machine for plans; batonc sweep says "
    "what has become slower;\nsee batonc calibrate --help.\n"
    "batonc health LOG says which ranks of a training run are slower than "
    "their peers; see batonc health --help.";

static constexpr char examples[] =
    "Examples:\n"
    "  batonc ./llama -o llama                    compile a checkpoint "
    "folder\n"
    "  ./llama generate --weights ./llama --tokens 1,2,3 --max-new-tokens "
    "20\n"
    "  batonc ./llama --emit=event                print the proved plan\n"
    "  batonc ./llama --emit=schedule -o s.mlir   print what was decided, to "
    "edit it\n"
    "  batonc ./llama -o llama --schedule=s.mlir  ... and decide otherwise\n"
    "  batonc explain ./llama --html plan.html    phases, costs and reasons\n"
    "  batonc model.mlir -o model --max-seq=512   compile hand-written IR\n"
    "  batonc ./llama -o check --sanitize=thread  instrument everything\n"
    "  batonc ./llama -o llama --target=cuda:sm_90a        a kernel for a "
    "GPU\n"
    "  batonc ./llama --target=cuda:sm_90a --emit=cuda     ... as CUDA C++\n"
    "  batonc ./llama -o emu --target=cuda:emulated        ... run on the "
    "host\n";

static int compileCommand(int argc, char **argv) {
  CLI::App app{about};
  app.footer(examples);
  app.set_version_flag("--version", "batonc 0.1.0");

  CompileOptions options;
  CompileFlags flags;
  Choice emit{"--emit",
              "exe",
              {"schedule", "primitive", "model", "dist", "phases", "event",
               "plan-json", "description", "llvm", "cuda", "object", "exe"},
              {}};
  flags.addTo(app);
  app.add_option("-o", options.output,
                 "where the result goes; text stages print to standard output "
                 "without it");
  app.add_option(
      "--emit", emit.value,
      "print the default schedule, or stop at a stage: schedule, "
      "primitive (as imported: the form to write variants of a model in), "
      "model (as the schedule fuses it), dist (as --mesh cuts it), phases "
      "(the plan before events), event (the proved plan), plan-json (the "
      "plan, not proved, as check-plan reads it), description (what the "
      "executable would say of itself: its memory, phases and costs, in JSON), "
      "llvm, cuda, object, exe");

  if (auto status = parse(app, argc, argv, "batonc"))
    return *status;

  if (std::string error = flags.finish(options); !error.empty())
    return fail(error);
  if (std::string error = emit.check(); !error.empty())
    return fail(error);
  const std::pair<const char *, Stage> stages[] = {
      {"schedule", Stage::schedule},  {"primitive", Stage::primitive},
      {"model", Stage::model},        {"dist", Stage::dist},
      {"phases", Stage::phases},      {"event", Stage::event},
      {"plan-json", Stage::planJson}, {"description", Stage::description},
      {"llvm", Stage::llvm},          {"cuda", Stage::cuda},
      {"object", Stage::object},      {"exe", Stage::executable}};
  for (auto [name, stage] : stages)
    if (emit.value == name)
      options.stage = stage;
  if (options.output.empty() && options.stage == Stage::executable)
    return fail("-o is missing: where should the executable go?");

  reportFatalErrors(options.model);
  if (llvm::Error error = compile(options, Installation::ofTool(argv[0])))
    return fail(llvm::toString(std::move(error)));
  if (options.stage == Stage::executable && !options.quiet &&
      !flags.plannedRun().empty())
    llvm::errs() << "planned for: " << options.output << " train"
                 << flags.plannedRun() << "\n";
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "quantize") == 0)
    return quantizeCommand(argv + 1, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "merge") == 0)
    return mergeCommand(argv + 1, argv[0]);
  // Of all plans, two look into programs.
  const bool plans = argc > 2 && std::strcmp(argv[1], "plan") == 0;
  const bool plansShards = plans && std::strcmp(argv[2], "shard") == 0;
  const bool plansStages = plans && std::strcmp(argv[2], "stages") == 0;
  if (argc > 1 && std::strcmp(argv[1], "plan") == 0 && !plansShards &&
      !plansStages)
    return planCommand(argv + 1, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "health") == 0)
    return healthCommand(argv + 1, argv[0]);
  if (argc > 1 && (std::strcmp(argv[1], "calibrate") == 0 ||
                   std::strcmp(argv[1], "sweep") == 0))
    return calibrateCommand(argv + 1, argv[0], argv[1]);
  if (argc > 1 && std::strcmp(argv[1], "prune") == 0)
    return pruneCommand(argv + 1, argv[0]);
  baton::prepareProcess();
  if (plansShards)
    return planShardCommand(argc - 2, argv + 2, argv[0]);
  if (plansStages)
    return planStagesCommand(argc - 2, argv + 2, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "explain") == 0)
    return explainCommand(argc - 1, argv + 1, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "names") == 0)
    return namesCommand(argc - 1, argv + 1, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "check-body") == 0)
    return checkBodyCommand(argc - 1, argv + 1, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "pipeline") == 0)
    return pipelineCommand(argc - 1, argv + 1);
  if (argc > 1 && std::strcmp(argv[1], "tune") == 0)
    return tuneCommand(argc - 1, argv + 1, argv[0]);
  if (argc > 1 && std::strcmp(argv[1], "compare") == 0)
    return compareCommand(argc - 1, argv + 1, argv[0]);
  return compileCommand(argc, argv);
}

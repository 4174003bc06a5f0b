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

#include "runtime/weights/message.h"

#include "llvm/Support/FileSystem.h"

#include <functional>
#include <string>
#include <vector>

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

namespace {
/// What stands in front of a command's flags.
struct Command {
  std::string name;
  std::function<int(int, char **)> run;
};
} // namespace

/// `tool` is how batonc was called. A command's arguments begin with its name.
static std::vector<Command> commandsOf(const char *tool) {
  // Commands that are programs of their own need nothing of the compiler.
  auto ownProgram = [=](int (*run)(char **, const char *)) {
    return [=](int, char **argv) { return run(argv, tool); };
  };
  auto compiling = [=](int (*run)(int, char **, const char *)) {
    return [=](int argc, char **argv) {
      baton::prepareProcess();
      return run(argc, argv, tool);
    };
  };
  auto planning = [=](int argc, char **argv) {
    const std::string kind = argc > 1 ? argv[1] : "";
    // Two kinds of plans look into programs.
    if (kind == "shard")
      return compiling(planShardCommand)(argc - 1, argv + 1);
    if (kind == "stages")
      return compiling(planStagesCommand)(argc - 1, argv + 1);
    return planCommand(argv, tool);
  };
  auto measuring = [=](int, char **argv) {
    return calibrateCommand(argv, tool, argv[0]);
  };
  auto drawing = [](int argc, char **argv) {
    baton::prepareProcess();
    return pipelineCommand(argc, argv);
  };
  return {{"explain", compiling(explainCommand)},
          {"names", compiling(namesCommand)},
          {"check-body", compiling(checkBodyCommand)},
          {"tune", compiling(tuneCommand)},
          {"compare", compiling(compareCommand)},
          {"pipeline", drawing},
          {"plan", planning},
          {"calibrate", measuring},
          {"sweep", measuring},
          {"health", ownProgram(healthCommand)},
          {"quantize", ownProgram(quantizeCommand)},
          {"merge", ownProgram(mergeCommand)},
          {"prune", ownProgram(pruneCommand)}};
}

/// A command that is nearly spelt right, where no model is of that name.
static std::string nearestCommand(const std::string &word,
                                  const std::vector<Command> &commands) {
  if (word.empty() || word[0] == '-' || llvm::sys::fs::exists(word))
    return "";
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.name);
  return baton::nearest_text(word, names, "batonc ");
}

int main(int argc, char **argv) {
  const std::vector<Command> commands = commandsOf(argv[0]);
  const std::string word = argc > 1 ? argv[1] : "";
  for (const Command &command : commands)
    if (command.name == word)
      return command.run(argc - 1, argv + 1);
  if (std::string nearest = nearestCommand(word, commands); !nearest.empty())
    return fail(word + " is neither a model nor a command" + nearest);
  baton::prepareProcess();
  return compileCommand(argc, argv);
}

//===- batonc.cpp - the compiler's command line ---------------------------===//
//
// Flags become CompileOptions; what the contract names but is not built yet is
// refused by name. One line on standard error and status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "Process.h"
#include "compiler/Compile.h"
#include "compiler/Pipeline.h"

#include "llvm/Support/ErrorHandling.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace baton::compiler;

static int fail(const std::string &message) {
  // One line, whatever the message holds.
  std::string line = message;
  for (char &c : line)
    if (c == '\n' || c == '\r')
      c = ' ';
  std::fprintf(stderr, "error: %s\n", line.c_str());
  return 1;
}

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

namespace {
/// A flag of the contract of which only some values are built.
struct Choice {
  const char *flag;
  std::string value;
  std::vector<std::string> built, later;
};
} // namespace

/// An error line for a value that is not built or unknown, or nothing.
static std::string check(const Choice &choice) {
  for (const std::string &value : choice.built)
    if (value == choice.value)
      return "";
  for (const std::string &value : choice.later)
    if (choice.value.rfind(value, 0) == 0)
      return std::string(choice.flag) + "=" + choice.value +
             " is not built yet; there is " + join(choice.built);
  return std::string(choice.flag) + "=" + choice.value +
         " is unknown; there is " + join(choice.built);
}

int main(int argc, char **argv) {
  baton::prepareProcess();
  CLI::App app{
      "batonc compiles a transformer into one executable whose whole decode "
      "step is a single persistent program of event-driven tasks."};
  app.footer(
      "Examples:\n"
      "  batonc ./llama -o llama                    compile a checkpoint "
      "folder\n"
      "  ./llama generate --weights ./llama --tokens 1,2,3 --max-new-tokens "
      "20\n"
      "  batonc ./llama --emit=event                print the proved plan\n"
      "  batonc model.mlir -o model --max-seq=512   compile hand-written IR\n"
      "  batonc ./llama -o check --sanitize=thread  instrument everything\n");
  app.set_version_flag("--version", "batonc 0.1.0");

  CompileOptions options;
  Choice mode{"--mode", "decode", {"decode"}, {"train", "score"}};
  Choice target{"--target", "cpu", {"cpu"}, {"cuda"}};
  Choice emit{"--emit",
              "exe",
              {"model", "event", "llvm", "object", "exe"},
              {"dist", "cuda"}};
  Choice dtype{"--dtype", "auto", {"auto", "f32", "bf16", "f16"}, {"f64"}};
  Choice schedule{"--schedule", "auto", {"auto", "static"}, {"dynamic", ""}};
  Choice sanitize{"--sanitize", "", {"", "thread", "address"}, {}};
  int64_t maxSeq = 0, maxBatch = 1;
  std::string mesh, sharding, pipeline, optimizer, recompute;
  std::vector<std::string> disabled;
  app.add_option("MODEL", options.model,
                 "checkpoint folder with config.json, or an .mlir file in the "
                 "model or event dialect")
      ->required();
  app.add_option("-o", options.output,
                 "where the result goes; text stages print to standard output "
                 "without it");
  app.add_option("--emit", emit.value,
                 "stop at a stage: model, event, llvm, object, exe");
  app.add_option("--dtype", dtype.value,
                 "type of linear weights: auto (the config's), f32, bf16, f16");
  auto *maxSeqOption = app.add_option(
      "--max-seq", maxSeq,
      "longest sequence in tokens, prompt and answer; the config's limit "
      "without it");
  app.add_option("--target-cpu", options.targetCpu,
                 "CPU to compile for: native, or an LLVM name such as "
                 "x86-64-v3, znver4");
  app.add_option("--disable-pass", disabled,
                 "leave out a pass: " +
                     join({optionalPasses().begin(), optionalPasses().end()}))
      ->delimiter(',');
  app.add_option("--sanitize", sanitize.value,
                 "instrument program, runtime and task library: thread, "
                 "address");
  app.add_option("--target-file", options.targetFile,
                 "target description (JSON) with other tile sizes");
  app.add_flag("--quiet", options.quiet, "say nothing but errors");
  app.add_option("--mode", mode.value, "what the executable does: decode");
  app.add_option("--target", target.value, "machine to compile for: cpu");
  app.add_option("--schedule", schedule.value,
                 "order of tasks on each worker: auto, static");
  app.add_option("--max-batch", maxBatch, "sequences at a time: 1");
  for (auto [flag, value] :
       {std::pair<const char *, std::string *>{"--mesh", &mesh},
        {"--sharding", &sharding},
        {"--pipeline", &pipeline},
        {"--optimizer", &optimizer},
        {"--recompute", &recompute}})
    app.add_option(flag, *value)->group("");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::printf("%s", app.help().c_str());
    return 0;
  } catch (const CLI::CallForVersion &) {
    std::printf("batonc 0.1.0\n");
    return 0;
  } catch (const CLI::ParseError &error) {
    return fail(std::string(error.what()) + "; see batonc --help");
  }

  for (const Choice &choice : {mode, target, emit, dtype, schedule, sanitize})
    if (std::string error = check(choice); !error.empty())
      return fail(error);
  for (auto [flag, value] :
       {std::pair<const char *, const std::string &>{"--mesh", mesh},
        {"--sharding", sharding},
        {"--pipeline", pipeline},
        {"--optimizer", optimizer},
        {"--recompute", recompute}})
    if (!value.empty())
      return fail(std::string(flag) + " is not built yet");
  if (maxBatch != 1)
    return fail(
        "--max-batch=" + std::to_string(maxBatch) +
        (maxBatch < 1 ? " is less than 1" : " is not built yet; there is 1"));
  if (maxSeqOption->count()) {
    if (maxSeq < 1 || maxSeq > (1 << 24))
      return fail("--max-seq=" + std::to_string(maxSeq) +
                  " is out of range, expected 1 to 16777216");
    options.maxSeq = maxSeq;
  }
  std::vector<std::string> all = allPasses();
  for (const std::string &name : disabled) {
    if (std::find(all.begin(), all.end(), name) == all.end())
      return fail("--disable-pass=" + name +
                  ": there is no such pass; there is " + join(all));
    if (!optionalPasses().count(name))
      return fail("--disable-pass=" + name +
                  ": no plan is emitted without this pass");
    options.disabledPasses.insert(name);
  }
  const std::pair<const char *, Stage> stages[] = {{"model", Stage::model},
                                                   {"event", Stage::event},
                                                   {"llvm", Stage::llvm},
                                                   {"object", Stage::object},
                                                   {"exe", Stage::executable}};
  for (auto [name, stage] : stages)
    if (emit.value == name)
      options.stage = stage;
  if (options.output.empty() && options.stage == Stage::executable)
    return fail("-o is missing: where should the executable go?");
  options.dtype = dtype.value;
  options.sanitize = sanitize.value;

  // What the libraries cannot go on from, such as numbers past 64 bits.
  llvm::install_fatal_error_handler(
      [](void *model, const char *reason, bool) {
        llvm::errs() << "error: " << *static_cast<std::string *>(model) << ": "
                     << reason << '\n';
        std::_Exit(1);
      },
      &options.model);
  if (llvm::Error error = compile(options, Installation::ofTool(argv[0])))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

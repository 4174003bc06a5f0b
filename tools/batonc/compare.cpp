//===- compare.cpp - batonc compare: how two models differ on a text ------===//

#include "tools/batonc/compare.h"

#include "codegen/link/Cache.h"
#include "compiler/Compile.h"
#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/comparison/Comparison.h"
#include "compiler/targets/Targets.h"
#include "dialects/Model/Model.h"
#include "tools/batonc/errors.h"
#include "tools/batonc/progress.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace baton;
using namespace baton::compiler;
using namespace baton::comparison;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using Json = nlohmann::ordered_json;

namespace {

/// One of the two that are compared.
struct Side {
  /// A folder, a GGUF file, IR, or a program that was compiled before.
  std::string model;
  /// Of IR and programs; of the others the model is its weights.
  std::string weights;
  const char *flag;

  bool isProgram() const;
  const std::string &weightsOrModel() const {
    return weights.empty() ? model : weights;
  }
};

struct CompareOptions {
  Side sides[2] = {{"", "", "--weights-a"}, {"", "", "--weights-b"}};
  std::string data;
  std::optional<int64_t> context, windows;
  std::optional<unsigned> workers;
  std::string target = "cpu", optimize = "3";
  bool noCache = false, quiet = false, json = false;

  size_t count() const { return sides[1].model.empty() ? 1 : 2; }
};

} // namespace

static constexpr int64_t kUsualContext = 512;
static constexpr int64_t kLeastContext = 4, kMostContext = 1 << 24;
/// Rows of a step with logits, three times the vocabulary in F32 each. More of
/// them make no step faster that is worth their memory.
static constexpr int64_t kOutputs = 64;

static const char *const kFooter =
    "A and B are each a checkpoint's folder, a .gguf file, or a program that "
    "batonc has compiled, with\n--weights-a or --weights-b. B is compared with "
    "A, the reference; without B there is A's perplexity alone.\n\n"
    "The text is cut into windows of --context tokens, as llama.cpp's "
    "perplexity tool does: each is read\nfrom its beginning, and begins with "
    "the tokenizer's first token. Its first half is context, the tokens\n"
    "behind it are scored.\n\n"
    "  perplexity   exp of the mean of -log p(token that came)\n"
    "  KL           of the distributions of the next token, sum of p_A log(p_A "
    "/ p_B), in nats\n"
    "  same best    tokens for which both find the same one most likely\n\n"
    "Intervals hold with 95 %: Student's, of the windows' means. That of B's "
    "perplexity over A's is of the\ndifferences of the same windows.\n\n"
    "Examples:\n"
    "  batonc compare ./llama llama-q4.gguf --data wiki.txt     what "
    "quantising has cost\n"
    "  batonc compare llama-q4.gguf --data wiki.txt             its "
    "perplexity\n"
    "  batonc compare ./llama llama-q4.gguf --data wiki.txt --windows 20    "
    "sooner, less sure\n"
    "  batonc ./llama --dtype=bf16 -o half                      a program of "
    "other flags:\n"
    "  batonc compare ./llama ./half --weights-b ./llama --data wiki.txt "
    "--json\n";

static void addFlags(CLI::App &app, CompareOptions &options) {
  app.add_option("A", options.sides[0].model,
                 "the reference: a checkpoint's folder, a .gguf file, or a "
                 "compiled program")
      ->required();
  app.add_option("B", options.sides[1].model, "what is compared with it");
  app.add_option("--data", options.data, "the text, UTF-8")
      ->type_name("TEXT")
      ->required();
  app.add_option("--context", options.context,
                 "tokens of a window: 512, or as many as the models have "
                 "positions for")
      ->type_name("N");
  app.add_option("--windows", options.windows,
                 "the first windows of the text only: all")
      ->type_name("N");
  app.add_option("--weights-a", options.sides[0].weights,
                 "weights of A, where it is a program: a folder or a .gguf "
                 "file")
      ->type_name("DIR");
  app.add_option("--weights-b", options.sides[1].weights, "the same of B")
      ->type_name("DIR");
  app.add_option("--workers", options.workers,
                 "threads, of which each program has a half: as many as cores")
      ->type_name("N");
  app.add_option("--target", options.target,
                 "machine to compile for, as batonc --target");
  app.add_option("--optimize", options.optimize,
                 "how much code is optimised: 3, or 2 or 1, which compile "
                 "faster and run slower, with the same bits");
  app.add_flag("--no-cache", options.noCache,
               "neither look among what was compiled before, nor keep packed "
               "weights beside the checkpoints");
  app.add_flag("--quiet", options.quiet, "say nothing but results and errors");
  app.add_flag("--json", options.json, "print one JSON object");
}

/// An error line for flags that are wrong by themselves, or nothing.
static std::string checkFlags(const CompareOptions &options) {
  auto range = [](const char *flag, std::optional<int64_t> value, int64_t least,
                  int64_t most) -> std::string {
    if (!value || (*value >= least && *value <= most))
      return "";
    return std::string(flag) + " " + std::to_string(*value) +
           " is out of range, expected " + std::to_string(least) + " to " +
           std::to_string(most);
  };
  const auto workers =
      options.workers ? std::optional<int64_t>(*options.workers) : std::nullopt;
  for (const std::string &error :
       {range("--context", options.context, kLeastContext, kMostContext),
        range("--windows", options.windows, 1, INT64_MAX),
        range("--workers", workers, 1, 256)})
    if (!error.empty())
      return error;
  if (options.optimize != "1" && options.optimize != "2" &&
      options.optimize != "3")
    return "--optimize=" + options.optimize + " is unknown; there is 1, 2, 3";
  if (options.count() == 1 && !options.sides[1].weights.empty())
    return "--weights-b: there is no B";
  for (const Side &side : options.sides) {
    const bool needs =
        side.isProgram() || StringRef(side.model).ends_with(".mlir");
    if (needs && side.weights.empty())
      return side.model + ": has no weights of its own; " + side.flag +
             " names a folder or a .gguf file";
  }
  if (!llvm::sys::fs::exists(options.data))
    return "--data: " + options.data + ": no such file";
  if (!llvm::sys::fs::is_regular_file(options.data))
    return "--data: " + options.data + " is no plain file; give one text";
  return "";
}

bool Side::isProgram() const {
  llvm::file_magic magic;
  return llvm::sys::fs::is_regular_file(model) &&
         !llvm::identify_magic(model, magic) &&
         (magic == llvm::file_magic::elf_executable ||
          magic == llvm::file_magic::elf_shared_object);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Expected<CompileOptions> compileOptions(const CompareOptions &options,
                                               const std::string &model) {
  CompileOptions compiling;
  compiling.model = model;
  compiling.target = options.target;
  compiling.optimization = options.optimize[0] - '0';
  compiling.quiet = true;
  if (!options.noCache)
    compiling.cache = link::Cache::userFolder();
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  // Steps of such programs may have more rows with logits.
  if (target->has(Feature::batches)) {
    compiling.batch = 1;
    compiling.outputs = kOutputs;
  }
  return compiling;
}

/// Positions that a model has.
static Expected<int64_t> positionsOf(const CompareOptions &options,
                                     const Side &side,
                                     const link::Scratch &scratch,
                                     const Installation &installation) {
  if (side.isProgram()) {
    auto text = link::outputOf(scratch, {side.model, "info", "--json"});
    if (!text)
      return createStringError(side.model + ": " +
                               llvm::toString(text.takeError()));
    auto info = nlohmann::json::parse(*text, nullptr, false);
    if (!info.is_object() || !info.value("max_seq", Json()).is_number())
      return createStringError(side.model + ": is no program of batonc's");
    return info["max_seq"].get<int64_t>();
  }
  auto planning = compileOptions(options, side.model);
  if (!planning)
    return planning.takeError();
  planning->stage = Stage::primitive;
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  auto descriptions = target->describe(*planning, installation);
  if (!descriptions)
    return descriptions.takeError();
  auto plan = Plan::build(*planning, *descriptions);
  if (!plan)
    return plan.takeError();
  int64_t positions = kUsualContext;
  plan->module()->walk([&](model::ProgramOp program) {
    positions = static_cast<int64_t>(program.getMaxSeq());
  });
  return positions;
}

/// Chooses the tokens of a window, where the user does not.
static Error chooseContext(CompareOptions &options,
                           const link::Scratch &scratch,
                           const Installation &installation) {
  if (options.context)
    return Error::success();
  int64_t context = kUsualContext;
  for (const Side &side : llvm::ArrayRef(options.sides, options.count())) {
    auto positions = positionsOf(options, side, scratch, installation);
    if (!positions)
      return positions.takeError();
    context = std::min(context, *positions);
  }
  options.context = context;
  return Error::success();
}

/// What runs a side: the program itself, or one that is compiled in the folder.
static Expected<std::string> programOf(const CompareOptions &options,
                                       const Side &side, const char *name,
                                       const link::Scratch &scratch,
                                       const Installation &installation) {
  if (side.isProgram()) {
    // A name without a folder is not looked for elsewhere.
    llvm::SmallString<128> path(side.model);
    if (std::error_code error = llvm::sys::fs::make_absolute(path))
      return createStringError(side.model + ": " + error.message());
    return path.str().str();
  }
  auto compiling = compileOptions(options, side.model);
  if (!compiling)
    return compiling.takeError();
  compiling->maxSeq = options.context;
  compiling->output = scratch.path(name);
  if (Error error = compile(*compiling, installation))
    return std::move(error);
  return compiling->output;
}

static Expected<LogitStream> startSide(const CompareOptions &options,
                                       const Side &side, const char *name,
                                       const std::string &program,
                                       const link::Scratch &scratch) {
  std::vector<std::string> arguments = {program,
                                        "logits",
                                        "--quiet",
                                        "--weights=" + side.weightsOrModel(),
                                        "--data=" + options.data,
                                        "--context=" +
                                            std::to_string(*options.context)};
  if (options.windows)
    arguments.push_back("--windows=" + std::to_string(*options.windows));
  const unsigned workers =
      options.workers.value_or(
          llvm::hardware_concurrency().compute_thread_count()) /
      static_cast<unsigned>(options.count());
  if (options.workers || options.target == "cpu")
    arguments.push_back("--workers=" + std::to_string(std::max(1u, workers)));
  if (options.noCache)
    arguments.push_back("--no-cache");
  return LogitStream::start(scratch, std::string(name) + ".errors", side.model,
                            arguments);
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

static std::string format(const char *form, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

/// " (from LOW to HIGH)", of what a mean and its margin become.
template <typename Value>
static std::string interval(const TextMean &mean, const char *form,
                            Value value) {
  if (!mean.margin)
    return "";
  return "  (" + format(form, value(mean.value - *mean.margin)) + " to " +
         format(form, value(mean.value + *mean.margin)) + ")";
}

static double exponential(double value) { return std::exp(value); }
static double notNegative(double value) { return std::max(0.0, value); }
static double percent(double value) {
  return 100 * std::clamp(value, 0.0, 1.0);
}

static std::string perplexityLine(const std::string &name,
                                  const TextMean &loss) {
  return "perplexity of " + name + "  " + format("%.4f", std::exp(loss.value)) +
         interval(loss, "%.4f", exponential) + "\n";
}

static std::string textOf(const CompareOptions &options,
                          const Comparison &found) {
  std::string text =
      options.data + ": " + std::to_string(found.windows) + " windows of " +
      std::to_string(found.context) + " tokens, " +
      std::to_string(found.tokens) + " of them scored" +
      (found.windows > 1 ? "; in brackets, intervals of 95 %\n"
                         : "; one window, so that there are no intervals\n");
  const bool two = found.other.has_value();
  text += perplexityLine(two ? "A, " + options.sides[0].model
                             : options.sides[0].model,
                         found.loss);
  if (!two)
    return text;
  const Differences &other = *found.other;
  text += perplexityLine("B, " + options.sides[1].model, other.loss);
  text += "perplexity of B over A's  " +
          format("%.5f", std::exp(other.excess.value)) +
          interval(other.excess, "%.5f", exponential) + "\n";
  text += "KL of B from A, nats a token  " +
          format("%.6f", other.divergence.value) +
          interval(other.divergence, "%.6f", notNegative) + "; median " +
          format("%.6f", other.medianDivergence) + ", 99 % " +
          format("%.6f", other.highDivergence) + ", most " +
          format("%.6f", other.mostDivergence) + "\n";
  text += "same best token  " +
          format("%.3f %%", percent(other.agreement.value)) +
          interval(other.agreement, "%.3f %%", percent) + "\n";
  return text;
}

/// A number, and between which it lies; null where there is one window.
template <typename Value>
static Json jsonOf(const TextMean &mean, Value value) {
  Json json = {
      {"value", value(mean.value)}, {"low", nullptr}, {"high", nullptr}};
  if (mean.margin) {
    json["low"] = value(mean.value - *mean.margin);
    json["high"] = value(mean.value + *mean.margin);
  }
  return json;
}

static Json jsonOf(const CompareOptions &options, const Comparison &found) {
  auto side = [&](size_t index, const TextMean &loss) {
    return Json{{"model", options.sides[index].model},
                {"perplexity", jsonOf(loss, exponential)}};
  };
  Json json = {{"data", options.data},     {"context", found.context},
               {"windows", found.windows}, {"tokens", found.tokens},
               {"confidence", 0.95},       {"a", side(0, found.loss)}};
  if (!found.other)
    return json;
  const Differences &other = *found.other;
  json["b"] = side(1, other.loss);
  json["perplexity_ratio"] = jsonOf(other.excess, exponential);
  json["kl"] = jsonOf(other.divergence, notNegative);
  json["kl"]["median"] = other.medianDivergence;
  json["kl"]["percentile_99"] = other.highDivergence;
  json["kl"]["max"] = other.mostDivergence;
  json["same_best"] = jsonOf(other.agreement,
                             [](double value) { return percent(value) / 100; });
  return json;
}

static std::string progressText(const Comparison &found, size_t windows) {
  std::string text = "window " + std::to_string(found.windows) + " of " +
                     std::to_string(windows) + ": perplexity " +
                     format("%.4f", std::exp(found.loss.value));
  if (found.other)
    text += " and " + format("%.4f", std::exp(found.other->loss.value)) +
            ", KL " + format("%.6f", found.other->divergence.value) +
            ", same best token " +
            format("%.2f %%", percent(found.other->agreement.value));
  return text;
}

static Error compareModels(CompareOptions &options,
                           const Installation &installation) {
  llvm::SmallString<128> place;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, place);
  llvm::sys::path::append(place, "baton-compare");
  auto scratch = link::Scratch::beside(place);
  if (!scratch)
    return scratch.takeError();
  tools::Progress progress(options.quiet);
  if (Error error = chooseContext(options, *scratch, installation))
    return error;
  const char *const names[] = {"a", "b"};
  std::vector<std::string> programs;
  for (size_t i = 0; i < options.count(); ++i) {
    const Side &side = options.sides[i];
    if (i && side.model == options.sides[0].model) {
      programs.push_back(programs.front());
      continue;
    }
    progress.show(side.isProgram() ? "" : "compiling " + side.model);
    auto program = programOf(options, side, names[i], *scratch, installation);
    if (!program)
      return program.takeError();
    programs.push_back(*program);
  }
  progress.show("loading weights");
  std::vector<LogitStream> streams;
  for (size_t i = 0; i < options.count(); ++i) {
    auto stream =
        startSide(options, options.sides[i], names[i], programs[i], *scratch);
    if (!stream)
      return stream.takeError();
    streams.push_back(std::move(*stream));
  }
  const size_t windows = streams.front().windows();
  auto found = compare(streams[0], streams.size() > 1 ? &streams[1] : nullptr,
                       [&](const Comparison &sofar) {
                         progress.show(progressText(sofar, windows));
                       });
  progress.clear();
  if (!found)
    return found.takeError();
  return writeOutput("", options.json ? jsonOf(options, *found).dump(1) + "\n"
                                      : textOf(options, *found));
}

int tools::compareCommand(int argc, char **argv, const char *tool) {
  CLI::App app{"batonc compare says how well a model foretells a text, and how "
               "another one, such as the\nsame one quantised, differs from it: "
               "both are compiled, run on the text, and compared\ntoken by "
               "token.",
               "batonc compare"};
  app.footer(kFooter);
  CompareOptions options;
  addFlags(app, options);
  if (auto status = parse(app, argc, argv, "batonc compare"))
    return *status;
  if (std::string error = checkFlags(options); !error.empty())
    return fail(error);
  reportFatalErrors(options.sides[0].model);
  if (Error error = compareModels(options, Installation::ofTool(tool)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

//===- tune.cpp - batonc tune: the fastest of many schedules --------------===//

#include "tools/batonc/tune.h"

#include "codegen/link/Cache.h"
#include "compiler/Outputs.h"
#include "compiler/SourceFile.h"
#include "compiler/explain/HostFigures.h"
#include "compiler/explain/Words.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/targets/Targets.h"
#include "compiler/tuning/Journal.h"
#include "compiler/tuning/Space.h"
#include "compiler/tuning/Trials.h"
#include "tools/batonc/compile_flags.h"
#include "tools/batonc/errors.h"

#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace baton;
using namespace baton::compiler;
using namespace baton::tuning;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using Json = nlohmann::ordered_json;
using Kind = Judgement::Kind;

namespace {

struct TuneOptions {
  CompileOptions compile;
  /// The schedule with alternatives; the default's without.
  std::string schedule;
  Workload workload;
  bool hasPrefill = false, hasDecode = false;
  double minutes = 10, prune = 1.25;
  int64_t rounds = kFewestRounds;
  /// Only print the schedule with alternatives.
  bool prints = false;
  bool json = false;
};

/// What there is to search, and what it is compared with.
struct Setting {
  Plan plan;
  std::vector<TargetDescription> targets;
  schedule::Alternatives space;
  Chosen start;
  /// The default schedule's text.
  std::string usual;
  explain::Machine machine;
};

} // namespace

static const char *const kFooter =
    "A schedule leaves a decision open with `or` (docs/schedules.md):\n"
    "  transform.baton.tile %wide [48, 64] or [24, 64] or [48, 128] optional\n"
    "  transform.baton.distribute %phases \"by_work\" or \"cyclic\"\n"
    "  transform.baton.merge %ropes or not\n"
    "Without --schedule, decisions are those of the default schedule, with "
    "alternatives that the\nmodel has use for.\n\n"
    "One decision after the other, its alternatives are compiled and proved; "
    "their logits have to be\nthe default's, bit for bit; those that explain "
    "predicts to be slow are left out; the others run\nin turn, round by "
    "round, with the best so far. What is faster for sure replaces it. At the "
    "end\nthe best runs beside the default in new rounds, and -o gets it, with "
    "what was measured. If\nnothing is faster, -o gets the default "
    "schedule.\n\n"
    "A search that is interrupted, or out of time, goes on when the same "
    "command is run again:\nwhat it has measured is in OUTPUT.tune.\n\n"
    "Examples:\n"
    "  batonc tune ./llama -o fast.mlir                   ten minutes, random "
    "weights\n"
    "  batonc ./llama -o llama --schedule=fast.mlir       use what it found\n"
    "  batonc tune ./llama -o fast.mlir --minutes 60 --prefill 512 --decode "
    "32\n"
    "  batonc tune ./llama --print > open.mlir            what it would "
    "search; edit it, then:\n"
    "  batonc tune ./llama -o fast.mlir --schedule=open.mlir --weights "
    "./llama\n"
    "  batonc tune ./llama -o fast.mlir --workers 4 --json   for scripts\n";

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

static void addFlags(CLI::App &app, TuneOptions &options) {
  app.add_option("-o", options.compile.output,
                 "where the best schedule goes (FILE.mlir)");
  app.add_flag("--print", options.prints,
               "print the schedule with alternatives that would be searched, "
               "to edit it, and measure nothing");
  app.add_option("--minutes", options.minutes, "how long to search, about: 10")
      ->type_name("M");
  app.add_option("--prefill", options.workload.prefill,
                 "tokens of the prompt that is measured: 128, or half of what "
                 "fits")
      ->type_name("N")
      ->each([&](const std::string &) { options.hasPrefill = true; });
  app.add_option("--decode", options.workload.decode,
                 "tokens decoded after it: 64, or what fits; what counts is "
                 "the time of both together")
      ->type_name("N")
      ->each([&](const std::string &) { options.hasDecode = true; });
  app.add_option("--workers", options.workload.workers,
                 "threads that run programs: as many as cores")
      ->type_name("N");
  app.add_option("--weights", options.workload.weights,
                 "checkpoint's folder; random weights without it")
      ->type_name("DIR");
  app.add_option("--rounds", options.rounds,
                 "rounds of a comparison, of which there are up to three times "
                 "as many while it is undecided: 6, which is the least that "
                 "decide")
      ->type_name("N");
  app.add_option("--prune", options.prune,
                 "alternatives are left out that are predicted to take so many "
                 "times as long as the best so far: 1.25")
      ->type_name("X");
  app.add_flag("--json", options.json,
               "print one JSON object at the end: what was tried, and why what "
               "was left out");
}

/// An error line for flags that are wrong by themselves, or nothing.
static std::string checkFlags(const TuneOptions &options) {
  const CompileOptions &compile = options.compile;
  if (compile.output.empty() && !options.prints)
    return "-o is missing: where should the best schedule go?";
  if (compile.training)
    return "--mode=train: tune measures programs that decode; \"training\" "
           "in a --target-file sizes the tiles of those that train";
  if (countStages(compile) > 1)
    return "--mesh: stages of a pipeline (pp) have plans of their own, which "
           "are not tuned yet; leave pp out";
  if (!compile.sanitize.empty())
    return "--sanitize=" + compile.sanitize +
           ": times of programs that check themselves say nothing of others; "
           "leave the flag out";
  auto range = [](const char *flag, double value, double least,
                  double most) -> std::string {
    if (value >= least && value <= most)
      return "";
    char text[160];
    std::snprintf(text, sizeof(text),
                  "%s %g is out of range, expected %g to %g", flag, value,
                  least, most);
    return text;
  };
  const Workload &work = options.workload;
  for (const std::string &error :
       {range("--minutes", options.minutes, 0.01, 1e5),
        range("--prefill", static_cast<double>(work.prefill), 1, 1 << 24),
        range("--decode", static_cast<double>(work.decode), 1, 1024),
        range("--workers", work.workers.value_or(1), 1, 256),
        range("--rounds", static_cast<double>(options.rounds), 1, 1000),
        range("--prune", options.prune, 1, 1e6)})
    if (!error.empty())
      return error;
  return "";
}

/// The prompt and the answer have to fit into the program's positions.
static Error fitWorkload(TuneOptions &options, int64_t maxSeq) {
  Workload &work = options.workload;
  if (!options.hasPrefill)
    work.prefill = std::max<int64_t>(
        1, std::min(work.prefill,
                    options.hasDecode ? maxSeq - work.decode : maxSeq / 2));
  if (!options.hasDecode)
    work.decode = std::min(work.decode, maxSeq - work.prefill);
  if (work.decode < 1 || work.prefill + work.decode > maxSeq)
    return createStringError(
        "--prefill " + llvm::Twine(work.prefill) + " and --decode " +
        llvm::Twine(std::max<int64_t>(1, work.decode)) +
        " do not fit into the program's " + llvm::Twine(maxSeq) + " positions");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// What is searched
//===----------------------------------------------------------------------===//

static Expected<schedule::Alternatives>
readSpace(const Plan &plan, const std::string &text, const std::string &name) {
  mlir::MLIRContext *context = plan.module()->getContext();
  Diagnostics diagnostics(context);
  auto module = schedule::parseOpen(context, text, name);
  if (!module)
    return diagnostics.take(name + ": cannot be parsed");
  return schedule::Alternatives::of(*module, text, name);
}

static Expected<explain::Machine>
machineOf(const TuneOptions &options, const Target &target,
          const TargetDescription &description,
          const Installation &installation) {
  explain::MachineFigures flags;
  flags.from = "flag";
  if (options.workload.workers)
    flags.workers = *options.workload.workers;
  std::string file = target.descriptionFile(options.compile, installation);
  auto measure = [&] {
    return explain::hostFigures(installation, options.compile.cache,
                                options.compile.quiet);
  };
  std::vector<explain::MachineFigures> stated = {
      flags, explain::figuresOf(description, file)};
  return target.runsOnHost() ? explain::chooseMachine(stated, file, measure)
                             : explain::chooseMachine(stated, file);
}

static Expected<Setting> prepare(TuneOptions &options, const Target &target,
                                 const Installation &installation) {
  auto targets = target.describe(options.compile, installation);
  if (!targets)
    return targets.takeError();
  CompileOptions planning = options.compile;
  planning.stage = Stage::event;
  auto plan = Plan::build(planning, *targets);
  if (!plan)
    return plan.takeError();
  if (!plan->isTiled())
    return createStringError(options.compile.model +
                             ": holds a plan, of which all is decided");
  if (Error error = fitWorkload(options, plan->program().getMaxSeq()))
    return std::move(error);
  std::string usual =
      schedule::defaultSchedule(*targets, options.compile.disabledPasses);
  std::string text, name = "the default schedule with alternatives";
  if (options.schedule.empty()) {
    text = openSchedule(usual, *targets, plan->programs());
  } else {
    auto buffer = readSourceFile(options.schedule);
    if (!buffer)
      return buffer.takeError();
    text = (*buffer)->getBuffer().str();
    name = options.schedule;
  }
  auto space = readSpace(*plan, text, name);
  if (!space)
    return space.takeError();
  if (space->decisions().empty())
    return createStringError(
        name + ": leaves nothing open; alternatives are written with 'or', as "
               "in transform.baton.tile %x [48, 64] or [24, 64]");
  Chosen start = space->start();
  return Setting{std::move(*plan), std::move(*targets), std::move(*space),
                 std::move(start), std::move(usual),    {}};
}

/// What tells a search from others.
static std::string searchKey(const TuneOptions &options,
                             const Setting &setting) {
  const Workload &work = options.workload;
  std::string numbers;
  llvm::raw_string_ostream(numbers)
      << work.prefill << " " << work.decode << " " << work.workers.value_or(0)
      << " " << options.rounds << " " << options.prune << " "
      << options.compile.launchesGraph << options.compile.batchInvariant
      << static_cast<int>(options.compile.cublasLt);
  return link::Cache::key({planKey(setting.plan), setting.space.text(), numbers,
                           work.weights, options.compile.target,
                           options.compile.targetCpu,
                           std::to_string(options.compile.optimization),
                           explain::Host::current().text()});
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

static std::string rangeText(const Estimate &estimate) {
  char text[96];
  std::snprintf(text, sizeof(text), "%.3f to %.3f", estimate.low,
                estimate.high);
  return text;
}

static std::string timesText(const Estimate &estimate) {
  char text[160];
  std::snprintf(text, sizeof(text), "%.3f times as fast (%s, %zu rounds)",
                estimate.median, rangeText(estimate).c_str(), estimate.rounds);
  return text;
}

static const char *wordOf(Kind kind) {
  switch (kind) {
  case Kind::admitted:
    return "measured";
  case Kind::same:
    return "same";
  case Kind::pruned:
    return "pruned";
  case Kind::refused:
    return "refused";
  }
  return "";
}

static std::string decisionText(const Setting &setting, unsigned decision,
                                unsigned alternative) {
  const schedule::OpenDecision &open = setting.space.decisions()[decision];
  return open.what + " " + open.alternatives[alternative];
}

static void reportRace(const TuneOptions &options, const Setting &setting,
                       const Race &race) {
  const schedule::OpenDecision &open = setting.space.decisions()[race.decision];
  llvm::errs() << open.what;
  if (!options.schedule.empty())
    llvm::errs() << " (line " << open.line << ")";
  llvm::errs() << ", so far " << open.alternatives[race.best[race.decision]]
               << "\n";
  for (const Entry &entry : race.entries) {
    llvm::errs() << "  " << open.alternatives[entry.candidate[race.decision]]
                 << ": ";
    if (entry.speedup)
      llvm::errs() << timesText(*entry.speedup)
                   << (entry.candidate == race.winner ? ", is taken" : "");
    else
      llvm::errs() << (entry.judgement.kind == Kind::refused ? "refused: " : "")
                   << entry.judgement.why;
    llvm::errs() << "\n";
  }
}

/// Races of a pass that asks again say nothing new.
static std::vector<const Race *> distinct(const std::vector<Race> &races) {
  std::vector<const Race *> result;
  for (const Race &race : races)
    if (llvm::none_of(result, [&](const Race *other) {
          return other->decision == race.decision && other->best == race.best;
        }))
      result.push_back(&race);
  return result;
}

static std::string countsText(const std::vector<Race> &races) {
  size_t counts[4] = {};
  for (const Race *race : distinct(races))
    for (const Entry &entry : race->entries)
      ++counts[static_cast<size_t>(entry.judgement.kind)];
  char text[160];
  std::snprintf(text, sizeof(text),
                "%zu measured, %zu pruned, %zu without effect, %zu refused",
                counts[static_cast<size_t>(Kind::admitted)],
                counts[static_cast<size_t>(Kind::pruned)],
                counts[static_cast<size_t>(Kind::same)],
                counts[static_cast<size_t>(Kind::refused)]);
  return text;
}

namespace {
/// What a search ends with.
struct Outcome {
  SearchResult result;
  /// Of the best; where that is the default's plan, only the noise counts.
  Confirmation confirmation;
  bool isDefault = false;
  /// What -o gets: the best, or the default.
  bool isFaster = false;
  std::string schedule;
};
} // namespace

static Json jsonOf(const Estimate &estimate) {
  // Few rounds have an interval without an end.
  auto end = std::isfinite(estimate.high) ? Json(estimate.high) : Json();
  return {{"median", estimate.median},
          {"low", estimate.low},
          {"high", end},
          {"rounds", estimate.rounds}};
}

static Json jsonOf(const TuneOptions &options, const Setting &setting,
                   const Outcome &outcome) {
  const Workload &work = options.workload;
  Json decisions = Json::array(), candidates = Json::array();
  for (auto [i, open] : llvm::enumerate(setting.space.decisions()))
    decisions.push_back(
        {{"decision", open.what},
         {"line", open.line},
         {"alternatives", open.alternatives},
         {"chosen", open.alternatives[outcome.result.best[i]]}});
  for (const Race *race : distinct(outcome.result.races))
    for (const Entry &entry : race->entries) {
      Json json = {
          {"decision", race->decision},
          {"alternative", setting.space.decisions()[race->decision]
                              .alternatives[entry.candidate[race->decision]]},
          {"verdict", wordOf(entry.judgement.kind)},
          {"why", entry.judgement.why},
          {"predicted_us", entry.judgement.predicted},
          {"taken", entry.candidate == race->winner}};
      json["speedup"] = entry.speedup ? jsonOf(*entry.speedup) : Json();
      candidates.push_back(std::move(json));
    }
  Json json = {{"format", 1},
               {"model", options.compile.model},
               {"prefill", work.prefill},
               {"decode", work.decode},
               {"workers", setting.machine.workers.value},
               {"complete", outcome.result.complete},
               {"decisions", std::move(decisions)},
               {"candidates", std::move(candidates)},
               {"faster", outcome.isFaster}};
  const Confirmation &confirmation = outcome.confirmation;
  auto figure = [&](const Estimate &estimate) {
    return outcome.isDefault ? Json() : jsonOf(estimate);
  };
  json["speedup"] = figure(confirmation.total);
  json["prefill_speedup"] = figure(confirmation.prefill);
  json["decode_speedup"] = figure(confirmation.decode);
  json["noise"] = jsonOf(confirmation.noise);
  json["output"] = options.compile.output;
  return json;
}

/// What was measured, in lines without a comment's slashes.
static std::vector<std::string> summary(const TuneOptions &options,
                                        const Setting &setting,
                                        const Outcome &outcome) {
  std::vector<std::string> lines;
  const Confirmation &confirmation = outcome.confirmation;
  char text[160];
  if (!outcome.isDefault) {
    lines.push_back(timesText(confirmation.total) +
                    " as the default, with 95 % confidence");
    std::snprintf(
        text, sizeof(text),
        "the prompt %.3f times (%s), decoding %.3f times (%s)",
        confirmation.prefill.median, rangeText(confirmation.prefill).c_str(),
        confirmation.decode.median, rangeText(confirmation.decode).c_str());
    lines.push_back(text);
  }
  if (!outcome.isFaster)
    lines.push_back(outcome.isDefault
                        ? "nothing was faster than the default"
                        : "that is no faster for sure: the default stays");
  std::snprintf(
      text, sizeof(text), "noise: the default beside itself %.3f (%s)",
      confirmation.noise.median, rangeText(confirmation.noise).c_str());
  lines.push_back(text);
  lines.push_back("for " + options.workload.text() + ", on " +
                  explain::plural(setting.machine.workerCount(), "worker") +
                  "; " + countsText(outcome.result.races) +
                  (outcome.result.complete ? ""
                                           : "; the time was over before all "
                                             "decisions were looked at"));
  return lines;
}

static std::string scheduleText(const TuneOptions &options,
                                const Setting &setting,
                                const Outcome &outcome) {
  std::string text = "// Found by batonc tune on " + explain::today() +
                     ", on " + explain::Host::current().text() + ":\n";
  for (const std::string &line : summary(options, setting, outcome))
    text += "// - " + line + "\n";
  if (outcome.isFaster)
    for (auto [i, open] : llvm::enumerate(setting.space.decisions()))
      if (unsigned chosen = outcome.result.best[i]; chosen != setting.start[i])
        text += "// - " + decisionText(setting, i, chosen) + ", not " +
                open.alternatives[setting.start[i]] + "\n";
  return text + (outcome.isFaster ? setting.space.choose(outcome.result.best)
                                  : setting.usual);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static Error tune(TuneOptions &options, const Installation &installation) {
  const auto begun = std::chrono::steady_clock::now();
  auto target = findTarget(options.compile.target);
  if (!target)
    return target.takeError();
  options.compile.stage = Stage::executable;
  if (Error error = target->check(options.compile))
    return error;
  if (!options.prints) {
    // Before work that may take long.
    if (Error error = checkOutput(options.compile.output))
      return error;
    if (Error error = target->checkMeasurable(options.compile))
      return createStringError("tune: " + llvm::toString(std::move(error)));
  }
  auto setting = prepare(options, *target, installation);
  if (!setting)
    return setting.takeError();
  if (options.prints)
    return writeOutput("", setting->space.text());
  auto machine =
      machineOf(options, *target, setting->targets.front(), installation);
  if (!machine)
    return machine.takeError();
  setting->machine = std::move(*machine);
  const std::string kept = options.compile.output + ".tune";
  auto journal = Journal::open(kept, searchKey(options, *setting));
  if (!journal)
    return journal.takeError();
  auto scratch = link::Scratch::beside(options.compile.output);
  if (!scratch)
    return scratch.takeError();
  const bool talks = !options.compile.quiet;

  TrialsOptions trialsOptions{
      options.compile, options.workload, options.prune,
      // A sixth is for the comparison at the end.
      begun + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                  std::chrono::duration<double>(50 * options.minutes)),
      options.schedule};
  if (options.schedule.empty())
    trialsOptions.name = "the default schedule with alternatives";
  ScheduleTrials trials(trialsOptions, installation, setting->targets,
                        setting->machine, std::move(*scratch));
  if (Error error = trials.begin(setting->plan))
    return error;
  trials.setSpace(setting->space);
  SearchOptions search;
  search.start = setting->start;
  search.rounds = static_cast<size_t>(options.rounds);
  for (const schedule::OpenDecision &open : setting->space.decisions())
    search.alternatives.push_back(
        static_cast<unsigned>(open.alternatives.size()));
  if (talks) {
    llvm::errs() << explain::plural(
                        static_cast<int64_t>(search.alternatives.size()),
                        "decision")
                 << ", for " << options.workload.text() << "\n";
    if (!journal->races().empty())
      llvm::errs() << "going on after "
                   << explain::plural(
                          static_cast<int64_t>(journal->races().size()),
                          "comparison")
                   << ", from " << kept << "\n";
  }
  Outcome outcome;
  auto result = tuning::search(trials, search, journal->races(),
                               [&](const Race &race) -> Error {
                                 if (talks)
                                   reportRace(options, *setting, race);
                                 return journal->add(race);
                               });
  if (!result)
    return result.takeError();
  outcome.result = std::move(*result);

  const Chosen &best = outcome.result.best;
  auto judgement = trials.judge(best, best);
  if (!judgement)
    return judgement.takeError();
  if (judgement->kind == Kind::refused)
    return createStringError(judgement->why);
  if (talks)
    llvm::errs() << "comparing the best with the default\n";
  auto confirmation =
      confirm(trials, best, 2 * static_cast<size_t>(options.rounds));
  if (!confirmation)
    return confirmation.takeError();
  outcome.confirmation = *confirmation;
  outcome.isDefault = trials.isDefault(best);
  outcome.isFaster = !outcome.isDefault && confirmation->total.low > 1;
  trials.release(best);
  if (Error error = writeOutput(options.compile.output,
                                scheduleText(options, *setting, outcome)))
    return error;
  if (outcome.result.complete)
    journal->remove();
  if (talks) {
    for (const std::string &line : summary(options, *setting, outcome))
      llvm::errs() << line << "\n";
    if (!outcome.result.complete)
      llvm::errs() << "the same command goes on from " << kept << "\n";
  }
  if (options.json)
    return writeOutput("", jsonOf(options, *setting, outcome).dump(1) + "\n");
  return Error::success();
}

int tools::tuneCommand(int argc, char **argv, const char *tool) {
  CLI::App app{"batonc tune measures schedules of a model on this machine, and "
               "writes the fastest: other\ntiles, worker maps, merged phases. "
               "No candidate is wrong: each is proved, and computes the\nbits "
               "of the default.",
               "batonc tune"};
  app.footer(kFooter);
  TuneOptions options;
  CompileFlags flags;
  flags.addTo(app);
  addFlags(app, options);
  if (auto status = parse(app, argc, argv, "batonc tune"))
    return *status;
  if (std::string error = flags.finish(options.compile); !error.empty())
    return fail(error);
  if (std::string error = checkFlags(options); !error.empty())
    return fail(error);
  // It is the space, and no candidate.
  std::swap(options.schedule, options.compile.schedule);
  reportFatalErrors(options.compile.model);
  if (Error error = tune(options, Installation::ofTool(tool)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

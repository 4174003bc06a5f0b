//===- proof.cpp - fuzz: mutants of plans, the proof and check-plan -------===//
//
// Plans of small models, as the compiler makes them, each changed in one place
// or two. Two judges that share no code say whether what came of it is sound:
// the symbolic proof, for all steps and all workers, and check-plan, which
// unrolls some. What the proof accepts and check-plan rejects is an error in
// one of them. What the proof rejects may be sound all the same, as its rules
// are stricter than what a plan means: then check-plan is asked about all
// steps, and the mutant is counted.
//
// Exit status 0 when no mutant is accepted that check-plan rejects.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/TwoJudges.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ScopedPrinter.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>

using namespace baton;
using namespace baton::fuzz;
using nlohmann::json;

static const char help[] =
    "fuzz-proof asks the symbolic proof and check-plan about mutants of "
    "plans.\n"
    "\n"
    "Usage: fuzz-proof [OPTIONS]\n\n"
    "  --mutants N   so many, 2000 without it\n"
    "  --seconds S   no more after so long\n"
    "  --seed S      which ones\n"
    "  --kind K      of one kind of mutation only\n"
    "  --plan P      of one plan only\n"
    "  --all         go on behind a disagreement\n"
    "  --keep DIR    where mutants go that the judges disagree about,\n"
    "                disagreements without it\n"
    "  --verbose     a line for each mutant\n"
    "  --json        print the numbers as JSON\n"
    "  --help        print this help\n";

namespace {

struct Options {
  uint64_t mutants = 2000, seed = 1;
  std::optional<double> seconds;
  std::string kind, plan, keep = "disagreements";
  bool all = false, verbose = false, asJson = false, wantsHelp = false;
};

/// What became of mutants of one kind, or of all.
struct Count {
  /// Of all mutants, those with which the dialect's verifier is content.
  uint64_t mutants = 0, wellFormed = 0;
  uint64_t rejected = 0, accepted = 0;
  /// What the proof rejects for a reason that check-plan does not look for, or
  /// for one that it does and does not find.
  uint64_t notJudged = 0, fineButRejected = 0;
  /// What check-plan rejects alone.
  uint64_t disagreements = 0;

  void add(const Count &other) {
    mutants += other.mutants;
    wellFormed += other.wellFormed;
    rejected += other.rejected;
    accepted += other.accepted;
    notJudged += other.notJudged;
    fineButRejected += other.fineButRejected;
    disagreements += other.disagreements;
  }
};

/// A plan that both judges accept, and its mutants.
struct Trial {
  Trial(const Subject &subject, unsigned seed)
      : subject(subject), plan(planOf(subject)),
        read(check::parse_plan(jsonOf(plan.module()))),
        pool(subject, plan.module(), seed), kind(seed % kinds().size()),
        steps(someSteps(subject)), all(allSteps(subject)) {}

  const Subject &subject;
  compiler::Plan plan;
  check::Plan read;
  MutantPool pool;
  /// Whose turn it is.
  unsigned kind;
  std::vector<check::Symbols> steps, all;
  double seconds = 0;
  uint64_t mutants = 0;
};

class Campaign {
public:
  explicit Campaign(const Options &options) : options(options) {}

  /// Whether the plans themselves are accepted by both.
  bool prepare();
  void run();
  void print() const;
  bool hasDisagreements() const { return total().disagreements > 0; }
  /// Kinds that never broke a plan, in a campaign long enough to tell.
  std::vector<std::string> toothless() const;

private:
  Count total() const {
    Count sum;
    for (const Count &count : counts)
      sum.add(count);
    return sum;
  }
  bool isOver() const;
  bool drawFrom(Trial &trial);
  void judge(Trial &trial, const test::StepMutation &mutation, Count &count);
  void disagree(Trial &trial, const test::StepMutation &mutation,
                mlir::ModuleOp mutant, const std::string &fault);
  void printTable() const;
  json numbers() const;

  const Options &options;
  std::vector<std::unique_ptr<Trial>> trials;
  std::vector<Count> counts = std::vector<Count>(kinds().size());
  /// Fine but rejected, and not judged: by kind and message class.
  std::map<std::pair<std::string, std::string>, uint64_t> fine, unjudged;
  std::chrono::steady_clock::time_point begun =
      std::chrono::steady_clock::now();
};

double processorSeconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

} // namespace

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

bool Campaign::prepare() {
  for (const Subject &subject : subjects()) {
    if (!options.plan.empty() && options.plan != subject.name)
      continue;
    trials.push_back(std::make_unique<Trial>(
        subject, unsigned(options.seed * 1000 + trials.size())));
    Trial &trial = *trials.back();
    auto fault = findFault(trial.read, trial.all);
    if (!fault)
      continue;
    std::fprintf(stderr,
                 "error: %s: check-plan rejects what the compiler "
                 "makes: %s\n",
                 subject.name, fault->c_str());
    return false;
  }
  return !trials.empty();
}

bool Campaign::isOver() const {
  std::chrono::duration<double> now = std::chrono::steady_clock::now() - begun;
  return total().mutants >= options.mutants ||
         (options.seconds && now.count() >= *options.seconds) ||
         (hasDisagreements() && !options.all);
}

void Campaign::run() {
  // Plans take turns, each its share of mutants a round.
  bool isDry = false;
  while (!isDry && !isOver()) {
    isDry = true;
    for (auto &trial : trials)
      for (unsigned i = 0; i < trial->subject.share && !isOver(); ++i)
        isDry &= !drawFrom(*trial);
  }
}

/// Judges the plan's next mutant; false when there is none.
bool Campaign::drawFrom(Trial &trial) {
  const size_t size = kinds().size();
  for (size_t tried = 0; tried < size; ++tried) {
    unsigned kind = trial.kind++ % size;
    if (!options.kind.empty() && options.kind != kinds()[kind])
      continue;
    std::optional<test::StepMutation> mutation = trial.pool.draw(kind);
    if (!mutation)
      continue;
    if (options.verbose) {
      std::printf("%s: %s: %s", trial.subject.name, kinds()[kind].c_str(),
                  mutation->description.c_str());
      std::fflush(stdout);
    }
    double before = processorSeconds();
    judge(trial, *mutation, counts[kind]);
    trial.seconds += processorSeconds() - before;
    ++trial.mutants;
    return true;
  }
  return false;
}

void Campaign::judge(Trial &trial, const test::StepMutation &mutation,
                     Count &count) {
  auto say = [&](const char *what, const std::string &why = "") {
    if (options.verbose)
      std::printf(": %s%s%s\n", what, why.empty() ? "" : ": ", why.c_str());
  };
  ++count.mutants;
  mlir::OwningOpRef<mlir::ModuleOp> mutant = trial.plan.module().clone();
  mutation.apply(*mutant);
  std::set<unsigned> changed = differencesOf(trial.plan.module(), *mutant);
  if (auto malformed = findMalformed(*mutant, changed))
    return say("malformed", *malformed);
  ++count.wellFormed;
  std::optional<std::string> unproved, fault;
  unproved = findUnproved(*mutant, mutation.programs);
  try {
    if (!runsAlike(trial.plan.module(), *mutant))
      changed.clear();
    const check::Plan plan = reread(trial.read, *mutant, changed);
    fault = findFault(plan, trial.steps);
    if (unproved && !fault)
      fault = findFault(plan, trial.all);
  } catch (const check::Error &error) {
    fault = std::string("error: ") + error.what();
  }
  if (!unproved && fault) {
    ++count.disagreements;
    say("accepted, but check-plan rejects it", *fault);
    return disagree(trial, mutation, *mutant, *fault);
  }
  if (!unproved) {
    ++count.accepted;
    return say("accepted by both");
  }
  if (fault) {
    ++count.rejected;
    return say("rejected by both", *unproved + " / " + *fault);
  }
  std::string messageClass = classOf(*unproved);
  if (isJudged(messageClass)) {
    ++count.fineButRejected;
    ++fine[{kinds()[&count - counts.data()], messageClass}];
    return say("fine but rejected", *unproved);
  }
  ++count.notJudged;
  ++unjudged[{kinds()[&count - counts.data()], messageClass}];
  say("rejected for what check-plan does not look for", *unproved);
}

void Campaign::disagree(Trial &trial, const test::StepMutation &mutation,
                        mlir::ModuleOp mutant, const std::string &fault) {
  std::string path =
      options.keep + "/mutant-" + std::to_string(total().disagreements);
  std::fprintf(stderr,
               "error: the proof accepts the plan of '%s' with %s, and "
               "check-plan does not: %s\n  kept as %s.mlir and %s.json\n",
               trial.subject.name, mutation.description.c_str(), fault.c_str(),
               path.c_str(), path.c_str());
  if (std::error_code code = llvm::sys::fs::create_directories(options.keep)) {
    std::fprintf(stderr, "error: %s: %s\n", options.keep.c_str(),
                 code.message().c_str());
    return;
  }
  std::ofstream(path + ".mlir") << llvm::to_string(mutant);
  std::ofstream(path + ".json") << jsonOf(mutant).dump(1);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::vector<std::string> Campaign::toothless() const {
  constexpr uint64_t enough = 20;
  std::vector<std::string> names;
  for (auto [name, count] : llvm::zip(kinds(), counts))
    if (count.mutants >= enough && count.rejected == 0 &&
        count.wellFormed == count.mutants)
      names.push_back(name);
  return names;
}

json Campaign::numbers() const {
  auto rowOf = [](const Count &count) {
    return json{{"mutants", count.mutants},
                {"malformed", count.mutants - count.wellFormed},
                {"rejected_by_both", count.rejected},
                {"accepted_by_both", count.accepted},
                {"not_judged", count.notJudged},
                {"fine_but_rejected", count.fineButRejected},
                {"disagreements", count.disagreements}};
  };
  json kindRows = json::object(), plans = json::object(),
       reasons = json::array();
  for (auto [name, count] : llvm::zip(kinds(), counts))
    kindRows[name] = rowOf(count);
  for (const auto &trial : trials)
    plans[trial->subject.name] = {{"mutants", trial->mutants},
                                  {"processor_seconds", trial->seconds}};
  for (bool isFine : {true, false})
    for (const auto &[key, count] : isFine ? fine : unjudged)
      reasons.push_back({{"kind", key.first},
                         {"message", key.second},
                         {"judged", isFine},
                         {"mutants", count}});
  return {{"kinds", std::move(kindRows)},
          {"total", rowOf(total())},
          {"plans", std::move(plans)},
          {"reasons", std::move(reasons)},
          {"processor_seconds", processorSeconds()}};
}

void Campaign::printTable() const {
  std::printf("%-18s %8s %9s %9s %9s %10s %9s\n", "", "", "", "rejected",
              "accepted", "not", "fine but");
  std::printf("%-18s %8s %9s %9s %9s %10s %9s\n", "kind", "mutants",
              "malformed", "by both", "by both", "judged", "rejected");
  auto printRow = [](const char *name, const Count &count) {
    std::printf(
        "%-18s %8llu %9llu %9llu %9llu %10llu %9llu\n", name,
        static_cast<unsigned long long>(count.mutants),
        static_cast<unsigned long long>(count.mutants - count.wellFormed),
        static_cast<unsigned long long>(count.rejected),
        static_cast<unsigned long long>(count.accepted),
        static_cast<unsigned long long>(count.notJudged),
        static_cast<unsigned long long>(count.fineButRejected));
  };
  for (auto [name, count] : llvm::zip(kinds(), counts))
    if (count.mutants > 0)
      printRow(name.c_str(), count);
  printRow("all", total());
}

void Campaign::print() const {
  if (options.asJson) {
    std::printf("%s\n", numbers().dump(1).c_str());
    return;
  }
  printTable();
  for (bool isFine : {true, false}) {
    const auto &reasons = isFine ? fine : unjudged;
    if (!reasons.empty())
      std::printf("\n%s:\n", isFine ? "fine but rejected" : "not judged");
    for (const auto &[key, count] : reasons)
      std::printf("%6llu %s: %s\n", static_cast<unsigned long long>(count),
                  key.first.c_str(), key.second.c_str());
  }
  std::printf("\n");
  for (const auto &trial : trials)
    std::printf("%-28s %6llu mutants, %.1f ms each\n", trial->subject.name,
                static_cast<unsigned long long>(trial->mutants),
                trial->mutants ? trial->seconds * 1e3 / double(trial->mutants)
                               : 0.0);
  Count sum = total();
  uint64_t fineOnes = sum.accepted + sum.fineButRejected;
  std::printf(
      "%llu mutants, %llu disagreements; of %llu that are fine, %.2f %% "
      "are rejected; %.0f s of processor time\n",
      static_cast<unsigned long long>(sum.mutants),
      static_cast<unsigned long long>(sum.disagreements),
      static_cast<unsigned long long>(fineOnes),
      fineOnes ? 100.0 * double(sum.fineButRejected) / double(fineOnes) : 0.0,
      processorSeconds());
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static std::optional<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--all")
      options.all = true;
    else if (flag == "--verbose")
      options.verbose = true;
    else if (flag == "--json")
      options.asJson = true;
    else if (flag == "--help")
      options.wantsHelp = true;
    else if (++i == argc)
      return std::nullopt;
    else if (flag == "--mutants")
      options.mutants = std::strtoull(argv[i], nullptr, 10);
    else if (flag == "--seconds")
      options.seconds = std::strtod(argv[i], nullptr);
    else if (flag == "--seed")
      options.seed = std::strtoull(argv[i], nullptr, 10);
    else if (flag == "--kind")
      options.kind = argv[i];
    else if (flag == "--plan")
      options.plan = argv[i];
    else if (flag == "--keep")
      options.keep = argv[i];
    else
      return std::nullopt;
  }
  if (!options.kind.empty() && !llvm::is_contained(kinds(), options.kind))
    return std::nullopt;
  return options;
}

int main(int argc, char **argv) {
  std::optional<Options> options = parse(argc, argv);
  if (!options || options->wantsHelp) {
    std::fputs(help, options ? stdout : stderr);
    return options ? 0 : 1;
  }
  Campaign campaign(*options);
  if (!campaign.prepare())
    return 1;
  campaign.run();
  campaign.print();
  for (const std::string &kind : campaign.toothless())
    std::fprintf(stderr, "error: no mutant of kind %s is rejected by both\n",
                 kind.c_str());
  return campaign.hasDisagreements() || !campaign.toothless().empty();
}

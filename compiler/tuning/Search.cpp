//===- Search.cpp - which alternative of each decision is fastest ---------===//

#include "compiler/tuning/Search.h"

#include "llvm/ADT/STLExtras.h"

using namespace baton;
using namespace baton::tuning;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace {

/// One that runs in a race.
struct Runner {
  Entry *entry;
  std::vector<double> seconds;
  bool running = true;
};

class Searcher {
public:
  Searcher(Trials &trials, const SearchOptions &options,
           std::vector<Race> before,
           llvm::function_ref<Error(const Race &)> done)
      : trials(trials), options(options), before(std::move(before)),
        done(done) {}

  Expected<SearchResult> run();

private:
  /// A race of the earlier search that is this one.
  const Race *known(unsigned decision) const;
  /// Nothing where the time is over before it is decided.
  Expected<std::optional<Race>> race(unsigned decision);
  Expected<bool> runRounds(Runner &best, std::vector<Runner> &runners);
  Expected<bool> decide(std::vector<Runner> &runners);

  Trials &trials;
  const SearchOptions &options;
  std::vector<Race> before;
  llvm::function_ref<Error(const Race &)> done;
  Chosen best;
};

} // namespace

const Race *Searcher::known(unsigned decision) const {
  for (const Race &race : before)
    if (race.decision == decision && race.best == best)
      return &race;
  return nullptr;
}

/// Runs all in turn, there and back, so that nobody always runs after the same
/// one. False where the time is over.
Expected<bool> Searcher::runRounds(Runner &best, std::vector<Runner> &runners) {
  std::vector<Runner *> order = {&best};
  for (Runner &runner : runners)
    if (runner.running)
      order.push_back(&runner);
  for (size_t round = 0; round < options.rounds; ++round) {
    if (trials.expired())
      return false;
    for (Runner *runner : order) {
      auto run =
          trials.run(runner->entry ? runner->entry->candidate : this->best);
      if (!run)
        return run.takeError();
      runner->seconds.push_back(run->seconds());
    }
    std::reverse(order.begin(), order.end());
  }
  return true;
}

/// Runs a race, in three times as many rounds while somebody may be faster and
/// may be not. False where the time is over.
Expected<bool> Searcher::decide(std::vector<Runner> &runners) {
  Runner incumbent{nullptr, {}};
  auto runs = [](const Runner &runner) { return runner.running; };
  for (int batch = 0; batch < 3 && llvm::any_of(runners, runs); ++batch) {
    auto ran = runRounds(incumbent, runners);
    if (!ran || !*ran)
      return ran;
    for (Runner &runner : runners) {
      if (!runner.running)
        continue;
      const Estimate speedup =
          estimate(speedups(incumbent.seconds, runner.seconds));
      runner.entry->speedup = speedup;
      // Faster or slower for sure, or no faster by now.
      runner.running = speedup.median > 1 && speedup.low <= 1;
    }
  }
  return true;
}

Expected<std::optional<Race>> Searcher::race(unsigned decision) {
  if (trials.expired())
    return std::nullopt;
  auto judgement = trials.judge(best, best);
  if (!judgement)
    return judgement.takeError();
  if (judgement->kind == Judgement::Kind::refused)
    return createStringError(judgement->why);
  Race race{decision, best, {}, best};
  for (unsigned i = 0; i < options.alternatives[decision]; ++i) {
    if (i == best[decision])
      continue;
    Entry entry;
    entry.candidate = best;
    entry.candidate[decision] = i;
    race.entries.push_back(entry);
  }
  std::vector<Runner> runners;
  auto release = [&] {
    for (Runner &runner : runners)
      if (runner.entry->candidate != race.winner)
        trials.release(runner.entry->candidate);
  };
  for (Entry &entry : race.entries) {
    if (trials.expired()) {
      release();
      return std::nullopt;
    }
    auto judgement = trials.judge(entry.candidate, best);
    if (!judgement)
      return judgement.takeError();
    entry.judgement = *judgement;
    if (judgement->kind == Judgement::Kind::admitted)
      runners.push_back({&entry, {}});
  }
  auto decided = decide(runners);
  if (!decided)
    return decided.takeError();
  if (!*decided) {
    release();
    return std::nullopt;
  }
  double fastest = 1;
  for (const Runner &runner : runners) {
    const Estimate &speedup = *runner.entry->speedup;
    if (speedup.low > 1 && speedup.median > fastest) {
      fastest = speedup.median;
      race.winner = runner.entry->candidate;
    }
  }
  release();
  if (race.winner != best)
    trials.release(best);
  return race;
}

Expected<SearchResult> Searcher::run() {
  SearchResult result;
  best = options.start;
  bool changed = true;
  for (size_t pass = 0; pass < options.passes && changed; ++pass) {
    changed = false;
    for (unsigned decision = 0; decision < options.alternatives.size();
         ++decision) {
      const Race *earlier = known(decision);
      if (!earlier) {
        auto ran = race(decision);
        if (!ran)
          return ran.takeError();
        if (!*ran) {
          result.best = best;
          return result;
        }
        // In a later pass the same race is not run again.
        before.push_back(std::move(**ran));
        earlier = &before.back();
        if (done)
          if (Error error = done(*earlier))
            return std::move(error);
      }
      result.races.push_back(*earlier);
      changed |= earlier->winner != best;
      best = Chosen(earlier->winner);
    }
  }
  result.best = best;
  result.complete = true;
  return result;
}

Expected<SearchResult>
tuning::search(Trials &trials, const SearchOptions &options,
               std::vector<Race> before,
               llvm::function_ref<Error(const Race &)> done) {
  return Searcher(trials, options, std::move(before), done).run();
}

Expected<Confirmation> tuning::confirm(Trials &trials, const Chosen &candidate,
                                       size_t rounds) {
  std::vector<double> total, prefill, decode, noise;
  for (size_t round = 0; round < rounds; ++round) {
    // Between two runs of the default, a drift of the machine cancels out, and
    // shows in the noise.
    auto first = trials.runDefault();
    if (!first)
      return first.takeError();
    auto run = trials.run(candidate);
    if (!run)
      return run.takeError();
    auto second = trials.runDefault();
    if (!second)
      return second.takeError();
    auto speedup = [&](double one, double other, double candidate) {
      return (one + other) / 2 / candidate;
    };
    total.push_back(
        speedup(first->seconds(), second->seconds(), run->seconds()));
    prefill.push_back(speedup(first->prefill, second->prefill, run->prefill));
    decode.push_back(speedup(first->decode, second->decode, run->decode));
    noise.push_back(first->seconds() / second->seconds());
  }
  return Confirmation{estimate(total), estimate(prefill), estimate(decode),
                      estimate(noise)};
}

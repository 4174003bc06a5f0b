//===- Search.h - which alternative of each decision is fastest -----------===//
//
// One decision after the other, the others as they are best so far, until a
// pass over all changes nothing: decisions of a schedule depend on one another
// little, and all combinations are too many. Of one decision, all alternatives
// race with the best so far, in rounds in which each runs once; one that is
// slower for sure, or no faster, leaves. The best so far is replaced by what is
// faster with the confidence of Estimate.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_TUNING_SEARCH_H
#define BATON_COMPILER_TUNING_SEARCH_H

#include "compiler/schedule/Alternatives.h"
#include "compiler/tuning/Statistics.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace baton::tuning {

using schedule::Chosen;

/// Of one candidate, before it may run.
struct Judgement {
  enum class Kind {
    /// It runs, with the bits of the default.
    admitted,
    /// It is the plan of another candidate.
    same,
    /// Its prediction is too far from the best.
    pruned,
    /// It cannot be compiled, does not run, or computes other bits.
    refused
  };
  Kind kind = Kind::admitted;
  /// Why it does not run.
  std::string why;
  /// Microseconds; 0 where there is none.
  double predicted = 0;
};

/// How long a run took.
struct Run {
  double prefill = 0, decode = 0;
  double seconds() const { return prefill + decode; }
};

/// What candidates are judged and measured by. Errors end the search.
class Trials {
public:
  virtual ~Trials() = default;
  /// Makes a candidate ready to run, if it is worth it and not ready already.
  /// `best` is the best one so far, which is always worth it.
  virtual llvm::Expected<Judgement> judge(const Chosen &candidate,
                                          const Chosen &best) = 0;
  /// One that is ready.
  virtual llvm::Expected<Run> run(const Chosen &candidate) = 0;
  /// What schedules are compared with.
  virtual llvm::Expected<Run> runDefault() = 0;
  /// It is not run any more.
  virtual void release(const Chosen &candidate) = 0;
  /// Whether the time is over; asked before each round.
  virtual bool expired() = 0;
};

/// What became of one alternative in one race.
struct Entry {
  Chosen candidate;
  Judgement judgement;
  /// How many times as fast as the best before, where it ran.
  std::optional<Estimate> speedup;
};

/// A decision, and what was found about it.
struct Race {
  unsigned decision = 0;
  Chosen best;
  std::vector<Entry> entries;
  /// The best after it.
  Chosen winner;
};

struct SearchOptions {
  /// Alternatives of each decision.
  std::vector<unsigned> alternatives;
  Chosen start;
  /// Of a race; it may take three times as many to decide.
  size_t rounds = kFewestRounds;
  /// Passes over all decisions, at most.
  size_t passes = 3;
};

struct SearchResult {
  Chosen best;
  std::vector<Race> races;
  /// Whether it ended before the time did.
  bool complete = false;
};

/// Searches. Races of an earlier search, `before`, are not run again; each new
/// one is handed to `done`. Fails where the start is refused.
llvm::Expected<SearchResult>
search(Trials &trials, const SearchOptions &options,
       std::vector<Race> before = {},
       llvm::function_ref<llvm::Error(const Race &)> done = nullptr);

/// A comparison with the default, in rounds of its own.
struct Confirmation {
  /// How many times as fast; of the default beside itself, the noise.
  Estimate total, prefill, decode, noise;
};

/// Measures a candidate that is ready beside the default, which runs twice in
/// each round. Measurements that chose the candidate do not count: the best of
/// many is partly luck.
llvm::Expected<Confirmation> confirm(Trials &trials, const Chosen &candidate,
                                     size_t rounds);

} // namespace baton::tuning

#endif // BATON_COMPILER_TUNING_SEARCH_H

//===- PlanMutants.h - small changes that may break a plan ----------------===//

#ifndef BATON_TEST_PASSES_PROOF_PLANMUTANTS_H
#define BATON_TEST_PASSES_PROOF_PLANMUTANTS_H

#include "dialects/Event/Event.h"
#include "test/passes/proof/PlanOracle.h"

#include <functional>
#include <string>
#include <vector>

namespace baton::test {

enum class MutationClass {
  /// A notification goes, alone or with all waits for it.
  dropNotification,
  dropWait,
  lowerCount,
  raiseCount,
  /// Two phases of a segment change places.
  swapPhases,
  /// Two buffers, or two rows or layers of one, get bytes in common.
  shareBytes,
  /// A read takes in more elements.
  widenRead,
  /// A wait's box loses or trades words.
  shiftWait,
  /// A wait is for another iteration.
  changeDistance,
  /// A notification goes to a word of other coordinates, more or fewer.
  changeNotification,
  /// An access moves, grows or shrinks.
  moveAccess,
  /// An entry is another element, an access takes another entry or none, a
  /// table holds other numbers or is known less of.
  changeTable,
  /// Explicit lists of tasks, in order or with tasks moved, and waits dropped.
  schedule,
  /// Two changes of the other classes.
  two,
};
inline constexpr unsigned kMutationClasses = 14;

const char *nameOf(MutationClass mutationClass);

struct Mutation {
  std::string description;
  /// Changes a copy of the program that `mutationsOf` was asked about.
  std::function<void(event::ProgramOp)> apply;
};

/// At most `most` mutations of a class, picked by `seed` alone. Explicit
/// schedules are for the given step. They may leave the dialect's verifier
/// dissatisfied.
std::vector<Mutation> mutationsOf(event::ProgramOp program,
                                  MutationClass mutationClass, unsigned seed,
                                  size_t most, Step step);

} // namespace baton::test

#endif // BATON_TEST_PASSES_PROOF_PLANMUTANTS_H

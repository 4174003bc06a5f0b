//===- ProofPlans.h - small plans, and what may become of them ------------===//

#ifndef BATON_TEST_FUZZ_PROOFPLANS_H
#define BATON_TEST_FUZZ_PROOFPLANS_H

#include "compiler/Plan.h"
#include "test/passes/proof/StepMutants.h"
#include "tools/check-plan/judge.h"

#include <random>

namespace baton::fuzz {

/// A plan of a small model, by what it has of its own.
struct Subject {
  const char *name;
  /// A folder of test/fuzz/proof, or a plan there, and a file of it.
  const char *model, *sizes = "sizes.json";
  int64_t maxSeq = 10;
  std::vector<compiler::MeshAxis> mesh = {};
  bool training = false;
  int zero = 0;
  const char *optimizer = "adamw";
  bool recomputes = false;
  /// Mutants out of all that the campaign draws: proofs of some plans take
  /// longer.
  unsigned share = 1;
};

llvm::ArrayRef<Subject> subjects();

/// As the compiler makes and proves it.
compiler::Plan planOf(const Subject &subject);

/// Steps that are judged of every mutant, and all that there are, smallest
/// first.
std::vector<check::Symbols> someSteps(const Subject &subject);
std::vector<check::Symbols> allSteps(const Subject &subject);

/// Kinds of mutations: those of PlanMutants and of StepMutants, and two at a
/// time.
llvm::ArrayRef<std::string> kinds();

/// Mutations of one plan, none twice.
class MutantPool {
public:
  MutantPool(const Subject &subject, mlir::ModuleOp plan, unsigned seed);

  /// The next one of a kind, while there are any.
  std::optional<test::StepMutation> draw(unsigned kind);

private:
  std::optional<test::StepMutation> drawTwo();
  const test::StepMutation *some(unsigned beginKind, unsigned endKind);

  std::mt19937 random;
  std::vector<std::vector<test::StepMutation>> pools;
  std::vector<size_t> next;
};

} // namespace baton::fuzz

#endif // BATON_TEST_FUZZ_PROOFPLANS_H

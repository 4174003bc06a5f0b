//===- TwoJudges.h - what the proof and check-plan say of one plan --------===//

#ifndef BATON_TEST_FUZZ_TWOJUDGES_H
#define BATON_TEST_FUZZ_TWOJUDGES_H

#include "test/fuzz/ProofPlans.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>

namespace baton::fuzz {

/// The plan as check-plan reads it, all programs of a step together.
nlohmann::json jsonOf(mlir::ModuleOp module);

/// Numbers of the programs in which two modules of as many differ.
std::set<unsigned> differencesOf(mlir::ModuleOp one, mlir::ModuleOp other);

/// Whether ranks run the same programs of both, in the same order.
bool runsAlike(mlir::ModuleOp one, mlir::ModuleOp other);

/// The plan of a module that differs from one that was read in some programs;
/// in none of them, if in what ranks run. Throws check::Error for what is no
/// plan.
check::Plan reread(const check::Plan &read, mlir::ModuleOp module,
                   const std::set<unsigned> &programs);

/// What the dialect's verifier says against some programs, or nothing.
std::optional<std::string> findMalformed(mlir::ModuleOp module,
                                         const std::set<unsigned> &programs);

/// What the symbolic proof says against a module, or nothing: of the programs
/// with these numbers, the others having been proved before, and of the step.
std::optional<std::string> findUnproved(mlir::ModuleOp module,
                                        const std::set<unsigned> &programs);

/// What check-plan says against some steps of a plan, or nothing.
std::optional<std::string> findFault(const check::Plan &plan,
                                     llvm::ArrayRef<check::Symbols> steps);

/// What the proof's message is about, without names and numbers.
std::string classOf(llvm::StringRef message);

/// Whether check-plan has the same question: it does not ask what a body does
/// with pointers, or how many contributions a model's sum has.
bool isJudged(llvm::StringRef messageClass);

} // namespace baton::fuzz

#endif // BATON_TEST_FUZZ_TWOJUDGES_H

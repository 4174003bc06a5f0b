//===- Checks.h - task bodies run against what they state
//------------------===//
//
// The proof trusts that a body touches only its stated boxes, and training that
// its adjoints are its adjoints. These checks run the code on random data of
// random shapes.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_BODIES_CHECKS_H
#define BATON_COMPILER_BODIES_CHECKS_H

#include "compiler/bodies/Body.h"
#include "compiler/bodies/Compiled.h"
#include "compiler/bodies/Shapes.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace baton::checks {

struct Options {
  unsigned shapes = 16;
  uint64_t seed = 1;
  std::vector<GivenSize> sizes;
  TaskLibraries libraries;
  /// Names of arguments that are parameters; empty where names of results tell.
  std::vector<std::string> parameters;
};

struct Verdict {
  enum Kind { ok, fault, skipped };
  Kind kind = ok;
  /// What was seen, in one line.
  std::string text;
};

/// Tasks write what they state to write, all of it and nothing else; what they
/// write depends on what they state to read alone. One verdict for each kind of
/// fault, or one that says ok. Fails where the body cannot be run at all.
llvm::Expected<std::vector<Verdict>> checkRegions(const Body &body,
                                                  const Options &options);

/// The gradients that a body's adjoint makes are those that differences of the
/// body's results give. Results of the adjoint belong to the operands that
/// their names say ("dx" to "x"); else in order, where there is one for each
/// operand that may have one: `isOnlyOne` says that the body has no other
/// adjoint, which the rest would be of.
llvm::Expected<Verdict> checkAdjoint(const Body &body, const Body &adjoint,
                                     bool ofWeights, bool isOnlyOne,
                                     const Options &options);

/// The body as CUDA C++, run by the emulation, makes the CPU's bits. Skipped
/// where there is no compiler for that.
llvm::Expected<Verdict> checkCuda(const Body &body, const Options &options,
                                  const EmulationOptions &emulation);

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_CHECKS_H

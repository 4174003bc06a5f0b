//===- PhaseEmitter.h - a phase as one function ---------------------------===//

#ifndef BATON_CODEGEN_CPU_PHASEEMITTER_H
#define BATON_CODEGEN_CPU_PHASEEMITTER_H

#include "codegen/cpu/CalledBodies.h"
#include "codegen/cpu/ProgramTypes.h"
#include "codegen/cpu/TaskLibrary.h"
#include "codegen/plan/ProgramLayout.h"

namespace baton::cpu {

/// What the emitters of one program share.
struct Emission {
  llvm::Module &module;
  const ProgramTypes &types;
  const plan::ProgramLayout &layout;
  const TaskLibrary &library;
  CalledBodies &bodies;
  /// Whether tasks say what they may touch (runtime/program.h).
  bool declaresAccesses;
};

/// Parameters of a phase's function, in order. `first`, `last` and `stride`
/// say which tiles, by row-major index in the grid, the worker runs.
enum PhaseParameter : unsigned {
  kPhaseContext, // BatonContext *
  kPhaseWorker,  // BatonWorker *
  kPhaseStep,    // const BatonStep *, the current one
  kPhaseNext,    // BatonStep *, the one that an advance fills
  kPhaseRows,    // i64, and so are all that follow
  kPhasePast,
  kPhaseOutputs,
  kPhaseIteration,
  kPhaseFirst,
  kPhaseLast,
  kPhaseStride,
  kPhaseParameters // how many
};

/// The internal function baton_phase_<name>, which is not inlined, so that
/// profiles, debuggers and sanitizers name the phase.
llvm::Expected<llvm::Function *> emitPhase(const Emission &emission,
                                           event::PhaseOp phase, uint32_t rank);

/// A function of `emission`'s library that every program needs, such as
/// baton_wait; fails when the library lacks it.
llvm::Expected<llvm::Function *>
declareSynchronization(const Emission &emission, llvm::StringRef name);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_PHASEEMITTER_H

//===- PlanChecks.h - what makes a plan unfit for code generation ---------===//
//
// Checked before anything is emitted, for all targets alike. Errors are one
// line that names phase, call and operand.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_PLAN_PLANCHECKS_H
#define BATON_CODEGEN_PLAN_PLANCHECKS_H

#include "codegen/plan/ProgramLayout.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/Support/Error.h"

namespace baton::plan {

/// The type of the task library's function of a name, or null if it has none.
using Signatures = llvm::function_ref<llvm::FunctionType *(llvm::StringRef)>;

/// A proof, and no explicit schedule.
llvm::Error checkProgram(event::ProgramOp program);

/// Whether all its numbers are F64, as tile-tasks makes it.
bool computesInF64(event::ProgramOp program);

/// Programs that share memory mean the same by a state: each goes on where
/// another one ended.
llvm::Error checkTogether(llvm::ArrayRef<ProgramLayout> layouts);

/// Every op is a task body, every call fits the library's function that it
/// names, and what it points to has memory and layers enough.
llvm::Error checkPhase(event::PhaseOp phase, const ProgramLayout &layout,
                       Signatures signatures);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_PLANCHECKS_H

//===- Plan.h - from a model to a proved plan -----------------------------===//

#ifndef BATON_COMPILER_PLAN_H
#define BATON_COMPILER_PLAN_H

#include "compiler/Diagnostics.h"
#include "compiler/Options.h"
#include "compiler/TargetDescription.h"
#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace baton::compiler {

/// A module on its way from model to plan, with the context that it lives in.
class Plan {
public:
  /// Reads the model and takes it to the stage: `primitive`, `model` (after the
  /// first description's fusion), `dist`, `phases` (of a plan for each
  /// description), or any other (the same, proved, or the plan that the module
  /// had).
  static llvm::Expected<Plan> build(const CompileOptions &options,
                                    llvm::ArrayRef<TargetDescription> targets);

  mlir::ModuleOp module() const { return owned.get(); }
  event::ProgramOp program() const { return programs().front(); }
  llvm::SmallVector<event::ProgramOp> programs() const;
  /// Makes one of the programs the first.
  void lead(size_t program);
  /// False when the model was a plan already.
  bool isTiled() const { return tiled; }
  const std::vector<Remark> &remarks() const { return diagnostics->remarks(); }

private:
  Plan();

  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Diagnostics> diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> owned;
  bool tiled = false;
};

} // namespace baton::compiler

#endif // BATON_COMPILER_PLAN_H

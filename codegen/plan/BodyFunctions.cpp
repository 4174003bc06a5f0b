//===- BodyFunctions.cpp - task bodies that users wrote, as functions -----===//

#include "codegen/plan/BodyFunctions.h"

#include "dialects/Event/Event.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace baton::event;

namespace {
struct ApproximateFunctions
    : public PassWrapper<ApproximateFunctions, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateFunctions)
  StringRef getArgument() const override { return "approximate-functions"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, {});
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> baton::plan::createApproximateFunctionsPass() {
  return std::make_unique<ApproximateFunctions>();
}

/// A copy as loops; lowered by itself it calls a library that programs lack.
static void makeLoopsOfCopies(Operation *function) {
  function->walk([](memref::CopyOp copy) {
    OpBuilder builder(copy);
    builder.create<linalg::CopyOp>(copy.getLoc(), ValueRange{copy.getSource()},
                                   ValueRange{copy.getTarget()});
    copy.erase();
  });
}

/// A function that does what a body does.
static void addFunction(ModuleOp module, BodyOp body) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Block &block = body.getBody().front();
  auto function = builder.create<func::FuncOp>(
      body.getLoc(), ("baton_task_" + body.getSymName()).str(),
      builder.getFunctionType(block.getArgumentTypes(), {}));
  IRMapping mapping;
  body.getBody().cloneInto(&function.getBody(), mapping);
  builder.setInsertionPointToEnd(&function.getBody().front());
  builder.create<func::ReturnOp>(body.getLoc());
  makeLoopsOfCopies(function);
}

OwningOpRef<ModuleOp> baton::plan::makeBodyFunctions(ProgramOp program) {
  auto source = program->getParentOfType<ModuleOp>();
  if (!source || source.getOps<BodyOp>().empty())
    return nullptr;
  program.getContext()->loadDialect<func::FuncDialect, linalg::LinalgDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(source.getLoc());
  for (auto body : source.getOps<BodyOp>())
    addFunction(*module, body);
  return module;
}

llvm::Error
baton::plan::compileBodies(ProgramOp program,
                           llvm::function_ref<LogicalResult()> compile) {
  std::string problem;
  ScopedDiagnosticHandler handler(
      program.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
            problem.empty())
          problem = diagnostic.str();
        return success();
      });
  if (succeeded(compile()))
    return llvm::Error::success();
  return llvm::createStringError("the bodies beside program @" +
                                 program.getSymName() +
                                 " cannot be compiled: " + problem);
}

//===- BodyFunctions.cpp - task bodies that users wrote, as functions -----===//

#include "codegen/plan/BodyFunctions.h"

#include "codegen/plan/LibraryCalls.h"
#include "dialects/Event/Event.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// Sums of products in structured ops become fused multiply-adds, whichever
/// target vectorises them.
struct FuseProducts
    : public PassWrapper<FuseProducts, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseProducts)
  StringRef getArgument() const override { return "fuse-products"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<math::MathDialect>();
  }

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.getNumReductionLoops() > 0)
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      auto general = dyn_cast<linalg::GenericOp>(*op);
      if (!general) {
        auto made = linalg::generalizeNamedOp(rewriter, op);
        if (failed(made))
          continue;
        general = *made;
      }
      fuse(general);
    }
  }

private:
  static void fuse(linalg::GenericOp op) {
    for (auto sum :
         llvm::make_early_inc_range(op.getBody()->getOps<arith::AddFOp>()))
      for (bool isLeft : {true, false}) {
        auto product = (isLeft ? sum.getLhs() : sum.getRhs())
                           .getDefiningOp<arith::MulFOp>();
        Value other = isLeft ? sum.getRhs() : sum.getLhs();
        auto old = dyn_cast<BlockArgument>(other);
        if (!product || !product->hasOneUse() || !old ||
            old.getArgNumber() < op.getNumDpsInputs())
          continue;
        OpBuilder builder(sum);
        sum.replaceAllUsesWith(builder
                                   .create<math::FmaOp>(sum.getLoc(),
                                                        product.getLhs(),
                                                        product.getRhs(), other)
                                   .getResult());
        sum.erase();
        product.erase();
        break;
      }
  }
};
} // namespace

std::unique_ptr<Pass> baton::plan::createFuseProductsPass() {
  return std::make_unique<FuseProducts>();
}

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
static LogicalResult addFunction(ModuleOp module, OpBuilder &declarations,
                                 BodyOp body, bool checked) {
  OpBuilder builder(module.getContext());
  // Behind other bodies, in front of what is declared.
  Block::iterator place = module.getBody()->end();
  while (place != module.getBody()->begin() &&
         cast<func::FuncOp>(*std::prev(place)).isDeclaration())
    --place;
  builder.setInsertionPoint(module.getBody(), place);
  Block &block = body.getBody().front();
  auto function = builder.create<func::FuncOp>(
      body.getLoc(), ("baton_task_" + body.getSymName()).str(),
      builder.getFunctionType(block.getArgumentTypes(), {}));
  IRMapping mapping;
  body.getBody().cloneInto(&function.getBody(), mapping);
  builder.setInsertionPointToEnd(&function.getBody().front());
  builder.create<func::ReturnOp>(body.getLoc());
  makeLoopsOfCopies(function);
  return baton::plan::expandLibraryCalls(function, body, declarations, checked);
}

llvm::Expected<OwningOpRef<ModuleOp>>
baton::plan::makeBodyFunctions(ModuleOp source, bool checked) {
  if (!source || source.getOps<BodyOp>().empty())
    return nullptr;
  source.getContext()
      ->loadDialect<func::FuncDialect, linalg::LinalgDialect,
                    arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                    cf::ControlFlowDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(source.getLoc());
  // Declarations stand behind all bodies.
  OpBuilder declarations = OpBuilder::atBlockEnd(module->getBody());
  if (llvm::Error error = compileBodies(source, [&] {
        for (auto body : source.getOps<BodyOp>())
          if (failed(addFunction(*module, declarations, body, checked)))
            return failure();
        return success();
      }))
    return std::move(error);
  return module;
}

llvm::Error
baton::plan::compileBodies(ModuleOp source,
                           llvm::function_ref<LogicalResult()> compile) {
  std::string problem;
  ScopedDiagnosticHandler handler(
      source.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
            problem.empty())
          problem = diagnostic.str();
        return success();
      });
  if (succeeded(compile()))
    return llvm::Error::success();
  std::string names;
  for (auto body : source.getOps<BodyOp>())
    names += (names.empty() ? "@" : ", @") + body.getSymName().str();
  return llvm::createStringError("task bodies (" + names +
                                 ") cannot be compiled: " + problem);
}

//===- baton-opt.cpp - every dialect and pass of Baton by name -----------===//

#include "compiler/Dialects.h"
#include "passes/batching/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/planning/Passes.h"
#include "passes/proof/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/tiling/Passes.h"
#include "passes/training/Passes.h"

#include "mlir/Dialect/Transform/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  baton::compiler::registerDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::transform::registerInterpreterPass();
  baton::batching::registerBatchingPasses();
  baton::fusion::registerFusionPasses();
  baton::pipeline::registerPipelinePasses();
  baton::planning::registerPlanningPasses();
  baton::sharding::registerShardingPasses();
  baton::tasks::registerTilingPasses();
  baton::tasks::registerPlanPasses();
  baton::tasks::registerProofPasses();
  baton::training::registerTrainingPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Baton's optimizer driver\n", registry));
}

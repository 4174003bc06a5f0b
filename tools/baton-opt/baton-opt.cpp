//===- baton-opt.cpp - every dialect and pass of Baton by name -----------===//

#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"
#include "passes/fusion/Passes.h"
#include "passes/tasks/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<baton::event::EventDialect, baton::model::ModelDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  baton::fusion::registerFusionPasses();
  baton::tasks::registerTasksPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Baton's optimizer driver\n", registry));
}

//===- Pipeline.cpp - the passes between a model and its plan ------------===//

#include "compiler/Pipeline.h"

#include "passes/fusion/Passes.h"
#include "passes/tasks/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace baton;
using namespace baton::compiler;

const std::set<std::string> &compiler::optionalPasses() {
  static const std::set<std::string> names = {
      "attention-fusion", "linear-grouping", "norm-rewrites"};
  return names;
}

std::vector<std::string> compiler::allPasses() {
  return {"attention-fusion", "linear-grouping", "norm-rewrites",
          "tile-tasks",       "derive-events",   "plan-memory",
          "schedule-static",  "event-verify"};
}

void compiler::addModelPasses(mlir::PassManager &manager,
                              const std::set<std::string> &disabled) {
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  if (!disabled.count("attention-fusion")) {
    fusion::AttentionFusionOptions attention;
    attention.explain = true;
    manager.addPass(fusion::createAttentionFusion(attention));
  }
  if (!disabled.count("linear-grouping"))
    manager.addPass(fusion::createLinearGrouping());
  if (!disabled.count("norm-rewrites"))
    manager.addPass(fusion::createNormRewrites());
  manager.addPass(mlir::createCanonicalizerPass());
}

void compiler::addVerification(mlir::PassManager &manager) {
  manager.addPass(tasks::createEventVerify());
}

void compiler::addTaskPasses(mlir::PassManager &manager,
                             const TargetDescription &target) {
  tasks::TileTasksOptions tiles;
  tiles.maxRows = target.maxRows;
  tiles.maxOutputs = target.maxOutputs;
  tiles.linearRows = target.linearRows;
  tiles.linearColumns = target.linearColumns;
  tiles.attentionRows = target.attentionRows;
  tiles.plainRows = target.plainRows;
  manager.addPass(tasks::createTileTasks(tiles));
  manager.addPass(tasks::createDeriveEvents());
  manager.addPass(tasks::createPlanMemory());
  manager.addPass(tasks::createScheduleStatic());
  manager.addPass(tasks::createEventVerify());
}

//===- Pipeline.cpp - the passes between a model and its plan ------------===//

#include "compiler/Pipeline.h"

#include "passes/batching/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/planning/PlanSharding.h"
#include "passes/proof/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/tiling/Passes.h"
#include "passes/training/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace baton;
using namespace baton::compiler;

std::vector<std::string> compiler::allPasses() {
  return {"attention-fusion",  "training-form",
          "low-rank-adapters", "router-losses",
          "differentiate",     "recompute",
          "hyper-fusion",      "linear-grouping",
          "norm-rewrites",     "insert-reshards",
          "verify-sharding",   "sharding-propagation",
          "lower-reshards",    "pipeline-partitioning",
          "localize",          "exchange-experts",
          "tile-tasks",        "insert-tiers",
          "schedule-static",   "derive-events",
          "plan-memory",       "event-verify",
          "defer-norms",       "join-collectives",
          "batch-form",        "adapter-slots"};
}

void compiler::addImportPasses(mlir::PassManager &manager) {
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
}

void compiler::addModelPasses(mlir::PassManager &manager,
                              const CompileOptions &options,
                              const schedule::Schedule &schedule,
                              size_t program) {
  addImportPasses(manager);
  manager.addPass(schedule.createPass("model", program));
  // What a rank has of a model is of as many sequences as the whole.
  if (options.batch)
    manager.addPass(batching::createBatchForm(
        {options.batch, options.kvType, options.hiddenStates}));
  if (const auto &slots = options.adapterSlots) {
    batching::AdapterSlotsOptions adapters;
    adapters.ranks = slots->ranks;
    adapters.most = slots->most;
    adapters.stored = slots->type;
    adapters.targets = slots->targets;
    manager.addPass(batching::createAdapterSlots(adapters));
    // Parts of a fused projection have the first matrix of a pair in common.
    manager.addPass(mlir::createCSEPass());
  }
  manager.addPass(mlir::createCanonicalizerPass());
}

/// Whether a schedule has gradients of parameters apart from those of inputs.
static bool splitsBackward(const CompileOptions &options) {
  return countStages(options) > 1 &&
         llvm::StringRef(options.pipeline).starts_with("zb-");
}

void compiler::addTrainingPasses(mlir::PassManager &manager,
                                 const CompileOptions &options,
                                 const schedule::Schedule &schedule) {
  // On any mesh, so that parameters are the same on all: what a seed draws,
  // what an optimizer keeps, and what Muon takes for one matrix.
  manager.addPass(sharding::createSplitLinears());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  if (schedule.isGiven("model"))
    manager.addPass(
        schedule.createPass("model", /*program=*/0, /*trains=*/true));
  else if (!options.disabledPasses.count("attention-fusion"))
    manager.addPass(fusion::createAttentionFusion());
  if (options.shardsBottlenecks)
    manager.addPass(fusion::createDeferNorms());
  manager.addPass(training::createTrainingForm(
      training::TrainingFormOptions{options.prefers, options.teacherTokens}));
  if (const auto &adapter = options.adapter) {
    training::LowRankAdaptersOptions pairs;
    pairs.rank = adapter->rank;
    pairs.alpha = adapter->alpha;
    pairs.stabilized = adapter->stabilized;
    pairs.decomposed = adapter->decomposed;
    pairs.targets = adapter->targets;
    manager.addPass(training::createLowRankAdapters(pairs));
  }
  training::RouterLossesOptions routers;
  if (options.balanceLoss)
    routers.balance = *options.balanceLoss;
  routers.z = options.routerZLoss;
  manager.addPass(training::createRouterLosses(routers));
  training::DifferentiateOptions differentiate;
  differentiate.split = splitsBackward(options);
  manager.addPass(training::createDifferentiate(differentiate));
  manager.addPass(
      training::createRecompute(training::RecomputeOptions{options.recompute}));
  manager.addPass(mlir::createCSEPass());
  manager.addPass(mlir::createCanonicalizerPass());
}

void compiler::addShardingPasses(mlir::PassManager &manager,
                                 const CompileOptions &options, bool localizes,
                                 bool fusesAttention) {
  bool cutsHeads = llvm::any_of(options.mesh, [](const MeshAxis &axis) {
    return axis.name == kTensorAxis;
  });
  if (cutsHeads && !options.training)
    manager.addPass(sharding::createSplitLinears());
  if (fusesAttention) {
    manager.addPass(mlir::createCanonicalizerPass());
    manager.addPass(mlir::createCSEPass());
    manager.addPass(fusion::createAttentionFusion());
  }
  if (options.shardsBottlenecks && !options.training)
    manager.addPass(fusion::createDeferNorms());
  // Which part of a model an axis cuts.
  sharding::ShardingPropagationOptions propagation;
  std::vector<std::string> tactics;
  auto apply = [&](const char *tactic, llvm::StringRef name) {
    bool found = false;
    for (const MeshAxis &axis : options.mesh)
      if (axis.name == name) {
        tactics.push_back(std::string(tactic) + ":" + axis.name);
        found = true;
      }
    return found;
  };
  apply("data", kDataAxis);
  apply("data", kShardAxis);
  if (options.exchangesExperts)
    apply("data", kExpertAxis);
  if (options.spreadsExperts)
    apply("experts", kTensorAxis);
  apply(options.shardsBottlenecks ? "bottleneck" : "tensor", kTensorAxis);
  apply("tensor", kQueryAxis);
  if (!options.exchangesExperts)
    apply("experts", kExpertAxis);
  if (options.sequenceParallel)
    apply("sequence", kTensorAxis);
  if (options.zero > 0) {
    const char *cuts = options.zero == 3 ? "zero" : "gradients";
    if (!apply(cuts, kShardAxis))
      apply(cuts, kDataAxis);
  }
  propagation.tactics = tactics;
  if (options.plan)
    manager.addPass(
        planning::createPlanSharding(*options.plan, *options.planned));
  else
    manager.addPass(sharding::createShardingPropagation(propagation));
  manager.addPass(sharding::createInsertReshards());
  manager.addPass(sharding::createVerifySharding());
  manager.addPass(sharding::createLowerReshards());
  if (countStages(options) > 1) {
    pipeline::PipelinePartitioningOptions stages;
    stages.axis = kPipelineAxis;
    stages.layers = options.pipelineCuts;
    if (options.training) {
      stages.schedule = options.pipeline;
      stages.microbatches = int(options.microbatches);
    }
    manager.addPass(pipeline::createPipelinePartitioning(stages));
  }
  if (options.shardsBottlenecks)
    manager.addPass(sharding::createJoinCollectives());
  if (localizes)
    manager.addPass(sharding::createLocalize(
        sharding::LocalizeOptions{options.zero > 1 ? "step" : "update"}));
  if (localizes && options.exchangesExperts)
    manager.addPass(sharding::createExchangeExperts(
        sharding::ExchangeExpertsOptions{kExpertAxis}));
}

void compiler::addVerification(mlir::PassManager &manager,
                               const CompileOptions &options) {
  // Who writes a plan as data has it judged elsewhere, a wrong one, too.
  if (options.stage != Stage::planJson)
    manager.addPass(tasks::createEventVerify());
}

void compiler::addTaskPasses(mlir::PassManager &manager,
                             const CompileOptions &options,
                             const TargetDescription &target,
                             const schedule::Schedule &schedule,
                             size_t program) {
  tasks::TileTasksOptions tiles;
  tiles.maxRows = target.maxRows;
  tiles.maxOutputs = target.maxOutputs;
  tiles.linearRows = target.linearRows;
  tiles.linearColumns = target.linearColumns;
  tiles.attentionRows = target.attentionRows;
  tiles.attentionSplit = target.attentionSplit;
  tiles.plainRows = target.plainRows;
  tiles.logitsBytes = target.logitsBytes;
  tiles.bucket = target.bucketBytes;
  tiles.gatheredLayers = options.gatheredLayers;
  manager.addPass(tasks::createTileTasks(tiles));
  if (options.memory) {
    tasks::InsertTiersOptions tiers;
    tiers.slots = options.memory->slots;
    manager.addPass(tasks::createInsertTiers(tiers));
  }
  if (options.offloads)
    manager.addPass(tasks::createOffloadLayers());
  tasks::ScheduleStaticOptions deal;
  deal.fewTasks = target.fewTasks;
  manager.addPass(tasks::createScheduleStatic(deal));
  if (options.stage == Stage::phases)
    return;
  manager.addPass(schedule.createPass("plan", program));
  manager.addPass(tasks::createDeriveEvents());
  manager.addPass(tasks::createPlanMemory());
  addVerification(manager, options);
}

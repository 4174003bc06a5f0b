//===- ShardingPlan.cpp - a model with placements that cost least ---------===//

#include "compiler/ShardingPlan.h"

#include "compiler/Plan.h"
#include "passes/sharding/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Expected;

Expected<planning::PlanRequest>
compiler::requestPlan(const CompileOptions &options) {
  planning::PlanRequest request;
  for (const MeshAxis &axis : options.mesh) {
    if (isTensorAxis(axis.name))
      request.axes.push_back(axis.name);
    else if (isDataAxis(axis.name))
      request.tactics.push_back("data:" + axis.name);
    else
      return createStringError("--mesh: axis " + axis.name +
                               " is none that plan shard knows; it chooses "
                               "what tp and tq shard, beside dp");
  }
  if (request.axes.empty())
    return createStringError("--mesh: plan shard chooses what tp and tq shard; "
                             "add tp=N");
  if (options.zero)
    return createStringError("--zero: plan shard counts gradients and states "
                             "whole; leave the flag out, and compile what it "
                             "writes with it");
  if (options.sequenceParallel || options.shardsBottlenecks ||
      options.spreadsExperts)
    return createStringError("--sequence-parallel and --tensor-parallel say "
                             "what ranks have parts of, which plan shard "
                             "chooses; leave them out");
  return request;
}

template <typename T> static std::string print(T printed) {
  std::string text;
  llvm::raw_string_ostream(text) << printed;
  return text;
}

/// Parameters are the same ones in two modules by what they read of a
/// checkpoint.
static std::string keyOf(model::ParameterOp op) {
  return print(op.getSources()) + print(op.getResult().getType());
}

/// A linear that is read in parts becomes several, of which each may lie
/// elsewhere.
static llvm::Error splitLinears(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  manager.addPass(sharding::createSplitLinears());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  if (mlir::failed(manager.run(module)))
    return createStringError("split-linears failed");
  return llvm::Error::success();
}

Expected<ShardingPlan>
compiler::planSharding(CompileOptions options,
                       const planning::PlanRequest &request,
                       llvm::ArrayRef<TargetDescription> targets) {
  ShardingPlan result;
  options.plan = &request;
  options.planned = &result.predicted;
  options.stage = Stage::dist;
  auto planned = Plan::build(options, targets);
  if (!planned)
    return planned.takeError();
  llvm::StringMap<std::string> placements;
  planned->module().walk([&](model::ParameterOp op) {
    if (auto list = op->getAttrOfType<mlir::ArrayAttr>(dist::kPlacements))
      placements[keyOf(op)] = print(mlir::Attribute(list));
  });

  options.plan = nullptr;
  options.planned = nullptr;
  options.stage = Stage::primitive;
  auto base = Plan::build(options, targets);
  if (!base)
    return base.takeError();
  mlir::ModuleOp module = base->module();
  for (auto program : module.getOps<model::ProgramOp>())
    if (program->hasAttr(dist::kPlanned))
      return createStringError(options.model + ": is planned already");
  if (llvm::Error error = splitLinears(module))
    return std::move(error);
  std::set<std::string> named;
  module.walk([&](model::ParameterOp op) {
    auto found = placements.find(keyOf(op));
    std::string placement;
    if (found != placements.end()) {
      mlir::Attribute list =
          mlir::parseAttribute(found->second, module.getContext());
      op->setAttr(dist::kPlacements, list);
      placement = print(mlir::cast<mlir::ArrayAttr>(list)[0]);
    }
    std::string name = mlir::cast<mlir::StringAttr>(op.getSources()[0]).str();
    if (named.insert(keyOf(op)).second)
      result.parameters.push_back({name, placement});
  });
  mlir::Builder builder(module.getContext());
  llvm::SmallVector<llvm::StringRef> axes(request.axes.begin(),
                                          request.axes.end());
  for (auto program : module.getOps<model::ProgramOp>())
    program->setAttr(dist::kPlanned, builder.getStrArrayAttr(axes));
  result.text = print(module) + "\n";
  return result;
}

Expected<planning::Communication>
compiler::countCommunication(CompileOptions options, const std::string &file,
                             const planning::Sizes &sizes,
                             llvm::ArrayRef<TargetDescription> targets) {
  options.model = file;
  // The file has them.
  options.dtype = "auto";
  options.activations = "f32";
  options.maxSeq = std::nullopt;
  options.stage = Stage::dist;
  auto plan = Plan::build(options, targets);
  if (!plan)
    return plan.takeError();
  planning::Communication sum;
  for (auto program : plan->module().getOps<model::ProgramOp>()) {
    auto one =
        planning::countCommunication(program, dist::findMesh(program), sizes);
    if (!one)
      return one.takeError();
    sum += *one;
  }
  return sum;
}

//===- PlanSharding.cpp - a program with placements that cost least -------===//

#include "passes/planning/PlanSharding.h"

#include "passes/planning/Passes.h"
#include "passes/sharding/Tactics.h"

#include "llvm/Support/FormatVariadic.h"

namespace baton::planning {
#define GEN_PASS_DEF_PLANSHARDING
#define GEN_PASS_DEF_COUNTCOMMUNICATION
#include "passes/planning/Passes.h.inc"
} // namespace baton::planning

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::planning;
using namespace baton::sharding;

static LogicalResult checkAxis(MeshOp mesh, StringRef name) {
  auto axis = StringAttr::get(mesh.getContext(), name);
  if (!mesh.getSize(axis))
    return mesh.emitOpError()
           << "has no axis '" << name << "' to shard values along";
  if (mesh.isBatch(axis))
    return mesh.emitOpError() << "has a batch axis '" << name
                              << "', which shards rows, and nothing to choose";
  return success();
}

/// Says what binds, where nothing can be chosen.
static LogicalResult sayWhatBinds(ProgramOp program,
                                  const PlacementProblem &problem,
                                  StringRef axis, int64_t ranks,
                                  double memory) {
  auto least = solveForMemory(problem.problem());
  if (!least)
    return program.emitOpError() << "cannot be placed along axis '" << axis
                                 << "': what the IR states leaves no placement";
  PlacementSummary summary = problem.summarize(*least);
  return program.emitOpError()
         << llvm::formatv(
                "cannot be placed in {0} bytes of memory on each rank: along "
                "axis '{1}' of {2} ranks the least is {3}, of which "
                "parameters take {4}, what is saved {5}, keys and values {6}",
                int64_t(memory), axis, ranks, int64_t(summary.bytes()),
                int64_t(summary.parameterBytes), int64_t(summary.savedBytes),
                int64_t(summary.stateBytes))
                .str();
}

llvm::FailureOr<PlacementSummary>
planning::planSharding(ProgramOp program, MeshOp mesh,
                       const PlanRequest &request) {
  for (StringRef axis : request.axes) {
    if (failed(checkAxis(mesh, axis)))
      return failure();
    shareOnlyHead(program,
                  mesh.getSize(StringAttr::get(program.getContext(), axis)));
  }
  Propagation propagation(program, mesh);
  propagation.beginTactic("stated");
  if (failed(propagation.collect()) || failed(propagation.seedStated()))
    return failure();
  propagation.propagate();
  for (StringRef text : request.tactics) {
    auto [name, over] = text.split(':');
    auto named = StringAttr::get(program.getContext(), over);
    if (!mesh.getSize(named))
      return mesh.emitOpError() << "has no axis '" << over
                                << "', which tactic '" << text << "' names";
    propagation.beginTactic(name);
    if (failed(applyTactic(propagation, name, named)))
      return failure();
    propagation.propagate();
  }
  PlacementSummary summary;
  for (size_t i = 0; i < request.axes.size(); ++i) {
    // Later axes may bring what memory is left.
    DeviceFacts facts = request.facts;
    if (i + 1 < request.axes.size())
      facts.memory = kForbidden;
    auto axis = StringAttr::get(program.getContext(), request.axes[i]);
    PlacementProblem problem(propagation, axis, facts, request.sizes,
                             request.may);
    std::optional<std::vector<unsigned>> chosen = solve(problem.problem());
    if (!chosen)
      return sayWhatBinds(program, problem, request.axes[i], mesh.getSize(axis),
                          request.facts.memory);
    summary = problem.summarize(*chosen);
    problem.apply(*chosen);
  }
  propagation.annotate();
  return summary;
}

namespace {
struct PlanSharding : planning::impl::PlanShardingBase<PlanSharding> {
  using PlanShardingBase::PlanShardingBase;
  PlanSharding(const PlanRequest &request, PlacementSummary &summary)
      : given(&request), taken(&summary) {}

  PlanRequest requestOfOptions() {
    PlanRequest request;
    request.axes = axes;
    request.tactics = tactics;
    request.facts = {flops,
                     bandwidth,
                     link,
                     latency,
                     memory > 0 ? double(memory) : kForbidden,
                     stateFactor};
    request.sizes = {rows, outputs, kv};
    request.may = {shareRows, shareColumns};
    return request;
  }

  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh) {
      getOperation().emitError() << "has no mesh to shard a program over";
      return signalPassFailure();
    }
    PlanRequest request = given ? *given : requestOfOptions();
    for (auto program : getOperation().getOps<ProgramOp>()) {
      auto summary = planSharding(program, mesh, request);
      if (failed(summary))
        return signalPassFailure();
      if (taken)
        *taken = *summary;
      if (explain)
        program.emitRemark() << llvm::formatv(
            "takes {0:f1} us, of which collectives take {1:f1}: {2} of them, "
            "with {3} bytes",
            summary->seconds() * 1e6, summary->exchange * 1e6,
            int64_t(summary->communication.collectives),
            int64_t(summary->communication.payload));
    }
  }

  const PlanRequest *given = nullptr;
  PlacementSummary *taken = nullptr;
};

struct CountCommunication
    : planning::impl::CountCommunicationBase<CountCommunication> {
  using CountCommunicationBase::CountCommunicationBase;

  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      auto sum = countCommunication(program, mesh, {rows, outputs, kv});
      if (!sum) {
        program.emitOpError() << toString(sum.takeError());
        return signalPassFailure();
      }
      program.emitRemark() << llvm::formatv("has {0} collectives, with {1} "
                                            "bytes",
                                            int64_t(sum->collectives),
                                            int64_t(sum->payload));
    }
  }
};
} // namespace

std::unique_ptr<Pass> planning::createPlanSharding(const PlanRequest &request,
                                                   PlacementSummary &summary) {
  return std::make_unique<PlanSharding>(request, summary);
}

//===- ShardingPropagation.cpp - where every value lies -------------------===//

#include "passes/sharding/Passes.h"

#include "passes/sharding/Propagation.h"
#include "passes/sharding/Tactics.h"

namespace baton::sharding {
#define GEN_PASS_DEF_SHARDINGPROPAGATION
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::sharding;

namespace {

struct Tactic {
  StringRef name;
  StringAttr axis;
};

struct ShardingPropagation
    : baton::sharding::impl::ShardingPropagationBase<ShardingPropagation> {
  using ShardingPropagationBase::ShardingPropagationBase;

  LogicalResult parseTactics(MeshOp mesh, SmallVectorImpl<Tactic> &list) {
    for (StringRef text : tactics) {
      auto [name, axis] = text.split(':');
      list.push_back({name, StringAttr::get(&getContext(), axis)});
      if (!mesh.getSize(list.back().axis))
        return mesh.emitOpError() << "has no axis '" << axis
                                  << "', which tactic '" << text << "' names";
    }
    return success();
  }

  LogicalResult shard(model::ProgramOp program, MeshOp mesh,
                      ArrayRef<Tactic> all) {
    // What a plan has decided, no tactic decides otherwise.
    SmallVector<StringAttr> planned;
    if (auto axes = program->getAttrOfType<ArrayAttr>(kPlanned))
      llvm::append_range(planned, axes.getAsRange<StringAttr>());
    SmallVector<Tactic> list;
    for (const Tactic &tactic : all)
      if (!llvm::is_contained(planned, tactic.axis) ||
          !llvm::is_contained({"tensor", "experts", "bottleneck"}, tactic.name))
        list.push_back(tactic);
    for (StringAttr axis : planned)
      shareOnlyHead(program, mesh.getSize(axis));
    for (const Tactic &tactic : list)
      if (tactic.name == "tensor" || tactic.name == "bottleneck")
        shareHeads(program, mesh.getSize(tactic.axis));
    Propagation propagation(program, mesh);
    for (StringAttr axis : planned)
      propagation.keepParameters(axis);
    propagation.beginTactic("stated");
    if (failed(propagation.collect()) || failed(propagation.seedStated()))
      return failure();
    propagation.propagate();
    for (const Tactic &tactic : list) {
      propagation.beginTactic(tactic.name);
      if (failed(applyTactic(propagation, tactic.name, tactic.axis)))
        return failure();
      propagation.propagate();
    }
    propagation.annotate();
    if (explain)
      propagation.explain();
    return success();
  }

  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh) {
      getOperation().emitError() << "has no mesh to shard a program over";
      return signalPassFailure();
    }
    SmallVector<Tactic> list;
    if (failed(parseTactics(mesh, list)))
      return signalPassFailure();
    for (auto program : getOperation().getOps<model::ProgramOp>())
      if (failed(shard(program, mesh, list)))
        return signalPassFailure();
  }
};
} // namespace

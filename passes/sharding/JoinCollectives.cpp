//===- JoinCollectives.cpp - several tensors in one communication ---------===//

#include "passes/sharding/Passes.h"

#include "dialects/Dist/Placement.h"
#include "dialects/Model/Model.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace baton::sharding {
#define GEN_PASS_DEF_JOINCOLLECTIVES
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;

namespace {

/// Sums of one block that are communicated at once, in ascending order.
class Run {
public:
  explicit Run(AllReduceOp first) : members({first}) {}

  /// Whether `op`, which stands behind them, can go along. Collects what would
  /// have to move behind it.
  bool admits(AllReduceOp op) {
    AllReduceOp last = members.back();
    if (op.getAxes() != members.front().getAxes() ||
        op.getFrom().getReduction() != members.front().getFrom().getReduction())
      return false;
    SetVector<Operation *> waiting;
    for (Operation *next = last->getNextNode(); next != op;
         next = next->getNextNode()) {
      if (!depends(next, waiting))
        continue;
      // A collective, or what others may see, must not come later. What is
      // saved, the backward step reads behind all of the block.
      if (isa<DistDialect>(next->getDialect()) ||
          !(isMemoryEffectFree(next) || isa<model::SaveOp>(next)))
        return false;
      waiting.insert(next);
    }
    if (depends(op, waiting))
      return false;
    after = std::move(waiting);
    return true;
  }

  void add(AllReduceOp op) {
    for (Operation *member : members)
      member->moveBefore(op);
    Operation *place = op;
    for (Operation *waiting : after) {
      waiting->moveAfter(place);
      place = waiting;
    }
    after.clear();
    members.push_back(op);
    op->setAttr(kJoined, UnitAttr::get(op.getContext()));
  }

private:
  /// Regions included, which read values of blocks around them.
  bool depends(Operation *op, const SetVector<Operation *> &waiting) {
    WalkResult result = op->walk([&](Operation *inner) {
      return llvm::any_of(inner->getOperands(),
                          [&](Value operand) {
                            Operation *made = operand.getDefiningOp();
                            return made && (waiting.contains(made) ||
                                            llvm::is_contained(members, made));
                          })
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return result.wasInterrupted();
  }

  SmallVector<AllReduceOp> members;
  SetVector<Operation *> after;
};

} // namespace

static unsigned joinIn(Block &block) {
  SmallVector<AllReduceOp> sums(block.getOps<AllReduceOp>());
  // The last run over these axes: sums over others may stand in between.
  DenseMap<Attribute, Run> runs;
  unsigned joined = 0;
  for (AllReduceOp op : sums) {
    auto [run, isNew] = runs.try_emplace(op.getAxes(), op);
    if (isNew)
      continue;
    if (run->second.admits(op)) {
      run->second.add(op);
      ++joined;
    } else {
      run->second = Run(op);
    }
  }
  return joined;
}

namespace {
struct JoinCollectives
    : baton::sharding::impl::JoinCollectivesBase<JoinCollectives> {
  void runOnOperation() override {
    getOperation().walk([&](Block *block) { numJoined += joinIn(*block); });
  }
};
} // namespace

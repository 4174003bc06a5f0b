//===- StageCosts.cpp - what one microbatch costs on a stage --------------===//

#include "passes/pipeline/StageCosts.h"

#include "passes/pipeline/Flops.h"

#include "dialects/Dist/Placement.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::pipeline;

/// Bytes of what a rank has of a value, for one of the step's rows; where every
/// row sees others, for the last one of the longest sequence.
static double rowBytes(Value value, MeshOp mesh, int64_t maxSeq) {
  auto type = cast<StepTensorType>(value.getType());
  bool isSquare = llvm::count_if(type.getShape(), [](int64_t size) {
                    return isSymbol(size);
                  }) > 1;
  double bytes = type.getElementType().getIntOrFloatBitWidth() / 8.0;
  for (auto [size, dimension] :
       llvm::zip(type.getShape(), placementOf(value).getDimensions())) {
    bool isSeen = isSquare && size != kRows;
    bytes *= double(!isSymbol(size) ? size : isSeen ? maxSeq : 1);
    if (!dimension.isReplicate())
      bytes /= double(mesh.countRanks(dimension.getAxes()));
  }
  return bytes;
}

namespace {

/// When values are made and last read.
class Lives {
public:
  explicit Lives(StageOp stage);

  PositionCosts costs;

private:
  void countSaves(StackOp stack, unsigned phase);
  void countReads(Operation &op, unsigned phase);
  void keep(unsigned made, unsigned read, double bytes);

  MeshOp mesh;
  int64_t maxSeq;
  llvm::DenseMap<Operation *, unsigned> phases;
  /// The last phase that reads a saved value, and a value of the block.
  llvm::StringMap<unsigned> savedReads;
  llvm::MapVector<Value, unsigned> reads;
};

} // namespace

void Lives::keep(unsigned made, unsigned read, double bytes) {
  bool isForward = made == unsigned(PhaseKind::forward);
  if (isForward && read > made)
    costs.activations += bytes;
  if (read == unsigned(PhaseKind::weight) && read > made)
    costs.weightActivations += bytes;
}

void Lives::countReads(Operation &op, unsigned phase) {
  op.walk([&](Operation *inner) {
    if (auto saved = dyn_cast<SavedOp>(inner))
      savedReads[saved.getName()] = phase;
    for (Value operand : inner->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && maker->getBlock() == op.getBlock())
        reads[operand] = phase;
  });
}

void Lives::countSaves(StackOp stack, unsigned phase) {
  for (auto save : stack.getBody().getOps<SaveOp>())
    keep(phase, savedReads.lookup(save.getName()),
         double(stack.getRepeat()) * rowBytes(save.getX(), mesh, maxSeq));
}

Lives::Lives(StageOp stage)
    : mesh(findMesh(stage)),
      maxSeq(stage->getParentOfType<ProgramOp>().getMaxSeq()) {
  costs.activations = costs.weightActivations = 0;
  double *times[] = {&costs.forward, &costs.input, &costs.weight};
  unsigned phase = 0;
  for (Operation &op : stage.getBody().front()) {
    if (auto begins = dyn_cast<PhaseOp>(op)) {
      phase = unsigned(begins.getPhase());
      continue;
    }
    // Losses leave as they are made.
    if (isa<StageEndOp>(op))
      break;
    phases[&op] = phase;
    auto stack = dyn_cast<StackOp>(op);
    *times[phase] += countFlops(&op) * (stack ? double(stack.getRepeat()) : 1);
    countReads(op, phase);
  }
  for (auto stack : stage.getBody().getOps<StackOp>())
    countSaves(stack, phases[stack]);
  for (auto [value, read] : reads)
    keep(phases[value.getDefiningOp()], read, rowBytes(value, mesh, maxSeq));
}

PositionCosts pipeline::costsOf(StageOp stage) { return Lives(stage).costs; }

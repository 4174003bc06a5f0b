//===- Recompute.cpp - what a backward step reads: kept or made again -----===//
//
// For each forward stack it is decided which values are kept; all others that
// are read, each reader makes again of those, by copies of the forward ops that
// stand where the value is first read.
//
// Fewest bytes are a minimum cut: a value is there when it was kept or when all
// that it is made of is there, so that what is kept must lie on every path from
// what a stack starts with (its arguments, and results of ops that are not
// repeated) to what is read.
//
//===----------------------------------------------------------------------===//

#include "passes/training/MinimumCut.h"
#include "passes/training/Passes.h"
#include "passes/training/SavedValues.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace baton::training {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/training/Passes.h.inc"
} // namespace baton::training

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::training;

/// Bytes of a value for each of a step's rows, which sees as many positions as
/// the longest sequence has; 0 of a vector of a fixed size, nothing if it
/// cannot be saved.
static std::optional<int64_t> rowBytes(Value value, ProgramOp program) {
  StepTensorType type = typeOf(value);
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  unsigned symbols = 0;
  for (int64_t dimension : type.getShape())
    if (!isSymbol(dimension))
      bytes *= dimension;
    else if (symbols++)
      bytes *= program.getMaxSeq();
  if (!symbols)
    return type.getRank() == 1 ? std::optional<int64_t>(0) : std::nullopt;
  return bytes;
}

namespace {

/// A forward stack, and the stacks that read what it saves.
class Recomputation {
public:
  Recomputation(StackOp stack, RecomputeMode mode, SavedValues &saved);

  /// Ops that are repeated, and what their products take for each row, in an
  /// iteration.
  struct Repeated {
    int64_t ops = 0, flops = 0;
  };
  Repeated run();

private:
  /// What a reader has of the forward values by now.
  using Values = llvm::DenseMap<Value, Value>;
  using Vertices = llvm::MapVector<Value, CutGraph::Vertex>;

  bool isInside(Value value) const { return value.getParentBlock() == pattern; }
  bool mayRepeat(Operation *op) const;

  void keepWhatStarts(Value value, llvm::DenseSet<Value> &seen);
  CutGraph::Vertex addToGraph(Value value, CutGraph &graph,
                              Vertices &vertices) const;
  void keepFewestBytes();

  Value makeAgain(Value value, Values &values, OpBuilder &builder);
  void rewrite(Block &reader);

  ProgramOp program;
  Block *pattern;
  RecomputeMode mode;
  SavedValues &saved;
  /// By names of saved values.
  llvm::StringMap<Value> forward;
  /// Patterns that read saved values, and all values that any of them reads.
  SmallVector<Block *> readers;
  llvm::SetVector<Value> needed;
  llvm::DenseSet<Value> kept;
  Repeated repeated;
};

} // namespace

Recomputation::Recomputation(StackOp stack, RecomputeMode mode,
                             SavedValues &saved)
    : program(stack->getParentOfType<ProgramOp>()),
      pattern(&stack.getBody().front()), mode(mode), saved(saved) {
  for (auto save : pattern->getOps<SaveOp>())
    forward[save.getName()] = save.getX();
  for (auto other : stack->getBlock()->getOps<StackOp>()) {
    Block &block = other.getBody().front();
    bool reads = false;
    for (auto op : block.getOps<SavedOp>())
      if (Value value = forward.lookup(op.getName())) {
        needed.insert(value);
        reads = true;
      }
    if (reads)
      readers.push_back(&block);
  }
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

/// Whether the op's results may be computed a second time.
bool Recomputation::mayRepeat(Operation *op) const {
  if (isNeverSaved(op))
    return true;
  // Squares of rows of weights are few numbers, however many rows a step has,
  // and all of a weight is read for them.
  if (!isMemoryEffectFree(op) || isa<AdaptedSquaresOp>(op))
    return false;
  auto differentiable = dyn_cast<Differentiable>(op);
  return mode == RecomputeMode::full ||
         (differentiable && differentiable.isCheapToRecompute());
}

/// Keeps what all that a value is made of begins with.
void Recomputation::keepWhatStarts(Value value, llvm::DenseSet<Value> &seen) {
  if (!isInside(value) || !seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op || !mayRepeat(op)) {
    kept.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    keepWhatStarts(operand, seen);
}

CutGraph::Vertex Recomputation::addToGraph(Value value, CutGraph &graph,
                                           Vertices &vertices) const {
  if (auto found = vertices.find(value); found != vertices.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  // Of a view its source is saved.
  std::optional<int64_t> bytes =
      isNeverSaved(op) ? std::nullopt : rowBytes(value, program);
  CutGraph::Vertex vertex = graph.addVertex(bytes.value_or(CutGraph::kNever));
  vertices[value] = vertex;
  if (!op || !mayRepeat(op)) {
    graph.addEdge(CutGraph::kSource, vertex);
    return vertex;
  }
  for (Value operand : op->getOperands())
    if (isInside(operand))
      graph.addEdge(addToGraph(operand, graph, vertices), vertex);
  return vertex;
}

void Recomputation::keepFewestBytes() {
  CutGraph graph;
  Vertices vertices;
  for (Value value : needed)
    graph.addEdge(addToGraph(value, graph, vertices), CutGraph::kSink);
  auto cut = graph.minimumCut();
  assert(cut && "of what is saved, it or what it is a view of can be kept");
  for (auto [value, vertex] : vertices)
    if (llvm::is_contained(*cut, vertex))
      kept.insert(value);
}

//===----------------------------------------------------------------------===//
// What is made again
//===----------------------------------------------------------------------===//

/// A forward value in a reader's pattern, where the builder stands.
Value Recomputation::makeAgain(Value value, Values &values,
                               OpBuilder &builder) {
  if (!isInside(value))
    return value;
  if (Value there = values.lookup(value))
    return there;
  if (kept.contains(value))
    return values[value] = saved.read(value, *builder.getBlock());
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, makeAgain(operand, values, builder));
  Operation *copy = builder.clone(*op, mapping);
  if (!isNeverSaved(op)) {
    ++repeated.ops;
    if (auto differentiable = dyn_cast<Differentiable>(op))
      repeated.flops += differentiable.getProductFlops();
    if (auto name = dyn_cast<NameLoc>(op->getLoc()))
      copy->setLoc(NameLoc::get(
          builder.getStringAttr(name.getName().getValue() + ".recomputed"),
          name.getChildLoc()));
  }
  // A result that is kept may be read before this op.
  for (auto [result, again] : llvm::zip(op->getResults(), copy->getResults()))
    if (!kept.contains(result))
      values[result] = again;
  return values.lookup(value);
}

void Recomputation::rewrite(Block &reader) {
  Values values, dropped;
  SmallVector<Operation *> ops;
  for (Operation &op : reader) {
    ops.push_back(&op);
    auto read = dyn_cast<SavedOp>(op);
    Value value = read ? forward.lookup(read.getName()) : Value();
    if (!value)
      continue;
    if (kept.contains(value))
      values[value] = read;
    else
      dropped[read] = value;
  }
  for (Operation *op : ops) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (Value value = dropped.lookup(operand.get()))
        operand.set(makeAgain(value, values, builder));
  }
  for (Operation *op : ops)
    if (isa<SavedOp>(op) && dropped.contains(op->getResult(0)))
      op->erase();
}

Recomputation::Repeated Recomputation::run() {
  if (mode == RecomputeMode::none)
    return {};
  if (mode == RecomputeMode::selective) {
    keepFewestBytes();
  } else {
    llvm::DenseSet<Value> seen;
    for (Value value : needed)
      keepWhatStarts(value, seen);
  }
  for (Block *reader : readers)
    rewrite(*reader);
  for (auto save : llvm::make_early_inc_range(pattern->getOps<SaveOp>()))
    if (!kept.contains(save.getX()))
      save.erase();
  return repeated;
}

static StringRef nameOf(RecomputeMode mode) {
  return mode == RecomputeMode::none        ? "none"
         : mode == RecomputeMode::selective ? "selective"
                                            : "full";
}

namespace {
struct Recompute : baton::training::impl::RecomputeBase<Recompute> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (!program.getTraining()) {
        program.emitOpError() << "is no training program; training-form makes "
                                 "one";
        return signalPassFailure();
      }
      run(program);
    }
  }

  void run(ProgramOp program) {
    SavedValues values(program);
    int64_t saved = 0, recomputed = 0, bytes = 0, flops = 0;
    for (auto stack : program.getBody().getOps<StackOp>()) {
      // What reversed stacks save is no value of the forward step.
      if (stack.getReverse())
        continue;
      auto repeated = Recomputation(stack, mode, values).run();
      recomputed += repeated.ops;
      flops += repeated.flops * int64_t(stack.getRepeat());
      for (auto save : stack.getBody().getOps<SaveOp>()) {
        ++saved;
        bytes += rowBytes(save.getX(), program).value_or(0) *
                 int64_t(stack.getRepeat());
      }
    }
    numSaved += saved;
    numRecomputed += recomputed;
    numRowBytes += bytes;
    Builder builder(&getContext());
    auto number = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    program->setAttr(
        "model.recompute",
        builder.getDictionaryAttr(
            {builder.getNamedAttr("mode", builder.getStringAttr(nameOf(mode))),
             number("saved", saved), number("recomputed", recomputed),
             number("row_bytes", bytes), number("row_flops", flops)}));
  }
};
} // namespace

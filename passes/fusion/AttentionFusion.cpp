//===- AttentionFusion.cpp - one op for matmul, mask, softmax, matmul -----===//

#include "passes/fusion/Passes.h"
#include "passes/fusion/Rewrites.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace baton::fusion {
#define GEN_PASS_DEF_ATTENTIONFUSION
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::fusion;

namespace {

/// The rows or state that an operand of a product views.
struct Viewed {
  Value source;
  /// How often the views repeat each head next to itself.
  int64_t times = 1;
  /// The factor of a scale among the views.
  std::optional<float> scale;
};

/// What model.attention needs to know.
struct Match {
  Viewed q, k, v;
  /// Or null.
  Value sinks;
  float scale = 1.0f, softcap = 0.0f;
  int64_t window = 0;
  /// Has the value that the attention op replaces.
  TransposeOp result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// The source of `operand` of which it is a view with these properties:
/// operand dimension i is source dimension `permutation[i]`, the source's
/// dimension 0 is `symbol`, and only its dimension 1 (heads) is repeated. The
/// source farthest back wins, as views nearer by hide repeated heads. With
/// `mayScale`, one scale may stand among the views.
static std::optional<Viewed> matchView(Value operand,
                                       ArrayRef<int64_t> permutation,
                                       int64_t symbol, bool mayScale) {
  std::optional<Viewed> farthest;
  Viewed here;
  here.source = operand;
  SmallVector<int64_t, 3> axes = {0, 1, 2};
  std::optional<int64_t> repeatedAxis;
  while (true) {
    auto type = cast<StepTensorType>(here.source.getType());
    if (ArrayRef(axes) == permutation && type.getDimension(0) == symbol &&
        repeatedAxis.value_or(1) == 1)
      farthest = here;

    Operation *view = here.source.getDefiningOp();
    if (auto transpose = dyn_cast_or_null<TransposeOp>(view)) {
      ArrayRef<int64_t> inner = transpose.getPermutation();
      for (int64_t &axis : axes)
        axis = inner[axis];
      if (repeatedAxis)
        repeatedAxis = inner[*repeatedAxis];
      here.source = transpose.getX();
    } else if (auto broadcast = dyn_cast_or_null<BroadcastOp>(view)) {
      auto axis = static_cast<int64_t>(broadcast.getAxis());
      if (repeatedAxis && *repeatedAxis != axis)
        return farthest;
      repeatedAxis = axis;
      here.times *= broadcast.getTimes();
      here.source = broadcast.getX();
    } else if (auto scale = dyn_cast_or_null<ScaleOp>(view);
               scale && mayScale && !here.scale) {
      here.scale = scale.getFactor().convertToFloat();
      here.source = scale.getX();
    } else {
      return farthest;
    }
  }
}

static float factorOf(ScaleOp op) { return op.getFactor().convertToFloat(); }

/// The first op, backwards from the probabilities to their product, whose value
/// somebody else reads too, so that it has to be stored anyway.
static Operation *findSharedScores(Value probabilities) {
  Operation *maker = probabilities.getDefiningOp();
  while (isa_and_nonnull<SoftmaxOp, MaskOp, ScaleOp, TanhOp, MatmulOp>(maker)) {
    if (!maker->hasOneUse())
      return maker;
    if (isa<MatmulOp>(maker))
      return nullptr;
    maker = maker->getOperand(0).getDefiningOp();
  }
  return nullptr;
}

/// scale(1/c) -> tanh -> scale(c) ending at `scores`, which moves before them.
/// Returns c, or nothing when there is no tanh. Sets `problem` when there is
/// one that is no softcap.
static std::optional<float> matchSoftcap(Value &scores, StringRef &problem) {
  auto outer = scores.getDefiningOp<ScaleOp>();
  auto tanh = (outer ? outer.getX() : scores).getDefiningOp<TanhOp>();
  if (!tanh)
    return std::nullopt;
  auto inner = tanh.getX().getDefiningOp<ScaleOp>();
  if (!outer || !inner) {
    problem = "a tanh of the scores has no scale on both sides";
    return std::nullopt;
  }
  float cap = factorOf(outer), reciprocal = factorOf(inner);
  // Whoever wrote the model rounded one from the other.
  if (cap <= 0 || (reciprocal != 1.0f / cap && cap != 1.0f / reciprocal)) {
    problem = "the factors around a tanh are not each other's reciprocal";
    return std::nullopt;
  }
  scores = inner.getX();
  return cap;
}

/// Matches backwards from the product with the values. Returns the reason when
/// it is not attention.
static std::optional<std::string> match(MatmulOp weighted, Match &found) {
  if (weighted->hasOneUse())
    found.result =
        dyn_cast<TransposeOp>(*weighted.getResult().getUsers().begin());
  if (!found.result ||
      found.result.getPermutation() != ArrayRef<int64_t>{1, 0, 2})
    return "the result is used otherwise than as rows of heads";
  if (Operation *shared = findSharedScores(weighted.getLhs()))
    return "the value of its '" + shared->getName().getStringRef().str() +
           "' has other users";

  auto softmax = weighted.getLhs().getDefiningOp<SoftmaxOp>();
  found.sinks = softmax.getSinks();
  auto mask = softmax.getX().getDefiningOp<MaskOp>();
  if (!mask)
    return "the scores have no causal mask";
  found.window = mask.getWindow();

  Value scores = mask.getX();
  StringRef problem;
  if (std::optional<float> cap = matchSoftcap(scores, problem))
    found.softcap = *cap;
  if (!problem.empty())
    return problem.str();
  auto scale = scores.getDefiningOp<ScaleOp>();
  if (scale) {
    found.scale = factorOf(scale);
    scores = scale.getX();
  }
  auto product = scores.getDefiningOp<MatmulOp>();
  if (!product)
    return "the scores are no product, scaled once";

  auto q = matchView(product.getLhs(), {1, 0, 2}, kRows, /*mayScale=*/!scale);
  auto k = matchView(product.getRhs(), {1, 2, 0}, kKv, /*mayScale=*/false);
  auto v = matchView(weighted.getRhs(), {1, 0, 2}, kKv, /*mayScale=*/false);
  if (!q || q->times != 1)
    return "the queries are no view of [rows, heads, dim]";
  if (!k)
    return "the keys are no view of [kv, heads, dim]";
  if (!v)
    return "the values are no view of [kv, heads, dim]";
  if (k->times != v->times)
    return "keys and values are repeated differently";
  found.q = *q, found.k = *k, found.v = *v;
  if (q->scale)
    found.scale = *q->scale;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Erases `op` and what only it used.
static void eraseDead(RewriterBase &rewriter, Operation *op) {
  SmallVector<Operation *> worklist = {op};
  while (!worklist.empty()) {
    Operation *dead = worklist.pop_back_val();
    SmallVector<Operation *, 4> makers;
    for (Value operand : dead->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        if (!llvm::is_contained(makers, maker))
          makers.push_back(maker);
    rewriter.eraseOp(dead);
    for (Operation *maker : makers)
      if (isOpTriviallyDead(maker))
        worklist.push_back(maker);
  }
}

/// The product of a softmax with something.
static MatmulOp productOf(SoftmaxOp softmax) {
  for (Operation *user : softmax->getUsers())
    if (auto product = dyn_cast<MatmulOp>(user);
        product && product.getLhs() == softmax.getResult())
      return product;
  return {};
}

Outcome fusion::fuseAttention(RewriterBase &rewriter, SoftmaxOp softmax) {
  MatmulOp product = productOf(softmax);
  if (!product)
    return {false, softmax, "attention is not fused: no product reads it"};
  Match found;
  if (std::optional<std::string> reason = match(product, found))
    return {false, product, "attention is not fused: " + *reason};
  rewriter.setInsertionPoint(found.result);
  auto attention = rewriter.create<AttentionOp>(
      found.result.getLoc(), found.result.getType(), found.q.source,
      found.k.source, found.v.source, /*gate=*/Value(), found.sinks,
      rewriter.getF32FloatAttr(found.scale),
      rewriter.getF32FloatAttr(found.softcap),
      rewriter.getI64IntegerAttr(found.window));
  rewriter.replaceAllUsesWith(found.result.getResult(), attention.getResult());
  eraseDead(rewriter, found.result);
  return {true, attention,
          "is one task from scores to weighted values: scores, as large as "
          "rows times positions for each head, are never stored"};
}

Outcome fusion::fuseGate(RewriterBase &rewriter, GateOp op) {
  auto attention = op.getX().getDefiningOp<AttentionOp>();
  if (!attention || !op.getX().hasOneUse() || attention.getGate() ||
      attention->getBlock() != op->getBlock())
    return {false, op,
            "the gate stays a phase: its input is not made for it alone by an "
            "attention of its block without a gate"};
  attention.getGateMutable().assign(op.getGate());
  attention->setLoc(
      FusedLoc::get(op.getContext(), {attention.getLoc(), op.getLoc()}));
  // The gate may be younger than the attention.
  attention->moveBefore(op);
  rewriter.replaceAllUsesWith(op.getResult(), attention.getResult());
  rewriter.eraseOp(op);
  return {true, attention,
          "gates its rows before storing them: they are not written, awaited "
          "and read once more"};
}

namespace {
struct AttentionFusion
    : baton::fusion::impl::AttentionFusionBase<AttentionFusion> {
  using AttentionFusionBase::AttentionFusionBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<SoftmaxOp> candidates;
    getOperation().walk([&](SoftmaxOp op) {
      if (productOf(op))
        candidates.push_back(op);
    });
    for (SoftmaxOp candidate : candidates) {
      Outcome outcome = fuseAttention(rewriter, candidate);
      ++(outcome.done ? numFused : numKept);
      if (explain)
        outcome.remark();
    }
    SmallVector<GateOp> gates;
    getOperation().walk([&](GateOp op) { gates.push_back(op); });
    for (GateOp gate : gates) {
      Outcome outcome = fuseGate(rewriter, gate);
      numGates += outcome.done;
      if (explain)
        outcome.remark();
    }
  }
};
} // namespace

//===- LowRankAdapters.cpp - linears that train by low-rank pairs ---------===//
//
// All that a model has is frozen; what trains is a pair of narrow matrices
// beside each linear of some names.
//
//===----------------------------------------------------------------------===//

#include "passes/training/Passes.h"

#include "dialects/Model/LowRankPairs.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>

namespace baton::training {
#define GEN_PASS_DEF_LOWRANKADAPTERS
#include "passes/training/Passes.h.inc"
} // namespace baton::training

using namespace mlir;
using namespace baton;
using namespace baton::model;

namespace {

/// Adapts one program.
class Adapter {
public:
  Adapter(ProgramOp program, int64_t rank, double alpha, bool stabilized,
          bool decomposed, ArrayRef<std::string> targets)
      : program(program), rank(rank), alpha(alpha), stabilized(stabilized),
        decomposed(decomposed), targets(targets),
        rewriter(program.getContext()) {}

  LogicalResult run();
  int64_t countPairs() const { return pairs; }

private:
  void adapt(LinearOp linear);
  Value scaleRows(LinearOp linear, LinearOp sum, ParameterOp down,
                  ParameterOp up, FloatAttr factor, Value bias);

  ProgramOp program;
  const int64_t rank;
  const double alpha;
  const bool stabilized;
  /// Whether rows of the adapted weights have trained lengths.
  const bool decomposed;
  PairTargets targets;
  IRRewriter rewriter;
  int64_t pairs = 0;
};

} // namespace

/// y = m (W + scale B A) x / |W + scale B A| + bias, row by row of the sum of
/// matrices, which is never made. What is divided by counts as a constant.
Value Adapter::scaleRows(LinearOp linear, LinearOp sum, ParameterOp down,
                         ParameterOp up, FloatAttr factor, Value bias) {
  const int64_t outputs = typeOf(sum).getDimension(1);
  auto weight = linear.getWeight().getDefiningOp<ParameterOp>();
  ParameterOp magnitude = makePairParameter(rewriter, weight, linear.getLoc(),
                                            "lora_magnitude_vector", {outputs},
                                            rewriter.getF32Type());
  auto squares = rewriter.create<AdaptedSquaresOp>(
      magnitude.getLoc(), magnitude.getType(), weight, down, up, factor);
  return rewriter.create<MagnitudeOp>(magnitude.getLoc(), typeOf(sum), sum,
                                      magnitude, squares, bias);
}

/// y = W x + B (scale A x)
void Adapter::adapt(LinearOp linear) {
  const int64_t inputs = typeOf(linear.getX()).getDimension(1),
                outputs = typeOf(linear).getDimension(1);
  rewriter.setInsertionPointAfter(linear);
  auto weight = linear.getWeight().getDefiningOp<ParameterOp>();
  ParameterOp down =
                  makePairParameter(rewriter, weight, linear.getLoc(), "lora_A",
                                    {rank, inputs}, rewriter.getF32Type()),
              up =
                  makePairParameter(rewriter, weight, linear.getLoc(), "lora_B",
                                    {outputs, rank}, rewriter.getF32Type());
  auto narrow = StepTensorType::get(rewriter.getContext(), {kRows, rank},
                                    typeOf(linear).getElementType());
  const Value none;
  auto multiply = [&](StepTensorType type, Value x, ParameterOp weight,
                      Value residual) {
    return rewriter.create<LinearOp>(
        weight.getLoc(), type, x, weight, /*bias=*/none, /*norm_weight=*/none,
        /*norm_bias=*/none, residual, Norm::identity, APFloat(0.0f));
  };
  Value low = multiply(narrow, linear.getX(), down, /*residual=*/none);
  const double scale =
      alpha / (stabilized ? std::sqrt(double(rank)) : double(rank));
  FloatAttr factor = rewriter.getF32FloatAttr(float(scale));
  if (scale != 1)
    low = rewriter.create<ScaleOp>(down.getLoc(), narrow, low, factor);
  // What scales rows of the weight does not scale the bias.
  Value bias = linear.getBias();
  if (decomposed && bias)
    rewriter.modifyOpInPlace(linear, [&] { linear.getBiasMutable().clear(); });
  LinearOp sum = multiply(typeOf(linear), low, up, linear.getResult());
  Value result = sum.getResult();
  if (decomposed)
    result = scaleRows(linear, sum, down, up, factor, bias);
  rewriter.replaceUsesWithIf(linear.getResult(), result, [&](OpOperand &use) {
    return use.getOwner() != sum;
  });
  ++pairs;
}

LogicalResult Adapter::run() {
  program.walk([](ParameterOp parameter) { parameter.setFrozen(true); });
  SmallVector<LinearOp> linears;
  program.walk([&](LinearOp linear) {
    if (!isRouter(linear) &&
        targets.take(linear.getWeight().getDefiningOp<ParameterOp>()))
      linears.push_back(linear);
  });
  for (LinearOp linear : linears)
    adapt(linear);
  if (failed(targets.check(program)))
    return failure();
  SmallVector<StringRef> names = targets.taken();
  program->setAttr(
      kAdapter,
      rewriter.getDictionaryAttr(
          {rewriter.getNamedAttr("kind", rewriter.getStringAttr("lora")),
           rewriter.getNamedAttr("rank", rewriter.getI64IntegerAttr(rank)),
           rewriter.getNamedAttr("alpha", rewriter.getF64FloatAttr(alpha)),
           rewriter.getNamedAttr("rank_stabilized",
                                 rewriter.getBoolAttr(stabilized)),
           rewriter.getNamedAttr("targets", rewriter.getStrArrayAttr(names)),
           rewriter.getNamedAttr("weight_decomposed",
                                 rewriter.getBoolAttr(decomposed))}));
  return success();
}

namespace {
struct LowRankAdapters
    : baton::training::impl::LowRankAdaptersBase<LowRankAdapters> {
  using LowRankAdaptersBase::LowRankAdaptersBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (rank < 1 || !(alpha > 0) || targets.empty()) {
        program.emitOpError() << "cannot be adapted: rank is at least 1, alpha "
                                 "above 0, and there are targets";
        return signalPassFailure();
      }
      if (!program.getTraining()) {
        program.emitOpError() << "is no training program; training-form makes "
                                 "one";
        return signalPassFailure();
      }
      std::vector<std::string> names(targets.begin(), targets.end());
      Adapter adapter(program, rank, alpha, stabilized, decomposed, names);
      if (failed(adapter.run()))
        return signalPassFailure();
      numPairs += adapter.countPairs();
    }
  }
};
} // namespace

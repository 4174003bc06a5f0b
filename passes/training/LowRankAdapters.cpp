//===- LowRankAdapters.cpp - linears that train by low-rank pairs
//----------===//
//
// All that a model has is frozen; what trains is a pair of narrow matrices
// beside each linear of some names (Hu et al., "LoRA: Low-Rank Adaptation of
// Large Language Models"). Tensors are called as PEFT calls them, which puts
// the whole model behind a prefix.
//
//===----------------------------------------------------------------------===//

#include "passes/training/Passes.h"

#include "dialects/Model/Model.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <set>

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
          ArrayRef<std::string> targets)
      : program(program), rank(rank), alpha(alpha), stabilized(stabilized),
        targets(targets.begin(), targets.end()),
        rewriter(program.getContext()) {}

  LogicalResult run();
  int64_t countPairs() const { return pairs; }

private:
  bool isTarget(StringRef module) const;
  void adapt(LinearOp linear, StringRef module);
  ParameterOp parameter(LinearOp linear, const char *name,
                        ArrayRef<int64_t> shape);
  LogicalResult checkTargets();

  ProgramOp program;
  const int64_t rank;
  const double alpha;
  const bool stabilized;
  /// Last parts of modules' names, or all-linear.
  const std::vector<std::string> targets;
  IRRewriter rewriter;
  int64_t pairs = 0;
  /// Last parts of the modules that have a pair, and of all that could.
  std::set<std::string> adapted, known;
};

constexpr StringLiteral kAllLinear = "all-linear";
constexpr StringLiteral kWeight = ".weight";
constexpr StringLiteral kPrefix = "base_model.model.";

} // namespace

/// What a linear's module is called in the checkpoint; empty where its weight
/// is none by itself.
static StringRef moduleOf(LinearOp linear) {
  auto weight = linear.getWeight().getDefiningOp<ParameterOp>();
  if (!weight || weight.isOfSeveral())
    return {};
  auto name = cast<StringAttr>(weight.getSources()[0]).getValue();
  return name.ends_with(kWeight) ? name.drop_back(kWeight.size()) : StringRef();
}

static StringRef lastPart(StringRef module) {
  return module.substr(module.rfind('.') + 1);
}

/// Routers choose experts by what they make; PEFT's all-linear has none either.
static bool isRouter(LinearOp linear) {
  return llvm::any_of(linear->getUsers(),
                      [](Operation *user) { return isa<RouteOp>(user); });
}

/// As PEFT has it: the whole name, or its last parts.
bool Adapter::isTarget(StringRef module) const {
  for (const std::string &target : targets)
    if (target == kAllLinear || module == target ||
        (module.ends_with(target) &&
         module.drop_back(target.size()).ends_with(".")))
      return true;
  return false;
}

/// A matrix of a pair, which is its own in every layer that the linear's weight
/// is.
ParameterOp Adapter::parameter(LinearOp linear, const char *name,
                               ArrayRef<int64_t> shape) {
  auto weight = linear.getWeight().getDefiningOp<ParameterOp>();
  SmallVector<Attribute> sources;
  for (auto source : weight.getSources().getAsRange<StringAttr>())
    sources.push_back(rewriter.getStringAttr(
        kPrefix + source.getValue().drop_back(kWeight.size()) + "." + name +
        kWeight));
  auto named = dyn_cast<NameLoc>(linear.getLoc());
  Location location = NameLoc::get(rewriter.getStringAttr(
      (named ? named.getName().getValue() : StringRef("linear")) + "." + name));
  return rewriter.create<ParameterOp>(
      location,
      StepTensorType::get(rewriter.getContext(), shape, rewriter.getF32Type()),
      rewriter.getArrayAttr(sources));
}

/// y = W x + B (scale A x)
void Adapter::adapt(LinearOp linear, StringRef module) {
  const int64_t inputs = typeOf(linear.getX()).getDimension(1),
                outputs = typeOf(linear).getDimension(1);
  rewriter.setInsertionPointAfter(linear);
  ParameterOp down = parameter(linear, "lora_A", {rank, inputs}),
              up = parameter(linear, "lora_B", {outputs, rank});
  // Of a part of a fused projection B is a part, too.
  auto weight = linear.getWeight().getDefiningOp<ParameterOp>();
  if (weight.getBlocks())
    up.setBlocksAttr(weight.getBlocksAttr());
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
  if (scale != 1)
    low = rewriter.create<ScaleOp>(down.getLoc(), narrow, low,
                                   rewriter.getF32FloatAttr(float(scale)));
  LinearOp sum = multiply(typeOf(linear), low, up, linear.getResult());
  rewriter.replaceAllUsesExcept(linear.getResult(), sum.getResult(), sum);
  adapted.insert(lastPart(module).str());
  ++pairs;
}

LogicalResult Adapter::checkTargets() {
  for (const std::string &target : targets) {
    if (target == kAllLinear || adapted.count(lastPart(target).str()))
      continue;
    return program.emitOpError()
           << "has no linear that can be adapted called '" << target
           << "'; there is " << llvm::join(known, ", ") << ", and "
           << kAllLinear << " for all of them";
  }
  if (!pairs)
    return program.emitOpError() << "has no linear that can be adapted";
  return success();
}

LogicalResult Adapter::run() {
  program.walk([](ParameterOp parameter) { parameter.setFrozen(true); });
  SmallVector<LinearOp> linears;
  program.walk([&](LinearOp linear) {
    if (!moduleOf(linear).empty() && !isRouter(linear))
      linears.push_back(linear);
  });
  for (LinearOp linear : linears) {
    const std::string module = moduleOf(linear).str();
    known.insert(lastPart(module).str());
    if (isTarget(module))
      adapt(linear, module);
  }
  if (failed(checkTargets()))
    return failure();
  SmallVector<StringRef> names(adapted.begin(), adapted.end());
  program->setAttr(
      kAdapter,
      rewriter.getDictionaryAttr(
          {rewriter.getNamedAttr("kind", rewriter.getStringAttr("lora")),
           rewriter.getNamedAttr("rank", rewriter.getI64IntegerAttr(rank)),
           rewriter.getNamedAttr("alpha", rewriter.getF64FloatAttr(alpha)),
           rewriter.getNamedAttr("rank_stabilized",
                                 rewriter.getBoolAttr(stabilized)),
           rewriter.getNamedAttr("targets", rewriter.getStrArrayAttr(names))}));
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
      Adapter adapter(program, rank, alpha, stabilized, names);
      if (failed(adapter.run()))
        return signalPassFailure();
      numPairs += adapter.countPairs();
    }
  }
};
} // namespace

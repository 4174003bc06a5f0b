//===- experts_gradient.cpp - mixtures of experts that train --------------===//
//
// Ranks that have sequences of their own send their rows to experts by
// themselves, so that values of places are cut between sequences as rows are:
// gradients of experts are sums over ranks. Among ranks that have the same rows
// and some of the experts each, values of places are cut as experts are
// (experts.cpp). Their first dimension is both. Rows are not cut inside of
// sequences.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

using Write = void (*)(RuleWriter &);

/// In programs that train; others have the rule that is there already
/// (experts.cpp).
template <typename OpT>
static void addTrained(RuleTable &rules, void (*write)(OpT, RuleWriter &)) {
  RuleTable::Writer decodes = rules.rules.lookup(OpT::getOperationName());
  rules.add<OpT>([=](OpT op, RuleWriter &writer) {
    auto program = op->template getParentOfType<ProgramOp>();
    if (!program || !program.getTraining())
      return decodes(op, writer);
    write(op, writer);
  });
}

template <typename OpT> static void addAdjoint(RuleTable &rules, Write write) {
  rules.add<OpT>([=](OpT, RuleWriter &writer) { write(writer); });
}

void sharding::addExpertsGradient(RuleTable &rules) {
  addTrained<DispatchOp>(rules, [](DispatchOp, RuleWriter &writer) {
    writer.equation("R j -> z, R j, R j").replicated("sojz").own("b");
  });
  addTrained<GatherOp>(rules, [](GatherOp, RuleWriter &writer) {
    writer.equation("R k, R j -> be j k").replicated("sjk");
  });
  addTrained<GroupedLinearOp>(rules, [](GroupedLinearOp op,
                                        RuleWriter &writer) {
    // A bias would be added by each rank.
    if (op.getBias())
      writer.equation("be j k, z, e n k, e n -> be j n").replicated("jzk");
    else
      writer.equation("be j k, z, e n k -> be j n").replicated("jz").sum("k");
  });
  addTrained<CombineOp>(rules, [](CombineOp, RuleWriter &writer) {
    writer.equation("be j k, R j, R j -> R k")
        .replicated("sjk")
        .sum("e")
        .linear({0});
  });

  addAdjoint<RouteGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("R j, R e, R j -> R e").replicated("soje");
  });
  addAdjoint<GatherGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("be j k, R j -> R k")
        .replicated("sjk")
        .sum("e")
        .linear({0});
  });
  addAdjoint<CombineInputGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("R k, R j, R j -> be j k").replicated("sjk");
  });
  // Ranks have parts of each expert's sums, or those of some experts.
  addAdjoint<CombineWeightGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("R k, be j k, R j -> R j")
        .replicated("sjk")
        .sum("e")
        .linear({1});
  });
  addAdjoint<GroupedLinearInputGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("be j n, z, e n k -> be j k").replicated("jz").sum("n");
  });
  addAdjoint<GroupedLinearWeightGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("be j n, be j k, z -> e n k").replicated("jz").sum("b");
  });
  addAdjoint<GroupedBiasGradientOp>(rules, [](RuleWriter &writer) {
    writer.equation("be j n, z -> e n").replicated("jz").sum("b");
  });
}

//===- experts_gradient.cpp - mixtures of experts that train --------------===//
//
// Ranks that have rows of their own send these to experts by themselves, and
// all of them have all experts: gradients of experts are sums over rows. Rows
// are not cut inside of sequences.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

/// An equation in which nothing is cut but rows, by sequences: `whole` are all
/// letters but R.
static void writeByRows(RuleWriter &writer, StringRef equation,
                        StringRef whole) {
  writer.equation(equation).replicated(whole).replicated("so");
}

/// The same of an op that decoding programs have, too, by the rule that is
/// there already (experts.cpp).
template <typename OpT>
static void addTrained(RuleTable &rules, StringRef equation, StringRef whole,
                       StringRef own = "") {
  RuleTable::Writer decodes = rules.rules.lookup(OpT::getOperationName());
  rules.add<OpT>([=](OpT op, RuleWriter &writer) {
    auto program = op->template getParentOfType<ProgramOp>();
    if (!program || !program.getTraining())
      return decodes(op, writer);
    writeByRows(writer, equation, whole);
    writer.own(own);
  });
}

template <typename OpT>
static void addAdjoint(RuleTable &rules, StringRef equation, StringRef whole) {
  rules.add<OpT>(
      [=](OpT, RuleWriter &writer) { writeByRows(writer, equation, whole); });
}

void sharding::addExpertsGradient(RuleTable &rules) {
  addTrained<DispatchOp>(rules, "R j -> z, R j, R j", "jz", /*own=*/"b");
  addTrained<GatherOp>(rules, "R k, R j -> R j k", "jk");
  addTrained<GroupedLinearOp>(rules, "R j k, z, e n k -> R j n", "jkzen");
  addTrained<CombineOp>(rules, "R j k, R j, R j -> R k", "jk");

  addAdjoint<RouteGradientOp>(rules, "R j, R e, R j -> R e", "je");
  addAdjoint<GatherGradientOp>(rules, "R j k, R j -> R k", "jk");
  addAdjoint<CombineInputGradientOp>(rules, "R k, R j, R j -> R j k", "jk");
  addAdjoint<CombineWeightGradientOp>(rules, "R k, R j k, R j -> R j", "jk");
  addAdjoint<GroupedLinearInputGradientOp>(rules, "R j n, z, e n k -> R j k",
                                           "jnzek");
  rules.add<GroupedLinearWeightGradientOp>(
      [](GroupedLinearWeightGradientOp, RuleWriter &writer) {
        writeByRows(writer, "R j n, R j k, z -> e n k", "jnkze");
        writer.sum("b");
      });
}

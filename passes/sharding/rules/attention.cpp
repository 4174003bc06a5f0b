//===- attention.cpp - attention to a cache, and what fills that ----------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addAttention(RuleTable &rules) {
  rules.add<AttentionOp>([](AttentionOp op, RuleWriter &writer) {
    auto [h, g] = headsOf(op);
    std::string gate;
    if (op.getGate())
      gate = ", R " + h + (rankOf(op.getGate()) == 3 ? " e" : "");
    writer
        .equation("R " + h + " d, R " + g + " d, R " + g + " e" + gate +
                  (op.getSinks() ? ", " + h : "") + " -> R " + h + " e")
        .replicated(sharesHeads(op) ? "Rtdeg" : "Rtde");
  });
  rules.add<GateOp>([](GateOp op, RuleWriter &writer) {
    writer
        .equation(rankOf(op.getGate()) == 3 ? "R h e, R h e -> R h e"
                                            : "R h e, R h -> R h e")
        .linear({0});
  });
  rules.add<JoinHeadsOp>("R h d, R h e -> R h k", "dek");
  rules.add<KvAppendOp>("R h d -> t h d", "Rtd");
}

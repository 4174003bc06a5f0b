//===- PrintRules.cpp - every op's sharding rule, as a remark -------------===//

#include "passes/sharding/Passes.h"

#include "dialects/Dist/Dist.h"
#include "passes/sharding/Rules.h"

namespace baton::sharding {
#define GEN_PASS_DEF_PRINTRULES
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton::sharding;

namespace {
struct PrintRules : baton::sharding::impl::PrintRulesBase<PrintRules> {
  void runOnOperation() override {
    getOperation().getBody()->walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      StringRef reason = whyWithoutRule(name);
      if (!reason.empty()) {
        op->emitRemark() << "no rule: " << reason;
      } else if (hasRule(name)) {
        if (std::optional<Rule> rule = ruleOf(op))
          op->emitRemark() << "rule: " << rule->text();
        else
          signalPassFailure();
      }
    });
  }
};
} // namespace

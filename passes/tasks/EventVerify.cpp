//===- EventVerify.cpp - proves a plan, or rejects it --------------------===//

#include "passes/tasks/Passes.h"
#include "passes/tasks/PlanMessages.h"
#include "passes/tasks/PlanVerifier.h"
#include "passes/tasks/StepProof.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace baton::tasks {
#define GEN_PASS_DEF_EVENTVERIFY
#include "passes/tasks/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton::event;
using namespace baton::tasks;

namespace {

struct EventVerify : public baton::tasks::impl::EventVerifyBase<EventVerify> {
  /// Whether how much ranks exchange depends on the step.
  static bool exchangesRows(ProgramOp program) {
    bool found = false;
    program.walk([&](ExchangeOp exchange) {
      for (TransferAttr transfer : exchange.getTransfers())
        found |= !transfer.getElements().isSingleConstant();
    });
    return found;
  }

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      program.removeProofAttr();
    for (auto program : getOperation().getOps<ProgramOp>()) {
      PlanVerifier verifier(program);
      if (failed(verifier.verify()))
        return signalPassFailure();
      Builder builder(&getContext());
      SmallVector<std::string> assumptions = {
          "task bodies touch only what their accesses state, and the scratch "
          "that the program reserves",
          "every worker has a thread of its own, which is scheduled again and "
          "again",
          "all workers meet between two steps"};
      if (llvm::any_of(program.getBody().getOps<BufferOp>(),
                       [](BufferOp buffer) {
                         return buffer.getKind() == BufferKind::state;
                       }))
        assumptions.push_back("a step's past is at most the past and rows of "
                              "the step before, taken together");
      if (!program.getBody().getOps<MeshOp>().empty())
        assumptions.push_back("all ranks take as many steps, of the same "
                              "outputs each");
      if (exchangesRows(program))
        assumptions.push_back("ranks that exchange parts of rows have as many "
                              "rows");
      for (auto schedule : program.getBody().getOps<ScheduleOp>())
        assumptions.push_back("steps have " +
                              symbolNames({int64_t(schedule.getRows()),
                                           int64_t(schedule.getPast()),
                                           int64_t(schedule.getOutputs())}) +
                              " and run on the listed workers");
      SmallVector<StringRef> texts(assumptions.begin(), assumptions.end());
      program.setProofAttr(builder.getDictionaryAttr(
          {builder.getNamedAttr("status", builder.getStringAttr("proved")),
           builder.getNamedAttr("assumptions", builder.getStrArrayAttr(texts)),
           builder.getNamedAttr(
               "conflicts",
               builder.getI64IntegerAttr(verifier.conflictsProved()))}));
    }
    if (failed(verifyStep(getOperation())))
      signalPassFailure();
  }
};

} // namespace

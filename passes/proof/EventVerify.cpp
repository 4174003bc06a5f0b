//===- EventVerify.cpp - proves a plan, or rejects it --------------------===//

#include "codegen/bodies/TaskCalls.h"
#include "passes/proof/Passes.h"
#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"
#include "passes/proof/StepProof.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace baton::tasks {
#define GEN_PASS_DEF_EVENTVERIFY
#include "passes/proof/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton::event;
using namespace baton::tasks;

namespace {

struct EventVerify : public baton::tasks::impl::EventVerifyBase<EventVerify> {
  static std::vector<std::string> assumptionsOf(ProgramOp program);

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      program.removeProofAttr();
    for (auto program : getOperation().getOps<ProgramOp>()) {
      PlanVerifier verifier(program);
      if (failed(verifier.verify()))
        return signalPassFailure();
      Builder builder(&getContext());
      std::vector<std::string> assumptions = assumptionsOf(program);
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

/// What the proof takes from elsewhere; docs/event-dialect.md says which test
/// watches each.
std::vector<std::string> EventVerify::assumptionsOf(ProgramOp program) {
  bool mayTouch = false, isConditional = false, exchangesRows = false,
       hasShortParts = false, movesRows = false, hasLibraryBodies = false,
       hasOthers = false, leavesOut = false;
  for (PhaseOp phase : phasesOf(program)) {
    hasOthers |= phase.getBody().front().empty();
    leavesOut |= phase.getCondition().has_value();
    for (auto call : phase.getBody().getOps<CallOp>()) {
      bool isDeclared = baton::bodies::lookUp(call).has_value();
      hasLibraryBodies |= isDeclared;
      hasOthers |= !isDeclared;
    }
    for (AccessAttr access : phase.getAccessAttrs()) {
      mayTouch |= access.getMay();
      isConditional |= bool(access.getCondition());
    }
    for (auto exchange : phase.getBody().getOps<ExchangeOp>()) {
      movesRows |= exchange.movesRows();
      for (TransferAttr transfer : exchange.getTransfers()) {
        exchangesRows |= !transfer.getElements().isSingleConstant();
        hasShortParts |= !exchange.movesRows() &&
                         transfer.getElementCount() !=
                             transfer.getPartCount() * exchange.countRanks();
      }
    }
  }
  auto buffers = program.getBody().getOps<BufferOp>();
  std::vector<std::string> assumptions;
  if (hasLibraryBodies)
    assumptions.push_back("bodies of the task library touch what they declare, "
                          "and write all that they declare to write");
  if (hasOthers)
    assumptions.push_back("other bodies touch only what their accesses state, "
                          "and the scratch that the program reserves, and "
                          "write all that they state to write");
  assumptions.insert(
      assumptions.end(),
      {"every worker has a thread of its own, which is scheduled again and "
       "again",
       "all workers meet between two steps"});
  if (mayTouch)
    assumptions.push_back("what bodies may read of a buffer is what was "
                          "written of it");
  if (leavesOut)
    assumptions.push_back("of what tasks leave out, by a table of the step, no "
                          "row of the step reads any");
  if (llvm::any_of(buffers, [](BufferOp buffer) { return buffer.isPaged(); }))
    assumptions.push_back("what rows see before those of their own step was "
                          "written, in pages that the step does not write "
                          "but behind it");
  if (llvm::any_of(buffers, [](BufferOp buffer) {
        return buffer.getKind() == BufferKind::state && !buffer.isPaged();
      }))
    assumptions.push_back("a step's past is at most the past and rows of "
                          "the step before, taken together");
  if (llvm::any_of(buffers,
                   [](BufferOp buffer) { return bool(buffer.getCarry()); }))
    assumptions.push_back("what is carried from step to step is there before "
                          "the first one");
  if (isConditional)
    assumptions.push_back("the runtime sets the flags that reads depend on for "
                          "every microbatch but a step's first");
  if (!program.getBody().getOps<MeshOp>().empty()) {
    assumptions.push_back("all ranks take as many steps, of the same "
                          "outputs each");
    assumptions.push_back("engines deliver what ranks send, in the order of "
                          "their exchanges and channels");
  }
  if (exchangesRows)
    assumptions.push_back("ranks that exchange parts of rows have as many "
                          "rows");
  if (movesRows)
    assumptions.push_back("of rows that go to experts as many come to each as "
                          "the counts say, which its bounds add up");
  if (hasShortParts)
    assumptions.push_back("behind the end of a tensor that ranks exchange "
                          "nobody uses what is received");
  for (auto table : program.getBody().getOps<TableOp>()) {
    auto bound = [](AffineMap map) {
      std::string text = textOf(map.getResult(0));
      for (auto [symbol, name] :
           {std::pair("s0", "rows"), std::pair("s1", "past"),
            std::pair("s2", "outputs")})
        for (size_t at; (at = text.find(symbol)) != std::string::npos;)
          text.replace(at, 2, name);
      return text;
    };
    std::string text = "the table @" + table.getBuffer().str() + " holds " +
                       bound(table.getLow()) + " to " + bound(table.getHigh());
    if (table.getProperty() != TableProperty::any)
      text += ", " + stringifyTableProperty(table.getProperty()).str();
    assumptions.push_back(text);
  }
  for (auto schedule : program.getBody().getOps<ScheduleOp>())
    assumptions.push_back(
        "steps have " +
        symbolNames({int64_t(schedule.getRows()), int64_t(schedule.getPast()),
                     int64_t(schedule.getOutputs())}) +
        " and run on the listed workers");
  return assumptions;
}

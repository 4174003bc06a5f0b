//===- EventReasons.cpp - why an event tensor has its shape ---------------===//

#include "compiler/explain/Reasons.h"
#include "compiler/explain/Words.h"

#include "llvm/ADT/SetVector.h"

using namespace baton;
using namespace baton::explain;

namespace {
/// A wait on the event tensor in question.
struct Waiting {
  event::PhaseOp phase;
  event::WaitAttr wait;
};
} // namespace

static std::vector<Waiting> waitersOf(event::ProgramOp program,
                                      mlir::FlatSymbolRefAttr tensor) {
  std::vector<Waiting> waiters;
  for (event::PhaseOp phase : event::phasesOf(program))
    for (event::WaitAttr wait : phase.getWaitAttrs())
      if (wait.getEvent() == tensor)
        waiters.push_back({phase, wait});
  return waiters;
}

static event::TensorOp tensorOf(event::ProgramOp program,
                                event::PhaseOp phase) {
  return mlir::SymbolTable::lookupNearestSymbolFrom<event::TensorOp>(
      program, phase.getNotify()->getEvent());
}

static std::string quoted(event::PhaseOp phase) {
  return "`" + shortName(phase) + "`";
}

/// Why one dimension of the event tensor is there.
static std::string keptBecause(llvm::ArrayRef<Waiting> waiters,
                               event::TensorOp tensor, unsigned dimension,
                               bool countIsSymbolic) {
  std::vector<std::string> reasons;
  llvm::SetVector<mlir::Operation *> whole;
  for (const Waiting &waiting : waiters) {
    event::WaitAttr wait = waiting.wait;
    mlir::AffineExpr low = wait.getLow().getResult(dimension),
                     high = wait.getHigh().getResult(dimension);
    auto from = mlir::dyn_cast<mlir::AffineConstantExpr>(low);
    if (from && from.getValue() <= 0 &&
        high == tensor.getShape().getResult(dimension)) {
      whole.insert(waiting.phase);
      continue;
    }
    reasons.push_back(quoted(waiting.phase) + " waits for [" + affineText(low) +
                      ", " + affineText(high) + ") only");
  }
  if (!reasons.empty())
    return listText(reasons);
  if (countIsSymbolic)
    return "nobody tells its values apart, but a count is a product with one "
           "symbol at most, and another coordinate has it";
  return "nobody tells its values apart; the plan keeps them";
}

/// What phases that wait read of the dimension that a coordinate moves along.
static std::string countedBecause(event::ProgramOp program,
                                  llvm::ArrayRef<Waiting> waiters,
                                  event::PhaseOp phase, unsigned coordinate) {
  CoordinateMeaning meaning = meaningOf(phase, coordinate);
  std::vector<std::string> reasons;
  llvm::SetVector<mlir::Operation *> seen;
  for (const Waiting &waiting : waiters) {
    if (!seen.insert(waiting.phase))
      continue;
    event::PhaseOp later = waiting.phase;
    std::string needs = quoted(later) + " needs all of it";
    if (meaning.access && meaning.access.getWrite())
      for (event::AccessAttr access : later.getAccessAttrs())
        if (access.getBuffer() == meaning.access.getBuffer()) {
          mlir::AffineExpr low = access.getLow().getResult(meaning.dimension),
                           high = access.getHigh().getResult(meaning.dimension);
          needs = quoted(later) + (access.getWrite() ? " writes" : " reads") +
                  " [" + affineText(low) + ", " + affineText(high) + ") of @" +
                  access.getBuffer().getValue().str() + "'s " + meaning.name;
          break;
        }
    reasons.push_back(needs);
  }
  return listText(reasons);
}

Sentences explain::eventReasons(event::ProgramOp program,
                                event::PhaseOp phase) {
  if (!phase.getNotify())
    return {"notifies nobody: no task waits for it"};
  event::TensorOp tensor = tensorOf(program, phase);
  auto waiters = waitersOf(program, phase.getNotify()->getEvent());
  bool countIsSymbolic =
      !mlir::isa<mlir::AffineConstantExpr>(tensor.getCount().getResult(0));
  Sentences reasons;
  mlir::AffineMap index = phase.getNotify()->getIndex();
  static const char *const names[] = {"i", "j", "k", "l"};
  for (unsigned d = 0; d < phase.getRank(); ++d) {
    std::string name = meaningOf(phase, d).name;
    if (d < 4)
      name += std::string(" (") + names[d] + ")";
    mlir::AffineExpr extent = phase.getGrid().getResult(d);
    std::optional<unsigned> kept;
    for (auto [at, result] : llvm::enumerate(index.getResults()))
      if (result == mlir::getAffineDimExpr(d, program.getContext()))
        kept = at;
    auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(extent);
    if (kept)
      reasons.push_back("keeps " + name + ": " +
                        keptBecause(waiters, tensor, *kept, countIsSymbolic));
    else if (constant && constant.getValue() == 1)
      reasons.push_back("counts " + name + ": there is one tile");
    else
      reasons.push_back("counts " + name + ", " + affineText(extent) + ": " +
                        countedBecause(program, waiters, phase, d));
  }
  return reasons;
}

std::string explain::eventWords(event::ProgramOp program, event::PhaseOp phase,
                                const Step &step) {
  if (!phase.getNotify())
    return "";
  event::TensorOp tensor = tensorOf(program, phase);
  auto symbols = step.symbols();
  int64_t words = 1;
  for (int64_t extent : event::evaluate(tensor.getShape(), {}, symbols))
    words *= std::max<int64_t>(0, extent);
  int64_t count = event::evaluate(tensor.getCount(), {}, symbols).front();
  return plural(words, "word") + " of " + plural(count, "notification");
}

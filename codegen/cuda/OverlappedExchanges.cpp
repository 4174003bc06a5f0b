//===- OverlappedExchanges.cpp - exchanges beside a running kernel --------===//

#include "codegen/cuda/OverlappedExchanges.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;

static bool isExchange(PhaseOp phase) {
  return !phase.getBody().getOps<ExchangeOp>().empty();
}

Error cuda::checkOverlappedExchanges(const plan::ProgramLayout &layout) {
  PhaseOp first;
  int64_t next = 0;
  for (PhaseOp phase : phasesOf(layout.program)) {
    if (!isExchange(phase))
      continue;
    auto failed = [&](const Twine &what) {
      return createStringError("--exchanges=overlapped: the exchange of phase "
                               "'" +
                               phase.getName() + "' " + what);
    };
    ExchangeOp exchange = *phase.getBody().getOps<ExchangeOp>().begin();
    if (layout.collectives.lookup(exchange) != next++)
      return failed("does not come to the stream in the order of ranks");
    if (!first)
      first = phase;
    if (phase.getDistribution() != first.getDistribution())
      return failed("is begun by another worker than that of '" +
                    first.getName() +
                    "', so that the stream would have another order");
    std::optional<NotifyAttr> notify = phase.getNotify();
    if (!notify)
      return failed("notifies no event, so that nobody would know its end");
    const auto &tensor =
        layout.events.find(notify->getEvent().getAttr())->second;
    if (tensor.words != 1)
      return failed("notifies an event of " + Twine(tensor.words) +
                    " words, expected one");
    for (PhaseOp other : phasesOf(layout.program))
      if (std::optional<NotifyAttr> another = other.getNotify();
          other != phase && another &&
          another->getEvent() == notify->getEvent())
        return failed("shares its event with phase '" + other.getName() + "'");
  }
  return Error::success();
}

std::vector<std::string>
cuda::overlapObligations(const plan::ProgramLayout &layout,
                         int64_t ncclMultiprocessors) {
  return {"co-residency: blocks leave " + std::to_string(ncclMultiprocessors) +
              " multiprocessors to NCCL, which takes no more; checked when the "
              "program starts",
          "stream order: the " + std::to_string(layout.collectives.size()) +
              " exchanges come to one stream in the order of ranks of phases, "
              "begun by one worker, the same on all ranks of the mesh; checked",
          "completion: an exchange's only notification is the stream's, behind "
          "it; a step ends behind all of them; checked",
          "warm-up: each exchange has been made once before the kernel starts, "
          "so that NCCL connects and loads nothing while it spins; done when "
          "the program starts"};
}

int64_t cuda::exchangeWord(PhaseOp phase, const plan::ProgramLayout &layout) {
  std::optional<NotifyAttr> notify = phase.getNotify();
  return layout.events.find(notify->getEvent().getAttr())->second.firstWord;
}

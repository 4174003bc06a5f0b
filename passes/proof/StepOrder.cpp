//===- StepOrder.cpp - no rank waits for ever for the others --------------===//
//
// One worker runs a program's tasks in ascending rank. Let all ranks of a step
// do so, one program after the other: who sends goes on, who receives waits for
// the next message of the channel, who exchanges waits for all ranks of the
// group. If all come to the end, number what they did, as it was done: every
// message is received after it was sent, an exchange is one number on all its
// ranks, and on each rank numbers ascend with the tasks' ranks.
//
// That is enough for any number of workers. Take the unfinished task of least
// number anywhere, a task without a number of the least rank before the next
// numbered one. All before it is finished on its own rank, so that its worker
// has come to it. What it may wait for are events of tasks of lower rank, a
// message, which was sent, or other ranks, which have come to the same exchange
// for the same reason. That each rank meets exchanges and messages of a channel
// in this order, whatever its workers do, is PlanVerifier's part
// (PlanRankOrder.cpp).
//
// Ranks of one place differ only in rows; they run the same programs, and one
// of them stands for all.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/StepProof.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

namespace {
/// What a rank does with others.
struct Meeting {
  const ProgramRun *run;
  PhaseOp phase;
  MessageOp message;
  ExchangeOp exchange;
};

/// One rank for each place of the axis, each at its next meeting.
class Ranks {
public:
  Ranks(const StepSequences &step, StringAttr axis) : step(step), axis(axis) {}

  LogicalResult run();

private:
  /// A way from a rank to a neighbour: the sender's place, how far the receiver
  /// is behind it, the axis and the name.
  using Channel = std::tuple<unsigned, int64_t, const void *, const void *>;

  void collect();
  Channel channelOf(unsigned place, MessageOp message) const;
  bool joinsPlaces(ExchangeOp exchange) const;
  FailureOr<bool> advance(unsigned place);
  FailureOr<bool> receive(unsigned place, Meeting &meeting);
  FailureOr<bool> exchange();
  std::string describe(unsigned place) const;
  LogicalResult reportWaiting();
  LogicalResult verifyChannels();

  const StepSequences &step;
  StringAttr axis;
  std::vector<std::vector<Meeting>> meetings;
  std::vector<size_t> next;
  std::map<Channel, std::deque<Meeting *>> channels;
};
} // namespace

/// Whether the phase has a task in a step of the run.
static bool exists(PhaseOp phase, const ProgramRun &run) {
  SmallVector<int64_t> symbols(kStepSymbols, 1);
  // Of other symbols no exchange's grid depends, and messages' on none.
  symbols[kOutputs] = run.outputs.value_or(1);
  return llvm::all_of(evaluate(phase.getGrid(), {}, symbols),
                      [](int64_t extent) { return extent > 0; });
}

void Ranks::collect() {
  for (const StepSequence &sequence : step) {
    std::vector<Meeting> &own = meetings.emplace_back();
    for (const ProgramRun &run : sequence.runs)
      for (auto segment :
           ProgramOp(run.program).getBody().getOps<SegmentOp>()) {
        std::vector<Meeting> found;
        for (auto phase : segment.getBody().getOps<PhaseOp>())
          for (Operation &op : phase.getBody().front()) {
            auto message = dyn_cast<MessageOp>(op);
            auto exchange = dyn_cast<ExchangeOp>(op);
            if ((message || (exchange && joinsPlaces(exchange))) &&
                exists(phase, run))
              found.push_back({&run, phase, message, exchange});
          }
        for (uint64_t i = 0; i < segment.getRepeat() && !found.empty(); ++i)
          own.insert(own.end(), found.begin(), found.end());
      }
  }
  next.assign(meetings.size(), 0);
}

/// Ranks that differ in other axes only are at one place.
bool Ranks::joinsPlaces(ExchangeOp exchange) const {
  return step.size() > 1 && llvm::is_contained(exchange.getAxes(), axis);
}

Ranks::Channel Ranks::channelOf(unsigned place, MessageOp message) const {
  unsigned sender = place;
  if (!message.sends() && message.getAxisAttr() == axis)
    sender = (place + step.size() - message.getHop()) % step.size();
  return {sender, message.getHop(), message.getAxisAttr().getAsOpaquePointer(),
          message.getChannelAttr().getAsOpaquePointer()};
}

std::string Ranks::describe(unsigned place) const {
  const Meeting &meeting = meetings[place][next[place]];
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "place " << place << " in '" << PhaseOp(meeting.phase).getName()
      << "' of @" << ProgramOp(meeting.run->program).getSymName();
  if (meeting.run->microbatch)
    out << ", microbatch " << *meeting.run->microbatch;
  return text;
}

/// Tensors in the rows of the step that both sides have.
static bool haveSameShape(MessageOp sent, MessageOp received) {
  auto shapes = [](MessageOp message) {
    SmallVector<std::pair<Type, AffineMap>> result;
    for (FlatSymbolRefAttr name : message.getBuffers()) {
      auto buffer =
          SymbolTable::lookupNearestSymbolFrom<BufferOp>(message, name);
      result.push_back({buffer.getElement(), buffer.getExtents()});
    }
    return result;
  };
  return shapes(sent) == shapes(received);
}

FailureOr<bool> Ranks::receive(unsigned place, Meeting &meeting) {
  std::deque<Meeting *> &channel = channels[channelOf(place, meeting.message)];
  if (channel.empty())
    return false;
  Meeting &sent = *channel.front();
  if (sent.run->microbatch != meeting.run->microbatch)
    return meeting.phase.emitError()
               << describe(place) << " receives what '" << sent.phase.getName()
               << "' of @" << ProgramOp(sent.run->program).getSymName()
               << " sends for microbatch " << sent.run->microbatch.value_or(0),
           failure();
  if (!haveSameShape(sent.message, meeting.message)) {
    auto diagnostic = meeting.phase.emitError()
                      << describe(place)
                      << " receives other tensors than the message of channel '"
                      << meeting.message.getChannel() << "' brings";
    diagnostic.attachNote(sent.phase.getLoc()) << "which is sent here";
    return failure();
  }
  channel.pop_front();
  return true;
}

/// As far as the rank comes alone.
FailureOr<bool> Ranks::advance(unsigned place) {
  bool moved = false;
  for (; next[place] < meetings[place].size(); ++next[place], moved = true) {
    Meeting &meeting = meetings[place][next[place]];
    if (meeting.exchange)
      break;
    if (meeting.message.sends()) {
      channels[channelOf(place, meeting.message)].push_back(&meeting);
      continue;
    }
    FailureOr<bool> received = receive(place, meeting);
    if (failed(received))
      return failure();
    if (!*received)
      break;
  }
  return moved;
}

/// When all have come to one.
FailureOr<bool> Ranks::exchange() {
  ExchangeOp first;
  for (unsigned place = 0; place < meetings.size(); ++place) {
    if (next[place] == meetings[place].size() ||
        !meetings[place][next[place]].exchange)
      return false;
    Meeting &meeting = meetings[place][next[place]];
    if (!first)
      first = meeting.exchange;
    auto counts = [](ExchangeOp exchange) {
      SmallVector<std::tuple<Type, AffineMap, AffineMap>> result;
      for (TransferAttr transfer : exchange.getTransfers())
        result.push_back({SymbolTable::lookupNearestSymbolFrom<BufferOp>(
                              exchange, transfer.getSend())
                              .getElement(),
                          transfer.getElements(), transfer.getPart()});
      return result;
    };
    if (first.getKind() != meeting.exchange.getKind() ||
        first.getAxes() != meeting.exchange.getAxes() ||
        counts(first) != counts(meeting.exchange)) {
      auto diagnostic = meeting.phase.emitError()
                        << describe(place) << " exchanges other tensors than "
                        << describe(0) << ", which meets it there";
      diagnostic.attachNote(first.getLoc()) << "the other exchange is here";
      return failure();
    }
  }
  for (size_t &at : next)
    ++at;
  return true;
}

LogicalResult Ranks::reportWaiting() {
  for (unsigned place = 0; place < meetings.size(); ++place) {
    if (next[place] == meetings[place].size())
      continue;
    auto diagnostic = meetings[place][next[place]].phase.emitError()
                      << "ranks wait for one another: ";
    bool isFirst = true;
    for (unsigned other = 0; other < meetings.size(); ++other) {
      if (next[other] == meetings[other].size())
        continue;
      Meeting &meeting = meetings[other][next[other]];
      diagnostic << (isFirst ? "" : "; ") << describe(other) << " waits for ";
      isFirst = false;
      if (meeting.exchange)
        diagnostic << "all others to exchange";
      else
        diagnostic << "a message of channel '" << meeting.message.getChannel()
                   << "' from the "
                   << stringifyMessagePeer(meeting.message.getPeer())
                   << " place";
    }
    return failure();
  }
  return success();
}

LogicalResult Ranks::verifyChannels() {
  for (auto &[channel, messages] : channels)
    if (!messages.empty())
      return messages.front()->phase.emitError()
             << "phase '" << messages.front()->phase.getName() << "' of @"
             << ProgramOp(messages.front()->run->program).getSymName()
             << " sends a message of channel '"
             << messages.front()->message.getChannel()
             << "' that nobody receives in the step";
  return success();
}

LogicalResult Ranks::run() {
  collect();
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned place = 0; place < meetings.size(); ++place) {
      FailureOr<bool> advanced = advance(place);
      if (failed(advanced))
        return failure();
      moved |= *advanced;
    }
    FailureOr<bool> exchanged = exchange();
    if (failed(exchanged))
      return failure();
    moved |= *exchanged;
  }
  if (failed(reportWaiting()))
    return failure();
  return verifyChannels();
}

LogicalResult tasks::verifyOrder(const StepSequences &step) {
  // The axis along which places lie.
  StringAttr axis;
  for (const StepSequence &sequence : step)
    for (const ProgramRun &run : sequence.runs) {
      ProgramOp program = run.program;
      if (auto name = program->getAttrOfType<StringAttr>("event.stages"))
        axis = name;
      if (auto pipeline =
              program->getAttrOfType<DictionaryAttr>("event.pipeline"))
        axis = pipeline.getAs<StringAttr>("axis");
    }
  return Ranks(step, axis).run();
}

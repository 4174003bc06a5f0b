//===- run.cpp - all ranks run their programs, as far as they come --------===//

#include "tools/check-plan/run.h"

#include <deque>
#include <map>
#include <memory>
#include <utility>

using namespace baton::check;

namespace {
constexpr uint32_t nobody = Deal::nobody;

struct Worker {
  /// Its next task, whether that has begun to wait, and how far it has come:
  /// the wait, which word of its box, and that one's number.
  size_t next = 0;
  bool begun = false;
  size_t wait = 0;
  int64_t ordinal = 0;
  size_t word = 0;
  /// Who waits for the same word.
  uint32_t other = nobody;
};

struct State : ProgramRun {
  using ProgramRun::ProgramRun;

  size_t left = unrolled.tasks.size();
  std::vector<Worker> workers = std::vector<Worker>(deal.lists.size());
  /// Of each iteration of a word, and of all: notifications, and the first
  /// worker that waits for the word.
  std::vector<int64_t> counts = std::vector<int64_t>(unrolled.iterations);
  std::vector<uint32_t> waiting =
      std::vector<uint32_t>(unrolled.iterations, nobody);
  /// The last exchange of a group, or message of a channel.
  std::map<std::string, uint32_t> last_meeting;

  size_t clock(size_t iteration) const {
    return unrolled.tasks.size() + iteration;
  }
  const Phase &phase(uint32_t task) const { return unrolled.phase(task); }
};

/// A task whose turn it is.
struct Turn {
  size_t rank;
  uint32_t worker, task;
};

struct Parcel {
  std::string name, tensors;
  /// Whose tensors they are.
  int64_t microbatch;
};

struct Channel {
  std::deque<Parcel> parcels;
  std::optional<Turn> waiting;
};

class Runner {
public:
  Runner(const std::vector<Rank> &ranks, bool each, Findings &findings)
      : ranks(ranks), each(each), findings(findings), runs(ranks.size()),
        woken(ranks.size()) {}

  void run() {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      begin(rank, 0);
    while (!ready.empty() && !broken) {
      auto [rank, worker] = ready.front();
      ready.pop_front();
      woken[rank][worker] = false;
      advance(rank, worker);
    }
    if (broken)
      return;
    bool complete = true;
    for (const auto &state : runs)
      if (state) {
        report_deadlock(*state);
        complete = false;
      }
    for (const auto &[key, channel] : channels)
      if (complete && !channel.parcels.empty())
        findings.add("message", key, "nobody receives what ",
                     channel.parcels.front().name, " sends");
  }

private:
  static constexpr size_t none = ~size_t(0);

  /// Which of its programs a rank runs, while it does.
  size_t running(size_t rank) const {
    return runs[rank] ? runs[rank]->number : none;
  }

  /// A rank's workers meet before its next program.
  void begin(size_t rank, size_t number) {
    for (; number < ranks[rank].programs.size(); ++number) {
      runs[rank] = std::make_unique<State>(ranks[rank], number, each);
      for (uint32_t i = 0; runs[rank]->left && i < runs[rank]->workers.size();
           ++i)
        wake(rank, i);
      if (runs[rank]->left)
        return;
      ranks[rank].ended(*runs[rank]);
    }
    runs[rank] = nullptr;
  }

  /// Gives a worker a turn; one that has one already gets no other, also if its
  /// turn is left from a program that ended without it.
  void wake(size_t rank, uint32_t worker) {
    std::vector<bool> &of_rank = woken[rank];
    if (of_rank.size() <= worker)
      of_rank.resize(worker + 1);
    if (!of_rank[worker])
      ready.emplace_back(rank, worker);
    of_rank[worker] = true;
  }

  /// A worker goes on until something is not there yet.
  void advance(size_t rank, uint32_t worker) {
    const size_t number = running(rank);
    if (number != none && worker >= runs[rank]->workers.size())
      return;
    while (!broken && number != none && running(rank) == number) {
      const State *state = runs[rank].get();
      const std::vector<uint32_t> &list = state->deal.lists[worker];
      const size_t next = state->workers[worker].next;
      if (next >= list.size())
        return;
      const Turn turn{rank, worker, list[next]};
      if (!passes_waits(turn))
        return;
      const Phase &phase = state->phase(turn.task);
      const bool idle = state->unrolled.is_idle(turn.task);
      if (phase.exchange && !idle) {
        if (!meet(turn))
          return;
        continue;
      }
      if (phase.message && !idle && !pass_message(turn))
        return;
      finish(turn);
    }
  }

  bool passes_waits(const Turn &turn) {
    State &state = *runs[turn.rank];
    const Unrolled &unrolled = state.unrolled;
    Worker &at = state.workers[turn.worker];
    if (!at.begun) {
      at.begun = true;
      at.wait = at.ordinal = 0;
      if (at.next > 0)
        state.clocks.join_end(turn.task,
                              state.deal.lists[turn.worker][at.next - 1]);
    }
    const Phase &phase = state.phase(turn.task);
    const Index here = unrolled.coordinates(turn.task);
    for (; at.wait < phase.waits.size(); ++at.wait, at.ordinal = 0) {
      const Wait &wait = phase.waits[at.wait];
      const Counters &of = unrolled.counters[wait.event];
      const bool same = of.segment == phase.segment;
      const int64_t seen =
          same ? unrolled.tasks[turn.task].iteration + 1 - wait.distance
               : of.repeat;
      if (seen * of.count <= 0)
        continue;
      const Bounds box(wait.low, wait.high, of.shape, here, unrolled.symbols);
      for (; at.ordinal < box.count; ++at.ordinal) {
        at.word = of.word(box.flatten(at.ordinal, of.shape));
        if (state.counts[at.word + of.repeat] < seen * of.count) {
          at.other = std::exchange(state.waiting[at.word], turn.worker);
          return false;
        }
        state.clocks.join(turn.task,
                          state.clock(at.word + (same ? seen - 1 : of.repeat)));
      }
    }
    return true;
  }

  void finish(const Turn &turn) {
    State &state = *runs[turn.rank];
    Worker &worker = state.workers[turn.worker];
    worker.begun = false;
    ++worker.next;
    if (state.unrolled.tasks[turn.task].word != Unrolled::no_word)
      notify(turn);
    if (--state.left > 0)
      return;
    ranks[turn.rank].ended(state);
    begin(turn.rank, state.number + 1);
  }

  void notify(const Turn &turn) {
    State &state = *runs[turn.rank];
    const auto &[phase, iteration, tile, word, touches] =
        state.unrolled.tasks[turn.task];
    const Counters &of =
        state.unrolled.counters[*state.phase(turn.task).notifies];
    const size_t own = word + iteration, all = word + of.repeat;
    // Who waits for so many of an iteration means all of those before it.
    if (of.partial && iteration > 0 &&
        (state.counts[own - 1] < of.count ||
         !state.clocks.covers(state.clock(own - 1), turn.task)))
      findings.add("count", "early " + state.phase(turn.task).name,
                   state.name(turn.task), " may notify ",
                   state.unrolled.word_name(word),
                   " before all of the iteration before have");
    for (size_t counted : {own, all}) {
      ++state.counts[counted];
      state.clocks.join_end(state.clock(counted), turn.task);
    }
    for (uint32_t worker = std::exchange(state.waiting[word], nobody);
         worker != nobody; worker = state.workers[worker].other)
      wake(turn.rank, worker);
  }

  /// Exchanges of a group, and messages of a channel, have one order in every
  /// run.
  void keep_order(const Turn &turn, const std::string &with) {
    State &state = *runs[turn.rank];
    auto [last, is_new] = state.last_meeting.emplace(with, turn.task);
    if (!is_new && !state.clocks.before(last->second, turn.task))
      findings.add("exchange", with + state.phase(turn.task).name,
                   state.name(turn.task), " and ", state.name(last->second),
                   " meet the same ranks, and nothing orders them");
    last->second = turn.task;
  }

  /// Whether the worker goes on; who comes last lets the others go on, too.
  bool meet(const Turn &turn) {
    const State &state = *runs[turn.rank];
    const Exchange &exchange = *state.phase(turn.task).exchange;
    Index others = state.rank.place;
    size_t size = 1;
    for (uint32_t axis : exchange.axes) {
      others[axis] = -1;
      size *= state.unrolled.program->sizes[axis];
    }
    const std::string key = text(others);
    keep_order(turn, key);
    std::vector<Turn> &group = groups[key];
    for (const Turn &other : group)
      if (other.rank == turn.rank) {
        findings.add("exchange", key, state.name(turn.task), " and ",
                     state.name(other.task),
                     " meet the same ranks at the same time");
        broken = true;
        return false;
      }
    group.push_back(turn);
    if (group.size() < size)
      return false;
    const std::vector<Turn> met = std::exchange(group, {});
    for (const Turn &other : met)
      compare(met.front(), other);
    for (const Turn &other : met) {
      const size_t before = running(other.rank);
      finish(other);
      // Its next program wakes all workers.
      if (other.rank != turn.rank && running(other.rank) == before)
        wake(other.rank, other.worker);
    }
    return true;
  }

  /// What ranks have to have in common.
  static std::string terms(const Exchange &exchange, const Unrolled &in) {
    std::string terms(exchange.gathers      ? "gathers"
                      : exchange.dispatches ? "dispatches"
                      : exchange.combines   ? "combines"
                                            : "sends");
    for (uint32_t axis : exchange.axes)
      terms += text(" over ", axis);
    for (const Transfer &transfer : exchange.transfers)
      terms += text(", ", transfer.elements.evaluate(in.symbols), " by ",
                    transfer.part.evaluate(in.symbols), " of ",
                    in.program->buffers[transfer.send].element_bytes);
    return terms;
  }

  void compare(const Turn &one, const Turn &other) {
    const State &a = *runs[one.rank], &b = *runs[other.rank];
    const Phase &x = a.phase(one.task), &y = b.phase(other.task);
    // Stages run other programs, in which the same goes by another name.
    const bool alike = a.unrolled.program != b.unrolled.program ||
                       (&x == &y && a.unrolled.tasks[one.task].iteration ==
                                        b.unrolled.tasks[other.task].iteration);
    if (!alike ||
        terms(*x.exchange, a.unrolled) != terms(*y.exchange, b.unrolled))
      findings.add("exchange", x.name + y.name, a.name(one.task), " meets ",
                   b.name(other.task), ", which exchanges something else");
  }

  /// Whether the worker goes on.
  bool pass_message(const Turn &turn) {
    const State &state = *runs[turn.rank];
    const Unrolled &unrolled = state.unrolled;
    const Message &message = *state.phase(turn.task).message;
    const int64_t size = unrolled.program->sizes[message.axis];
    Index from = state.rank.place, to = from;
    int64_t &moved = (message.sends ? to : from)[message.axis];
    moved = (moved + message.direction + size) % size;
    const std::string key = text(message.channel, " from ", from, " to ", to);
    Channel &channel = channels[key];
    Parcel own{state.name(turn.task), "", unrolled.call.microbatch};
    for (uint32_t tensor : message.tensors)
      own.tensors +=
          text(unrolled.extents[tensor], " of ",
               unrolled.program->buffers[tensor].element_bytes, " bytes, ");
    if (message.sends) {
      keep_order(turn, "send " + key);
      channel.parcels.push_back(std::move(own));
      if (auto waits = std::exchange(channel.waiting, {}))
        wake(waits->rank, waits->worker);
      return true;
    }
    if (channel.parcels.empty()) {
      channel.waiting = turn;
      return false;
    }
    keep_order(turn, "receive " + key);
    const Parcel sent = std::move(channel.parcels.front());
    channel.parcels.pop_front();
    if (sent.tensors != own.tensors)
      findings.add("message", key, own.name,
                   " receives tensors of other number or shape than ",
                   sent.name, " sends");
    if (sent.microbatch != own.microbatch)
      findings.add("message", key + " microbatch", own.name,
                   " receives for microbatch ", own.microbatch, " what ",
                   sent.name, " sends for microbatch ", sent.microbatch);
    return true;
  }

  /// Names the task of least rank that does not go on.
  void report_deadlock(const State &state) {
    uint32_t least = nobody;
    for (size_t i = 0; i < state.workers.size(); ++i)
      if (state.workers[i].next < state.deal.lists[i].size())
        least = std::min(least, state.deal.lists[i][state.workers[i].next]);
    const Phase &phase = state.phase(least);
    const Worker &at = state.workers[state.deal.worker[least]];
    std::string what = phase.exchange ? "ranks that do not come"
                                      : "a message that nobody sends";
    if (at.wait < phase.waits.size()) {
      const Counters &of = state.unrolled.counters[phase.waits[at.wait].event];
      what = text("word ", state.unrolled.word_name(at.word), ", which has ",
                  state.counts[at.word + of.repeat], " notifications");
    }
    findings.add("deadlock", phase.name, state.name(least),
                 " waits for ever for ", what);
  }

  const std::vector<Rank> &ranks;
  const bool each;
  Findings &findings;
  /// Of each rank, while it runs.
  std::vector<std::unique_ptr<State>> runs;
  std::deque<std::pair<size_t, uint32_t>> ready;
  /// Which workers of each rank are there.
  std::vector<std::vector<bool>> woken;
  std::map<std::string, std::vector<Turn>> groups;
  std::map<std::string, Channel> channels;
  bool broken = false;
};
} // namespace

void baton::check::run_ranks(const std::vector<Rank> &ranks, bool each,
                             Findings &findings) {
  Runner(ranks, each, findings).run();
}

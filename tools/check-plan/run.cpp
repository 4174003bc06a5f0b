//===- run.cpp - all ranks run their programs, as far as they come --------===//

#include "tools/check-plan/run.h"

#include <algorithm>

using namespace baton::check;

static constexpr uint32_t nobody = ~0u;

Clocks::Clocks(const Deal &deal, bool each)
    : width(each ? (deal.worker.size() + 31) / 32 : deal.lists.size()),
      deal(deal), each(each), all(width * deal.worker.size()) {}

ProgramRun::ProgramRun(const Unrolled &unrolled, const Deal &deal, bool each)
    : unrolled(unrolled), deal(deal), each(each), clocks(deal, each),
      left(unrolled.tasks.size()), next(deal.lists.size()),
      waiting(deal.lists.size()), counts(unrolled.words),
      first_waiting(unrolled.words, nobody),
      next_waiting(deal.lists.size(), nobody),
      iteration_counts(unrolled.iterations),
      iteration_clocks(unrolled.iterations * clocks.width) {}

/// "rank 1 @main phase 'x' [0] (worker 2)"
std::string Run::name(size_t rank, uint32_t task) const {
  const ProgramRun &run = *runs[rank];
  std::string text = run.unrolled.name(task);
  if (!each)
    text += " (worker " + std::to_string(run.deal.worker[task]) + ")";
  text = "@" + run.unrolled.program->name + " " + text;
  return ranks.size() == 1 ? text : "rank " + std::to_string(rank) + " " + text;
}

bool Run::run() {
  runs.resize(ranks.size());
  numbers.assign(ranks.size(), 0);
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    begin(rank);
  while (!ready.empty() && !broken) {
    auto [rank, worker] = ready.front();
    ready.pop_front();
    advance(rank, worker);
  }
  if (broken)
    return false;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (numbers[rank] < ranks[rank].programs.size()) {
      report_deadlock();
      return false;
    }
  for (const auto &[key, channel] : channels)
    if (!channel.parcels.empty())
      findings.add("message", key,
                   "nobody receives what " + channel.parcels.front().name +
                       " sends");
  return true;
}

/// A rank's workers meet before its next program.
void Run::begin(size_t rank) {
  while (numbers[rank] < ranks[rank].programs.size()) {
    const size_t number = numbers[rank];
    runs[rank] = std::make_unique<ProgramRun>(*ranks[rank].programs[number],
                                              *ranks[rank].deals[number], each);
    if (runs[rank]->left > 0) {
      for (uint32_t worker = 0; worker < runs[rank]->deal.lists.size();
           ++worker)
        ready.emplace_back(rank, worker);
      return;
    }
    ended(rank, number, *runs[rank]);
    ++numbers[rank];
  }
}

/// A worker goes on until something is not there yet.
void Run::advance(size_t rank, uint32_t worker) {
  const ProgramRun *run = runs[rank].get();
  const size_t number = numbers[rank];
  while (!broken) {
    const std::vector<uint32_t> &list = run->deal.lists[worker];
    if (run->next[worker] >= list.size())
      return;
    const uint32_t task = list[run->next[worker]];
    if (!passes_waits(rank, worker, task))
      return;
    const Phase &phase = run->unrolled.phase(task);
    if (!run->unrolled.is_idle(task)) {
      if (phase.exchange && !meet(rank, worker, task))
        return;
      if (phase.message && !pass_message(rank, worker, task))
        return;
    }
    if (!phase.exchange || run->unrolled.is_idle(task))
      finish(rank, worker, task);
    if (numbers[rank] != number)
      return;
  }
}

bool Run::passes_waits(size_t rank, uint32_t worker, uint32_t task) {
  ProgramRun &run = *runs[rank];
  const Unrolled &unrolled = run.unrolled;
  ProgramRun::Waiting &waiting = run.waiting[worker];
  if (!waiting.begun) {
    waiting = {true, 0, 0};
    if (run.next[worker] > 0)
      run.clocks.join_end(run.clocks.at(task),
                          run.deal.lists[worker][run.next[worker] - 1]);
  }
  const Phase &phase = unrolled.phase(task);
  const int64_t iteration = unrolled.tasks[task].iteration;
  int64_t at[max_dimensions];
  unrolled.coordinates(task, at);
  for (; waiting.wait < phase.waits.size(); ++waiting.wait, waiting.word = 0) {
    const Wait &wait = phase.waits[waiting.wait];
    const Counters &of = unrolled.counters[wait.event];
    const bool same = of.segment == phase.segment;
    const int64_t seen = same ? iteration + 1 - wait.distance : of.repeat;
    const int64_t threshold = seen * of.count;
    if (threshold <= 0)
      continue;
    const bool passed = unrolled.visit_words(
        wait, at, waiting.word, [&](size_t word, size_t ordinal) {
          waiting.word = ordinal;
          if (run.counts[of.first + word] < threshold) {
            run.next_waiting[worker] = run.first_waiting[of.first + word];
            run.first_waiting[of.first + word] = worker;
            return false;
          }
          const size_t known = of.first_iteration + word * (of.repeat + 1) +
                               (same ? seen - 1 : of.repeat);
          run.clocks.join(run.clocks.at(task), run.iteration_clocks.data() +
                                                   known * run.clocks.width);
          return true;
        });
    if (!passed)
      return false;
  }
  return true;
}

void Run::finish(size_t rank, uint32_t worker, uint32_t task) {
  ProgramRun &run = *runs[rank];
  run.waiting[worker].begun = false;
  ++run.next[worker];
  notify(rank, task);
  if (--run.left > 0)
    return;
  ended(rank, numbers[rank], run);
  ++numbers[rank];
  begin(rank);
}

void Run::notify(size_t rank, uint32_t task) {
  ProgramRun &run = *runs[rank];
  const Unrolled &unrolled = run.unrolled;
  const uint32_t word = unrolled.notified[task];
  if (word == Unrolled::no_word)
    return;
  const Counters &of = unrolled.counters[*unrolled.phase(task).notifies];
  const int64_t iteration = unrolled.tasks[task].iteration;
  const size_t all = of.first_iteration + (word - of.first) * (of.repeat + 1),
               own = all + iteration;
  auto clock = [&](size_t index) {
    return run.iteration_clocks.data() + index * run.clocks.width;
  };
  // Who waits for so many of an iteration means all of those before it.
  if (of.partial && iteration > 0 &&
      (run.iteration_counts[own - 1] < of.count ||
       !run.clocks.covers(clock(own - 1), run.clocks.at(task))))
    findings.add("count", "early " + unrolled.phase(task).name,
                 name(rank, task) + " may notify " + unrolled.word_name(word) +
                     " before all of the iteration before have");
  ++run.iteration_counts[own];
  run.clocks.join_end(clock(own), task);
  run.clocks.join_end(clock(all + of.repeat), task);
  ++run.counts[word];
  for (uint32_t worker = run.first_waiting[word]; worker != nobody;
       worker = run.next_waiting[worker])
    ready.emplace_back(rank, worker);
  run.first_waiting[word] = nobody;
}

/// Exchanges of a group, and messages of a channel, have one order in every
/// run.
void Run::keep_order(size_t rank, uint32_t task, const std::string &with) {
  ProgramRun &run = *runs[rank];
  auto [last, is_new] = run.last_meeting.emplace(with, task);
  if (!is_new && !run.clocks.before(last->second, task))
    findings.add("exchange", with + run.unrolled.phase(task).name,
                 name(rank, task) + " and " + name(rank, last->second) +
                     " meet the same ranks, and nothing orders them");
  last->second = task;
}

std::string Run::group_of(size_t rank, const Exchange &exchange) const {
  std::string key;
  const std::vector<int64_t> &place = ranks[rank].place;
  for (uint32_t axis = 0; axis < place.size(); ++axis)
    key += (std::count(exchange.axes.begin(), exchange.axes.end(), axis)
                ? "*"
                : std::to_string(place[axis])) +
           " ";
  return key;
}

/// Whether the worker goes on; who comes last lets the others go on, too.
bool Run::meet(size_t rank, uint32_t worker, uint32_t task) {
  const Exchange &exchange = *runs[rank]->unrolled.phase(task).exchange;
  const std::string key = group_of(rank, exchange);
  keep_order(rank, task, key);
  std::vector<Arrival> &group = groups[key];
  int64_t size = 1;
  for (uint32_t axis : exchange.axes)
    size *= runs[rank]->unrolled.program->sizes[axis];
  for (const Arrival &other : group)
    if (other.rank == rank) {
      findings.add("exchange", key,
                   name(rank, task) + " and " + name(rank, other.task) +
                       " meet the same ranks at the same time");
      broken = true;
      return false;
    }
  group.push_back({rank, worker, task});
  if (int64_t(group.size()) < size)
    return false;
  const std::vector<Arrival> met = std::move(group);
  group.clear();
  for (const Arrival &other : met)
    compare(met.front(), other);
  for (const Arrival &other : met) {
    const size_t number = numbers[other.rank];
    finish(other.rank, other.worker, other.task);
    // Its next program wakes all workers.
    if (other.rank != rank && numbers[other.rank] == number)
      ready.emplace_back(other.rank, other.worker);
  }
  return true;
}

void Run::compare(const Arrival &one, const Arrival &other) {
  const Unrolled &a = runs[one.rank]->unrolled, &b = runs[other.rank]->unrolled;
  const Exchange &x = *a.phase(one.task).exchange,
                 &y = *b.phase(other.task).exchange;
  bool same = x.gathers == y.gathers && x.axes == y.axes &&
              x.transfers.size() == y.transfers.size();
  // Stages run other programs, in which the same goes by another name.
  if (a.program == b.program)
    same = same && a.tasks[one.task].phase == b.tasks[other.task].phase &&
           a.tasks[one.task].iteration == b.tasks[other.task].iteration;
  for (size_t i = 0; same && i < x.transfers.size(); ++i) {
    const Transfer &s = x.transfers[i], &t = y.transfers[i];
    same = s.elements.evaluate(nullptr, a.symbols) ==
               t.elements.evaluate(nullptr, b.symbols) &&
           s.part.evaluate(nullptr, a.symbols) ==
               t.part.evaluate(nullptr, b.symbols) &&
           a.program->buffers[s.send].element_bytes ==
               b.program->buffers[t.send].element_bytes;
  }
  if (!same)
    findings.add("exchange", a.phase(one.task).name + b.phase(other.task).name,
                 name(one.rank, one.task) + " meets " +
                     name(other.rank, other.task) +
                     ", which exchanges something else");
}

/// Whether the worker goes on.
bool Run::pass_message(size_t rank, uint32_t worker, uint32_t task) {
  ProgramRun &run = *runs[rank];
  const Message &message = *run.unrolled.phase(task).message;
  const int64_t size = run.unrolled.program->sizes[message.axis];
  std::vector<int64_t> from = ranks[rank].place, to = from;
  int64_t &moved = (message.sends ? to : from)[message.axis];
  moved = (moved + message.direction + size) % size;
  std::string key = message.channel + " from";
  for (int64_t place : from)
    key += " " + std::to_string(place);
  key += " to";
  for (int64_t place : to)
    key += " " + std::to_string(place);
  Channel &channel = channels[key];
  Parcel parcel{name(rank, task), {}, run.unrolled.call.microbatch};
  for (uint32_t tensor : message.tensors) {
    const Buffer &buffer = run.unrolled.program->buffers[tensor];
    std::vector<int64_t> &shape = parcel.shapes.emplace_back();
    for (const Expression &extent : buffer.extents)
      shape.push_back(extent.evaluate(nullptr, run.unrolled.symbols));
    shape.push_back(buffer.element_bytes);
  }
  if (message.sends) {
    keep_order(rank, task, "send " + key);
    channel.parcels.push_back(std::move(parcel));
    if (channel.waiting)
      ready.emplace_back(channel.waiting->rank, channel.waiting->worker);
    channel.waiting = {};
    return true;
  }
  if (channel.parcels.empty()) {
    channel.waiting = Arrival{rank, worker, task};
    return false;
  }
  keep_order(rank, task, "receive " + key);
  const Parcel &sent = channel.parcels.front();
  if (sent.shapes != parcel.shapes)
    findings.add("message", key,
                 parcel.name +
                     " receives tensors of other number or shape "
                     "than " +
                     sent.name + " sends");
  if (sent.microbatch != parcel.microbatch)
    findings.add("message", key + " microbatch",
                 parcel.name + " receives for microbatch " +
                     std::to_string(parcel.microbatch) + " what " + sent.name +
                     " sends for microbatch " +
                     std::to_string(sent.microbatch));
  channel.parcels.pop_front();
  return true;
}

/// Names the task of least rank that does not go on.
void Run::report_deadlock() {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (numbers[rank] >= ranks[rank].programs.size())
      continue;
    const ProgramRun &run = *runs[rank];
    uint32_t least = nobody;
    for (size_t worker = 0; worker < run.next.size(); ++worker)
      if (run.next[worker] < run.deal.lists[worker].size())
        least = std::min(least, run.deal.lists[worker][run.next[worker]]);
    const Phase &phase = run.unrolled.phase(least);
    const ProgramRun::Waiting &waiting = run.waiting[run.deal.worker[least]];
    std::string what = phase.exchange ? " for ranks that do not come"
                                      : " for a message that nobody sends";
    if (waiting.wait < phase.waits.size()) {
      const Wait &wait = phase.waits[waiting.wait];
      int64_t at[max_dimensions];
      run.unrolled.coordinates(least, at);
      run.unrolled.visit_words(
          wait, at, waiting.word, [&](size_t word, size_t) {
            const size_t number =
                run.unrolled.counters[wait.event].first + word;
            what = " for word " + run.unrolled.word_name(number) +
                   ", which has " + std::to_string(run.counts[number]) +
                   " notifications";
            return false;
          });
    }
    findings.add("deadlock", phase.name,
                 name(rank, least) + " waits for ever" + what);
  }
}

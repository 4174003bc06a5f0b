//===- in_process.cpp - ranks that are threads of one process -------------===//

#include "runtime/comm/in_process.h"

#include "runtime/comm/row_layout.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <tuple>

#include <sched.h>

namespace baton {

namespace {

using Clock = std::chrono::steady_clock;

/// Group by its first rank and the collective, which has one for each; ranks
/// that share texts meet as the collective `shares`.
using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
constexpr uint32_t shares = ~uint32_t(0);

/// What a rank brings.
struct Arrival {
  bool here = false;
  uint64_t step = 0;
  const BatonExchange *tensors = nullptr;
  size_t count = 0;
  std::string text;
};

/// Of all ranks of a group: they come, take what others brought, and go once
/// everybody has.
struct Meeting {
  Key key;
  std::vector<uint32_t> ranks;
  std::vector<Arrival> arrivals;
  /// For messages.
  std::string name;
  /// Written under the lock, and looked at by those who spin.
  std::atomic<uint32_t> come = 0, gone = 0;

  bool complete() const { return come == ranks.size(); }
};

bool same_tensors(const Arrival &one, const Arrival &other) {
  return std::equal(one.tensors, one.tensors + one.count, other.tensors,
                    other.tensors + other.count,
                    [](const BatonExchange &a, const BatonExchange &b) {
                      return a.bytes == b.bytes && a.part == b.part;
                    });
}

/// The rows that one rank sends to experts of another, or of its rows to whose
/// they are, from the sender's memory.
void take_rows(Collective::Kind kind, const BatonExchange &sender,
               uint32_t from, const BatonExchange &receiver, uint32_t to,
               uint32_t ranks) {
  const RowLayout theirs(sender, ranks), own(receiver, ranks);
  const bool dispatches = kind == Collective::Kind::Dispatch;
  for (uint64_t expert = 0; expert < own.experts(); ++expert) {
    const RowLayout::Run source = dispatches ? theirs.own(to, expert)
                                             : theirs.received(to, expert),
                         place = dispatches ? own.received(from, expert)
                                            : own.own(from, expert);
    if (source.bytes != place.bytes)
      throw Error("the rank at place " + std::to_string(from) + " sends " +
                  std::to_string(source.bytes) + " bytes of rows of expert " +
                  std::to_string(expert) + " and not " +
                  std::to_string(place.bytes));
    if (place.bytes)
      std::memcpy(static_cast<std::byte *>(receiver.receive) + place.begin,
                  static_cast<const std::byte *>(sender.send) + source.begin,
                  place.bytes);
  }
}

/// Longer spins take the core from whoever is waited for.
constexpr int spins_at_barrier = 64;

} // namespace

struct InProcessWorld::State {
  State(uint32_t ranks, const CommunicatorOptions &options)
      : options(options), waits(ranks), awaited(ranks) {}

  const CommunicatorOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, std::shared_ptr<Meeting>> open;
  /// The meetings that each rank waits in for others to come.
  std::vector<std::vector<const Meeting *>> waits;
  /// What was sent and not received yet, by sender, receiver and channel; and
  /// whom each rank waits for to send something.
  std::map<Key, std::deque<std::vector<std::byte>>> sent;
  std::vector<std::optional<uint32_t>> awaited;
  std::string failure;

  std::shared_ptr<Meeting> come(const Key &key,
                                const std::vector<uint32_t> &ranks,
                                uint32_t place, const std::string &name,
                                Arrival arrival);
  /// Waits until `count` is that of the ranks.
  void wait(Meeting &meeting, uint32_t place, std::atomic<uint32_t> &count,
            Communicator::Patience patience);
  void go(Meeting &meeting, uint32_t place, Communicator::Patience patience);
  void post(uint32_t from, uint32_t to, uint32_t channel,
            std::vector<std::byte> bytes);
  std::vector<std::byte> take(uint32_t from, uint32_t to, uint32_t channel,
                              const std::string &name);
  void fail(const std::string &message);

private:
  std::string where(uint32_t rank) const;
  bool is_blocked(uint32_t rank) const;
  void check_agreement(const Meeting &meeting, uint32_t place);
  uint32_t late_rank(const Meeting &meeting) const;
  [[noreturn]] void give_up(const Meeting &meeting, uint32_t place);
};

class InProcessWorld::Rank : public Communicator {
public:
  Rank(State &state, const Mesh &mesh,
       const std::vector<Collective> &collectives, uint32_t rank)
      : Communicator(mesh, collectives, rank, state.options), state(state) {
    for (uint32_t other = 0; other < mesh.ranks(); ++other)
      everybody.push_back(other);
  }

  const char *engine() const override { return "threads"; }

  std::vector<std::string> share(const std::string &text,
                                 const std::string &what,
                                 std::optional<uint32_t> root,
                                 Patience patience) override {
    std::shared_ptr<Meeting> meeting =
        state.come({0, shares, 0}, everybody, rank(), in_step(what),
                   {true, step(), nullptr, 0, text});
    state.wait(*meeting, rank(), meeting->come, patience);
    std::vector<std::string> texts;
    if (!root || *root == rank())
      for (const Arrival &arrival : meeting->arrivals)
        texts.push_back(arrival.text);
    return texts;
  }

protected:
  void move(uint32_t collective, uint32_t iteration,
            std::span<const BatonExchange> tensors) override {
    const Group &members = group(collective);
    const Collective &description = collectives()[collective];
    std::shared_ptr<Meeting> meeting = state.come(
        {members.ranks.front(), collective, iteration}, members.ranks,
        members.place, place_text(description, iteration, step()),
        {true, step(), tensors.data(), tensors.size(), {}});
    state.wait(*meeting, members.place, meeting->come, Patience::Usual);
    std::exception_ptr failure;
    try {
      take_all(description, *meeting, tensors, members);
    } catch (...) {
      // Others may still read what is this rank's.
      failure = std::current_exception();
    }
    state.go(*meeting, members.place, Patience::Usual);
    if (failure)
      std::rethrow_exception(failure);
  }

  void post(uint32_t to, uint32_t channel,
            std::vector<std::byte> bytes) override {
    state.post(rank(), to, channel, std::move(bytes));
  }
  std::vector<std::byte> take(uint32_t from, uint32_t channel, uint64_t,
                              const std::string &name) override {
    return state.take(from, rank(), channel, name);
  }

private:
  /// What the members have for this one, of each tensor.
  static void take_all(const Collective &description, const Meeting &meeting,
                       std::span<const BatonExchange> tensors,
                       const Group &members) {
    const auto count = static_cast<uint32_t>(members.ranks.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      // Neighbours begin with different ranks' memory.
      for (uint32_t k = 0; k < count; ++k) {
        const uint32_t from = (members.place + k) % count;
        const BatonExchange &sender = meeting.arrivals[from].tensors[i];
        if (description.moves_rows()) {
          take_rows(description.kind, sender, from, tensors[i], members.place,
                    count);
          continue;
        }
        const Piece piece = Piece::of(description.kind, sender, from,
                                      tensors[i], members.place);
        // A rank's own part may lie where it belongs.
        if (piece.bytes && piece.source != piece.destination)
          std::memcpy(piece.destination, piece.source, piece.bytes);
      }
  }

private:
  State &state;
  std::vector<uint32_t> everybody;
};

std::shared_ptr<Meeting>
InProcessWorld::State::come(const Key &key, const std::vector<uint32_t> &ranks,
                            uint32_t place, const std::string &name,
                            Arrival arrival) {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    throw CommunicationError(failure);
  std::shared_ptr<Meeting> &entry = open[key];
  if (!entry) {
    entry = std::make_shared<Meeting>();
    entry->key = key;
    entry->ranks = ranks;
    entry->arrivals.resize(ranks.size());
    entry->name = name;
  }
  std::shared_ptr<Meeting> meeting = entry;
  meeting->arrivals[place] = std::move(arrival);
  waits[ranks[place]].push_back(meeting.get());
  check_agreement(*meeting, place);
  if (meeting->come + 1 == ranks.size()) {
    for (uint32_t rank : ranks)
      std::erase(waits[rank], meeting.get());
    open.erase(key);
    ++meeting->come;
    changed.notify_all();
    return meeting;
  }
  ++meeting->come;
  for (uint32_t rank = 0; rank < waits.size(); ++rank)
    if (!is_blocked(rank))
      return meeting;
  // Whoever could complete a meeting waits in another.
  uint32_t other = late_rank(*meeting);
  fail("rank " + std::to_string(ranks[place]) + " waits in " + name +
       " for rank " + std::to_string(other) + ", which waits in " +
       where(other) + "; the ranks do not run the same program");
  throw CommunicationError(failure);
}

/// Under the lock.
void InProcessWorld::State::check_agreement(const Meeting &meeting,
                                            uint32_t place) {
  const Arrival &own = meeting.arrivals[place];
  for (size_t i = 0; i < meeting.ranks.size(); ++i) {
    const Arrival &other = meeting.arrivals[i];
    if (!other.here)
      continue;
    std::string both = "rank " + std::to_string(meeting.ranks[i]) +
                       " and rank " + std::to_string(meeting.ranks[place]);
    if (own.step != other.step)
      fail(meeting.name + ": " + both + " are in different steps, " +
           std::to_string(other.step) + " and " + std::to_string(own.step));
    else if (!same_tensors(own, other))
      fail(meeting.name + ": " + both + " exchange different tensors");
    else
      continue;
    throw CommunicationError(failure);
  }
}

/// Under the lock: whether no worker of a rank can do anything else.
bool InProcessWorld::State::is_blocked(uint32_t rank) const {
  size_t workers = 0;
  for (const Meeting *meeting : waits[rank])
    workers += std::get<1>(meeting->key) == shares ? options.workers : 1;
  return workers >= options.workers;
}

std::string InProcessWorld::State::where(uint32_t rank) const {
  return waits[rank].empty() ? "none" : waits[rank].front()->name;
}

/// Under the lock: who is to blame, not somebody who waits for others in turn.
uint32_t InProcessWorld::State::late_rank(const Meeting &meeting) const {
  const Meeting *current = &meeting;
  for (size_t hops = 0; hops <= waits.size(); ++hops) {
    uint32_t late = 0;
    while (current->arrivals[late].here)
      ++late;
    late = current->ranks[late];
    // Of those who are missing, one that does not wait itself.
    for (size_t i = 0; i < current->ranks.size(); ++i)
      if (!current->arrivals[i].here && waits[current->ranks[i]].empty())
        return current->ranks[i];
    if (waits[late].empty() || hops == waits.size() ||
        waits[late].front() == current)
      return late;
    current = waits[late].front();
  }
  return meeting.ranks.front();
}

void InProcessWorld::State::give_up(const Meeting &meeting, uint32_t place) {
  std::string message =
      "rank " + std::to_string(meeting.ranks[place]) + ": " + meeting.name;
  if (meeting.complete()) {
    message += ": another rank does not finish";
  } else {
    uint32_t late = late_rank(meeting);
    message += ": rank " + std::to_string(late) + " does not come";
    if (!waits[late].empty())
      message += ", it waits in " + where(late);
  }
  fail(message + "; after " + seconds_text(options.timeout) +
       " (--rank-timeout)");
  throw CommunicationError(failure);
}

void InProcessWorld::State::wait(Meeting &meeting, uint32_t place,
                                 std::atomic<uint32_t> &count,
                                 Communicator::Patience patience) {
  const auto all = static_cast<uint32_t>(meeting.ranks.size());
  for (int spin = 0; spin < spins_at_barrier; ++spin) {
    if (count == all)
      return;
    sched_yield();
  }
  std::unique_lock lock(mutex);
  auto over = [&] { return count == all || !failure.empty(); };
  if (patience == Communicator::Patience::Endless)
    changed.wait(lock, over);
  else if (!changed.wait_until(lock, Clock::now() + options.timeout, over))
    give_up(meeting, place);
  if (count != all)
    throw CommunicationError(failure);
}

void InProcessWorld::State::go(Meeting &meeting, uint32_t place,
                               Communicator::Patience patience) {
  {
    std::lock_guard lock(mutex);
    if (++meeting.gone == meeting.ranks.size())
      changed.notify_all();
  }
  wait(meeting, place, meeting.gone, patience);
}

void InProcessWorld::State::post(uint32_t from, uint32_t to, uint32_t channel,
                                 std::vector<std::byte> bytes) {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    throw CommunicationError(failure);
  sent[{from, to, channel}].push_back(std::move(bytes));
  changed.notify_all();
}

std::vector<std::byte> InProcessWorld::State::take(uint32_t from, uint32_t to,
                                                   uint32_t channel,
                                                   const std::string &name) {
  std::unique_lock lock(mutex);
  auto &queue = sent[{from, to, channel}];
  awaited[to] = from;
  auto over = [&] { return !queue.empty() || !failure.empty(); };
  bool came = changed.wait_until(lock, Clock::now() + options.timeout, over);
  if (came && !queue.empty()) {
    awaited[to].reset();
    std::vector<std::byte> bytes = std::move(queue.front());
    queue.pop_front();
    return bytes;
  }
  if (failure.empty()) {
    // Not somebody who waits for others in turn.
    uint32_t late = from;
    for (size_t hops = 0; hops < awaited.size() && awaited[late]; ++hops)
      late = *awaited[late];
    fail("rank " + std::to_string(to) + ": " + name + ": rank " +
         std::to_string(late) + " does not come; after " +
         seconds_text(options.timeout) + " (--rank-timeout)");
  }
  throw CommunicationError(failure);
}

/// Under the lock.
void InProcessWorld::State::fail(const std::string &message) {
  if (failure.empty())
    failure = message;
  changed.notify_all();
}

InProcessWorld::InProcessWorld(const Mesh &mesh,
                               const std::vector<Collective> &collectives,
                               const CommunicatorOptions &options)
    : state(std::make_unique<State>(mesh.ranks(), options)) {
  for (uint32_t rank = 0; rank < mesh.ranks(); ++rank)
    ranks.push_back(std::make_unique<Rank>(*state, mesh, collectives, rank));
}

InProcessWorld::~InProcessWorld() = default;

Communicator &InProcessWorld::rank(uint32_t rank) { return *ranks[rank]; }

void InProcessWorld::abort(const std::string &message) {
  std::lock_guard lock(state->mutex);
  state->fail(message);
}

} // namespace baton

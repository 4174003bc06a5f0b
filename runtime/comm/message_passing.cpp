//===- message_passing.cpp - ranks that are processes under mpirun --------===//

#include "runtime/comm/message_passing.h"

#include "runtime/comm/row_layout.h"

#include "runtime/comm/job_end.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <sched.h>
#include <unistd.h>

namespace baton {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Of texts; collectives' follow.
enum Tag : int {
  first_of_text = 1,
  rest_of_text = 2,
  /// Of a rank that ends the job and has said why.
  last_word = 3,
  collectives_begin = 16
};

/// What is sent first of a text; most are no longer.
struct TextBegin {
  uint64_t bytes;
  char begin[120];
};

/// Turns of a wait before it sleeps, and how long they may take: each lets
/// others run, and where many do, a turn lasts as long as all of their slices.
constexpr int spins = 1000;
constexpr milliseconds spinning(2);
/// How long a rank waits for others once the job was told to end: mpirun does
/// that when a process dies, and kills the rest a second later.
constexpr milliseconds after_end(250);
/// The same where another rank has what takes long to do: other launchers give
/// it time for that.
constexpr milliseconds after_end_patiently(30000);
/// Ranks give up one after the other, so that the first one says why.
constexpr milliseconds between_ranks(50);

} // namespace

bool is_launched() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK");
}

std::optional<uint32_t> launched_ranks() {
  const char *text = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!text)
    return std::nullopt;
  uint32_t count = 0;
  std::string_view digits = text;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

uint32_t launched_rank() {
  uint32_t rank = 0;
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char *text = std::getenv(name)) {
      std::string_view digits = text;
      std::from_chars(digits.data(), digits.data() + digits.size(), rank);
      break;
    }
  return rank;
}

uint32_t MessagePassing::place_on_machine() const {
  const char *text = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (!text)
    return rank();
  uint32_t place = 0;
  std::string_view digits = text;
  std::from_chars(digits.data(), digits.data() + digits.size(), place);
  return place;
}

template <typename Function, typename... Arguments>
int MessagePassing::call(Function function, Arguments... arguments) {
  if (concurrent)
    return function(arguments...);
  std::lock_guard lock(serial);
  return function(arguments...);
}

/// Messages under way.
class MessagePassing::Requests {
public:
  Requests(MessagePassing &owner, std::string name)
      : owner(owner), name(std::move(name)) {}

  void send(const void *data, uint64_t bytes, uint32_t to, int tag) {
    post(const_cast<void *>(data), bytes, to, tag, /*sends=*/true);
  }
  void receive(void *data, uint64_t bytes, uint32_t from, int tag) {
    post(data, bytes, from, tag, /*sends=*/false);
  }
  /// Returns when all are done.
  void wait(Patience patience);
  /// Whether they are already.
  bool are_done();

private:
  struct Message {
    uint32_t peer;
    uint64_t bytes;
    bool sends;
  };

  void post(void *data, uint64_t bytes, uint32_t peer, int tag, bool sends);
  void check(int code);
  [[noreturn]] void give_up(bool told_to_end);
  CommunicationError error(const std::string &what) const {
    return CommunicationError("rank " + std::to_string(owner.rank()) + ": " +
                              name + ": " + what);
  }

  MessagePassing &owner;
  std::string name;
  std::vector<OpenMpi::Handle> handles;
  std::vector<Message> messages;
};

void MessagePassing::Requests::check(int code) {
  if (code != OpenMpi::success)
    throw error("Open MPI: " + owner.mpi.text(code));
}

void MessagePassing::Requests::post(void *data, uint64_t bytes, uint32_t peer,
                                    int tag, bool sends) {
  // Messages of one tag arrive in the order in which they were sent.
  auto *place = static_cast<std::byte *>(data);
  while (bytes) {
    uint64_t piece = std::min(bytes, owner.chunk);
    OpenMpi::Handle handle = nullptr;
    const OpenMpi &mpi = owner.mpi;
    int count = static_cast<int>(piece), other = static_cast<int>(peer);
    check(sends ? owner.call(mpi.send, place, count, mpi.byte, other, tag,
                             mpi.world, &handle)
                : owner.call(mpi.receive, place, count, mpi.byte, other, tag,
                             mpi.world, &handle));
    handles.push_back(handle);
    messages.push_back({peer, piece, sends});
    place += piece;
    bytes -= piece;
  }
}

void MessagePassing::Requests::wait(Patience patience) {
  std::vector<OpenMpi::Status> statuses(handles.size());
  const Clock::time_point begin = Clock::now();
  const auto late = between_ranks * owner.rank();
  const auto allowance =
      late + (patience == Patience::Usual ? after_end : after_end_patiently);
  const Clock::time_point end = begin + owner.options.timeout + late;
  std::optional<Clock::time_point> told;
  for (int turn = 0; !handles.empty(); ++turn) {
    int done = 0;
    check(owner.call(owner.mpi.test_all, static_cast<int>(handles.size()),
                     handles.data(), &done, statuses.data()));
    if (done)
      break;
    Clock::time_point now = Clock::now();
    if (turn < spins && now - begin < spinning) {
      sched_yield();
      continue;
    }
    owner.heed_last_word();
    if (!told && owner.options.is_ending && owner.options.is_ending())
      told = now;
    if (told && now - *told > allowance)
      give_up(/*told_to_end=*/true);
    if (patience == Patience::Usual && now > end)
      give_up(/*told_to_end=*/false);
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::clamp(20 + turn - spins, 20, 1000)));
  }
  for (size_t i = 0; i < messages.size(); ++i)
    if (!messages[i].sends && statuses[i].bytes != messages[i].bytes)
      throw error("rank " + std::to_string(messages[i].peer) + " sends " +
                  std::to_string(statuses[i].bytes) + " bytes and not " +
                  std::to_string(messages[i].bytes) +
                  "; the ranks do not run the same program");
}

bool MessagePassing::Requests::are_done() {
  std::vector<OpenMpi::Status> statuses(handles.size());
  int done = 0;
  check(owner.call(owner.mpi.test_all, static_cast<int>(handles.size()),
                   handles.data(), &done, statuses.data()));
  return done;
}

void MessagePassing::Requests::give_up(bool told_to_end) {
  owner.heed_last_word();
  for (size_t i = 0; i < handles.size(); ++i) {
    int done = 0;
    OpenMpi::Status status;
    check(owner.call(owner.mpi.test, &handles[i], &done, &status));
    if (done)
      continue;
    throw error("rank " + std::to_string(messages[i].peer) +
                " does not come; " +
                (told_to_end ? "the job was told to end"
                             : "after " + seconds_text(owner.options.timeout) +
                                   " (--rank-timeout)"));
  }
  throw error("another rank does not come in time");
}

MessagePassing::MessagePassing(const OpenMpi &mpi, bool concurrent,
                               const Mesh &mesh,
                               const std::vector<Collective> &collectives,
                               uint32_t rank,
                               const CommunicatorOptions &options,
                               uint64_t chunk)
    : Communicator(mesh, collectives, rank, options), mpi(mpi),
      concurrent(concurrent), chunk(chunk) {
  uint64_t tag = collectives_begin;
  for (const Collective &collective : collectives) {
    tags.push_back(static_cast<int>(tag));
    tag += collective.iterations;
  }
  channel_tag = static_cast<int>(tag);
  tag += channels();
  int *largest = nullptr, found = 0;
  if (mpi.attribute(mpi.world, OpenMpi::attribute_largest_tag, &largest,
                    &found) == OpenMpi::success &&
      found && tag > static_cast<uint64_t>(*largest))
    throw Error("--engine=mpi: the program has " + std::to_string(tag) +
                " collectives in a step, more than Open MPI has tags, " +
                std::to_string(*largest));
}

std::unique_ptr<MessagePassing> MessagePassing::connect(
    const Mesh &mesh, const std::vector<Collective> &collectives,
    const CommunicatorOptions &options, uint64_t chunk, int threads) {
  OpenMpi mpi = OpenMpi::open();
  // It has handlers of its own for signals.
  struct sigaction bus_error;
  sigaction(SIGBUS, nullptr, &bus_error);
  int provided = 0;
  int code = mpi.init(nullptr, nullptr, threads, &provided);
  sigaction(SIGBUS, &bus_error, nullptr);
  if (code != OpenMpi::success)
    throw Error("--engine=mpi: Open MPI does not start: " + mpi.text(code));
  if (provided < OpenMpi::thread_serialized)
    throw Error("--engine=mpi: this Open MPI takes calls of one thread only");
  int size = 0, rank = 0;
  mpi.set_handler(mpi.world, mpi.errors_return);
  mpi.size(mpi.world, &size);
  mpi.rank(mpi.world, &rank);
  if (static_cast<uint32_t>(size) != mesh.ranks())
    throw Error("mpirun has started " + std::to_string(size) +
                " ranks, and the program's mesh (" + mesh.text() + ") has " +
                std::to_string(mesh.ranks()));
  return std::unique_ptr<MessagePassing>(new MessagePassing(
      mpi, provided == OpenMpi::thread_multiple, mesh, collectives,
      static_cast<uint32_t>(rank), options, chunk));
}

struct MessagePassing::Texts {
  std::string own;
  TextBegin own_begin;
  std::vector<TextBegin> begins;
  std::vector<std::string> all;
};

/// A message, and its bytes until it has left.
struct MessagePassing::Posted {
  Requests requests;
  std::vector<std::byte> bytes;
};

MessagePassing::~MessagePassing() = default;

std::vector<std::string> MessagePassing::share(const std::string &text,
                                               const std::string &what,
                                               std::optional<uint32_t> root,
                                               Patience patience) {
  const std::string name = in_step(what);
  const bool takes = !root || *root == rank();
  auto gives_to = [&](uint32_t other) {
    return other != rank() && (!root || *root == other);
  };
  texts.reset(new Texts{text, {text.size(), {}}, {}, {}});
  auto &[own, own_begin, begins, all] = *texts;
  const uint64_t at_first =
      std::min<uint64_t>(own.size(), sizeof(own_begin.begin));
  std::memcpy(own_begin.begin, own.data(), at_first);
  begins.resize(size());
  Requests first(*this, name);
  for (uint32_t other = 0; other < size(); ++other) {
    if (takes && other != rank())
      first.receive(&begins[other], sizeof(TextBegin), other, first_of_text);
    if (gives_to(other))
      first.send(&own_begin, sizeof(TextBegin), other, first_of_text);
  }
  first.wait(patience);

  all.resize(takes ? size() : 0);
  Requests rest(*this, name);
  for (uint32_t other = 0; other < size(); ++other) {
    if (takes && other != rank()) {
      const TextBegin &begin = begins[other];
      all[other].resize(begin.bytes);
      uint64_t here = std::min<uint64_t>(begin.bytes, sizeof(begin.begin));
      std::memcpy(all[other].data(), begin.begin, here);
      rest.receive(all[other].data() + here, begin.bytes - here, other,
                   rest_of_text);
    }
    if (gives_to(other))
      rest.send(own.data() + at_first, own.size() - at_first, other,
                rest_of_text);
  }
  rest.wait(patience);
  if (takes)
    all[rank()] = std::move(own);
  std::vector<std::string> result = std::move(all);
  texts.reset();
  return result;
}

/// Rows of each expert are messages of their own: they lie apart where the
/// expert is.
void MessagePassing::move_rows(bool dispatches, const BatonExchange &tensor,
                               const Group &members, int tag,
                               Requests &requests) {
  const auto count = static_cast<uint32_t>(members.ranks.size());
  const RowLayout rows(tensor, count);
  auto *receive = static_cast<std::byte *>(tensor.receive);
  const auto *send = static_cast<const std::byte *>(tensor.send);
  auto coming = [&](uint32_t from, uint64_t expert) {
    return dispatches ? rows.received(from, expert) : rows.own(from, expert);
  };
  auto going = [&](uint32_t to, uint64_t expert) {
    return dispatches ? rows.own(to, expert) : rows.received(to, expert);
  };
  for (uint32_t k = 1; k < count; ++k) {
    const uint32_t from = (members.place + count - k) % count,
                   to = (members.place + k) % count;
    for (uint64_t expert = 0; expert < rows.experts(); ++expert) {
      const RowLayout::Run in = coming(from, expert), out = going(to, expert);
      requests.receive(receive + in.begin, in.bytes, members.ranks[from], tag);
      requests.send(send + out.begin, out.bytes, members.ranks[to], tag);
    }
  }
  for (uint64_t expert = 0; expert < rows.experts(); ++expert) {
    const RowLayout::Run in = coming(members.place, expert),
                         out = going(members.place, expert);
    if (in.bytes != out.bytes)
      throw Error("this rank sends itself " + std::to_string(out.bytes) +
                  " bytes of rows of expert " + std::to_string(expert) +
                  " and not " + std::to_string(in.bytes));
    if (in.bytes)
      std::memcpy(receive + in.begin, send + out.begin, in.bytes);
  }
}

void MessagePassing::move(uint32_t collective, uint32_t iteration,
                          std::span<const BatonExchange> tensors) {
  const Collective &description = collectives()[collective];
  const Group &members = group(collective);
  if (iteration >= description.iterations)
    throw Error("there is no such iteration");
  const int tag = tags[collective] + static_cast<int>(iteration);
  Requests requests(*this, place_text(description, iteration, step()));
  const auto count = static_cast<uint32_t>(members.ranks.size());
  if (description.moves_rows()) {
    for (const BatonExchange &tensor : tensors)
      move_rows(description.kind == Collective::Kind::Dispatch, tensor, members,
                tag, requests);
    requests.wait(Patience::Usual);
    return;
  }
  for (const BatonExchange &tensor : tensors)
    // All of a pair's ranks begin with different others.
    for (uint32_t k = 1; k < count; ++k) {
      uint32_t from = (members.place + count - k) % count;
      uint32_t to = (members.place + k) % count;
      // Where a piece lies does not depend on what the other rank has.
      Piece coming =
          Piece::of(description.kind, tensor, from, tensor, members.place);
      Piece going =
          Piece::of(description.kind, tensor, members.place, tensor, to);
      requests.receive(coming.destination, coming.bytes, members.ranks[from],
                       tag);
      requests.send(going.source, going.bytes, members.ranks[to], tag);
    }
  for (const BatonExchange &tensor : tensors) {
    Piece own = Piece::of(description.kind, tensor, members.place, tensor,
                          members.place);
    if (own.bytes && own.source != own.destination)
      std::memcpy(own.destination, own.source, own.bytes);
  }
  requests.wait(Patience::Usual);
}

void MessagePassing::post(uint32_t to, uint32_t channel,
                          std::vector<std::byte> bytes) {
  std::lock_guard lock(posting);
  std::erase_if(posted,
                [](Posted &message) { return message.requests.are_done(); });
  Posted &message = posted.emplace_back(Requests(*this, in_step("a message")),
                                        std::move(bytes));
  message.requests.send(message.bytes.data(), message.bytes.size(), to,
                        channel_tag + static_cast<int>(channel));
}

std::vector<std::byte> MessagePassing::take(uint32_t from, uint32_t channel,
                                            uint64_t bytes,
                                            const std::string &name) {
  std::vector<std::byte> result(bytes);
  Requests requests(*this, name);
  requests.receive(result.data(), bytes, from,
                   channel_tag + static_cast<int>(channel));
  requests.wait(Patience::Usual);
  return result;
}

void MessagePassing::heed_last_word() {
  int found = 0;
  OpenMpi::Status status;
  int code = call(mpi.probe, int(OpenMpi::any_source), int(last_word),
                  mpi.world, &found, &status);
  if (code != OpenMpi::success || !found)
    return;
  leave_nothing();
  // It kills this process at once, or mpirun does.
  std::this_thread::sleep_for(std::chrono::seconds(5));
  _exit(1);
}

void MessagePassing::yield_last_word() {
  // What all ranks find at once, the first one says.
  auto end = Clock::now() + rank() * between_ranks;
  while (Clock::now() < end) {
    heed_last_word();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void MessagePassing::finish() {
  for (Posted &message : posted)
    message.requests.wait(Patience::Usual);
  posted.clear();
  call(mpi.finalize);
}

void MessagePassing::kill() {
  OpenMpi::Handle request = nullptr;
  char nothing = 0;
  for (uint32_t other = 0; other < size(); ++other)
    if (other != rank())
      call(mpi.send, &nothing, 1, mpi.byte, static_cast<int>(other),
           int(last_word), mpi.world, &request);
  mpi.abort(mpi.world, 1);
  _exit(1);
}

} // namespace baton

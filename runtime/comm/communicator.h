//===- communicator.h - one rank's way to all others ----------------------===//
//
// Engines move bytes and never add: sums are made by tasks of the program, in
// the order of ranks, so that every engine gives the same bits. Two of them are
// in_process.h, whose ranks are threads, and message_passing.h, whose ranks are
// processes that MPI connects. Where tensors lie on GPUs these connect the
// ranks, and nccl.h moves the tensors.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_COMMUNICATOR_H
#define BATON_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/comm/mesh.h"
#include "runtime/comm/wait_clock.h"
#include "runtime/error.h"
#include "runtime/program.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Thrown where ranks cannot go on together. The message names rank, step and
/// collective.
struct CommunicationError : Error {
  using Error::Error;
};

/// Thrown on every rank of a job, at the same place, with the same message.
struct AgreedError : Error {
  using Error::Error;
};

/// A failure on purpose, for tests: of one rank, at its first collective in a
/// step, which counts from 1.
struct RankFault {
  enum class Kind {
    /// Fails as if the system had refused something.
    Failure,
    /// Never comes back.
    Stall,
    /// The process dies.
    Death,
  };

  uint32_t rank = 0;
  uint64_t step = 0;
  Kind kind = Kind::Failure;

  /// "1:3:stall"; also "fail" and "die". Throws Error.
  static RankFault parse(const std::string &text);
};

struct CommunicatorOptions {
  /// How long a rank waits for others.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  /// Of one rank: so many exchanges can be under way at once.
  unsigned workers = 1;
  std::optional<RankFault> fault = {};
  /// What ranks send to neighbours.
  std::vector<Message> messages = {};
  /// Whether a launcher has told this process to end, which may be because
  /// another rank's process has died. Called by several threads at once.
  std::function<bool()> is_ending = {};
};

/// What one collective has moved so far, on one rank.
struct Traffic {
  uint64_t calls = 0;
  /// Bytes of the whole tensors.
  uint64_t payload = 0;
  /// Bytes that this rank has sent to others.
  uint64_t sent = 0;
};

/// Workers of the rank may call exchange() at once; the rest is for one thread
/// at a time, while no exchange of this rank is under way.
class Communicator {
public:
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;
  virtual ~Communicator() = default;

  uint32_t rank() const { return own_rank; }
  uint32_t size() const { return own_mesh.ranks(); }
  const Mesh &mesh() const { return own_mesh; }
  const std::vector<Collective> &collectives() const { return all_collectives; }

  /// Moves tensors as runtime/program.h says. Returns when what this rank
  /// receives is there and nobody reads what it sends. Throws
  /// CommunicationError, after which the rank's job is over.
  void exchange(uint32_t collective, uint32_t iteration,
                std::span<const BatonExchange> tensors);
  /// The same of tensors in the memory of a device, which `mover` moves. What
  /// it throws becomes a CommunicationError.
  void exchange_by(uint32_t collective, uint32_t iteration,
                   std::span<const BatonExchange> tensors,
                   const std::function<void()> &mover);
  /// What to throw when an exchange of `step` fails.
  CommunicationError failure_in(uint32_t collective, uint32_t iteration,
                                uint64_t step, const std::string &what) const;

  /// Sends tensors to a neighbour, or receives them, as runtime/program.h says.
  /// Throws as exchange().
  void message(uint32_t number, std::span<const BatonMessage> tensors);

  enum class Patience {
    Usual,
    /// For what may take long on one rank, such as a checkpoint.
    Endless,
  };
  /// Every rank gives a text and gets those of all ranks, in their order; or,
  /// with a `root`, only that rank does. `what` is what the ranks are about to
  /// do together, for messages.
  virtual std::vector<std::string>
  share(const std::string &text, const std::string &what,
        std::optional<uint32_t> root = {},
        Patience patience = Patience::Usual) = 0;
  /// Returns when all ranks have called it.
  void barrier(const std::string &what, Patience patience = Patience::Usual) {
    share("", what, {}, patience);
  }

  /// Which of the ranks on this machine it is, as far as is known.
  virtual uint32_t place_on_machine() const { return own_rank; }
  /// Whether this process is no other rank's.
  virtual bool has_own_process() const { return false; }
  /// Whether this is the rank that heeds signals to its process.
  bool hears_signals() const { return has_own_process() || own_rank == 0; }
  /// Before a rank says why the job has to end: does not return when another
  /// one has said so.
  virtual void yield_last_word() {}
  /// Leaves the job, which is over; every rank calls it, once.
  virtual void finish() {}
  /// Ends all ranks' processes at once, with status 1.
  [[noreturn]] virtual void kill();

  /// The step under way, for messages; it counts from 1.
  void set_step(uint64_t step) { current_step = step; }
  uint64_t step() const { return current_step; }
  /// How long a rank waits for others.
  std::chrono::milliseconds timeout() const { return options.timeout; }

  /// How long this rank has been in collectives, and has waited for messages.
  /// Where tensors lie on devices, whoever moves them counts.
  WaitClocks &waits() { return wait_clocks; }

  /// One entry for each collective, and for each message.
  std::vector<Traffic> traffic() const;
  std::vector<Traffic> message_traffic() const;
  const std::vector<Message> &messages() const { return options.messages; }
  /// "threads" or "mpi".
  virtual const char *engine() const = 0;

protected:
  Communicator(const Mesh &mesh, std::vector<Collective> collectives,
               uint32_t rank, const CommunicatorOptions &options);

  /// A collective's ranks, ascending.
  struct Group {
    std::vector<uint32_t> ranks;
    /// Of this rank.
    uint32_t place;
  };
  const Group &group(uint32_t collective) const { return groups[collective]; }
  /// What ranks do together, for messages: with the step, if there is one yet.
  std::string in_step(const std::string &what) const;
  /// The engine's part of exchange().
  virtual void move(uint32_t collective, uint32_t iteration,
                    std::span<const BatonExchange> tensors) = 0;
  /// The engine's part of message(). A channel is a number, the same on both
  /// ranks. Sending does not wait for the other rank.
  virtual void post(uint32_t to, uint32_t channel,
                    std::vector<std::byte> bytes) = 0;
  /// The first message of the channel, which has so many bytes.
  virtual std::vector<std::byte> take(uint32_t from, uint32_t channel,
                                      uint64_t bytes,
                                      const std::string &name) = 0;
  /// All channels are below.
  uint32_t channels() const { return static_cast<uint32_t>(names.size()); }

  const CommunicatorOptions options;

private:
  /// Counted by several workers at once.
  struct Counters {
    std::atomic<uint64_t> calls = 0, payload = 0, sent = 0;
  };

  /// Where a fault is due.
  void fail_on_purpose();

  Mesh own_mesh;
  std::vector<Collective> all_collectives;
  std::vector<Group> groups;
  uint32_t own_rank;
  std::atomic<uint64_t> current_step = 0;
  WaitClocks wait_clocks;
  std::unique_ptr<Counters[]> counters, message_counters;
  /// Of channels.
  std::vector<std::string> names;
};

/// The bytes that the rank at place `from` of a group sends to the one at `to`,
/// where they lie and where they belong.
struct Piece {
  const std::byte *source;
  std::byte *destination;
  uint64_t bytes;

  static Piece of(Collective::Kind kind, const BatonExchange &sender,
                  uint32_t from, const BatonExchange &receiver, uint32_t to);
};

/// "step 3, all_reduce.1", with the iteration of a collective that has several.
std::string place_text(const Collective &collective, uint32_t iteration,
                       uint64_t step);
/// "2 s", "0.25 s"
std::string seconds_text(std::chrono::milliseconds duration);

} // namespace baton

#endif // BATON_RUNTIME_COMM_COMMUNICATOR_H

//===- message_passing.h - ranks that are processes under mpirun ----------===//

#ifndef BATON_RUNTIME_COMM_MESSAGE_PASSING_H
#define BATON_RUNTIME_COMM_MESSAGE_PASSING_H

#include "runtime/comm/communicator.h"
#include "runtime/comm/open_mpi.h"

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// Whether this process was started as one of several, by mpirun or by another
/// launcher that Open MPI knows (PMIx).
bool is_launched();
/// How many processes mpirun has started, if this is one of them.
std::optional<uint32_t> launched_ranks();
/// This process's place among them, known before they are connected; 0 for one
/// that was started alone.
uint32_t launched_rank();

/// This process's rank, connected by Open MPI. One exists in a process.
///
/// Every pair of ranks exchanges messages of its own, each with its
/// collective's and iteration's tag, and looks at a clock while it waits for
/// them.
class MessagePassing : public Communicator {
public:
  /// Largest message; MPI counts in int.
  static constexpr uint64_t usual_chunk = 1 << 30;

  /// Joins the job; all processes have to. Throws Error when there is no Open
  /// MPI, or it has another number of ranks than the mesh. `threads` is what
  /// the library is asked for; it may offer less.
  static std::unique_ptr<MessagePassing>
  connect(const Mesh &mesh, const std::vector<Collective> &collectives,
          const CommunicatorOptions &options, uint64_t chunk = usual_chunk,
          int threads = OpenMpi::thread_multiple);

  ~MessagePassing() override;

  const char *engine() const override { return "mpi"; }
  std::vector<std::string> share(const std::string &text,
                                 const std::string &what,
                                 std::optional<uint32_t> root,
                                 Patience patience) override;
  uint32_t place_on_machine() const override;
  bool has_own_process() const override { return true; }
  void yield_last_word() override;
  void finish() override;
  [[noreturn]] void kill() override;

  /// Whether workers may call the library at once.
  bool is_concurrent() const { return concurrent; }

protected:
  void move(uint32_t collective, uint32_t iteration,
            std::span<const BatonExchange> tensors) override;
  void post(uint32_t to, uint32_t channel,
            std::vector<std::byte> bytes) override;
  std::vector<std::byte> take(uint32_t from, uint32_t channel, uint64_t bytes,
                              const std::string &name) override;

private:
  class Requests;
  void move_rows(bool dispatches, const BatonExchange &tensor,
                 const Group &members, int tag, Requests &requests);
  struct Texts;
  struct Posted;

  MessagePassing(const OpenMpi &mpi, bool concurrent, const Mesh &mesh,
                 const std::vector<Collective> &collectives, uint32_t rank,
                 const CommunicatorOptions &options, uint64_t chunk);
  /// Does not return when another rank ends the job.
  void heed_last_word();
  /// Calls the library, one worker at a time where it has to be.
  template <typename Function, typename... Arguments>
  int call(Function function, Arguments... arguments);

  OpenMpi mpi;
  bool concurrent;
  uint64_t chunk;
  std::mutex serial;
  /// What share() sends and receives. It outlives a share() that fails, whose
  /// messages are still under way while the job ends.
  std::unique_ptr<Texts> texts;
  /// Of each collective: the tag of its first iteration.
  std::vector<int> tags;
  /// Of the first channel.
  int channel_tag = 0;
  /// Messages that are still under way.
  std::mutex posting;
  std::list<Posted> posted;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_MESSAGE_PASSING_H

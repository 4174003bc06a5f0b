//===- ranks.cpp - runs a job on every rank of a program ------------------===//

#include "runtime/main/ranks.h"

#include "runtime/comm/in_process.h"
#include "runtime/comm/job_end.h"
#include "runtime/comm/message_passing.h"
#include "runtime/execute/team.h"
#include "runtime/main/interrupt.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>

namespace baton {

namespace {

std::string ranks_text(uint64_t ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

} // namespace

void check_ranks(const Mesh &mesh, const RankOptions &options) {
  const std::string compiled =
      "the program is compiled for " + ranks_text(mesh.ranks()) +
      (mesh.ranks() > 1 ? " (" + mesh.text() + ")" : "") +
      "; batonc --mesh says how many";
  if (options.ranks && *options.ranks != mesh.ranks())
    throw Error("--ranks " + std::to_string(*options.ranks) + ": " + compiled);
  std::optional<uint32_t> launched = launched_ranks();
  // One process may have ranks that are threads.
  if (launched && *launched != mesh.ranks() &&
      !(*launched == 1 && options.engine == "threads"))
    throw Error("mpirun has started " + ranks_text(*launched) + ", and " +
                compiled);
}

CommunicatorOptions communicator_options(const RankOptions &options,
                                         const std::vector<Message> &messages,
                                         unsigned threads) {
  CommunicatorOptions result;
  result.messages = messages;
  if (!(options.rank_timeout > 0) || options.rank_timeout > 1e6)
    throw Error("--rank-timeout: expected seconds, more than 0");
  result.timeout = std::chrono::milliseconds(std::max<int64_t>(
      1, static_cast<int64_t>(std::llround(options.rank_timeout * 1000))));
  result.workers = threads;
  if (options.rank_fault)
    result.fault = RankFault::parse(*options.rank_fault);
  return result;
}

namespace {

/// Whether MPI connects the ranks. Where they run on GPUs, NCCL moves tensors
/// between them, whatever connects them.
bool uses_mpi(const RankOptions &options, const Metadata &metadata) {
  const std::string &engine = options.engine;
  const bool on_device = !metadata.device.is_null();
  if (!engine.empty() && engine != "threads" && engine != "mpi" &&
      engine != "nccl")
    throw Error("--engine=" + engine +
                ": expected threads or mpi, or nccl on GPUs");
  if (on_device != (engine == "nccl") && !engine.empty())
    throw Error("--engine=" + engine + ": the program runs on " +
                (on_device ? "a GPU, where ranks exchange tensors by nccl"
                           : "the CPU, where there are threads and mpi"));
  return on_device || engine.empty() ? is_launched() : engine == "mpi";
}

/// Threads of a rank that wait for others' at once: of one on a device it is
/// the one that serves it.
unsigned hosts(unsigned workers, const Metadata &metadata) {
  return metadata.device.is_null() ? workers : 1;
}

/// Workers of each rank when it has its share of those that are wanted, or of
/// the machine's cores; on a device, 0 is as many as usual there.
unsigned share_of_workers(const RunOptions &run, const Metadata &metadata,
                          uint32_t ranks) {
  unsigned all = program_workers(run, metadata);
  return all ? std::max(1u, all / ranks) : 0;
}

/// Of a rank that is one of several processes on this machine.
unsigned workers_of_process(const RunOptions &run, const Metadata &metadata,
                            uint32_t ranks) {
  if (run.workers || !metadata.device.is_null())
    return share_of_workers(run, metadata, ranks);
  // Bound to cores by mpirun, or free to run on all of them.
  unsigned own = available_workers();
  const char *text = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  int neighbours = text ? std::atoi(text) : 1;
  if (own < std::thread::hardware_concurrency() || neighbours < 1)
    return own;
  return std::max(1u, own / static_cast<unsigned>(neighbours));
}

/// Does what one rank does, and ends the whole job unless all ranks fail alike.
void or_end_job(Communicator &communicator, const std::function<void()> &work) {
  std::string text;
  try {
    work();
    return;
  } catch (const AgreedError &) {
    throw;
  } catch (const CommunicationError &failure) {
    text = failure.what();
  } catch (const std::bad_alloc &) {
    text = "rank " + std::to_string(communicator.rank()) + ": out of memory";
  } catch (const std::exception &failure) {
    text = failure.what();
    // Before the first step, or after a signal, it is what the user has asked
    // for.
    if (communicator.step() && !is_interrupted())
      text = "rank " + std::to_string(communicator.rank()) + ": step " +
             std::to_string(communicator.step()) + ": " + text;
  }
  end_job(communicator, text);
}

class OnlyRank : public Ranks {
public:
  explicit OnlyRank(unsigned workers) : workers(workers) {}

  void run(const RankJob &job) override { job(nullptr, workers); }

private:
  unsigned workers;
};

class ThreadRanks : public Ranks {
public:
  ThreadRanks(const Mesh &mesh, const std::vector<Collective> &collectives,
              const std::vector<Message> &messages, const RunOptions &run,
              const RankOptions &options, const Metadata &metadata)
      : count(mesh.ranks()), workers(share_of_workers(run, metadata, count)),
        world(mesh, collectives,
              communicator_options(options, messages,
                                   hosts(workers, metadata))) {}

  void run(const RankJob &job) override {
    std::vector<std::exception_ptr> agreed(count);
    auto run_rank = [&](uint32_t rank) {
      Communicator &communicator = world.rank(rank);
      try {
        or_end_job(communicator, [&] { job(&communicator, workers); });
      } catch (const AgreedError &) {
        agreed[rank] = std::current_exception();
      }
    };
    std::vector<std::thread> threads;
    try {
      for (uint32_t rank = 1; rank < count; ++rank)
        threads.emplace_back(run_rank, rank);
    } catch (const std::system_error &) {
      end_job(world.rank(0), "--ranks: the system refuses " +
                                 std::to_string(count) + " threads");
    }
    run_rank(0);
    for (std::thread &thread : threads)
      thread.join();
    if (agreed[0])
      std::rethrow_exception(agreed[0]);
  }

private:
  uint32_t count;
  unsigned workers;
  InProcessWorld world;
};

class ProcessRank : public Ranks {
public:
  ProcessRank(Communicator &communicator, unsigned workers)
      : communicator(communicator), workers(workers) {}

  bool speak() const override { return communicator.rank() == 0; }
  void run(const RankJob &job) override { job(&communicator, workers); }

private:
  Communicator &communicator;
  unsigned workers;
};

void run_process(const Mesh &mesh, const std::vector<Collective> &collectives,
                 const std::vector<Message> &messages, const RunOptions &run,
                 const RankOptions &options, const Metadata &metadata,
                 const std::function<void(Ranks &)> &process) {
  if (!is_launched())
    throw Error("--engine=mpi: start the program with mpirun -n " +
                std::to_string(mesh.ranks()));
  unsigned workers = workers_of_process(run, metadata, mesh.ranks());
  CommunicatorOptions wanted =
      communicator_options(options, messages, hosts(workers, metadata));
  // mpirun ends the others when one process dies: the one that knows says why.
  end_silently();
  wanted.is_ending = [] { return is_terminated(); };
  std::unique_ptr<Communicator> communicator =
      MessagePassing::connect(mesh, collectives, wanted);
  ProcessRank rank(*communicator, workers);
  try {
    or_end_job(*communicator, [&] { process(rank); });
  } catch (const AgreedError &failure) {
    end_job_together(*communicator, failure.what());
  }
  communicator->finish();
}

} // namespace

void on_ranks(const Metadata &metadata, const RunOptions &run,
              const RankOptions &options,
              const std::function<void(Ranks &)> &process) {
  Mesh mesh = Mesh::parse(metadata.json);
  std::vector<Collective> collectives = Collective::parse(metadata.json, mesh);
  std::vector<Message> messages = Message::parse(metadata.json, mesh);
  check_ranks(mesh, options);
  bool by_mpi = uses_mpi(options, metadata);
  if (mesh.ranks() == 1) {
    OnlyRank rank(program_workers(run, metadata));
    process(rank);
  } else if (by_mpi) {
    run_process(mesh, collectives, messages, run, options, metadata, process);
  } else {
    ThreadRanks ranks(mesh, collectives, messages, run, options, metadata);
    process(ranks);
  }
}

} // namespace baton

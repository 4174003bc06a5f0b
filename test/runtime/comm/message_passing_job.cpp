//===- message_passing_job.cpp - one rank of a test under mpirun ----------===//
//
// message_passing_job RANKS SCENARIO: prints what is wrong, or "rank N of M".
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message_passing.h"

#include "exchanges.h"

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace baton;
using namespace baton::exchanges;
using Kind = Collective::Kind;

namespace {

std::atomic<bool> ending = false;

constexpr uint32_t iterations = 12;
const std::vector<uint64_t> sizes = {1, 64, 65, 700, 50000};

void expect(bool holds, const std::string &what) {
  if (!holds)
    throw Error(what);
}

/// Two workers, each with one kind of collective, in any order.
void moves(Communicator &rank) {
  const std::vector<uint32_t> everybody = rank.mesh().group(0, {"dp"});
  std::string wrong[2];
  std::vector<std::thread> workers;
  for (uint32_t index : {0u, 1u})
    workers.emplace_back([&, index] {
      try {
        for (uint32_t i = 0; i < iterations; ++i) {
          Exchange all(rank.collectives()[index].kind, everybody, rank.rank(),
                       sizes, i);
          rank.exchange(index, i, all.tensors);
          wrong[index] += all.check();
        }
      } catch (const std::exception &failure) {
        wrong[index] = failure.what();
      }
    });
  for (std::thread &worker : workers)
    worker.join();
  expect(wrong[0].empty() && wrong[1].empty(), wrong[0] + wrong[1]);

  for (uint32_t index : {0u, 1u}) {
    uint64_t payload = 0, sent = 0;
    for (uint64_t size : sizes) {
      payload += iterations * size;
      sent += iterations * bytes_sent(rank.collectives()[index].kind, size,
                                      rank.size(), rank.rank());
    }
    Traffic traffic = rank.traffic()[index];
    expect(traffic.calls == iterations && traffic.payload == payload &&
               traffic.sent == sent,
           "other counts than by definition");
  }
}

/// Rows of experts, to their ranks and back.
void rows(Communicator &rank) {
  for (uint32_t index : {2u, 3u})
    for (uint64_t experts : {2, 17}) {
      const uint64_t before = rank.traffic()[index].sent;
      RowExchange all(rank.collectives()[index].kind,
                      rank.mesh().group(0, {"dp"}), rank.rank(), experts, 50,
                      28, experts + index);
      rank.exchange(index, 0, all.tensors);
      expect(all.check().empty(), all.check());
      expect(rank.traffic()[index].sent - before == all.bytes_sent(),
             "other counts than by definition");
    }
}

void shares(Communicator &rank) {
  std::vector<std::string> expected;
  for (uint32_t other = 0; other < rank.size(); ++other)
    expected.push_back(std::string(other * 1000, char('a' + other)));
  const std::string &own = expected[rank.rank()];
  for (int round = 0; round < 20; ++round)
    expect(rank.share(own, "a test") == expected, "other texts");
  expect(rank.share(own, "a test", 1) ==
             (rank.rank() == 1 ? expected : std::vector<std::string>()),
         "other texts at the root");
}

void steps(Communicator &rank) {
  for (uint64_t step = 1; step <= 3; ++step) {
    rank.set_step(step);
    Exchange one(Kind::AllToAll, rank.mesh().group(0, {"dp"}), rank.rank(),
                 {1000}, step);
    rank.exchange(0, 0, one.tensors);
  }
}

void differs(Communicator &rank) {
  Exchange one(Kind::AllToAll, rank.mesh().group(0, {"dp"}), rank.rank(),
               {rank.rank() ? uint64_t(1000) : uint64_t(1100)}, 0);
  rank.exchange(0, 0, one.tensors);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::string scenario = argv[2];
  std::signal(SIGTERM, [](int) { ending = true; });
  std::unique_ptr<MessagePassing> rank;
  try {
    CommunicatorOptions options;
    options.workers = 2;
    options.is_ending = [] { return ending.load(); };
    if (scenario == "stall" || scenario == "die" || scenario == "fail")
      options.fault = RankFault::parse("1:2:" + scenario);
    if (scenario == "stall")
      options.timeout = std::chrono::milliseconds(2500);
    rank = MessagePassing::connect(
        line(static_cast<uint32_t>(std::atoi(argv[1]))),
        {collective("scatter", Kind::AllToAll, {"dp"}, iterations),
         collective("gather", Kind::AllGather, {"dp"}, iterations),
         collective("dispatch", Kind::Dispatch),
         collective("combine", Kind::Combine)},
        options, scenario == "moves" ? 100 : MessagePassing::usual_chunk,
        scenario == "in turn" ? OpenMpi::thread_serialized
                              : OpenMpi::thread_multiple);
    expect(rank->is_concurrent() == (scenario != "in turn"),
           "Open MPI offers other threads than it was asked for");
    if (scenario == "moves" || scenario == "whole" || scenario == "in turn")
      moves(*rank);
    else if (scenario == "rows")
      rows(*rank);
    else if (scenario == "shares")
      shares(*rank);
    else if (scenario == "differs")
      differs(*rank);
    else
      steps(*rank);
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    if (rank)
      rank->kill();
    return 1;
  }
  std::printf("rank %" PRIu32 " of %" PRIu32 "\n", rank->rank(), rank->size());
  rank->finish();
  return 0;
}

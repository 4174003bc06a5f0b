//===- exchanges.cpp - how long ranks that are threads exchange bytes -----===//

#include "tools/calibrate/exchanges.h"

#include "runtime/comm/in_process.h"

#include <chrono>
#include <thread>

using namespace baton;
using namespace baton::calibrate;

/// Seconds of rank 0, of so many exchanges one behind the other.
static std::vector<double> exchange_seconds(Collective::Kind kind,
                                            int64_t ranks, uint64_t bytes,
                                            int times) {
  using Clock = std::chrono::steady_clock;
  const Mesh mesh{{{"tp", uint32_t(ranks)}}, {}};
  Collective collective;
  collective.name = Collective::name_of(kind);
  collective.kind = kind;
  collective.axes = {"tp"};
  InProcessWorld world(mesh, {collective}, {});
  const bool gathers = kind == Collective::Kind::AllGather;
  const uint64_t part = (bytes / uint64_t(ranks) + 63) / 64 * 64;
  const uint64_t whole = part * uint64_t(ranks);
  std::vector<double> seconds;
  std::vector<std::string> failures(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        std::vector<std::byte> send(gathers ? part : whole), receive(whole);
        const BatonExchange tensor{send.data(), receive.data(), whole, part,
                                   part};
        Communicator &own = world.rank(uint32_t(rank));
        for (int time = 0; time < times; ++time) {
          own.set_step(uint64_t(time) + 1);
          const Clock::time_point begin = Clock::now();
          own.exchange(0, 0, std::span(&tensor, 1));
          // The first one also finds its memory.
          if (rank == 0 && time > 0)
            seconds.push_back(
                std::chrono::duration<double>(Clock::now() - begin).count());
        }
      } catch (const std::exception &error) {
        failures[size_t(rank)] = error.what();
        world.abort(error.what());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &failure : failures)
    if (!failure.empty())
      throw Error(failure);
  return seconds;
}

void calibrate::measure_exchanges(const ExchangeSizes &sizes,
                                  Samples &samples) {
  for (auto kind : {Collective::Kind::AllToAll, Collective::Kind::AllGather})
    for (int64_t ranks : sizes.ranks)
      for (int64_t bytes : sizes.bytes) {
        // About as long for few bytes as for many.
        const int times = bytes < (1 << 20) ? 200 : 20;
        for (double one : exchange_seconds(kind, ranks, uint64_t(bytes), times))
          samples.add({"exchange",
                       Collective::name_of(kind),
                       {{"ranks", double(ranks)}, {"bytes", double(bytes)}}},
                      one);
      }
}

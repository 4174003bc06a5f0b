//===- InProcessTest.cpp -------------------------------------------------===//

#include "runtime/comm/in_process.h"

#include "exchanges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace baton {

namespace {

using namespace exchanges;
using Kind = Collective::Kind;

/// What each rank's thread throws; empty for none.
std::vector<std::string>
run_ranks(InProcessWorld &world, uint32_t ranks,
          const std::function<void(Communicator &)> &job) {
  std::vector<std::string> said(ranks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        job(world.rank(rank));
      } catch (const std::exception &failure) {
        said[rank] = failure.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return said;
}

/// An exchange of one tensor. Returns what is wrong with what came.
std::string exchange(Communicator &rank, uint32_t index, uint64_t bytes,
                     uint32_t iteration = 0, uint64_t salt = 0) {
  const Collective &description = rank.collectives()[index];
  Exchange one(
      description.kind, rank.mesh().group(rank.rank(), description.axes),
      rank.mesh().place(rank.rank(), description.axes).index, {bytes}, salt);
  rank.exchange(index, iteration, one.tensors);
  return one.check();
}

/// For ranks that wait in vain. What comes before that is over by then also on
/// a machine that has much to do.
CommunicatorOptions impatient(unsigned workers = 1) {
  CommunicatorOptions options;
  options.timeout = std::chrono::milliseconds(1500);
  options.workers = workers;
  return options;
}

/// That every rank says the same, which contains all of these.
void expect_all_say(const std::vector<std::string> &said,
                    const std::vector<std::string> &texts) {
  for (const std::string &one : said) {
    EXPECT_EQ(one, said[0]);
    for (const std::string &text : texts)
      EXPECT_NE(one.find(text), std::string::npos) << one << "\nlacks " << text;
  }
}

const std::vector<Collective> both = {collective("scatter", Kind::AllToAll),
                                      collective("gather", Kind::AllGather)};

} // namespace

TEST(InProcess, RowsGoToTheirExpertsAndComeBack) {
  for (uint32_t ranks = 1; ranks <= 4; ++ranks)
    for (uint64_t experts : {1, 3, 17}) {
      InProcessWorld world(line(ranks),
                           {collective("dispatch", Kind::Dispatch),
                            collective("combine", Kind::Combine)},
                           {});
      std::vector<std::string> wrong(ranks);
      auto said = run_ranks(world, ranks, [&](Communicator &rank) {
        for (uint32_t i : {0u, 1u})
          // Also where there is one expert for all but none.
          if (experts * ranks > 1) {
            RowExchange rows(rank.collectives()[i].kind,
                             rank.mesh().group(rank.rank(), {"dp"}),
                             rank.rank(), experts, 40, 12, experts + i);
            rank.exchange(i, 0, rows.tensors);
            wrong[rank.rank()] += rows.check();
            const Traffic traffic = rank.traffic()[i];
            if (traffic.payload != 40 * 12 || traffic.sent != rows.bytes_sent())
              wrong[rank.rank()] += "other counts than by definition";
          }
      });
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(said[rank], "");
        EXPECT_EQ(wrong[rank], "") << experts << " experts";
      }
    }
}

TEST(InProcess, RowsThatTablesDoNotSayEndTheJob) {
  struct Wrong {
    std::function<void(RowExchange &)> change;
    std::string message;
  };
  const Wrong all[] = {
      // A row that another expert should have.
      {[](RowExchange &rows) {
         size_t end = 1;
         while (rows.bounds[end] == rows.bounds[end + 1])
           ++end;
         ++rows.bounds[end];
       },
       "before the first step, dispatch: the rank at place 1 sends"},
      {[](RowExchange &rows) { rows.bounds[1] = rows.bounds[2] + 1; },
       "those of expert 1 begin at "},
      {[](RowExchange &rows) { ++rows.bounds.back(); },
       "there are 40, and bounds of 41"},
      {[](RowExchange &rows) { rows.counts[1] = -1; },
       "the rank at place 0 sends -1 to expert 1"},
      {[](RowExchange &rows) { rows.counts[0] += 1000; }, "come, and 2 ranks"},
      {[](RowExchange &rows) { ++rows.received[1]; },
       "those of its expert 1 begin at "},
      {[](RowExchange &rows) { rows.tensors[0].part = 7; },
       "480 bytes are no rows of 7"},
  };
  for (const Wrong &wrong : all) {
    InProcessWorld world(line(2), {collective("dispatch", Kind::Dispatch)},
                         impatient());
    auto said = run_ranks(world, 2, [&](Communicator &rank) {
      RowExchange rows(Kind::Dispatch, {0, 1}, rank.rank(), 3, 40, 12, 5);
      if (rank.rank() == 1)
        wrong.change(rows);
      try {
        rank.exchange(0, 0, rows.tensors);
      } catch (const std::exception &failure) {
        world.abort(failure.what());
        throw;
      }
    });
    EXPECT_NE((said[0] + said[1]).find(wrong.message), std::string::npos)
        << said[0] << "\n"
        << said[1] << "\nlacks " << wrong.message;
  }
}

TEST(InProcess, MovesEveryByteWhereItBelongs) {
  // Parts that are whole, short, and missing.
  const std::vector<uint64_t> sizes = {1, 63, 64, 65, 200, 640, 100000};
  for (uint32_t ranks = 1; ranks <= 5; ++ranks) {
    InProcessWorld world(line(ranks), both, {});
    std::vector<std::string> wrong(ranks);
    auto said = run_ranks(world, ranks, [&](Communicator &rank) {
      for (uint64_t round = 0; round < 20; ++round)
        for (uint32_t index : {0u, 1u}) {
          Exchange all(both[index].kind, rank.mesh().group(0, {"dp"}),
                       rank.rank(), sizes, round);
          rank.exchange(index, 0, all.tensors);
          wrong[rank.rank()] += all.check();
        }
    });
    expect_all_say(said, {});
    EXPECT_EQ(said[0], "");
    for (const std::string &text : wrong)
      EXPECT_EQ(text, "") << ranks << " ranks";
  }
}

TEST(InProcess, GroupsOfAMeshDoNotMix) {
  Mesh mesh = {{{"dp", 2}, {"tp", 2}}, {"dp"}};
  std::vector<Collective> collectives = {
      collective("rows", Kind::AllToAll, {"dp"}),
      collective("columns", Kind::AllGather, {"tp"}),
      collective("everybody", Kind::AllGather, {"dp", "tp"})};
  InProcessWorld world(mesh, collectives, {});
  std::vector<std::string> wrong(4);
  auto said = run_ranks(world, 4, [&](Communicator &rank) {
    for (uint64_t round = 0; round < 50; ++round)
      for (uint32_t index : {0u, 1u, 2u})
        wrong[rank.rank()] += exchange(rank, index, 500, 0, round);
  });
  expect_all_say(said, {});
  EXPECT_EQ(said[0], "");
  for (const std::string &text : wrong)
    EXPECT_EQ(text, "");
}

TEST(InProcess, WorkersOfARankExchangeInAnyOrder) {
  constexpr uint32_t ranks = 3, iterations = 40;
  std::vector<Collective> collectives = {
      collective("scatter", Kind::AllToAll, {"dp"}, iterations),
      collective("gather", Kind::AllGather, {"dp"}, iterations)};
  CommunicatorOptions options;
  options.workers = 2;
  InProcessWorld world(line(ranks), collectives, options);
  std::vector<std::string> wrong(2 * ranks);
  auto said = run_ranks(world, ranks, [&](Communicator &rank) {
    // One worker takes one kind; which is ahead of the other is by chance.
    std::vector<std::thread> workers;
    for (uint32_t index : {0u, 1u})
      workers.emplace_back([&, index] {
        for (uint32_t i = 0; i < iterations; ++i)
          wrong[2 * rank.rank() + index] +=
              exchange(rank, index, 1000 + 64 * i, i, i);
      });
    for (std::thread &worker : workers)
      worker.join();
  });
  expect_all_say(said, {});
  EXPECT_EQ(said[0], "");
  for (const std::string &text : wrong)
    EXPECT_EQ(text, "");
}

TEST(InProcess, CountsWhatItMoves) {
  for (uint32_t ranks : {1u, 2u, 3u, 4u}) {
    InProcessWorld world(line(ranks), both, {});
    const std::vector<uint64_t> sizes = {64, 1000, 4096};
    run_ranks(world, ranks, [&](Communicator &rank) {
      for (uint32_t index : {0u, 1u})
        for (uint64_t size : sizes)
          exchange(rank, index, size);
    });
    for (uint32_t rank = 0; rank < ranks; ++rank)
      for (uint32_t index : {0u, 1u}) {
        Traffic traffic = world.rank(rank).traffic()[index];
        uint64_t sent = 0;
        for (uint64_t size : sizes)
          sent += bytes_sent(both[index].kind, size, ranks, rank);
        EXPECT_EQ(traffic.calls, sizes.size());
        EXPECT_EQ(traffic.payload, 64u + 1000 + 4096);
        EXPECT_EQ(traffic.sent, sent) << ranks << " ranks, rank " << rank;
      }
    // A tensor of even parts: (n - 1) / n of it, for both.
    run_ranks(world, ranks,
              [&](Communicator &rank) { exchange(rank, 0, 64 * ranks); });
    Traffic more = world.rank(0).traffic()[0];
    uint64_t before = 0;
    for (uint64_t size : sizes)
      before += bytes_sent(Kind::AllToAll, size, ranks, 0);
    EXPECT_EQ(more.sent - before, 64 * (ranks - 1));
  }
}

TEST(InProcess, SharesTexts) {
  InProcessWorld world(line(3), both, {});
  auto said = run_ranks(world, 3, [&](Communicator &rank) {
    std::string own = "text " + std::to_string(rank.rank());
    std::vector<std::string> expected = {"text 0", "text 1", "text 2"};
    for (int round = 0; round < 100; ++round)
      if (rank.share(own, "a test") != expected)
        throw Error("other texts");
    auto gathered = rank.share(own, "a test", 1);
    if (gathered != (rank.rank() == 1 ? expected : std::vector<std::string>()))
      throw Error("other texts at the root");
    rank.barrier("a test", Communicator::Patience::Endless);
  });
  expect_all_say(said, {});
  EXPECT_EQ(said[0], "");
}

TEST(InProcess, ARankThatStallsIsNamed) {
  InProcessWorld world(line(3), both, impatient());
  auto said = run_ranks(world, 3, [&](Communicator &rank) {
    rank.set_step(7);
    exchange(rank, 0, 128);
    if (rank.rank() == 1)
      throw Error("stalls");
    exchange(rank, 1, 128);
  });
  EXPECT_EQ(said[1], "stalls");
  EXPECT_EQ(said[0], said[2]);
  EXPECT_NE(said[0].find("step 7, gather: rank 1 does not come; after 1.5 s "
                         "(--rank-timeout)"),
            std::string::npos)
      << said[0];
}

TEST(InProcess, TheOneToBlameIsNamed) {
  // Rank 3 is what the ranks of the other group wait for, by way of rank 2.
  Mesh mesh = {{{"dp", 2}, {"tp", 2}}, {"dp"}};
  std::vector<Collective> collectives = {
      collective("rows", Kind::AllGather, {"dp"}),
      collective("columns", Kind::AllGather, {"tp"})};
  InProcessWorld world(mesh, collectives, impatient());
  auto said = run_ranks(world, 4, [&](Communicator &rank) {
    if (rank.rank() == 3)
      return;
    if (rank.rank() == 2)
      exchange(rank, 1, 64);
    exchange(rank, 0, 64);
  });
  EXPECT_NE(said[0].find("rank 3 does not come"), std::string::npos) << said[0];
}

TEST(InProcess, AnAbortWakesEverybody) {
  InProcessWorld world(line(3), both, {});
  auto said = run_ranks(world, 3, [&](Communicator &rank) {
    if (rank.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      world.abort("rank 2 has failed");
    }
    exchange(rank, 0, 128);
  });
  expect_all_say(said, {"rank 2 has failed"});
  // Whoever comes later is told, too.
  EXPECT_THROW(world.rank(0).share("", "a test"), CommunicationError);
}

TEST(InProcess, RanksInDifferentCollectivesAreNoHang) {
  // Without a timeout: nobody can ever come.
  for (unsigned workers : {1u, 2u}) {
    CommunicatorOptions options;
    options.workers = workers;
    options.timeout = std::chrono::hours(1);
    std::vector<Collective> four;
    for (const char *name : {"one", "two", "three", "four"})
      four.push_back(collective(name, Kind::AllGather));
    InProcessWorld world(line(2), four, options);
    auto said = run_ranks(world, 2, [&](Communicator &rank) {
      rank.set_step(3);
      std::vector<std::thread> others;
      // With two workers, rank 0 is in one and two, rank 1 in three and four.
      for (uint32_t worker = 1; worker < workers; ++worker)
        others.emplace_back([&, worker] {
          EXPECT_THROW(exchange(rank, 2 * rank.rank() + worker, 64),
                       CommunicationError);
        });
      std::string text;
      try {
        exchange(rank, 2 * rank.rank(), 64);
      } catch (const CommunicationError &failure) {
        text = failure.what();
      }
      for (std::thread &other : others)
        other.join();
      throw Error(text);
    });
    expect_all_say(said, {"waits in step 3, ", "rank 0", "rank 1",
                          "do not run the same program"});
  }
}

TEST(InProcess, ARankAtAStepsEndIsNoHang) {
  CommunicatorOptions options;
  options.timeout = std::chrono::hours(1);
  InProcessWorld world(line(2), both, options);
  auto said = run_ranks(world, 2, [&](Communicator &rank) {
    if (rank.rank() == 0)
      exchange(rank, 0, 64);
    else
      rank.share("0", "the end of a step");
  });
  expect_all_say(said, {"scatter", "the end of a step"});
}

TEST(InProcess, OtherTensorsAreRefused) {
  InProcessWorld world(line(2), both, {});
  auto said = run_ranks(world, 2, [&](Communicator &rank) {
    exchange(rank, 0, rank.rank() ? 128 : 256);
  });
  expect_all_say(
      said, {"before the first step, scatter: ", "exchange different tensors"});

  InProcessWorld second(line(2), both, {});
  said = run_ranks(second, 2, [&](Communicator &rank) {
    rank.set_step(rank.rank() + 4);
    exchange(rank, 0, 128);
  });
  expect_all_say(said, {"are in different steps"});

  InProcessWorld third(line(2), both, {});
  BatonExchange tensor = {nullptr, nullptr, 1000, 64, 64};
  EXPECT_THROW(third.rank(0).exchange(0, 0, {&tensor, 1}), CommunicationError);
  EXPECT_THROW(third.rank(0).exchange(2, 0, {}), CommunicationError);
}

TEST(InProcess, FaultsOnPurpose) {
  RankFault fault = RankFault::parse("1:3:stall");
  EXPECT_EQ(fault.rank, 1u);
  EXPECT_EQ(fault.step, 3u);
  EXPECT_EQ(fault.kind, RankFault::Kind::Stall);
  EXPECT_EQ(RankFault::parse("0:12:fail").kind, RankFault::Kind::Failure);
  EXPECT_EQ(RankFault::parse("0:12:die").kind, RankFault::Kind::Death);
  for (const char *text : {"", "1", "1:", "1:2", "1:2:sleep", "x:2:fail"})
    EXPECT_THROW(RankFault::parse(text), Error) << text;

  CommunicatorOptions options = impatient();
  options.fault = RankFault::parse("1:2:fail");
  InProcessWorld world(line(2), both, options);
  auto said = run_ranks(world, 2, [&](Communicator &rank) {
    for (uint64_t step = 1; step <= 3; ++step) {
      rank.set_step(step);
      exchange(rank, 0, 64);
    }
  });
  EXPECT_EQ(said[1], "rank 1: step 2, scatter: this rank fails on purpose");
  EXPECT_NE(said[0].find("step 2, scatter: rank 1 does not come"),
            std::string::npos)
      << said[0];
}

namespace {

/// From each rank to the next one, in rows that do not lie behind one another.
CommunicatorOptions ring(CommunicatorOptions options = {}) {
  for (const char *channel : {"activations", "gradients"})
    for (bool sends : {true, false})
      options.messages.push_back(
          {std::string(sends ? "send." : "receive.") + channel, sends, sends,
           "dp", channel, ""});
  return options;
}

/// One of three rows of two numbers, four apart.
struct Rows {
  explicit Rows(int first) {
    for (int i = 0; i < 12; ++i)
      numbers[i] = first + i;
  }
  BatonMessage tensor() { return {numbers, 3, 8, 16}; }

  int32_t numbers[12];
};

} // namespace

TEST(InProcess, MessagesKeepTheirOrderAndDoNotWaitForWhoReceives) {
  InProcessWorld world(line(3), {}, ring());
  auto said = run_ranks(world, 3, [&](Communicator &rank) {
    const int own = 1000 * int(rank.rank()),
              before = 1000 * int((rank.rank() + 2) % 3);
    for (int i = 0; i < 50; ++i)
      for (uint32_t channel : {0u, 1u}) {
        Rows rows(own + i + 100 * int(channel));
        BatonMessage tensor = rows.tensor();
        rank.message(2 * channel, {&tensor, 1});
      }
    rank.barrier("all are sent");
    for (uint32_t channel : {1u, 0u})
      for (int i = 0; i < 50; ++i) {
        Rows rows(-1000), sent(before + i + 100 * int(channel));
        BatonMessage tensor = rows.tensor();
        rank.message(2 * channel + 1, {&tensor, 1});
        for (int k = 0; k < 12; ++k)
          if (rows.numbers[k] != (k % 4 < 2 ? sent.numbers[k] : k - 1000))
            throw Error("message " + std::to_string(i) + " is another");
      }
    Traffic traffic = rank.message_traffic()[2];
    if (traffic.calls != 50 || traffic.payload != 50 * 24 ||
        traffic.sent != 50 * 24 || rank.message_traffic()[3].sent != 0)
      throw Error("other counts");
  });
  for (const std::string &one : said)
    EXPECT_EQ(one, "");
}

TEST(InProcess, AMessageThatNeverComesNamesWhoIsLate) {
  InProcessWorld world(line(3), {}, ring(impatient()));
  // Rank 2 waits for rank 1, which waits for rank 0.
  auto said = run_ranks(world, 3, [&](Communicator &rank) {
    if (rank.rank() == 0)
      rank.barrier("nothing", Communicator::Patience::Endless);
    Rows rows(0);
    BatonMessage tensor = rows.tensor();
    rank.message(1, {&tensor, 1});
  });
  expect_all_say(said, {"receive.activations", "rank 0 does not come",
                        "1.5 s (--rank-timeout)"});
}

TEST(InProcess, AMessageOfAnotherSizeIsAnError) {
  InProcessWorld world(line(2), {}, ring());
  auto said = run_ranks(world, 2, [&](Communicator &rank) {
    Rows rows(0);
    BatonMessage tensor = rows.tensor();
    tensor.rows = 3 - rank.rank();
    rank.message(0, {&tensor, 1});
    rank.message(1, {&tensor, 1});
  });
  EXPECT_NE(said[0].find("rank 1 sends 16 bytes and not 24"), std::string::npos)
      << said[0];
}

} // namespace baton

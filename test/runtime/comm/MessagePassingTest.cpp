//===- MessagePassingTest.cpp - under mpirun, where it is installed ------===//

#include "runtime/comm/message_passing.h"

#include "test/runtime/main/process.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace baton {

namespace {

class MessagePassingTest : public testing::Test {
protected:
  void SetUp() override {
    if (std::system("command -v mpirun > /dev/null") != 0)
      GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  }

  void TearDown() override { std::filesystem::remove_all(sessions); }

  test::Result job(unsigned processes, unsigned ranks,
                   const std::string &scenario) {
    std::vector<std::string> command = {
        "/usr/bin/env",     "mpirun", "--mca",
        "orte_tmpdir_base", sessions, "--allow-run-as-root",
        "--oversubscribe",  "-n",     std::to_string(processes)};
    for (const std::string &word : {std::string(BATON_MESSAGE_PASSING_JOB),
                                    std::to_string(ranks), scenario})
      command.push_back(word);
    return test::run(command);
  }

  /// A session folder of its own: two that begin at the same moment may fail
  /// over the one that is otherwise the user's.
  const std::string sessions =
      testing::TempDir() + "baton-mpi-" + std::to_string(getpid());

  void expect_whole(const test::Result &result, unsigned ranks) {
    EXPECT_EQ(result.status, 0) << result.errors;
    for (unsigned rank = 0; rank < ranks; ++rank)
      EXPECT_NE(result.output.find("rank " + std::to_string(rank) + " of " +
                                   std::to_string(ranks)),
                std::string::npos)
          << result.output << result.errors;
  }

  /// That one rank, and no other, says why the job ends.
  void expect_refused(const test::Result &result, const std::string &text) {
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.errors.find(text), std::string::npos)
        << result.errors << "\nlacks " << text;
    size_t first = result.errors.find("error: ");
    EXPECT_EQ(result.errors.find("error: ", first + 1), std::string::npos)
        << result.errors;
  }
};

} // namespace

TEST_F(MessagePassingTest, MovesEveryByteWhereItBelongs) {
  for (unsigned ranks : {1u, 2u, 3u})
    expect_whole(job(ranks, ranks, "whole"), ranks);
}

TEST_F(MessagePassingTest, SplitsLargeMessages) {
  expect_whole(job(3, 3, "moves"), 3);
}

TEST_F(MessagePassingTest, WorksWithoutConcurrentCalls) {
  expect_whole(job(2, 2, "in turn"), 2);
}

TEST_F(MessagePassingTest, RowsGoToTheirExpertsAndComeBack) {
  for (unsigned ranks : {1u, 3u})
    expect_whole(job(ranks, ranks, "rows"), ranks);
}

TEST_F(MessagePassingTest, SharesTexts) {
  expect_whole(job(4, 4, "shares"), 4);
}

TEST_F(MessagePassingTest, ARankThatStallsIsNamed) {
  expect_refused(job(2, 2, "stall"),
                 "error: rank 0: step 2, scatter (1 of 12): rank 1 does not "
                 "come; after 2.5 s (--rank-timeout)\n");
}

TEST_F(MessagePassingTest, ARankThatFailsEndsTheJob) {
  expect_refused(job(3, 3, "fail"),
                 "error: rank 1: step 2, scatter (1 of 12): this rank fails on "
                 "purpose\n");
}

TEST_F(MessagePassingTest, AProcessThatDiesEndsTheJob) {
  expect_refused(job(2, 2, "die"),
                 "error: rank 0: step 2, scatter (1 of 12): rank 1 does not "
                 "come; the job was told to end\n");
}

TEST_F(MessagePassingTest, OtherTensorsAreRefused) {
  test::Result result = job(2, 2, "differs");
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.errors.find("before the first step, scatter (1 of 12): "),
            std::string::npos)
      << result.errors;
}

TEST_F(MessagePassingTest, OtherNumbersOfRanksAreRefused) {
  test::Result result = job(2, 3, "whole");
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.errors.find("mpirun has started 2 ranks, and the program's "
                               "mesh (dp=3) has 3"),
            std::string::npos)
      << result.errors;
}

} // namespace baton

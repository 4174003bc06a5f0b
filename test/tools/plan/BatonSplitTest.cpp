//===- BatonSplitTest.cpp - splits that batonc is asked for ---------------===//

#include "tools/plan/baton_split.h"
#include "tools/plan/byte_formula.h"
#include "tools/plan/describe.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace baton::plan {
namespace {

TEST(BatonSplit, BytesOfAFormula) {
  EXPECT_EQ(bytes_of_formula("24", 7), 24);
  EXPECT_EQ(bytes_of_formula("4 * rows * 2048", 3), 4 * 3 * 2048);
  EXPECT_EQ(bytes_of_formula("4 * 2048 * 1024 + 4 * rows + 16", 5),
            4 * 2048 * 1024 + 4 * 5 + 16);
  EXPECT_EQ(bytes_of_formula("4 * (rows ceildiv 32) * 64", 33), 4 * 2 * 64);
  EXPECT_EQ(bytes_of_formula("(rows - 1) floordiv 4 + rows mod 4", 10), 2 + 2);
  for (const char *wrong :
       {"", "4 *", "4 + ", "* 4", "4 4", "4 * columns", "4 * 2x", "rows rows",
        "(rows", "rows)", "4 / 2", "rowsx", "- 4"})
    EXPECT_THROW(bytes_of_formula(wrong, 1), Error) << wrong;
}

BatonSpace space() {
  BatonSpace space;
  space.decoder.layers = 6;
  space.decoder.heads = 8;
  space.decoder.kv_heads = 4;
  space.devices = 8;
  space.global_batch = 16;
  space.length = 1024;
  space.devices_per_node = 8;
  return space;
}

std::string text(const BatonSplit &split) {
  return text_of(split.compile_flags()) + " | " + text_of(split.train_flags());
}

/// By loops over every number, not over divisors.
std::set<std::string> everything(const BatonSpace &space) {
  std::set<std::string> all;
  BatonSplit split;
  split.length = space.length;
  for (split.tensor = 1; split.tensor <= 4; ++split.tensor)
    for (split.pipeline = 1; split.pipeline <= 6; ++split.pipeline)
      for (split.data = 1; split.data <= 8; ++split.data)
        for (split.sequences = 1; split.sequences <= 4; ++split.sequences)
          for (split.microbatches = 1; split.microbatches <= 16;
               ++split.microbatches)
            for (const char *schedule :
                 {"1f1b", "gpipe", "zb-h1", "zb-h2", "interleaved"})
              for (split.chunks = 1; split.chunks <= 8; split.chunks *= 2)
                for (int rest = 0; rest < 24; ++rest) {
                  split.schedule = schedule;
                  split.recompute = Recompute(rest / 8);
                  split.zero = rest / 2 % 4;
                  split.sequence_parallel = rest % 2;
                  const bool interleaved = split.schedule == "interleaved";
                  if (split.ranks() == space.devices &&
                      split.global_batch() == space.global_batch &&
                      space.decoder.kv_heads % split.tensor == 0 &&
                      (split.pipeline > 1 || split.schedule == "1f1b") &&
                      interleaved == (split.chunks > 1) &&
                      split.pipeline * split.chunks <= space.decoder.layers &&
                      (!interleaved ||
                       split.microbatches % split.pipeline == 0) &&
                      (split.zero == 0 || split.data > 1) &&
                      (!split.sequence_parallel || split.tensor > 1))
                    all.insert(text(split));
                }
  return all;
}

TEST(BatonSplit, AllThatSizesAllow) {
  const std::vector<BatonSplit> splits = all_splits(space());
  std::set<std::string> found;
  for (const BatonSplit &split : splits)
    EXPECT_TRUE(found.insert(text(split)).second) << text(split);
  EXPECT_EQ(found, everything(space()));
  EXPECT_GT(found.size(), 500u);
}

TEST(BatonSplit, FlagsOfAPipeline) {
  BatonSplit split;
  split.data = 2;
  split.tensor = 4;
  split.pipeline = 2;
  split.schedule = "interleaved";
  split.chunks = 2;
  split.microbatches = 4;
  split.sequences = 3;
  split.length = 512;
  split.zero = 1;
  split.sequence_parallel = true;
  split.recompute = Recompute::selective;
  EXPECT_EQ(text(split),
            "--mode=train --max-seq=512 --mesh=pp=2,dp=2,tp=4 "
            "--pipeline=interleaved:2 --microbatches=4 --zero=1 "
            "--sequence-parallel --recompute=selective | --batch=6 --seq=512");
  split.pipeline = 1;
  split.chunks = 1;
  EXPECT_EQ(text_of(split.train_flags()), "--batch=6 --seq=512 --accumulate=4");
}

TEST(BatonSplit, SaysWhatBinds) {
  BatonSpace few = space();
  few.devices = 7;
  EXPECT_THROW(all_splits(few), Error);
  BatonSpace long_sequences = space();
  long_sequences.length = 8192;
  long_sequences.decoder.kv_heads = 8;
  try {
    all_splits(long_sequences);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("more rows than the 4096"),
              std::string::npos)
        << error.what();
  }
}

// What DescribedOnce counts on.
TEST(BatonSplit, OnlyPipelinesNameTheirMicrobatches) {
  BatonSplit few, many;
  few.data = many.data = 2;
  few.microbatches = many.sequences = 2;
  few.sequences = many.microbatches = 4;
  EXPECT_EQ(few.compile_flags(), many.compile_flags());
  EXPECT_NE(few.train_flags(), many.train_flags());
  few.pipeline = many.pipeline = 2;
  EXPECT_NE(few.compile_flags(), many.compile_flags());
}

TEST(BatonSplit, EqualProgramsAreDescribedOnce) {
  std::atomic<int> described = 0;
  DescribedOnce once([&](const Flags &flags) {
    const int number = ++described;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (flags.empty())
      throw Error("stopped");
    return Described{std::nullopt,
                     text_of(flags) + ", " + std::to_string(number)};
  });
  const Flags one = {{"--mesh", "tp=2"}}, other = {{"--mesh", "tp=4"}};
  std::vector<std::future<Described>> asked;
  for (int thread = 0; thread < 4; ++thread)
    asked.push_back(std::async(std::launch::async, [&] { return once(one); }));
  for (std::future<Described> &answer : asked)
    EXPECT_EQ(answer.get().refusal, "--mesh=tp=2, 1");
  EXPECT_EQ(once(other).refusal, "--mesh=tp=4, 2");
  EXPECT_EQ(once(one).refusal, "--mesh=tp=2, 1");
  // A failure is no answer.
  EXPECT_THROW(once({}), Error);
  EXPECT_THROW(once({}), Error);
  EXPECT_EQ(described, 4);
}

TEST(BatonSplit, StepsOfMoreRowsAreRefused) {
  Described some{Metadata{}, ""};
  some.metadata->max_rows = 64;
  limit_rows(some, 64);
  EXPECT_TRUE(some.metadata);
  limit_rows(some, 65);
  EXPECT_FALSE(some.metadata);
  EXPECT_EQ(some.refusal, "a step of such a program has 64 rows at most");
  // Why there is no program is said first.
  Described none{std::nullopt, "no"};
  limit_rows(none, 65);
  EXPECT_EQ(none.refusal, "no");
}

} // namespace
} // namespace baton::plan

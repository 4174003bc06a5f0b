#include "runtime/batch/adapter_ranks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

using namespace baton;

namespace {

TEST(AdapterRanks, OneThatIsThereIsSharedAndStays) {
  AdapterRanks ranks(64);
  auto first = ranks.take(1, 32);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_new);
  auto again = ranks.take(1, 32);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->place, first->place);
  ranks.release(1);
  ranks.release(1);
  EXPECT_THROW(ranks.release(1), std::logic_error);
  ranks.begin_step(false);
  auto later = ranks.take(1, 32);
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->is_new);
}

TEST(AdapterRanks, RoomOfTheLongestUnusedIsTaken) {
  AdapterRanks ranks(48);
  auto flag = std::make_shared<std::atomic<bool>>(false);
  for (uint64_t adapter : {1, 2, 3}) {
    EXPECT_TRUE(ranks.take(adapter, 16, adapter == 2 ? flag : nullptr));
    ranks.begin_step(false);
  }
  EXPECT_TRUE(*flag);
  EXPECT_FALSE(ranks.take(4, 16)) << "all are used";
  for (uint64_t adapter : {2, 1, 3}) {
    ranks.release(adapter);
    ranks.begin_step(false);
  }
  ranks.begin_step(false);
  auto room = ranks.take(4, 16);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->place, 16u) << "of the one that was given back first";
  EXPECT_FALSE(*flag);
  EXPECT_FALSE(ranks.has(2));
  EXPECT_TRUE(ranks.has(1));
}

TEST(AdapterRanks, WhatTheLastStepUsedRests) {
  AdapterRanks ranks(16);
  ASSERT_TRUE(ranks.take(1, 16));
  ranks.begin_step(false); // A step ran.
  ranks.release(1);
  EXPECT_TRUE(ranks.rests());
  EXPECT_FALSE(ranks.take(2, 16)) << "tasks of that step may still read it";
  EXPECT_TRUE(ranks.take(1, 16)) << "but it may be used again";
  ranks.release(1);
  ranks.begin_step(false);
  EXPECT_FALSE(ranks.rests());
  EXPECT_TRUE(ranks.take(2, 16));
  ranks.begin_step(false);
  ranks.release(2);
  ranks.begin_step(true);
  EXPECT_TRUE(ranks.take(3, 16)) << "no task of an earlier run is left";
}

TEST(AdapterRanks, OneOfManyRanksTakesTheRoomOfSeveral) {
  AdapterRanks ranks(64);
  for (uint64_t adapter : {1, 2, 3, 4})
    ASSERT_TRUE(ranks.take(adapter, 16));
  for (uint64_t adapter : {1, 3})
    ranks.release(adapter);
  ranks.begin_step(true);
  EXPECT_FALSE(ranks.take(5, 48)) << "not behind one another";
  for (uint64_t adapter : {2, 4})
    ranks.release(adapter);
  ranks.begin_step(true);
  EXPECT_TRUE(ranks.take(5, 48));
}

/// Those that are used have room of their own, and keep their place.
TEST(AdapterRanks, RandomUse) {
  std::mt19937 random(3);
  constexpr uint32_t all = 256;
  AdapterRanks ranks(all);
  struct Use {
    uint32_t place, count, references;
  };
  std::map<uint64_t, Use> used;
  uint64_t given = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    ranks.begin_step(random() % 16 == 0);
    if (random() % 3) {
      const uint64_t adapter = 1 + random() % 20;
      const uint32_t count = 16 * uint32_t(1 + adapter % 5);
      auto room = ranks.take(adapter, count);
      if (!room) {
        ++refused;
        EXPECT_FALSE(used.contains(adapter));
        continue;
      }
      ++given;
      ASSERT_LE(room->place + count, all);
      ASSERT_EQ(room->place % 16, 0u);
      if (auto known = used.find(adapter); known != used.end()) {
        ASSERT_FALSE(room->is_new);
        ASSERT_EQ(known->second.place, room->place);
        ++known->second.references;
        continue;
      }
      for (const auto &[other, use] : used)
        ASSERT_TRUE(use.place + use.count <= room->place ||
                    room->place + count <= use.place)
            << adapter << " lies over " << other;
      used[adapter] = {room->place, count, 1};
    } else if (!used.empty()) {
      auto chosen = std::next(used.begin(), ptrdiff_t(random() % used.size()));
      ranks.release(chosen->first);
      if (--chosen->second.references == 0)
        used.erase(chosen);
    }
  }
  EXPECT_GT(given, 1000u);
  EXPECT_GT(refused, 100u);
}

} // namespace

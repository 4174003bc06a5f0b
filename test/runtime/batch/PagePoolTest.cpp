//===- PagePoolTest.cpp - pages, references and what pages hold ----------===//

#include "runtime/batch/page_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>

namespace baton {
namespace {

using Tokens = std::array<int32_t, page_positions>;

Tokens tokens_of(int32_t seed) {
  Tokens tokens;
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = seed * 1000 + static_cast<int32_t>(i);
  return tokens;
}

constexpr int32_t none = PagePool::none;

TEST(PagePool, GivesEachPageOnce) {
  PagePool pool(3, true);
  std::set<int32_t> taken = {pool.take(), pool.take(), pool.take()};
  EXPECT_EQ(taken, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(pool.take(), none);
  EXPECT_EQ(pool.available(), 0u);
  pool.release(1);
  EXPECT_EQ(pool.available(), 1u);
  EXPECT_EQ(pool.take(), 1);
}

TEST(PagePool, FindsWhatIsBehindTheSamePages) {
  PagePool pool(4, true);
  int32_t first = pool.publish(pool.take(), none, tokens_of(1));
  int32_t second = pool.publish(pool.take(), first, tokens_of(2));
  EXPECT_EQ(pool.find(none, tokens_of(2)), none);
  EXPECT_EQ(pool.find(second, tokens_of(2)), none);
  EXPECT_EQ(pool.find(none, tokens_of(1)), first);
  EXPECT_EQ(pool.find(first, tokens_of(2)), second);
  EXPECT_EQ(pool.references(first), 2u);
  Tokens other = tokens_of(2);
  other[63] = 7;
  EXPECT_EQ(pool.find(first, other), none);
}

TEST(PagePool, TheSameContentIsKeptOnce) {
  PagePool pool(4, true);
  int32_t first = pool.publish(pool.take(), none, tokens_of(1));
  int32_t again = pool.take();
  EXPECT_EQ(pool.publish(again, none, tokens_of(1)), first);
  EXPECT_EQ(pool.references(first), 2u);
  EXPECT_EQ(pool.references(again), 0u);
  EXPECT_EQ(pool.available(), 3u);
}

TEST(PagePool, WhatNobodyRefersToStaysUntilItsRoomIsNeeded) {
  PagePool pool(3, true);
  int32_t first = pool.publish(pool.take(), none, tokens_of(1));
  int32_t second = pool.publish(pool.take(), first, tokens_of(2));
  int32_t third = pool.publish(pool.take(), second, tokens_of(3));
  for (int32_t page : {third, second, first})
    pool.release(page);
  EXPECT_EQ(pool.available(), 3u);
  EXPECT_EQ(pool.cached_pages(), 3u);
  // What lies deepest goes first.
  EXPECT_EQ(pool.take(), third);
  EXPECT_EQ(pool.find(none, tokens_of(1)), first);
  EXPECT_EQ(pool.find(first, tokens_of(2)), second);
  EXPECT_EQ(pool.find(second, tokens_of(3)), none);
  EXPECT_EQ(pool.take(), none);
}

TEST(PagePool, ContentBehindAPageThatIsGoneIsNotFound) {
  PagePool pool(2, true);
  int32_t first = pool.publish(pool.take(), none, tokens_of(1));
  int32_t second = pool.publish(pool.take(), first, tokens_of(2));
  // In the wrong order, so that the page before goes first.
  pool.release(first);
  pool.release(second);
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.publish(first, none, tokens_of(9)), first);
  EXPECT_EQ(pool.find(first, tokens_of(2)), none);
  EXPECT_EQ(pool.cached_pages(), 1u);
}

TEST(PagePool, NothingIsBehindWhatIsNotPublished) {
  PagePool pool(2, true);
  int32_t first = pool.take(), second = pool.take();
  EXPECT_THROW(pool.publish(second, first, tokens_of(1)), std::logic_error);
  EXPECT_THROW(pool.find(first, tokens_of(1)), std::logic_error);
}

TEST(PagePool, WithoutPrefixesNothingIsFound) {
  PagePool pool(2, false);
  int32_t page = pool.take();
  EXPECT_EQ(pool.publish(page, none, tokens_of(1)), page);
  EXPECT_EQ(pool.find(none, tokens_of(1)), none);
  pool.release(page);
  EXPECT_EQ(pool.cached_pages(), 0u);
  EXPECT_EQ(pool.available(), 2u);
}

/// Against a model with maps: chains of few contents, held and released at
/// random.
TEST(PagePool, KeepsItsBooksForAnyOrder) {
  for (uint64_t pages : {1, 2, 5, 17, 64}) {
    std::mt19937_64 random(pages);
    PagePool pool(pages, true);
    struct Chain {
      std::vector<int32_t> pages;
      std::vector<int32_t> seeds;
    };
    std::vector<Chain> chains;
    /// What each page holds, by the seeds of it and of those before it.
    std::map<int32_t, std::vector<int32_t>> contents;
    for (int round = 0; round < 5000; ++round) {
      if (chains.empty() || random() % 3) {
        Chain chain;
        size_t length = 1 + random() % 4;
        while (chain.pages.size() < length) {
          auto seed = static_cast<int32_t>(random() % 3);
          chain.seeds.push_back(seed);
          int32_t parent = chain.pages.empty() ? none : chain.pages.back();
          int32_t page = pool.find(parent, tokens_of(seed));
          if (page == none) {
            page = pool.take();
            if (page == none) {
              chain.seeds.pop_back();
              break;
            }
            ASSERT_EQ(pool.references(page), 1u);
            contents.erase(page);
            page = pool.publish(page, parent, tokens_of(seed));
            contents[page] = chain.seeds;
          }
          ASSERT_EQ(contents[page], chain.seeds);
          chain.pages.push_back(page);
        }
        chains.push_back(chain);
      } else {
        std::swap(chains[random() % chains.size()], chains.back());
        Chain &chain = chains.back();
        while (!chain.pages.empty()) {
          pool.release(chain.pages.back());
          chain.pages.pop_back();
        }
        chains.pop_back();
      }
      std::map<int32_t, uint32_t> references;
      for (const Chain &chain : chains)
        for (int32_t page : chain.pages)
          ++references[page];
      for (int32_t page = 0; page < static_cast<int32_t>(pages); ++page)
        ASSERT_EQ(pool.references(page), references[page]);
      uint64_t held = 0;
      for (auto [page, count] : references)
        held += count != 0;
      ASSERT_EQ(pool.available(), pages - held);
      ASSERT_LE(pool.cached_pages(), pool.available());
    }
  }
}

} // namespace
} // namespace baton

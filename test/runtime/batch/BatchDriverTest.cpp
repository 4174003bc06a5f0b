//===- BatchDriverTest.cpp - many texts are what each is alone -----------===//

#include "runtime/batch/batch_driver.h"

#include "paged_model.h"
#include "runtime/error.h"
#include "toy_constraints.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <map>
#include <random>
#include <thread>

namespace baton {
namespace {

using test::PagedModel;
using test::watched;

std::vector<int32_t> random_tokens(std::mt19937_64 &random, size_t size) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < size; ++i)
    tokens.push_back(static_cast<int32_t>(random() % 200));
  return tokens;
}

BatchRequest make_request(std::string id, std::vector<int32_t> prompt,
                          uint64_t max_new_tokens) {
  BatchRequest request;
  request.id = std::move(id);
  request.prompt = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  return request;
}

void expect_equal(const BatchChoice &choice, const BatchChoice &expected,
                  const std::string &id) {
  EXPECT_EQ(choice.tokens, expected.tokens) << id;
  EXPECT_EQ(choice.finish, expected.finish) << id;
  EXPECT_EQ(choice.error, expected.error) << id;
  EXPECT_EQ(choice.logprobs, expected.logprobs) << id;
}

/// One that was cancelled has the beginning.
void expect_begins(const BatchChoice &choice, const BatchChoice &expected,
                   const std::string &id) {
  if (choice.finish != BatchFinish::Cancelled)
    return expect_equal(choice, expected, id);
  ASSERT_LE(choice.tokens.size(), expected.tokens.size());
  EXPECT_TRUE(std::equal(choice.tokens.begin(), choice.tokens.end(),
                         expected.tokens.begin()))
      << id;
}

/// A driver and its results.
class Batch {
public:
  explicit Batch(const BatchCapacities &shape, BatchOptions options = {})
      : shape(shape), model(shape) {
    options.tokenizer = Tokenizer::of_bytes();
    // Every step takes as long.
    options.clock = [] {
      static double seconds = 0;
      return ++seconds;
    };
    driver.emplace(shape, model.inputs(), options,
                   BatchHooks{.on_result = [this](BatchResult &&result) {
                     std::string id = result.request.id;
                     EXPECT_TRUE(results.emplace(id, std::move(result)).second)
                         << id;
                   }});
  }

  bool submit(const BatchRequest &request) {
    BatchRequest copy = request;
    return driver->submit(std::move(copy));
  }
  /// Submits and runs all.
  void run(const std::vector<BatchRequest> &requests) {
    for (const BatchRequest &request : requests)
      ASSERT_TRUE(submit(request));
    model.run(*driver);
    EXPECT_TRUE(driver->idle());
    for (const BatchRequest &request : requests)
      expect_right(request);
  }
  void expect_right(const BatchRequest &request) {
    ASSERT_TRUE(results.contains(request.id)) << request.id;
    const BatchResult &result = results.at(request.id);
    EXPECT_EQ(result.prompt_tokens, request.prompt.size());
    ASSERT_EQ(result.choices.size(), request.n);
    for (uint32_t i = 0; i < request.n; ++i)
      expect_begins(result.choices[i], test::continue_alone(request, i, shape),
                    request.id);
    auto scores = test::score_alone(request, shape);
    if (result.choices[0].finish == BatchFinish::Cancelled)
      scores.resize(std::min(scores.size(), result.scores.size()));
    EXPECT_EQ(result.scores, scores) << request.id;
    if (request.compares() && result.choices[0].finish == BatchFinish::Length) {
      const auto [numbers, likeliest] = test::compare_alone(request, shape);
      EXPECT_EQ(result.compared, numbers) << request.id;
      EXPECT_EQ(result.likeliest, likeliest) << request.id;
    }
  }
  /// Every page is free again.
  void expect_all_free() { EXPECT_EQ(driver->pool().available(), shape.pages); }

  const BatchCapacities shape;
  PagedModel model;
  std::map<std::string, BatchResult> results;
  std::optional<BatchDriver> driver;
};

constexpr BatchCapacities usual = {64, 16, 16, 1200, 1208, 100, 256};

TEST(BatchDriver, ContinuesOneText) {
  std::mt19937_64 random(1);
  Batch batch(usual);
  batch.run({make_request("one", random_tokens(random, 100), 70)});
  EXPECT_EQ(batch.results.at("one").choices[0].tokens.size(), 70u);
  BatchCounts counts = batch.driver->counts();
  EXPECT_EQ(counts.steps, 2u + 69u);
  EXPECT_EQ(counts.rows, 100u + 69u);
  EXPECT_EQ(counts.prompt_tokens, 100u);
  EXPECT_EQ(counts.generated_tokens, 70u);
  batch.expect_all_free();
}

TEST(BatchDriver, TheSecondComputesOnlyWhatDiffers) {
  std::mt19937_64 random(2);
  std::vector<int32_t> common = random_tokens(random, 1000);
  auto with = [&](size_t more) {
    std::vector<int32_t> prompt = common;
    for (int32_t token : random_tokens(random, more))
      prompt.push_back(token);
    return prompt;
  };
  BatchRequest first = make_request("first", with(10), 5);
  BatchRequest second = make_request("second", with(12), 5);
  // In steps that have less than a prompt, and more than all.
  BatchCapacities wide = usual;
  wide.max_rows = 4096;
  for (auto [together, shape] :
       {std::pair(false, usual), {true, usual}, {true, wide}}) {
    Batch batch(shape);
    if (together) {
      batch.run({first, second});
    } else {
      batch.run({first});
      EXPECT_EQ(batch.driver->counts().prompt_tokens, 1010u);
      batch.run({second});
    }
    // 15 pages of 64 are full.
    EXPECT_EQ(batch.driver->counts().prompt_tokens, 1010u + 1012 - 960);
    EXPECT_EQ(batch.driver->counts().cached_tokens, 960u);
    EXPECT_EQ(batch.results.at("first").cached_tokens, 0u);
    EXPECT_EQ(batch.results.at("second").cached_tokens, 960u);
    batch.expect_all_free();
  }
  Batch batch(usual, {.prefix_cache = false});
  batch.run({first, second});
  EXPECT_EQ(batch.driver->counts().prompt_tokens, 2022u);
  EXPECT_EQ(batch.driver->counts().cached_tokens, 0u);
}

TEST(BatchDriver, WhatTwoHaveInCommonLiesInMemoryOnce) {
  std::mt19937_64 random(2);
  std::vector<BatchRequest> requests;
  const std::vector<int32_t> common = random_tokens(random, 1000);
  for (const char *id : {"first", "second"}) {
    std::vector<int32_t> prompt = common;
    for (int32_t token : random_tokens(random, 10))
      prompt.push_back(token);
    requests.push_back(make_request(id, prompt, 5));
  }
  // While both are continued, behind the prompts' steps.
  auto pages = [&](bool prefix_cache) {
    Batch batch(usual, {.prefix_cache = prefix_cache});
    uint64_t used = 0;
    for (const BatchRequest &request : requests)
      EXPECT_TRUE(batch.submit(request));
    batch.model.run(*batch.driver, [&] {
      if (batch.driver->load().running == 2)
        used = batch.driver->load().used_pages;
    });
    return used;
  };
  // 1,014 positions in pages of 64, of which 15 are full of common ones.
  EXPECT_EQ(pages(false), 2u * 16);
  EXPECT_EQ(pages(true), 2u * 16 - 15);
}

TEST(BatchDriver, TheLastTokenOfAPromptIsAlwaysComputed) {
  std::mt19937_64 random(3);
  std::vector<int32_t> prompt = random_tokens(random, 128);
  Batch batch(usual);
  batch.run({make_request("a", prompt, 1)});
  batch.run({make_request("b", prompt, 1)});
  EXPECT_EQ(batch.results.at("b").cached_tokens, 64u);
  EXPECT_EQ(batch.driver->counts().prompt_tokens, 128u + 64u);
}

TEST(BatchDriver, ContinuationsOfOnePromptShareIt) {
  std::mt19937_64 random(4);
  BatchRequest request = make_request("n", random_tokens(random, 200), 20);
  request.n = 4;
  request.sampling.temperature = 1;
  request.sampling.seed = ~uint64_t(0) - 1;
  Batch batch(usual);
  batch.run({request});
  const auto &choices = batch.results.at("n").choices;
  EXPECT_NE(choices[0].tokens, choices[1].tokens);
  EXPECT_EQ(batch.driver->counts().prompt_tokens, 200u + 3 * 8);
  batch.expect_all_free();
}

BatchRequest make_constrained(std::string id, std::vector<int32_t> prompt,
                              uint64_t max_new_tokens,
                              std::shared_ptr<const TokenConstraint> what) {
  BatchRequest request =
      make_request(std::move(id), std::move(prompt), max_new_tokens);
  request.constraint = std::move(what);
  return request;
}

TEST(BatchDriver, ConstraintsSayWhatATextGoesOnWith) {
  std::mt19937_64 random(16);
  const std::vector<int32_t> prompt = random_tokens(random, 90);
  BatchRequest free = make_request("free", prompt, 30);
  BatchRequest even =
      make_constrained("even", prompt, 30, test::multiples_of(2));
  even.sampling.temperature = 1;
  even.sampling.repetition_penalty = 1.2;
  even.n = 3;
  BatchRequest likely = even;
  likely.id = "likely";
  likely.sampling.top_k = 40;
  likely.logprobs = 5;
  BatchRequest fixed =
      make_constrained("fixed", prompt, 30, test::just({7, 255, 0, 31, 32}));
  fixed.logprobs = 3;
  BatchRequest cut = fixed;
  cut.id = "cut";
  cut.max_new_tokens = 3;
  Batch batch(usual);
  batch.run({free, even, likely, fixed, cut});
  EXPECT_NE(batch.results.at("even").choices[0].tokens,
            batch.results.at("even").choices[1].tokens);
  for (const BatchChoice &choice : batch.results.at("even").choices)
    for (int32_t token : choice.tokens)
      EXPECT_EQ(token % 2, 0);
  const BatchChoice &choice = batch.results.at("fixed").choices[0];
  EXPECT_EQ(choice.tokens, (std::vector<int32_t>{7, 255, 0, 31, 32}));
  EXPECT_EQ(choice.finish, BatchFinish::Stop);
  // There is one token each time, and no other.
  ASSERT_EQ(choice.logprobs.size(), 20u);
  EXPECT_EQ(choice.logprobs[0], (TokenLogprob{7, 0}));
  EXPECT_EQ(choice.logprobs[1], (TokenLogprob{7, 0}));
  EXPECT_EQ(choice.logprobs[2].token, BATON_NOT_DRAWN);
  EXPECT_EQ(batch.results.at("cut").choices[0].finish, BatchFinish::Length);
  batch.expect_all_free();
}

/// Those that have to go keep what they may go on with, and a mask is of
/// whoever has the line now.
TEST(BatchDriver, ConstrainedTextsThatArePreemptedGoOn) {
  std::mt19937_64 random(17);
  Batch batch({64, 16, 16, 1200, 1208, 8, 256});
  std::vector<BatchRequest> requests;
  std::vector<int32_t> tokens = random_tokens(random, 110);
  for (int i = 0; i < 6; ++i) {
    BatchRequest request = make_constrained(
        std::to_string(i), random_tokens(random, 100), 120,
        i % 2 ? test::just(tokens) : test::multiples_of(2 + i));
    if (i == 4)
      request.constraint = nullptr;
    requests.push_back(request);
  }
  batch.run(requests);
  EXPECT_GT(batch.driver->counts().preemptions, 0u);
  EXPECT_EQ(batch.results.at("1").choices[0].tokens, tokens);
  batch.expect_all_free();
}

TEST(BatchDriver, ConstrainedTextsAreCancelled) {
  std::mt19937_64 random(18);
  Batch batch(usual);
  BatchRequest gone = make_constrained("gone", random_tokens(random, 70), 100,
                                       test::multiples_of(3));
  gone.n = 2;
  BatchRequest stays = make_constrained("stays", random_tokens(random, 70), 60,
                                        test::multiples_of(5));
  ASSERT_TRUE(batch.submit(gone));
  ASSERT_TRUE(batch.submit(stays));
  int steps = 0;
  batch.model.run(*batch.driver, [&] {
    if (++steps == 20)
      batch.driver->cancel("gone");
  });
  batch.expect_right(gone);
  batch.expect_right(stays);
  EXPECT_EQ(batch.results.at("gone").choices[1].finish, BatchFinish::Cancelled);
  EXPECT_EQ(batch.results.at("stays").choices[0].tokens.size(), 60u);
  batch.expect_all_free();
}

TEST(BatchDriver, ConstraintsThatGetStuckEndOneText) {
  Batch batch(usual);
  BatchRequest stuck = make_constrained("stuck", {1, 2}, 10,
                                        test::just({7, 8}, test::End::stuck));
  stuck.n = 2;
  ASSERT_TRUE(batch.submit(stuck));
  ASSERT_TRUE(batch.submit(make_request("other", {1, 2}, 20)));
  batch.model.run(*batch.driver);
  for (const BatchChoice &choice : batch.results.at("stuck").choices) {
    EXPECT_EQ(choice.finish, BatchFinish::Error);
    EXPECT_EQ(choice.error, "behind token 8 the constraint allows none, and is "
                            "not finished");
    EXPECT_EQ(choice.tokens, (std::vector<int32_t>{7, 8}));
  }
  EXPECT_EQ(batch.results.at("other").choices[0].tokens.size(), 20u);
  EXPECT_TRUE(batch.driver->idle());
  ASSERT_TRUE(batch.submit(make_constrained(
      "hard", {1, 2}, 10, test::just({7, 8}, test::End::failed))));
  batch.model.run(*batch.driver);
  EXPECT_EQ(batch.results.at("hard").choices[0].error, "it is too hard");
  EXPECT_TRUE(batch.driver->idle());
  // Nothing begins so.
  for (const std::vector<int32_t> &first : {std::vector<int32_t>{}, {256}})
    try {
      batch.submit(make_constrained("no", {1}, 10, test::just(first)));
      ADD_FAILURE();
    } catch (const Error &failure) {
      EXPECT_STREQ(failure.what(),
                   "constraint: there is no token that may begin the text");
    }
  EXPECT_TRUE(batch.driver->idle());
  ASSERT_TRUE(batch.submit(make_constrained(
      "refuses", {1}, 10, test::just({7, 8}, test::End::refused))));
  EXPECT_THROW(batch.model.run(*batch.driver), std::logic_error);
}

/// Those of two texts at the same time: each waits for the other one's.
TEST(BatchDriver, MasksAreMadeWhileAStepRuns) {
  Batch batch(usual);
  batch.model.threads = 2;
  std::barrier both(2);
  std::atomic<unsigned> made = 0, between_steps = 0;
  const auto meet = watched([&](std::span<uint32_t>) {
    ++(batch.model.computes ? made : between_steps);
    if (batch.model.computes)
      both.arrive_and_wait();
  });
  for (const char *id : {"one", "other"})
    ASSERT_TRUE(batch.submit(make_constrained(id, {1, 2, 3}, 20, meet)));
  // That they may begin.
  EXPECT_EQ(between_steps, 2u);
  batch.model.run(*batch.driver);
  EXPECT_EQ(between_steps, 2u);
  EXPECT_EQ(made, 2u * 20);
  for (const auto &[id, result] : batch.results)
    EXPECT_EQ(result.choices[0].tokens.size(), 20u);
}

/// None is made for rows that do not draw: of chunks of prompts, of texts that
/// wait for their turn, of tokens that are scored.
TEST(BatchDriver, MasksAreMadeForRowsThatDraw) {
  Batch batch({8, 2, 16, 1200, 1208, 100, 256});
  std::atomic<unsigned> made = 0;
  const auto count = watched([&](std::span<uint32_t>) { ++made; });
  std::mt19937_64 random(20);
  for (int i = 0; i < 5; ++i) {
    BatchRequest request = make_constrained(
        std::to_string(i), random_tokens(random, 30), 10, count);
    if (i == 0)
      request.score_from = 7;
    ASSERT_TRUE(batch.submit(request));
  }
  made = 0;
  batch.model.run(*batch.driver);
  EXPECT_EQ(made, 5u * 10);
}

TEST(BatchDriver, MasksThatCannotBeMadeEndOneText) {
  Batch batch(usual);
  // The first one is asked for when a request is submitted.
  auto fails_at = [](unsigned call, std::function<void()> how) {
    auto calls = std::make_shared<unsigned>(0);
    return watched([=](std::span<uint32_t> mask) {
      if (++*calls != call)
        return;
      std::ranges::fill(mask, 0u);
      how();
    });
  };
  auto nothing = [] {};
  auto refuse = [] { throw Error("it is too hard"); };
  ASSERT_TRUE(
      batch.submit(make_constrained("first", {1}, 9, fails_at(2, nothing))));
  ASSERT_TRUE(
      batch.submit(make_constrained("third", {2}, 9, fails_at(4, nothing))));
  ASSERT_TRUE(
      batch.submit(make_constrained("error", {3}, 9, fails_at(4, refuse))));
  ASSERT_TRUE(batch.submit(make_request("other", {4}, 9)));
  batch.model.run(*batch.driver);
  EXPECT_TRUE(batch.driver->idle());
  auto choice = [&](const char *id) { return batch.results.at(id).choices[0]; };
  EXPECT_EQ(choice("first").error,
            "constraint: there is no token that may begin the text");
  EXPECT_TRUE(choice("first").tokens.empty());
  ASSERT_EQ(choice("third").tokens.size(), 2u);
  EXPECT_EQ(choice("third").error,
            "behind token " + std::to_string(choice("third").tokens[1]) +
                " the constraint allows none, and is not finished");
  EXPECT_EQ(choice("error").error, "it is too hard");
  for (const char *id : {"first", "third", "error"})
    EXPECT_EQ(choice(id).finish, BatchFinish::Error);
  EXPECT_EQ(choice("other").tokens.size(), 9u);
  batch.expect_all_free();
  // What is no fault of a text ends all.
  ASSERT_TRUE(batch.submit(make_constrained(
      "broken", {1}, 9, fails_at(3, [] { throw std::logic_error("no"); }))));
  EXPECT_THROW(batch.model.run(*batch.driver), std::logic_error);
}

TEST(BatchDriver, TellsTokensWithTheirLogProbabilities) {
  std::mt19937_64 random(19);
  PagedModel model(usual);
  std::map<std::string, std::vector<TokenLogprob>> told;
  std::map<std::string, BatchResult> results;
  BatchDriver driver(
      usual, model.inputs(), {},
      {.on_result =
           [&](BatchResult &&result) {
             std::string id = result.request.id;
             results.emplace(id, std::move(result));
           },
       .on_token =
           [&](const BatchRequest &request, uint32_t choice, int32_t token,
               std::span<const TokenLogprob> logprobs) {
             EXPECT_EQ(logprobs.empty(), !request.logprobs);
             if (request.logprobs) {
               EXPECT_EQ(logprobs.front().token, token);
             }
             if (choice == 0)
               told[request.id].insert(told[request.id].end(), logprobs.begin(),
                                       logprobs.end());
           }});
  std::vector<BatchRequest> requests = {
      make_request("none", random_tokens(random, 5), 9),
      make_request("all", random_tokens(random, 5), 9),
      make_constrained("few", random_tokens(random, 5), 9,
                       test::multiples_of(100))};
  requests[1].n = 2;
  requests[1].logprobs = 2;
  requests[2].logprobs = 4;
  for (BatchRequest request : requests)
    ASSERT_TRUE(driver.submit(std::move(request)));
  model.run(driver);
  EXPECT_TRUE(told["none"].empty());
  EXPECT_EQ(told["all"], results["all"].choices[0].logprobs);
  // Of 0, 100 and 200 each time.
  std::vector<TokenLogprob> few = results["few"].choices[0].logprobs;
  EXPECT_EQ(few.size(), 9u * 5);
  std::erase_if(few, [](const TokenLogprob &each) { return each.token < 0; });
  EXPECT_EQ(few.size(), 9u * 4);
  EXPECT_EQ(told["few"], few);
}

BatchRequest make_score(std::string id, std::vector<int32_t> prompt,
                        uint64_t from) {
  BatchRequest request = make_request(std::move(id), std::move(prompt), 0);
  request.score_from = from;
  request.score_likely = 1;
  return request;
}

TEST(BatchDriver, ScoresTheEndOfAPrompt) {
  std::mt19937_64 random(11);
  std::vector<int32_t> tokens = random_tokens(random, 100);
  Batch batch(usual);
  batch.run({make_score("end", tokens, 90)});
  EXPECT_EQ(batch.results.at("end").scores.size(), 20u);
  EXPECT_TRUE(batch.results.at("end").choices[0].tokens.empty());
  BatchCounts counts = batch.driver->counts();
  // The last token is not computed on; 64 rows, then 35 of which ten score.
  EXPECT_EQ(counts.rows, 99u);
  EXPECT_EQ(counts.steps, 2u);
  EXPECT_EQ(counts.scored_tokens, 10u);
  EXPECT_EQ(counts.generated_tokens, 0u);
  batch.expect_all_free();
  // No more of them in a step than it has rows with logits.
  Batch whole({64, 16, 16, 1200, 1208, 100, 256});
  whole.run({make_score("whole", tokens, 1)});
  EXPECT_EQ(whole.driver->counts().steps, 7u);
  Batch wide({64, 64, 16, 1200, 1208, 100, 256});
  wide.run({make_score("whole", tokens, 1)});
  EXPECT_EQ(wide.driver->counts().steps, 2u);
}

BatchRequest make_choices(std::string id, std::vector<int32_t> prompt,
                          std::vector<int32_t> choices, bool only = false) {
  BatchRequest request = make_request(std::move(id), std::move(prompt), 0);
  request.choices = std::move(choices);
  request.only_choices = only;
  return request;
}

TEST(BatchDriver, ChoicesAreOneTextWithOneRowOfLogits) {
  std::mt19937_64 random(31);
  Batch batch(usual);
  const std::vector<int32_t> prompt = random_tokens(random, 100);
  // A token may be named twice.
  batch.run({make_choices("a", prompt, {7, 199, 7, 0, 255})});
  EXPECT_EQ(batch.results.at("a").compared.size(), 5u);
  BatchCounts counts = batch.driver->counts();
  EXPECT_EQ(counts.steps, 2u);
  EXPECT_EQ(counts.rows, 100u);
  EXPECT_EQ(counts.prompt_tokens, 100u);
  EXPECT_EQ(counts.generated_tokens, 0u);
  EXPECT_EQ(counts.scored_tokens, 5u);
  // Another one computes what is behind the prompt's full page.
  batch.run({make_choices("b", prompt, {1}, /*only=*/true)});
  EXPECT_EQ(batch.driver->counts().rows, 100u + 36);
  EXPECT_EQ(batch.results.at("b").cached_tokens, 64u);
  // The last position that there is.
  BatchCapacities small = usual;
  small.max_positions = 100;
  Batch(small).run({make_choices("full", prompt, {3, 4})});
  batch.expect_all_free();
}

TEST(BatchDriver, LogitsThatNobodyWantsAreLeftOut) {
  std::mt19937_64 random(32);
  BatchCapacities shape = usual;
  shape.logit_panels = 16;
  Batch batch(shape);
  const std::vector<int32_t> first = random_tokens(random, 20),
                             second = random_tokens(random, 30);
  batch.run({make_choices("a", first, {0, 15, 16}, true),
             make_choices("b", second, {255}, true)});
  BatchCounts counts = batch.driver->counts();
  EXPECT_EQ(counts.steps, 1u);
  EXPECT_EQ(counts.logit_panels, 16u);
  EXPECT_EQ(counts.left_out_panels, 13u);
  // Whoever wants more has all of them computed, for all; and behind such a
  // step they are left out again.
  batch.run({make_choices("c", first, {0, 15}, true),
             make_choices("d", second, {17, 3}),
             make_request("e", random_tokens(random, 5), 3)});
  batch.run({make_choices("f", first, {40, 41, 42}, true)});
  counts = batch.driver->counts();
  EXPECT_EQ(counts.steps, 1u + 3 + 1);
  EXPECT_EQ(counts.logit_panels, 5u * 16);
  EXPECT_EQ(counts.left_out_panels, 13u + 15);
  // A program that computes all says so.
  Batch whole(usual);
  whole.run({make_choices("a", first, {0, 15, 16}, true)});
  EXPECT_EQ(whole.driver->counts().logit_panels, 0u);
}

TEST(BatchDriver, ChoicesArePreemptedBesideOthers) {
  std::mt19937_64 random(33);
  BatchCapacities shape = {64, 16, 16, 1200, 1208, 8, 256};
  shape.logit_panels = 16;
  Batch batch(shape);
  std::vector<BatchRequest> requests;
  for (int i = 0; i < 12; ++i) {
    const std::string id = std::to_string(i);
    std::vector<int32_t> prompt = random_tokens(random, 60 + 20 * i);
    if (i % 3 == 0)
      requests.push_back(make_request(id, std::move(prompt), 90));
    else
      requests.push_back(make_choices(id, std::move(prompt),
                                      random_tokens(random, 1 + 20 * i),
                                      i % 3 == 1));
  }
  batch.run(requests);
  EXPECT_GT(batch.driver->counts().preemptions, 0u);
  EXPECT_GT(batch.driver->counts().left_out_panels, 0u);
  batch.expect_all_free();
}

TEST(BatchDriver, ChoicesBehindLogitsThatAreNotFinite) {
  for (bool only : {false, true}) {
    Batch batch(usual);
    ASSERT_TRUE(
        batch.submit(make_choices("bad", {1, 2, test::poison}, {4}, only)));
    batch.run({make_choices("good", {1, 2}, {4, test::poison}, only)});
    const BatchChoice &choice = batch.results.at("bad").choices.front();
    EXPECT_EQ(choice.finish, BatchFinish::Error);
    EXPECT_EQ(choice.error, "logits at position 3 are not finite");
  }
}

TEST(BatchDriver, RefusesChoicesThatItCannotCompare) {
  Batch batch(usual);
  auto expect = [&](BatchRequest request, const std::string &text) {
    try {
      batch.submit(std::move(request));
      ADD_FAILURE() << text;
    } catch (const Error &error) {
      EXPECT_EQ(error.what(), text);
    }
  };
  const std::string alone = "choices: nothing else is made of their prompts";
  BatchRequest request = make_choices("", {1, 2}, {3});
  request.max_new_tokens = 1;
  expect(request, alone);
  request.max_new_tokens = 0;
  request.score_from = 1;
  expect(request, alone);
  request.score_from = {};
  request.n = 2;
  expect(request, alone);
  expect(make_choices("", {1, 2}, {3, 256}),
         "choices: token 256 is outside the model's vocabulary of 256 tokens");
  expect(make_choices("", {1, 2}, std::vector<int32_t>(257)),
         "choices: 257 tokens, expected at most 256");
  expect(make_choices("", std::vector<int32_t>(1201), {3}),
         "prompt: 1201 tokens do not fit into the program's 1200 positions; "
         "compile with a larger --max-seq");
}

TEST(BatchDriver, ContinuationsThatAreScoredShareTheirContext) {
  std::mt19937_64 random(12);
  for (size_t context : {512u, 513u, 530u}) {
    std::vector<int32_t> common = random_tokens(random, context);
    std::vector<BatchRequest> requests;
    for (size_t more : {3u, 1u, 70u}) {
      std::vector<int32_t> prompt = common;
      for (int32_t token : random_tokens(random, more))
        prompt.push_back(token);
      requests.push_back(
          make_score(std::to_string(more), std::move(prompt), context));
    }
    Batch batch({64, 64, 16, 1200, 1208, 100, 256});
    batch.run(requests);
    // Of its full pages, but for the row before the first token that is scored.
    const uint64_t shared = (context - 1) / 64 * 64, rest = context - shared;
    BatchCounts counts = batch.driver->counts();
    EXPECT_EQ(counts.prompt_tokens, shared + 3 * (rest - 1) + 3 + 1 + 70);
    EXPECT_EQ(counts.cached_tokens, 2 * shared);
    EXPECT_EQ(counts.recomputed, 0u);
    EXPECT_EQ(batch.results.at("1").cached_tokens, shared);
    batch.expect_all_free();
    // What is scored is computed, whoever was there before.
    batch.results.clear();
    batch.run({requests[2]});
    EXPECT_EQ(batch.results.at("70").cached_tokens, shared);
  }
}

/// Of a text that is only scored the last position is not computed: whoever
/// needs the page computes it, and does not wait.
BatchRequest make_embedded(std::string id, std::vector<int32_t> prompt,
                           Pooling pooling) {
  BatchRequest request = make_request(std::move(id), std::move(prompt), 0);
  request.pooling = pooling;
  return request;
}

constexpr BatchCapacities embedding = {64, 16, 16, 1200, 1208, 100, 256, 24};

TEST(BatchDriver, EmbeddingsAreOfAllRows) {
  std::mt19937_64 random(21);
  const std::vector<int32_t> prompt = random_tokens(random, 200);
  for (uint32_t chunk : {0, 1, 7}) {
    Batch batch(embedding, {.prefill_chunk = chunk});
    std::vector<BatchRequest> requests;
    for (Pooling pooling : {Pooling::Mean, Pooling::Last, Pooling::None})
      requests.push_back(
          make_embedded(std::to_string(requests.size()), prompt, pooling));
    requests.push_back(make_embedded("one", {17}, Pooling::Mean));
    for (const BatchRequest &request : requests)
      ASSERT_TRUE(batch.submit(request));
    batch.model.run(*batch.driver);
    for (const BatchRequest &request : requests) {
      const BatchResult &result = batch.results.at(request.id);
      EXPECT_EQ(result.embedding, test::embed_alone(request, embedding))
          << request.id;
      EXPECT_EQ(result.choices[0].finish, BatchFinish::Stop);
      EXPECT_TRUE(result.choices[0].tokens.empty());
      EXPECT_EQ(result.prompt_tokens, request.prompt.size());
    }
    EXPECT_EQ(batch.driver->counts().generated_tokens, 0u);
    batch.expect_all_free();
  }
}

TEST(BatchDriver, OnlyTheLastHiddenStateMayLieBehindPagesThatWereFound) {
  std::mt19937_64 random(22);
  const std::vector<int32_t> prompt = random_tokens(random, 129);
  Batch batch(embedding);
  batch.run({make_request("first", prompt, 2)});
  for (auto [pooling, found] : {std::pair(Pooling::Last, 128u),
                                {Pooling::Mean, 0u},
                                {Pooling::None, 0u}}) {
    const std::string id = std::to_string(int(pooling));
    const BatchRequest request = make_embedded(id, prompt, pooling);
    ASSERT_TRUE(batch.submit(request));
    batch.model.run(*batch.driver);
    EXPECT_EQ(batch.results.at(id).cached_tokens, found) << id;
    EXPECT_EQ(batch.results.at(id).embedding,
              test::embed_alone(request, embedding))
        << id;
  }
  batch.expect_all_free();
}

TEST(BatchDriver, TextsThatAreEmbeddedArePreemptedBesideOthers) {
  std::mt19937_64 random(23);
  BatchCapacities shape = embedding;
  shape.pages = 9;
  uint64_t preemptions = 0;
  for (int round = 0; round < 40; ++round) {
    Batch batch(shape, {.prefill_chunk = uint32_t(round % 3) * 5 + 3});
    std::vector<BatchRequest> requests;
    for (int i = 0; i < 12; ++i) {
      const std::string id = std::to_string(i);
      std::vector<int32_t> prompt = random_tokens(random, 1 + random() % 300);
      requests.push_back(
          i % 3 == 0
              ? make_request(id, random_tokens(random, 60), 130)
              : make_embedded(id, prompt, static_cast<Pooling>(random() % 3)));
      ASSERT_TRUE(batch.submit(requests.back()));
    }
    batch.model.run(*batch.driver);
    for (const BatchRequest &request : requests) {
      if (!request.is_embedded()) {
        batch.expect_right(request);
        continue;
      }
      EXPECT_EQ(batch.results.at(request.id).embedding,
                test::embed_alone(request, shape))
          << request.id;
    }
    preemptions += batch.driver->counts().preemptions;
    batch.expect_all_free();
  }
  EXPECT_GT(preemptions, 40u);
}

TEST(BatchDriver, HiddenStatesThatAreNotFiniteEndOneText) {
  Batch batch(embedding);
  BatchRequest bad = make_embedded("bad", {1, test::poison, 3}, Pooling::Mean);
  BatchRequest good = make_embedded("good", {1, 2, 3}, Pooling::Mean);
  ASSERT_TRUE(batch.submit(bad));
  ASSERT_TRUE(batch.submit(good));
  batch.model.run(*batch.driver);
  EXPECT_EQ(batch.results.at("bad").choices[0].error,
            "hidden states are not finite");
  EXPECT_EQ(batch.results.at("good").embedding,
            test::embed_alone(good, embedding));
}

TEST(BatchDriver, RefusesEmbeddingsThatItCannotMake) {
  Batch batch(embedding), without(usual);
  auto expect = [&](Batch &of, const BatchRequest &request,
                    const std::string &text) {
    try {
      of.submit(request);
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error &failure) {
      EXPECT_EQ(failure.what(), text);
    }
  };
  BatchRequest request = make_embedded("a", {1, 2}, Pooling::Mean);
  expect(without, request,
         "embeddings: this program makes none; compile with --embeddings");
  expect(batch, make_embedded("a", std::vector<int32_t>(1201), Pooling::Last),
         "prompt: 1201 tokens do not fit into the program's 1200 positions; "
         "compile with a larger --max-seq");
  request.n = 2;
  expect(batch, request, "embeddings: nothing else is made of their texts");
  request = make_embedded("all", std::vector<int32_t>(1200), Pooling::Last);
  ASSERT_TRUE(batch.submit(request));
  batch.model.run(*batch.driver);
  EXPECT_EQ(batch.results.at("all").embedding,
            test::embed_alone(request, embedding));
}

TEST(BatchDriver, NobodyWaitsForAPageThatDoesNotGetFull) {
  std::mt19937_64 random(15);
  std::vector<int32_t> page = random_tokens(random, 64), more = page;
  more.push_back(1);
  more.push_back(2);
  Batch batch({300, 64, 16, 1200, 1208, 100, 256});
  batch.run({make_score("page", page, 60), make_score("more", more, 65)});
  EXPECT_EQ(batch.driver->counts().steps, 1u);
  EXPECT_EQ(batch.driver->counts().rows, 63u + 65);
}

TEST(BatchDriver, ScoresAndContinuesAtOnce) {
  std::mt19937_64 random(13);
  BatchRequest both = make_score("both", random_tokens(random, 80), 60);
  both.max_new_tokens = 7;
  both.n = 3;
  both.sampling.temperature = 1;
  both.sampling.repetition_penalty = 1.5;
  both.sampling.logit_bias = {{3, 5}};
  both.logprobs = 2;
  Batch batch(usual);
  batch.run({both});
  EXPECT_EQ(batch.driver->counts().scored_tokens, 20u);
  EXPECT_EQ(batch.driver->counts().generated_tokens, 21u);
}

TEST(BatchDriver, TextsThatDecodeAndTextsThatAreScoredShareRowsWithLogits) {
  std::mt19937_64 random(14);
  BatchCapacities shape = usual;
  shape.max_outputs = 3;
  PagedModel model(shape);
  std::vector<std::string> finished;
  BatchDriver driver(shape, model.inputs(), {},
                     {.on_result = [&](BatchResult &&result) {
                       finished.push_back(result.request.id);
                     }});
  auto submit = [&](BatchRequest request) {
    ASSERT_TRUE(driver.submit(std::move(request)));
  };
  for (int i = 0; i < 4; ++i)
    submit(make_request(std::to_string(i), random_tokens(random, 5), 100));
  submit(make_score("score", random_tokens(random, 30), 1));
  for (int i = 4; i < 8; ++i)
    submit(make_request(std::to_string(i), random_tokens(random, 5), 100));
  model.run(driver);
  ASSERT_EQ(finished.size(), 9u);
  // With a third of a row in each step: long before texts of 100 tokens.
  EXPECT_EQ(finished.front(), "score");
}

TEST(BatchDriver, TextsEnd) {
  std::mt19937_64 random(5);
  std::vector<int32_t> prompt = random_tokens(random, 30);
  BatchRequest request = make_request("all", prompt, 40);
  request.logprobs = 3;
  std::vector<int32_t> tokens = test::continue_alone(request, 0, usual).tokens;
  BatchRequest stops = make_request("stops", prompt, 40);
  stops.stop_tokens = {tokens[7], tokens[20]};
  // Bytes that are text.
  size_t place = 10;
  while (tokens[place] > 127 || tokens[place + 1] > 127)
    ++place;
  ASSERT_LT(place, 39u);
  BatchRequest text = make_request("text", prompt, 40);
  text.stop_strings = {
      "none of it",
      {static_cast<char>(tokens[place]), static_cast<char>(tokens[place + 1])}};
  BatchRequest long_one = make_request("long", prompt, 100000);
  Batch batch(usual);
  batch.run({request, stops, text, long_one});
  EXPECT_EQ(batch.results.at("stops").choices[0].finish, BatchFinish::Stop);
  EXPECT_EQ(batch.results.at("stops").choices[0].tokens.size(), 8u);
  EXPECT_EQ(batch.results.at("text").choices[0].finish, BatchFinish::Stop);
  EXPECT_EQ(batch.results.at("text").choices[0].tokens.size(), place + 2);
  EXPECT_EQ(batch.results.at("long").choices[0].tokens.size(), 1170u);
  EXPECT_EQ(batch.results.at("all").choices[0].logprobs.size(), 160u);
}

TEST(BatchDriver, LogitsThatAreNotFiniteEndOneText) {
  std::mt19937_64 random(6);
  BatchRequest bad = make_request("bad", {1, test::poison, 2}, 10);
  bad.n = 2;
  Batch batch(usual);
  batch.run({make_request("a", random_tokens(random, 10), 10), bad,
             make_request("b", random_tokens(random, 70), 10)});
  for (const BatchChoice &choice : batch.results.at("bad").choices) {
    EXPECT_EQ(choice.finish, BatchFinish::Error);
    EXPECT_EQ(choice.error, "logits at position 3 are not finite");
  }
  EXPECT_EQ(batch.results.at("b").choices[0].tokens.size(), 10u);
  batch.expect_all_free();
}

/// The other continuations do not wait for one that ends within the prompt.
TEST(BatchDriver, AFaultWithinThePromptIsOfOneContinuation) {
  std::mt19937_64 random(20);
  std::vector<int32_t> prompt = random_tokens(random, 200);
  prompt[20] = test::poison;
  BatchRequest request = make_score("bad", prompt, 3);
  request.max_new_tokens = 4;
  request.n = 3;
  Batch batch({16, 16, 16, 1200, 1208, 100, 256});
  ASSERT_TRUE(batch.submit(request));
  batch.model.run(*batch.driver);
  ASSERT_TRUE(batch.driver->idle());
  batch.expect_right(request);
}

TEST(BatchDriver, RefusesWhatDoesNotFit) {
  Batch batch({64, 16, 16, 1200, 1208, 4, 256});
  auto expect = [&](const BatchRequest &request, const std::string &text) {
    try {
      batch.submit(request);
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error &failure) {
      EXPECT_EQ(failure.what(), text);
    }
    EXPECT_FALSE(batch.driver->has_work());
  };
  expect(make_request("", {}, 1), "prompt: there is no token; give at least "
                                  "one");
  expect(make_request("", {1, 256}, 1),
         "prompt: token 256 is outside the model's vocabulary of 256 tokens");
  expect(make_request("", std::vector<int32_t>(1200), 1),
         "prompt: 1200 tokens and a new one do not fit into the program's 1200 "
         "positions; compile with a larger --max-seq");
  expect(make_request("", std::vector<int32_t>(200), 58),
         "prompt: its 200 tokens and those behind it take 5 pages of 64 "
         "positions, and there are 4; give a larger --kv-memory or a smaller "
         "max_new_tokens");
  expect(make_request("", {1}, 0), "max_new_tokens: expected at least 1");
  for (uint64_t from : {uint64_t(0), uint64_t(3), ~uint64_t(0)})
    expect(make_score("", {1, 2, 3}, from),
           "score_from: expected 1 to 2, the last of the 3 tokens");
  expect(make_score("", {1}, 1),
         "prompt_logprobs: the first token has none; give a second one");
  expect(make_score("", std::vector<int32_t>(1202), 1),
         "prompt: 1202 tokens do not fit into the program's 1200 positions; "
         "compile with a larger --max-seq");
  expect(make_score("", std::vector<int32_t>(258), 1),
         "prompt: its 258 tokens take 5 pages of 64 positions, and there are "
         "4; give a larger --kv-memory");
  BatchRequest score = make_score("", {1, 2}, 1);
  score.n = 2;
  expect(score, "n: expected 1 beside max_new_tokens 0, where nothing is "
                "generated");
  score.n = 1;
  score.score_likely = 21;
  expect(score, "prompt_logprobs: expected 0 to 20");
  BatchRequest request = make_request("", {1}, 1);
  request.n = 0;
  expect(request, "n: expected 1 to 128");
  request.n = 1;
  request.logprobs = 21;
  expect(request, "logprobs: expected 0 to 20");
  request.logprobs = 20;
  request.sampling.logit_bias = {{300, 1}};
  expect(request,
         "logit_bias: token 300 is outside the model's vocabulary of 256 "
         "tokens");
  batch.run({make_request("fits", std::vector<int32_t>(200), 57),
             make_score("too", std::vector<int32_t>(257), 250)});
  Batch small({64, 16, 16, 70, 78, 4, 256});
  small.run({make_score("all", std::vector<int32_t>(71), 1)});
}

TEST(BatchDriver, TakesNoMoreThanItsCapacity) {
  Batch batch(usual, {.capacity = 3});
  std::vector<BatchRequest> requests;
  for (int i = 0; i < 4; ++i)
    requests.push_back(make_request(std::to_string(i), {i}, 3));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(batch.submit(requests[size_t(i)]));
  EXPECT_FALSE(batch.driver->submit(std::move(requests[3])));
  EXPECT_EQ(requests[3].id, "3");
  batch.model.run(*batch.driver);
  EXPECT_EQ(batch.results.size(), 3u);
  EXPECT_TRUE(batch.submit(requests[3]));
  EXPECT_TRUE(batch.driver->has_work());
  batch.model.run(*batch.driver);
  for (const BatchRequest &request : requests)
    batch.expect_right(request);
  batch.driver->close();
  EXPECT_THROW(batch.submit(requests[3]), Error);
}

TEST(BatchDriver, APoolThatIsTooSmallPreempts) {
  std::mt19937_64 random(7);
  // Four texts of two pages begin, and each comes to need four.
  Batch batch({64, 16, 16, 1200, 1208, 8, 256});
  std::vector<BatchRequest> requests;
  for (int i = 0; i < 6; ++i)
    requests.push_back(
        make_request(std::to_string(i), random_tokens(random, 100), 120));
  batch.run(requests);
  BatchCounts counts = batch.driver->counts();
  EXPECT_GT(counts.preemptions, 0u);
  EXPECT_GT(counts.recomputed, 0u);
  EXPECT_EQ(counts.prompt_tokens, 600u);
  EXPECT_EQ(counts.rows, 600u + 6 * 119 + counts.recomputed);
  batch.expect_all_free();
}

TEST(BatchDriver, TextsTakeTurnsWhereThereAreFewLogits) {
  std::mt19937_64 random(10);
  BatchCapacities shape = usual;
  shape.max_outputs = 2;
  PagedModel model(shape);
  std::map<std::string, size_t> generated;
  size_t finished = 0;
  BatchDriver driver(
      shape, model.inputs(), {},
      {.on_result = [&](BatchResult &&) { ++finished; },
       .on_token =
           [&](const BatchRequest &request, uint32_t, int32_t,
               std::span<const TokenLogprob>) { ++generated[request.id]; }});
  for (int i = 0; i < 5; ++i) {
    generated[std::to_string(i)] = 0;
    ASSERT_TRUE(driver.submit(
        make_request(std::to_string(i), random_tokens(random, 5), 20)));
  }
  model.run(driver, [&] {
    if (finished)
      return;
    size_t least = 20, most = 0;
    for (auto [id, count] : generated) {
      least = std::min(least, count);
      most = std::max(most, count);
    }
    EXPECT_LE(most - least, 3u);
  });
  EXPECT_EQ(finished, 5u);
}

TEST(BatchDriver, AProgramThatWasStoppedGoesOn) {
  std::mt19937_64 random(8);
  Batch batch(usual);
  std::vector<BatchRequest> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(
        make_request(std::to_string(i), random_tokens(random, 90), 20));
    if (i % 3 == 1)
      requests.back().constraint = test::multiples_of(i);
    if (i % 3 == 2)
      requests.back().sampling.repetition_penalty = 1.5;
    ASSERT_TRUE(batch.submit(requests.back()));
  }
  // The driver is not told of the last step.
  for (int i = 0; i < 30; ++i) {
    BatonStep step = batch.driver->begin({});
    ASSERT_GT(step.rows, 0u);
    batch.model.compute(step);
    if (i % 2)
      batch.driver->finish();
    batch.model.forget_inputs();
  }
  batch.model.run(*batch.driver);
  for (const BatchRequest &request : requests)
    batch.expect_right(request);
}

struct Case {
  BatchCapacities shape;
  BatchOptions options;
};

std::vector<Case> cases() {
  return {
      {{256, 64, 64, 400, 408, 500, 256}, {}},
      // Small steps, few outputs, few lines.
      {{7, 3, 10, 400, 408, 60, 256}, {}},
      {{1, 1, 4, 400, 408, 20, 256}, {}},
      {{64, 64, 2, 400, 408, 30, 256}, {.prefill_chunk = 5}},
      {{5, 5, 32, 400, 408, 200, 256}, {.prefill_chunk = 2}},
      // Pools that preempt.
      {{64, 16, 16, 400, 408, 7, 256}, {}},
      {{64, 16, 16, 400, 408, 12, 256}, {.prefill_chunk = 17}},
      {{33, 9, 16, 400, 408, 9, 256}, {.prefix_cache = false}},
      {{300, 40, 40, 400, 408, 40, 256}, {}},
      // Guesses, in steps with much room and with little, and few pages.
      {{64, 64, 4, 400, 408, 60, 256}, {.prompt_lookup = 8}},
      {{300, 40, 3, 400, 408, 10, 256}, {.prompt_lookup = 30}},
      {{33, 5, 3, 400, 408, 9, 256},
       {.prefix_cache = false, .prompt_lookup = 3}},
      {{64, 2, 2, 400, 408, 20, 256}, {.prefill_chunk = 5, .prompt_lookup = 8}},
  };
}

/// Some of the prompt, or all of it; half of those generate nothing.
void score(std::mt19937_64 &random, BatchRequest &request) {
  const uint64_t most = request.prompt.size() - 1;
  request.score_from = 1 + random() % (random() % 2 ? most : 1);
  if (random() % 2)
    request.score_from = most - random() % std::min<uint64_t>(most, 8);
  request.score_likely = static_cast<uint32_t>(random() % 4);
  if (random() % 2) {
    request.max_new_tokens = 0;
    request.n = 1;
  }
}

/// Prompts that often begin alike, with all kinds of options.
BatchRequest random_request(std::mt19937_64 &random, int number,
                            const std::vector<std::vector<int32_t>> &texts) {
  const std::vector<int32_t> &text = texts[random() % texts.size()];
  std::vector<int32_t> prompt(
      text.begin(),
      text.begin() + static_cast<ptrdiff_t>(random() % (text.size() + 1)));
  for (int32_t token : random_tokens(random, 1 + random() % 40))
    prompt.push_back(token);
  BatchRequest request = make_request(std::to_string(number), prompt,
                                      1 + random() % (random() % 4 ? 60 : 160));
  SamplingOptions &sampling = request.sampling;
  sampling.seed = random();
  if (random() % 2)
    sampling.temperature = 0.7;
  if (random() % 4 == 0)
    sampling.top_k = 1 + random() % 30;
  if (random() % 4 == 0)
    sampling.min_p = 0.3;
  if (random() % 4 == 0) {
    sampling.repetition_penalty = 1.3;
    sampling.frequency_penalty = 0.5;
    sampling.logit_bias = {{3, 2}, {5, -1}};
  }
  // Of few tokens texts repeat themselves.
  if (sampling.logit_bias.empty() && random() % 2)
    for (int32_t more = 1 + int32_t(random() % 4); more; --more)
      sampling.logit_bias.push_back({int32_t(random() % 40) + 40 * more, 20});
  if (random() % 4 == 0)
    request.n = 1 + static_cast<uint32_t>(random() % 4);
  if (random() % 4 == 0)
    request.logprobs = static_cast<uint32_t>(random() % 4);
  if (random() % 3 == 0)
    request.stop_tokens = random_tokens(random, 20);
  if (random() % 5 == 0)
    request.constraint =
        random() % 2 ? test::multiples_of(1 + int32_t(random() % 100))
                     : test::just(random_tokens(random, 1 + random() % 50));
  if (random() % 40 == 0)
    request.prompt.push_back(test::poison);
  if (request.prompt.size() > 1 && random() % 3 == 0)
    score(random, request);
  return request;
}

/// Of so many requests in each case. Where pages are few some of what is
/// counted is rare.
void expect_texts_as_alone(size_t usual, size_t of_few_pages) {
  uint64_t seed = 0;
  for (const Case &tested : cases()) {
    const size_t count = tested.shape.pages <= 20 ? of_few_pages : usual;
    SCOPED_TRACE("case " + std::to_string(seed));
    std::mt19937_64 random(++seed);
    std::vector<std::vector<int32_t>> texts;
    for (int i = 0; i < 4; ++i)
      texts.push_back(random_tokens(random, 260));
    // Two that part in the middle.
    texts[1] = texts[0];
    texts[1][130] ^= 1;

    Batch batch(tested.shape, tested.options);
    std::vector<BatchRequest> requests;
    for (size_t i = 0; i < count; ++i)
      requests.push_back(random_request(random, static_cast<int>(i), texts));
    size_t next = 0;
    auto arrive = [&] {
      if (random() % 3 == 0)
        for (uint64_t more = random() % 12; more && next < count; --more)
          if (batch.submit(requests[next]) && ++next % 8 == 0)
            batch.driver->cancel(std::to_string(next - 1 - random() % 20));
    };
    while (next < count || batch.driver->has_work()) {
      arrive();
      batch.model.run(*batch.driver, arrive);
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    EXPECT_EQ(batch.results.size(), count);
    uint64_t cancelled = 0, generated = 0, scored = 0;
    for (const BatchRequest &request : requests) {
      batch.expect_right(request);
      scored += batch.results.at(request.id).scores.size() /
                (1 + request.score_likely);
      for (const BatchChoice &choice : batch.results.at(request.id).choices) {
        cancelled += choice.finish == BatchFinish::Cancelled;
        generated += choice.tokens.size();
      }
    }
    EXPECT_GT(cancelled, 0u);
    EXPECT_LT(cancelled, count / 2);
    BatchCounts counts = batch.driver->counts();
    EXPECT_EQ(counts.generated_tokens, generated);
    // Each once, also of texts that were computed again.
    EXPECT_EQ(counts.scored_tokens, scored);
    EXPECT_EQ(counts.cached_tokens > 0, tested.options.prefix_cache);
    EXPECT_EQ(counts.right_guesses > 0, tested.options.prompt_lookup > 0);
    EXPECT_EQ(counts.guessed_tokens > counts.right_guesses,
              tested.options.prompt_lookup > 0);
    if (tested.shape.pages < 13) {
      EXPECT_GT(counts.preemptions, 0u);
    }
    batch.expect_all_free();
  }
}

TEST(BatchDriver, TextsAreWhatTheyAreAloneWhoeverComesAndGoes) {
  expect_texts_as_alone(60, 300);
}
TEST(BatchDriver, ThousandsOfTextsAreWhatTheyAreAlone) {
  expect_texts_as_alone(300, 300);
}

/// A request whose texts are of these tokens.
BatchRequest make_of(std::string id, const std::vector<int32_t> &tokens,
                     uint64_t max_new_tokens) {
  BatchRequest request = make_request(std::move(id), {1, 2}, max_new_tokens);
  for (int32_t token : tokens)
    request.sampling.logit_bias.push_back({token, 50});
  return request;
}

TEST(BatchDriver, TextsThatRepeatThemselvesTakeFewerSteps) {
  const BatchRequest request = make_of("one", {7}, 90);
  for (uint32_t most : {0u, 1u, 8u}) {
    Batch batch(usual, {.prompt_lookup = most});
    batch.run({request});
    const BatchCounts counts = batch.driver->counts();
    EXPECT_EQ(counts.steps, 90 - counts.right_guesses);
    // No row is for nothing: the last token is known to be the last.
    EXPECT_EQ(counts.guessed_tokens, counts.right_guesses);
    EXPECT_EQ(counts.rows, 2u + 89);
    EXPECT_EQ(counts.generated_tokens, 90u);
    // Two tokens have to stand there twice.
    EXPECT_EQ(counts.steps, most == 0 ? 90u : most == 1 ? 3u + 44 : 14u);
    batch.expect_all_free();
  }
}

TEST(BatchDriver, GuessesAreForTextsWhoseRowsNeedNothingElse) {
  std::vector<BatchRequest> requests(3, make_of("constrained", {7}, 40));
  requests[0].constraint = test::multiples_of(7);
  requests[1].id = "penalty";
  requests[1].sampling.presence_penalty = 0.1;
  requests[2].id = "scored";
  requests[2].prompt = std::vector<int32_t>(90, 7);
  requests[2].max_new_tokens = 0;
  requests[2].score_from = 1;
  for (const BatchRequest &request : requests) {
    Batch batch(usual, {.prompt_lookup = 8});
    batch.run({request});
    EXPECT_EQ(batch.driver->counts().guessed_tokens, 0u) << request.id;
  }
}

TEST(BatchDriver, OtherThreadsMaySubmitAndCancel) {
  std::mt19937_64 random(9);
  std::vector<std::vector<int32_t>> texts = {random_tokens(random, 200)};
  std::vector<BatchRequest> requests;
  for (int i = 0; i < 200; ++i)
    requests.push_back(random_request(random, i, texts));
  Batch batch({32, 8, 8, 400, 408, 20, 256}, {.capacity = 20});
  std::atomic<bool> done = false;
  std::thread client([&] {
    for (size_t i = 0; i < requests.size(); ++i) {
      while (!batch.submit(requests[i]))
        std::this_thread::yield();
      if (i % 7 == 0)
        batch.driver->cancel(std::to_string(i / 2));
    }
    batch.driver->close();
    done = true;
  });
  while (!done || batch.driver->has_work())
    batch.model.run(*batch.driver);
  client.join();
  EXPECT_EQ(batch.results.size(), requests.size());
  for (const BatchRequest &request : requests)
    batch.expect_right(request);
  batch.expect_all_free();
}

} // namespace
} // namespace baton

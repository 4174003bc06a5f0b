//===- GenerationTest.cpp - prompts continued by the toy program ---------===//

#include "runtime/decode/generation.h"

#include "../execute/toy_program.h"
#include "runtime/decode/output_queue.h"
#include "runtime/error.h"
#include "runtime/execute/host_execution.h"

#include <gtest/gtest.h>

#include <thread>

namespace baton {
namespace {

using namespace std::chrono_literals;

class GenerationTest : public ::testing::Test {
protected:
  std::vector<int32_t> run(GenerationRequest request, unsigned workers = 1,
                           uint32_t event_origin = 0) {
    HostExecution execution(metadata, parameters, {workers, event_origin});
    Generation generation(std::move(request));
    toy::take_steps();
    execution.run(generation);
    reason = generation.finish_reason();
    return generation.new_tokens();
  }

  static GenerationRequest request(std::vector<int32_t> prompt,
                                   uint64_t max_new_tokens,
                                   uint32_t chunk = toy::max_rows) {
    GenerationRequest result;
    result.prompt = std::move(prompt);
    result.max_new_tokens = max_new_tokens;
    result.prefill_chunk = chunk;
    return result;
  }

  Metadata metadata = Metadata::parse(toy::metadata());
  std::vector<float> bias = std::vector<float>(toy::vocabulary);
  const void *parameters[1] = {bias.data()};
  FinishReason reason = FinishReason::Stop;
  const std::vector<int32_t> prompt = {5, 1, 4, 1, 5, 9, 2, 6, 5, 3,
                                       5, 8, 9, 7, 9, 3, 2, 3, 8};
};

TEST_F(GenerationTest, FollowsTheModel) {
  EXPECT_EQ(run(request(prompt, 12)), toy::greedy(prompt, 12));
  EXPECT_EQ(reason, FinishReason::Length);
  EXPECT_EQ(run(request({17}, 1)), toy::greedy({17}, 1));
}

TEST_F(GenerationTest, ChunksChangeNothing) {
  for (uint32_t chunk = 1; chunk <= toy::max_rows; ++chunk)
    EXPECT_EQ(run(request(prompt, 9, chunk)), toy::greedy(prompt, 9))
        << "chunks of " << chunk;
}

TEST_F(GenerationTest, WorkersChangeNothing) {
  for (unsigned workers : {2u, 3u, 7u})
    EXPECT_EQ(run(request(prompt, 9), workers), toy::greedy(prompt, 9))
        << workers << " workers";
}

TEST_F(GenerationTest, EventWordsMayWrap) {
  for (uint32_t origin : {~0u, ~0u - 3, ~0u - 20, 0x7ffffffeu})
    for (unsigned workers : {1u, 3u})
      EXPECT_EQ(run(request(prompt, 12), workers, origin),
                toy::greedy(prompt, 12))
          << "origin " << origin;
}

TEST_F(GenerationTest, OnlyTheLastChunkHasOutputs) {
  run(request(prompt, 3, 8));
  std::vector<BatonStep> steps = toy::take_steps();
  std::vector<std::vector<uint32_t>> shapes;
  for (const BatonStep &step : steps)
    shapes.push_back({step.rows, step.past, step.outputs});
  std::vector<std::vector<uint32_t>> expected = {
      {8, 0, 0}, {8, 8, 0}, {3, 16, 1}, {1, 19, 1}, {1, 20, 1}};
  EXPECT_EQ(shapes, expected);
}

TEST_F(GenerationTest, EndsBehindAStopToken) {
  GenerationRequest wanted = request({240}, 50);
  wanted.stop_tokens = {999, toy::end_of_text};
  std::vector<int32_t> expected = {241, 242, 243, 244, 245, 246,
                                   247, 248, 249, 250, 2};
  EXPECT_EQ(run(wanted), expected);
  EXPECT_EQ(reason, FinishReason::Stop);
  // At the last token allowed, the stop token still counts.
  wanted.max_new_tokens = 11;
  EXPECT_EQ(run(wanted), expected);
  EXPECT_EQ(reason, FinishReason::Stop);
}

TEST_F(GenerationTest, FillsEveryPosition) {
  uint64_t room = toy::max_seq - prompt.size();
  EXPECT_EQ(run(request(prompt, room + 1)), toy::greedy(prompt, room + 1));
  std::vector<int32_t> full(toy::max_seq, 3);
  EXPECT_EQ(run(request(full, 1)), toy::greedy(full, 1));
}

TEST_F(GenerationTest, MoreTokensThanPositionsAreAnErrorNotACrash) {
  std::vector<int32_t> full(toy::max_seq, 3);
  EXPECT_THROW(run(request(full, 2)), std::logic_error);
}

TEST_F(GenerationTest, SeedsRepeatForAnyWorkersAndChunks) {
  GenerationRequest wanted = request(prompt, 20);
  wanted.sampling.temperature = 1;
  wanted.sampling.seed = 42;
  std::vector<int32_t> first = run(wanted);
  EXPECT_NE(first, toy::greedy(prompt, 20));
  wanted.prefill_chunk = 3;
  EXPECT_EQ(run(wanted, 3), first);
  wanted.sampling.seed = 43;
  EXPECT_NE(run(wanted), first);
}

TEST_F(GenerationTest, OneExecutionRunsManyTimes) {
  HostExecution execution(metadata, parameters, {3, ~0u - 5});
  for (int i = 0; i < 20; ++i) {
    std::vector<int32_t> text = {i, 2 * i, 3 * i};
    Generation generation(request(text, 7, 2));
    execution.run(generation);
    EXPECT_EQ(generation.new_tokens(), toy::greedy(text, 7));
  }
}

TEST_F(GenerationTest, AnErrorEndsTheProgramAndIsRethrown) {
  HostExecution execution(metadata, parameters, {2});
  bool finished = false;
  Generation failing(request({1, 2, 258}, 5),
                     {.on_finish = [&] { finished = true; }});
  try {
    execution.run(failing);
    ADD_FAILURE() << "no error";
  } catch (const Error &failure) {
    EXPECT_STREQ(failure.what(), "logits at position 3 are not finite");
  }
  EXPECT_TRUE(finished);
  // The threads are ready for the next run.
  Generation generation(request(prompt, 4));
  execution.run(generation);
  EXPECT_EQ(generation.new_tokens(), toy::greedy(prompt, 4));
}

TEST_F(GenerationTest, AStopRequestEndsTheProgram) {
  HostExecution execution(metadata, parameters, {2});
  uint64_t tokens = 0;
  Generation generation(request({7}, 60), {.on_token = [&](int32_t) {
                          if (++tokens == 5)
                            execution.stop = true;
                        }});
  execution.run(generation);
  // The flag is looked at when the next step ends.
  EXPECT_EQ(generation.new_tokens().size(), 5u);
}

TEST_F(GenerationTest, TokensStreamThroughAQueue) {
  HostExecution execution(metadata, parameters, {2});
  TokenQueue queue;
  Generation generation(request(prompt, 30),
                        {.on_token = [&](int32_t token) { queue.push(token); },
                         .on_finish = [&] { queue.close(); }});
  execution.start(generation);
  std::vector<int32_t> all, taken;
  TokenQueue::State state;
  do {
    state = queue.take(taken, 10ms);
    all.insert(all.end(), taken.begin(), taken.end());
  } while (state == TokenQueue::State::Open);
  execution.wait();
  EXPECT_EQ(all, toy::greedy(prompt, 30));
}

TEST_F(GenerationTest, TimesAreConsistent) {
  HostExecution execution(metadata, parameters, {1});
  Generation generation(request(prompt, 10));
  execution.run(generation);
  EXPECT_EQ(generation.token_times().size(), 10u);
  EXPECT_GT(generation.prefill_seconds(), 0);
  EXPECT_GT(generation.decode_seconds(), 0);
  EXPECT_NEAR(generation.tokens_per_second() * generation.decode_seconds(), 9,
              1e-6);
  EXPECT_EQ(generation.prefilled(), prompt.size());
}

TEST_F(GenerationTest, LogitsAreHandedOutBeforeSampling) {
  HostExecution execution(metadata, parameters, {2});
  std::vector<uint64_t> positions;
  std::vector<float> last;
  Generation generation(
      request(prompt, 2),
      {.on_logits = [&](uint64_t position, std::span<const float> logits) {
        positions.push_back(position);
        last.assign(logits.begin(), logits.end());
      }});
  execution.run(generation);
  EXPECT_EQ(positions, (std::vector<uint64_t>{19, 20}));
  std::vector<int32_t> text = prompt;
  text.push_back(generation.new_tokens()[0]);
  EXPECT_EQ(last, toy::logits_after(text));
}

} // namespace
} // namespace baton

//===- StreamBatchesTest.cpp - rows, epochs, and the same after a resume --===//

#include "runtime/train/stream_batches.h"

#include "test/runtime/weights/fixture.h"

#include <algorithm>
#include <set>

namespace baton::test {
namespace {

namespace fs = std::filesystem;

struct Rows {
  std::vector<int32_t> tokens, targets, positions;
  std::vector<float> weights;

  explicit Rows(const BatchShape &shape)
      : tokens(shape.rows * shape.length, -1), targets(tokens),
        positions(tokens), weights(tokens.size(), -1) {}
};

class StreamBatchesTest : public testing::Test {
protected:
  TemporaryFolder folder;
  static constexpr uint64_t length = 4, sequences = 23;

  /// Token i is i, so that a token tells where it comes from. Three more are
  /// left over.
  Dataset numbers() {
    std::vector<uint16_t> tokens(sequences * (length + 1) + 3);
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<uint16_t>(i);
    write_file(
        folder.path / "t.u16",
        {reinterpret_cast<const char *>(tokens.data()), tokens.size() * 2});
    return Dataset::open(folder.path / "t.u16", {.vocabulary = 1000});
  }
  Dataset dataset = numbers();

  static Rows filled(const StreamBatches &batches, uint64_t step,
                     uint64_t microbatch) {
    Rows rows(batches.shape());
    batches.fill(step, microbatch, rows.tokens.data(), rows.targets.data(),
                 rows.positions.data(), rows.weights.data());
    return rows;
  }

  /// Checks the rows and returns the sequences they come from.
  static std::vector<uint64_t> sequences_of(const Rows &rows, size_t count) {
    std::vector<uint64_t> result;
    for (size_t row = 0; row < count; ++row) {
      int32_t first = rows.tokens[row * length];
      EXPECT_EQ(first % (length + 1), 0u);
      result.push_back(first / (length + 1));
      for (size_t i = 0; i < length; ++i) {
        EXPECT_EQ(rows.tokens[row * length + i], first + int32_t(i));
        EXPECT_EQ(rows.targets[row * length + i], first + int32_t(i) + 1);
        EXPECT_EQ(rows.positions[row * length + i], int32_t(i));
      }
    }
    return result;
  }

  /// Of some steps, all microbatches.
  static std::vector<uint64_t> order(const StreamBatches &batches,
                                     uint64_t first, uint64_t end) {
    std::vector<uint64_t> result;
    for (uint64_t step = first; step < end; ++step)
      for (uint64_t i = 0; i < batches.shape().accumulation; ++i)
        for (uint64_t sequence :
             sequences_of(filled(batches, step, i), batches.shape().rows))
          result.push_back(sequence);
    return result;
  }
};

TEST_F(StreamBatchesTest, EveryEpochHasEachTrainingSequenceOnce) {
  StreamBatches batches(
      dataset, {.rows = 3, .length = length, .accumulation = 2}, {.seed = 5});
  ASSERT_EQ(batches.split().training, 21u);
  ASSERT_EQ(batches.split().validation, 2u);
  std::vector<uint64_t> all = order(batches, 0, 7);
  std::vector<std::vector<uint64_t>> epochs;
  for (size_t begin = 0; begin < all.size(); begin += 21) {
    std::vector<uint64_t> epoch(all.begin() + begin, all.begin() + begin + 21);
    epochs.push_back(epoch);
    std::sort(epoch.begin(), epoch.end());
    for (uint64_t i = 0; i < 21; ++i)
      EXPECT_EQ(epoch[i], i);
  }
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_FALSE(std::is_sorted(epochs[0].begin(), epochs[0].end()));
  EXPECT_DOUBLE_EQ(batches.epochs(7), 2);
}

TEST_F(StreamBatchesTest, PartsAreTheWhole) {
  StreamBatches batches(dataset,
                        {.rows = 6, .length = length, .accumulation = 2},
                        {.seed = 5}, 0.2);
  for (uint32_t parts : {1u, 2u, 3u, 6u})
    for (uint64_t number : {0, 1, 2}) {
      // One that is not full.
      bool validates = number == 2;
      ASSERT_EQ(batches.validation_batches(), 1u);
      Rows whole(batches.shape()), joined(batches.shape());
      auto fill = [&](Rows &rows, uint64_t begin, Place part) {
        if (validates)
          batches.fill_validation(0, &rows.tokens[begin], &rows.targets[begin],
                                  &rows.positions[begin], &rows.weights[begin],
                                  part);
        else
          batches.fill(7, number, &rows.tokens[begin], &rows.targets[begin],
                       &rows.positions[begin], &rows.weights[begin], part);
      };
      fill(whole, 0, {});
      for (uint32_t part = 0; part < parts; ++part)
        fill(joined, part * 6 / parts * length, {part, parts});
      EXPECT_EQ(joined.tokens, whole.tokens);
      EXPECT_EQ(joined.targets, whole.targets);
      EXPECT_EQ(joined.positions, whole.positions);
      EXPECT_EQ(joined.weights, whole.weights);
    }
}

TEST_F(StreamBatchesTest, ASampleTellsDataApart) {
  BatchShape shape = {.rows = 3, .length = length, .accumulation = 2};
  uint64_t sample = StreamBatches(dataset, shape, {.seed = 5}).sample();
  EXPECT_EQ(StreamBatches(dataset, shape, {.seed = 6}).sample(), sample);
  std::vector<uint16_t> tokens(sequences * (length + 1) + 3);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<uint16_t>(i + (i > 60));
  write_file(
      folder.path / "o.u16",
      {reinterpret_cast<const char *>(tokens.data()), tokens.size() * 2});
  Dataset other = Dataset::open(folder.path / "o.u16", {.vocabulary = 1000});
  EXPECT_NE(StreamBatches(other, shape, {.seed = 5}).sample(), sample);
}

TEST_F(StreamBatchesTest, WeightsAddUpToOne) {
  StreamBatches batches(dataset,
                        {.rows = 3, .length = length, .accumulation = 2}, {});
  double sum = 0;
  for (uint64_t microbatch : {0, 1})
    for (float weight : filled(batches, 9, microbatch).weights) {
      EXPECT_EQ(weight, 1.0f / 24);
      sum += weight;
    }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_F(StreamBatchesTest, DependOnTheSeedOnly) {
  BatchShape shape = {.rows = 3, .length = length, .accumulation = 2};
  StreamBatches batches(dataset, shape, {.seed = 5}),
      same(dataset, shape, {.seed = 5});
  EXPECT_EQ(order(batches, 0, 20), order(same, 0, 20));
  for (uint64_t seed : {0, 4, 6})
    EXPECT_NE(order(StreamBatches(dataset, shape, {.seed = seed}), 0, 3),
              order(batches, 0, 3));
  // Epoch 1 of one seed is not epoch 0 of the next.
  std::vector<uint64_t> first = order(batches, 0, 7);
  std::vector<uint64_t> next =
      order(StreamBatches(dataset, shape, {.seed = 6}), 0, 7);
  EXPECT_FALSE(std::equal(first.begin() + 21, first.end(), next.begin()));
}

TEST_F(StreamBatchesTest, ResumeExactly) {
  BatchShape shape = {.rows = 3, .length = length, .accumulation = 2};
  StreamBatches batches(dataset, shape, {.seed = 5});
  for (uint64_t step : {1, 4, 11}) {
    StreamBatches resumed(
        dataset, shape,
        {.seed = 5, .step = step, .sequence = batches.first_sequence(step)});
    EXPECT_EQ(order(resumed, step, 20), order(batches, step, 20));
    EXPECT_EQ(resumed.first_sequence(20), batches.first_sequence(20));
  }
  // With another batch size it goes on where it was, too.
  StreamBatches larger(
      dataset, {.rows = 6, .length = length},
      {.seed = 5, .step = 4, .sequence = batches.first_sequence(4)});
  EXPECT_EQ(order(larger, 4, 9), order(batches, 4, 9));
}

TEST_F(StreamBatchesTest, BatchesLargerThanTheData) {
  StreamBatches batches(dataset, {.rows = 50, .length = length}, {});
  std::vector<uint64_t> all = order(batches, 0, 1);
  std::set<uint64_t> distinct(all.begin(), all.begin() + 21);
  EXPECT_EQ(distinct.size(), 21u);
}

TEST_F(StreamBatchesTest, ValidationIsInOrderAndComplete) {
  StreamBatches batches(dataset, {.rows = 4, .length = length}, {}, 0.3);
  ASSERT_EQ(batches.split().validation, 7u);
  ASSERT_EQ(batches.validation_batches(), 2u);
  std::vector<uint64_t> seen;
  double sum = 0;
  for (uint64_t number : {0, 1}) {
    Rows rows(batches.shape());
    batches.fill_validation(number, rows.tokens.data(), rows.targets.data(),
                            rows.positions.data(), rows.weights.data());
    for (uint64_t sequence : sequences_of(rows, number == 0 ? 4 : 3))
      seen.push_back(sequence);
    for (float weight : rows.weights)
      sum += weight;
    if (number == 0)
      continue;
    for (size_t i = 3 * length; i < 4 * length; ++i) {
      EXPECT_EQ(rows.tokens[i], 0);
      EXPECT_EQ(rows.targets[i], 0);
      EXPECT_EQ(rows.positions[i], int32_t(i % length));
      EXPECT_EQ(rows.weights[i], 0);
    }
  }
  EXPECT_EQ(seen, (std::vector<uint64_t>{16, 17, 18, 19, 20, 21, 22}));
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(StreamBatches(dataset, {.rows = 4, .length = length}, {}, 0)
                .validation_batches(),
            0u);
}

TEST_F(StreamBatchesTest, AllForValidation) {
  const auto batches =
      StreamBatches::all_for_validation(dataset, {.rows = 4, .length = length});
  EXPECT_EQ(batches.validation_batches(), 6u);
  EXPECT_EQ(batches.validation_targets(), 23u * length);
  Rows rows(batches.shape());
  batches.fill_validation(5, rows.tokens.data(), rows.targets.data(),
                          rows.positions.data(), rows.weights.data());
  EXPECT_EQ(sequences_of(rows, 3), (std::vector<uint64_t>{20, 21, 22}));
  EXPECT_EQ(rows.weights[0], 1.0f / (23 * length));
}

TEST_F(StreamBatchesTest, Refuses) {
  auto refusal = [&](const BatchShape &shape) {
    return error_of([&] { StreamBatches(dataset, shape, {}); });
  };
  expect_contains(refusal({.rows = 0, .length = 4}), "--batch");
  expect_contains(refusal({.rows = 1, .length = 4, .accumulation = 0}),
                  "--accumulate");
  expect_contains(refusal({.rows = 1, .length = 0}), "--seq");
  expect_contains(refusal({.rows = 1, .length = 118}), "fewer than");
  uint64_t many = uint64_t(1) << 40;
  expect_contains(refusal({.rows = many, .length = 4, .accumulation = many}),
                  "too many for one step");
}

} // namespace
} // namespace baton::test

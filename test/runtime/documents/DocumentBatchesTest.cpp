//===- DocumentBatchesTest.cpp - epochs of whole documents ----------------===//

#include "runtime/documents/document_batches.h"

#include "runtime/documents/data_report.h"

#include "test/runtime/weights/fixture.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace baton::test {
namespace {

constexpr uint64_t length = 40;

struct Rows {
  std::vector<int32_t> tokens, targets, positions;
  std::vector<float> weights;

  explicit Rows(uint64_t count)
      : tokens(count, -1), targets(tokens), positions(tokens),
        weights(count, -1) {}
};

class DocumentBatchesTest : public testing::Test {
protected:
  TemporaryFolder folder;
  Tokenizer tokenizer = Tokenizer::of_bytes();
  /// What each document is, as text.
  std::map<std::string, uint32_t> numbers;

  /// Two files of 60 and 30 documents with lengths of their own; every third
  /// has a prompt.
  DocumentSet make(double first_weight = 1, double second_weight = 1) {
    std::mt19937 random(5);
    std::vector<DocumentSource> sources;
    numbers.clear();
    for (int file = 0; file < 2; ++file) {
      std::string text;
      for (int i = 0; i < (file ? 30 : 60); ++i) {
        std::string own = std::to_string(1000 * (file + 1) + i) +
                          std::string(random() % 30, 'x');
        numbers[own] = static_cast<uint32_t>(numbers.size());
        text += i % 3 ? "{\"text\": \"" + own + "\"}\n"
                      : "{\"prompt\": \"" + own.substr(0, 3) +
                            "\", \"completion\": \"" + own.substr(3) + "\"}\n";
      }
      const auto path = folder.path / (std::to_string(file) + ".jsonl");
      write_file(path, text);
      sources.push_back({{path}, file ? second_weight : first_weight});
    }
    return DocumentSet::read(
        sources, ExampleEncoder({.tokenizer = &tokenizer, .bytes = true}),
        {.length = length, .vocabulary = 256});
  }

  /// The documents of a sequence, whose rows are checked.
  std::vector<uint32_t> documents_of(const Rows &rows, uint64_t sequence) {
    std::vector<uint32_t> found;
    const uint64_t end = (sequence + 1) * length;
    for (uint64_t row = sequence * length; row < end;) {
      EXPECT_EQ(rows.positions[row], 0);
      uint64_t behind = row + 1;
      while (behind < end && rows.positions[behind] != 0) {
        EXPECT_EQ(rows.positions[behind], int32_t(behind - row));
        behind = behind + 1;
      }
      if (rows.tokens[row] == 0) {
        EXPECT_EQ(behind, row + 1);
        EXPECT_EQ(rows.weights[row], 0);
      } else {
        std::string text(rows.tokens.begin() + row,
                         rows.tokens.begin() + behind);
        text += static_cast<char>(rows.targets[behind - 1]);
        EXPECT_TRUE(numbers.contains(text)) << text;
        found.push_back(numbers[text]);
        const bool has_prompt = std::stoi(text.substr(1, 3)) % 3 == 0;
        for (uint64_t at = row; at < behind; ++at)
          EXPECT_EQ(rows.weights[at] == 0, has_prompt && at < row + 2) << text;
      }
      row = behind;
    }
    return found;
  }

  std::vector<uint32_t> step(const DocumentBatches &batches, uint64_t number) {
    std::vector<uint32_t> found;
    float sum = 0;
    for (uint64_t i = 0; i < batches.shape().accumulation; ++i) {
      Rows rows(batches.shape().rows * length);
      batches.fill(number, i, rows.tokens.data(), rows.targets.data(),
                   rows.positions.data(), rows.weights.data());
      for (uint64_t k = 0; k < batches.shape().rows; ++k) {
        const auto own = documents_of(rows, k);
        found.insert(found.end(), own.begin(), own.end());
      }
      sum = std::accumulate(rows.weights.begin(), rows.weights.end(), sum);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    return found;
  }
};

TEST_F(DocumentBatchesTest, EveryEpochHasEachDocumentOnce) {
  const DocumentSet set = make();
  ASSERT_EQ(set.size(), 90u);
  const DocumentBatches batches(
      set, {.rows = 1, .length = length, .accumulation = 1}, {.seed = 3}, 0.1,
      Packing::Best);
  // Of each file the last ones.
  EXPECT_EQ(batches.validation_documents(), 9u);
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 90; ++i)
    if (!(i >= 54 && i < 60) && i < 87)
      expected.push_back(i);
  std::vector<std::vector<uint32_t>> epochs;
  uint64_t sequence = 0;
  for (uint64_t number = 0; number < 3; ++number) {
    std::vector<uint32_t> seen;
    const uint64_t end = sequence + batches.epoch(number)->size();
    for (; sequence < end; ++sequence)
      for (uint32_t document : step(batches, sequence))
        seen.push_back(document);
    epochs.push_back(seen);
    std::ranges::sort(seen);
    EXPECT_EQ(seen, expected);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_FALSE(std::ranges::is_sorted(epochs[0]));
}

TEST_F(DocumentBatchesTest, ResumeExactly) {
  const DocumentSet set = make(2, 0.3);
  const BatchShape shape = {.rows = 2, .length = length, .accumulation = 3};
  const DocumentBatches batches(set, shape, {.seed = 3}, 0.1, Packing::Best);
  for (uint64_t first : {1, 7, 30}) {
    const DocumentBatches resumed(
        set, shape,
        {.seed = 3, .step = first, .sequence = batches.first_sequence(first)},
        0.1, Packing::Best);
    for (uint64_t number = first; number < first + 9; ++number)
      EXPECT_EQ(step(resumed, number), step(batches, number));
    EXPECT_EQ(resumed.tokens(first), batches.tokens(first));
  }
  const DocumentBatches other(set, shape, {.seed = 4}, 0.1, Packing::Best);
  EXPECT_NE(step(other, 0), step(batches, 0));
}

TEST_F(DocumentBatchesTest, WeightsAreProportions) {
  const DocumentSet set = make(2, 0.5);
  const DocumentBatches batches(set, {.rows = 1, .length = length}, {.seed = 3},
                                0, Packing::Best);
  std::map<uint32_t, int> seen;
  for (uint64_t number : {0, 1}) {
    const auto epoch = batches.epoch(number);
    for (uint32_t document : epoch->documents)
      ++seen[document];
  }
  for (uint32_t i = 0; i < 90; ++i)
    EXPECT_EQ(seen[i], i < 60 ? 4 : 1) << i;
  EXPECT_EQ(batches.epoch(0)->documents.size(), 135u);
  const DocumentSet few = make(0.001, 0.001);
  expect_contains(error_of([&] {
                    DocumentBatches(few, {.rows = 1, .length = length}, {}, 0,
                                    Packing::Best);
                  }),
                  "--data: an epoch has not one document");
}

TEST_F(DocumentBatchesTest, WithoutPackingEachHasASequence) {
  const DocumentSet set = make();
  const DocumentBatches batches(set, {.rows = 4, .length = length}, {}, 0.1,
                                Packing::None);
  EXPECT_EQ(batches.epoch(0)->size(), 81u);
  EXPECT_EQ(step(batches, 0).size(), 4u);
  const DocumentBatches packed(set, {.rows = 4, .length = length}, {}, 0.1,
                               Packing::Best);
  EXPECT_LT(packed.epoch(0)->size(), 50u);
  const auto report = data_report(set, packed);
  EXPECT_GT(report["epoch"]["fill"].get<double>(), 0.9);
  EXPECT_EQ(report["documents"], 90);
  expect_contains(data_report_text(report), "90 documents of 2 files");
}

TEST_F(DocumentBatchesTest, PartsAreTheWhole) {
  const DocumentSet set = make();
  const DocumentBatches batches(set, {.rows = 6, .length = length}, {}, 0.3,
                                Packing::Best);
  for (uint32_t parts : {2u, 3u, 6u})
    for (bool validates : {false, true}) {
      Rows whole(6 * length), joined(6 * length);
      auto fill = [&](Rows &rows, uint64_t begin, Place part) {
        if (validates)
          batches.fill_validation(1, &rows.tokens[begin], &rows.targets[begin],
                                  &rows.positions[begin], &rows.weights[begin],
                                  part);
        else
          batches.fill(2, 0, &rows.tokens[begin], &rows.targets[begin],
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

TEST_F(DocumentBatchesTest, ValidationIsComplete) {
  const DocumentSet set = make();
  const DocumentBatches file(set, {.rows = 4, .length = length}, 1,
                             Packing::Best);
  std::vector<uint32_t> seen;
  double sum = 0;
  for (uint64_t i = 0; i < file.validation_batches(); ++i) {
    Rows rows(4 * length);
    file.fill_validation(i, rows.tokens.data(), rows.targets.data(),
                         rows.positions.data(), rows.weights.data());
    for (uint64_t k = 0; k < 4; ++k)
      for (uint32_t document : documents_of(rows, k))
        seen.push_back(document);
    sum = std::accumulate(rows.weights.begin(), rows.weights.end(), sum);
  }
  std::ranges::sort(seen);
  std::vector<uint32_t> expected(30);
  std::iota(expected.begin(), expected.end(), 60);
  EXPECT_EQ(seen, expected);
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(file.validation_targets(), set.files()[1].counts.targets);
}

/// Pairs begin where their rows do, whatever part of a batch they are in, and
/// weigh as much as there are pairs in the step.
TEST_F(DocumentBatchesTest, PairsOfAnswers) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "{\"prompt\": \"" + std::string(1 + i % 3, 'p') +
            "\", \"chosen\": \"" + std::string(1 + i % 7, 'c') +
            "\", \"rejected\": \"" + std::string(1 + i % 5, 'r') + "\"}\n";
  write_file(folder.path / "pairs.jsonl", text);
  const DocumentSet set = DocumentSet::read(
      {{{folder.path / "pairs.jsonl"}, 1}},
      ExampleEncoder({.tokenizer = &tokenizer, .bytes = true}),
      {.pairs = true, .length = length, .vocabulary = 256});
  ASSERT_EQ(set.size(), 40u);
  const DocumentBatches batches(
      set, {.rows = 2, .length = length, .accumulation = 2}, {}, 0.25,
      Packing::Best);
  EXPECT_EQ(batches.validation_documents(), 10u);
  auto check = [&](const std::vector<PlacedDocument> &pairs, const Rows &rows,
                   std::vector<uint32_t> &seen, double &weight) {
    for (const PlacedDocument &pair : pairs) {
      seen.push_back(pair.number);
      weight += pair.weight;
      EXPECT_EQ(rows.positions[pair.row], 0);
      int chosen = 0, rejected = 0;
      for (uint64_t row = pair.row; row < pair.row + set.rows(pair.number);
           ++row) {
        EXPECT_TRUE(rows.weights[row] == 0 || rows.weights[row] == 1 ||
                    rows.weights[row] == -1);
        EXPECT_EQ(rows.weights[row] == 1, rows.targets[row] == 'c');
        EXPECT_EQ(rows.weights[row] == -1, rows.targets[row] == 'r');
        chosen += rows.weights[row] == 1;
        rejected += rows.weights[row] == -1;
      }
      EXPECT_EQ(chosen, 1 + static_cast<int>(pair.number) % 7);
      EXPECT_EQ(rejected, 1 + static_cast<int>(pair.number) % 5);
    }
  };
  for (uint32_t parts : {1u, 2u}) {
    std::vector<uint32_t> seen;
    double weight = 0;
    for (uint64_t microbatch = 0; microbatch < 2; ++microbatch)
      for (uint32_t part = 0; part < parts; ++part) {
        Rows rows(2 / parts * length);
        batches.fill(0, microbatch, rows.tokens.data(), rows.targets.data(),
                     rows.positions.data(), rows.weights.data(), {part, parts});
        check(batches.placed(0, microbatch, {part, parts}), rows, seen, weight);
      }
    EXPECT_NEAR(weight, 1, 1e-6);
    std::ranges::sort(seen);
    EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
    EXPECT_GT(seen.size(), 4u);
  }
  std::vector<uint32_t> seen;
  double weight = 0;
  for (uint64_t i = 0; i < batches.validation_batches(); ++i) {
    Rows rows(2 * length);
    batches.fill_validation(i, rows.tokens.data(), rows.targets.data(),
                            rows.positions.data(), rows.weights.data());
    check(batches.placed_validation(i), rows, seen, weight);
  }
  std::ranges::sort(seen);
  std::vector<uint32_t> expected(10);
  std::iota(expected.begin(), expected.end(), 30);
  EXPECT_EQ(seen, expected);
  EXPECT_NEAR(weight, 1, 1e-6);
  expect_contains(data_report_text(data_report(set, batches)), "40 pairs of 1");
}

} // namespace
} // namespace baton::test

//===- BatchCheckTest.cpp - each fault of a step's arrays ----------------===//

#include "runtime/execute/batch_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace baton {
namespace {

/// Two sequences of three, of 200 positions at most: one with rows at 62 to 65,
/// and one with a row at 3.
class BatchCheckTest : public ::testing::Test {
protected:
  std::string fault(BatonStep step) {
    BatchInputs inputs = {tokens.data(), positions.data(), sequences.data(),
                          slots.data(),  pages.data(),     sampling.data(),
                          changes,       nullptr,          nullptr};
    inputs.wanted_panels = wanted_panels;
    auto found = BatchCheck(shape).find_fault(step, inputs);
    // Nor do steps before it matter.
    EXPECT_EQ(found, check.find_fault(step, inputs));
    return found.value_or("");
  }
  std::string fault() { return fault({5, 0, 2, 0}); }

  BatonChange *changes = nullptr;
  int32_t *wanted_panels = nullptr;
  const BatchCapacities shape = {.max_rows = 8,
                                 .max_outputs = 4,
                                 .max_sequences = 3,
                                 .max_positions = 200,
                                 .max_changes = 210,
                                 .pages = 10,
                                 .vocabulary = 100,
                                 .logit_panels = 7};
  BatchCheck check{shape};
  std::vector<int32_t> tokens = {1, 2, 3, 99, 0, -7, -7, -7};
  std::vector<int32_t> positions = {62, 63, 64, 65, 3, -7, -7, -7};
  std::vector<int32_t> sequences = {2, 2, 2, 2, 0, -7, -7, -7};
  std::vector<int32_t> slots = {9 * 64 + 62, 9 * 64 + 63, 64, 65,
                                2 * 64 + 3,  -7,          -7, -7};
  // What rows cannot read may be anything.
  std::vector<int32_t> pages = {2,      9, 77, -1, /**/ 9, 9, 9, 9,
                                /**/ 9, 1, 2,  -5};
  std::vector<BatonSampling> sampling{4};
};

TEST_F(BatchCheckTest, AcceptsWhatIsRight) {
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(fault({5, 0, 0, 0}), "");
  EXPECT_EQ(fault({1, 0, 1, 0}), "");
}

TEST_F(BatchCheckTest, SequencesMayShareWhatNobodyWrites) {
  // Sequence 0 goes on at 70, behind sequence 2's first page.
  positions = {128, 129, 70, 71, 72};
  sequences = {2, 2, 0, 0, 0};
  pages = {9, 3, 0, 0, /**/ 0, 0, 0, 0, /**/ 9, 1, 4, 0};
  slots = {4 * 64, 4 * 64 + 1, 3 * 64 + 6, 3 * 64 + 7, 3 * 64 + 8};
  EXPECT_EQ(fault(), "");
}

TEST_F(BatchCheckTest, Sampling) {
  sampling[1].wanted = 6;
  EXPECT_EQ(fault(), "sampling[1].wanted is 6, expected 0 to 5");
  sampling[1] = {};
  sampling[1].wanted = BATON_WANTED_SCORE;
  sampling[1].given = 100;
  EXPECT_EQ(fault(), "sampling[1].given is 100, expected 0 to 99");
  sampling[1].given = 99;
  EXPECT_EQ(fault(), "");
  sampling[1] = {};
  // That is a seed.
  sampling[1].given = 100;
  EXPECT_EQ(fault(), "");
  sampling[1].likely = 21;
  EXPECT_EQ(fault(), "sampling[1].likely is 21, expected 0 to 20");
  sampling[1] = {};
  sampling[0].changes = 211;
  EXPECT_EQ(fault(), "sampling[0].changes is 211, expected 0 to 210");
  sampling[0].changes = 210;
  sampling[0].line = 3;
  EXPECT_EQ(fault(), "sampling[0].line is 3, expected 0 to 2");
  sampling[0].line = 2;
  EXPECT_EQ(fault(), "");
  // Rows without logits draw nothing.
  sampling[2].line = 3;
  EXPECT_EQ(fault(), "");
}

TEST_F(BatchCheckTest, ListedTokens) {
  std::vector<BatonChange> lines(size_t(shape.max_sequences) *
                                 shape.max_changes);
  changes = lines.data();
  for (uint16_t wanted : {BATON_WANTED_LISTED, BATON_WANTED_LISTED_ONLY}) {
    sampling[1] = {};
    sampling[1].wanted = wanted;
    sampling[1].line = 2;
    EXPECT_EQ(fault(), "sampling[1] lists 0 tokens, expected 1 to 256");
    sampling[1].changes = 3;
    EXPECT_EQ(fault(), "");
    lines[2 * shape.max_changes + 2].token = 100;
    EXPECT_EQ(fault(), "changes[2][2] is 100, expected 0 to 99");
    lines[2 * shape.max_changes + 2].token = -1;
    EXPECT_EQ(fault(), "changes[2][2] is -1, expected 0 to 99");
    lines[2 * shape.max_changes + 2].token = 99;
    EXPECT_EQ(fault(), "");
  }
}

/// Panels of 16 tokens, of which a step may leave some out.
TEST_F(BatchCheckTest, LogitsThatAreLeftOut) {
  std::vector<BatonChange> lines(size_t(shape.max_sequences) *
                                 shape.max_changes);
  changes = lines.data();
  std::vector<int32_t> panels = {0, 1, 2, 3, 4, 5, 6, 7};
  wanted_panels = panels.data();
  EXPECT_EQ(fault(), "");
  // Rows that want nothing may be read by whoever has them computed.
  panels = {0, 1, 2, 2, 3, 4, 5, 6};
  EXPECT_EQ(fault(), "wanted_panels[2] and wanted_panels[3] are 2 and 2, but "
                     "sampling[0] wants all logits");
  // Without logits there is nothing to leave out.
  EXPECT_EQ(fault({5, 0, 0, 0}), "");
  for (uint32_t output : {0, 1}) {
    sampling[output].wanted = BATON_WANTED_LISTED_ONLY;
    sampling[output].line = output;
    sampling[output].changes = 2;
  }
  lines[0].token = 31;
  lines[1].token = 0;
  lines[shape.max_changes].token = 99;
  lines[shape.max_changes + 1].token = 96;
  EXPECT_EQ(fault(), "");
  panels = {0, 1, 2, 2, 2, 2, 2, 3};
  EXPECT_EQ(fault(), "");
  panels = {0, 1, 2, 2, 2, 2, 2, 2};
  EXPECT_EQ(fault(), "wanted_panels[6] and wanted_panels[7] are 2 and 2, but "
                     "sampling[1] wants the logit of token 99");
  panels = {0, 1, 1, 1, 1, 1, 1, 2};
  EXPECT_EQ(fault(), "wanted_panels[1] and wanted_panels[2] are 1 and 1, but "
                     "sampling[0] wants the logit of token 31");
  sampling[0].wanted = BATON_WANTED_LISTED;
  EXPECT_EQ(fault(), "wanted_panels[1] and wanted_panels[2] are 1 and 1, but "
                     "sampling[0] wants all logits");
  // A task of several panels compares the numbers at its ends.
  panels = {0, 1, 2, 1, 2, 3, 4, 5};
  EXPECT_EQ(fault(), "wanted_panels[2] and wanted_panels[3] are 2 and 1, "
                     "expected the same, or one more");
  panels = {0, 1, 2, 3, 5, 6, 7, 8};
  EXPECT_EQ(fault(), "wanted_panels[3] and wanted_panels[4] are 3 and 5, "
                     "expected the same, or one more");
  panels = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(fault(), "wanted_panels[0] is 1, expected 0");
}

TEST_F(BatchCheckTest, Masks) {
  sampling[1].masked = 2;
  EXPECT_EQ(fault(), "sampling[1].masked is 2, expected 0 to 1");
  sampling[1].masked = 1;
  EXPECT_EQ(fault(), "sampling[1] is masked, and nobody makes its mask");
  sampling[1].make_mask = [](void *, uint32_t *, uint64_t) {};
  EXPECT_EQ(fault(), "");
}

TEST_F(BatchCheckTest, Steps) {
  EXPECT_EQ(fault({5, 1, 2, 0}), "the step's past is 1, expected 0");
  EXPECT_EQ(fault({9, 0, 2, 0}), "the step has 9 rows, expected 1 to 8");
  EXPECT_EQ(fault({0, 0, 0, 0}), "the step has 0 rows, expected 1 to 8");
  EXPECT_EQ(fault({5, 0, 5, 0}), "the step has 5 outputs, expected 0 to 4");
  EXPECT_EQ(fault({1, 0, 2, 0}), "the step has 2 outputs, expected 0 to 1");
}

TEST_F(BatchCheckTest, Ranges) {
  auto expect = [&](std::vector<int32_t> &table, size_t place, int32_t value,
                    const std::string &text) {
    int32_t before = std::exchange(table[place], value);
    EXPECT_EQ(fault(), text);
    table[place] = before;
  };
  expect(tokens, 3, 100, "tokens[3] is 100, expected 0 to 99");
  expect(tokens, 3, -1, "tokens[3] is -1, expected 0 to 99");
  expect(positions, 4, 200, "positions[4] is 200, expected 0 to 199");
  expect(positions, 4, -1, "positions[4] is -1, expected 0 to 199");
  expect(sequences, 4, 3, "sequences[4] is 3, expected 0 to 2");
  expect(sequences, 4, -2, "sequences[4] is -2, expected 0 to 2");
  expect(slots, 0, 640, "slots[0] is 640, expected 0 to 639");
  expect(slots, 0, -1, "slots[0] is -1, expected 0 to 639");
  EXPECT_EQ(fault(), "");
}

TEST_F(BatchCheckTest, PagesThatAreRead) {
  // Of a row in entry 1, entry 0 is only read.
  positions = {64, 65};
  sequences = {2, 2};
  slots = {64, 65};
  pages[8] = 10;
  EXPECT_EQ(fault({2, 0, 0, 0}), "pages[2][0] is 10, expected 0 to 9");
  pages[8] = -1;
  EXPECT_EQ(fault({2, 0, 0, 0}), "pages[2][0] is -1, expected 0 to 9");
  pages[8] = 9;
  EXPECT_EQ(fault({2, 0, 0, 0}), "");
}

TEST_F(BatchCheckTest, SlotsAreWherePagesSay) {
  slots[4] = 2 * 64 + 4;
  EXPECT_EQ(fault(), "slots[4] is 132, expected 131: position 3 in page 2 of "
                     "pages[0][0]");
  slots[4] = 131;
  pages[0] = -1;
  EXPECT_EQ(fault(), "slots[4] is 131, expected -61: position 3 in page -1 of "
                     "pages[0][0]");
}

TEST_F(BatchCheckTest, SlotsAreDistinct) {
  slots[3] = slots[1];
  EXPECT_EQ(fault(),
            "slots[3] is 639, as slots[1]: rows write different slots");
}

TEST_F(BatchCheckTest, PositionsAscend) {
  std::swap(positions[2], positions[3]);
  std::swap(slots[2], slots[3]);
  EXPECT_EQ(fault(), "positions[3] is 64 and positions[2] is 65: those of a "
                     "sequence, here of sequence 2, ascend");
  positions[3] = 65;
  EXPECT_EQ(fault(), "positions[3] is 65 and positions[2] is 65: those of a "
                     "sequence, here of sequence 2, ascend");
  // Rows of others may stand between.
  positions = {62, 3, 63, 64, 65};
  sequences = {2, 0, 2, 2, 2};
  slots = {9 * 64 + 62, 2 * 64 + 3, 9 * 64 + 63, 64, 65};
  EXPECT_EQ(fault(), "");
}

TEST_F(BatchCheckTest, NobodyReadsWhatAnotherWrites) {
  // Sequence 0 reads page 9, which sequence 2 writes.
  positions[4] = 67;
  pages[0] = 9;
  pages[1] = 2;
  EXPECT_EQ(fault(),
            "pages[0][0] is 9, as pages[2][0], which this step writes");
  // Both write page 2, in slots of their own.
  pages[0] = 2;
  positions[4] = 3;
  pages[9] = 2;
  slots[2] = 2 * 64;
  slots[3] = 2 * 64 + 1;
  EXPECT_EQ(fault(),
            "pages[0][0] is 2, as pages[2][1], which this step writes");
  // A sequence reads its own new page at another place.
  pages[8] = 1;
  pages[9] = 1;
  positions = {64, 65};
  sequences = {2, 2};
  slots = {64, 65};
  EXPECT_EQ(fault({2, 0, 0, 0}),
            "pages[2][0] is 1, as pages[2][1], which this step writes");
}

} // namespace
} // namespace baton

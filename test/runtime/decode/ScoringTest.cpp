//===- ScoringTest.cpp - logits and values of the toy program in files ---===//

#include "runtime/decode/scoring.h"

#include "../execute/array_file.h"
#include "../execute/toy_program.h"
#include "runtime/error.h"
#include "runtime/execute/host_execution.h"
#include "runtime/execute/npy.h"
#include "runtime/execute/value_dump.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace baton {
namespace {

using test::ArrayFile;
using test::TemporaryFolder;

class ScoringTest : public ::testing::Test {
protected:
  /// Writes logits.npy, and values into dump/ if asked.
  void run(uint32_t chunk, unsigned workers, bool dumped) {
    HostExecution execution(metadata, parameters, {workers});
    NpyWriter output(folder / "logits.npy", NpyType::F32, {toy::vocabulary});
    std::optional<ValueDump> dump;
    if (dumped)
      dump.emplace(metadata, folder / "dump");
    Scoring scoring({tokens}, 0, chunk, chunk, into(output),
                    dump ? &*dump : nullptr);
    execution.run(scoring, dumped);
    if (dump)
      dump->publish();
    output.publish();
  }

  static LogitSink into(NpyWriter &output) {
    return
        [&](const float *rows, uint64_t count) { output.append(rows, count); };
  }

  std::vector<float> expected_logits() const {
    std::vector<float> expected;
    for (size_t size = 1; size <= tokens.size(); ++size) {
      std::vector<float> row =
          toy::logits_after({tokens.begin(), tokens.begin() + ptrdiff_t(size)});
      expected.insert(expected.end(), row.begin(), row.end());
    }
    return expected;
  }

  std::vector<std::string> files() const {
    std::set<std::string> names;
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(folder.path()))
      names.insert(entry.path().filename().string());
    return {names.begin(), names.end()};
  }

  TemporaryFolder folder;
  Metadata metadata = Metadata::parse(toy::metadata());
  std::vector<float> bias = std::vector<float>(toy::vocabulary);
  const void *parameters[1] = {bias.data()};
  std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
};

TEST_F(ScoringTest, EveryPositionHasItsLogits) {
  for (uint32_t chunk = 1; chunk <= toy::max_outputs; ++chunk)
    for (unsigned workers : {1u, 3u}) {
      run(chunk, workers, false);
      ArrayFile array = ArrayFile::read(folder / "logits.npy");
      EXPECT_EQ(array.type, "<f4");
      EXPECT_EQ(array.shape, (std::vector<uint64_t>{11, 259}));
      EXPECT_EQ(array.values<float>(), expected_logits());
    }
  EXPECT_EQ(files(), std::vector<std::string>{"logits.npy"});
}

TEST_F(ScoringTest, TextsBeginAnewAndHaveTheRowsThatAreAskedFor) {
  const std::vector<std::vector<int32_t>> texts = {
      {3, 1, 4, 1, 5, 9, 2}, {7, 7, 1}, {2, 6, 5, 3, 5, 8, 9, 7}};
  constexpr uint64_t first = 2;
  std::vector<float> expected;
  for (const std::vector<int32_t> &text : texts)
    for (size_t size = first + 1; size <= text.size(); ++size) {
      std::vector<float> row =
          toy::logits_after({text.begin(), text.begin() + ptrdiff_t(size)});
      expected.insert(expected.end(), row.begin(), row.end());
    }
  for (uint32_t chunk = 1; chunk <= toy::max_rows; ++chunk) {
    HostExecution execution(metadata, parameters, {2});
    std::vector<float> found;
    Scoring scoring(
        texts, first, chunk, chunk % toy::max_outputs + 1,
        [&](const float *rows, uint64_t count) {
          found.insert(found.end(), rows, rows + count * toy::vocabulary);
        },
        nullptr);
    execution.run(scoring);
    EXPECT_EQ(found, expected) << "chunks of " << chunk;
  }
}

TEST_F(ScoringTest, ADumpHoldsEveryValueInProgramOrder) {
  for (uint32_t chunk : {1u, 3u, 4u}) {
    run(chunk, 1, true);
    EXPECT_EQ(files(), (std::vector<std::string>{"000_state.layer0.npy",
                                                 "001_state.layer1.npy",
                                                 "002_head_logits.npy", "dump",
                                                 "index.json", "logits.npy"}));
    std::vector<uint32_t> states;
    for (size_t size = 1; size <= tokens.size(); ++size)
      states.push_back(
          toy::state_after({tokens.begin(), tokens.begin() + ptrdiff_t(size)}));
    ArrayFile first = ArrayFile::read(folder / "dump/000_state.layer0.npy");
    EXPECT_EQ(first.type, "<i4");
    EXPECT_EQ(first.shape, std::vector<uint64_t>{11});
    EXPECT_EQ(first.values<uint32_t>(), states);
    for (uint32_t &state : states)
      state = ~state;
    EXPECT_EQ(ArrayFile::read(folder / "dump/001_state.layer1.npy")
                  .values<uint32_t>(),
              states);
    EXPECT_EQ(
        ArrayFile::read(folder / "dump/002_head_logits.npy").values<float>(),
        expected_logits());
  }

  auto index =
      nlohmann::json::parse(test::read_file(folder / "dump/index.json"));
  EXPECT_EQ(index["format"], 1);
  EXPECT_EQ(index["model"]["name"], "toy");
  ASSERT_EQ(index["values"].size(), 3u);
  EXPECT_EQ(index["values"][1],
            nlohmann::json::parse(
                R"({"file": "001_state.layer1.npy", "phase": "state",
                    "segment": "layers", "iteration": 1, "buffer": "states",
                    "dtype": "int32", "shape": [11]})"));
}

TEST_F(ScoringTest, AFailureLeavesNoFile) {
  HostExecution execution(metadata, parameters, {2});
  struct Failing : Scoring {
    using Scoring::Scoring;
    BatonStep advance(const BatonStep &current, const Logits &logits) override {
      BatonStep next = Scoring::advance(current, logits);
      if (next.past >= 4)
        throw Error("as planned");
      return next;
    }
  };
  {
    NpyWriter output(folder / "logits.npy", NpyType::F32, {toy::vocabulary});
    Failing scoring({tokens}, 0, 2, 2, into(output), nullptr);
    EXPECT_THROW(execution.run(scoring), Error);
  }
  EXPECT_EQ(files(), std::vector<std::string>{});
}

} // namespace
} // namespace baton

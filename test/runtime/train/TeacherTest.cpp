//===- TeacherTest.cpp - what another model says, in files ----------------===//

#include "runtime/train/teacher.h"

#include "runtime/train/checked_file.h"
#include "test/runtime/weights/fixture.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace baton::test {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

/// Three documents of two, one and three targets, in two shards.
const TeacherDescription described = {.top_k = 2,
                                      .vocabulary = 5,
                                      .temperature = 2,
                                      .data = 77,
                                      .documents = 3,
                                      .model = "llama",
                                      .weights = "/weights",
                                      .shards = {3, 3}};
const std::vector<uint32_t> targets = {2, 1, 3};

void write_description(const std::filesystem::path &folder,
                       const TeacherDescription &description = described) {
  write_file(folder / teacher_description_name, description.json().dump());
}

/// Of each target other logits.
TeacherRows rows_of(uint64_t first, uint64_t count) {
  TeacherRows rows;
  for (uint64_t target = first; target < first + count; ++target) {
    std::vector<float> logits = {0.5f, -1, 2, 0, 1};
    logits[target % 5] += static_cast<float>(target);
    append_distribution(logits, described.top_k, described.temperature, rows);
  }
  return rows;
}

void write_all(const std::filesystem::path &folder) {
  write_description(folder);
  write_teacher_shard(folder, described, 0, rows_of(0, 3));
  write_teacher_shard(folder, described, 1, rows_of(3, 3));
}

TEST(TeacherTest, NamesTheLikeliestTokens) {
  const std::vector<float> logits = {1, 3, -infinite, 3, 2, 3};
  for (double temperature : {1.0, 2.0}) {
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(static_cast<double>(logit) / temperature);
    TeacherRows rows;
    append_distribution(logits, 2, temperature, rows);
    // Of equal ones the first.
    EXPECT_EQ(rows.tokens, (std::vector<int32_t>{1, 3}));
    for (float logp : rows.logps)
      EXPECT_NEAR(logp, 3 / temperature - std::log(sum), 1e-6);
    EXPECT_NEAR(rows.rest[0], std::log1p(-2 * std::exp(3 / temperature) / sum),
                1e-6);
    append_distribution(logits, 4, temperature, rows);
    EXPECT_EQ(rows.tokens, (std::vector<int32_t>{1, 3, 1, 3, 4, 5}));
    append_distribution(logits, logits.size(), temperature, rows);
    EXPECT_EQ(rows.tokens.size(), 12u);
    EXPECT_EQ(rows.rest[2], -infinite);
    // Finite, though of no probability.
    EXPECT_EQ(rows.logps[8], -1e4f);
    EXPECT_NEAR(std::accumulate(rows.logps.begin() + 6, rows.logps.end(), 0.0,
                                [](double all, float logp) {
                                  return all +
                                         std::exp(static_cast<double>(logp));
                                }),
                1, 1e-6);
  }
  TeacherRows none;
  for (float bad : {infinite, std::nanf("")})
    expect_contains(error_of([&] {
                      append_distribution(std::vector<float>{0, bad, 1}, 2, 1,
                                          none);
                    }),
                    "logits are not finite");
}

TEST(TeacherTest, IsReadAsWritten) {
  TemporaryFolder folder;
  write_description(folder.path);
  EXPECT_EQ(TeacherDescription::read(folder.path), described);
  EXPECT_EQ(described.targets(), 6u);
  EXPECT_EQ(described.bytes_of_target(), 20u);
  EXPECT_FALSE(has_teacher_shard(folder.path, described, 0));
  write_all(folder.path);
  EXPECT_TRUE(has_teacher_shard(folder.path, described, 1));
  const Teacher teacher = Teacher::open(folder.path, 77, targets, 5);
  EXPECT_EQ(teacher.top_k(), 2u);
  EXPECT_EQ(teacher.temperature(), 2);
  EXPECT_EQ(teacher.first_target(2), 3u);
  const TeacherRows all = rows_of(0, 6);
  for (uint64_t target = 0; target < 6; ++target) {
    std::vector<int32_t> tokens(2);
    std::vector<float> logps(2);
    float rest = 0;
    teacher.read(target, tokens, logps, rest);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(tokens[i], all.tokens[2 * target + i]);
      EXPECT_EQ(logps[i], all.logps[2 * target + i]);
    }
    EXPECT_EQ(rest, all.rest[target]);
  }
}

TEST(TeacherTest, RefusesOthers) {
  TemporaryFolder folder;
  auto open = [&](uint64_t data, const std::vector<uint32_t> &own,
                  uint64_t vocabulary) {
    return error_of([&] { Teacher::open(folder.path, data, own, vocabulary); });
  };
  expect_contains(open(77, targets, 5), "teacher.json: is not there");
  write_description(folder.path);
  expect_contains(open(77, targets, 5),
                  "teacher-00000.safetensors: is not there yet");
  write_all(folder.path);
  expect_contains(open(78, targets, 5), "is of 3 documents with 6 targets");
  expect_contains(open(77, {2, 1, 4}, 5), "(3 with 7)");
  expect_contains(open(77, targets, 6), "has a vocabulary of 5 tokens");
  // A shard in another one's place, and one that ends early.
  std::filesystem::copy_file(teacher_shard(folder.path, 0),
                             teacher_shard(folder.path, 1),
                             std::filesystem::copy_options::overwrite_existing);
  expect_contains(open(77, targets, 5),
                  "teacher-00001.safetensors: is not the shard");
  std::filesystem::resize_file(
      teacher_shard(folder.path, 1),
      std::filesystem::file_size(teacher_shard(folder.path, 1)) - 4);
  expect_contains(open(77, targets, 5), "teacher-00001.safetensors");
  TeacherDescription other = described;
  for (uint64_t top_k : {0, 6}) {
    other.top_k = top_k;
    write_description(folder.path, other);
    expect_contains(open(77, targets, 5), "is no description of a teacher");
  }
  write_file(folder.path / teacher_description_name, "{");
  expect_contains(open(77, targets, 5), "is no description of a teacher");
}

TEST(TeacherTest, RefusesWhatIsNoDistribution) {
  auto read = [&](auto change) {
    TemporaryFolder folder;
    write_all(folder.path);
    TeacherRows rows = rows_of(3, 3);
    change(rows);
    write_teacher_shard(folder.path, described, 1, rows);
    const Teacher teacher = Teacher::open(folder.path, 77, targets, 5);
    std::vector<int32_t> tokens(2);
    std::vector<float> logps(2);
    float rest = 0;
    return error_of([&] { teacher.read(4, tokens, logps, rest); });
  };
  const std::string damaged =
      "teacher-00001.safetensors: target 1 of it, counted from 0, has no";
  expect_contains(read([](TeacherRows &rows) { rows.logps[2] = 0; }), damaged);
  expect_contains(read([](TeacherRows &rows) { rows.rest[1] = -infinite; }),
                  damaged);
  expect_contains(
      read([](TeacherRows &rows) { rows.logps[3] = std::nanf(""); }), damaged);
  expect_contains(
      read([](TeacherRows &rows) { rows.tokens[3] = rows.tokens[2]; }),
      damaged);
  expect_contains(read([](TeacherRows &rows) { rows.tokens[3] = 5; }), damaged);
  expect_contains(read([](TeacherRows &rows) { rows.tokens[2] = -1; }),
                  damaged);
}

} // namespace
} // namespace baton::test

//===- EventFileTest.cpp - records with checksums, file by file -----------===//

#include "runtime/train/event_file.h"

#include "test/runtime/weights/fixture.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

namespace baton::test {
namespace {

TEST(EventFileTest, Checksums) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char byte = 0; byte < 32; ++byte)
    ascending += byte;
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

template <typename Number>
Number number_at(const std::string &bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// Of a file, whose checksums are checked.
std::vector<std::string> records_of(const std::string &bytes) {
  auto masked = [](std::string_view part) {
    return std::rotr(crc32c(part), 15) + 0xa282ead8;
  };
  std::vector<std::string> records;
  for (size_t at = 0; at < bytes.size();) {
    const auto size = number_at<uint64_t>(bytes, at);
    EXPECT_EQ(number_at<uint32_t>(bytes, at + 8), masked(bytes.substr(at, 8)));
    records.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(number_at<uint32_t>(bytes, at + 12 + size),
              masked(records.back()));
    at += 16 + size;
  }
  return records;
}

std::vector<std::filesystem::path>
files_in(const std::filesystem::path &folder) {
  std::set<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    files.insert(entry.path());
  return {files.begin(), files.end()};
}

TEST(EventFileTest, StepsCanBeSeenAtOnce) {
  TemporaryFolder folder;
  EventFile events(folder.path, 1);
  StepReport report = {.step = 1, .loss = 2.5, .gradient_norm = NAN};
  report.loss_parts = {{"balance", 0.5}};
  events.add(report);
  ASSERT_EQ(files_in(folder.path).size(), 1u);
  const auto records = records_of(read_file(files_in(folder.path).front()));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  EXPECT_TRUE(records[1].ends_with(std::string("\x3a\x02\x08\x01", 4)));
  // tag "loss", simple_value 2.5
  EXPECT_NE(records[2].find(std::string("\x0a\x04loss\x15\0\0\x20\x40", 11)),
            std::string::npos);
  EXPECT_NE(records[2].find("balance"), std::string::npos);
  EXPECT_EQ(records[2].find("grad_norm"), std::string::npos);
}

TEST(EventFileTest, EachBeginsAFileOfItsOwn) {
  TemporaryFolder folder;
  EventFile first(folder.path, 1), second(folder.path, 2);
  EXPECT_EQ(files_in(folder.path).size(), 2u);
  expect_contains(error_of([&] { EventFile(folder.path / "absent", 1); }),
                  "--tensorboard");
}

} // namespace
} // namespace baton::test

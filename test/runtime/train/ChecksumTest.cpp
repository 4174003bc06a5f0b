//===- ChecksumTest.cpp - pieces, files and damage -----------------------===//

#include "runtime/train/checksum.h"

#include "test/runtime/weights/fixture.h"

namespace baton::test {
namespace {

std::string some_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(i * 131 + (i >> 8) + (i >> 20));
  return bytes;
}

FileSummary in_pieces(const std::string &bytes, size_t piece) {
  Checksum checksum;
  for (size_t i = 0; i < bytes.size(); i += piece)
    checksum.add(bytes.data() + i, std::min(piece, bytes.size() - i));
  return checksum.summary();
}

TEST(Checksum, DoesNotDependOnPieces) {
  constexpr size_t block = Checksum::block_bytes;
  for (size_t size : {size_t(0), size_t(1), block - 1, block, block + 1,
                      3 * block, 3 * block + 17}) {
    std::string bytes = some_bytes(size);
    FileSummary whole = in_pieces(bytes, size + 1);
    EXPECT_EQ(whole.bytes, size);
    EXPECT_EQ(whole.checksum.size(), 16u);
    for (size_t piece : {size_t(1000), block / 2, block - 1, block, block + 1})
      EXPECT_EQ(in_pieces(bytes, piece), whole) << size << " in " << piece;
  }
}

TEST(Checksum, SeesBitsBlocksAndLength) {
  constexpr size_t block = Checksum::block_bytes;
  std::string bytes = some_bytes(2 * block + 5);
  FileSummary right = in_pieces(bytes, block);
  for (size_t at : {size_t(0), block - 1, block, 2 * block, 2 * block + 4}) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 64);
    EXPECT_NE(in_pieces(changed, block).checksum, right.checksum) << at;
  }
  std::string swapped = bytes.substr(block, block) + bytes.substr(0, block) +
                        bytes.substr(2 * block);
  EXPECT_NE(in_pieces(swapped, block).checksum, right.checksum);
  EXPECT_NE(in_pieces(bytes + '\0', block).checksum, right.checksum);
}

TEST(Checksum, OfFiles) {
  TemporaryFolder folder;
  std::string bytes = some_bytes(Checksum::block_bytes + 99);
  write_file(folder.path / "file", bytes);
  EXPECT_EQ(summarize_file(folder.path / "file"), in_pieces(bytes, 512));
  expect_contains(error_of([&] { summarize_file(folder.path / "none"); }),
                  "none: cannot open");
  expect_contains(error_of([&] { summarize_file(folder.path); }),
                  "is not a plain file");
}

} // namespace
} // namespace baton::test

//===- ReferencesTest.cpp - what a model says of pairs, in a file ---------===//

#include "runtime/train/references.h"

#include "test/runtime/weights/fixture.h"

#include <limits>

namespace baton::test {
namespace {

const References some = {{-1.5, -2.25}, {-300.1, 0}, {-1e-3, -7}};

TEST(ReferencesTest, AreReadAsWritten) {
  TemporaryFolder folder;
  write_references(some, DataType::F64, 7, folder.path);
  EXPECT_EQ(read_references(folder.path, 3, 7), some);
  // In F32 as they were computed in it.
  write_references(some, DataType::F32, 8, folder.path);
  const References read = read_references(folder.path, 3, 8);
  for (size_t pair = 0; pair < some.size(); ++pair)
    for (size_t answer = 0; answer < 2; ++answer)
      EXPECT_EQ(read[pair][answer],
                static_cast<double>(static_cast<float>(some[pair][answer])));
}

TEST(ReferencesTest, RefusesOthers) {
  TemporaryFolder folder;
  auto read = [&](uint64_t count, uint64_t data) {
    return error_of([&] { read_references(folder.path, count, data); });
  };
  expect_contains(read(3, 7), "references.safetensors is not there");
  write_references(some, DataType::F32, 7, folder.path);
  expect_contains(read(3, 8), "is of other pairs");
  expect_contains(read(4, 7), "is of other pairs");
  References infinite = some;
  infinite[1][0] = -std::numeric_limits<double>::infinity();
  write_references(infinite, DataType::F32, 7, folder.path);
  expect_contains(read(3, 7), "of pair 1 is not finite");
  write_file(folder.path / references_name, "no safetensors");
  expect_contains(read(3, 7), "references.safetensors");
}

} // namespace
} // namespace baton::test

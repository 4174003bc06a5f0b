//===- StoredBlocksTest.cpp - quantised weights as files have them --------===//
//
// Against test/golden/blocks.json: what another program makes of such blocks.
//
//===----------------------------------------------------------------------===//

#include "runtime/weights/stored_blocks.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

using namespace baton;

namespace {

std::vector<std::byte> bytes_of_hex(const std::string &hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(std::byte(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

const std::pair<const char *, DataType> types[] = {
    {"Q8_0", DataType::Q8_0},     {"Q4_0", DataType::Q4_0},
    {"Q4_1", DataType::Q4_1},     {"Q5_0", DataType::Q5_0},
    {"Q5_1", DataType::Q5_1},     {"Q2_K", DataType::Q2_K},
    {"Q3_K", DataType::Q3_K},     {"Q4_K", DataType::Q4_K},
    {"Q5_K", DataType::Q5_K},     {"Q6_K", DataType::Q6_K},
    {"IQ4_NL", DataType::IQ4_NL}, {"MXFP4", DataType::GgufMXFP4}};

TEST(StoredBlocks, AreTheNumbersOfGgml) {
  std::ifstream file(BATON_GOLDEN_BLOCKS);
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::set<std::string> seen;
  for (const nlohmann::json &entry : golden) {
    const std::string name = entry.at("type");
    seen.insert(name);
    DataType type = DataType::F32;
    for (const auto &[known, value] : types)
      if (name == known)
        type = value;
    ASSERT_TRUE(is_quantised(type)) << name;
    const std::vector<std::byte> block = bytes_of_hex(entry.at("block")),
                                 numbers = bytes_of_hex(entry.at("numbers"));
    const StoredBlock size = stored_block(type);
    ASSERT_EQ(block.size(), size.bytes) << name;
    ASSERT_EQ(numbers.size(), size.elements * sizeof(float)) << name;
    std::vector<float> expected(size.elements), found(size.elements);
    std::memcpy(expected.data(), numbers.data(), numbers.size());
    dequantise(type, block.data(), 0, size.elements, found.data());
    // Zeros may have either sign: a sum does not show it.
    for (unsigned i = 0; i < size.elements; ++i)
      ASSERT_EQ(found[i], expected[i]) << name << " at " << i;
    // Parts of it, too.
    for (unsigned first : {1u, 15u, 17u})
      for (unsigned count : {0u, 1u, 14u}) {
        std::vector<float> part(count);
        dequantise(type, block.data(), first, count, part.data());
        for (unsigned i = 0; i < count; ++i)
          ASSERT_EQ(part[i], expected[first + i]) << name;
      }
  }
  EXPECT_EQ(seen.size(), std::size(types));
}

} // namespace

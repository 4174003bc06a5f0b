//===- ByteAlphabetTest.cpp - bytes spelled as printable characters ------===//

#include "runtime/tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

using namespace baton;

TEST(ByteAlphabet, SpellsKnownBytes) {
  EXPECT_EQ(spell_byte('a'), "a");
  EXPECT_EQ(spell_byte(' '), "Ġ");
  EXPECT_EQ(spell_byte('\n'), "Ċ");
  EXPECT_EQ(spell_byte(0), "Ā");
  EXPECT_EQ(spell_byte(0xE9), "é");
  EXPECT_EQ(spell_byte(0xAD), "Ń");
}

TEST(ByteAlphabet, IsABijection) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string spelling = spell_byte(static_cast<uint8_t>(byte));
    spellings.insert(spelling);
    EXPECT_EQ(read_spelled_bytes(spelling),
              std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(spellings.size(), 256u);
}

TEST(ByteAlphabet, ReadsNothingElse) {
  EXPECT_EQ(read_spelled_bytes("two words"), std::nullopt);
  EXPECT_EQ(read_spelled_bytes("ń"), std::nullopt); // U+0144, just behind it.
  EXPECT_EQ(read_spelled_bytes("日"), std::nullopt);
  EXPECT_EQ(read_spelled_bytes("\xC4"), std::nullopt);
  EXPECT_EQ(read_spelled_bytes("ĠaĊ"), " a\n");
  EXPECT_EQ(read_spelled_bytes(""), "");
}

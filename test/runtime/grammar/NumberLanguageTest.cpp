//===- NumberLanguageTest.cpp - numbers of a range as texts --------------===//

#include "runtime/grammar/number_language.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace baton;

namespace {

bool takes(const TextAutomaton &language, const std::string &text) {
  return language.accepts(characters_of(text, "text"));
}

NumberRange range(const char *least, const char *most, bool exclusive = false) {
  NumberRange result;
  if (least)
    result.raise_least({*Decimal::parse(least), exclusive});
  if (most)
    result.lower_most({*Decimal::parse(most), exclusive});
  return result;
}

} // namespace

TEST(NumberLanguage, IntegersOfEveryRange) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    int low = static_cast<int>(random() % 400) - 200;
    int high = static_cast<int>(random() % 400) - 200;
    const bool exclusive = random() % 2, below = random() % 4,
               above = random() % 4;
    const uint32_t multiple = random() % 3 ? 1 : 1 + random() % 12;
    NumberRange bounds =
        range(below ? std::to_string(low).c_str() : nullptr,
              above ? std::to_string(high).c_str() : nullptr, exclusive);
    bounds.integer = true;
    bounds.multiple = multiple;
    const TextAutomaton language = number_language(bounds);
    for (int value = -1100; value <= 1100; ++value) {
      const bool inside =
          (!below || value > low || (value == low && !exclusive)) &&
          (!above || value < high || (value == high && !exclusive)) &&
          value % static_cast<int>(multiple) == 0;
      ASSERT_EQ(takes(language, std::to_string(value)), inside)
          << low << " to " << high << " of " << multiple << ": " << value;
    }
    EXPECT_FALSE(takes(language, "01"));
    EXPECT_FALSE(takes(language, ""));
    EXPECT_FALSE(takes(language, "-"));
    EXPECT_FALSE(takes(language, "1.0"));
  }
}

TEST(NumberLanguage, FractionsOfEveryRange) {
  std::mt19937 random(4);
  const auto hundredths = [](int value) {
    std::string text = std::to_string(std::abs(value) / 100) + ".";
    text += static_cast<char>('0' + std::abs(value) / 10 % 10);
    text += static_cast<char>('0' + std::abs(value) % 10);
    return (value < 0 ? "-" : "") + text;
  };
  for (int round = 0; round < 200; ++round) {
    const int low = static_cast<int>(random() % 2000) - 1000;
    const int high = low + static_cast<int>(random() % 500);
    const bool exclusive = random() % 2;
    const TextAutomaton language = number_language(
        range(hundredths(low).c_str(), hundredths(high).c_str(), exclusive));
    for (int value = low - 120; value <= high + 120; ++value) {
      const bool inside = exclusive ? low < value && value < high
                                    : low <= value && value <= high;
      ASSERT_EQ(takes(language, hundredths(value)), inside)
          << hundredths(low) << " to " << hundredths(high) << ": "
          << hundredths(value);
      ASSERT_EQ(takes(language, hundredths(value) + "00"), inside);
      // A little more, away from zero.
      const bool more = value < 0 ? low < value && value <= high
                                  : low <= value && value < high;
      if (value != 0)
        ASSERT_EQ(takes(language, hundredths(value) + "01"), more);
    }
  }
}

TEST(NumberLanguage, DigitsAreCounted) {
  const TextAutomaton any = number_language({});
  EXPECT_TRUE(takes(any, std::string(18, '9') + "." + std::string(18, '9')));
  EXPECT_FALSE(takes(any, std::string(19, '9')));
  EXPECT_FALSE(takes(any, "0." + std::string(19, '1')));
  EXPECT_TRUE(takes(number_language(range("1e20", nullptr)),
                    "1" + std::string(20, '0')));
  NumberRange cents;
  cents.fraction_digits = 2;
  EXPECT_TRUE(takes(number_language(cents), "3.25"));
  EXPECT_FALSE(takes(number_language(cents), "3.251"));
}

TEST(NumberLanguage, ZeroMayHaveASign) {
  EXPECT_TRUE(takes(number_language(range("-1", "1")), "-0"));
  EXPECT_FALSE(takes(number_language(range("0", "1")), "-0"));
  EXPECT_TRUE(takes(number_language(range(nullptr, "0")), "-0"));
  EXPECT_FALSE(takes(number_language(range(nullptr, "0", true)), "-0.00"));
  EXPECT_FALSE(takes(number_language(range("0", nullptr, true)), "0.000"));
}

TEST(NumberLanguage, ContradictionsAreEmpty) {
  EXPECT_TRUE(number_language(range("3", "2")).empty());
  EXPECT_TRUE(number_language(range("2", "2", true)).empty());
  NumberRange between = range("2.1", "2.9");
  between.integer = true;
  EXPECT_TRUE(number_language(between).empty());
}

TEST(Decimal, IsExact) {
  for (const auto &[spelling, whole, fraction] : {std::tuple("0", "0", ""),
                                                  {"-0.0", "0", ""},
                                                  {"12.50", "12", "5"},
                                                  {"1e3", "1000", ""},
                                                  {"1.5e-07", "0", "00000015"},
                                                  {"120e-1", "12", ""},
                                                  {"0.001e5", "100", ""}}) {
    const auto number = Decimal::parse(spelling);
    ASSERT_TRUE(number);
    EXPECT_EQ(number->whole, whole) << spelling;
    EXPECT_EQ(number->fraction, fraction) << spelling;
  }
  EXPECT_EQ(Decimal::parse("-2")->compare(*Decimal::parse("-3")), 1);
  EXPECT_EQ(Decimal::parse("2.5")->compare(*Decimal::parse("2.50")), 0);
  EXPECT_EQ(Decimal::parse("9.99")->compare(*Decimal::parse("10")), -1);
  EXPECT_FALSE(Decimal::parse("1e5000"));
}

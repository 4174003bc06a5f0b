//===- RegularExpressionTest.cpp - patterns as grammars ------------------===//

#include "small_vocabulary.h"

#include "runtime/error.h"
#include "runtime/grammar/regular_expression.h"

#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <random>

using namespace baton;

namespace {

bool takes(const std::string &pattern, const std::string &text) {
  return Language(Grammar::regex(pattern)).has(text);
}

bool occurs(const std::string &pattern, const std::string &text) {
  return RegularExpression(pattern).occurrences().accepts(
      characters_of(text, "text"));
}

std::string error_of(const std::string &pattern) {
  try {
    Grammar::regex(pattern);
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

/// PCRE2's matcher that follows all ways at once.
class Library {
public:
  explicit Library(const std::string &pattern) {
    int error = 0;
    size_t place = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                         pattern.size(), PCRE2_DOLLAR_ENDONLY, &error, &place,
                         nullptr);
    data = pcre2_match_data_create(1, nullptr);
  }
  ~Library() {
    pcre2_match_data_free(data);
    pcre2_code_free(code);
  }
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  bool is_there() const { return code != nullptr; }
  bool matches(const std::string &text) {
    std::vector<int> space(5000);
    return pcre2_dfa_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                           text.size(), 0, 0, data, nullptr, space.data(),
                           space.size()) >= 0;
  }

private:
  pcre2_code *code;
  pcre2_match_data *data;
};

/// Patterns that PCRE2 and Baton read alike.
class PatternMaker {
public:
  explicit PatternMaker(unsigned seed) : random(seed) {}

  std::string choice(int depth) {
    std::string pattern = sequence(depth);
    while (random() % 3 == 0)
      pattern += "|" + sequence(depth);
    return pattern;
  }
  std::string text() {
    std::string text;
    for (size_t count = random() % 8; count > 0; --count)
      text += "abc1 "[random() % 5];
    return text;
  }

private:
  std::string sequence(int depth) {
    std::string pattern;
    if (random() % 12 == 0)
      pattern += "^";
    for (size_t count = random() % 4; count > 0; --count)
      pattern += counted(depth);
    if (random() % 12 == 0)
      pattern += "$";
    return pattern;
  }
  std::string counted(int depth) {
    static const char *const counts[] = {"",  "",    "",      "*",      "+",
                                         "?", "{2}", "{1,3}", "{0,2}?", "*?"};
    return atom(depth) + counts[random() % std::size(counts)];
  }
  std::string atom(int depth) {
    static const char *const atoms[] = {
        "a",    "b",   "c",   "1",   " ",      ".",     "[ab]",
        "[^a]", "\\d", "\\w", "\\s", "[b-c1]", "\\x61", "[\\d ]"};
    if (depth == 0 || random() % 4 != 0)
      return atoms[random() % std::size(atoms)];
    return (random() % 2 ? "(" : "(?:") + choice(depth - 1) + ")";
  }

  std::mt19937 random;
};

} // namespace

TEST(RegularExpression, MatchesWhatTheLibraryDoes) {
  int matched = 0, too_large = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    PatternMaker maker(seed);
    const std::string pattern = maker.choice(2);
    Library anywhere(pattern), all("\\A(?:" + pattern + ")\\z");
    ASSERT_TRUE(anywhere.is_there() && all.is_there()) << pattern;
    TextAutomaton somewhere;
    try {
      somewhere = RegularExpression(pattern).occurrences();
    } catch (const Error &) {
      ++too_large;
      continue;
    }
    std::unique_ptr<Language> whole;
    try {
      whole = std::make_unique<Language>(Grammar::regex(pattern));
    } catch (const Error &) {
      // Assertions may leave nothing.
    }
    for (int count = 0; count < 12; ++count) {
      const std::string text = maker.text();
      EXPECT_EQ(somewhere.accepts(characters_of(text, "text")),
                anywhere.matches(text))
          << pattern << " in '" << text << "'";
      const bool matches = all.matches(text);
      EXPECT_EQ(whole && whole->has(text), matches)
          << pattern << " is '" << text << "'";
      matched += matches;
    }
  }
  EXPECT_GT(matched, 500);
  EXPECT_LT(too_large, 5);
}

TEST(RegularExpression, KnowsUnicode) {
  EXPECT_TRUE(takes("\\p{Lu}\\p{Ll}+", "\u00c9t\u00e9"));
  EXPECT_FALSE(takes("\\p{Lu}\\p{Ll}+", "\u00e9t\u00e9"));
  EXPECT_TRUE(takes("\\P{L}", "1"));
  EXPECT_TRUE(takes("\\pL", "\u65e5"));
  EXPECT_TRUE(takes("[\\p{Nd}x]+", "\u0663x"));
  EXPECT_TRUE(
      takes("\\u00e9\\u{1F600}\\uD83D\\uDE00", "\u00e9\U0001F600\U0001F600"));
  EXPECT_TRUE(takes(".", "\U0001F600"));
  EXPECT_FALSE(takes(".", "\u2028"));
  EXPECT_TRUE(takes("[\\u3040-\\u309f]", "\u3042"));
  EXPECT_TRUE(takes("\\s", "\u00a0"));
  EXPECT_FALSE(takes("\\d", "\u0663"));
}

TEST(RegularExpression, AssertionsHoldAtTheEnds) {
  EXPECT_TRUE(takes("^a$", "a"));
  EXPECT_TRUE(takes("(^a|b$)", "a"));
  EXPECT_TRUE(takes("(?:^|x)a(?:$|y)", "xay"));
  EXPECT_FALSE(takes("(?:^|x)a(?:$|y)", "ya"));
  EXPECT_THROW(takes("a^b", "ab"), Error);
  EXPECT_TRUE(occurs("b$", "ab"));
  EXPECT_FALSE(occurs("b$", "ba"));
  EXPECT_FALSE(occurs("^b", "ab"));
  EXPECT_TRUE(occurs("", "anything"));
}

TEST(RegularExpression, BracesMayMeanThemselves) {
  EXPECT_TRUE(takes("a{x}", "a{x}"));
  EXPECT_TRUE(takes("{", "{"));
  EXPECT_TRUE(takes("a{,2}", "a{,2}"));
}

TEST(RegularExpression, StaysSmallWhereSubsetsWouldNot) {
  // Its deterministic automaton has 2^24 states.
  const Language language(Grammar::regex("(a|b)*a(a|b){23}"));
  EXPECT_TRUE(language.has("bb"
                           "a"
                           "ababababababababababab"
                           "b"));
  EXPECT_FALSE(language.has("bb"
                            "b"
                            "ababababababababababab"
                            "b"));
  EXPECT_THROW(RegularExpression("a.{40}").occurrences(), Error);
}

TEST(RegularExpression, NamesWhatItRefuses) {
  for (const auto &[pattern, error] : {
           std::pair("(?=a)", "at byte 2: looking ahead is not supported"),
           {"(?!a)", "at byte 2: looking ahead is not supported"},
           {"(?<=a)", "at byte 4: looking behind is not supported"},
           {"(a)\\1", "at byte 4: references to groups are not supported"},
           {"a\\b", "at byte 2: borders of words (\\b) are not supported"},
           {"(?i)a", "at byte 2: flags of groups are not supported"},
           {"(?>a)", "at byte 2: atomic groups are not supported"},
           {"a++", "at byte 2: possessive counts are not supported"},
           {"[[:alpha:]]", "at byte 1: classes of POSIX are not supported"},
           {"\\p{Greek}", "at byte 9: the property 'Greek' of characters is "
                          "not supported: only general categories are"},
           {"(", "at byte 1: a ( without its )"},
           {")", "at byte 0: a ) without its ("},
           {"[a", "at byte 2: a [ without its ]"},
           {"*", "at byte 0: nothing to repeat"},
           {"a**", "at byte 2: nothing to repeat"},
           {"a{3,1}", "at byte 6: the least count is above the most"},
           {"[z-a]", "at byte 2: a range runs backwards"},
           {"\\", "at byte 1: ends with a backslash"},
       })
    EXPECT_EQ(error_of(pattern),
              "the pattern '" + std::string(pattern) + "', " + error);
  EXPECT_NE(error_of(std::string(1000, '(')).find("100 deep"),
            std::string::npos);
}

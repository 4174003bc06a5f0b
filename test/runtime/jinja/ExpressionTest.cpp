//===- ExpressionTest.cpp - operators, literals, attributes ---------------===//

#include "test/runtime/jinja/JinjaTest.h"

using namespace baton::jinja;

TEST(Expression, CountsAsPython) {
  EXPECT_EQ(value("1 + 2 * 3 ** 2 - 4 // 3 % 2"), "18");
  EXPECT_EQ(value("-7 // 2"), "-4");
  EXPECT_EQ(value("-7 % 3"), "2");
  EXPECT_EQ(value("7 % -3"), "-2");
  EXPECT_EQ(value("-2 ** 2"), "4");
  EXPECT_EQ(value("2 ** 3 ** 2"), "64");
  EXPECT_EQ(value("2 ** -1"), "0.5");
  EXPECT_EQ(value("7 / 2"), "3.5");
  EXPECT_EQ(value("true + 1"), "2");
}

TEST(Expression, HasLargeIntegersUpToAPoint) {
  EXPECT_EQ(value("2 ** 100"), "1267650600228229401496703205376");
  EXPECT_EQ(value("n", R"({"n": 18446744073709551615})"),
            "18446744073709551615");
  EXPECT_EQ(failure("{{ 2 ** 200 }}"),
            "t:1:6: the number is too large: integers have 128 bits");
}

TEST(Expression, PrintsFloatsAsPython) {
  EXPECT_EQ(value("[0.1 + 0.2, 1e16, 1e15, 100.0, 0.0001, 0.00001, -0.0]"),
            "[0.30000000000000004, 1e+16, 1000000000000000.0, 100.0, 0.0001, "
            "1e-05, -0.0]");
  EXPECT_EQ(value("1e308 * 10"), "inf");
}

TEST(Expression, DividesByNothing) {
  EXPECT_EQ(failure("{{ 1 / 0 }}"), "t:1:6: division by zero");
  EXPECT_EQ(failure("{{ 1 // 0 }}"),
            "t:1:6: integer division or modulo by zero");
}

TEST(Expression, ComparesInChains) {
  EXPECT_EQ(value("1 < 2 < 3"), "True");
  EXPECT_EQ(value("1 < 3 < 2"), "False");
  EXPECT_EQ(value("1 == 1.0 == true"), "True");
  EXPECT_EQ(value("[1, [2]] == [1.0, [2]]"), "True");
  EXPECT_EQ(value("[1] == (1,)"), "False");
  EXPECT_EQ(value("'a' < 'b' <= 'b'"), "True");
  EXPECT_EQ(failure("{{ 'a' < 1 }}"),
            "t:1:8: '<' not supported between instances of 'str' and 'int'");
}

TEST(Expression, KeepsTheOperandsOfAndAndOr) {
  EXPECT_EQ(value("0 or 'a' and 5"), "5");
  EXPECT_EQ(value("none and 5"), "None");
  EXPECT_EQ(value("not 0"), "True");
  EXPECT_EQ(value("'a' if false else 'b' if false else 'c'"), "c");
  EXPECT_EQ(value("'a' if false"), "");
}

TEST(Expression, ConcatenatesTexts) {
  EXPECT_EQ(value("'a' 'b' ~ 1 ~ none ~ 2.0 ~ [true, 'x']"),
            "ab1None2.0[True, 'x']");
  EXPECT_EQ(value("'ab' * 2 + 'c'"), "ababc");
  EXPECT_EQ(failure("{{ 'a' + 1 }}"),
            "t:1:8: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(failure("{{ 1 + 'a' }}"),
            "t:1:6: unsupported operand type(s) for +: 'int' and 'str'");
}

TEST(Expression, ReadsLiterals) {
  EXPECT_EQ(value("0x1F + 0b101 + 0o17 + 1_000"), "1051");
  EXPECT_EQ(value(R"('\x41\u00e9\n\'\\\101\q')"), "Aé\n'\\A\\q");
  EXPECT_EQ(value("[1, 'a',]"), "[1, 'a']");
  EXPECT_EQ(value("(1,)"), "(1,)");
  EXPECT_EQ(value("()"), "()");
  EXPECT_EQ(value("{1: 'a', 1.0: 'b', true: 'c'}"), "{1: 'c'}");
  EXPECT_EQ(failure("{{ {[1]: 2} }}"), "t:1:4: unhashable type: 'list'");
}

TEST(Expression, CountsCharacters) {
  const std::string context = R"({"s": "aé日😀"})";
  EXPECT_EQ(value("s|length", context), "4");
  EXPECT_EQ(value("s[1:3]", context), "é日");
  EXPECT_EQ(value("s[-1]", context), "😀");
  EXPECT_EQ(value("s[::-1]", context), "😀日éa");
  EXPECT_EQ(value("s[9]", context), "");
  EXPECT_EQ(value("s.find('日')", context), "2");
}

TEST(Expression, Slices) {
  EXPECT_EQ(value("'abcdef'[1:5:2]"), "bd");
  EXPECT_EQ(value("'abcdef'[-2:]"), "ef");
  EXPECT_EQ(value("[1, 2, 3][::-1]"), "[3, 2, 1]");
  EXPECT_EQ(value("(1, 2, 3)[5:]"), "()");
  EXPECT_EQ(value("range(10)[::3]"), "range(0, 10, 3)");
  EXPECT_EQ(failure("{{ 'a'[::0] }}"), "t:1:8: slice step cannot be zero");
  EXPECT_EQ(failure("{{ {}[1:] }}"), "t:1:7: unhashable type: 'slice'");
}

TEST(Expression, LooksUpNamesBeforeKeysBehindAPoint) {
  const std::string context = R"({"d": {"items": 1, "a": {"b": [0, 5]}}})";
  EXPECT_EQ(value("d['items']", context), "1");
  EXPECT_EQ(value("d.items()|list|length", context), "2");
  EXPECT_EQ(value("d.a.b.1", context), "5");
  EXPECT_EQ(value("d['get']('a')['b'][-1]", context), "5");
}

TEST(Expression, NamesWhatIsUndefined) {
  EXPECT_EQ(value("nosuch"), "");
  EXPECT_EQ(value("nosuch is defined"), "False");
  EXPECT_EQ(failure("{{ nosuch.x }}"), "t:1:10: 'nosuch' is undefined");
  EXPECT_EQ(failure("{{ nosuch + 1 }}"), "t:1:11: 'nosuch' is undefined");
  EXPECT_EQ(failure("{{ d.x.y }}", R"({"d": {}})"),
            "t:1:7: 'dict object' has no attribute 'x'");
  EXPECT_EQ(failure("{{ l[5].y }}", R"({"l": []})"),
            "t:1:8: list object has no element 5");
  EXPECT_EQ(value("nosuch == othersuch"), "True");
  EXPECT_EQ(value("nosuch == none"), "False");
}

TEST(Expression, RefusesWhatWouldChangeValues) {
  EXPECT_EQ(failure("{{ [].append(1) }}"),
            "t:1:13: access to attribute 'append' of 'list' object is unsafe.");
  EXPECT_EQ(failure("{{ {}.update({}) }}"),
            "t:1:13: access to attribute 'update' of 'dict' object is unsafe.");
  EXPECT_EQ(failure("{{ ''.__class__.x }}"),
            "t:1:16: access to attribute '__class__' of 'str' object is "
            "unsafe.");
}

TEST(Expression, CallsWithAllKindsOfArguments) {
  EXPECT_EQ(value("dict(*[{'a': 1}], b=2, **{'c': 3})"),
            "{'a': 1, 'b': 2, 'c': 3}");
  EXPECT_EQ(value("'a,b,c'.split(',', maxsplit=1)"), "['a', 'b,c']");
  EXPECT_EQ(failure("{{ dict(a=1, a=2) }}"),
            "t:1:16: keyword argument repeated: a");
  EXPECT_EQ(failure("{{ dict(a=1, **{'a': 2}) }}"),
            "t:1:8: got multiple values for keyword argument 'a'");
  EXPECT_EQ(failure("{{ none() }}"),
            "t:1:8: 'NoneType' object is not callable");
}

TEST(Expression, ContainsAsPython) {
  EXPECT_EQ(value("'ell' in 'hello' and 1 not in [2] and 'a' in {'a': 1}"),
            "True");
  EXPECT_EQ(value("3.0 in range(5)"), "True");
  EXPECT_EQ(failure("{{ 1 in 'a' }}"),
            "t:1:6: 'in <string>' requires string as left operand, not int");
}

TEST(Expression, ShowsTextsAsRepr) {
  EXPECT_EQ(value(R"(["a'b", 'a"b', 'a\'b"c', 'a\nb\t\\', '\x7f\u200b', 'é'])"),
            R"(["a'b", 'a"b', 'a\'b"c', 'a\nb\t\\', '\x7f\u200b', 'é'])");
}

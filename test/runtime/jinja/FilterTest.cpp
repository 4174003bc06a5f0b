//===- FilterTest.cpp - filters, tests and functions ----------------------===//

#include "test/runtime/jinja/JinjaTest.h"

using namespace baton::jinja;

namespace {

const std::string users = R"({"users": [
  {"name": "Bob", "age": 30, "on": true, "at": {"city": "Rome"}},
  {"name": "alice", "age": 25, "on": false, "at": {"city": "oslo"}},
  {"name": "Carol", "age": 30, "on": true, "at": {"city": "Oslo"}}]})";

} // namespace

TEST(Filter, WritesJson) {
  const std::string context =
      R"({"d": {"b": [1, 2.0, null, true], "é": "a\"<\n😀", "e": {}, "l": []}})";
  EXPECT_EQ(
      value("d|tojson", context),
      R"({"b": [1, 2.0, null, true], "é": "a\"<\n😀", "e": {}, "l": []})");
  EXPECT_EQ(value("d|tojson(indent=2)", context),
            "{\n  \"b\": [\n    1,\n    2.0,\n    null,\n    true\n  ],\n"
            "  \"é\": \"a\\\"<\\n😀\",\n  \"e\": {},\n  \"l\": []\n}");
  EXPECT_EQ(
      value("d|tojson(ensure_ascii=true, separators=(',', ':'), "
            "sort_keys=true)",
            context),
      R"({"b":[1,2.0,null,true],"e":{},"l":[],"\u00e9":"a\"<\n\ud83d\ude00"})");
  EXPECT_EQ(value("{1: 2, none: 3, true: (4,)}|tojson"),
            R"({"1": [4], "null": 3})");
  EXPECT_EQ(failure("{{ nosuch|tojson }}"),
            "t:1:11: Object of type Undefined is not JSON serializable");
}

TEST(Filter, SelectsAndMaps) {
  EXPECT_EQ(value("users|map(attribute='at.city')|join(',')", users),
            "Rome,oslo,Oslo");
  EXPECT_EQ(value("users|map(attribute='x', default='-')|join", users), "---");
  EXPECT_EQ(value("['a', 'b']|map('upper')|list"), "['A', 'B']");
  EXPECT_EQ(value("users|selectattr('on')|map(attribute='name')|list", users),
            "['Bob', 'Carol']");
  EXPECT_EQ(value("users|rejectattr('age', 'gt', 26)|list|length", users), "1");
  EXPECT_EQ(value("[1, 2, 3, none]|select|reject('odd')|list"), "[2]");
}

TEST(Filter, IsLazyWherePythonIs) {
  EXPECT_EQ(render("{% set g = [1]|map('nosuch') %}x"), "x");
  EXPECT_EQ(failure("{{ [1]|map('nosuch')|list }}"),
            "t:1:22: No filter named 'nosuch'.");
  EXPECT_EQ(
      render("{% set g = [1, 2]|map('string') %}{{ g|join }}{{ g|join }}"),
      "12");
  EXPECT_EQ(failure("{{ ([1]|select)|length }}"),
            "t:1:17: object of type 'generator' has no len()");
}

TEST(Filter, Sorts) {
  EXPECT_EQ(value("['b', 'A', 'c', 'a']|sort"), "['A', 'a', 'b', 'c']");
  EXPECT_EQ(value("['b', 'A', 'a']|sort(true, true)"), "['b', 'a', 'A']");
  EXPECT_EQ(value("users|sort(attribute='age,name')|map(attribute='name')|list",
                  users),
            "['alice', 'Bob', 'Carol']");
  EXPECT_EQ(value("{'b': 1, 'A': 2}|dictsort"), "[('A', 2), ('b', 1)]");
  EXPECT_EQ(value("{'b': 1, 'A': 2}|dictsort(by='value')"),
            "[('b', 1), ('A', 2)]");
  EXPECT_EQ(value("users|groupby('at.city')|map('first')|list", users),
            "['oslo', 'Rome']");
  EXPECT_EQ(value("['a', 'A', 'b']|unique|list"), "['a', 'b']");
  EXPECT_EQ(value("[3, 1, 2]|max ~ [3, 1, 2]|min ~ [1, 2.5]|sum"), "313.5");
  EXPECT_EQ(failure("{{ [1, 'a']|sort }}"),
            "t:1:13: '<' not supported between instances of 'str' and 'int'");
}

TEST(Filter, CutsLists) {
  EXPECT_EQ(value("range(5)|batch(2, 'x')|list"), "[[0, 1], [2, 3], [4, 'x']]");
  EXPECT_EQ(value("range(5)|slice(2, 'x')|list"), "[[0, 1, 2], [3, 4, 'x']]");
  EXPECT_EQ(value("[1, 2]|first ~ [1, 2]|last ~ []|first"), "12");
  EXPECT_EQ(value("'abc'|reverse ~ [1, 2]|reverse|list"), "cba[2, 1]");
}

TEST(Filter, ChangesTexts) {
  EXPECT_EQ(value("'foo-bar (o\\'neil)'|title"), "Foo-Bar (O'neil)");
  EXPECT_EQ(value("' a '|trim ~ 'xax'|trim('x')"), "aa");
  EXPECT_EQ(value("'a\\n\\nb'|indent(2)"), "a\n\n  b");
  EXPECT_EQ(value("'a\\nb'|indent('> ', true)"), "> a\n> b");
  EXPECT_EQ(value("'foo bar baz qux'|truncate(9, false, '...', 0)"), "foo...");
  EXPECT_EQ(value("'The quick-brown fox'|wordwrap(9)"),
            "The\nquick-\nbrown fox");
  EXPECT_EQ(value("'%s|%5.2f|%-4d|%x'|format('a', 3.14159, 42, 255)"),
            "a| 3.14|42  |ff");
  EXPECT_EQ(value("'it\\'s a_b'|wordcount"), "3");
}

TEST(Filter, EscapesForHtml) {
  EXPECT_EQ(value("'<a>\\'\"&'|e"), "&lt;a&gt;&#39;&#34;&amp;");
  EXPECT_EQ(value("('<b>'|safe) + '<'"), "<b>&lt;");
  EXPECT_EQ(value("('<b>'|safe) ~ '<'"), "<b><");
  EXPECT_EQ(value("'<p>a  &amp; b</p><!-- c -->'|striptags"), "a & b");
  EXPECT_EQ(value("'a b/é'|urlencode ~ {'k v': '&'}|urlencode"),
            "a%20b/%C3%A9k+v=%26");
  EXPECT_EQ(value("{'a': '<', 'b': none}|xmlattr"), " a=\"&lt;\"");
}

TEST(Filter, ConvertsNumbers) {
  EXPECT_EQ(
      value("['42', ' 4_2 ', '4.9', 'x', none, 3.9, '٤']|map('int')|list"),
      "[42, 42, 4, 0, 0, 3, 4]");
  EXPECT_EQ(value("'0x1F'|int(base=16) ~ ',' ~ 'x'|int(-1)"), "31,-1");
  EXPECT_EQ(value("['1.5', '1e400', 'x']|map('float')|list"),
            "[1.5, inf, 0.0]");
  EXPECT_EQ(value("[2.5|round, 3.5|round, 2.675|round(2), 5|round]"),
            "[2.0, 4.0, 2.67, 5]");
  EXPECT_EQ(value("2.12|round(1, 'ceil') ~ ' ' ~ 2.5|round(0, 'floor')"),
            "2.2 2.0");
  EXPECT_EQ(value("1000|filesizeformat ~ 1024|filesizeformat(true)"),
            "1.0 kB1.0 KiB");
}

TEST(Filter, PrintsOverSeveralLines) {
  EXPECT_EQ(value("{'b': range(40)|list, 'a': 1}|pprint").substr(0, 24),
            "{'a': 1,\n 'b': [0,\n     ");
}

TEST(Filter, RefusesSome) {
  EXPECT_EQ(failure("{{ [1]|random }}"),
            "t:1:8: the filters random and urlize are not supported");
  EXPECT_EQ(failure("{{ lipsum() }}"), "t:1:10: lipsum() is not supported");
  EXPECT_EQ(failure("{{ 'a'|upper(1) }}"),
            "t:1:8: upper() takes at most 1 arguments, 2 are given");
  EXPECT_EQ(failure("{{ 'a'|trim(x=1) }}"),
            "t:1:8: trim() got an unexpected keyword argument 'x'");
}

TEST(IsTest, AsksForTypes) {
  EXPECT_EQ(
      value("[1 is integer, true is integer, true is number, 1.0 is float,"
            " 'a' is string, {} is mapping, [] is sequence, {} is sequence,"
            " none is none, 1 is iterable, 'a' is iterable]"),
      "[True, False, True, True, True, True, True, True, True, False, "
      "True]");
  EXPECT_EQ(value("[3 is odd, 4 is even, 9 is divisibleby 3, 1 is in [1], "
                  "2 is gt 1, 'a' is lower, 'A' is upper, 'upper' is filter]"),
            "[True, True, True, True, True, True, True, True]");
  EXPECT_EQ(value("not x is defined and x is not defined"), "True");
}

TEST(Function, MakesRanges) {
  EXPECT_EQ(value("range(2, 9, 3)|list ~ range(3, 0, -1)|list"),
            "[2, 5, 8][3, 2, 1]");
  EXPECT_EQ(failure("{{ range(100001) }}"),
            "t:1:9: Range too big. The sandbox blocks ranges larger than "
            "MAX_RANGE (100000).");
}

TEST(Function, Cycles) {
  EXPECT_EQ(render("{% set c = cycler('a', 'b') %}{% set j = joiner('|') %}"
                   "{% for x in 'xyz' %}{{ j() }}{{ c.next() }}{% endfor %}"),
            "a|b|a");
}

TEST(Function, TellsTheTime) {
  EXPECT_EQ(value("strftime_now('%d %b %Y, %A %H:%M:%S.%f%z %j %%')"),
            "01 Mar 2025, Saturday 12:34:56.000000 060 %");
}

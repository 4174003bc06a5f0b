//===- MethodTest.cpp - methods of texts, lists and dictionaries ----------===//

#include "test/runtime/jinja/JinjaTest.h"

using namespace baton::jinja;

TEST(TextMethod, Splits) {
  EXPECT_EQ(value("' a b  c '.split()"), "['a', 'b', 'c']");
  EXPECT_EQ(value("' a b  c '.split(none, 1)"), "['a', 'b  c ']");
  EXPECT_EQ(value("' a b  c '.rsplit(none, 1)"), "[' a b', 'c']");
  EXPECT_EQ(value("'a,b,,c'.split(',') ~ 'a,b,c'.rsplit(',', 1)"),
            "['a', 'b', '', 'c']['a,b', 'c']");
  EXPECT_EQ(value("'a\\r\\nb\\x0bc\\u2028'.splitlines(true)"),
            "['a\\r\\n', 'b\\x0b', 'c\\u2028']");
  EXPECT_EQ(value("'a-b-c'.partition('-') ~ 'a-b-c'.rpartition('-')"),
            "('a', '-', 'b-c')('a-b', '-', 'c')");
  EXPECT_EQ(failure("{{ 'a'.split('') }}"), "t:1:13: empty separator");
}

TEST(TextMethod, Strips) {
  EXPECT_EQ(value("'xyaxy'.strip('yx') ~ 'xa'.lstrip('x') ~ 'ax'.rstrip('x')"),
            "aaa");
  EXPECT_EQ(value("'\\u3000a\\x1f'.strip()"), "a");
  EXPECT_EQ(value("'abc'.removeprefix('a').removesuffix('c')"), "b");
}

TEST(TextMethod, Finds) {
  EXPECT_EQ(value("['abcb'.find('b'), 'abcb'.rfind('b'), 'abcb'.find('b', 2), "
                  "'abcb'.find('z'), 'aaaa'.count('aa'), 'ab'.count('')]"),
            "[1, 3, 3, -1, 2, 3]");
  EXPECT_EQ(value("['ab'.startswith(('x', 'a')), 'ab'.endswith('b', 0, 1)]"),
            "[True, False]");
  EXPECT_EQ(failure("{{ 'a'.index('b') }}"), "t:1:13: substring not found");
  EXPECT_EQ(value("'abab'.replace('a', 'x', 1) ~ 'ab'.replace('', '-')"),
            "xbab-a-b-");
}

TEST(TextMethod, MapsCaseAsUnicodeHasIt) {
  EXPECT_EQ(value("'straße ﬁ ŉ'.upper()"), "STRASSE FI ʼN");
  EXPECT_EQ(value("'ΑΣ ΑΣΑ İ'.lower()"), "ας ασα i̇");
  EXPECT_EQ(value("'ǆa they\\'re'.title() ~ 'éCOLE'.capitalize()"),
            "ǅa They'ReÉcole");
  EXPECT_EQ(value("'aB'.swapcase() ~ 'Straße'.casefold()"), "Abstrasse");
}

TEST(TextMethod, AsksForCharacters) {
  EXPECT_EQ(value("['²'.isdigit(), '²'.isdecimal(), '½'.isnumeric(), "
                  "'日'.isalpha(), ''.isalpha(), 'Ab'.istitle(), "
                  "'a1'.islower(), 'a_1'.isidentifier(), ''.isascii()]"),
            "[True, False, True, True, False, True, True, True, True]");
}

TEST(TextMethod, Pads) {
  EXPECT_EQ(value("'abc'.center(6) ~ '|' ~ 'abcd'.center(7, '*') ~ '|' ~ "
                  "'-42'.zfill(5) ~ 'a\\tb'.expandtabs(4)"),
            " abc  |**abcd*|-0042a   b");
  EXPECT_EQ(value("'é'.ljust(3, '.') ~ 'é'.rjust(3)"), "é..  é");
}

TEST(TextMethod, FormatsWithBraces) {
  EXPECT_EQ(value("'{} {}'.format(1, 'a') ~ '{1}{0}'.format('a', 'b')"),
            "1 aba");
  EXPECT_EQ(value("'{:>5}|{:*^5}|{:05.1f}|{:,}|{:#x}|{!r}|{:%}'.format("
                  "'a', 'b', 3.14, 1234567, 255, 'c', 0.5)"),
            "    a|**b**|003.1|1,234,567|0xff|'c'|50.000000%");
  EXPECT_EQ(value("'{x.y}{x[y]}{{}}'.format(x={'y': 5})"), "55{}");
  EXPECT_EQ(value("'{:{w}}'.format('a', w=3)"), "a  ");
  EXPECT_EQ(failure("{{ '{}'.format() }}"),
            "t:1:15: Replacement index 0 out of range for positional args "
            "tuple");
  EXPECT_EQ(failure("{{ '{'.format(1) }}"),
            "t:1:14: Single '{' encountered in format string");
}

TEST(TextMethod, FormatsWithPercent) {
  EXPECT_EQ(value("'%s %r %05d %.3f %x %c%%' % ('a', 'b', 42, 2.5, 255, 65)"),
            "a 'b' 00042 2.500 ff A%");
  EXPECT_EQ(value("'%(a)s' % {'a': 1}"), "1");
  EXPECT_EQ(failure("{{ '%s' % ('a', 'b') }}"),
            "t:1:9: not all arguments converted during string formatting");
  EXPECT_EQ(failure("{{ '%d' % 'a' }}"),
            "t:1:9: %d format: a real number is required, not str");
}

TEST(ContainerMethod, ReadsListsAndDictionaries) {
  EXPECT_EQ(value("[3, 1, 3].count(3) ~ [3, 1].index(1)"), "21");
  EXPECT_EQ(value("{'a': 1}.get('b') ~ {'a': 1}.get('b', 2)"), "None2");
  EXPECT_EQ(value("{'a': 1}.items() ~ {'a': 1}.keys() ~ {'a': 1}.values()"),
            "dict_items([('a', 1)])dict_keys(['a'])dict_values([1])");
  EXPECT_EQ(value("{'a': 1}.items()[0] is defined"), "False");
}

//===- StatementTest.cpp - loops, variables, macros, white space ----------===//

#include "test/runtime/jinja/JinjaTest.h"

using namespace baton::jinja;

TEST(WhiteSpace, IsTrimmedAroundBlocks) {
  EXPECT_EQ(render("a\n  {% if true %}  \n  b\n  {% endif %}\nc\n"),
            "a\n  \n  b\nc");
  EXPECT_EQ(render("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(render("a \n {{- 1 -}} \n b"), "a1b");
  EXPECT_EQ(render(" {{ 1 }} \n"), " 1 ");
  EXPECT_EQ(render("a\n  {# c #}\nb {#- d -#} c"), "a\nbc");
  EXPECT_EQ(render("a\r\nb\rc\n\n"), "a\nb\nc\n");
}

TEST(WhiteSpace, IsKeptInRawBlocks) {
  EXPECT_EQ(render("{% raw %} {{ x }} {% endraw %}"), " {{ x }} ");
  EXPECT_EQ(render("{%- raw -%} {{ x }} {%- endraw -%} y"), "{{ x }}y");
}

TEST(Loop, KnowsItsPlace) {
  EXPECT_EQ(
      render("{% for x in 'abc' %}{{ loop.index }}{{ loop.revindex0 }}"
             "{{ loop.first }}{{ loop.last }}{{ loop.length }} "
             "{{ loop.previtem }}{{ x }}{{ loop.nextitem }};{% endfor %}"),
      "12TrueFalse3 ab;21FalseFalse3 abc;30FalseTrue3 bc;");
  EXPECT_EQ(render("{% for x in [1, 1, 2] %}{{ loop.changed(x) }}"
                   "{{ loop.cycle('a', 'b') }}{% endfor %}"),
            "TrueaFalsebTruea");
}

TEST(Loop, UnpacksAndFilters) {
  EXPECT_EQ(render("{% for k, (a, b) in [(1, (2, 3))] %}{{ k }}{{ a }}{{ b }}"
                   "{% endfor %}"),
            "123");
  EXPECT_EQ(
      render("{% for x in range(6) if x is odd %}{{ x }}/{{ loop.length }}"
             " {% else %}none{% endfor %}"),
      "1/3 3/3 5/3 ");
  EXPECT_EQ(render("{% for x in [] %}{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(failure("{% for a, b in [(1,)] %}{% endfor %}"),
            "t:1:4: not enough values to unpack (expected 2, got 1)");
  EXPECT_EQ(failure("{% for x in 5 %}{% endfor %}"),
            "t:1:4: 'int' object is not iterable");
}

TEST(Loop, BreaksAndContinues) {
  EXPECT_EQ(
      render("{% for x in range(9) %}{% if x == 1 %}{% continue %}"
             "{% elif x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}"),
      "023");
  // Iterations that end early do not count for Jinja.
  EXPECT_EQ(render("{% for x in [1] %}{% continue %}{% else %}e{% endfor %}"),
            "e");
  EXPECT_EQ(failure("{% break %}"), "t:1:4: 'break' outside loop");
}

TEST(Loop, Recurses) {
  EXPECT_EQ(
      render("{% for x in [1, [2, [3]]] recursive %}{% if x is sequence %}"
             "({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}"
             "{% endfor %}"),
      "1@1(2@2(3@3))");
}

TEST(Variables, StayInTheirScope) {
  EXPECT_EQ(render("{% set y = 0 %}{% for x in [1, 2] %}{% set y = y + x %}"
                   "{{ y }}{% endfor %}{{ y }}"),
            "120");
  EXPECT_EQ(render("{% if true %}{% set y = 1 %}{% endif %}{{ y }}"), "1");
  EXPECT_EQ(
      render("{% if false %}{% set n = 1 %}{% endif %}{{ n }}", R"({"n": 7})"),
      "7");
  EXPECT_EQ(render("{% set ns = namespace(y=0) %}{% for x in [1, 2] %}"
                   "{% set ns.y = ns.y + x %}{% endfor %}{{ ns.y }}"),
            "3");
  EXPECT_EQ(render("{% with n = n + 1, m = n %}{{ n }}{{ m }}{% endwith %}"
                   "{{ n }}",
                   R"({"n": 7})"),
            "877");
  EXPECT_EQ(failure("{% set d.x = 1 %}", R"({"d": {}})"),
            "t:1:4: cannot assign attribute on non-namespace object");
}

TEST(Variables, CaptureBlocks) {
  EXPECT_EQ(
      render("{% set a | upper | replace('X', 'z') %}x{{ 1 }}y{% endset %}"
             "[{{ a }}]"),
      "[z1Y]");
  EXPECT_EQ(render("{% filter upper %}a{{ 'b' }}{% endfilter %}"), "AB");
}

TEST(Variables, MayHoldThemselves) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}"),
            "<Namespace {'me': <Namespace {...}>}>");
}

TEST(Macro, BindsArguments) {
  const std::string macro =
      "{% macro m(a, b=2) %}{{ a }}-{{ b }};{% endmacro %}";
  EXPECT_EQ(render(macro + "{{ m(1) }}{{ m(b=5, a=4) }}{{ m() }}"),
            "1-2;4-5;-2;");
  EXPECT_EQ(failure(macro + "{{ m(1, 2, 3) }}"),
            "t:1:56: macro 'm' takes not more than 2 argument(s)");
  EXPECT_EQ(failure(macro + "{{ m(c=1) }}"),
            "t:1:56: macro 'm' takes no keyword argument 'c'");
  EXPECT_EQ(render("{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}"
                   "{{ m(1, 2, x=3) }}"),
            "(2,){'x': 3}");
}

TEST(Macro, SeesVariablesAsTheyAreWhenItIsCalled) {
  EXPECT_EQ(
      render("{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}"
             "{% set x = 2 %}{{ m() }}"),
      "12");
}

TEST(Macro, KeepsVariablesOfCallsThatAreOver) {
  EXPECT_EQ(
      render("{% set ns = namespace() %}"
             "{% macro outer(x) %}{% macro inner() %}{{ x }}{% endmacro %}"
             "{% set ns.f = inner %}{% endmacro %}"
             "{% macro other(y) %}{{ y }}{% endmacro %}"
             "{{ outer(1) }}{{ other(2) }}{{ ns.f() }}{{ other(3) }}"
             "{{ ns.f() }}"),
      "2131");
}

TEST(Macro, Recurses) {
  EXPECT_EQ(render("{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}"
                   "{% endmacro %}{{ f(3) }}"),
            "321");
}

TEST(Macro, CallsBack) {
  EXPECT_EQ(render("{% macro m() %}[{{ caller(1) }}]{% endmacro %}"
                   "{% call(a, b=2) m() %}{{ a }}{{ b }}{% endcall %}"),
            "[12]");
  EXPECT_EQ(failure("{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}"),
            "t:1:25: No caller defined");
}

TEST(Generation, IsAScope) {
  EXPECT_EQ(render("{% generation %}{% set y = 1 %}{{ y }}{% endgeneration %}"
                   "[{{ y }}]"),
            "1[]");
}

TEST(Generation, IsFoundInTheText) {
  auto generated = [](const std::string &text) {
    std::vector<TextSpan> spans;
    const std::string rendered = Template::parse(text, "t").render(
        nlohmann::ordered_json::object(), {}, &spans);
    std::string found;
    for (const TextSpan &span : spans)
      found += "[" + rendered.substr(span.first, span.end - span.first) + "]";
    return found;
  };
  EXPECT_EQ(generated("ä{% for i in [1, 22] %}-{% generation %}{{ i }}é"
                      "{% endgeneration %}+{% endfor %}"),
            "[1é][22é]");
  EXPECT_EQ(generated("{% generation %}{% endgeneration %}x"), "[]");
  EXPECT_EQ(generated("x"), "");
  // Where its text will be is unknown.
  EXPECT_THROW(generated("{% set x %}{% generation %}1{% endgeneration %}"
                         "{% endset %}{{ x }}"),
               TemplateError);
  EXPECT_THROW(generated("{% macro m() %}{% generation %}1{% endgeneration %}"
                         "{% endmacro %}{{ m() }}"),
               TemplateError);
}

TEST(Statement, RefusesWhatNeedsOtherTemplates) {
  for (const std::string tag :
       {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'",
        "block b", "autoescape true"})
    EXPECT_NE(failure("a{% " + tag + " %}").find("is not supported"),
              std::string::npos)
        << tag;
}

TEST(Statement, SaysWhereSyntaxIsWrong) {
  EXPECT_EQ(failure("a\né {% nosuch %}"),
            "t:2:6: Encountered unknown tag 'nosuch'.");
  EXPECT_EQ(failure("{% if true %}"),
            "t:1:14: Unexpected end of template: elif is missing");
  EXPECT_EQ(failure("{{ 1"),
            "t:1:5: expected token 'end of print statement', got 'end of "
            "template'");
  EXPECT_EQ(failure("{{ (1] }}"), "t:1:6: unexpected ']', expected ')'");
  EXPECT_EQ(failure("{{ 'a }}"),
            "t:1:4: unexpected char \"'\": the text has no end");
  EXPECT_EQ(failure("{{ 1 2 }}"),
            "t:1:6: expected token 'end of print statement', got 'integer'");
  EXPECT_EQ(failure("\xFF"), "t:1:1: the template is not UTF-8");
}

TEST(Statement, RefusesUnknownFiltersButBehindAnIf) {
  EXPECT_EQ(failure("{{ 1|nosuch }}"), "t:1:6: No filter named 'nosuch'.");
  EXPECT_EQ(render("{% if false %}{{ 1|nosuch }}{% endif %}x"), "x");
  EXPECT_EQ(failure("{% if true %}{{ 1|nosuch }}{% endif %}"),
            "t:1:19: No filter named 'nosuch' found.");
  EXPECT_EQ(failure("{{ 1 is nosuch }}"), "t:1:6: No test named 'nosuch'.");
}

TEST(Statement, TellsWhatTheTemplateRaises) {
  try {
    render("a\n  {{ raise_exception('Roles must\nalternate') }}");
    FAIL();
  } catch (const TemplateError &error) {
    EXPECT_TRUE(error.raised);
    EXPECT_EQ(error.what_failed, "Roles must\nalternate");
    EXPECT_EQ(error.line, 2u);
    EXPECT_EQ(error.column, 21u);
    EXPECT_STREQ(error.what(), "t:2:21: Roles must alternate");
  }
}

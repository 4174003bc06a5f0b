//===- LimitTest.cpp - templates that would not end -----------------------===//

#include "test/runtime/jinja/JinjaTest.h"

#include <thread>
#include <vector>

using namespace baton::jinja;

namespace {

RenderOptions small() {
  RenderOptions options;
  options.most_steps = 100'000;
  options.most_bytes = 10'000'000;
  return options;
}

std::string repeat(const std::string &text, size_t times) {
  std::string result;
  for (size_t time = 0; time < times; ++time)
    result += text;
  return result;
}

void expect_limit(const std::string &text, const std::string &limit) {
  EXPECT_NE(failure(text, "{}", small()).find(limit), std::string::npos)
      << text << ": " << failure(text, "{}", small()).substr(0, 200);
}

} // namespace

TEST(Limit, OfSteps) {
  expect_limit("{% for a in range(99999) %}{% for b in range(99999) %}"
               "{% endfor %}{% endfor %}",
               "steps");
  expect_limit("{% for a in range(99) %}{% for b in range(99999)|select('none')"
               " %}{% endfor %}{% endfor %}",
               "steps");
  // Lists of shared lists, as large as their text.
  const std::string twins = "{% set ns = namespace(a=[], b=[]) %}"
                            "{% for x in range(60) %}"
                            "{% set ns.a = [ns.a, ns.a] %}"
                            "{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
  expect_limit(twins + "{{ ns.a == ns.b }}", "steps");
  expect_limit(twins + "{{ ns.a < ns.b }}", "steps");
  expect_limit(twins + "{{ ns.a|string }}", "more than");
  expect_limit(twins + "{{ ns.a|tojson }}", "more than");
  expect_limit(twins + "{{ ns.a|pprint }}", "more than");
}

TEST(Limit, OfBytes) {
  for (const char *expression :
       {"'a' * 99999999999", "[0] * 2 ** 59", "'ab' * 2 ** 63",
        "[0] * 99999999999", "'a'.center(99999999)", "'a'.ljust(9999999999999)",
        "'1'.zfill(99999999)", "'%99999999d' % 1", "'%.99999999d' % 1",
        "'{:99999999}'.format(1)", "'a'|center(99999999)",
        "'a\\nb'|indent(99999999)", "[1]|batch(99999999, 0)|list",
        "('a' * 99999).replace('', 'b' * 99999)", "'\\t'.expandtabs(999999999)",
        "(['a'] * 999)|join('b' * 99999)", "[[]]|tojson(indent=99999999)"})
    expect_limit(std::string("{{ ") + expression + " }}", "bytes");
  expect_limit("{% set ns = namespace(t='a') %}{% for x in range(99) %}"
               "{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
               "bytes");
  expect_limit("{% for x in range(9999) %}{{ 'a' * 9999 }}{% endfor %}",
               "bytes");
}

TEST(Limit, OfDepth) {
  expect_limit("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "deep");
  expect_limit(
      "{% macro f() %}{% call f() %}{% endcall %}{{ caller }}{% endmacro %}"
      "{{ f() }}",
      "deep");
  expect_limit("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
               "deep");
  expect_limit("{% set ns = namespace(l=[]) %}{% for x in range(999) %}"
               "{% set ns.l = [ns.l] %}{% endfor %}",
               "nested");
  expect_limit("{% set ns = namespace(l=[]) %}{% for x in range(999) %}"
               "{% set ns.l = ns.l|map('string') %}{% endfor %}",
               "nested");
  // Of namespaces, too, but they are not the values' owners.
  EXPECT_EQ(render("{% set ns = namespace(n=none) %}{% for x in range(9999) %}"
                   "{% set ns.n = namespace(n=ns.n) %}{% endfor %}ok"),
            "ok");
  expect_limit("{% set ns = namespace(n=none) %}{% for x in range(9999) %}"
               "{% set ns.n = namespace(n=ns.n) %}{% endfor %}{{ ns }}",
               "deep");
}

TEST(Limit, OfSyntax) {
  const size_t many = 100'000;
  expect_limit("{{ " + repeat("(", many), "nested");
  expect_limit("{{ " + repeat("[", many), "nested");
  expect_limit("{{ " + repeat("-", many), "nested");
  expect_limit("{{ " + repeat("not ", many), "nested");
  expect_limit("{{ 1" + repeat(" if 1 else 1", many), "nested");
  expect_limit("{{ 1" + repeat(" + 1", many) + " }}", "levels");
  expect_limit("{{ x" + repeat(".x", many) + " }}", "levels");
  expect_limit("{{ x" + repeat("|e", many) + " }}", "levels");
  expect_limit("{{ x" + repeat("()", many) + " }}", "levels");
  expect_limit(repeat("{% if 1 %}", many), "nested");
  expect_limit(repeat("{% for x in y %}", many), "nested");
}

TEST(Limit, LeavesRoomForDeepTemplates) {
  EXPECT_EQ(render("{{ " + repeat("(", 60) + "1" + repeat(")", 60) + " }}"),
            "1");
  EXPECT_EQ(render("{{ 1" + repeat(" + 1", 200) + " }}"), "201");
  EXPECT_EQ(render("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}x"
                   "{% endmacro %}{{ f(100) }}"),
            repeat("x", 101));
  EXPECT_EQ(
      render(repeat("{% if 1 %}", 100) + "x" + repeat("{% endif %}", 100)),
      "x");
}

TEST(Limit, OfTheContext) {
  EXPECT_NE(failure("", repeat("[", 5000) + repeat("]", 5000))
                .find("the context is nested"),
            std::string::npos);
  EXPECT_EQ(failure("", "[]"), "t:1:1: the context is no JSON object");
}

TEST(Template, IsRenderedByThreadsAtOnce) {
  const Template shared = Template::parse(
      "{% macro m(x) %}{{ x }}{% endmacro %}{% for x in l %}{{ m(x) ~ 'é' }}"
      "{% endfor %}",
      "t");
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string &result : results)
    threads.emplace_back([&] {
      for (int time = 0; time < 50; ++time)
        result = shared.render({{"l", {1, 2, 3}}});
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_EQ(result, "1é2é3é");
}

"""Small templates, written by hand and at random, over one context."""

import os
import random

CONTEXT = {
    "n": 7, "zero": 0, "neg": -3, "big": 18446744073709551615, "f": 2.5, "tiny": 1e-7, "huge": 1e22, "whole": 3.0,
    "t": True, "no": False, "nil": None, "s": "Hello World", "empty": "", "pad": "  a b\t\n",
    "uni": "Straße ÉCOLE ὈΔΥΣΣΕΎΣ 日本 😀",
    "multi": "one\ntwo\r\nthree\n\nfive", "html": "<a href=\"x\">T&C's</a>", "csv": "a,b,,c", "digits": "0042",
    "frac": "42.75",
    "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "lm": [1, "a", None, 2.5, True, [1], {"k": "v"}], "le": [],
    "d": {"b": 1, "a": "x", "c": None, "items": "key"}, "de": {}, "nested": {"x": {"y": [10, {"z": "deep"}]}},
    "users": [{"name": "Bob", "age": 30, "active": True, "address": {"city": "Rome"}},
              {"name": "alice", "age": 25, "active": False, "address": {"city": "oslo"}},
              {"name": "Carol", "age": 30, "active": True, "address": {"city": "Oslo"}, "nick": "C"}],
    "messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Hi <b>"},
                 {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!"}],
    "schema": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}, "é": {"type": "integer"}},
               "required": []},
}

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expressions.txt"), encoding="utf-8") as file:
    EXPRESSIONS = file.read().splitlines()
STATEMENTS = [
    "a\n{% if true %}\nb\n{% endif %}\nc\n",
    "a\n  {% if true %}  \n  b\n  {% endif %}\nc\n\n",
    "{%- if true -%}  x  {%- endif -%}  y",
    "  {%+ if true %}x{% endif %}",
    "a {%- if true %} b {% endif -%} c",
    "a\n{% if true +%}\nb{% endif +%}\nc",
    "a  \n\n  {{- 1 -}}  \n\n b",
    "{{+ 1 }}",
    "{# comment #}a{#- c -#} b {# multi\nline #}\nc",
    "a\n  {# c #}\nb",
    "a\n  {#- c #}\nb\n{# c +#}\nd",
    "{# unclosed",
    "{#",
    "{% raw %}{{ x }}{% if %}{% endraw %}",
    "a\n  {% raw %}\n {{ x }}\n  {% endraw %}\nb",
    "{%- raw -%}  x  {%- endraw -%}  y",
    "{% raw %}x",
    "{% raw %}",
    "{{ '{{' }}{{ '{%' }}{{ \"}}\" }}",
    "{{ {'a': {'b': 1}}}}",
    "{{ {'a': {}} }}",
    "a\r\nb\rc\n{{ 'x\r\ny' }}\r\n",
    "trailing\n\n",
    "{{ 1 }}\n",
    "{% for x in l %}{{ x }}{% endfor %}",
    "{% for x in l %}\n  {{ x }}\n{% endfor %}\nend",
    "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\nend",
    "{% for x in le %}x{% else %}empty{% endfor %}",
    "{% for x in l %}{{ loop.index }}/{{ loop.length }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} "
    "{{ loop.first }} {{ loop.last }} {{ loop.depth }} {{ loop.depth0 }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.previtem is defined }};{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in l %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}{{ loop.length }}{{ loop.last }},{% endfor %}",
    "{% for x in l if x > 5 %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for a, b in [(1, 2), (3, 4)] if a > 1 %}{{ a }}{{ b }}{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for a, b in [(1,)] %}{{ a }}{% endfor %}",
    "{% for a, b in [1] %}{{ a }}{% endfor %}",
    "{% for a, b in ['xy'] %}{{ a }}{{ b }}{% endfor %}",
    "{% for x in 5 %}{% endfor %}",
    "{% for x in nil %}{% endfor %}",
    "{% for x in nosuch %}a{% else %}b{% endfor %}",
    "{% for x in 'abc' %}{{ x }}-{% endfor %}",
    "{% for x in range(3) %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% continue %}{% else %}else{% endfor %}",
    "{% for x in l %}{% break %}{% else %}else{% endfor %}",
    "{% for x in l %}{% set y = x %}{% endfor %}{{ y }}",
    "{% set y = 0 %}{% for x in l %}{% set y = y + x %}{{ y }}{% endfor %}{{ y }}",
    "{% set ns = namespace(y=0) %}{% for x in l %}{% set ns.y = ns.y + x %}{% endfor %}{{ ns.y }}",
    "{% for x in l %}{{ x }}{% for x in 'ab' %}{{ x }}{{ loop.index }}{% endfor %}{{ x }}{{ loop.index }}"
    "{% endfor %}{{ x }}",
    "{% for x in l %}{% set x = 9 %}{{ x }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for loop in l %}{% endfor %}",
    "{% for x in l %}{% set loop = 1 %}{% endfor %}",
    "{% break %}",
    "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in l %}{% else %}{% break %}{% endfor %}",
    "{% for y in l %}{% for x in le %}{% else %}{{ y }}{% break %}{% endfor %}{% endfor %}",
    "{% for x in l %}{% set z %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endset %}[{{ z }}]{% endfor %}",
    "{% for x in l %}{% filter upper %}a{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfilter %}{% endfor %}",
    "{% for x in l recursive %}{{ x }}{% endfor %}",
    "{% for x in [1, [2, [3, 4]], 5] recursive %}{% if x is sequence %}({{ loop(x) }}){% else %}{{ x }}"
    "d{{ loop.depth }}"
    "{% endif %}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% for x in [] recursive %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in l %}{{ loop(l) }}{% endfor %}",
    "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for x in l %}{{ loop|length }}{% endfor %}",
    "{% for x in l|select('odd') %}{{ loop.last }}{{ loop.length }}{{ x }};{% endfor %}",
    "{% set it = l|map('string') %}{% for x in it %}{{ x }}{% endfor %}|{% for x in it %}{{ x }}{% endfor %}",
    "{% if nosuch %}a{% elif n == 7 %}b{% else %}c{% endif %}",
    "{% if no %}a{% elif no %}b{% elif t %}c{% elif t %}d{% endif %}",
    "{% if no %}a{% endif %}",
    "{% if l %}{% if d %}x{% endif %}{% endif %}",
    "{% if (1, 2) %}x{% endif %}",
    "{% if true: %}x{% endif %}",
    "{% if n is odd and not no %}x{% else %}y{% endif %}",
    "{% if false %}{% set x = 1 %}{% endif %}{{ x }}",
    "{% if true %}{% set x = 1 %}{% endif %}{{ x }}",
    "{% if no %}{% set n = 1 %}{% endif %}{{ n }}",
    "{% if no %}{% set n = 1 %}{% elif t %}{{ n }}{% endif %}{{ n }}",
    "{% if no %}{% set a = 1 %}{% elif no %}{% set a = 2 %}{% else %}{% set a = 3 %}{% endif %}{{ a }}",
    "{{ n }}{% set n = 1 %}{{ n }}",
    "{% for x in l %}{{ n }}{% set n = x %}{{ n }};{% endfor %}{{ n }}",
    "{% for x in l %}{% if x == 1 %}{% set n = x %}{% endif %}{{ n }};{% endfor %}{{ n }}",
    "{% set a = 1 %}{% for x in l %}{% if x == 1 %}{% set a = x %}{% endif %}{{ a }};{% endfor %}{{ a }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set (a, b) = (1, 2) %}{{ a }}{{ b }}",
    "{% set a, b = 1 %}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set a = %}",
    "{% set 1 = 2 %}",
    "{% set none = 2 %}",
    "{% set a.b = 2 %}",
    "{% set d.b = 2 %}",
    "{% set [a] = [1] %}",
    "{% set a %}x{{ n }}y{% endset %}{{ a }}{{ a|length }}",
    "{% set a | upper %}x{{ n }}y{% endset %}{{ a }}",
    "{% set a | upper | replace('X', 'z') %}x{{ n }}y{% endset %}{{ a }}",
    "{% set ns = namespace() %}{% set ns.a %}x{% endset %}{{ ns.a }}",
    "{% set ns = namespace(a=1) %}{% set ns.b = 2 %}{{ ns }}",
    "{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}",
    "{% set ns = namespace(l=[]) %}{% for x in l %}{% set ns.l = ns.l + [x] %}{% endfor %}{{ ns.l }}",
    "{% set ns = namespace(_a=1) %}{{ ns._a }}{{ ns['_a'] }}{{ ns._a is defined }}",
    "{% set a %}x{% set b = 1 %}{% endset %}{{ b }}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}",
    "{% macro m(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m() }}{{ m(none) }}",
    "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}",
    "{% macro m(a=n, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}{{ m(1) }}",
    "{% macro m(a, b=1, c) %}{% endmacro %}",
    "{% macro m(a, a) %}{% endmacro %}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}",
    "{% macro m() %}{% set n = 5 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}",
    "{% macro m() %}{{ n }}{% endmacro %}{% for n in l %}{{ m() }}{% endfor %}",
    "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{{ n }}{% endcall %}",
    "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b=3) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}{{ caller }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(caller=5) %}{{ caller }}{% endmacro %}{{ m() }}",
    "{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m(1) }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% call nosuch() %}{% endcall %}",
    "{% call n %}{% endcall %}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% for x in l %}{% call m() %}{{ x }}{{ loop.index }}{% endcall %}"
    "{% endfor %}",
    "{% macro a() %}<{{ caller() }}>{% endmacro %}{% macro b() %}[{% call a() %}{{ caller() }}{% endcall %}"
    "]{% endmacro %}"
    "{% call b() %}x{% endcall %}",
    "{% macro m() %}{% endmacro %}{{ m }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}",
    "{% macro m(x) %}<b>{{ x }}</b>{% endmacro %}{{ m('<')|length }}{{ m(1) is escaped }}",
    "{% set ns = namespace() %}{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{% set ns.m = m %}{{ ns.m() }}"
    "{% endfor %}",
    "{% macro outer() %}{% set x = 1 %}{% macro inner() %}{{ x }}{% endmacro %}{{ inner() }}{% set x = 2 %}"
    "{{ inner() }}"
    "{% endmacro %}{{ outer() }}",
    "{% macro m(d) %}{% for k, v in d.items() %}{{ k }}:{% if v is mapping %}{{ '{' }}{{ m(v) }}{{ '}' }}{% else %}"
    "{{ v }}"
    "{% endif %};{% endfor %}{% endmacro %}{{ m(schema) }}",
    "{% filter upper %}abc{{ n }}{% endfilter %}",
    "{% filter replace('a', 'b')|upper %}aaa{% endfilter %}",
    "{% filter nosuch %}{% endfilter %}",
    "{% filter upper %}{% set q = 1 %}{{ q }}{% endfilter %}{{ q }}",
    "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with n = n + 1 %}{{ n }}{% endwith %}{{ n }}",
    "{% with a = n, b = a %}{{ b }}{% endwith %}",
    "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% generation %}x{{ n }}{% endgeneration %}y",
    "{% for x in l %}{% generation %}{{ x }}{% set q = x %}{% endgeneration %}{{ q }}{% endfor %}",
    "a\n  {%- generation %}\n x\n  {%- endgeneration %}\nb",
    "{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "{% print 1, 2, n %}",
    "{% do l.append(1) %}",
    "{% nosuch %}",
    "{% endif %}",
    "{% if true %}",
    "{% for x in l %}{% endif %}",
    "{% if true %}{% endfor %}{% endif %}",
    "{%",
    "{{",
    "{{ }}",
    "{% %}",
    "{% 5 %}",
    "}} %} #} { } {",
    "{{ 1 }}}",
    "{{ '}}' }}",
    "{{ [1, 2][0] }}}}",
    "{{ 1 }",
    "{{ s|nosuch }}",
    "{% if no %}{{ s|nosuch }}{% endif %}x",
    "{% if t %}{{ s|nosuch }}{% endif %}x",
    "{% if no %}{% for x in l %}{{ s|nosuch }}{% endfor %}{% endif %}x",
    "{{ s|nosuch if no else 'x' }}",
    "{{ 'x' if no is nosuch else 'y' }}",
    "{% if no and s is nosuch %}{% endif %}ok",
    "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content|trim + '<|end|>\n' }}{% endfor %}",
    "{% for m in messages if m.role != 'system' %}{{ loop.index0 % 2 == 0 }}{% endfor %}",
    "{% for u in users %}{{ u.name }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for g in users|groupby('age') %}{{ g.grouper }}:{% for u in g.list %}{{ u.name }} {% endfor %};{% endfor %}",
    "{% for age, us in users|groupby('age') %}{{ age }}={{ us|length }};{% endfor %}",
    "{% set c = cycler('a', 'b') %}{% for x in l %}{{ c.next() }}{{ c.current }}{% endfor %}{{ c.reset() }}"
    "{{ c.current }}",
    "{% set j = joiner() %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
    "{% set x = [] %}{% set _ = x.append(1) %}{{ x }}",
    "{% set x = {} %}{% set _ = x.update({'a': 1}) %}{{ x }}",
    "{% set last = namespace(role='') %}{% for m in messages %}{% if m.role == last.role %}"
    "{{ raise_exception('twice ' ~ m.role) }}"
    "{% endif %}{% set last.role = m.role %}{% endfor %}ok",
    "{% if messages[0]['role'] != 'user' %}{{ raise_exception('Roles must alternate: ' + messages[0].role) }}"
    "{% endif %}",
    "{%- set x = 'a' -%}\n\n{{ x }}\n{%- if x %}\n\n  {{ x }}\n{%- endif %}",
    "  {{ n }}  \n  {% set a = 1 %}  \n  {{ a }}",
    "\n\n{% if true %}\n\n\nx\n\n{% endif %}\n\n",
    "x{% if true %}\ty{% endif %}\n\t{% if true %}z{% endif %}",
    "\u00a0\u2028{% if true %}x{% endif %}",
    "é{{ '日本'|length }}😀\n   {%- if true %}\u3000x{% endif %}",
    "{{ undefined_a ~ undefined_b }}{{ undefined_a or 'x' }}{{ undefined_a and 'x' }}{{ not undefined_a }}",
    "{% for i in range(3) %}{% for j in range(3) %}{% if i == j %}{% continue %}{% endif %}{{ i }}{{ j }}"
    " {% endfor %}{% endfor %}",
    "{% set x = 5 if no %}{{ x }}{{ x is defined }}",
    "{% set x = 5 if no %}{{ x + 1 }}",
    "{{ (5 if no).foo }}",
    "{% set n = n + 1 %}{% set n = n * 2 %}{{ n }}",
    "{% macro m() %}{% set n = n + 1 %}{{ n }}{% endmacro %}{{ m() }}",
    "{% for x in l %}{% set n = n + 1 %}{{ n }}{% endfor %}",
    "{% for n in [n, n + 1] %}{{ n }}{% endfor %}",
    "{% block a %}x{% endblock %}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
]
# These are refused here, and Jinja allows them.
REFUSED = {"{% block a %}x{% endblock %}", "lipsum()", "s|random", "s|urlize"}
# Text with addresses, or that no template should print.
UNSTABLE = {"d.items", "d.get", "(l|select)", "l|select", "self", "d|attr(\"items\")", "lipsum is defined"}


def values(rng, depth):
    """An expression of any type."""
    names = ("n zero neg f tiny whole t no nil s empty pad uni multi digits frac l ls lm le d de nested users messages "
             "schema missing html csv").split()
    literals = ["0", "1", "2", "-1", "3.5", "0.1", "'a'", "'ab c'", "''", "true", "false", "none", "[]", "[1, 2]",
                "(1, 'a')", "{}",
                "{'a': 1}", "'é'", "10", "100"]
    if depth <= 0:
        return rng.choice(names if rng.random() < 0.7 else literals)
    def inner():
        return values(rng, depth - 1)
    kind = rng.randrange(12)
    if kind == 0:
        return f"({inner()} {rng.choice(['+', '-', '*', '/', '//', '%', '~', 'and', 'or'])} {inner()})"
    if kind == 1:
        return f"({inner()} {rng.choice(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'])} {inner()})"
    if kind == 2:
        return f"{rng.choice(['not ', '-', '+'])}({inner()})" if rng.random() < 0.4 else inner()
    if kind in (3, 4, 5):
        return f"({inner()})|{call(rng, FILTERS, depth)}"
    if kind in (6, 7):
        return f"({inner()}).{call(rng, METHODS, depth)}"
    if kind == 8:
        return f"(({inner()}) is {rng.choice(['', 'not '])}{call(rng, TESTS, depth)})"
    if kind == 9:
        start, stop, step = (rng.choice(["", "0", "1", "-1", "2", "-2", "5"]) for _ in range(3))
        bounds = rng.choice([f"{start}:{stop}", f"{start}:{stop}:{step}", start or "0", "'a'", "'name'"])
        # What is constant, Jinja slices while it compiles, by other rules.
        subject = rng.choice(["s", "l", "uni", "d", "missing", "users", "n"]) if ":" in bounds else inner()
        return f"({subject})[{bounds}]"
    if kind == 10:
        return f"({inner()} if {inner()} else {inner()})"
    return f"[{inner()}, {inner()}]" if rng.random() < 0.5 else f"{{'k': {inner()}, 'j': {inner()}}}"


def call(rng, table, depth):
    """One of the table, with arguments of its number."""
    name, least, most = rng.choice(table)
    count = rng.randint(least, most)
    # A generator would show its address.
    end = "|list" if name in ("batch", "items", "reverse", "slice", "unique") and table is FILTERS else ""
    if not count:
        return name + ("()" if table is METHODS else "") + end
    return f"{name}({', '.join(values(rng, min(depth - 2, 1)) for _ in range(count))}){end}"


def table(text):
    """Names, each with the fewest and the most arguments that it is given."""
    rows = []
    for word in text.split():
        name, counts = word.rsplit(":", 1)
        least, _, most = counts.partition("-")
        rows.append((name, int(least), int(most or least)))
    return rows


FILTERS = table("""
    abs:0 batch:1-2 capitalize:0 center:0-1 count:0 d:0-2 default:0-2 dictsort:0-3 e:0 escape:0 first:0
    float:0-1 forceescape:0 format:0-2 indent:0-3 int:0-2 items:0 join:0-2 last:0 length:0 list:0 lower:0
    max:0-1 min:0-1 replace:2-3 reverse:0 round:0-1 safe:0 slice:1-2 sort:0-2 string:0 striptags:0 sum:0 title:0
    tojson:0-1 trim:0-1 truncate:0 unique:0-1 upper:0 urlencode:0 wordcount:0 wordwrap:0-2 xmlattr:0
    map('upper')|list:0 map(attribute='name')|list:0 select|list:0 reject('none')|list:0
    selectattr('name')|list:0 pprint:0 groupby('age')|list:0 list|tojson:0 map('string')|join(','):0
""")
METHODS = table("""
    upper:0 lower:0 title:0 strip:0-1 lstrip:0-1 rstrip:0-1 split:0-2 rsplit:0-2 splitlines:0-1 startswith:1-2
    endswith:1-2 replace:2-3 find:1-3 rfind:1-3 count:1 index:1 join:1 format:0-2 capitalize:0 center:1-2
    ljust:1-2 rjust:1-2 zfill:1 isdigit:0 isalpha:0 isupper:0 islower:0 istitle:0 isspace:0 isalnum:0
    partition:1 rpartition:1 removeprefix:1 removesuffix:1 swapcase:0 casefold:0 expandtabs:0-1 items:0 keys:0
    values:0 get:1-2 copy:0 append:1 update:1
""")
TESTS = table("""
    odd:0 even:0 divisibleby:1 defined:0 undefined:0 none:0 boolean:0 false:0 true:0 integer:0 float:0 lower:0
    upper:0 string:0 mapping:0 number:0 sequence:0 iterable:0 callable:0 escaped:0 in:1 eq:1 ne:1 lt:1 le:1 gt:1
    ge:1 filter:0
""")


def body(rng, depth):
    """Statements that set, loop, branch and call, to see which variable is meant."""
    names = ["a", "b", "n", "x"]

    def some():
        return body(rng, depth - 1) if depth > 0 else f"{{{{ {rng.choice(names)} }}}}"

    parts = []
    for _ in range(rng.randint(1, 4)):
        name, other = rng.choice(names), rng.choice(names)
        parts.append(rng.choice([
            lambda: f"{{{{ {name} }}}}.",
            lambda: f"{{% set {name} = {rng.choice(['1', '2', other, other + ' ~ 1', other + '|default(3)'])} %}}",
            lambda: f"{{% set {name} %}}{some()}{{% endset %}}",
            lambda: f"{{% for {name} in {rng.choice(['l', '[1, 2]', 'le', '(' + other + '|string)'])} %}}{some()}"
                    f"{rng.choice(['', '{% else %}' + some()])}{{% endfor %}}",
            lambda: f"{{% for {name} in l if {rng.choice([name + ' > 1', other, 'loop'])} %}}{some()}"
                    "{{ loop.index }}{% endfor %}",
            lambda: f"{{% if {rng.choice(['no', 't', name, name + ' == 1'])} %}}{some()}"
                    f"{rng.choice(['', '{% else %}' + some(), '{% elif t %}' + some()])}{{% endif %}}",
            lambda: f"{{% macro m({rng.choice(['', name, name + '=1', name + '=' + other])}) %}}{some()}"
                    "{% endmacro %}",
            lambda: f"{{{{ m({rng.choice(['', '5'])}) if m is defined }}}}",
            lambda: f"{{% with {name} = {other} %}}{some()}{{% endwith %}}",
            lambda: f"{{% filter upper %}}{some()}{{% endfilter %}}",
            lambda: f"{{% call m() %}}{some()}{{% endcall %}}",
            lambda: "{% set s = namespace(v=1) %}" + f"{{% set s.v = {other} %}}{{{{ s.v }}}}",
            lambda: f"{{% if {name} == 2 %}}{{% {rng.choice(['break', 'continue'])} %}}{{% endif %}}",
        ])())
    return rng.choice(["", " ", "\n", "\n  "]).join(parts)


def spaced(rng):
    """Tags of every kind of white space control among white space."""
    parts = []
    for _ in range(rng.randint(1, 8)):
        begin, end = rng.choice(["", "", "-", "+"]), rng.choice(["", "", "-"])
        parts.append(rng.choice([" ", "  ", "\n", "\n\n", "\t", "x", "y ", " z", "\n  ", "\r\n"]))
        parts.append(rng.choice([
            f"{{%{begin} if t {end}%}}", f"{{%{begin} if t {end}%}}", f"{{{{{begin} n {end}}}}}",
            f"{{#{begin} c {end}#}}",
            f"{{%{begin} set q = 1 {end}%}}", f"{{%{begin} raw {end}%}} {{{{ r }}}} {{%{begin} endraw {end}%}}"]))
    opened = sum(" if t " in part for part in parts)
    closing = []
    for _ in range(opened):
        begin, end = rng.choice(["", "-", "+"]), rng.choice(["", "-", "+"])
        closing.append(rng.choice(["", " ", "\n", "\n  "]) + f"{{%{begin} endif {end}%}}" + rng.choice(["", " ", "\n"]))
    return "".join(parts + closing)


def written():
    """The hand-written ones."""
    templates = ["{{ " + expression + " }}" for expression in EXPRESSIONS if expression not in REFUSED | UNSTABLE]
    return templates + [statement for statement in STATEMENTS if statement not in REFUSED]


def random_templates(seed, count):
    """As many, a third each of expressions, statements and white space."""
    rng = random.Random(seed)
    makers = [lambda: "{{ " + values(rng, rng.randint(1, 4)) + " }}", lambda: body(rng, 3), lambda: spaced(rng)]
    return [makers[index % 3]() for index in range(count)]

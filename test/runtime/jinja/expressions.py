"""Small templates, written by hand and at random, over one context."""

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

EXPRESSIONS = """
1 + 2 * 3 ** 2 - 4 // 3 % 2
-2 ** 2
2 ** -1
2 ** 3 ** 2
7 / 2
-7 // 2
-7 % 3
7 % -3
7.5 // 2
-7.5 % 2
5 // 0
5 / 0
5 % 0
5.0 // 0
1e308 * 10
10 ** 20
2 ** 100
0.1 + 0.2
1e16
1e15
123456789012345678.0
1.5e-5
0.0001
0.00001
1_000 + 0x1F + 0b101 + 0o17
1.0
100.0 / 3
1e5
1E-3
- 5
+ 5
--5
not 1
not not x
true and 5
0 or "a"
none or false
1 if true else 2
1 if false
(1 if false) is defined
"a" if t else "b" if no else "c"
1 < 2 < 3
1 < 3 < 2
1 == 1.0
1 == True
"1" == 1
none == false
[1, 2] == (1, 2)
[1, 2] == [1.0, 2.0]
{"a": 1, "b": 2} == {"b": 2, "a": 1}
[1, 2] < [1, 3]
"a" < "b"
"a" < 1
none < 1
1 in [1, 2]
"ell" in s
1 in "a"
"b" in d
"z" not in d
1 not in l
1 in 5
3 in range(5)
3.0 in range(5)
"a" ~ 1 ~ none ~ true ~ 2.0 ~ undefined_name
"a" + "b" "c"
"a" + 1
1 + "a"
[1] + [2]
(1,) + (2, 3)
[1] + (2,)
"ab" * 3
3 * "ab"
[0] * 3
"ab" * -1
"a" * 2.0
"%s is %d" % ("x", 5)
"%s" % "x"
"%s" % [1, 2]
"%05d|%-5d|%+d|% d" % (42, 42, 42, 42)
"%.2f|%8.3f|%-8.1f|%e|%g" % (3.14159, 3.14159, 3.14159, 31415.9, 0.0001)
"%x %X %o %#x %#o" % (255, 255, 8, 255, 8)
"%r %a" % ("é", "é")
"%c%c" % (65, "b")
"%(a)s-%(b)d" % {"a": 1, "b": 2}
"%d" % 3.9
"%d" % "x"
"%s %s" % ("a",)
"%s" % ("a", "b")
"%%" % ()
"%5s|%-5s|%.2s" % ("abc", "abc", "abc")
"%*d" % (5, 42)
"%z" % 1
"%" % 1
"{} {}".format(1, "a")
"{0} {1} {0}".format("a", "b")
"{a} {b!r}".format(a=1, b="x")
"{:>8}|{:<8}|{:^8}|{:*^9}".format("a", "b", "c", "d")
"{:5d}|{:05d}|{:+d}|{:,}|{:x}|{:#b}".format(42, 42, 42, 1234567, 255, 5)
"{:.2f}|{:10.3f}|{:e}|{:g}|{:%}".format(3.14159, 3.14159, 31415.9, 0.00001, 0.25)
"{:.3}|{:s}".format("abcdef", "x")
"{{}} {}".format(1)
"{0[1]} {1[a]} {0.foo}".format([1, 2], {"a": 3})
"{x.y}".format(x=nested.x)
"{".format(1)
"}".format(1)
"{} {0}".format(1)
"{}".format()
"{:d}".format("a")
"{:{}}|{:{w}}".format("a", 5, "b", w=3)
"{!s:>5}".format(none)
"{:5}".format(none)
"{:,.2f}".format(1234567.891)
"{:_}".format(1234567)
"{:08.2f}".format(-3.14159)
"{}".format(1.0)
"{}".format(true)
"{:d}".format(true)
"{:5}|{:<5}".format(1, 1)
"{:c}".format(97)
s.format()
"a.b.c".split(".")
"a b  c ".split()
" a b  c ".split(none, 1)
" a b  c ".rsplit(none, 1)
"a,b,c".split(",", 1)
"a,b,c".rsplit(",", 1)
"a,b,c".split(sep=",", maxsplit=1)
"abc".split("")
csv.split(",")
multi.splitlines()
multi.splitlines(true)
multi.splitlines(keepends=true)
pad.strip()
pad.lstrip()
pad.rstrip()
"xxaxx".strip("x")
"abcabc".strip("ac")
"xyzabcxyz".lstrip("zyx")
s.upper()
s.lower()
s.title()
s.swapcase()
s.capitalize()
uni.upper()
uni.lower()
uni.title()
uni.capitalize()
uni.swapcase()
uni.casefold()
"ﬁ ŉ ǰ ß İ".upper()
"ΑΣ ΑΣΑ Σ".lower()
"they're bill's".title()
s.startswith("Hell")
s.startswith(("x", "H"))
s.endswith("d", 0, 5)
s.startswith(1)
s.find("o")
s.find("o", 5)
s.rfind("o")
s.find("zz")
s.index("zz")
s.index("W")
s.count("l")
s.count("")
"aaaa".count("aa")
uni.find("日")
uni.count("Σ")
s.replace("o", "0")
s.replace("o", "0", 1)
s.replace("", "-")
s.replace("l", "")
"abc".replace("b", 1)
"-".join(["a", "b"])
"-".join([1, 2])
"-".join("abc")
"-".join({"a": 1, "b": 2})
"abc".join([])
s.center(21)
s.center(20, "*")
s.ljust(15, ".") ~ "|"
s.rjust(15) ~ "|"
"abc".center(6) ~ "|" ~ "abcd".center(7) ~ "|"
"42".zfill(5)
"-42".zfill(5)
"a\\tb".expandtabs(4)
"abc".removeprefix("a")
"abc".removesuffix("bc")
"abc".removeprefix("x")
"a-b-c".partition("-")
"a-b-c".rpartition("-")
"abc".partition("-")
"abc".rpartition("-")
"123".isdigit()
"١٢".isdigit() ~ "²".isdigit() ~ "²".isdecimal() ~ "½".isnumeric()
"abc".isalpha() ~ "".isalpha() ~ "abc1".isalnum()
" ".isspace() ~ "".isspace()
"Ab".isupper() ~ "AB".isupper() ~ "ab1".islower() ~ "1".islower()
"Ab Cd".istitle() ~ "Ab cd".istitle()
"abc".isidentifier() ~ "1a".isidentifier()
"abc".isascii() ~ "é".isascii()
"a\\n".isprintable()
"abc"[0] ~ "abc"[-1]
"abc"[5]
"abc"[5] is defined
"abc"[1:]
"abc"[:-1]
"abc"[::-1]
"abcdef"[1:5:2]
"abcdef"[-2:]
"abcdef"[5:1:-1]
"abcdef"[::-2]
uni[0:6]
uni[-1]
uni[::-1]
uni|length
l[0] ~ l[-1]
l[10]
l[1:]
l[::-1]
(1, 2, 3)[1:]
(1,)
()
(1, 2)
[1, 2,]
l["a"]
l[1.0]
l[true]
range(10)[2:5]
range(10)[::3]
range(10)[-1]
range(5)|list
range(2, 8, 3)|list
range(5, 0, -2)|list
range(0)|list
range(1, 2, 0)
range(200000)
range("a")
range(3)
d.b ~ d["b"] ~ d.get("b") ~ d.get("zz") ~ d.get("zz", 5)
d.zz
d.zz.yy
d["zz"]
d["zz"]["yy"]
d.items
d.items()
d.keys()
d.values()
d.items()|list
d.keys()|list
d.items()|length
d.items()[0]
d.get
d.copy()
d.pop("b")
d.update({"x": 1})
l.append(5)
l.append is defined
l.insert(0, 1)
l.sort()
d.clear()
d.setdefault("a", 1)
l.index(1)
l.index(99)
l.count(1)
l.copy()
(1, 2, 1).count(1)
(1, 2, 1).index(2)
d == {"b": 1, "a": "x", "c": none, "items": "key"}
{"a": 1, "a": 2}
{1: "a", 1.0: "b", true: "c"}
{(1, 2): 3}
{[1]: 2}
{none: 1, 1.5: 2}
{"a": 1}.a
{"a": {"b": 2}}["a"]["b"]
d|length
de|length
nested.x.y[1].z
nested["x"].y.0
nested.x.y.1.z
undefined_name
undefined_name.foo
undefined_name["foo"]
undefined_name()
undefined_name + 1
undefined_name == undefined_other
undefined_name == none
undefined_name|length
undefined_name|list
undefined_name|upper
undefined_name|int
undefined_name|tojson
undefined_name is defined
undefined_name in [1]
1 in undefined_name
undefined_name < 1
-undefined_name
undefined_name|default("x")
undefined_name|d
empty|default("x")
empty|default("x", true)
empty|default("x", boolean=true)
none|default("x")
d.zz|default("y")
nil.foo
nil["foo"]
nil.foo.bar
n.foo
n()
s()
s.nosuch
s.nosuch()
s.__class__
s.__class__.__mro__
d.__class__ is defined
"a".__len__
n.real ~ n.imag ~ f.real
t.real
n.bit_length()
whole.is_integer()
l|first ~ l|last
le|first
le|last
le|first is defined
s|first ~ s|last
d|first
{}|first
5|first
l|join(", ")
l|join
ls|join("-")
lm|join("|")
users|join(", ", attribute="name")
users|join(", ", "age")
users|map(attribute="name")|join(",")
users|map(attribute="address.city")|list
users|map(attribute="nick")|list
users|map(attribute="nick", default="none")|list
users|map("length")|list
ls|map("upper")|list
ls|map("replace", "a", "x")|join
ls|map("nosuchfilter")|list
ls|map|list
l|map("string")|join("+")
l|map(attribute="a", foo=1)|list
[[1, 2], [3]]|map("sum")|list
[[1, 2], [3]]|map(attribute=0)|list
users|selectattr("active")|map(attribute="name")|list
users|rejectattr("active")|map(attribute="name")|list
users|selectattr("age", "gt", 26)|map(attribute="name")|join(",")
users|selectattr("age", "==", 25)|list|length
users|selectattr("nick", "defined")|map(attribute="name")|list
users|rejectattr("nick", "undefined")|map(attribute="name")|list
users|selectattr("address.city", "equalto", "Rome")|list
users|selectattr|list
users|selectattr("age", "nosuch")|list
messages|selectattr("role", "in", ["user", "system"])|map(attribute="content")|list
lm|select|list
lm|reject|list
l|select("odd")|list
l|reject("odd")|list
l|select("divisibleby", 2)|list
lm|select("string")|list
lm|select("none")|list
lm|select("sameas", true)|list
l|select("gt", 1)|sum
l|map("abs")|sum
l|select
(l|select)|length
(l|select) is iterable
(l|select) is sequence
(l|select)[0]
l|sum ~ l|max ~ l|min
le|sum ~ le|max
le|max is defined
[1.5, 2]|sum
[[1], [2]]|sum(start=[])
users|sum(attribute="age")
users|max(attribute="age")|tojson
users|min(attribute="name")|tojson
ls|max ~ ls|min
ls|max(case_sensitive=true)
["a", 1]|max
lm|sum
l|sort|list
ls|sort
ls|sort(case_sensitive=true)
ls|sort(reverse=true)
users|sort(attribute="name")|map(attribute="name")|list
users|sort(attribute="age,name")|map(attribute="name")|list
users|sort(reverse=true, attribute="age")|map(attribute="name")|list
lm|sort
[3, 1.5, true]|sort
[[2, 1], [1, 5], [1, 2]]|sort
d|dictsort
{"b": 1, "A": 3, "a": 2}|dictsort
{"b": 1, "A": 3, "a": 2}|dictsort(true)
{"b": 1, "A": 3, "a": 2}|dictsort(false, "value")
{"b": 1, "A": 3, "a": 2}|dictsort(reverse=true)
{"b": 1, "A": 3}|dictsort(by="nosuch")
{1: 2, "a": 3}|dictsort
l|dictsort
ls|unique|list
["a", "A", "b", "a"]|unique|list
["a", "A", "b", "a"]|unique(true)|list
users|unique(attribute="age")|map(attribute="name")|list
[[1], [1]]|unique|list
[1, 1.0, true, 2]|unique|list
l|reverse|list
s|reverse
(l|reverse)|length
d|reverse|list
range(4)|reverse|list
5|reverse
s|list
d|list
5|list
d|items|list
undefined_name|items|list
5|items|list
users|groupby("age")|length
users|groupby("age")
users|groupby("address.city")|map("first")|list
users|groupby("address.city", case_sensitive=true)|map("first")|list
users|groupby("nick", default="?")|map(attribute="grouper")|list
users|groupby("age")|map(attribute="list")|map("length")|list
range(7)|batch(3)|list
range(7)|batch(3, "x")|list
range(7)|slice(3)|list
range(7)|slice(3, "x")|list
range(3)|batch(0)|list
range(3)|slice(0)|list
s|upper ~ s|lower ~ s|title ~ s|capitalize
"foo-bar (baz) [qux] {x} <y>"|title
"o'neil mc-donald"|title
5|upper
nil|upper
true|lower
pad|trim ~ "|"
"xxaxx"|trim("x")
s|replace("l", "L")
s|replace("l", "L", 2)
s|replace("o", 0)
123|replace(2, "x")
s|length ~ s|count ~ s|wordcount
"it's a test_case, 2 words"|wordcount
s|center(21) ~ "|"
s|center ~ "|"
multi|indent
multi|indent(2, true)
multi|indent(2, blank=true)
multi|indent(width="> ", first=true)
5|indent
s|indent
""|indent(2, true)
s|truncate(5)
s|truncate(5, true)
s|truncate(5, true, "")
s|truncate(5, leeway=0)
s|truncate(8, false, "..", 0)
s|truncate(2)
"foo bar baz qux"|truncate(9, false, "...", 0)
"The quick brown fox jumps over the lazy dog"|wordwrap(10)
"The quick-brown fox--jumps over extraordinarily long words"|wordwrap(9)
"The quick-brown fox extraordinarily"|wordwrap(9, false)
"aaa bbb ccc"|wordwrap(7, wrapstring="|")
"well-known self-made"|wordwrap(6, break_on_hyphens=false)
multi|wordwrap(3)
"%s-%s"|format("a", 1)
"%(x)s"|format(x=1)
"%s"|format("a", x=1)
"x"|format(1)
html|escape
html|e
html|safe
html|striptags
html|safe ~ html
(html|safe) + html
html|e|e
html|forceescape
html|e|forceescape
("<b>"|safe) * 2
("<b>"|safe) % ()
("%s"|safe) % "<"
("%s"|safe).format("<")
("{}"|safe).format("<")
("a"|safe).join(["<", "b"])
["<", "b"]|join("&"|safe)
("<b>"|safe)|upper
("<b>"|safe)|tojson
("<B>"|safe).lower() + "<"
("<b>"|safe) is escaped
("<b>"|safe) == "<b>"
html|urlencode
"a b/c?d=é&f"|urlencode
{"a b": "c&d", "e": 1}|urlencode
[["a", 1], ["b", "c d"]]|urlencode
5|urlencode
{"class": "a b", "id": none, "x": "<>"}|xmlattr
{"a": 1}|xmlattr(false)
{}|xmlattr
{"a b": 1}|xmlattr
5|string ~ none|string ~ 2.0|string ~ [1, "a"]|string
"5"|int ~ "x"|int ~ "5.7"|int ~ 5.7|int ~ none|int ~ true|int
"x"|int(7)
"0x1F"|int(base=16)
"0x1F"|int(base=0)
"1f"|int(0, 16)
"101"|int(base=2)
" 42 "|int
"4_2"|int
"1e3"|int
[]|int
"٤٢"|int
"1.5"|float ~ "x"|float ~ 3|float ~ none|float
"x"|float(1.5)
"inf"|float ~ "-inf"|float
"1e400"|float
"nan"|float
-5|abs
-5.5|abs
"a"|abs
true|abs
2.5|round ~ 3.5|round ~ 2.675|round(2) ~ 5|round ~ 1234.5|round(-2)
1234|round(-2)
2.5|round(method="ceil") ~ 2.5|round(0, "floor") ~ 2.123|round(1, "ceil")
2.5|round(method="x")
"a"|round
1e300|round(2)
0.5|round ~ 1.5|round ~ -0.5|round ~ 0.05|round(1)
100|filesizeformat ~ " " ~ 1|filesizeformat ~ " " ~ 1000|filesizeformat ~ " " ~ 123456789|filesizeformat
1024|filesizeformat(true) ~ " " ~ 123456789|filesizeformat(binary=true) ~ " " ~ "2000"|filesizeformat
d|tojson
d|tojson(indent=2)
schema|tojson
schema|tojson(indent=4)
schema|tojson(ensure_ascii=true)
schema|tojson(separators=(",", ":"))
schema|tojson(sort_keys=true)
schema|tojson(indent=1, separators=(" ,", " : "))
lm|tojson
[]|tojson(indent=2)
{}|tojson(indent=2)
[[], {}, [[]]]|tojson(indent=2)
(1, 2)|tojson
none|tojson ~ true|tojson ~ 1.0|tojson ~ 1e100|tojson ~ 5|tojson
"é\\n\\t\\"\\\\/<>&'"|tojson
"😀"|tojson(ensure_ascii=true)
"\\x7f\\x00\\x1f"|tojson
{1: 2, none: 3, true: 4, 1.5: 6}|tojson
{(1, 2): 3}|tojson
range(3)|tojson
(l|map("string"))|tojson
d.items()|tojson
big|tojson ~ big
huge ~ " " ~ huge|tojson ~ " " ~ tiny ~ " " ~ whole
d|tojson(indent="--")
d|tojson(2)
d|tojson(foo=1)
{"b": 1, "a": {"d": 1, "c": 2}}|tojson(sort_keys=true, indent=2)
{1: 2, "a": 3}|tojson(sort_keys=true)
lm|pprint
"a"|pprint
users|pprint
nested|pprint
{"b": 1, "a": 2}|pprint
("word " * 40)|pprint
[("word " * 40), "x"]|pprint
{"k": "line one\\nline two which is rather long, longer than eighty columns in any case, really\\n"}|pprint
range(60)|list|pprint
(1,)|pprint
d|attr("items")
d|attr("b")
d|attr("nosuch") is defined
s|attr("upper")()
s|random
s|urlize
lipsum is defined
lipsum()
n is odd
n is even
n is divisibleby(7)
n is divisibleby 7
nil is none
nil is not none
n is number ~ f is number ~ t is number ~ s is number
t is boolean ~ n is boolean
n is integer ~ t is integer ~ f is integer
f is float ~ n is float
s is string ~ n is string
d is mapping ~ l is mapping
l is sequence ~ s is sequence ~ d is sequence ~ n is sequence ~ undefined_name is sequence
l is iterable ~ n is iterable ~ s is iterable ~ nil is iterable
"abc" is lower ~ "ABC" is upper ~ "Abc" is lower
t is true ~ t is false ~ n is true ~ 1 is true
l is sameas l ~ t is sameas true ~ [1] is sameas [1]
n is eq 7 ~ n is ne 7 ~ n is gt 3 ~ n is lt(3) ~ n is ge 7 ~ n is le 7
1 is in [1, 2]
1 is in([1, 2])
1 is not in [1]
s.upper is callable ~ range is callable ~ s is callable ~ undefined_name is callable
"upper" is filter ~ "nosuch" is filter ~ "odd" is test
n is nosuchtest
n is defined and n > 5
n is defined and nosuch is not defined
not n is odd
n is odd is defined
"a" is odd
dict(a=1, b=2)
dict([("a", 1)], b=2)
dict({"a": 1})
dict("ab")
dict(1)
namespace(a=1).a
namespace({"a": 1}, b=2).b
namespace(a=1)
namespace(a=1).zz
namespace(a=1)["a"]
namespace()|length
cycler("a", "b").next()
cycler()
joiner("; ")()
strftime_now("%Y-%m-%d %H:%M:%S %A %a %B %b %d %j %p %I %y %%")
strftime_now("%d %b %Y")
strftime_now("%f|%z|%Z|%e|%-d|%G-W%V-%u|%w|%U|%c|%x|%X|%D|%T")
strftime_now(5)
strftime_now()
raise_exception("boom")
raise_exception("a\\nb")
raise_exception()
nosuchfunction()
s.upper(1)
s.split(",", 1, 2)
s.split(foo=1)
s|upper(1)
s|default(1, 2, 3)
s|nosuch
s|join(foo=1)
"\\u00e9\\x41\\101\\n" ~ '\\'' ~ "\\q" ~ "\\é"
"a" "b" 'c'
'it''s'
"tab\\there"
none
True ~ False ~ None
[true, none, "a'b", 'a"b', "a\\nb", "é", "\\u200b"]
"'"|list
"a'b\\"c"|list
[1.0, 1e20, -0.0, 1e-10]
{"a": [1, {"b": (1,)}]}
[[]] ~ {} ~ ()
s is string and s|length > 3
(1, 2) + (3,) == (1, 2, 3)
l[l|length - 1]
l[-1:][0]
d[none]
d[l]
d[d]
l[none]
messages[0].role == "system"
messages[1:]|map(attribute="role")|list
messages|map(attribute="content")|map("length")|list
messages[-1].content.split("</think>")[-1].lstrip("\\n")
messages[-1]["content"].split("<think>")[1].split("</think>")[0].strip()
(messages|last).role
messages|length - 1
loop
loop.index
self
caller
varargs
[1, 2, 3].index(2)
"abc".index("c")
"a" in "abc" and "d" not in "abc"
[x for x in l]
lambda: 1
1 +
(1
[1, 2
{"a" 1}
"abc
a.
a..b
a|
a is
1 2
if
{"a": 1, **d}
f(*l)
range(*[2, 5])|list
dict(**{"a": 1})
dict(**d)|length
dict(*[{"a": 1}], **{"b": 2})
dict(a=1, **{"a": 2})
dict(a=1, a=2)
"{}-{}".format(*[1, 2])
"{a}".format(**{"a": 1})
range(*5)
dict(**5)
l|join(*["-"])
s | replace(old="o", new="0")
1 . real
1.real
"a".upper().lower().upper()
("a", "b")|join
"a"|upper|lower|upper ~ "b"
-1|abs
-l[0]
not l
2 in l == true
1 < 2 == true
(1 < 2) == true
"" is string
[1,2,3][1:][0]
"abc"|batch(2)|list
"x" if l else "y"
d.keys()|sort
d.values()|list
"b" in d.keys()
1 in d.values()
("b", 1) in d.items()
d.keys() == d.keys()
{"a": 1}.items()|list == [("a", 1)]
1 is sameas 1
"%s" % none
"%s" % undefined_name
"%d" % undefined_name
1 ~ undefined_name.x
l.0
l.0.real
""|list
"a\\r\\nb"|list
""|title
"ǆ"|title
"ǆ".title() ~ "ǆ".upper()
"x".center(5, "ab")
"{:0>5}".format(3)
"{:=+5}".format(3)
"{:^5}".format("é")
"{:05}".format("a")
"{:.0f} {:.0f} {:.0f}".format(0.5, 1.5, 2.5)
"{:.10g} {:.3g} {:g}".format(1234567.891, 1234567.891, 1e16)
"{:.3} {:.1} {:.17}".format(3.14159, 0.05, 0.1)
"{:x}".format(-255)
"{:X}".format(255)
"{:o}".format(8)
"{:b}".format(5)
"{:e}".format(0)
"{:%}".format(1)
"{:,d} {:,}".format(1000, 1000.5)
"{:10}|".format(true)
"{!r}".format("a") ~ "{!a}".format("é") ~ "{!x}".format(1)
"{a[b]}".format(a={"b": 1})
"{0.real}".format(5)
"{:>{w}.{p}f}".format(3.14159, w=10, p=2)
""".strip().split("\n")

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

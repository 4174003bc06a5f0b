"""Whether a text matches a regular expression as a whole, by the definition, in polynomial time.

Python reads the pattern; what it means is as runtime/grammar/regular_expression.h says: \\d and
\\w of ASCII, \\s and . as ECMAScript has them.
"""

import functools
import importlib
import sys

reader = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

SPACES = set("\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff") | {chr(code) for code in range(0x2000, 0x200b)}
DIGITS = set("0123456789")
WORDS = DIGITS | set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
CATEGORIES = {"CATEGORY_DIGIT": DIGITS, "CATEGORY_WORD": WORDS, "CATEGORY_SPACE": SPACES}


def in_category(name, letter):
    return (letter in CATEGORIES[name.replace("_NOT_", "_")]) != ("_NOT_" in name)


def in_class(members, letter):
    negated = str(members[0][0]) == "NEGATE"
    for kind, what in members[negated:]:
        if {"LITERAL": lambda what=what: ord(letter) == what,
                "RANGE": lambda what=what: what[0] <= ord(letter) <= what[1],
                "CATEGORY": lambda what=what: in_category(str(what), letter)}[str(kind)]():
            return not negated
    return negated


def letter_matches(kind, what, letter):
    if kind == "ANY":
        return letter not in "\n\r\u2028\u2029"
    if kind == "IN":
        return in_class(what, letter)
    return (ord(letter) == what) == (kind == "LITERAL")


def ends_of(items, text, starts):
    """Where a sequence may end that begins at one of `starts`."""
    for kind, what in items:
        starts = ends_of_one(str(kind), what, text, starts)
    return starts


def ends_of_one(kind, what, text, starts):
    if kind == "SUBPATTERN":
        return ends_of(what[-1], text, starts)
    if kind == "BRANCH":
        return set().union(*(ends_of(branch, text, starts) for branch in what[1]))
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, part = what
        for _ in range(least):
            starts = ends_of(part, text, starts)
        found, count = set(starts), least
        while starts and count < most:
            starts = ends_of(part, text, starts) - found
            found |= starts
            count += 1
        return found
    if kind == "AT":
        place = {"AT_BEGINNING": 0, "AT_END": len(text)}[str(what)]
        return starts & {place}
    return {at + 1 for at in starts if at < len(text) and letter_matches(kind, what, text[at])}


@functools.cache
def read(pattern):
    return reader.parse(pattern)


def matches(pattern, text):
    """Throws re.error where Python cannot read the pattern."""
    return len(text) in ends_of(read(pattern), text, {0})

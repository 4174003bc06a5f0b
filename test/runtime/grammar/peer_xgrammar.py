"""The library xgrammar, as differential.py asks it.

Its package imports torch; the compiled bindings in it do not need that.
"""

import contextlib
import json
import os
import re
import sys
import types

import packages


@contextlib.contextmanager
def silence():
    """Without what the library says of keywords that it ignores."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class XGrammar:
    strict = (False, True)
    whitespace = ("none", "any")

    def __init__(self, cache):
        packages.add(cache, "typing_extensions-4.15.0", (
            "typing_extensions==4.15.0"
            " --hash=sha256:f0fa19c6845758ab08074a0cfa8b7aecb71c999ca73d62883bc25cc018c4e548"))
        packages.add(cache, "apache_tvm_ffi-0.1.15", (
            "apache-tvm-ffi==0.1.15.post2"
            " --hash=sha256:8ecebe749834f6ac0f2693d5964acf9ac75d0bc26e6ba64c46eb7ab00ea50fac"))
        folder = packages.fetch(cache, "xgrammar-0.2.9", (
            "xgrammar==0.2.9"
            " --hash=sha256:b5179499ae9ef8366e1dcf592c3ee6b17ecf646971df50828b242934862d916c"))
        package = types.ModuleType("xgrammar")
        package.__path__ = [f"{folder}/xgrammar"]
        sys.modules["xgrammar"] = package
        try:
            import xgrammar.load_binding  # noqa: F401 - registers what base names
            from xgrammar.base import _core
        except (ImportError, OSError) as error:
            raise packages.Unavailable(f"xgrammar cannot be imported: {error}") from None
        self.library = _core
        # Without a vocabulary, of one thread, and nothing kept.
        self.compiler = _core.GrammarCompiler(_core.TokenizerInfo([], 0, None, None, False), 1, False, -1, False)

    def matcher(self, question):
        """Of the grammar; None where the library refuses it."""
        with silence():
            return self.compiled(question)

    def compiled(self, question):
        try:
            if "regex" in question:
                grammar = self.library.Grammar.from_regex(question["regex"], False)
            elif "gbnf" in question:
                grammar = self.library.Grammar.from_ebnf(question["gbnf"], "root")
            else:
                flexible = question["whitespace"] == "any"
                grammar = self.library.Grammar.from_json_schema(
                    json.dumps(question["schema"], ensure_ascii=False), flexible, None, None if flexible else (",", ":"),
                    question["strict"], None, False, False)
            return self.library.GrammarMatcher(self.compiler.compile_grammar_ebnf(grammar), None, True, -1, None)
        except RuntimeError:
            return None

    def copy(self, matcher):
        return matcher.fork()

    def take(self, matcher, data):
        """Whether all bytes are taken."""
        return not data or bool(matcher.accept_string(data, False))

    def may_end(self, matcher):
        return bool(matcher.is_completed())

    def excuse_schema(self, question, text, baton, invalid):
        """Why two answers about JSON may differ, or None. `invalid`: it does not keep to the schema."""
        spelled = json.dumps(question["schema"])
        if not baton:
            if invalid:
                return "library: does not keep to the schema"
            if question["strict"] and question["schema"].keys() <= {"minimum", "maximum"}:
                return "strict: a schema without a type has that of its keywords"
            if question["strict"] and '"allOf"' in spelled:
                return "strict: objects within allOf are closed, which for the library may be anything"
            return None
        if "\\" in text and re.search('"pattern"|"format"|Length"', spelled):
            return "escapes in strings with a pattern, a format or a length"
        if '"pattern"' in spelled:
            return "patterns that texts contain, which for the library they are"
        if "\\" in text:
            return "escapes in names that are not listed"
        if re.search('"patternProperties"', spelled):
            return "patternProperties, beside which the library has nothing"
        if re.search(r"\s", text) and re.search('"enum"|"const"', spelled):
            return "whitespace inside members of enum"
        if '"uri"' in spelled and re.search(r":/|[()]", text):
            return "an empty port, or parentheses, of a URI"
        if question["strict"] and '"required"' in spelled and '"properties"' not in spelled:
            return "strict: names that are only required"
        if re.search(r"-0\b", text):
            return "minus zero"
        if re.search(r"\d{7}", text) and re.search('imum"', spelled):
            return "more than six digits of numbers with bounds"
        return None

    def excuse_pattern(self, pattern, text, baton):
        if not baton and "." in pattern and re.search("[\u2028\u2029]", text):
            return "library: . is all but a line feed and a carriage return"
        # What it means by definition was asked before.
        return "library: not by the definition"

    def excuse_grammar(self, grammar, text, baton):
        return None

"""The library llguidance, as differential.py asks it."""

import json
import re

import packages


class LlGuidance:
    strict = (False,)
    whitespace = ("single", "any")

    def __init__(self, cache):
        packages.add(cache, "llguidance-1.9.1", (
            "llguidance==1.9.1"
            " --hash=sha256:dfac6021d9c4c5ef16b3a1d336c05ca5e8208ff30dec29d1c63ebcafbee3a346"
            " --hash=sha256:31b75c9f6e09d000d062ef7e4eb3bcb3759fc1eda5619be50fdd8a830b0e8bdf"))
        try:
            import llguidance
        except ImportError as error:
            raise packages.Unavailable(f"llguidance cannot be imported: {error}") from None
        self.library = llguidance

        class Bytes:
            """Each byte is a token; the last one ends the text."""
            eos_token_id = 256
            bos_token_id = None
            tokens = [bytes([byte]) for byte in range(256)] + [b"<|end|>"]
            special_token_ids = [256]

            def __call__(self, text):
                return list(text.encode() if isinstance(text, str) else text)

        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()))

    def matcher(self, question):
        """Of the grammar; None where the library refuses it."""
        if "gbnf" in question:
            return None  # another notation
        try:
            if "regex" in question:
                grammar = self.library.LLMatcher.grammar_from_regex(question["regex"])
            else:
                options = {"whitespace_flexible": True, "coerce_one_of": True}
                if question["whitespace"] == "single":
                    options = {"whitespace_flexible": False, "item_separator": ", ?", "key_separator": ": ?",
                               "coerce_one_of": True}
                grammar = self.library.LLMatcher.grammar_from_json_schema(
                    json.dumps({**question["schema"], "x-guidance": options}))
        except ValueError:
            return None
        matcher = self.library.LLMatcher(self.tokenizer, grammar, log_level=0)
        return None if matcher.is_error() else matcher

    def copy(self, matcher):
        return matcher.deep_copy()

    def take(self, matcher, data):
        """Whether all bytes are taken."""
        return matcher.try_consume_tokens(list(data)) == len(data)

    def may_end(self, matcher):
        return matcher.is_accepting()

    def excuse_schema(self, question, text, baton, invalid):
        """Why two answers about JSON may differ, or None. `invalid`: it does not keep to the schema."""
        spelled = json.dumps(question["schema"])
        if baton:
            if re.search(r'\\u|\\/|\\b|\\f', text):
                return "escapes that the library does not write"
            if "\x7f" in text:
                return "delete (U+007F), which the library escapes"
            if re.search(r"-0\b", text):
                return "minus zero"
            if re.search(r"\d", text) and re.search('imum"|multipleOf', spelled):
                return "zeros behind numbers with bounds"
            return None
        if invalid:
            return "library: does not keep to the schema"
        if re.search(r'"pattern": "[^"]*\.', spelled) and re.search(r"\\r|[\u2028\u2029]", text):
            return "library: . is all but a line feed"
        return None

    def excuse_pattern(self, pattern, text, baton):
        if not baton and "." in pattern and re.search("[\r\u2028\u2029]", text):
            return "library: . is all but a line feed"
        if baton and "\\s" in pattern and "\ufeff" in text:
            return "library: U+FEFF is no space"
        # What it means by definition was asked before.
        return "library: not by the definition"

    def excuse_grammar(self, grammar, text, baton):
        return None

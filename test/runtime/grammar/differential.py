"""The library llguidance on the same schemas and texts.

Texts are samples of Baton's, mutations of them, and values made by hand; each is taken or
refused. The differences that are meant are known to `excuse`, by reason, and counted; others
fail. Skipped (77) where llguidance cannot be fetched.
"""

import argparse
import collections
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tokenizer"))
import packages  # noqa: E402
import schemas  # noqa: E402
from validate import ask, library  # noqa: E402

VALUES = ["null", "true", "0", "-1", "7", "12.5", "1e5", '""', '"a"', '"abc"', '"2024-02-29"', "[]", "[1]", '["a", 1]',
          "[null, null, null]", "{}", '{"a": 1}', '{"a": "x"}', '{"a":true,"b":false}', '{"v": 1}', '{"x": null, "y": 2}',
          "", " 1", "1 ", "{", "[1,]", '{"a" :1}', "nul", "01", "--1", "1.", '"\n"', '"\\x"', '"\\ud83d"']


class LlGuidance:
    name = "llguidance"

    def __init__(self, cache):
        sys.path.insert(0, packages.fetch(cache, "llguidance-1.9.1", (
            "llguidance==1.9.1"
            " --hash=sha256:dfac6021d9c4c5ef16b3a1d336c05ca5e8208ff30dec29d1c63ebcafbee3a346"
            " --hash=sha256:31b75c9f6e09d000d062ef7e4eb3bcb3759fc1eda5619be50fdd8a830b0e8bdf")))
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

    def schema(self, schema, whitespace):
        options = {"whitespace_flexible": True, "coerce_one_of": True}
        if whitespace == "single":
            options = {"whitespace_flexible": False, "item_separator": ", ?", "key_separator": ": ?",
                       "coerce_one_of": True}
        if not isinstance(schema, dict):
            return None
        try:
            return self.library.LLMatcher.grammar_from_json_schema(json.dumps({**schema, "x-guidance": options}))
        except ValueError:
            return None

    def regex(self, pattern):
        return self.library.LLMatcher.grammar_from_regex(pattern)

    def takes(self, grammar, texts):
        """A list of answers, or the error."""
        if grammar is None:
            return "refused"
        matcher = self.library.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            return matcher.get_error()
        answers = []
        for text in texts:
            copy = matcher.deep_copy()
            tokens = list(text.encode())
            answers.append(copy.try_consume_tokens(tokens) == len(tokens) and copy.is_accepting())
        return answers


def mutations(rng, text):
    for _ in range(3):
        if not text:
            return
        at = rng.randrange(len(text))
        yield rng.choice([text[:at] + text[at + 1:], text[:at] + rng.choice('"{}[],:0123 ae\\n-') + text[at + 1:],
                          text[:at] + rng.choice('"{}[],:0123 ae-.') + text[at:], text[:at] + text[at + 1:] + text[at],
                          text[:at]])


def excuse(schema, text, baton, library_takes, jsonschema):
    """Why two answers may differ, or None."""
    spelled = json.dumps(schema)
    try:
        value = json.loads(text)
    except ValueError:
        # Both write JSON; a half of a pair alone is a text that is none.
        return "library: no JSON" if library_takes and not baton else None
    if baton and not library_takes:
        if re.search(r'\\u|\\/|\\b|\\f', text):
            return "escapes that the library does not write"
        if "\x7f" in text:
            return "delete (U+007F), which the library escapes"
        if re.search(r"-0\b", text):
            return "minus zero"
        if re.search(r"\d", text) and re.search('imum"|multipleOf', spelled):
            return "zeros behind numbers with bounds"
    if not baton and library_takes:
        if re.search(r"\s{41}", text):
            return "whitespace is counted"
        if re.search(r"[0-9]{19}|[0-9][eE][+-]?[0-9]{3}", text):
            return "digits are counted"
        if re.search(r"[eE]", text) and re.search('imum"|multipleOf', spelled):
            return "no exponents beside bounds"
        if re.search('"enum"|"const"', spelled):
            return "members of enum in their shortest spelling"
        validator = jsonschema.Draft202012Validator(
            schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        if list(validator.iter_errors(value)):
            return "library: does not keep to the schema"
        if '"format"' in spelled:
            return "formats are stricter"
        if "\\u" in text or "\\/" in text:
            return "names in their shortest spelling"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constrain", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--count", type=int, default=220, help="random schemas")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        peer = LlGuidance(arguments.cache)
        jsonschema = library(arguments.cache)
    except packages.Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)
    rng = random.Random(arguments.seed)
    corpus = [schema for schema in schemas.BY_HAND + schemas.random_schemas(arguments.count, arguments.seed)
              if isinstance(schema, dict)]
    questions = []
    for number, schema in enumerate(corpus):
        questions.append({"schema": schema, "strict": False, "whitespace": rng.choice(["single", "any"]),
                          "samples": 4, "length": 40, "seed": number})
    for question, answer in zip(questions, ask(arguments.constrain, questions), strict=True):
        samples = [text for text in answer.get("samples", []) if text is not None]
        question["texts"] = VALUES + samples + [other for text in samples for other in mutations(rng, text)]
        question["samples"] = 0
    counts, failures = collections.Counter(), []
    for question, answer in zip(questions, ask(arguments.constrain, questions), strict=True):
        schema = question["schema"]
        found = peer.takes(peer.schema(schema, question["whitespace"]), question["texts"])
        if "accepts" not in answer or isinstance(found, str):
            refused = ("Baton" if "accepts" not in answer else "") + (peer.name if isinstance(found, str) else "")
            counts[f"schemas refused by {refused}"] += 1
            if refused == "Baton":
                failures.append((schema, answer))
            continue
        counts["schemas"] += 1
        for text, baton, other in zip(question["texts"], answer["accepts"], found, strict=True):
            counts["texts taken" if baton else "texts refused"] += 1
            if baton == other:
                continue
            reason = excuse(schema, text, baton, other, jsonschema)
            if reason:
                counts["differs: " + reason] += 1
            else:
                failures.append((schema, question["whitespace"], text,
                                 f"Baton {'takes' if baton else 'refuses'} it"))
    print("\n".join(f"{count:6} {what}" for what, count in sorted(counts.items())))
    for failure in failures[:12]:
        print("\n" + "\n  ".join(json.dumps(part, ensure_ascii=False)[:500] for part in failure))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

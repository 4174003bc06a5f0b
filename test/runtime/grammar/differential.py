"""Another library on the same schemas, regular expressions, grammars and texts.

Texts are samples of Baton's and of the library's, mutations of them, and values made by hand;
each is taken or refused. Regular expressions are also judged by their definition
(pattern_oracle.py). The differences that are meant are known to `excuse`, by reason, and counted;
others fail. Skipped (77) where the library cannot be fetched.
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
import patterns  # noqa: E402
import schemas  # noqa: E402
from pattern_oracle import matches  # noqa: E402
from peer_llguidance import LlGuidance  # noqa: E402
from peer_xgrammar import XGrammar  # noqa: E402
from validate import ask, keeps_exactly, library  # noqa: E402

VALUES = ["null", "true", "0", "-1", "7", "12.5", "1e5", '""', '"a"', '"abc"', '"2024-02-29"', "[]", "[1]", '["a", 1]',
          "[null, null, null]", "{}", '{"a": 1}', '{"a": "x"}', '{"a":true,"b":false}', '{"v": 1}', '{"x": null, "y": 2}',
          "", " 1", "1 ", "{", "[1,]", '{"a" :1}', "nul", "01", "--1", "1.", '"\n"', '"\\x"', '"\\ud83d"']
WORDS = ["", "a", "b", "ab", "abc", "aab", "c", "é", "日本", "0", "1", "-", " ", "\n", "x", "(", ")", "2024-02-29", "a b", "\u2028"]
LETTERS = '"{}[],:0123 ae-.\\n()bcdxyé_'


def mutations(rng, text):
    for _ in range(3):
        if not text:
            return
        at = rng.randrange(len(text))
        yield rng.choice([text[:at] + text[at + 1:], text[:at] + rng.choice(LETTERS) + text[at + 1:],
                          text[:at] + rng.choice(LETTERS) + text[at:], text[:at] + text[at + 1:] + text[at],
                          text[:at]])


def samples(rng, peer, matcher, count, length=30):
    """Texts that the library takes, byte by byte, as far as they come to an end."""
    for _ in range(count):
        matcher_now, data = peer.copy(matcher), bytearray()
        while len(data) < 3 * length:
            if peer.may_end(matcher_now) and (len(data) > length or rng.random() < 0.2):
                try:
                    yield data.decode()
                except UnicodeDecodeError:
                    pass
                break
            # Characters of texts rather than any bytes; towards the end what closes.
            order = rng.sample(list('"}])' + LETTERS if len(data) > length else LETTERS), 12) + [
                chr(byte) for byte in rng.sample(range(128), 128)] + ["é", "日", "😀"]
            for letter in order:
                copy = peer.copy(matcher_now)
                if peer.take(copy, letter.encode()):
                    matcher_now = copy
                    data += letter.encode()
                    break
            else:
                break


def taken(peer, matcher, text):
    copy = peer.copy(matcher)
    return peer.take(copy, text.encode()) and peer.may_end(copy)


def excuse_schema(peer, question, text, baton, jsonschema):
    """Why two answers may differ, or None."""
    schema = question["schema"]
    spelled = json.dumps(schema)
    try:
        value = json.loads(text)
    except ValueError:
        # Both write JSON; a half of a pair alone is a text that is none.
        return "library: no JSON" if not baton else None
    if not baton:
        if re.search(r"\s{41}", text):
            return "whitespace is counted"
        if re.search(r"[0-9]{19}|[0-9][eE][+-]?[0-9]{3}", text):
            return "digits are counted"
        if re.search(r"\d[eE]", text) and re.search('imum"|multipleOf', spelled):
            return "no exponents beside bounds"
        if re.search(r"\d[eE.]", text) and '"integer"' in spelled:
            return "integers are of digits only"
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    invalid = bool(list(validator.iter_errors(value)))
    if not baton and not invalid and re.search('"enum"|"const"', spelled):
        return "members of enum in their shortest spelling"
    if baton and invalid and keeps_exactly(schema):
        return None
    reason = peer.excuse_schema(question, text, baton, invalid)
    if reason or baton:
        return reason
    if '"format"' in spelled:
        return "formats are stricter"
    if "\\u" in text or "\\/" in text:
        return "names in their shortest spelling"
    return None


def is_wrong(question, text, baton):
    """Of a regular expression that Python can read: by its definition."""
    try:
        return "regex" in question and matches(question["regex"], text) != baton
    except re.error:
        return False


def excuse(peer, question, text, baton, jsonschema):
    if "schema" in question:
        return excuse_schema(peer, question, text, baton, jsonschema)
    if "gbnf" in question:
        return peer.excuse_grammar(question["gbnf"], text, baton)
    return peer.excuse_pattern(question["regex"], text, baton)


def kind_of(question):
    return {"schema": "schemas", "regex": "regular expressions", "gbnf": "grammars"}[next(iter(question))]


def questions_of(arguments, peer, rng):
    corpus = [schema for schema in schemas.BY_HAND + schemas.random_schemas(arguments.count, arguments.seed)
              if isinstance(schema, dict)]
    found = [{"schema": schema, "strict": rng.choice(peer.strict), "whitespace": rng.choice(peer.whitespace)} for schema in corpus]
    found += [{"regex": pattern} for pattern in patterns.PATTERNS + patterns.random_patterns(arguments.count, arguments.seed)]
    found += [{"gbnf": grammar} for grammar in patterns.GRAMMARS + patterns.random_grammars(arguments.count, arguments.seed)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constrain", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--peer", choices=["llguidance", "xgrammar"], required=True)
    parser.add_argument("--count", type=int, default=220, help="random schemas, patterns and grammars, of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=12, help="how many differences")
    arguments = parser.parse_args()
    try:
        peer = {"llguidance": LlGuidance, "xgrammar": XGrammar}[arguments.peer](arguments.cache)
        jsonschema = library(arguments.cache)
    except packages.Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)
    rng = random.Random(arguments.seed)
    questions = questions_of(arguments, peer, rng)
    matchers = [peer.matcher(question) for question in questions]
    first = ask(arguments.constrain, [{**question, "samples": 4, "length": 40, "seed": number}
                                      for number, question in enumerate(questions)])
    for question, matcher, answer in zip(questions, matchers, first, strict=True):
        texts = [text for text in answer.get("samples", []) if text is not None]
        texts += [] if matcher is None else samples(rng, peer, matcher, 4)
        question["texts"] = list(dict.fromkeys([*(VALUES if "schema" in question else WORDS), *texts, *(
            other for text in texts for other in mutations(rng, text))]))
    counts, failures = collections.Counter(), []
    for question, matcher, answer in zip(questions, matchers, ask(arguments.constrain, questions), strict=True):
        kind = kind_of(question)
        if "accepts" not in answer or matcher is None:
            refused = ("Baton" if "accepts" not in answer else "") + (arguments.peer if matcher is None else "")
            counts[f"{kind}: refused by {refused}"] += 1
            if refused == "Baton":
                failures.append((question, answer))
            continue
        counts[kind] += 1
        for text, baton in zip(question["texts"], answer["accepts"], strict=True):
            counts[f"{kind}: texts that Baton " + ("takes" if baton else "refuses")] += 1
            wrong = is_wrong(question, text, baton)
            if not wrong and baton == taken(peer, matcher, text):
                continue
            reason = None if wrong else excuse(peer, question, text, baton, jsonschema)
            if reason:
                counts[f"{kind}: differs: {reason}"] += 1
            else:
                failures.append((question, text, f"Baton {'takes' if baton else 'refuses'} it"))
                break
    print("\n".join(f"{count:6} {what}" for what, count in sorted(counts.items())))
    for failure in failures[:arguments.show]:
        print("\n" + "\n  ".join(json.dumps(part, ensure_ascii=False)[:500] for part in failure))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

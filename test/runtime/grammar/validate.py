"""Random texts of schemas, judged by the library jsonschema.

Texts are of tokens chosen at random among all that are allowed; each must be JSON, and keep
to its schema. Schemas that contradict themselves or have what is not supported must be
refused, by hand-written lists. Skipped (77) where the library cannot be fetched.
"""

import argparse
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tokenizer"))
import packages  # noqa: E402
import schemas  # noqa: E402


def library(cache):
    """The library, and the packages that it needs."""
    for name, wheels in {
            "jsonschema-4.17.3": "jsonschema==4.17.3"
            " --hash=sha256:a870ad254da1a8ca84b6a2905cac29d265f805acc57af304784962a2aa6508f6",
            "attrs-26.1.0": "attrs==26.1.0"
            " --hash=sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309",
            "pyrsistent-0.20.0": "pyrsistent==0.20.0"
            " --hash=sha256:c55acc4733aad6560a7f5f818466631f07efc001fd023f34a6c203f8b6df0f0b"}.items():
        sys.path.insert(0, packages.fetch(cache, name, wheels))
    try:
        import jsonschema
    except ImportError as error:
        raise packages.Unavailable(f"jsonschema cannot be imported: {error}") from None
    return jsonschema


def ask(constrain, questions):
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    result = subprocess.run([constrain], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def keeps_exactly(schema):
    """multipleOf 0.01 of floating-point numbers is not what the library computes."""
    return '"multipleOf": 0.' not in json.dumps(schema)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constrain", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--count", type=int, default=200, help="random schemas")
    parser.add_argument("--samples", type=int, default=20, help="texts of each schema")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        jsonschema = library(arguments.cache)
    except packages.Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)

    corpus = schemas.BY_HAND + schemas.random_schemas(arguments.count, arguments.seed)
    questions = []
    for number, schema in enumerate(corpus):
        for strict, whitespace in ((True, "single"), (False, "any"), (True, "none")):
            questions.append({"schema": schema, "strict": strict, "whitespace": whitespace, "length": 60,
                              "samples": arguments.samples // 2 + 1 if strict else arguments.samples,
                              "seed": arguments.seed + number})
    counts, failures = collections.Counter(), []
    for question, answer in zip(questions, ask(arguments.constrain, questions), strict=True):
        schema = question["schema"]
        if "samples" not in answer:
            # Combinations at random may leave no value; those by hand do not.
            refused = "no value keeps to it" in answer.get("error", "")
            counts["refused schemas"] += 1
            if not refused or schema in schemas.BY_HAND:
                failures.append((question, answer))
            continue
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        for text in answer["samples"]:
            if text is None:
                counts["unfinished texts"] += 1
                continue
            counts["texts"] += 1
            try:
                value = json.loads(text)
            except ValueError as error:
                failures.append((question, text, str(error)))
                continue
            if keeps_exactly(schema):
                failures += [(question, text, error.message) for error in validator.iter_errors(value)][:1]
    refusals = ask(arguments.constrain, [{"schema": schema} for schema in schemas.REFUSED])
    for schema, answer in zip(schemas.REFUSED, refusals, strict=True):
        counts["refused by hand"] += 1
        if not answer.get("error", "").startswith("schema: #"):
            failures.append((schema, answer))
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f", of {len(corpus)} schemas")
    for failure in failures[:10]:
        print("\n" + "\n  ".join(json.dumps(part, ensure_ascii=False)[:600] for part in failure))
    if counts["unfinished texts"] * 20 > counts["texts"]:
        print("too many texts do not end")
        sys.exit(1)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

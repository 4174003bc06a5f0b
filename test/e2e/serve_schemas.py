"""A server's answers at temperature 2 keep to their schemas.

    serve_schemas.py --batonc build/bin/batonc --constrain build/test/runtime/grammar/constrain --cache FOLDER
    serve_schemas.py ... --trained --requests 10000

Requests have schemas of test/runtime/grammar/schemas.py, by hand and at random, more than 300. The library
jsonschema judges each text that ended. One that max_tokens cuts off is finished by the tool `constrain`,
byte by byte, and judged then: it has to be the beginning of a text that keeps to the schema. --trained
asks SmolLM2, whose tokens are of many bytes, instead of a small model of random weights. Skipped (77) where
what is needed cannot be fetched.
"""

import argparse
import collections
import json
import os
import random
import sys
import threading

import programs
from programs import Failure, Program, expect, run
from serve import ROOT, TEMPLATE
from serving import Server, in_parallel

sys.path.insert(0, os.path.join(ROOT, "test", "runtime", "grammar"))
from validate import ask, keeps_exactly, library, packages  # noqa: E402
import schemas  # noqa: E402

INPUTS = ["tools/random-checkpoint", "tools/fetch-model", "models/examples/bytes/*", "test/runtime/grammar/*.py",
          "test/runtime/tokenizer/packages.py", "build/test/runtime/grammar/constrain"]

# Of what the schemas' patterns have somewhere in a text, to finish texts with.
WORDS = ["a", "b", "x", "y", "日本", "123-0", "foo", "a 1"]


class Requests:
    """What clients ask, in turns: each schema once before one comes again."""

    def __init__(self, server, corpus, arguments):
        self.server, self.corpus, self.arguments = server, corpus, arguments
        self.lock = threading.Lock()
        self.begun = 0
        # Of all tokens these are few, and a text at this temperature would hardly end.
        bias = 12 if arguments.trained else 6
        self.bias = {str(token): bias for letter in '"]}'
                     for token in server.get("/tokenize", {"content": letter, "add_special": False})["tokens"]}
        # Of each request: its schema, text, why it ended, and how many tokens it has.
        self.answers = []

    def client(self):
        while True:
            with self.lock:
                number = self.begun
                self.begun += 1
            if number >= self.arguments.requests:
                return
            place = number % len(self.corpus)
            body = {"messages": [{"role": "user", "content": f"Number {number}, please."}], "temperature": 2,
                    "seed": self.arguments.seed + number, "max_tokens": self.arguments.tokens, "logit_bias": self.bias,
                    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": self.corpus[place]}}}
            if number % 4:
                status, _, found = self.server.ask("/v1/chat/completions", body)
                if status != 200:
                    expect(status == 400 and "no value keeps to it" in found["error"]["message"],
                           f"{self.corpus[place]}: {status} {found}")
                    self.answers.append((place, None, "refused", 0))
                    continue
                choice = found["choices"][0]
                text, reason = choice["message"]["content"], choice["finish_reason"]
                count = found["usage"]["completion_tokens"]
            else:
                try:
                    events = self.server.events("/v1/chat/completions", {**body, "stream_options": {"include_usage": True}})
                except Failure as failure:
                    expect("400" in str(failure), failure)
                    self.answers.append((place, None, "refused", 0))
                    continue
                choices = [choice for event in events for choice in event["choices"]]
                text = "".join(choice["delta"].get("content") or "" for choice in choices)
                reason, count = choices[-1]["finish_reason"], events[-1]["usage"]["completion_tokens"]
            self.answers.append((place, text, reason, count))


def judge(corpus, answers, jsonschema, constrain):
    """How many of each kind there are, and what is wrong."""
    counts, wrong = collections.Counter(), []
    cut = collections.defaultdict(list)

    def keeps(place, text):
        try:
            value = json.loads(text)
        except ValueError:
            return False
        validator = jsonschema.Draft202012Validator(
            corpus[place], format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        return not keeps_exactly(corpus[place]) or validator.is_valid(value)

    for place, text, reason, count in answers:
        counts[reason] += 1
        counts["tokens"] += count
        if reason == "stop" and not keeps(place, text):
            wrong.append((corpus[place], text, "does not keep to it"))
        elif reason == "length":
            # Half of a character is left out at the end, or replaced.
            cut[place].append(text.rstrip("\ufffd"))
    places = sorted(cut)
    questions = [{"schema": corpus[place], "beginnings": cut[place], "words": WORDS, "seed": place} for place in places]
    for place, found in zip(places, ask(constrain, questions), strict=True):
        if "finished" not in found:
            wrong.append((corpus[place], cut[place], found))
            continue
        for text, whole in zip(cut[place], found["finished"], strict=True):
            if whole is None or not whole.startswith(text) or not keeps(place, whole):
                wrong.append((corpus[place], text, f"is no beginning; finished: {whole!r}"))
    return counts, wrong


def fetched_model(cache):
    path = os.path.join(cache, "smollm2.gguf")
    if not os.path.exists(path):
        result = run([os.path.join(ROOT, "tools/fetch-model"), "smollm2", path], check=False)
        if result.returncode:
            print(f"SKIPPED: {result.stderr.strip()}")
            sys.exit(packages.SKIPPED)
    return path


def test(arguments, jsonschema, scratch):
    model = arguments.model
    if arguments.trained and not model:
        model = fetched_model(arguments.cache)
    if not model:
        model = os.path.join(scratch, "toy")
        run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 64, "--layers", 1])
        with open(os.path.join(model, "chat_template.jinja"), "w") as file:
            file.write(TEMPLATE)
    usual = [programs.USUAL] if arguments.trained else []
    program = Program(arguments.batonc, model, os.path.join(scratch, "program"), "--max-batch=32", "--max-rows=128",
                      "--max-seq=512", *usual).path
    corpus = [schema for schema in schemas.BY_HAND + schemas.random_schemas(arguments.schemas, arguments.seed)
              if isinstance(schema, dict)]
    expect(len(corpus) >= 300, f"{len(corpus)} schemas")
    random.Random(arguments.seed).shuffle(corpus)
    with Server(program, model, "--quiet") as server:
        requests = Requests(server, corpus, arguments)
        in_parallel([requests.client] * arguments.clients)
    counts, wrong = judge(corpus, requests.answers, jsonschema, arguments.constrain)
    print(f"{len(requests.answers)} requests of {len(corpus)} schemas: {counts['stop']} texts ended, {counts['length']} were cut "
          f"off, {counts['refused']} have schemas without a value; {counts['tokens']} tokens")
    expect(not wrong, f"{len(wrong)} are wrong: " + "".join(
        "\n" + "\n  ".join(json.dumps(part, ensure_ascii=False)[:600] for part in case) for case in wrong[:8]))
    expect(counts["stop"] > 0.4 * len(requests.answers) and counts["length"] > 0, "texts end, and are cut off")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--constrain", required=True)
    parser.add_argument("--cache", required=True, help="where the library is fetched to")
    parser.add_argument("--trained", action="store_true", help="asks a trained model")
    parser.add_argument("--model", help="a file instead of the fetched one")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--schemas", type=int, default=220, help="of random ones")
    parser.add_argument("--tokens", type=int, default=160, help="the most of an answer")
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        jsonschema = library(arguments.cache)
    except packages.Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)
    programs.main(lambda scratch: test(arguments, jsonschema, scratch))

"""Texts that are scored: FILE score, against the logits of a program of one sequence.

Continuations of random lengths, several behind each context, and choices of single tokens have the
log-probabilities that follow from `logits`, and say whether they are what greedy decoding
comes to; probabilities of choices sum to 1, and their log-probabilities are those that they have as continuations. Those
that are compared only among each other have the logits of `logits`, and steps with no others leave out the rest, as
a trace shows. To the last digit they are the same for other
workers, chunks, pages, numbers of rows with logits, without the cache of prefixes, and as `prompt_logprobs` of
`batch`. A common context is computed once. A run that was torn off goes on. With a tokenizer, texts have the
tokens of both together. With --device the same is held for CUDA, emulated, and results are those of the CPU.
With --products linears of a device are on tensor cores. With --mesh both programs have ranks. What does not go together is refused by name.
"""

import argparse
import array
import json
import math
import os
import random

import programs
from programs import Program, expect, run

SEQUENCES, ROWS, OUTPUTS = 5, 24, 16


def write_lines(path, lines):
    with open(path, "w") as file:
        for line in lines:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")


def read_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def make_requests(case, count, generator):
    """Contexts of the golden case's tokens, with lists of continuations or choices."""
    tokens = case["tokens"]
    longest = min(len(tokens), 150)
    draw = lambda length: [generator.choice(tokens) for _ in range(max(1, length))]
    requests = []
    for number in range(count):
        context = draw(min(generator.choice([1, 2, 17, 63, 64, 65, 90]), longest - 25))
        request = {"id": f"r{number}", "tokens": context}
        if number % 3 == 2:
            requests.append(request | {"choices": sorted(set(draw(4)))})
            continue
        request["continuations"] = [draw(generator.choice([1, 2, 5, 20])) for _ in range(generator.choice([1, 3]))]
        if number % 2:
            request["logprobs"] = generator.choice([0, 3])
        requests.append(request)
    return requests


class Scoring:
    """Runs of a batch program over files of requests."""

    def __init__(self, program, path):
        self.program, self.path = program, path

    def run(self, requests, *flags, command="score", fresh=True):
        """Results in the order of requests, and the summary."""
        write_lines(self.path("requests.jsonl"), requests)
        out = self.path("results.jsonl")
        if fresh and os.path.exists(out):
            os.remove(out)
        result = run([self.program.path, command, "--weights", self.program.weights, "--requests",
                      self.path("requests.jsonl"), "--out", out, "--json", "--quiet", "--no-cache", *flags])
        return read_lines(out), json.loads(result.stdout)


def without_cache(results):
    return [{key: value for key, value in each.items() if key != "cached_tokens"} for each in results]


class Oracle:
    """Log-probabilities by the logits of a program of one sequence."""

    def __init__(self, program, path):
        self.program, self.path = program, path

    def logprobs(self, context, continuation):
        """Of each of the continuation's tokens; and the most likely token in its place."""
        file = self.program.logits((context + continuation)[:-1], self.path)
        values = array.array("f", file[file.index(b"\n") + 1:])
        width = len(values) // (len(context) + len(continuation) - 1)
        pairs = []
        for place, token in enumerate(continuation, len(context) - 1):
            row = values[place * width:(place + 1) * width]
            largest = max(row)
            base = largest + math.log(sum(math.exp(logit - largest) for logit in row))
            pairs.append((row[token] - base, row.index(largest)))
        return pairs

    def row(self, context):
        """The logits behind the context."""
        file = self.program.logits(context, self.path)
        values = array.array("f", file[file.index(b"\n") + 1:])
        return values[-len(values) // len(context):]


def check_score(score, pairs, continuation, request):
    """A continuation's score against what the oracle says."""
    where = f"{request}: {score}"
    expect(abs(score["logprob"] - sum(logprob for logprob, _ in pairs)) < 1e-5 * len(pairs), where)
    expect(score["tokens"] == len(continuation), where)
    expect(score["greedy"] == ([best for _, best in pairs] == continuation), where)
    expect(("logprobs" in score) == ("logprobs" in request), where)
    for entry, token, (logprob, best) in zip(score.get("logprobs", []), continuation, pairs):
        expect(entry["token"] == token and abs(entry["logprob"] - logprob) < 1e-5, where)
        top = entry.get("top", [])
        expect(len(top) == request["logprobs"] and (not top or top[0]["token"] == best), where)


def check_scores(oracle, requests, results):
    for request, result in zip(requests, results):
        expect(result["id"] == request["id"] and "error" not in result, f"{request}: {result}")
        if "choices" in request:
            for token, choice in zip(request["choices"], result["scores"]):
                ((logprob, _),) = oracle.logprobs(request["tokens"], [token])
                expect(choice["token"] == token and abs(choice["logprob"] - logprob) < 1e-5, f"{request}: {choice}")
            weights = [math.exp(choice["logprob"]) for choice in result["scores"]]
            for weight, choice in zip(weights, result["scores"]):
                expect(abs(choice["probability"] - weight / sum(weights)) < 1e-9, f"{request}: {choice}")
            continue
        for continuation, score in zip(request["continuations"], result["scores"], strict=True):
            check_score(score, oracle.logprobs(request["tokens"], continuation), continuation, request)


def as_continuations(request):
    """The request's choices as texts of one token each."""
    return {"id": request["id"] + ".long", "tokens": request["tokens"],
            "continuations": [[token] for token in request["choices"]]}


def only_choices(request):
    return request | {"id": request["id"] + ".only", "only": True}


def check_choices(scoring, oracle, requests, results):
    """Beside other requests and without them: as continuations, and among each other only."""
    compared = [(request, result) for request, result in zip(requests, results) if "choices" in request]
    long, _ = scoring.run([as_continuations(request) for request, _ in compared])
    for (request, result), scores in zip(compared, long, strict=True):
        for choice, score in zip(result["scores"], scores["scores"], strict=True):
            expect(choice["logprob"] == score["logprob"] and choice["greedy"] == score["greedy"],
                   f"{request}: {choice}, as a continuation {score}")
        expect(result["prompt_tokens"] == len(request["tokens"]), f"{result}")
    few = [only_choices(request) for request, _ in compared]
    alone, summary = scoring.run(few)
    mixed, _ = scoring.run(requests + few)
    expect(without_cache(mixed[len(requests):]) == without_cache(alone), "choices only, beside others: other results")
    expect(without_cache(mixed[:len(requests)]) == results, "others beside choices only: other results")
    for request, result in zip(few, alone, strict=True):
        row = oracle.row(request["tokens"])
        logits = [row[token] for token in request["choices"]]
        weights = [math.exp(logit - max(logits)) for logit in logits]
        best = min(token for token, logit in zip(request["choices"], logits) if logit == max(logits))
        for token, logit, weight, choice in zip(request["choices"], logits, weights, result["scores"], strict=True):
            expect((choice["token"], choice["logit"]) == (token, logit), f"{request}: {choice}, expected {logit}")
            expect(abs(choice["probability"] - weight / sum(weights)) < 1e-9, f"{request}: {choice}")
            expect(choice["greedy"] == (token == best) and "logprob" not in choice, f"{request}: {choice}")
    expect(summary["rows"] == summary["prompt_tokens"], f"{summary}")
    print(f"{len(few)} lists of choices have the log-probabilities of continuations, and the logits of one sequence")


def traced_tasks(path, phase):
    with open(path) as file:
        return sum(event.get("name") == phase and event.get("ph") == "X" for event in json.load(file)["traceEvents"])


def check_left_out(scoring, vocabulary, path, context, columns):
    """Tasks of so many columns each whose columns nobody wants have no work: a trace has those that have."""
    phase, chosen = "lm_head", [0, 5, 40]
    tiles = -(-vocabulary // columns)
    wanted = len({token // columns for token in chosen})
    counts = []
    for only in (True, False):
        results, summary = scoring.run([{"id": "w", "tokens": context, "choices": chosen, "only": only}], "--trace",
                                       path("trace.json"), "--workers", 2)
        counts.append(traced_tasks(path("trace.json"), phase))
        expect(summary["steps"] == 1 and "error" not in results[0], f"{summary}")
        panels = -(-vocabulary // 16)
        left_out = panels - len({token // 16 for token in chosen}) if only else 0
        expect((summary["logit_panels"], summary["left_out_panels"]) == (panels, left_out), f"{summary}")
    expect(counts == [wanted, tiles], f"tasks of {phase}: {counts}, expected {[wanted, tiles]}")
    print(f"{wanted} of {tiles} tasks compute logits, where only {len(chosen)} tokens are compared")


def test_products(case, scoring, path):
    """On tensor cores logits have bits of their own: those of choices are held against one another."""
    requests = [{"id": str(rows), "tokens": case["tokens"][:rows], "choices": [0, 5, 40, 17]} for rows in (20, 9, 3)]
    full, _ = scoring.run(requests)
    only, summary = scoring.run([only_choices(request) for request in requests])
    long, _ = scoring.run([as_continuations(request) for request in requests])
    for all_of_it, few, scores in zip(full, only, long, strict=True):
        for choice, alone, score in zip(all_of_it["scores"], few["scores"], scores["scores"], strict=True):
            expect(choice["logprob"] == score["logprob"], f"{choice}, as a continuation {score}")
            expect(abs(choice["probability"] - alone["probability"]) < 1e-6, f"{choice}, among choices {alone}")
    expect(summary["left_out_panels"] > 0, f"{summary}")
    vocabulary = json.loads(run([scoring.program.path, "info", "--json"]).stdout)["model"]["vocabulary"]
    for rows, columns in (20, 128), (9, 32):
        check_left_out(scoring, vocabulary, path, case["tokens"][:rows], columns)


def check_greedy(one, scoring, context):
    """What `generate` comes to is greedy, and with another last token it is not."""
    best = one.generate(context, 6)["tokens"]
    other = best[:-1] + [best[-1] ^ 1]
    ((result,), _) = scoring.run([{"id": "g", "tokens": context, "continuations": [best, other]}])
    expect([score["greedy"] for score in result["scores"]] == [True, False], f"{result}")


def check_sharing(scoring, case):
    """Of two continuations the second computes only what differs: no full page of the context."""
    context = (case["tokens"] * 3)[:130]
    continuations = [case["tokens"][:7], case["tokens"][7:10]]
    _, summary = scoring.run([{"id": "s", "tokens": context, "continuations": continuations}])
    # The last token of each is scored and not computed on; 128 positions are two pages.
    expect(summary["cached_tokens"] == 128, f"{summary}")
    expect(summary["prompt_tokens"] == 130 + (7 - 1) + 2 + (3 - 1), f"{summary}")
    expect(summary["rows"] == summary["prompt_tokens"] and summary["scored_tokens"] == 10, f"{summary}")


def check_prompts(scoring, requests, results):
    """`batch` has the same of prompts, whether or not it continues them."""
    lines, expected = [], []
    for request, result in zip(requests, results):
        if request.get("logprobs") is None:
            continue
        for number, score in enumerate(result["scores"]):
            lines.append({"id": f"{request['id']}.{number}", "tokens": request["tokens"] + request["continuations"][number],
                          "prompt_logprobs": request["logprobs"], "score_from": len(request["tokens"]),
                          "max_new_tokens": 3 * (number % 2), "temperature": 1, "repetition_penalty": 1.2})
            expected.append(score["logprobs"])
    found, _ = scoring.run(lines, command="batch")
    for result, logprobs, line in zip(found, expected, lines, strict=True):
        expect(result["prompt_logprobs"] == logprobs, f"{line}: {result}, expected {logprobs}")
        expect(len(result["tokens"]) == line["max_new_tokens"], f"{line}: {result}")


def check_torn(scoring, requests, results, path):
    """A run goes on behind what another one has written, the last line of which is torn."""
    with open(path("results.jsonl")) as file:
        whole = file.read()
    lines = whole.splitlines(keepends=True)
    with open(path("results.jsonl"), "w") as file:
        file.write("".join(lines[1:5]) + lines[6][:20])
    again, summary = scoring.run(requests, fresh=False)
    expect(without_cache(again) == results, "a run that goes on: other results")
    expect(summary["finished_before"] == 4, f"{summary}")


def check_texts(scoring):
    """Texts have the tokens of prompt and continuation together."""
    prompt = "the hat is on the"
    pairs = [(prompt, " gh"), (prompt + " ", "gh that"), (prompt, " =\n")]
    texts = [{"id": str(number), "prompt": context, "continuations": [continuation], "logprobs": 1}
             for number, (context, continuation) in enumerate(pairs)]
    choices = {"id": "c", "prompt": prompt, "choices": [" the", " on"]}
    results, _ = scoring.run(texts + [choices])
    whole, _ = scoring.run([{"id": str(number), "prompt": context + continuation, "prompt_logprobs": 1, "max_new_tokens": 0}
                            for number, (context, continuation) in enumerate(pairs)], command="batch")
    for (context, continuation), result, all_of_it in zip(pairs, results, whole):
        (score,) = result["scores"]
        expect("".join(entry["text"] for entry in score["logprobs"]).strip() == continuation.strip(), f"{result}")
        expect(score["logprobs"] == all_of_it["prompt_logprobs"][-score["tokens"]:], f"{result}: {all_of_it}")
    expect([choice["text"] for choice in results[-1]["scores"]] == choices["choices"], f"{results[-1]}")
    expect(abs(sum(choice["probability"] for choice in results[-1]["scores"]) - 1) < 1e-9, f"{results[-1]}")
    print("texts have the tokens of both together")


def check_refusals(batonc, folder, one, scoring, path):
    for command, words in (
            ([one.path, "score", "--weights", folder, "--requests", path("requests.jsonl"), "--out", path("none")],
             "score: this program holds one sequence; compile with --max-batch"),
            ([scoring.program.path, "score", "--weights", folder, "--requests", path("requests.jsonl")], "--out is required"),
            ([batonc, folder, "--max-outputs=3", "-o", path("none")], "--max-outputs is for --max-batch"),
            ([batonc, folder, "--max-batch=2", "--max-outputs=0", "-o", path("none")],
             "--max-outputs=0 is out of range, expected 1 to the most rows of a step"),
            ([batonc, folder, "--max-batch=2", "--max-rows=8", "--max-outputs=9", "-o", path("none")],
             "--max-outputs=9 is more than the 8 rows of a step; give a larger --max-rows")):
        result = run(command, check=False)
        expect(result.returncode == 1 and words in result.stderr, f"{command}: {result}")
    lines = [{"id": "a", "tokens": [1, 2], "continuations": [[]]}, "[1]",
             {"id": "b", "tokens": [1, 2], "continuations": [[1, 2]], "logprob": 1}]
    results, summary = scoring.run(lines)
    expect(summary["errors"] == 3, f"{summary}")
    for result, words in zip(results, ("continuations[0]: there is no token", "is no JSON object", "did you mean logprobs?")):
        expect(words in result["error"]["message"], f"{result}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    case = programs.golden(arguments.folder)
    generator = random.Random(7)
    mesh = [f"--mesh={arguments.mesh}"] if arguments.mesh else []
    capacities = [f"--max-batch={SEQUENCES}", f"--max-rows={ROWS}", f"--max-outputs={OUTPUTS}", *mesh]
    device = ["--batch-invariant", "--target=cuda:emulated"] if arguments.device else []
    if arguments.products:
        program = Program(arguments.batonc, arguments.folder, path("products"), *capacities, "--target=cuda:emulated")
        return test_products(case, Scoring(program, path), path)
    one = Program(arguments.batonc, arguments.folder, path("one"), *mesh)
    scoring = Scoring(Program(arguments.batonc, arguments.folder, path("many"), *capacities, *device), path)
    info = json.loads(run([scoring.program.path, "info", "--json"]).stdout)
    expect(info["max_outputs"] == OUTPUTS, f"{info['max_outputs']}")

    requests = make_requests(case, 7 if arguments.device else 24, generator)
    found, summary = scoring.run(requests)
    oracle = Oracle(one, path("one.npy"))
    check_scores(oracle, requests, found)
    results = without_cache(found)
    if not arguments.device:
        check_torn(scoring, requests, results, path)
    check_choices(scoring, oracle, requests, results)
    if not arguments.mesh:
        # As the targets' files have tiles; on a device steps of at most 16 rows have others.
        for rows, columns in [(20, 128), (9, 16)] if arguments.device else [(9, 64)]:
            check_left_out(scoring, info["model"]["vocabulary"], path, case["tokens"][:rows], columns)
    print(f"{len(requests)} requests in {summary['steps']} steps: the log-probabilities of one sequence each")
    if arguments.device:
        expect(without_cache(scoring.run(requests, "--workers", 3, "--prefill-chunk", 5)[0]) == results,
               "three workers: other results")
        host = Scoring(Program(arguments.batonc, arguments.folder, path("host"), *capacities), path)
        for result, expected in zip(without_cache(host.run(requests)[0]), results):
            expect(result == expected, f"on the CPU: {result}, expected {expected}")
        return

    ranks = math.prod(int(axis.split("=")[1]) for axis in (arguments.mesh or "pp=1").split(","))
    few = ["--kv-memory", str(3 * ranks * info["batch"]["page_bytes"])]
    for flags in (few, ["--workers", 1, "--no-prefix-cache"], ["--workers", 3, "--prefill-chunk", 5, *few]):
        again, summary = scoring.run(requests, *flags)
        expect(without_cache(again) == results, f"{flags}: other results")
        expect(flags != few or summary["pages"] == 3, f"{summary}")
    single = Scoring(Program(arguments.batonc, arguments.folder, path("single"), f"--max-batch={SEQUENCES}",
                             f"--max-rows={ROWS}", "--max-outputs=1", *mesh), path)
    expect(without_cache(single.run(requests)[0]) == results, "one row with logits in a step: other results")
    print("so they are for other workers, chunks, pages, rows with logits, and without the cache")
    check_greedy(one, scoring, requests[0]["tokens"])
    check_prompts(scoring, requests, results)
    if len(case["tokens"]) >= 120:
        check_sharing(scoring, case)
    if os.path.exists(os.path.join(arguments.folder, "tokenizer.json")):
        check_texts(scoring)
    if not arguments.mesh:
        check_refusals(arguments.batonc, arguments.folder, one, scoring, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--products", action="store_true", help="CUDA, emulated, on tensor cores")
    parser.add_argument("--mesh", help="as of batonc")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

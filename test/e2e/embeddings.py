"""Embeddings, scores and rankings of a program that was compiled with --embeddings.

The hidden states of a golden case's tokens, as /embedding gives them, times the checkpoint's output
matrix are the case's logits, which Transformers made. Of them all else is made here again:
means, last ones, lengths, dimensions, base64, cosines, rankings. They have the same bits in other
chunks, beside other requests, behind pages that were found, on other workers, in a file of requests, and
with --mesh on two ranks; with --device they are near those of the CPU. A template judges by two
tokens, as `generate` draws them. What is wrong is named.
With --sanitize neither sanitizer finds anything.
"""

import argparse
import base64
import json
import math
import os
import struct

import programs
from programs import MPI, Program, expect, golden, rows_of, run
from serving import Server, in_parallel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/random-checkpoint"]
ROWS, SEQUENCES = 24, 4
NAMES = ("lm_head.weight", "model.embed_tokens.weight", "transformer.wte.weight", "wte.weight")


def output_matrix(folder):
    """Rows of what makes logits, from the checkpoint's file."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        tensors = json.loads(file.read(size))
        name = next(name for name in NAMES if name in tensors)
        begin, end = tensors[name]["data_offsets"]
        file.seek(8 + size + begin)
        data = file.read(end - begin)
    kind, (rows, width) = tensors[name]["dtype"], tensors[name]["shape"]
    if kind == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    values = struct.unpack(f"<{rows * width}{'e' if kind == 'F16' else 'f'}", data)
    return [values[i:i + width] for i in range(0, len(values), width)]


def logits_of(hidden, matrix, cap):
    for state in hidden:
        row = [math.sumprod(state, weights) if hasattr(math, "sumprod") else
               math.fsum(x * y for x, y in zip(state, weights)) for weights in matrix]
        yield [cap * math.tanh(value / cap) for value in row] if cap else row


def check_hidden_states(hidden, folder, tokens):
    with open(os.path.join(folder, "config.json")) as file:
        cap = json.load(file).get("final_logit_softcapping")
    with open(os.path.join(folder, "logits.npy"), "rb") as file:
        expected = rows_of(file.read())
    expect(len(hidden) == len(tokens) == len(expected), f"{len(hidden)} hidden states of {len(tokens)} tokens")
    largest = max(abs(value) for row in expected for value in row)
    worst = max(abs(one - other)
                for made, row in zip(logits_of(hidden, output_matrix(folder), cap), expected, strict=True)
                for one, other in zip(made, row, strict=True)) / largest
    expect(worst < 2e-4, f"hidden states make logits that are off by {worst:.1e} of the largest")
    print(f"hidden states make Transformers' logits, off by {worst:.1e} of the largest")


def of_length_one(vector):
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [x / length for x in vector]


def near(one, other, bound=1e-6):
    return len(one) == len(other) and all(abs(x - y) <= bound for x, y in zip(one, other))


def cosine(one, other):
    return math.fsum(x * y for x, y in zip(of_length_one(one), of_length_one(other)))


def embed(server, tokens, **more):
    """The one vector of one text."""
    return server.get("/v1/embeddings", {"input": tokens, **more})["data"][0]["embedding"]


def states(server, tokens):
    return server.get("/embedding", {"input": tokens, "pooling": "none"})[0]["embedding"]


def check_forms(server, tokens, hidden):
    """What is made of hidden states."""
    mean = [math.fsum(column) / len(hidden) for column in zip(*hidden)]
    found = server.get("/v1/embeddings", {"input": [tokens, tokens[:3]], "pooling": "mean"})
    expect([each["index"] for each in found["data"]] == [0, 1] and found["object"] == "list", f"{found}")
    count = len(tokens) + 3
    expect(found["usage"] == {"prompt_tokens": count, "total_tokens": count}, f"{found['usage']}")
    expect(near(found["data"][0]["embedding"], of_length_one(mean)), "means are others")
    expect(near(embed(server, tokens), of_length_one(hidden[-1])), "last ones are others")
    expect(embed(server, tokens, normalize=False) == hidden[-1], "a vector as it is, is another")
    expect(embed(server, tokens, embd_normalize=-1) == hidden[-1], "a vector as it is, is another")
    largest = max(map(abs, hidden[-1]))
    scaled = [x / largest * 32760 for x in hidden[-1]]
    expect(near(embed(server, tokens, embd_normalize=0), scaled, 0.01), "its largest element is another")
    sums = [x / math.fsum(map(abs, hidden[-1])) for x in hidden[-1]]
    expect(near(embed(server, tokens, embd_normalize=1), sums), "its sum is another")
    expect(near(embed(server, tokens, dimensions=5), of_length_one(hidden[-1][:5])), "five dimensions are others")
    text = embed(server, tokens, encoding_format="base64")
    decoded = list(struct.unpack(f"<{len(hidden[0])}f", base64.b64decode(text, validate=True)))
    expect(near(decoded, embed(server, tokens), 0), "base64 says something else")
    pooled = server.get("/embeddings", {"content": tokens})
    expect(pooled == [{"index": 0, "embedding": [embed(server, tokens)]}], "llama.cpp's form is another")


def check_conditions(program, weights, tokens, hidden, mean, path):
    """The same bits, whatever else is so."""
    prompts = [tokens, tokens[:9], tokens[: len(tokens) // 2], tokens[:1]]
    ask = {"input": tokens, "pooling": "mean"}
    for flags in (["--prefill-chunk", 5], ["--workers", 1], ["--no-prefix-cache", "--prefill-chunk", 7]):
        with Server(program, weights, *flags) as server:
            expect(states(server, tokens) == hidden, f"{flags}: other hidden states")
            expect(embed(server, tokens, pooling="mean") == mean, f"{flags}: another mean")
    with Server(program, weights) as server:
        alone = [embed(server, prompt) for prompt in prompts]
        again = server.get("/v1/embeddings", {"input": [prompts[i % 4] for i in range(24)]})
        expect([each["embedding"] for each in again["data"]] == [alone[i % 4] for i in range(24)],
               "beside others and behind pages that were found, vectors are others")

        def mixed(number):
            if number % 3 == 2:
                return server.get("/v1/completions", {"prompt": tokens[:7], "max_tokens": 9, "temperature": 0})
            return server.get("/v1/embeddings", ask)["data"][0]["embedding"]

        results = in_parallel([lambda number=number: mixed(number) for number in range(12)])
        expect(all(result == mean for number, result in enumerate(results) if number % 3 != 2),
               "beside texts that are continued means are others")
    lines = [{"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {"input": tokens, "pooling": "mean"}},
             {"custom_id": "b", "method": "POST", "url": "/v1/embeddings", "body": {"input": [tokens, tokens]}},
             {"custom_id": "c", "method": "POST", "url": "/v1/embeddings", "body": {"input": tokens, "dimension": 3}}]
    with open(path("lines.jsonl"), "w") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    run([program, "batch", "--weights", weights, "--requests", path("lines.jsonl"), "--out", path("out.jsonl"),
         "--quiet", "--no-cache"])
    with open(path("out.jsonl")) as file:
        found = [json.loads(line) for line in file]
    expect(found[0]["response"]["body"]["data"][0]["embedding"] == mean, "a file's mean is another")
    for each, words in ((found[1], "input: expected one text"), (found[2], 'there is no key "dimension"')):
        expect(words in each["error"]["message"], f"{each}")


def check_rankings(server):
    """Cosines of texts' vectors, in the forms of several APIs. Bytes are tokens here."""
    texts = ["to be or not", "a question", "to be or not", "whether it is nobler"]
    vectors = [embed(server, text) for text in texts]
    cosines = [cosine(vectors[0], vector) for vector in vectors[1:]]
    found = server.get("/v1/score", {"text_1": texts[0], "text_2": texts[1:]})
    expect(near([each["score"] for each in found["data"]], cosines), f"{found}: expected {cosines}")
    expect(cosines[1] > 1 - 1e-6 and found["usage"]["prompt_tokens"] == sum(map(len, set(texts))), f"{found}")
    pairs = server.get("/score", {"queries": texts[:2], "documents": texts[2:]})
    expect(near([each["score"] for each in pairs["data"]],
                [cosines[1], cosine(vectors[1], vectors[3])]), f"{pairs}")
    order = sorted(range(3), key=lambda i: (-cosines[i], i))
    query = {"query": texts[0], "documents": [texts[1], {"text": texts[2]}, texts[3]]}
    for path in ("/rerank", "/v1/rerank", "/v2/rerank", "/reranking"):
        ranked = server.get(path, {**query, "return_documents": True})["results"]
        expect([each["index"] for each in ranked] == order, f"{ranked}: expected {order}")
        expect(near([each["relevance_score"] for each in ranked], [cosines[i] for i in order]), f"{ranked}")
        expect([each["document"]["text"] for each in ranked] == [texts[1 + i] for i in order], f"{ranked}")
    best = server.get("/rerank", {"query": texts[0], "texts": texts[1:], "top_n": 2, "return_text": True})
    expect([(each["index"], each["text"]) for each in best] == [(i, texts[1 + i]) for i in order[:2]], f"{best}")
    mean = server.get("/score", {"text_1": texts[0], "text_2": texts[1], "pooling": "mean"})["data"][0]["score"]
    expect(not near([mean], cosines[:1], 1e-4), "pooling makes no difference")


def check_judge(program, weights, path):
    """Behind a template's prompt two tokens are compared."""
    with open(path("judge.jinja"), "w") as file:
        file.write("{{ instruction or 'Relevant' }}? {{ query }} / {{ document }} ")
    command = [program, "serve", "--weights", weights, "--port", 0, "--score-template", path("judge.jinja")]
    result = run(command, check=False)
    expect(result.returncode == 1 and '--score-tokens: "yes" is 3 tokens' in result.stderr, f"{result}")
    with Server(program, weights, "--score-template", path("judge.jinja"), "--score-tokens", "y,n") as server:
        def judged(document, instruction="Relevant"):
            chosen = {ord(letter): 100 for letter in "yn"}
            found = server.get("/v1/completions", {
                "prompt": f"{instruction}? sea / {document} ", "max_tokens": 1, "temperature": 0, "logprobs": 5,
                "logit_bias": {str(token): bias for token, bias in chosen.items()}})
            top = found["choices"][0]["logprobs"]["top_logprobs"][0]
            return 1 / (1 + math.exp(top["n"] - top["y"]))

        documents = ["ship", "tree", "a wave that breaks"]
        expected = [judged(document) for document in documents]
        found = server.get("/score", {"text_1": "sea", "text_2": documents})
        expect(near([each["score"] for each in found["data"]], expected, 1e-4), f"{found}: expected {expected}")
        ranked = server.get("/rerank", {"query": "sea", "documents": documents, "instruction": "Wet"})["results"]
        expected = [judged(document, "Wet") for document in documents]
        expect([each["index"] for each in ranked] == sorted(range(3), key=lambda i: -expected[i]), f"{ranked}")


def check_refusals(server, positions):
    for path, body, status, words in (
            ("/v1/embeddings", {}, 400, "input: expected a text"),
            ("/v1/embeddings", {"input": []}, 400, "input: the list is empty"),
            ("/v1/embeddings", {"input": [[], [1]]}, 400, "input: there is no token"),
            ("/v1/embeddings", {"input": [[1], [1 << 30]]}, 400, "input[1]: token 1073741824 is outside"),
            ("/v1/embeddings", {"input": [1] * (positions + 1)}, 400, f"exceed the {positions} positions"),
            ("/v1/embeddings", {"input": [1], "dimensions": 0}, 400, "dimensions: expected 1 to"),
            ("/v1/embeddings", {"input": [1], "dimensions": 1 << 20}, 400, "dimensions: expected 1 to"),
            ("/v1/embeddings", {"input": [1], "encoding_format": "hex"}, 400, "encoding_format: expected"),
            ("/v1/embeddings", {"input": [1], "pooling": "none"}, 400, "vectors of each token"),
            ("/v1/embeddings", {"input": [1], "pooling": "cls"}, 400, 'not "cls"'),
            ("/v1/embeddings", {"input": [1], "dimension": 3}, 400, 'there is no key "dimension"'),
            ("/v1/embeddings", {"input": [1], "embd_normalize": 1.5}, 400, "embd_normalize: expected"),
            ("/v1/embeddings", {"input": {"content": [{"type": "image_url"}]}}, 400, "reads text only"),
            ("/score", {"text_1": ["a", "b"], "text_2": ["a", "b", "c"]}, 400, "text_2: expected as many texts"),
            ("/score", {"text_1": "a"}, 400, "text_2: expected a text"),
            ("/score", {"text_1": "a", "text_2": "b", "instruction": "c"}, 400, "instruction: is for models with"),
            ("/score", {"text_1": "a", "text_2": "b", "pooling": "none"}, 400, "pooling: expected"),
            ("/rerank", {"query": "a"}, 400, "documents: expected a list of texts"),
            ("/rerank", {"query": "a", "documents": []}, 400, "documents: expected"),
            ("/rerank", {"query": "a", "documents": [1]}, 400, "documents[0]: expected a text"),
            ("/rerank", {"documents": ["a"]}, 400, "query: expected a text")):
        found, _, answer = server.ask(path, body)
        expect(found == status and words in answer["error"]["message"], f"{path} {str(body)[:100]}: {found} {answer}")
    # The longest text there may be.
    embed(server, [1] * positions, pooling="mean")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    case = golden(arguments.folder)
    tokens = case["tokens"]
    flags = [f"--max-batch={SEQUENCES}", f"--max-rows={ROWS}", "--embeddings"]
    more = [f"--mesh={arguments.mesh}"] if arguments.mesh else []
    if arguments.sanitize:
        more.append(f"--sanitize={arguments.sanitize}")
    if arguments.device:
        more += ["--target=cuda:emulated", "--batch-invariant"]
    program = Program(arguments.batonc, arguments.folder, path("many"), *flags, *more)
    with Server(program.path, arguments.folder) as server:
        hidden = states(server, tokens)
        check_hidden_states(hidden, arguments.folder, tokens)
        mean = embed(server, tokens, pooling="mean")
        check_forms(server, tokens, hidden)
    if arguments.mesh:
        with Server(program.path, arguments.folder, launcher=[*MPI, "-n", "2"]) as server:
            expect(states(server, tokens) == hidden, "ranks that are processes: other hidden states")
    check_conditions(program.path, arguments.folder, tokens, hidden, mean, path)
    print("vectors are made of them, and are the same under all conditions")


def test_texts(arguments, scratch):
    """Of a model whose tokens are bytes."""
    path = lambda name: os.path.join(scratch, name)
    weights = path("weights")
    run([os.path.join(ROOT, "tools/random-checkpoint"), weights, "--hidden", 64, "--layers", 2])
    positions = 96
    program = Program(arguments.batonc, weights, path("many"), f"--max-batch={SEQUENCES}", "--max-rows=32",
                      f"--max-seq={positions}", "--embeddings")
    with Server(program.path, weights) as server:
        check_rankings(server)
        check_refusals(server, positions)
    result = run([program.path, "serve", "--weights", weights, "--pooling", "cls"], check=False)
    expect(result.returncode == 1 and '--pooling: expected "mean", "last" or "none", not "cls"' in result.stderr,
           f"{result}")
    vector = {}
    for pooling, said in (("mean", {"pooling_mode_mean_tokens": True}), ("last", {"pooling_mode_lasttoken": True})):
        os.makedirs(os.path.join(weights, "1_Pooling"), exist_ok=True)
        with open(os.path.join(weights, "1_Pooling", "config.json"), "w") as file:
            json.dump(said, file)
        with Server(program.path, weights) as server:
            vector[pooling] = embed(server, "to be")
            expect(vector[pooling] == embed(server, "to be", pooling=pooling), f"{said} means something else")
        with Server(program.path, weights, "--pooling", "none") as server:
            expect(len(server.get("/embedding", {"input": "to be"})[0]["embedding"]) == 5, "--pooling=none is ignored")
    check_judge(program.path, weights, path)
    plain = Program(arguments.batonc, weights, path("plain"), f"--max-batch={SEQUENCES}", "--max-rows=32")
    with Server(plain.path, weights) as server:
        status, _, answer = server.ask("/v1/embeddings", {"input": "a"})
        expect(status == 501 and "compile with --embeddings" in answer["error"]["message"], f"{answer}")
    result = run([arguments.batonc, weights, "--embeddings", "-o", path("none")], check=False)
    expect(result.returncode == 1 and "--embeddings is for --max-batch" in result.stderr, f"{result}")
    print("texts are compared, ranked and judged")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--mesh", help="as of batonc")
    parser.add_argument("--sanitize", choices=["address", "thread"])
    parser.add_argument("folder", nargs="?", help="a golden case; none: a model of texts")
    arguments = parser.parse_args()
    programs.main(lambda scratch: (test if arguments.folder else test_texts)(arguments, scratch))

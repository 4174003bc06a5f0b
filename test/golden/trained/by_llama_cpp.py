"""What llama.cpp computes with trained models: tokens of texts, and logits of greedy continuations.

    python3 test/golden/trained/by_llama_cpp.py smollm2 FILE.gguf         # rewrites smollm2.json

FILE is what tools/fetch-model fetches. It is evaluated as it is, and with its numbers in F32, as
package gguf dequantises them, for llama.cpp rounds activations to 8 bits where weights are
quantised. Keys and values are F32. Continuations are those of the F32 file. Packages:
llama-cpp-python and gguf.
"""

import argparse
import hashlib
import json
import os
import tempfile

import gguf
import llama_cpp
import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
NEW_TOKENS = 12
# Of the text that all prompts make, for its perplexity.
WINDOW = 256


def write_f32(path, out):
    """Writes the file again, with the numbers of its tensors in F32."""
    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(out, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind, *element = field.types
        writer.add_key_value(name, field.contents(), kind, sub_type=element[-1] if element else None)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        numbers = gguf.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        writer.add_tensor(tensor.name, numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(path):
    f32 = 0
    return llama_cpp.Llama(path, n_ctx=1024, n_batch=1024, n_ubatch=1024, n_threads=2, n_gpu_layers=0, logits_all=True,
                           type_k=f32, type_v=f32, flash_attn=False, verbose=False)


def tokens_of(model, text):
    return model.tokenize(text.encode(), add_bos=True, special=False)


def logits(model, tokens):
    model.reset()
    model.eval(tokens)
    return numpy.array(model.scores[:len(tokens)])


def best_two(row):
    """[token, logit, token, logit]."""
    order = numpy.argsort(-row, kind="stable")[:2]
    return [number for token in order for number in (int(token), round(float(row[token]), 5))]


def perplexity(model, text):
    """As batonc compare defines it."""
    begin, tokens = tokens_of(model, ""), tokens_of(model, text)
    losses = []
    for first in range(0, len(tokens) - WINDOW + 1, WINDOW):
        window = begin + tokens[first + len(begin):first + WINDOW]
        rows = logits(model, window).astype(numpy.float64)[WINDOW // 2:-1]
        rows -= rows.max(axis=1, keepdims=True)
        chosen = rows[numpy.arange(len(rows)), window[WINDOW // 2 + 1:]]
        losses.extend(numpy.log(numpy.exp(rows).sum(axis=1)) - chosen)
    return float(numpy.exp(numpy.mean(losses)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("file")
    arguments = parser.parse_args()
    with open(os.path.join(HERE, "prompts.json"), encoding="utf-8") as file:
        prompts = json.load(file)
    text = "\n".join(prompts)
    with open(arguments.file, "rb") as file:
        found = {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "llama-cpp-python": llama_cpp.__version__,
                 "window": WINDOW, "perplexity": {}, "prompts": []}
    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "f32.gguf")
        write_f32(arguments.file, whole)
        model = load(whole)
        found["perplexity"]["f32"] = perplexity(model, text)
        for prompt in prompts:
            tokens = tokens_of(model, prompt)
            behind = len(tokens)
            for _ in range(NEW_TOKENS):
                tokens.append(int(numpy.argmax(logits(model, tokens)[-1])))
            rows = logits(model, tokens)[behind - 1:-1]
            found["prompts"].append({"tokens": tokens, "behind": behind, "f32": [best_two(row) for row in rows]})
        model.close()
    model = load(arguments.file)
    found["perplexity"]["stored"] = perplexity(model, text)
    for case in found["prompts"]:
        case["stored"] = [best_two(row) for row in logits(model, case["tokens"])[case["behind"] - 1:-1]]
    lines = ",\n".join(json.dumps(case) for case in found.pop("prompts"))
    with open(os.path.join(HERE, f"{arguments.name}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(found)[:-1] + f', "prompts": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

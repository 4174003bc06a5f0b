"""What llama.cpp computes with files that its own quantiser makes of SmolLM2, of each type.

    python3 test/golden/trained/requantised.py smollm2.gguf           # rewrites requantised.json
    python3 test/golden/trained/requantised.py smollm2.gguf --make q4_k_m OUT.gguf
    python3 test/golden/trained/requantised.py OUT.gguf --logits      # prints what requantised.json has of one

smollm2.gguf is what tools/fetch-model fetches. Of each file there are the SHA-256, and for some of
the texts of smollm2.json, along the continuation that is there, the two largest logits at each
step: llama.cpp's with the file as it is, for which it rounds activations to 8 bits. Package:
llama-cpp-python. Its quantiser's searches may find other scales on CPUs with other instructions.
"""

import argparse
import ctypes
import hashlib
import json
import os
import sys
import tempfile

import llama_cpp
import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
# By llama.cpp's numbers of what most of a file is.
KINDS = {"q8_0": 7, "q4_0": 2, "q4_1": 3, "q5_0": 8, "q5_1": 9, "iq4_nl": 25, "q2_k": 10, "q3_k_m": 12, "q4_k_m": 15,
         "q5_k_m": 17, "q6_k": 18}
# Ordinary language, code and another script.
TEXTS = (0, 12, 24, 36)


def make(source, kind, out):
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype, parameters.allow_requantize = KINDS[kind], True
    if llama_cpp.llama_model_quantize(source.encode(), out.encode(), ctypes.byref(parameters)) != 0:
        sys.exit(f"error: llama.cpp makes no {kind} of {source}")


def best_two(row):
    """[token, logit, token, logit]."""
    order = numpy.argsort(-row, kind="stable")[:2]
    return [number for token in order for number in (int(token), round(float(row[token]), 4))]


def logits(path):
    f32 = 0
    model = llama_cpp.Llama(path, n_ctx=512, n_batch=512, n_ubatch=512, n_threads=2, n_gpu_layers=0, logits_all=True,
                            type_k=f32, type_v=f32, flash_attn=False, verbose=False)
    with open(os.path.join(HERE, "smollm2.json"), encoding="utf-8") as file:
        cases = json.load(file)["prompts"]
    found = []
    for number in TEXTS:
        model.reset()
        model.eval(cases[number]["tokens"])
        rows = numpy.array(model.scores[:len(cases[number]["tokens"])])
        found.append([best_two(row) for row in rows[cases[number]["behind"] - 1:-1]])
    model.close()
    return found


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--make", nargs=2, metavar=("KIND", "OUT"))
    parser.add_argument("--logits", action="store_true")
    arguments = parser.parse_args()
    if arguments.make:
        return make(arguments.file, *arguments.make)
    if arguments.logits:
        return print(json.dumps(logits(arguments.file)))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = os.path.join(folder, f"{kind}.gguf")
            make(arguments.file, kind, path)
            lines.append(f'"{kind}": ' + json.dumps({"sha256": sha256(path), "logits": logits(path)}))
            os.remove(path)
    with open(os.path.join(HERE, "requantised.json"), "w", encoding="utf-8") as file:
        file.write(f'{{"llama-cpp-python": "{llama_cpp.__version__}", "texts": {json.dumps(TEXTS)}, "source": '
                   f'"{sha256(arguments.file)}", "kinds": {{\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()

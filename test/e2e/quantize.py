"""batonc quantize: GGUF files that are the model again, in fewer bits.

- as it is stored, a checkpoint's file has the checkpoint's logits, bit for bit (but for
  frequencies that a rule divides: within 2e-6 of the largest logit), for each architecture;
- the tokens of texts are the folder's, and so is what begins and ends them;
- quantised, a program has the bits of the program whose weights are those numbers in F32,
  tokens included, and the errors that are reported are those of the numbers;
- folders of quantised weights are read as an independent reader of their definitions does, and
  have the errors that are reported;
- a search of scales is nearer to the model than the largest weights are;
- two tensors are in memory at most; a run that is killed goes on, and what cannot be written is
  refused in one line.
"""

import argparse
import array
import contextlib
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import gguf_writer
import programs
import quantised_reader
import quantised_writer
from programs import Program, expect, run

# batonc runs it.
INPUTS = ["build/lib/baton/quantize"]
STORED = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
TEXT = "The hat is on the one, it's 123 and 4567!\n\n  \u00fcber na\u00efve \u65e5\u672c"


class Quantizer:
    def __init__(self, arguments, folder):
        self.batonc, self.folder = arguments.batonc, folder

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, model, output, *flags):
        result = run([self.batonc, "quantize", model, "-o", output, "--json", "--quiet", *flags])
        return json.loads(result.stdout)

    def refused(self, arguments, message):
        result = run([self.batonc, "quantize", *arguments], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{arguments}: {result.stderr}")

    def checkpoint(self, source, **changes):
        """A copy, of which fields of the config differ; and the config."""
        target = self.path(os.path.basename(source))
        shutil.copytree(source, target)
        path = os.path.join(target, "config.json")
        with open(path) as file:
            config = json.load(file)
        # What readers of GGUF files take.
        if "query_pre_attn_scalar" in config:
            config["query_pre_attn_scalar"] = config["head_dim"]
        config |= changes
        with open(path, "w") as file:
            json.dump(config, file)
        return target, config


def floats(data):
    return array.array("f", data[data.index(b"\n") + 1:])


def far(a, b):
    """Of the largest, how much two arrays of logits differ at most."""
    first, second = floats(a), floats(b)
    expect(len(first) == len(second), "other numbers of logits")
    return max(abs(x - y) for x, y in zip(first, second)) / max(map(abs, first))


def check_stored(quantizer, folder, config, case):
    """As it is stored it is the same model. Returns the folder's program."""
    kind = STORED[config.get("torch_dtype") or config.get("dtype")]
    file = quantizer.path("stored.gguf")
    summary = quantizer.run(folder, file, "--format", kind)
    for tensor in summary["tensors"]:
        expect(tensor["rms_error"] == 0, f"{tensor} differs")
    program = Program(quantizer.batonc, folder, quantizer.path("folder"))
    again = Program(quantizer.batonc, file, quantizer.path("stored"))
    positions = json.loads(run([again.path, "info", "--json"]).stdout)["max_seq"]
    tokens = case["tokens"][:positions]
    expected = program.logits(tokens, quantizer.path("a.npy"))
    found = again.logits(tokens, quantizer.path("b.npy"))
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if rope.get("rope_type") == "llama3":
        expect(far(expected, found) < 2e-6, f"logits differ by {far(expected, found)}")
    else:
        expect(expected == found, f"logits differ by {far(expected, found)}")
    return program, tokens


def check_tokens(quantizer, program, folder):
    """Texts have the same tokens."""
    def tokens(weights, text):
        result = run([program.path, "generate", "--weights", weights, "--prompt", text, "--max-new-tokens", 1,
                      "--json", "--no-cache", "--quiet"])
        return json.loads(result.stdout)["prompt_tokens"]

    for text in (TEXT, " two  words ", "a<|begin_of_text|>b"):
        expect(tokens(folder, text) == tokens(quantizer.path("stored.gguf"), text), f"tokens of {text!r} differ")


def check_quantised(quantizer, folder, tokens, kind):
    """A program of the formats has the bits of their numbers in F32. Returns its logits."""
    file = quantizer.path(f"{kind}.gguf")
    summary = quantizer.run(folder, file, "--format", kind)
    expect(summary["bits_per_weight"] < 16, f"no bits are saved: {summary['bits_per_weight']}")
    own = Program(quantizer.batonc, file, quantizer.path(kind))
    numbers = Program(quantizer.batonc, file, quantizer.path(f"{kind}-f32"), "--dtype=f32")
    found = own.logits(tokens, quantizer.path("q.npy"))
    expect(found == numbers.logits(tokens, quantizer.path("n.npy")), f"{kind}: other bits than of its numbers in F32")
    expect(own.generate(tokens[:5], 4) | TIMES == numbers.generate(tokens[:5], 4) | TIMES, f"{kind}: other tokens")
    return found, summary


# Of random weights, which no model that has learnt is as sensitive to.
FURTHEST = {"q2": 1.2, "q3": 0.8, "q4": 0.5, "q5": 0.25, "q6": 0.1, "q8": 0.04}
TIMES = dict.fromkeys(["prefill_s", "decode_s", "tokens_per_s"], 0)


def error_of(summary):
    return math.sqrt(sum(tensor["rms_error"] ** 2 for tensor in summary["tensors"]))


def check_formats(quantizer, folder, program, tokens, kinds):
    exact = program.logits(tokens, quantizer.path("exact.npy"))
    for kind in kinds:
        found, search = check_quantised(quantizer, folder, tokens, kind)
        largest = quantizer.run(folder, quantizer.path("largest.gguf"), "--format", kind, "--scale", "max")
        expect(error_of(search) < error_of(largest), f"{kind}: a search is worse than the largest")
        print(f"{kind}: {search['bits_per_weight']:.2f} bits, logits differ by {far(exact, found):.4f}")
        expect(far(exact, found) < FURTHEST[kind[:2]], f"{kind}: logits differ by {far(exact, found)}")


def check_gguf(quantizer, kinds):
    """Of a GGUF file in F32, whose rows are blocks of 256."""
    file = quantizer.path("wide.gguf")
    gguf_writer.llama(file, lambda layer, name: "F32")
    tokens = [1, 17, 5, 80, 33, 2, 90, 41, 7]
    check_formats(quantizer, file, Program(quantizer.batonc, file, quantizer.path("wide")), tokens, kinds)


# How far logits of uniform weights are, at most.
FOLDER_FORMATS = {"int4-g32": 0.5, "int4-g64": 0.5, "int4-g128": 0.5, "int8": 0.03, "fp8": 0.15, "nvfp4": 0.5,
                  "mxfp4": 0.6, "nf4": 0.5}


def check_folders(quantizer):
    """What Transformers reads."""
    model, tokens = quantizer.path("model"), [1, 17, 5, 80, 33, 2, 90, 41, 7]
    quantised_writer.llama(quantizer.path("coded"), model, "packed-int8")
    path = os.path.join(model, "model.safetensors")
    tensors = quantised_reader.tensors_of(path)
    quantised_writer.write(path, {
        name: ("BF16", tensor[1], quantised_writer.floats("BF16", quantised_reader.values(tensor))[0])
        for name, tensor in tensors.items()})
    program = Program(quantizer.batonc, model, quantizer.path("plain"), "--dtype=f32")
    exact = program.logits(tokens, quantizer.path("exact.npy"))
    for kind, bound in FOLDER_FORMATS.items():
        folder, plain = quantizer.path(kind), quantizer.path(f"{kind}-plain")
        search = quantizer.run(model, folder, "--format", kind)
        largest = quantizer.run(model, quantizer.path(f"{kind}-max"), "--format", kind, "--scale", "max")
        expect(error_of(search) < error_of(largest), f"{kind}: a search is worse than the largest")
        quantised_reader.dequantise(folder, plain)
        before, after = (quantised_reader.tensors_of(os.path.join(each, "model.safetensors"))
                         for each in (model, plain))
        for tensor in search["tensors"]:
            weights, numbers = (quantised_reader.values(each[tensor["name"]]) for each in (before, after))
            error = math.sqrt(sum((x - y) ** 2 for x, y in zip(weights, numbers)) / sum(x * x for x in weights))
            expect(abs(error - tensor["rms_error"]) < 1e-6, f"{kind}: {tensor} has the error {error}")
        logits = []
        for weights in (folder, plain):
            program.weights = weights
            logits.append(program.logits(tokens, quantizer.path("q.npy")))
        expect(logits[0] == logits[1], f"{kind}: is read as other numbers than its definition's")
        print(f"{kind}: {search['bits_per_weight']:.2f} bits, logits differ by {far(exact, logits[0]):.4f}")
        expect(0 < far(exact, logits[0]) < bound, f"{kind}: logits differ by {far(exact, logits[0])}")
    output = ["-o", quantizer.path("refused")]
    quantizer.refused([model, "--format", "nf4", "--head", "q8_0", *output], "--head is of GGUF files")
    quantizer.refused([model, "--format", "q4_0", "--head", "nf4", *output], "--head nf4 is no format of GGUF files")
    quantizer.refused([quantizer.path("nf4"), "--format", "fp8", *output], "is quantised: begin with the model before")
    quantizer.refused([model, "--format", "fp8", "-o", quantizer.path("nf4")], "is a folder that is not empty")
    gguf = quantizer.path("model.gguf")
    gguf_writer.llama(gguf, lambda layer, name: "F32")
    quantizer.refused([gguf, "--format", "fp8", *output], "is of GGUF files, and --format fp8 makes a folder")


def large(quantizer, layers):
    """A folder with a tensor of 8 MiB for each layer, and one more."""
    rows, columns = 2048, 1024
    folder = quantizer.path(f"large-{layers}")
    os.mkdir(folder)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "gpt2", "n_embd": columns, "n_head": 4, "n_layer": layers, "n_positions": 16,
                   "vocab_size": rows}, file)
    header, data = {}, 0
    names = ["wte.weight"] + [f"h.{layer}.mlp.c_proj.weight" for layer in range(layers)]
    for name in names:
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [data, data + 4 * rows * columns]}
        data += 4 * rows * columns
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        block = array.array("f", [math.sin(i * i) for i in range(columns)]).tobytes()
        for _ in range(data // len(block)):
            file.write(block)
    return folder


def most_memory(process, name):
    """The bytes that a process has resident at most, from when it has become the program `name`. (What
    wait4 says begins with those of this script.)"""
    most = 0
    while process.poll() is None:
        with contextlib.suppress(OSError):
            with open(f"/proc/{process.pid}/comm") as comm, open(f"/proc/{process.pid}/status") as status:
                found = comm.read().strip() == name and re.search(r"VmHWM:\s+(\d+) kB", status.read())
                most = max(most, int(found[1]) << 10) if found else most
        time.sleep(0.001)
    return most


def check_memory(quantizer):
    """However many tensors there are, two are in memory at most, beside the process itself."""
    tensor, layers = 8 << 20, 23
    process = subprocess.Popen([quantizer.batonc, "quantize", large(quantizer, layers), "--format", "q8_0", "--quiet",
                                "-o", quantizer.path("memory.gguf")])
    most = most_memory(process, "quantize")
    expect(process.returncode == 0 and tensor < most < 2 * tensor + (6 << 20),
           f"{most >> 20} MiB for {layers + 1} tensors of {tensor >> 20} MiB")


def check_resumed(quantizer):
    """A run that is killed leaves its part, and the same command goes on."""
    folder = large(quantizer, 8)
    output = quantizer.path("large.gguf")
    command = [quantizer.batonc, "quantize", folder, "--format", "q4_k", "-o", output, "--json", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = output + ".part.journal"
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if os.path.exists(journal) and sum(1 for _ in open(journal)) >= 3:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.002)
    expect(process.wait() == -signal.SIGKILL, "the run was over before it was killed")
    expect(not os.path.exists(output), "half a file is in its place")
    result = run(command)
    summary = json.loads(result.stdout)
    expect(summary["resumed_tensors"] >= 2 and "were complete before" in result.stderr, f"it began anew: {result.stderr}")
    expect(not os.path.exists(output + ".part") and not os.path.exists(journal), "a part is left")
    whole = quantizer.path("whole.gguf")
    expect(quantizer.run(folder, whole, "--format", "q4_k")["resumed_tensors"] == 0, "nothing was there before")
    with open(output, "rb") as first, open(whole, "rb") as second:
        expect(first.read() == second.read(), "a run in two parts makes another file")


def check_help(quantizer):
    text = run([quantizer.batonc, "quantize", "--help"]).stdout
    for flag in ("--format", "--head", "--scale", "--calibration", "--windows", "--importance", "--threads", "--no-tokenizer", "--list", "--json"):
        expect(f"  {flag} " in text, f"--help has no {flag}: {text}")
    expect("batonc quantize ./llama --format q4_k -o llama-q4.gguf" in text, f"no example: {text}")


def check_experts(quantizer, folder, config):
    """A layer's experts are all there, and alike; a file cannot say how their weights add up."""
    output = ["-o", quantizer.path("refused.gguf")]
    weights = os.path.join(folder, "model.safetensors")
    with open(weights, "rb") as file:
        whole = file.read()

    def refused(old, new, message):
        with open(weights, "wb") as file:
            file.write(whole.replace(old.encode(), new.encode(), 1))
        quantizer.refused([folder, "--format", "q8_0", *output], message)

    name = "model.layers.0.mlp.experts.1.up_proj.weight"
    count = config["num_experts"]
    refused(name, name.replace("1.up", f"{count}.up"),
            f'there is no tensor "{name}", of an expert among {count + 1}')
    # Of the same bytes, and its length in the header.
    rows, columns = config.get("moe_intermediate_size", config["intermediate_size"]), config["hidden_size"]
    header = json.loads(whole[8:8 + struct.unpack("<Q", whole[:8])[0]])
    shape = json.dumps(header[name]["shape"], separators=(",", ":"))
    start = whole.index(name.encode())
    place = next(text for text in (shape, shape.replace(",", ", ")) if text.encode() in whole[start:start + 200])
    end = whole.index(place.encode(), start)
    changed = place.replace(str(rows), "!").replace(str(columns), str(rows)).replace("!", str(columns))
    refused(whole[start:end].decode() + place, whole[start:end].decode() + changed, "that of expert 0")
    with open(weights, "wb") as file:
        file.write(whole)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config | {"norm_topk_prob": not config["norm_topk_prob"]}, file)
    quantizer.refused([folder, "--format", "q8_0", *output], "'norm_topk_prob' is")
    expect(not os.path.exists(output[1]), "a file was written")


def check_refusals(quantizer, folder):
    check_help(quantizer)
    quantizer.refused([folder, "--fromat", "q8_0"], "did you mean --format?; see batonc quantize --help")
    quantizer.refused([folder, "--format", "q8_0", "--threads", "0"], "not in range")
    output = ["-o", quantizer.path("refused.gguf")]
    quantizer.refused([folder, *output], "--format is required")
    quantizer.refused([folder, "--format", "q9", *output], "--format q9 is unknown; there is q2_k, q3_k")
    quantizer.refused([folder, "--format", "q8_0"], "-o is missing")
    quantizer.refused([folder, "--format", "q8_0", "--scale", "best", *output], "there is search, max")
    quantizer.refused([quantizer.path("q8_0.gguf"), "--format", "q4_0", *output], "is stored as Q8_0; quantize reads")
    quantizer.refused([quantizer.path("none"), "--format", "q4_0", *output], "none: no such file or folder")
    quantizer.refused([folder, "--format", "q8_0", "-o", folder], "is a folder")
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    for change, message in (({"model_type": "mamba"}, "'model_type' is \"mamba\", expected one of gemma2, gemma3_text"),
                            ({"hidden_act": "relu"}, "'hidden_act' is relu, which a GGUF file cannot say"),
                            ({"rope_scaling": {"rope_type": "yarn", "factor": 2}}, "rotary scaling of type \"yarn\""),
                            ({"num_hidden_layers": "two"}, "'num_hidden_layers' is no number")):
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config | change, file)
        quantizer.refused([folder, "--format", "q8_0", *output], message)
        expect(not os.path.exists(output[1]), "a file was written")


def test(arguments, scratch):
    quantizer = Quantizer(arguments, scratch)
    if arguments.resume:
        check_memory(quantizer)
        return check_resumed(quantizer)
    if arguments.folders:
        return check_folders(quantizer)
    if arguments.gguf:
        return check_gguf(quantizer, arguments.formats)
    source = os.path.abspath(arguments.folder)
    folder, config = quantizer.checkpoint(source)
    program, tokens = check_stored(quantizer, folder, config, programs.golden(source))
    listed = run([arguments.batonc, "quantize", folder, "--format", "q4_k", "--list"]).stdout.splitlines()
    expect(listed[-1].startswith(f"{len(listed) - 1} tensors, ") and listed[-1].endswith(" bits a weight"), f"{listed}")
    if os.path.exists(os.path.join(folder, "tokenizer.json")):
        check_tokens(quantizer, program, folder)
    check_formats(quantizer, folder, program, tokens, arguments.formats)
    if arguments.refusals:
        check_refusals(quantizer, folder)
    if "norm_topk_prob" in config:
        check_experts(quantizer, folder, config)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--formats", nargs="*", default=[])
    parser.add_argument("--refusals", action="store_true")
    parser.add_argument("--folders", action="store_true")
    parser.add_argument("--gguf", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("folder", nargs="?")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

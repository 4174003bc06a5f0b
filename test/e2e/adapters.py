"""Adapters that train beside a frozen model, against PEFT and PyTorch in F64.

Every pair's gradients lie within 1e-5 of PyTorch's, in norm, or within twice the error
of PyTorch's own F32 if that is larger; losses of 50 steps of AdamW within 1e-4. Losses
and gradients are the same bits for other numbers of workers, for what emulated CUDA
computes, and when a run is resumed. What a run saves has the names and shapes that PEFT
gives the same adapter, and says the same of it.
"""

import argparse
import glob
import json
import os

import programs
from programs import expect, quickly, rows_of, run
from training import Golden, gradient_errors, lines_of, read_bytes, read_tensors

# What of adapter_config.json has to be PEFT's.
KEYS = ("peft_type", "task_type", "r", "lora_alpha", "use_rslora", "use_dora", "bias")


def fails(command, text):
    """One line that has the text, and a status of its own."""
    result = run(command, check=False)
    lines = result.stderr.splitlines()
    expect(result.returncode == 1 and len(lines) == 1 and text in lines[0],
           f"{command}: status {result.returncode}, {result.stderr!r}, expected one line with {text!r}")


def read_json(path):
    with open(path) as file:
        return json.load(file)


def shapes_of(path):
    return {name: (kind, shape) for name, (kind, shape, _) in read_tensors(path).items()}


def shapes_of_folder(folder):
    return {name: shape for file in glob.glob(os.path.join(folder, "*.safetensors"))
            for name, shape in shapes_of(file).items()}


def check_saved(folder, adapter, base):
    """A checkpoint of the adapter that PEFT has saved in `adapter`."""
    found, expected = (read_json(os.path.join(path, "adapter_config.json")) for path in (folder, adapter))
    for key in KEYS:
        expect(found[key] == expected[key], f"{folder}: {key} is {found[key]}, PEFT's {expected[key]}")
    expect(sorted(found["target_modules"]) == sorted(expected["target_modules"]), f"{folder}: {found}")
    expect(found["base_model_name_or_path"] == base, f"{folder}: beside {found['base_model_name_or_path']}")
    weights = "adapter_model.safetensors"
    expect(shapes_of(os.path.join(folder, weights)) == shapes_of(os.path.join(adapter, weights)),
           f"{folder}: other tensors than PEFT's")
    expect(not os.path.exists(os.path.join(folder, "model.safetensors")), f"{folder}: has the model's weights")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    golden = Golden(arguments.adapter, "steps.json")
    golden.write_tokens(path("tokens.u16"))

    def compile_program(name, *flags):
        run([arguments.batonc, arguments.folder, "--mode=train", f"--adapter={arguments.adapter}", "--quiet",
             *quickly(arguments.flags), *flags, "-o", path(name)])
        return path(name)

    program = compile_program("program", "--dtype=f32")
    count = 0

    def train(*flags, program=program, out=None, begins=("--adapter", arguments.adapter)):
        nonlocal count
        count += 1
        out = out or path(f"run-{count}")
        result = run([program, "train", "--weights", arguments.folder, *begins, "--data", path("tokens.u16"),
                      "--out", out, *golden.sequence, "--validation-fraction", 0, "--quiet", *flags])
        return lines_of(result.stdout, "tokens_per_s")

    def step(name, *flags, **program):
        lines = train("--steps", 1, "--gradients", path(name), *flags, **program)
        return lines[0], read_bytes(path(name))

    def compare(line, name, what, bound=None):
        error = abs(line["loss"] / golden["loss"] - 1)
        expect(error < (bound or 1e-5), f"{what}: the loss is {line['loss']}, PyTorch's {golden['loss']}")
        found, worst = read_tensors(path(name)), 0.0
        expect(set(found) == set(golden["tensors"]), f"{what}: gradients of {sorted(found)}")
        for tensor, _, error in gradient_errors(found, golden["tensors"]):
            # The estimate may be a quarter too small.
            allowed = bound or 0.75 * max(1e-5, 2 * golden["tensors"][tensor]["float32_error"])
            expect(error <= allowed, f"{what}: {tensor} is off by {error:.2e}, allowed {allowed:.2e}")
            worst = max(worst, error)
        print(f"{what}: gradients of {len(found)} tensors, worst error {worst:.2e}")

    line, first = step("one", *golden.batch, "--workers", 1)
    compare(line, "one", "one batch")
    check_saved(path("run-1/step-1"), arguments.adapter, os.path.abspath(arguments.folder))
    for workers in (2, 5):
        again, other = step("again", *golden.batch, "--workers", workers)
        expect(again == line and other == first, f"{workers} workers: {again}, one has {line}")
    parts, _ = step("parts", "--batch", 1, "--accumulate", len(golden["sequences"]))
    compare(parts, "parts", "microbatches")

    double = compile_program("double", "--dtype=f64")
    exact, _ = step("exact", *golden.batch, program=double)
    # Transformers computes rotary tables in F32.
    compare(exact, "exact", "F64", bound=5e-6)

    if arguments.cuda:
        emulated = compile_program("emulated", "--dtype=f32", "--target=cuda:emulated", "--batch-invariant")
        again, other = step("emulated-gradients", *golden.batch, program=emulated)
        expect(again == line and other == first, f"emulated CUDA: {again}, the CPU has {line}")

    if "losses" in golden:
        settings = [*golden.batch, "--lr", 1e-3, "--lr-schedule", "constant", "--weight-decay", 0.1, "--clip", 1]
        lines = train("--steps", 50, *settings, out=path("whole"))
        for number, (line, loss) in enumerate(zip(lines, golden["losses"], strict=True), 1):
            expect(abs(line["loss"] / loss - 1) < 1e-4,
                   f"step {number}: the loss is {line['loss']}, PyTorch's {loss}")
        print(f"50 steps of AdamW: {golden['losses'][0]:.3f} to {golden['losses'][-1]:.3f}")
        train("--steps", 20, *settings, out=path("resumed"))
        rest = train("--steps", 50, *settings, "--resume", out=path("resumed"), begins=())
        expect(rest == lines[20:], "a run that is resumed has other losses")
        for file in ("adapter_model.safetensors", "optimizer.safetensors"):
            expect(read_bytes(path(f"whole/step-50/{file}")) == read_bytes(path(f"resumed/step-50/{file}")),
                   f"a run that is resumed has another {file}")

    if "losses" in golden:
        check_blocks(arguments, golden, path, compile_program, train)

    # What eval measures of the adapter, and of the model alone.
    evaluate = [program, "eval", "--weights", arguments.folder, "--data", path("tokens.u16"), *golden.sequence,
                *golden.batch, "--json", "--quiet"]
    found = json.loads(run([*evaluate, "--adapter", arguments.adapter]).stdout)["loss"]
    expect(abs(found / golden["loss"] - 1) < 1e-5, f"eval: the loss is {found}, PyTorch's {golden['loss']}")
    alone = json.loads(run(evaluate).stdout)["loss"]
    expect(abs(alone - found) > 1e-4, f"eval: the model alone has the adapter's loss, {alone}")
    check_merged(arguments, golden, path)

    # Random pairs: B is zero, and rows have the lengths that they had, so that the adapter
    # changes nothing at first.
    first, = train("--steps", 1, *golden.batch, "--lr", 1e-9, begins=("--init-seed", 3), out=path("random"))
    expect(abs(first["loss"] / alone - 1) < 1e-6, f"random pairs: the loss is {first['loss']}, the model's {alone}")
    for name, (_, _, values) in read_tensors(path("random/step-1/adapter_model.safetensors")).items():
        if name.endswith("lora_magnitude_vector"):
            continue
        largest = max(map(abs, values))
        expect(largest <= 2e-9 if ".lora_B." in name else 0.01 < largest <= 1, f"{name} begins with {largest}")

    check_refusals(arguments, program, path)


def check_blocks(arguments, golden, path, compile_program, train):
    """With states in 8 bits, whose blocks end with the pairs' narrow sides: near the losses
    of PyTorch's AdamW, the same bits for any number of workers, after a resume, and of
    emulated CUDA; two bytes an element and scales."""
    settings = [*golden.batch, "--lr", 1e-3, "--lr-schedule", "constant", "--weight-decay", 0.1, "--clip", 1]
    programs = {"host": compile_program("blocks", "--dtype=f32", "--optimizer=adamw_8bit")}
    if arguments.cuda:
        programs["emulated"] = compile_program("blocks-emulated", "--dtype=f32", "--optimizer=adamw_8bit",
                                               "--target=cuda:emulated", "--batch-invariant")
    lines = train("--steps", 50, *settings, program=programs["host"], out=path("blocks-whole"))
    worst = max(abs(line["loss"] / loss - 1) for line, loss in zip(lines, golden["losses"], strict=True))
    expect(0 < worst < 0.01, f"states in blocks: losses are off by {worst:.2e}")
    pairs = read_tensors(path("blocks-whole/step-50/adapter_model.safetensors"))
    elements = sum(len(values) for _, _, values in pairs.values())
    # Vectors are as rows.
    matrices = {name: shape if len(shape) == 2 else [1, *shape] for name, (_, shape, _) in pairs.items()}
    # Queries, keys and values that GPT-2 stores as one are three parameters.
    parts = {name: 3 if ".c_attn.lora_" in name and ".lora_A." not in name else 1 for name in pairs}
    blocks_of = lambda size: -(-size // 32)
    scales = sum(parts[name] * (blocks_of(rows // parts[name]) * blocks_of(columns) if rows > 1 else
                                blocks_of(columns // parts[name])) for name, (rows, columns) in matrices.items())
    states = read_tensors(path("blocks-whole/step-50/optimizer.safetensors"), codes=True)
    sizes = [sum(len(values) for kind, _, values in states.values() if kind == wanted) for wanted in ("I8", "U8", "F32")]
    expect(sizes == [elements, elements, 2 * scales], f"states in blocks: {sizes} of {elements} elements")

    def saved(out, steps):
        return [read_bytes(path(f"{out}/step-{steps}/{file}"))
                for file in ("adapter_model.safetensors", "optimizer.safetensors")]

    def in_two_runs(what, program, middle, last):
        out = f"blocks-run-{what}"
        for steps, *begins in ((middle, "--adapter", arguments.adapter), (last, "--resume")):
            train("--steps", steps, *settings, "--workers", 3, program=program, out=path(out), begins=begins)
        return saved(out, last)

    expect(in_two_runs("host", programs["host"], 20, 50) == saved("blocks-whole", 50), "states in blocks: other bits")
    # The emulation takes up to a second for a step.
    if arguments.cuda:
        train("--steps", 5, *settings, program=programs["host"], out=path("blocks-brief"))
        expect(in_two_runs("emulated", programs["emulated"], 2, 5) == saved("blocks-brief", 5),
               "states in blocks, emulated: other bits")
    print(f"states in blocks: {elements} elements in {scales} blocks, losses of 50 steps within {worst:.1e}")


def check_merged(arguments, golden, path):
    """The merged checkpoint has the logits of the model with its adapter."""
    merge = [arguments.batonc, "merge", arguments.adapter, "--model", arguments.folder, "-o"]
    run([*merge, path("merged"), "--quiet"])
    expect(shapes_of(path("merged/model.safetensors")) == shapes_of_folder(arguments.folder),
           "merged: other tensors than the model's")
    fails([*merge, path("merged")], "there already")
    run([arguments.batonc, path("merged"), "--quiet", *quickly(arguments.flags), "-o", path("decoder")])
    tokens = golden["sequences"][0][:-1]
    run([path("decoder"), "logits", "--weights", path("merged"), "--tokens", ",".join(map(str, tokens)), "--out",
         path("logits.npy")])
    found, expected = (rows_of(read_bytes(name)) for name in
                       (path("logits.npy"), os.path.join(arguments.adapter, "logits.npy")))
    # Of 16-bit weights the sum is rounded, which PEFT's products apart are not.
    rounds = any(kind != "F32" for kind, _ in shapes_of(path("merged/model.safetensors")).values())
    largest = max(max(map(abs, row)) for row in expected)
    worst = max(abs(a - b) for one, other in zip(found, expected, strict=True) for a, b in zip(one, other, strict=True))
    bound = (0.05 if rounds else 2e-5) * largest
    expect(worst <= bound, f"merged: logits differ by {worst:.2e}, allowed {bound:.2e}")
    print(f"merged: logits differ by {worst / largest:.1e} of the largest")


def check_refusals(arguments, program, path):
    """One line each."""
    train = [program, "train", "--data", path("tokens.u16"), "--out", path("refused"), "--steps", 1]
    fails([*train], "give --weights with the model")
    fails([*train, "--weights", arguments.folder, "--adapter", arguments.folder], "adapter_config.json")
    fails([*train, "--weights", arguments.folder, "--adapter", arguments.adapter, "--init-seed", 1],
          "give one of the two")
    other = path("other")
    os.mkdir(other)
    config = read_json(os.path.join(arguments.adapter, "adapter_config.json"))
    for key, value, text in (("r", config["r"] + 1, "r is"), ("lora_alpha", 99, "the factor"),
                             ("target_modules", ["k_proj"], "target_modules is"), ("peft_type", "IA3", "LORA"),
                             ("use_dora", not config["use_dora"], "use_dora is"), ("alpha_pattern", {"q_proj": 3}, "alpha_pattern"),
                             ("rank_pattern", {"q_proj": 2}, "rank_pattern")):
        with open(os.path.join(other, "adapter_config.json"), "w") as file:
            json.dump(config | {key: value}, file)
        fails([*train, "--weights", arguments.folder, "--adapter", other], text)
    compile_ = [arguments.batonc, arguments.folder, "--mode=train", "-o", path("refused")]
    for flag, text in (("lora:r=0", "out of range"), ("lora:r=many", "no whole number"), ("lora:alpha=-1", "above 0"),
                       ("lora:targets=", "names no targets"), ("lora:targets=nothing_proj", "there is "),
                       ("lora:rank=4", "is unknown"), ("ia3", "expected lora")):
        fails([*compile_, f"--adapter={flag}"], text)
    fails([arguments.batonc, arguments.folder, "--adapter=lora", "-o", path("refused")], "--mode=train")
    # A folder of an adapter is no model's.
    fails([program, "train", "--weights", arguments.adapter, "--data", path("tokens.u16"), "--out", path("refused"),
           "--steps", 1], "adapter")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("--cuda", action="store_true", help="on emulated CUDA, too")
    parser.add_argument("folder", help="of the model")
    parser.add_argument("adapter", help="that PEFT has saved, with steps.json")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

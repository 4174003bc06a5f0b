"""Ranks that have some of a mixture's experts each, or a part of each.

What decode_ranks.py does not look at: experts that tp cuts beside a shared expert, also with
ep and with experts whole on ranks of tp; what a rank's memory and what ranks exchange are, by
formulas; what is refused.
"""

import argparse
import json
import math
import os
import shutil

import programs
from programs import MPI, QUICK, expect, run
from decode_ranks import logits
from training import read_tensors, write_tensors

TOKENS = "5,99,1,42,42,7,64,3,18,77,2,11"


def compile(arguments, folder, out, *flags):
    run([arguments.batonc, folder, QUICK, "--quiet", "-o", out, *flags])
    return out


def rows_of(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def widen(golden, folder):
    """Experts as wide as two: each one's numbers, and behind them those of the next one."""
    os.mkdir(folder)
    with open(os.path.join(golden, "config.json")) as file:
        config = json.load(file)
    count, width = config["num_experts"], config["moe_intermediate_size"]
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config | {"moe_intermediate_size": 2 * width}, file)
    stored, tensors = read_tensors(os.path.join(golden, "model.safetensors")), {}
    for name, (_, shape, values) in stored.items():
        if ".experts." in name:
            before, rest = name.split(".experts.")
            expert, rest = rest.split(".", 1)
            _, _, more = stored[f"{before}.experts.{(int(expert) + 1) % count}.{rest}"]
            own, others = (rows_of(part, shape[1]) for part in (values, more))
            lines = [one + other for one, other in zip(own, others)] if "down_proj" in rest else own + others
            shape, values = [len(lines), len(lines[0])], [value for line in lines for value in line]
        tensors[name] = (shape, values)
    write_tensors(os.path.join(folder, "model.safetensors"), tensors)
    return folder


def same(arguments, path):
    """Logits near one rank's; the same bits for any workers and chunks, as threads and as processes."""
    folder = widen(os.path.join(arguments.golden, "qwen2moe-shared"), path("wide"))
    for dtype in ("f32", "bf16"):
        def score(program, *flags, launch=()):
            run([*launch, program, "logits", "--weights", folder, "--tokens", TOKENS, "--out", path("logits.npy"),
                 "--quiet", *flags])
            return logits(path("logits.npy"))

        scores = score(compile(arguments, folder, path("one"), f"--dtype={dtype}"))
        size = max(map(abs, scores))
        for flags in (["--mesh=tp=2"], ["--mesh=tp=2,ep=3"], ["--mesh=tp=2", "--tensor-parallel=experts"]):
            what = f"{dtype} {' '.join(flags)}"
            many = compile(arguments, folder, path("many"), f"--dtype={dtype}", *flags)
            found = score(many)
            worst = max(abs(a - b) for a, b in zip(found, scores, strict=True)) / size
            print(f"{what}: logits are off by {worst:.1e}")
            expect(worst < 1e-5, f"{what}: logits are off by {worst}")
            for more in (["--workers", 7], ["--prefill-chunk", 5], ["--no-cache"]):
                expect(score(many, *more) == found, f"{what} {more}: other logits")
            ranks = 6 if "ep=3" in what else 2
            if shutil.which("mpirun"):
                expect(score(many, "--workers", ranks, launch=[*MPI, "-n", ranks]) == found, f"{what}: processes differ")


def info_of(program):
    return json.loads(run([program, "info", "--json"]).stdout)


def info(arguments, path):
    """A rank's weights, and what a layer exchanges."""
    for name, flags, ranks, sums in (
            # Attention is whole on each rank of ep: a layer has one sum, over the ranks that have other experts.
            ("mixtral-top2", ["--mesh=ep=5"], {"ep": 5}, [["ep"]]),
            ("qwen2moe-shared", ["--mesh=ep=2"], {"ep": 2}, [["ep"]]),
            # That of attention, and one for all experts, a shared one, too.
            ("mixtral-top2", ["--mesh=tp=2"], {"tp": 2}, [["tp"], ["tp"]]),
            ("mixtral-top2", ["--mesh=tp=2,ep=5"], {"tp": 2, "ep": 5}, [["tp"], ["tp", "ep"]]),
            ("qwen2moe-shared", ["--mesh=tp=2", "--tensor-parallel=experts"], {"tp": 2}, [["tp"], ["tp"]])):
        what = f"{name} {' '.join(flags)}"
        folder = os.path.join(arguments.golden, name)
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)
        whole = info_of(compile(arguments, folder, path("one")))
        many = info_of(compile(arguments, folder, path("many"), *flags))
        experts = config.get("num_experts", config.get("num_local_experts"))
        width = config.get("moe_intermediate_size", config["intermediate_size"])
        layers, hidden = config["num_hidden_layers"], config["hidden_size"]
        # Three matrices of F32 for each expert; tp cuts attention, too.
        cut = layers * experts * 3 * width * hidden * 4 * (1 - 1 / math.prod(ranks.values()))
        less = whole["memory"]["weights"] - many["memory"]["weights"]
        expect(less == cut if "tp" not in ranks else less > cut, f"{what}: {less} bytes less, of experts {cut}")
        for kind in ("all_to_all", "all_gather"):
            found = [entry for entry in many["collectives"]
                     if entry["segment"] == "layers" and entry["kind"] == kind]
            expect([entry["axes"] for entry in found] == sums, f"{what}: {found}")
            for entry in found:
                expect(entry["payload"] == f"4 * rows * {hidden}" and entry["iterations"] == layers,
                       f"{what}: {entry}, expected rows of the model's width")
        print(f"{what}: {less} bytes less on a rank, {len(sums)} sums in a layer")


def refusals(arguments, path):
    """What does not divide, and what has no experts."""
    for name, flags, message in (
            ("mixtral-top2", ["--mesh=ep=2"], "experts.{expert}.w2.weight', 5, is not divisible by axis \"ep\" of size 2"),
            ("qwen2moe-shared", ["--mesh=tp=2"], "experts are 16 wide inside, which 2 ranks along axis \"tp\" cannot "
             "cut into multiples of 16"),
            ("mixtral-top2", ["--mesh=tp=2", "--tensor-parallel=experts"], "5, is not divisible by axis \"tp\" of size 2"),
            ("llama-gqa", ["--mesh=ep=2"], "cannot be sharded by tactic 'experts': it is no mixture of experts"),
            ("mixtral-top2", ["--mesh=ep=2", "--mode=train"], "5, is not divisible by axis \"ep\" of size 2"),
            ("qwen2moe-shared", ["--mesh=tp=2", "--mode=train"], "experts are 16 wide inside, which 2 ranks along axis "
             "\"tp\" cannot cut into multiples of 16"),
            ("llama-gqa", ["--mesh=ep=2", "--mode=train"], "it is no mixture of experts"),
            ("mixtral-top2", ["--mesh=ep=5", "--tensor-parallel=experts"], "add tp=N to --mesh")):
        folder = os.path.join(arguments.golden, name)
        result = run([arguments.batonc, folder, "--quiet", "-o", path("none"), *flags], check=False)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and message in lines[0], f"{name} {flags}: {result}")
        print(lines[0])


CASES = {case.__name__: case for case in (same, info, refusals)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("golden")
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    programs.main(lambda scratch: CASES[arguments.case](arguments, lambda name: os.path.join(scratch, name)))

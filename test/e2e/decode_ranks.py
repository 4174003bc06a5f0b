"""Decoding on several ranks gives the tokens of one.

Compiled with --mesh=tp=2 (or what is given; stages of a pipeline alone have the same
bits): generated tokens are one rank's, logits near them; any number of workers and any
chunks of the prompt have the same bits, and so have ranks that are processes. A rank
that fails or does not come ends the job with one line, and so do another number of
ranks than the mesh's and a process with other weights.
"""

import argparse
import json
import math
import os
import re
import shutil
import struct

import programs
from programs import MPI, QUICK, expect, run
from training import read_bytes

PROMPT = [5, 99, 1, 42, 42, 7, 64, 3, 18, 77, 2, 11]


def logits(path):
    data = read_bytes(path)
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def read_config(folder):
    with open(os.path.join(folder, "config.json")) as file:
        return json.load(file)


def axes_of(mesh):
    return dict(axis.split("=") for axis in mesh.split(","))


def sums(mesh):
    """Whether ranks add up parts, and not stages alone."""
    return not axes_of(mesh).keys() <= {"pp"}


def check_info(one, many, mesh, what, shares_state):
    """A rank's memory is said, of each stage where there are some. All heads may share one state, which each
    rank has."""
    is_whole = "pp" not in mesh and (shares_state or axes_of(mesh).keys() == {"ep"})
    whole = json.loads(run([one, "info", "--json"]).stdout)["memory"]
    info = json.loads(run([many, "info", "--json"]).stdout)
    places = [stage["memory"] for stage in info["stages"]] if "pp" in mesh else [info["memory"]]
    expect(len(places) == int(axes_of(mesh).get("pp", 1)), f"{what}: {info}")
    for memory in places:
        expect(0 < memory["weights"] < whole["weights"] and memory["activations"] > 0 and
               0 < memory["kv"] < whole["kv"] + is_whole,
               f"{what}: {memory}, of one rank {whole}")
    if "tp" not in mesh:
        expect(sum(memory["kv"] for memory in places) == whole["kv"], f"{what}: {places}, of one rank {whole}")
    text = run([many, "info"]).stdout
    expect(("stages send\n" in text) == ("pp" in mesh) and ("ranks exchange\n" in text) == sums(mesh),
           f"{what}: {text}")


def check_job(arguments, path, program, mesh, what, wanted, scores):
    """As processes, and what ends the job."""
    ranks = math.prod(map(int, axes_of(mesh).values()))
    generate = [program, "generate", "--weights", arguments.folder, "--tokens", ",".join(map(str, PROMPT)),
                "--max-new-tokens", 24, "--json", "--quiet", "--workers", ranks]

    def refused(message, *command):
        result = run(command, check=False)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and re.search(message, lines[0]),
               f"{what}: expected {message}: {result}")

    refused(f"--ranks 9: the program is compiled for {ranks} ranks", *generate, "--ranks", 9)
    refused("rank 1: step 3, .*: this rank fails on purpose", *generate, "--rank-fault", "1:3:fail")
    refused("rank 1 .*after 1 s", *generate, "--rank-fault", "1:3:stall", "--rank-timeout", 1)
    if not shutil.which("mpirun"):
        return
    result = run([*MPI, "-n", ranks, *generate])
    expect(json.loads(result.stdout)["tokens"] == wanted, f"{what}, processes: {result}")
    run([*MPI, "-n", ranks, program, "logits", "--weights", arguments.folder, "--tokens",
         ",".join(map(str, PROMPT)), "--out", path("processes.npy"), "--quiet", "--workers", ranks])
    expect(logits(path("processes.npy")) == scores, f"{what}, processes: other logits")
    failed = run([*MPI, "-n", ranks, *generate, "--rank-fault", "1:3:fail"], check=False)
    expect(failed.returncode and "rank 1: step 3, " in failed.stderr, f"{what}, processes: {failed}")
    other = path("other")
    shutil.copytree(arguments.folder, other, dirs_exist_ok=True)
    weights = read_bytes(os.path.join(other, "model.safetensors"))
    begin = 8 + struct.unpack("<Q", weights[:8])[0]
    with open(os.path.join(other, "model.safetensors"), "wb") as file:
        file.write(weights[:begin] + bytes(byte ^ 1 for byte in weights[begin:]))
    last = [other if argument == arguments.folder else argument for argument in generate]
    failed = run([*MPI, "-n", ranks - 1, *generate, ":", "-n", 1, *last], check=False)
    expect(failed.returncode and f"rank {ranks - 1} is refused: it differs from rank 0 in weights" in failed.stderr,
           f"{what}, other weights: {failed}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = ",".join(map(str, PROMPT))

    def compile(name, *flags):
        run([arguments.batonc, arguments.folder, QUICK, "--quiet", "-o", path(name), *flags])
        return path(name)

    def generate(program, *flags):
        result = run([program, "generate", "--weights", arguments.folder, "--tokens", tokens,
                      "--max-new-tokens", 24, "--json", "--quiet", *flags])
        return json.loads(result.stdout)["tokens"]

    def score(program, *flags):
        run([program, "logits", "--weights", arguments.folder, "--tokens", tokens, "--out",
             path("logits.npy"), "--quiet", *flags])
        return logits(path("logits.npy"))

    for dtype in arguments.dtypes:
        one = compile("one", f"--dtype={dtype}")
        wanted, scores = generate(one), score(one)
        size = max(map(abs, scores))
        for mesh in arguments.meshes:
            what = f"{mesh}, {dtype}"
            many = compile("many", f"--dtype={dtype}", f"--mesh={mesh}")
            found = score(many)
            worst = max(abs(a - b) for a, b in zip(found, scores, strict=True)) / size
            print(f"{what}: logits are off by {worst:.1e}")
            # Stages add up nothing.
            expect(worst < 1e-5 if sums(mesh) else found == scores, f"{what}: logits are off by {worst}")
            expect(generate(many) == wanted, f"{what}: other tokens than on one rank")
            for flags in (["--workers", 2], ["--workers", 7], ["--prefill-chunk", 5], ["--no-cache"]):
                expect(score(many, *flags) == found, f"{what} {flags}: other logits")
                expect(generate(many, *flags) == wanted, f"{what} {flags}: other tokens")
            sampled = ["--temperature", 0.8, "--top-k", 20, "--seed", 3]
            expect(generate(many, *sampled) == generate(many, *sampled, "--workers", 4),
                   f"{what}: samples depend on the workers")
            bench = json.loads(run([many, "bench", "--brief", "--prefill", 16, "--decode", 4, "--repeat", 1, "--json",
                                    "--quiet"]).stdout)
            expect(bench["decode_tokens_per_s"] > 0, f"{what}: {bench}")
            check_info(one, many, mesh, what, "kv_lora_rank" in read_config(arguments.folder))
            check_job(arguments, path, many, mesh, what, wanted, found)
    refused = run([arguments.batonc, arguments.folder, "--mesh=dp=2", "--quiet", "-o", path("none")], check=False)
    expect(refused.returncode == 1 and "axis dp is for --mode=train" in refused.stderr, f"dp: {refused}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--dtypes", nargs="+", default=["f32"])
    parser.add_argument("folder")
    parser.add_argument("meshes", nargs="+")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

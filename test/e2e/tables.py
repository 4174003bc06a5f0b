"""A plan whose work depends on data: rows go to segments that a task counts and sorts
(inputs/segments.mlir), as code for the CPU and as CUDA, emulated, in both its forms.

What every row finds is what a loop here adds up: for chunks of any size, any workers,
under the sanitizers. Bodies that write another table than the plan declares, by one value,
end the run with one line that names the table, its place and the value, and status 1, on
both targets. explain and check-plan know tables, too. With --few: one launch, one sanitizer, and
one fault on CUDA.
"""

import argparse
import ast
import json
import os
import re
import struct

import programs
from programs import expect, run

TOKENS = [5, 2, 7, 4, 9, 1, 13, 8, 3, 3, 12, 0, 6]
VOCABULARY = 16
# What goes wrong in @route: the values that it stores, and what is said.
FAULTS = [
    ("a row is put where another one is", "memref.store %at, %place[%i]", "memref.store %none, %place[%i]",
     r"the table @place, which phase \"route\" has written, holds 0 at place"),
    ("a segment ends early", "memref.store %all, %bounds[%c4]", "memref.store %one, %bounds[%c4]",
     r"the table @bounds, which phase \"route\" has written, holds 1 at place 4"),
    ("a segment begins behind its end", "memref.store %next, %bounds[%c]", "memref.store %count, %bounds[%c]",
     r"the table @bounds, which phase \"route\" has written, holds 7 at place 0"),
    ("a row lies outside", "memref.store %at, %place[%i]", "memref.store %count, %place[%i]",
     r"the table @place, which phase \"route\" has written, holds 7 at place 0"),
]


def plan(optimizer, source, path):
    """The plan with events and memory, proved."""
    run([optimizer, source, "--derive-events", "--plan-memory", "--schedule-static", "--event-verify", "-o", path])
    return path


def rows(data):
    """The rows of a .npy file."""
    length = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10:10 + length].decode())["shape"]
    numbers = struct.unpack(f"<{shape[0] * shape[1]}f", data[10 + length:])
    return [list(numbers[i:i + shape[1]]) for i in range(0, len(numbers), shape[1])]


def expected(chunk):
    """Sums of the tokens of one residue up to each row, within a step."""
    found = []
    for begin in range(0, len(TOKENS), chunk):
        sums = [0] * 4
        for token in TOKENS[begin:begin + chunk]:
            sums[token % 4] += token
            found.append([float(sums[token % 4] * column) for column in range(VOCABULARY)])
    return found


def check_values(program, path, workers, chunks):
    for chunk in chunks:
        for number in workers:
            found = rows(program.logits(TOKENS, path("logits.npy"), "--workers", number, "--prefill-chunk", chunk))
            expect(found == expected(chunk), f"{program.path}, {number} workers, chunks of {chunk}: {found}")


def check_faults(arguments, source, weights, path):
    with open(source) as file:
        text = file.read()
    # What the faulty ones store beside what there is.
    text = text.replace("  %one = arith.constant 1 : i32\n",
                        "  %one = arith.constant 1 : i32\n  %count = arith.constant 7 : i32\n", 1)
    for name, right, wrong, said in FAULTS:
        expect(right in text, f"{right} is not in {source}")
        with open(path("faulty.mlir"), "w") as file:
            file.write(text.replace(right, wrong, 1))
        faulty = plan(arguments.optimizer, path("faulty.mlir"), path("faulty-plan.mlir"))
        forms = [[], ["--target=cuda:emulated"], ["--target=cuda:emulated", "--launch=graph"]]
        if arguments.few:
            # One on CUDA, and of each table one on the CPU.
            forms = {0: forms[:1], 1: forms[1:2], 2: forms[:1]}.get(FAULTS.index((name, right, wrong, said)), [])
        for flags in forms:
            program = programs.Program(arguments.batonc, faulty, path("faulty"), *flags)
            result = run([program.path, "logits", "--weights", weights, "--tokens", "5,2,7", "--out",
                          path("faulty.npy"), "--quiet", "--workers", 2], check=False)
            expect(result.returncode == 1 and re.fullmatch(rf"error: [^\n]*{said}[^\n]*\n", result.stderr),
                   f"{name}, {flags}: status {result.returncode}, {result.stderr}")
            expect(not os.path.exists(path("faulty.npy")), f"{name}, {flags}: there are logits")


def test(arguments, path):
    source = os.path.join(arguments.inputs, "segments.mlir")
    made = plan(arguments.optimizer, source, path("plan.mlir"))
    # A checkpoint without tensors.
    weights = path("weights")
    os.mkdir(weights)
    with open(os.path.join(weights, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", 2) + b"{}")

    def program(name, *flags):
        result = programs.Program(arguments.batonc, made, path(name), *flags)
        result.weights = weights
        return result

    check_values(program("cpu"), path, workers=(1, 2, 3, 8), chunks=(16, 5, 1))
    for launch in ("persistent",) if arguments.few else ("persistent", "graph"):
        check_values(program(f"cuda-{launch}", "--target=cuda:emulated", f"--launch={launch}"), path,
                     workers=(1, 3), chunks=(16, 5))
    for sanitizer in ("thread",) if arguments.few else ("address", "thread"):
        check_values(program(sanitizer, f"--sanitize={sanitizer}"), path, workers=(3,), chunks=(16, 1))
    check_faults(arguments, source, weights, path)

    info = run([path("cpu"), "info"]).stdout
    expect("the table @bounds holds 0 to rows + 1, partition" in " ".join(info.split()), info)
    explained = run([arguments.batonc, "explain", made]).stdout
    expect("add_up" in explained, explained)
    # Random numbers are no tables.
    checked = run([arguments.batonc, "check-body", source, "--body", "route"]).stdout
    expect("@route  regions  skipped: @tokens holds integers" in checked, checked)
    # The second judge agrees, and misses a wait for a table.
    run([arguments.batonc, made, "--emit=plan-json", "-o", path("plan.json")])
    run([arguments.judge, path("plan.json")])
    with open(path("plan.json")) as file:
        judged = json.load(file)
    (putting,) = (phase for segment in judged["programs"][0]["segments"] for phase in segment["phases"]
                  if phase["name"] == "put")
    putting["waits"] = [wait for wait in putting["waits"] if wait["event"] != "route.done"]
    with open(path("plan.json"), "w") as file:
        json.dump(judged, file)
    verdict = run([arguments.judge, path("plan.json")], check=False)
    expect(verdict.returncode == 1 and "rejected: race" in verdict.stdout + verdict.stderr, f"{verdict}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--optimizer", required=True, help="baton-opt")
    parser.add_argument("--judge", required=True, help="check-plan")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--inputs", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, lambda name: os.path.join(scratch, name)))

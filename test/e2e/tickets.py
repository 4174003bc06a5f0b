"""Tasks of experts that workers take from counters (distribution ticket), beside those that are dealt out.

Of a mixture whose router sends all rows to the same experts, and of one that does as its checkpoint
says: logits and tokens have the same bits for one to three workers, in chunks, and by emulated kernels. The
trace has every task once, and in a skewed mixture several workers have taken tasks of a hot expert,
in another order than tasks are dealt out.
"""

import argparse
import collections
import json
import os
import re
import shutil

import programs
from programs import Program, expect, run
from training import read_tensors, write_tensors

EXPERTS = r"\.mlp\.experts\."


def with_tickets(arguments, folder, path, *flags):
    """The default schedule, but experts' tasks are taken; in each of its programs."""
    text = run([arguments.batonc, folder, "--emit=schedule", *flags]).stdout
    text, count = re.subn(r'(    transform\.baton\.distribute %phases "by_work".*\n)',
                          r'\1    %experts = transform.baton.match named "layers.mlp.experts.*" in %plan\n'
                          r'    transform.baton.distribute %experts "ticket"\n', text)
    expect(count == text.count("plan(%plan"), "the default schedule has other lines")
    with open(path, "w") as file:
        file.write(text)
    return f"--schedule={path}"


def skewed(golden, folder):
    """Logits of routers are all equal, so that the first experts have all rows."""
    shutil.copytree(golden, folder)
    os.chmod(folder, 0o700)
    file = os.path.join(folder, "model.safetensors")
    tensors = {}
    for name, (_, shape, values) in read_tensors(file).items():
        tensors[name] = (shape, [0.0] * len(values) if name.endswith("mlp.gate.weight") else values)
    os.remove(file)
    write_tensors(file, tensors)
    return folder


def tasks_of(path):
    """(name, layer, step) -> [(task, worker)] in order of time, of experts."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    steps = sorted(e["ts"] for e in events if e.get("cat") == "step")
    found = collections.defaultdict(list)
    for event in sorted((e for e in events if e.get("cat") == "task"), key=lambda e: e["ts"]):
        if re.search(EXPERTS, event["name"]):
            step = sum(begin <= event["ts"] for begin in steps)
            found[event["name"], event["args"].get("layer"), step].append((event["args"]["task"], event["tid"]))
    return found


def check_trace(program, tokens, path, is_skewed):
    """Each task once. Ascending on a worker; and what no dealing out in turn does."""
    run([program.path, "generate", "--weights", program.weights, "--tokens", ",".join(map(str, tokens)),
         "--max-new-tokens", 24, "--workers", 2, "--json", "--no-cache", "--quiet", "--trace", path])
    found = tasks_of(path)
    shared = others = 0
    for key, tasks in found.items():
        numbers = sorted(task for task, _ in tasks)
        expect(numbers == list(range(len(tasks))), f"{key}: tasks {numbers}")
        own = collections.defaultdict(list)
        for task, worker in tasks:
            own[worker].append(task)
        for worker, mine in own.items():
            expect(mine == sorted(mine), f"{key}: worker {worker} has taken {mine}")
        shared += len(own) > 1
        others += any(len({task % 2 for task in mine}) > 1 for mine in own.values())
    print(f"{len(found)} phases of experts: {shared} shared by workers, {others} not as they would be dealt out")
    expect(others > 0, "tasks are dealt out in turn")
    expect(not is_skewed or shared > 0, "one worker has taken all tasks of all hot experts")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = [5, 9, 1, 42, 42, 7, 64, 3, 18, 77, 2, 11, 30, 8, 4]
    for name, folder in (("checkpoint", arguments.folder), ("skewed", skewed(arguments.folder, path("skewed")))):
        dealt = Program(arguments.batonc, folder, path("dealt"))
        bits = dealt.logits(tokens, path("out.npy"))
        taken = Program(arguments.batonc, folder, path("taken"),
                        with_tickets(arguments, folder, path("tickets.mlir")))
        for workers in (1, 2, 3):
            for chunk in (4, 64):
                found = taken.logits(tokens, path("out.npy"), "--workers", workers, "--prefill-chunk", chunk)
                expect(found == bits, f"{name}: {workers} workers, chunks of {chunk}: other logits than dealt out")
            expect(taken.generate(tokens, 8, "--workers", workers)["tokens"] == dealt.generate(tokens, 8)["tokens"],
                   f"{name}, {workers} workers: other tokens")
        check_trace(taken, tokens, path("trace.json"), name == "skewed")
        plan = run([arguments.batonc, folder, "--schedule=" + path("tickets.mlir"), "--emit=event"]).stdout
        expect(plan.count("distribution ticket") == 2, "the plan has other tickets")
        said = run([arguments.batonc, "explain", folder, "--schedule=" + path("tickets.mlir")]).stdout
        expect("taken by whoever is free" in said, "explain does not say who has tasks of experts")
        kernel = Program(arguments.batonc, folder, path("kernel"), "--target=cuda:emulated", "--batch-invariant",
                         with_tickets(arguments, folder, path("kernel.mlir"), "--target=cuda:emulated",
                                      "--batch-invariant"))
        source = run([arguments.batonc, folder, "--target=cuda:emulated", "--batch-invariant", "--emit=cuda",
                      "--schedule=" + path("kernel.mlir")]).stdout
        expect("worker.take(" in source, "the kernel takes no tickets")
        for workers in (1, 2, 3):
            expect(kernel.logits(tokens, path("out.npy"), "--workers", workers) == bits,
                   f"{name}: the kernel's logits with {workers} workers are others")
        # Tasks that leave their phase for the kernel's multiplication on tensor cores, and come back.
        by_cores = with_tickets(arguments, folder, path("matrix.mlir"), "--target=cuda:emulated", "--dtype=bf16")
        matrix = [Program(arguments.batonc, folder, path("matrix"), "--target=cuda:emulated", "--dtype=bf16",
                          *flags).logits(tokens, path("out.npy"), "--workers", 2)
                  for flags in ([], [by_cores])]
        expect(matrix[0] == matrix[1], f"{name}: logits by tensor cores are others with tickets")
        print(f"{name}: the same bits, dealt out and taken, CPU and kernel")
    everything = path("everything.mlir")
    with open(path("tickets.mlir")) as file, open(everything, "w") as out:
        out.write(file.read().replace('%phases "by_work"', '%phases "ticket"'))
    refused = run([arguments.batonc, arguments.folder, "-o", path("refused"), "--schedule=" + everything], check=False)
    expect(refused.returncode != 0 and "cannot have tickets" in refused.stderr, f"not refused: {refused.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()

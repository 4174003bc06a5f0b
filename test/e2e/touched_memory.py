"""What a training step touches of the memory that is planned for it.

In a program of --sanitize=address a phase may touch its own buffers only, and a
step of as many rows as there may be writes every storage to its end, with the
losses of the program that nobody watches; so do the phases that write a buffer
together. With --emit-unproved, a plan of which one phase reads another value than
it says is reported.
"""

import argparse
import json
import os
import re

import programs
from programs import expect, run
from training import write_tokens

LENGTH = 64
# Of the sanitizer: worth 66 as exit status.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=66"}


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    batonc = [arguments.batonc, arguments.folder, "--mode=train", "--quiet"]
    runs = 0

    def train(program, rows, *flags, **options):
        nonlocal runs
        runs += 1
        return run([path(program), "train", "--weights", arguments.folder, "--data",
                    path("tokens.u16"), "--seq", LENGTH, "--batch", rows // LENGTH, "--steps", 2,
                    "--validation-fraction", 0, "--out", path(f"run-{runs}"), "--quiet", *flags],
                   **options)

    def lines(result):
        return [(line["loss"], line["grad_norm"])
                for line in map(json.loads, result.stdout.splitlines())]

    def watched(program, rows):
        result = train(program, rows, "--workers", 1, "--check-memory", path("touched.json"))
        with open(path("touched.json")) as file:
            return lines(result), json.load(file)

    for mode in ("none", "selective", "full"):
        run([*batonc, f"--recompute={mode}", "-o", path("plain")])
        run([*batonc, f"--recompute={mode}", "--sanitize=address", "-o", path("watched")])
        info = json.loads(run([path("watched"), "info", "--json"]).stdout)
        rows = info["max_rows"]
        write_tokens(path("tokens.u16"), ((7 * i) % 97 for i in range(2 * (rows + rows // LENGTH) + 1)))
        losses, memory = watched("watched", rows)
        expect(losses == lines(train("plain", rows)), f"{mode}: other losses: {losses}")
        for storage in memory["storages"]:
            expect(storage["touched"] == storage["planned"], f"{mode}: {storage}")
        expect(memory["touched"] == memory["planned"] == info["memory"]["activations"],
               f"{mode}: {memory['touched']} bytes of {info['memory']}")
        ends = {}
        for phase in memory["phases"]:
            expect(0 < phase["touched"] <= phase["planned"], f"{mode}: {phase}")
            place = phase["storage"], phase["planned"]
            ends[place] = max(ends.get(place, 0), phase["touched"])
        expect(ends and all(end == planned for (_, planned), end in ends.items()), f"{mode}: {ends}")
        print(f"{mode}: {memory['touched']} bytes are planned and touched")
        _, less = watched("watched", LENGTH)
        expect(less["touched"] < memory["touched"] / 2, f"{mode}: few rows touch {less}")
        below = [phase for phase in less["phases"] if phase["touched"] < phase["planned"] / 2]
        expect(len(below) > len(less["phases"]) / 2, f"{mode}: few rows, phases touch {less['phases']}")

    if not arguments.emit_unproved:
        return
    # The gradient of one weight from another value that is kept: nothing is out
    # of any bounds.
    plan = run([*batonc, "--emit=event"]).stdout
    edited, count = re.subn(
        r'(event\.phase "layers\.mlp\.up_proj\.weight_gradient".*\n.*'
        r"#event\.address<@layers\.)post_attention(_layernorm\.saved)",
        r"\g<1>input\g<2>", plan)
    expect(count == 1, "the plan's phases could not be read")
    with open(path("planted.mlir"), "w") as file:
        file.write(edited)
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cpu", "address",
         arguments.installation])
    train("planted", LENGTH, "--workers", 1)
    result = train("planted", LENGTH, "--workers", 1, "--check-memory", path("none.json"),
                   check=False, env=ENVIRONMENT)
    expect(result.returncode == 66 and "AddressSanitizer: use-after-poison" in result.stderr,
           f"a value that the phase does not read: {result}")
    expect(re.search(r"#\d+ (0x\w+ in )?baton_(phase|task)_", result.stderr),
           f"no task body in the report\n{result.stderr}")
    expect(not os.path.exists(path("none.json")), "a failed run writes a report")

    for program, workers, message in (("plain", 1, "compile it with --sanitize=address"),
                                      ("watched", 2, "give --workers 1")):
        result = train(program, LENGTH, "--workers", workers, "--check-memory",
                       path("none.json"), check=False)
        expect(result.returncode == 1 and "--check-memory: " in result.stderr and
               message in result.stderr, f"{program}, {workers} workers: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--emit-unproved")
    parser.add_argument("--installation", help="with --emit-unproved")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

"""What each task of a program touches of the memory that is planned for it.

Programs of --sanitize=address announce every load and store, on any number of
workers. When a step has as many rows as there may be, tasks reach the end of every
storage, and those that write there the last byte that they declare; they touch
nothing else, in training as in prompts and decoding, and the results are those of a
run that nobody watches. With --stages so do tasks of a pipeline's ranks, each of which
reports its own.

With --decode: prompts and steps of decoding. With --emit-unproved, plans that no proof allows are reported, with the task: one
where a phase reads another value than it declares, and one where it reads a value
whose memory another one has since.
"""

import argparse
import json
import os
import re

import programs
from programs import QUICK, expect, run
from training import lines_of, write_tokens

# Three tiles of rows, each a sequence: watched accesses take long.
ROWS, LENGTH = 48, 16


def check(what, memory, full):
    """Of a report."""
    expect(memory["phases"] and memory["storages"], f"{what}: {memory}")
    planned = {storage["name"]: storage["planned"] for storage in memory["storages"]}
    for phase in memory["phases"]:
        expect(phase["tasks"], f"{what}: {phase}")
        # What persists is touched where it changes only, and parts of the loss share
        # the last tile of the rows of one.
        whole = full and phase["writes"] and phase["storage"] in planned and ".loss" not in phase["name"]
        for layer, task, end, touched in phase["tasks"]:
            expect(0 <= touched <= end, f"{what}: layer {layer}, task {task} of {phase}")
            expect(touched == end or not whole,
                   f"{what}: layer {layer}, task {task} does not write all that it declares: {phase}")
    for storage in memory["storages"]:
        expect(storage["touched"] == storage["planned"] or not full, f"{what}: {storage}")
    for phase in memory["phases"]:
        expect(phase["planned"] <= planned.get(phase["storage"], phase["planned"]), f"{what}: {phase}")
    expect(memory["touched"] == sum(storage["touched"] for storage in memory["storages"]), f"{what}: sums")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(arguments.target) as file:
        description = json.load(file)
    description |= {"max_rows": 16, "max_outputs": 16}
    description["training"] |= {"max_rows": ROWS, "linear_rows": LENGTH, "attention_rows": LENGTH}
    with open(path("target.json"), "w") as file:
        json.dump(description, file)
    batonc = [arguments.batonc, arguments.folder, "--quiet", QUICK, "--target-file", path("target.json")]
    training = [*batonc, "--mode=train", f"--optimizer={arguments.optimizer}"]
    write_tokens(path("tokens.u16"), ((7 * i) % 97 for i in range(4 * (ROWS + ROWS // LENGTH))))
    runs = 0

    def train(program, rows, *flags, **options):
        nonlocal runs
        runs += 1
        return run([path(program), "train", "--weights", arguments.folder, "--data",
                    path("tokens.u16"), "--seq", LENGTH, "--batch", rows // LENGTH, "--steps", 2,
                    "--validation-fraction", 0, "--out", path(f"run-{runs}"), "--quiet", *flags],
                   **options)

    def report():
        with open(path("touched.json")) as file:
            return json.load(file)

    def watched(rows, workers):
        result = train("watched", rows, "--workers", workers, "--check-memory", path("touched.json"))
        return lines_of(result.stdout, "tokens_per_s"), report()

    for mode in arguments.recompute or ():
        run([*training, f"--recompute={mode}", "--sanitize=address", "-o", path("watched")])
        info = json.loads(run([path("watched"), "info", "--json"]).stdout)
        losses, memory = watched(ROWS, workers=1)
        check(mode, memory, full=True)
        expect(memory["touched"] == memory["planned"] == info["memory"]["activations"],
               f"{mode}: {memory['touched']} bytes of {info['memory']}")
        expect(losses == lines_of(train("watched", ROWS, "--workers", 2).stdout, "tokens_per_s"),
               f"{mode}: other losses: {losses}")
        expect(watched(ROWS, workers=3) == (losses, memory), f"{mode}: 3 workers touch other bytes than one")
        _, less = watched(LENGTH, workers=2)
        check(f"{mode}, few rows", less, full=False)
        # Copies of all layers lie in a storage: its end is the last one's.
        expect(less["touched"] < 0.9 * memory["touched"], f"{mode}: few rows touch {less['touched']} bytes")
        print(f"{mode}: {sum(len(phase['tasks']) for phase in memory['phases'])} ends of tasks, "
              f"{memory['touched']} bytes are planned and touched")

    if arguments.stages:
        run([*training, "--sanitize=address", "--mesh=pp=2", "--microbatches=2", "-o", path("stages")])
        losses = lines_of(train("stages", ROWS).stdout, "tokens_per_s")
        for workers in (2, 5):
            result = train("stages", ROWS, "--workers", workers, "--check-memory", path("touched.json"))
            expect(lines_of(result.stdout, "tokens_per_s") == losses, f"stages: other losses: {result.stdout}")
            ranks = report()["ranks"]
            expect(len(ranks) == 2, f"stages: {len(ranks)} reports")
            for rank, memory in enumerate(ranks):
                check(f"stage {rank}, {workers} workers", memory, full=True)
        print(f"stages: {[memory['touched'] for memory in ranks]} bytes are planned and touched")

    if arguments.decode:
        # Steps of all rows, of some, and of one.
        run([*batonc, "--sanitize=address", "--max-seq", 64, "-o", path("decoder")])
        tokens = [7 * i % 97 for i in range(32)]
        text = lambda tokens: ",".join(map(str, tokens))
        for workers in (1, 3):
            run([path("decoder"), "logits", "--weights", arguments.folder, "--tokens", text(tokens), "--out",
                 path("logits.npy"), "--workers", workers, "--quiet", "--check-memory", path("touched.json")])
            memory = report()
            check(f"prompt, {workers} workers", memory, full=True)
            expect(memory["touched"] == memory["planned"], f"a prompt touches {memory['touched']} bytes")
            generate = [path("decoder"), "generate", "--weights", arguments.folder, "--tokens", text(tokens[:21]),
                        "--max-new-tokens", 8, "--workers", workers, "--quiet", "--json"]
            found, plain = (json.loads(run([*generate, *flags]).stdout)["tokens"]
                            for flags in (["--check-memory", path("touched.json")], []))
            expect(found == plain and len(found) == 8, f"tokens {found}, expected {plain}")
            check(f"decoding, {workers} workers", report(), full=False)
        print(f"a prompt: {memory['touched']} bytes are planned and touched")

    if not arguments.emit_unproved:
        return
    plan = run([*training, "--emit=event"]).stdout

    def phase_of(name):
        found = re.search(rf'event\.phase "{re.escape(name)}" .*?\n      }}\n', plan, re.S)
        expect(found, f"no phase {name} in the plan")
        return found[0]

    def planted(phase, pattern, other, where, message):
        """A plan in which a phase reads another value."""
        old = phase_of(phase)
        new, count = re.subn(pattern, other, old)
        expect(count > 0, f"{phase} could not be edited")
        with open(path("planted.mlir"), "w") as file:
            file.write(plan.replace(old, new))
        run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cpu", "address",
             arguments.installation])
        if not arguments.once:
            train("planted", ROWS, "--workers", 2)
        for workers in (3,) if arguments.once else (1, 3):
            result = train("planted", ROWS, "--workers", workers, "--check-memory", path("none.json"), check=False)
            error = result.stderr.strip().splitlines()[-1] if result.stderr else ""
            expect(result.returncode == 1 and re.fullmatch(rf"error: {where}, task \d+ reads bytes \d+ to \d+ of "
                                                           rf'storage "[^"]+", {message}', error),
                   f"{phase} reads {other}: {result}")
            expect(re.search(r"#\d+ (0x\w+ in )?baton_(phase|task)_", result.stderr),
                   f"no task body in the report\n{result.stderr}")
            expect(not os.path.exists(path("none.json")), "a failed run writes a report")
        print(error)

    # The gradient of one weight from another value that is kept: nothing is out
    # of any bounds.
    planted("layers.mlp.up_proj.weight_gradient",
            r"(#event\.address<@layers\.)post_attention(_layernorm\.saved)", r"\g<1>input\g<2>",
            r"layers\.mlp\.up_proj\.weight_gradient, layer \d", "which its phase does not declare")
    # What was added to the residual stream before, from where its memory was: the
    # same bytes, which are another value's by now.
    planted("layers.mlp.down_proj.residual", r"@layers\.mlp\.down_proj(?![\w.])", "@layers.self_attn.o_proj",
            r"layers\.mlp\.down_proj\.residual, layer \d",
            r'as "layers\.self_attn\.o_proj", which hold "layers\.mlp\.down_proj" now')


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--target", required=True, help="the CPU's description")
    parser.add_argument("--recompute", action="append")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--decode", action="store_true", help="prompts and steps of decoding")
    parser.add_argument("--once", action="store_true", help="each plan that no proof allows runs once")
    parser.add_argument("--emit-unproved")
    parser.add_argument("--installation", help="with --emit-unproved")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

"""ZeRO-3's gathers of weights, ahead and right before each layer.

With --zero=3 the weights of layer k + 1 are gathered while layer k computes, in both
directions, as a run's trace shows: on each rank that gather has begun, and ended, before
the layer's last task ends, and in the last iteration there is none. What they come to
and how many bytes are sent is the same with --gathered-layers=1. Of gathered weights
there are exactly as many layers in memory as the flag says.
"""

import argparse
import json
import os
import random
import re

import programs
from data_parallel import LENGTH, SEQUENCES, Trainer, same
from programs import expect, run
from training import read_tensors, write_tokens

RANKS = 2


def moved(traffic):
    """Bytes by what they are for."""
    result = {}
    for collective in traffic["collectives"]:
        key = collective["operation"]
        result[key] = result.get(key, 0) + sum(collective["sent"])
    return result


def check_trace(path, layers):
    with open(path) as file:
        tasks = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "task"]
    found = 0
    for rank in {task["pid"] for task in tasks}:
        segments = sorted({task["args"]["segment"] for task in tasks if task["args"]["segment"].startswith("layers")})
        expect(len(segments) == 2, f"{path} has {segments}, expected a stack forward and one backward")
        for segment in segments:
            own = [task for task in tasks if task["pid"] == rank and task["args"]["segment"] == segment]
            for iteration in range(layers - 1):
                here = [task for task in own if task["args"]["iteration"] == iteration]
                gathers = [task for task in here if task["name"].startswith("layers.parameters")]
                expect(gathers, f"rank {rank}, {segment} {iteration}: no gather in {path}")
                last = max(task["ts"] + task["dur"] for task in here)
                for gather in gathers:
                    expect(gather["ts"] + gather["dur"] < last,
                           f"rank {rank}, {segment}: {gather} ends behind iteration {iteration}, {last}")
                    found += 1
    print(f"{found} gathers began, and ended, while the layer before computed")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    draw = random.Random(3)
    write_tokens(path("tokens.u16"),
                 (draw.randrange(config["vocab_size"]) for _ in range(4 * SEQUENCES * (LENGTH + 1))))
    mesh = f"--mesh=dp={RANKS}"
    ahead = Trainer(arguments, scratch, "ahead", mesh, "--zero=3")
    before = Trainer(arguments, scratch, "before", mesh, "--zero=3", "--gathered-layers=1")
    batch = ["--batch", SEQUENCES]
    wanted = before.train(3, *batch)
    found = ahead.train(3, *batch, "--workers", 2 * RANKS, "--trace", path("trace.json"))
    same("gathered ahead", wanted, found)
    same("gathered ahead, one worker a rank", wanted, ahead.train(3, *batch, "--workers", RANKS))
    same("gathered ahead, three workers a rank", wanted, ahead.train(3, *batch, "--workers", 3 * RANKS))
    expect(moved(found[3]) == moved(wanted[3]), f"sent {moved(found[3])}, with one layer {moved(wanted[3])}")
    check_trace(path("trace.json"), config["num_hidden_layers"])

    # A layer's weights more; what activations need is up to what may share memory.
    layer = sum(4 * len(values) for name, (_, _, values) in read_tensors(wanted[1]).items()
                if re.search(r"[.]0[.]", name))
    needs = [json.loads(run([trainer.program, "info", "--json"]).stdout)["training_memory"]
             for trainer in (before, ahead)]
    more = {use: needs[1][use] - needs[0][use] for use in needs[1]}
    expect(more["exchange"] == layer and not any(more[use] for use in ("parameter", "gradient", "optimizer")),
           f"{needs}, expected {layer} bytes more of what is gathered")
    print(f"the same bits and bytes; one layer more in memory: {layer} bytes")

    for flags, message in ((["--gathered-layers=1"], "--gathered-layers=1: weights that ranks gather are those of --zero=3"),
                           ([mesh, "--zero=2", "--gathered-layers=2"], "--gathered-layers=2: weights that ranks gather"),
                           ([mesh, "--zero=3", "--gathered-layers=3"], "--gathered-layers=3 is unknown")):
        result = run([arguments.batonc, arguments.folder, "--mode=train", "-o", path("refused"), *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr, f"{flags}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

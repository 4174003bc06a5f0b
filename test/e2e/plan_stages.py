"""batonc plan stages: its plans are compiled and train, and beat those of one kind of device.

With --alike, the printed flags make a program that trains as one rank does. Devices of
two kinds make a plan that is faster than the best one of either. An interrupted search
prints the best so far, and what does not fit is refused in one line.
"""

import argparse
import json
import os
import re

import programs
from data_parallel import LENGTH, Trainer, compare
from planned import DEVICE
from programs import expect, run
from training import write_tokens

BATCH = 2


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)

    def device(name, **fields):
        with open(path(name), "w") as file:
            json.dump(DEVICE | fields, file)
        return path(name)

    fast = device("fast.json", matmul_tflops=0.002)
    slow = device("slow.json")

    def plan(*flags, rows=256):
        command = [arguments.batonc, "plan", "stages", arguments.folder, "--mode=train", "--dtype=f32",
                   "--rows", rows, "--quiet", *flags]
        answer = json.loads(run([*command, "--json"]).stdout)
        stages = answer["stages"]
        expect([stage["layers"][0] for stage in stages] == [0] + [stage["layers"][1] for stage in stages[:-1]]
               and stages[-1]["layers"][1] == answer["layers"], f"{answer}")
        times = [stage["seconds"] for stage in stages]
        step = sum(times) + (answer["microbatches"] - 1) * max(times)
        expect(abs(answer["seconds"] / step - 1) < 1e-12, f"{answer}: expected {step} s")
        expect(f"{answer['layers']} layers" in run(command).stdout, f"{flags}: no table")
        return answer

    # More microbatches than layers, on devices that each do half of a layer's work alone.
    both = plan("--devices", f"{fast}:1x1", "--devices", f"{slow}:1x1", "--step-microbatches", 32)
    alone = [plan("--devices", f"{kind}:1x1", "--step-microbatches", 32) for kind in (fast, slow)]
    expect(both["seconds"] < 0.85 * min(answer["seconds"] for answer in alone), f"{both}, of one kind {alone}")
    expect({stage["device"] for stage in both["stages"]} == {fast, slow}, f"{both}")
    layers = {stage["device"]: stage["layers"][1] - stage["layers"][0] for stage in both["stages"]}
    expect(layers[fast] > layers[slow], f"{both}")

    # What is printed for batonc trains. Links that cost much keep devices in stages of their own.
    far = device("far.json", link_gb_per_s=0.001)
    alike = plan("--devices", f"{far}:1x2", "--alike", "--step-microbatches", 3)
    flags = alike["flags"].split()
    expect("--mesh=pp=2" in flags and any(flag.startswith("--pipeline-cuts=") for flag in flags), f"{alike}")
    write_tokens(path("tokens.u16"), ((7 * i * i + i // 5) % arguments.vocabulary
                                      for i in range(24 * BATCH * (LENGTH + 1))))
    flags.remove("--mode=train")
    one = Trainer(arguments, scratch, "one").train(1, "--batch", BATCH, "--accumulate", 3)
    compare(" ".join(flags), one, Trainer(arguments, scratch, "many", *flags).train(1, "--batch", BATCH))

    page = path("plan.html")
    plan("--devices", f"{fast}:1x2", "--html", page)
    with open(page) as file:
        expect("stage 0" in file.read(), "no page")

    def refused(message, *flags):
        result = run([arguments.batonc, "plan", "stages", arguments.folder, "--mode=train", "--quiet", *flags],
                     check=False)
        expect(result.returncode == 1 and len(result.stderr.splitlines()) == 1 and
               re.search(message, result.stderr), f"expected {message}: {result}")

    small = device("small.json", memory_gb=1e-5)
    refused(r"no plan fits the devices' memory: with one layer a stage the largest stage takes .* MB of a device",
            "--devices", f"{small}:1x2")
    refused("expected NAME:NODESxDEVICES", "--devices", f"{fast}:1x3")
    refused("--devices is required", "--rows", 1)
    refused("--mesh: plan stages finds one", "--devices", f"{fast}:1x2", "--mesh=tp=2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--vocabulary", type=int, default=131)
    parser.add_argument("folder", help="of three layers")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

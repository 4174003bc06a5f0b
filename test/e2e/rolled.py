"""What batonc writes depends on its input alone, and does not grow with depth.

- the same model with 4 and with 96 layers: objects of the same size to within
  1 %, and plans that differ in nothing but the numbers of layers (of a program
  that trains: plans of the same phases);
- compiled twice, from another folder and under another name: the same bytes.

batonc never reads weights, so that a config.json is a checkpoint here. What trains is compiled
quickly: what decodes shows that optimizing keeps both.
"""

import argparse
import json
import os
import re
import time

import programs
from programs import QUICK, expect, run

SHALLOW, DEEP = 4, 96


def with_layers(folder, layers, scratch):
    """The model in `folder` with another number of layers; its new folder."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    names = [name for name in ("num_hidden_layers", "n_layer") if name in config]
    expect(len(names) == 1, f"{folder}: no number of layers in config.json")
    config[names[0]] = layers
    # One name for all depths: it becomes part of the program.
    result = os.path.join(scratch, str(layers), "model")
    os.makedirs(result)
    with open(os.path.join(result, "config.json"), "w") as file:
        json.dump(config, file)
    return result


def without_depth(plan):
    """The plan's text without what may depend on the number of layers."""
    for name in ("repeat ", "layers ", "layers = "):
        plan = re.sub(rf"\b{name}\d+", f"{name}N", plan)
    # A state has room for every layer.
    return re.sub(r"(event\.storage @\w+_memory bytes) \d+(?=\n *event\.buffer @\S+ state)",
                  r"\1 N", plan)


def phases_of(plan):
    return re.findall(r'event\.(?:segment|phase) "([^"]*)"', plan)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    quick = [QUICK] if arguments.mode == "train" else []
    batonc = [os.path.abspath(arguments.batonc), f"--mode={arguments.mode}", *quick]
    folders = {layers: with_layers(arguments.folder, layers, scratch)
               for layers in (SHALLOW, DEEP)}

    sizes, plans = {}, {}
    for layers, folder in folders.items():
        start = time.monotonic()
        run([*batonc, folder, "--emit=object", "-o", path("object.o")])
        seconds = time.monotonic() - start
        sizes[layers] = os.path.getsize(path("object.o"))
        plans[layers] = run([*batonc, folder, "--emit=event"]).stdout
        print(f"{layers} layers: {sizes[layers]} bytes of object, {seconds:.2f} s")
    expect(abs(sizes[DEEP] - sizes[SHALLOW]) <= 0.01 * sizes[SHALLOW],
           f"objects grow with depth: {sizes}")
    expect(plans[DEEP] != plans[SHALLOW] and f"repeat {DEEP}" in plans[DEEP],
           "the plans do not state their depth")
    phases = {layers: phases_of(plan) for layers, plan in plans.items()}
    expect(phases[SHALLOW] and phases[SHALLOW] == phases[DEEP], f"phases differ: {phases}")
    # (An update takes all layers together: its tiles are of their number.)
    if arguments.mode == "decode":
        lines = {layers: without_depth(plan).split("\n") for layers, plan in plans.items()}
        for shallow, deep in zip(lines[SHALLOW], lines[DEEP]):
            expect(shallow == deep, f"plans differ with depth:\n{shallow}\n{deep}")
        expect(len(lines[SHALLOW]) == len(lines[DEEP]), "the deep plan is longer")

    written = []
    for number, (folder, output) in enumerate(
            [("a", "program"), ("b", "another-name")]):
        working = path(f"{number}-{folder}")
        os.makedirs(working)
        run([*batonc, folders[SHALLOW], "-o", output, "--quiet"], cwd=working)
        with open(os.path.join(working, output), "rb") as file:
            written.append(file.read())
    for other in written[1:]:
        expect(other == written[0], "the same input gave another executable")
    print(f"executables of {len(written[0])} bytes are the same")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--mode", default="decode")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)

"""Models with hyper-connections that tools/random-checkpoint begins.

- one begins near the same model without them, in every mode;
- one of four streams learns: its loss falls by half, and what was trained decodes;
- gradients reach every parameter of the hyper-connections;
- a config that asks for what there is not is refused in one line.
"""

import argparse
import json
import os
import struct
import subprocess
import sys

import programs
from programs import QUICK, Program, expect, run

TEXT = "The baton goes from hand to hand, and nobody waits for a whistle. " * 60


def logits_of(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


def gradients_of(path):
    """Name -> largest magnitude, of an F32 safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: max(map(abs, struct.unpack(
        f"<{(entry['data_offsets'][1] - entry['data_offsets'][0]) // 4}f",
        data[slice(*entry["data_offsets"])]))) for name, entry in header.items()}


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)

    def checkpoint(name, *flags):
        run([sys.executable, arguments.random_checkpoint, path(name), "--hidden", 64,
             "--layers", 2, *flags])
        return path(name)

    tokens = list(TEXT.encode()[:48])
    ordinary = Program(arguments.batonc, checkpoint("ordinary"), path("ordinary-program"))
    ordinary.logits(tokens, path("ordinary.npy"))
    expected = logits_of(path("ordinary.npy"))
    largest = max(map(abs, expected))
    for mixing in ("sinkhorn", "identity", "free"):
        folder = checkpoint(mixing, "--streams", 4, "--mixing", mixing)
        program = Program(arguments.batonc, folder, path(mixing + "-program"))
        program.logits(tokens, path("hyper.npy"))
        distance = max(abs(a - b) for a, b in
                       zip(logits_of(path("hyper.npy")), expected, strict=True)) / largest
        print(f"{mixing}: begins {distance:.1e} from the model without streams")
        expect(0 < distance < 0.1, f"{mixing}: begins {distance} from the model without streams")

    with open(path("text.txt"), "w") as file:
        file.write(TEXT)
    folder, trainer = path("sinkhorn"), path("trainer")
    run([arguments.batonc, folder, "--mode=train", QUICK, "--quiet", "-o", trainer])
    result = run([trainer, "train", "--weights", folder, "--data", path("text.txt"), "--steps", 30,
                  "--batch", 4, "--seq", 32, "--lr", 3e-3, "--out", path("run"), "--quiet",
                  "--validation-fraction", 0])
    losses = [json.loads(line)["loss"] for line in result.stdout.splitlines()]
    print(f"loss: {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps")
    expect(losses[-1] < losses[0] / 2, f"the loss went from {losses[0]} to {losses[-1]}")
    trained = Program(arguments.batonc, path("run/step-30"), path("trained"))
    trained.generate(tokens[:8], 4)

    # Streams that are still alike hide how they mix; trained ones are not.
    run([trainer, "train", "--weights", path("run/step-30"), "--data", path("text.txt"),
         "--steps", 1, "--batch", 2, "--seq", 32, "--out", path("once"), "--quiet",
         "--validation-fraction", 0, "--gradients", path("gradients")])
    hyper = {name: size for name, size in gradients_of(path("gradients")).items() if "hc" in name}
    expect(len(hyper) == 3 * 5, f"gradients of {len(hyper)} parameters of 5 connections")
    for name, size in hyper.items():
        expect(size > 0, f"no gradient reaches {name}")

    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    for change, message in (
        ({"streams": 9}, "'hyper_connections.streams' is 9, expected 1 to 8"),
        ({"mode": "sinkhorn-knopp"}, "expected sinkhorn, identity or free"),
        ({"iterations": 0}, "'hyper_connections.iterations' is 0, expected 1 to 64"),
    ):
        wrong = path("wrong")
        os.makedirs(wrong, exist_ok=True)
        with open(os.path.join(wrong, "config.json"), "w") as file:
            json.dump({**config, "hyper_connections": {"streams": 4, **change}}, file)
        result = subprocess.run([arguments.batonc, wrong, "-o", path("refused")],
                                capture_output=True, text=True)
        expect(result.returncode == 1 and message in result.stderr
               and result.stderr.count("\n") == 1, f"{change}: {result.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--random-checkpoint", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

"""However a training run ends, it goes on as if it had not.

- Killed at any moment, also while it saves, again and again, and resumed each
  time: the lines, weights and optimizer's states of a run that nobody disturbs.
- A full disk, data that is cut short or of another vocabulary, and numbers that
  are not finite end it with one line that names what is at fault; the last
  checkpoint is as it was.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import programs
from endings import SmallDisk
from programs import QUICK, expect, run
from training import write_tokens

STEPS = 24
RATE = "tokens_per_s"


class Fixture:
    def __init__(self, arguments, scratch):
        self.golden = arguments.folder
        self.scratch = scratch
        self.tokens = self.path("tokens.u16")
        write_tokens(self.tokens, [(7 * i + i // 13) % 97 for i in range(4096)])
        self.program = self.path("program")
        run([arguments.batonc, self.golden, "--mode=train", QUICK, "--quiet", "-o", self.program])

    def path(self, name):
        return os.path.join(self.scratch, name)

    def command(self, out, *more, data=None, weights=None, steps=STEPS, rate=("--lr", 3e-3)):
        return [str(word) for word in
                (self.program, "train", "--weights", weights or self.golden, "--data", data or self.tokens,
                 "--batch", 2, "--accumulate", 2, "--seq", 32, *rate, "--steps", steps, "--out", out, "--quiet", *more)]

    def refused(self, message, *arguments, **options):
        """Ends in one line that holds the message; returns the lines before it."""
        result = run(self.command(*arguments, **options), check=False)
        lines = result.stderr.strip().splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and lines[0].startswith("error: ")
               and message in lines[0], f"expected '{message}', got {result}")
        return lines[0], parse(result.stdout)


def parse(text):
    """Lines of steps; what a kill has cut off is left out."""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    for line in lines:
        del line[RATE]
    return lines


def checkpoint(folder):
    """What a checkpoint holds, by file."""
    contents = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            contents[name] = file.read()
    return contents


def steps_of(folder):
    return sorted(int(name[5:]) for name in os.listdir(folder)
                  if name.startswith("step-") and name[5:].isdigit())


def kills(fixture):
    """SIGKILL at random moments, of which some lie within a save."""
    flags = ("--save-every", 1, "--validate-every", 3)
    begin = time.monotonic()
    whole = parse(run(fixture.command(fixture.path("whole"), *flags)).stdout)
    seconds = time.monotonic() - begin
    expect([line["step"] for line in whole] == list(range(1, STEPS + 1)), f"steps: {whole}")
    expect([line["step"] for line in whole if "validation_loss" in line] == list(range(3, STEPS + 1, 3)),
           f"validates elsewhere: {whole}")
    by_step = {line["step"]: line for line in whole}
    generator = random.Random(20)
    killed = within_save = 0
    for attempt in range(4):
        out = fixture.path(f"killed-{attempt}")
        for start in range(100):
            resumes = os.path.isdir(out) and steps_of(out)
            if resumes and steps_of(out)[-1] == STEPS:
                break
            process = subprocess.Popen(
                fixture.command(out, *flags, *(["--resume"] if resumes else [])),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if start % 2 == 0:
                # While a checkpoint is half written: at its n-th file.
                files = generator.randrange(1, 6)
                unfinished = lambda: [name for name in os.listdir(out) if name.endswith(".tmp")]

                def is_saving():
                    try:
                        return any(len(os.listdir(os.path.join(out, name))) >= files
                                   for name in unfinished())
                    except OSError:
                        return False

                # In some save, not the first one.
                for _ in range(generator.randrange(1, 4)):
                    while process.poll() is None and is_saving():
                        pass
                    while process.poll() is None and not is_saving():
                        pass
            else:
                time.sleep(generator.uniform(0, seconds / 2))
            process.kill()
            said, complaint = process.communicate()
            expect(process.returncode in (-signal.SIGKILL, 0), f"run {start}: {process.returncode}, {complaint}")
            expect(not complaint, f"run {start}: {complaint}")
            killed += process.returncode != 0
            within_save += os.path.isdir(out) and any(name.endswith(".tmp") for name in os.listdir(out))
            for line in parse(said):
                expect(line == by_step[line["step"]], f"after {start} kills: {line}, expected {by_step[line['step']]}")
        else:
            expect(False, "a run that is killed never ends")
        with open(os.path.join(out, "losses.jsonl")) as file:
            expect(parse(file.read()) == whole, "the history of losses differs after kills")
        for number in (STEPS - 1, STEPS):
            name = f"step-{number}"
            expect(checkpoint(os.path.join(out, name)) == checkpoint(os.path.join(fixture.path("whole"), name)),
                   f"{name} differs after kills")
        run(fixture.command(out, "--resume", steps=STEPS + 1))
        left = sorted(os.listdir(out))
        expect(left == ["latest", "loss.svg", "losses.jsonl", f"step-{STEPS}", f"step-{STEPS + 1}"],
               f"kills leave {left}")
    expect(killed >= 8 and within_save >= 2, f"{killed} kills, {within_save} of them within a save")
    print(f"{killed} kills, {within_save} within a save: the lines and checkpoints of an undisturbed run")


def disk(fixture):
    """A disk that takes some checkpoints, and not the next."""
    whole = parse(run(fixture.command(fixture.path("whole"), "--save-every", 1, steps=40)).stdout)
    size = sum(map(len, checkpoint(fixture.path("whole/step-40")).values()))
    small = SmallDisk(fixture, 2 + math.ceil(size / (1 << 20)))
    if not small.real:
        small.bytes = size // 8  # then not even one
    folder = os.path.join(small.folder, "run")
    command = fixture.command(folder, "--save-every", 1, "--keep", 0, steps=40)
    kept = fixture.path("kept")
    status, printed, said, left = small.run(
        ":", ["bash", "-c", f'"$@"; status=$?; cp -r {folder} {kept}; exit $status', "-", *command], folder)
    steps = steps_of(kept)
    expect(status == 1 and re.fullmatch(rf"error: {folder}/(step-{len(steps) + 1}\S*|latest|loss.svg|losses.jsonl): cannot be written: .*\n", said),
           f"full disk: {status}, {said}")
    expect(steps == list(range(1, len(steps) + 1)) and bool(steps) == small.real, f"full disk: left {left}")
    expect(set(left) <= {"latest", "loss.svg", "losses.jsonl", *(f"step-{step}" for step in steps)}, f"full disk: left {left}")
    expect(parse(printed) == whole[:len(parse(printed))], f"full disk: {printed}")
    if steps:
        rest = parse(run(fixture.command(kept, "--resume", steps=40)).stdout)
        expect(rest == whole[len(steps):], f"after a full disk: {rest}")
    print(f"full disk after {len(steps)} checkpoints: {said.strip()}")


def data(fixture):
    """Token files that are not what their name says, or not this model's."""
    path = fixture.path("odd.u16")
    with open(path, "wb") as file:
        file.write(bytes(8001))
    out = fixture.path("refused")
    fixture.refused(f"--data: {path}: its size, 8001 bytes, is no multiple of the 2 bytes", out, data=path)
    path = fixture.path("beyond.u16")
    write_tokens(path, [5] * 1000 + [60000] + [5] * 1000)
    fixture.refused(f"--data: {path}: the token 60000 is beyond the model's vocabulary", out, data=path)
    path = fixture.path("short.u16")
    write_tokens(path, [5] * 20)
    fixture.refused(f"--data: {path}: its 20 tokens are fewer than the one sequence", out, data=path)
    expect(not os.path.exists(out), "data that is refused leaves a folder")

    # Cut short while it is mapped: beyond what one page and small files keep.
    path = fixture.path("cut.u16")
    write_tokens(path, [(7 * i) % 97 for i in range(1 << 20)])
    process = subprocess.Popen(fixture.command(fixture.path("cut"), data=path, steps=100000),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    os.truncate(path, 0)
    said = process.communicate(timeout=300)[1]
    expect(process.returncode == 1 and said.startswith("error: a file was cut short") and said.count("\n") == 1,
           f"cut short: status {process.returncode}, {said!r}")
    print("data that is cut short, or another model's, is refused")


def edit_weights(fixture, name, edit):
    """A copy of the checkpoint, in which one tensor's bytes are edited."""
    folder = fixture.path("edited")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(fixture.golden, folder, ignore=shutil.ignore_patterns(".baton", "gradients.json"))
    path = os.path.join(folder, "model.safetensors")
    with open(path, "r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(size))[name]
        begin, end = entry["data_offsets"]
        expect(entry["dtype"] == "F32", f"{name} is {entry['dtype']}")
        file.seek(8 + size + begin)
        values = list(struct.unpack(f"<{(end - begin) // 4}f", file.read(end - begin)))
        file.seek(8 + size + begin)
        file.write(struct.pack(f"<{len(values)}f", *edit(values, entry["shape"])))
    return folder


def not_finite(fixture):
    """Infinities and NaNs are found where they begin."""
    def planted(values, shape):
        for index in (3 * shape[1] + 7, 5 * shape[1]):
            values[index] = math.nan
        return values

    out = fixture.path("nan")
    name = "model.layers.1.mlp.down_proj.weight"
    said, lines = fixture.refused(
        f"the loss is not finite: the parameter {name} holds nan at [3, 7], the first of 2 of its", out,
        weights=edit_weights(fixture, name, planted))
    expect(not lines and not steps_of(out), f"{said}: {lines}, {os.listdir(out)}")
    print(said)

    # Finite themselves, but not what is computed with them.
    for name, layer, op in (("model.layers.1.mlp.down_proj.weight", 1, "down_proj"),
                            ("model.layers.0.self_attn.v_proj.weight", 0, "attn")):
        out = fixture.path("huge-" + op)
        said, lines = fixture.refused(
            "all parameters are finite", out,
            weights=edit_weights(fixture, name, lambda values, shape: [3e38 if value > 0 else -3e38 for value in values]))
        expect(f" of layer {layer}, whose result " in said and op in said.split(" of layer ")[0],
               f"{name} of 3e38: {said}")
        expect(not lines and not steps_of(out), f"{said}: {lines}, {os.listdir(out)}")
        print(said)

    # Updates that are too large: the last checkpoint is from before them.
    kept = parse(run(fixture.command(fixture.path("kept"), "--save-every", 1, steps=2)).stdout)
    before = checkpoint(fixture.path("kept/step-2"))
    # With the smaller rate gradients are what overflows first: a step that is
    # not finite changes no parameter, so that all of them still are.
    for rate, found in ((2e38, "the parameter "), (1e25, "all parameters are finite")):
        out = fixture.path(f"rate-{rate}")
        shutil.copytree(fixture.path("kept"), out)
        said, lines = fixture.refused("is not finite: ", out, "--save-every", 100, "--resume", steps=20,
                                      rate=("--lr", rate, "--lr-schedule", "constant", "--clip", 0))
        expect(found in said, said)
        expect(len(kept) == 2 and lines and f" step {lines[-1]['step'] + 1}: " in said, f"{said} after {lines}")
        expect(steps_of(out) == [1, 2] and checkpoint(os.path.join(out, "step-2")) == before,
               f"{said}: {os.listdir(out)}, or another checkpoint")
        print(said)

    # The same, where every step is saved, and the update itself is what overflows.
    out = fixture.path("overflow")
    name = "model.layers.1.mlp.down_proj.weight"
    weights = edit_weights(fixture, name, lambda values, shape: [9 if value > 0 else -9 for value in values])
    said, lines = fixture.refused("step 1: after its update the parameter ", out, "--save-every", 1, weights=weights,
                                  steps=4, rate=("--lr", 3e38, "--lr-schedule", "constant"))
    expect([line["step"] for line in lines] == [1] and not steps_of(out), f"{said}: {lines}, {os.listdir(out)}")
    print(said)


CASES = {case.__name__: case for case in (kills, disk, data, not_finite)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    programs.main(lambda scratch: CASES[arguments.case](Fixture(arguments, scratch)))

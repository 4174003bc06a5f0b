"""Training whose products multiply in BF16 or F16, with weights in F32.

Loss and gradients lie within two units in the type's last place of PyTorch's in
F64 with operands rounded the same way: an element that F32 moves across a tie is
a whole unit off, and reaches others. They are nearer to those than to gradients
of unrounded operands, and the same bits for other numbers of workers. Losses fall
as in F32. In F16 a scale that makes gradients infinite is halved: the step changes
nothing and counts as none for the optimizer, and a run that is resumed goes on with
the scale, also when it was resumed in BF16 in between.
"""

import argparse
import json
import os
import shutil

import programs
from programs import QUICK, expect, run
from training import Golden, gradient_errors, lines_of, read_bytes, read_tensors, write_tokens


def fails(command):
    """The one line of a command that ends with an error."""
    result = run(command, check=False)
    lines = result.stderr.splitlines()
    expect(result.returncode == 1 and len(lines) == 1, f"{command}: {result}")
    return lines[0]


# Two units in the last place of a number just above 1.
BOUND = {"bf16": 2**-6, "f16": 2**-9}


class Case:
    def __init__(self, arguments, scratch):
        self.batonc, self.folder, self.scratch = arguments.batonc, arguments.folder, scratch
        self.golden = Golden(self.folder)
        self.rounded = Golden(self.folder, "rounded.json")
        self.golden.write_tokens(self.path("tokens.u16"))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, dtype):
        self.program = self.path(dtype)
        run([self.batonc, self.folder, "--mode=train", QUICK, f"--dtype={dtype}", "--quiet", "-o", self.program])
        info = json.loads(run([self.program, "info", "--json"]).stdout)
        expect(info["model"]["dtype"] == dtype, f"info: {info['model']}")

    def command(self, out, *flags):
        data = [] if "--data" in flags else ["--data", self.path("tokens.u16"), *self.golden.batch]
        data += [] if "--validation-fraction" in flags else ["--validation-fraction", 0]
        return [self.program, "train", "--weights", self.folder, "--out", self.path(out), *data,
                *self.golden.sequence, "--quiet", *flags]

    def train(self, out, *flags, keep=False):
        if not keep:
            shutil.rmtree(self.path(out), ignore_errors=True)
        return lines_of(run(self.command(out, *flags)).stdout)

    def bytes(self, name):
        return read_bytes(self.path(name))


def gradients(case, dtype):
    reference = case.rounded[dtype]
    line = case.train("run", "--steps", 1, "--gradients", case.path("one"), "--workers", 1)[0]
    again = case.train("run", "--steps", 1, "--gradients", case.path("three"), "--workers", 3)[0]
    expect(case.bytes("one") == case.bytes("three"), f"{dtype}: 3 workers: other gradients")
    expect(line["loss"] == again["loss"], f"{dtype}: 3 workers: another loss")
    expect(abs(line["loss"] / reference["loss"] - 1) < BOUND[dtype] / 16,
           f"{dtype}: the loss is {line['loss']}, PyTorch's {reference['loss']}")
    found = read_tensors(case.path("one"))
    worst, nearer = 0.0, 0
    for (tensor, _, error), (_, _, unrounded) in zip(
            gradient_errors(found, reference["tensors"]),
            gradient_errors(found, {name: case.golden["tensors"][name] for name in reference["tensors"]})):
        expect(error < BOUND[dtype], f"{dtype}: {tensor} is off by {error:.2e}")
        worst = max(worst, error)
        nearer += error < unrounded
    expect(nearer == len(reference["tensors"]),
           f"{dtype}: only {nearer} gradients are nearer to PyTorch's with rounded operands")
    print(f"{dtype}: gradients of {nearer} tensors, worst error {worst:.2e}")


def learning(case, dtype):
    lines = case.train("run", "--steps", 50, "--lr", 1e-3, "--lr-schedule", "constant",
                       "--set", "weight_decay=0.1")
    first, last = case.golden["losses"][0], case.golden["losses"][-1]
    for line, loss in zip(lines, case.golden["losses"], strict=True):
        expect(abs(line["loss"] - loss) < 0.02 * first,
               f"{dtype}: step {line['step']}: the loss is {line['loss']}, {loss} in F32")
    print(f"{dtype}: 50 steps of AdamW: {lines[0]['loss']:.3f} to {lines[-1]['loss']:.3f}, "
          f"in F32 to {last:.3f}")


def scaling(case):
    # One sequence, so that all steps have the same rows in the same order.
    write_tokens(case.path("one.u16"), case.golden["sequences"][0])
    data = ("--data", case.path("one.u16"), "--batch", 1)
    flags = (*data, "--lr-schedule", "constant", "--save-every", 1, "--keep", 0)
    # The largest scale without an infinity in the first step.
    scale = 2.0**32
    while scale > 1:
        line = case.train("search", "--steps", 1, "--loss-scale", scale, *data)[0]
        expect(line["loss_scale"] == scale, f"the scale is {line['loss_scale']}, not {scale}")
        if not line.get("skipped"):
            break
        expect(line["grad_norm"] is None, f"skipped, but the norm is {line['grad_norm']}")
        scale /= 2
    expect(1 < scale < 2.0**32, f"scale {scale}: no overflow to test with")
    lines = case.train("scaled", "--steps", 4, "--loss-scale", 2 * scale, *flags)
    skipped = [line["step"] for line in lines if line.get("skipped")]
    expect(skipped == [1], f"skipped steps {skipped}, not the first one only")
    expect([line["loss_scale"] for line in lines] == [2 * scale] + [scale] * 3,
           f"scales {[line['loss_scale'] for line in lines]}")
    stored = {name: values for name, (_, _, values)
              in read_tensors(os.path.join(case.folder, "model.safetensors")).items()}
    for name, (_, _, values) in read_tensors(case.path("scaled/step-1/model.safetensors")).items():
        expect(values == stored[name], f"the skipped step changed {name}")
    for name, (_, _, values) in read_tensors(case.path("scaled/step-1/optimizer.safetensors")).items():
        expect(not any(values), f"the skipped step changed {name}")
    # The step after the skipped one is what the first would have been, to the
    # bit, its number in AdamW's correction included.
    plain = case.train("plain", "--steps", 3, "--loss-scale", scale, *flags)
    expect([line["loss"] for line in plain] == [line["loss"] for line in lines[1:]],
           "other losses than without the skipped step")
    for step in (1, 2, 3):
        for file in ("model", "optimizer"):
            expect(case.bytes(f"plain/step-{step}/{file}.safetensors")
                   == case.bytes(f"scaled/step-{step + 1}/{file}.safetensors"),
                   f"step {step}: another {file} than without the skipped step")
    # Resumed right after it.
    for name in ("step-2", "step-3", "step-4"):
        shutil.rmtree(case.path(f"scaled/{name}"))
    os.remove(case.path("scaled/latest"))
    resumed = case.train("scaled", "--steps", 4, "--resume", *flags, keep=True)
    for one, other in zip(resumed, lines[1:], strict=True):
        expect({**one, "tokens_per_s": 0} == {**other, "tokens_per_s": 0}, f"resumed: {one}, not {other}")
    expect("leave the flag out" in fails(case.command("scaled", "--steps", 5, "--resume", *flags,
                                                      "--loss-scale", 2)), "a second scale")
    # In BF16 and back: what the scale was stays known, and updates stay counted.
    case.program = case.path("bf16")
    between = case.train("scaled", "--steps", 5, "--resume", *flags, keep=True)[0]
    expect("loss_scale" not in between, f"bf16: {between}")
    case.program = case.path("f16")
    back = case.train("scaled", "--steps", 6, "--resume", *flags, keep=True)[0]
    expect(back["loss_scale"] == scale, f"back from bf16: {back}")
    with open(case.path("scaled/step-6/state.json")) as file:
        state = json.load(file)["extra"]["loss_scale"]
    expect(state == {"value": scale, "good_steps": 4, "skipped_steps": 1}, f"back from bf16: {state}")
    for bad in (0, 3, -1, 2**33, "inf"):
        expect("--loss-scale" in fails(case.command("bad", "--steps", 1, "--loss-scale", bad)), f"{bad}")
    print(f"scale {2 * scale:g}: one step skipped")


def test(arguments, scratch):
    case = Case(arguments, scratch)
    for dtype in ("bf16", "f16"):
        case.compile(dtype)
        gradients(case, dtype)
        line = case.train("run", "--steps", 1, "--validate-every", 1, "--validation-fraction", 0.4)[0]
        expect(0.5 < line["validation_loss"] / line["loss"] < 2, f"{dtype}: {line}")
        if "losses" not in case.golden:
            continue
        learning(case, dtype)
        if dtype == "f16":
            scaling(case)
        else:
            line = case.train("run", "--steps", 1)[0]
            expect("loss_scale" not in line, f"bf16: {line}")
            expect("--dtype=f16" in fails(case.command("bad", "--steps", 1, "--loss-scale", 2)), "bf16")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

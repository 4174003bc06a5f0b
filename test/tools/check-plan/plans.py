"""check-plan accepts what batonc plans of a golden checkpoint, to decode and to train, on one
rank and several; and no plan from which a phase's waits were taken."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

TRAIN = "--mode=train"
# Flags of batonc, by name. What a checkpoint's shapes do not allow is refused.
MODES = {
    "decode": [],
    "split": ["--target-file={sizes}"],
    "decode-tp": ["--mesh=tp=2"],
    "decode-pp": ["--mesh=pp=2"],
    "decode-ep": ["--mesh=ep=2"],
    "decode-ep5": ["--mesh=ep=5"],
    "decode-experts": ["--mesh=tp=2", "--tensor-parallel=experts"],
    "cuda": ["--target=cuda:emulated"],
    "train": [TRAIN],
    "recompute": [TRAIN, "--recompute=full"],
    "selective": [TRAIN, "--recompute=selective"],
    "muon": [TRAIN, "--optimizer=muon"],
    "lion": [TRAIN, "--optimizer=lion"],
    "bf16": [TRAIN, "--dtype=bf16"],
    "cuda-train": [TRAIN, "--target=cuda:emulated"],
    "dp": [TRAIN, "--mesh=dp=2"],
    "dp4": [TRAIN, "--mesh=dp=4"],
    "zero1": [TRAIN, "--mesh=dp=2", "--zero=1"],
    "zero1-muon": [TRAIN, "--mesh=dp=2", "--zero=1", "--optimizer=muon"],
    "zero2": [TRAIN, "--mesh=dp=2", "--zero=2"],
    "zero3": [TRAIN, "--mesh=dp=2", "--zero=3"],
    "zero3-alone": [TRAIN, "--mesh=dp=2", "--zero=3", "--gathered-layers=1"],
    "fsdp": [TRAIN, "--mesh=dp=2,fsdp=2", "--zero=2"],
    "tp": [TRAIN, "--mesh=tp=2"],
    "sequence": [TRAIN, "--mesh=tp=2", "--sequence-parallel"],
    "ep": [TRAIN, "--mesh=ep=2", "--expert-parallel=all-to-all"],
    "ep5": [TRAIN, "--mesh=dp=2,ep=5", "--expert-parallel=all-to-all"],
    "pp": [TRAIN, "--mesh=pp=2", "--microbatches=3"],
    "gpipe": [TRAIN, "--mesh=pp=2", "--pipeline=gpipe"],
    "interleaved": [TRAIN, "--mesh=pp=2", "--pipeline=interleaved:2", "--microbatches=2"],
    "zb-h1": [TRAIN, "--mesh=pp=2", "--pipeline=zb-h1", "--microbatches=4"],
    "zb-h2": [TRAIN, "--mesh=pp=2", "--pipeline=zb-h2", "--microbatches=5"],
    "dp-pp": [TRAIN, "--mesh=dp=2,pp=2"],
    "zero3-pp": [TRAIN, "--mesh=dp=2,pp=2", "--zero=3"],
    "tp-pp": [TRAIN, "--mesh=tp=2,pp=2"],
}

class Failure(Exception):
    """A test's verdict, in words."""


def emit(arguments, flags, path):
    """Whether there is such a plan of the checkpoint."""
    flags = [flag.format(sizes=path.parent / "sizes.json") for flag in flags]
    run = subprocess.run([arguments.batonc, arguments.folder, "--max-seq=90", *flags,
                          "--emit=plan-json", "-o", path], capture_output=True, text=True)
    if run.returncode == 0:
        return True
    if any(text in run.stderr for text in ("cannot be sharded", "cannot be tiled", "cannot be exchanged")):
        return False
    raise Failure(f"{flags}: {run.stderr}")


def judge(arguments, path, *flags):
    """The faults that it finds."""
    run = subprocess.run([arguments.check_plan, path, "--json", "--all", *flags], capture_output=True, text=True)
    if run.stderr or run.returncode not in (0, 1):
        raise Failure(f"check-plan says {run.returncode}: {run.stderr}")
    verdict = json.loads(run.stdout)
    if verdict["accepted"] != (run.returncode == 0) or not verdict["tasks"]:
        raise Failure(f"check-plan contradicts itself: {run.stdout}")
    return verdict["findings"]


def check_waits(arguments, path):
    """Each phase waits for something without which the plan is wrong."""
    plan = json.loads(path.read_text())
    for segment in plan["programs"][0]["segments"]:
        for phase in segment["phases"]:
            waits, phase["waits"] = phase["waits"], []
            path.write_text(json.dumps(plan))
            if waits and not judge(arguments, path, "--workers", "all", "--outputs", "1"):
                raise Failure(f"accepted without the waits of {phase['name']}")
            phase["waits"] = waits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--check-plan", required=True)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("modes", nargs="*")
    arguments = parser.parse_args()
    modes = list(MODES) if arguments.every else arguments.modes
    root = Path(__file__).resolve().parents[3]
    judged = 0
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "plan.json"
        sizes = json.loads((root / "compiler/targets/cpu.json").read_text())
        sizes |= {"max_rows": 16, "max_outputs": 16, "attention_split": 64}
        (path.parent / "sizes.json").write_text(json.dumps(sizes))
        for mode in modes:
            if not emit(arguments, MODES[mode], path):
                continue
            if faults := judge(arguments, path):
                raise Failure(f"{mode}: {len(faults)} faults, the first: {faults[0]['message']}")
            judged += 1
        if judged == 0:
            raise Failure("no plan was judged")
        emit(arguments, MODES["decode"], path)
        check_waits(arguments, path)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"failed: {failure}")

"""The parts of run.py that have ranks: `ranks/smoke`, NCCL with one rank that exchanges
with itself, between other work of a stream and held back on a second one; and
`ranks/CASE/PROGRAM`, a program of two ranks. Where there are as many GPUs its losses are
held against the CPU's program of two ranks; where there is one, NCCL refuses it, and the
program has to end with NCCL's words in one line."""

import os
import shutil
import sys

import training_parts

# batonc's flags, besides the mesh.
PROGRAMS = {"ranks": [], "ranks-overlapped": ["--exchanges=overlapped", "--nccl-sms=16"]}
RANKS = 2
CASES = ("gpt2-bf16",)
REFUSED = "Duplicate GPU detected"


def environment():
    """NCCL of PyTorch's packages, where no toolkit is installed."""
    if "BATON_NCCL" in os.environ:
        return {}
    for folder in sys.path:
        file = os.path.join(folder, "nvidia", "nccl", "lib", "libnccl.so.2")
        if os.path.exists(file):
            return {"BATON_NCCL": file}
    return {}


def absent(kit, line):
    """A verdict where there is no NCCL, or in a dry run no GPU for it."""
    missing = "was not found" in line or "no CUDA driver" in line
    if missing or (kit.dry and "starting NCCL" in line):
        return {"verdict": f"skipped: {line.removeprefix('error: ')}"}
    return None


def smoke(kit):
    result = kit.run(kit.path("nccl-smoke"), "smoke", check=False, environment=environment())
    line = result.stderr.strip()
    if result.returncode and (verdict := absent(kit, line)):
        return verdict
    return {"verdict": "right"} if result.returncode == 0 else {"verdict": f"WRONG: {line[-300:]}"}


def attempt(kit, name, program):
    folder, out = kit.path("cases", name), kit.path("run")
    shutil.rmtree(out, ignore_errors=True)
    result = kit.run(os.path.join(folder, program), "train", "--weights", os.path.join(folder, "checkpoint"), "--data",
                     os.path.join(folder, "tokens.u16"), "--out", out, *training_parts.FLAGS, "--rank-timeout", 30,
                     check=False, environment=environment())
    if result.returncode:
        line = result.stderr.strip()
        if verdict := absent(kit, line):
            return verdict
        # What one GPU comes to.
        refused = (result.returncode == 1 and line.startswith("error: rank ") and REFUSED in line
                   and "\n" not in line)
        return {"verdict": "right" if refused else f"WRONG: status {result.returncode}: {line[-300:]}",
                "refused": line}
    with open(os.path.join(folder, "ranks.lines")) as file:
        host = training_parts.lines_of(file.read())
    found = training_parts.lines_of(result.stdout)
    off = max((abs(mine[key] / theirs[key] - 1) for mine, theirs in zip(found, host) for key in ("loss", "grad_norm")),
              default=float("inf"))
    right = len(found) == len(host) and off <= training_parts.TOLERANCE
    return {"verdict": "right" if right else "WRONG", "difference": off}


def parts(about):
    if not about.get("ranks"):
        return
    yield "ranks/smoke", smoke
    for name in about["ranks"]:
        for program in PROGRAMS:
            yield f"ranks/{name}/{program}", lambda kit, a=(name, program): attempt(kit, *a)


def pack(kit, run, name, checkpoint, smoke_tool):
    """Programs of two ranks of a case that is packed, and what the CPU's say."""
    data = kit.place("cases", name, "tokens.u16")
    if not os.path.exists(data):
        training_parts.write_tokens(data, 2000, 90)
    flags = ["--mode=train", "--dtype=f32", f"--mesh=dp={RANKS}"]
    host = kit.place("cases", name, "host-ranks")
    kit.host_program(checkpoint, host, *flags)
    lines = run(host, "train", "--weights", checkpoint, "--data", data, "--out", host + ".run", *training_parts.FLAGS)
    with open(kit.place("cases", name, "ranks.lines"), "w") as file:
        file.write(lines)
    os.remove(host)
    shutil.rmtree(host + ".run")
    for program, more in PROGRAMS.items():
        kit.program(checkpoint, kit.place("cases", name, program), *flags, *more)
    shutil.copy(smoke_tool, kit.place("nccl-smoke"))

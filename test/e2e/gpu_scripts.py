"""test/gpu's scripts, dry: packed for the emulated device and run from the folder.

Every part runs as far as it can without a GPU, all verdicts are "right" or say what
was skipped, nothing is measured and report.py refuses to say otherwise. A run that
was cut goes on, a second one finds nothing left to do, and a checkpoint that was
changed makes a part fail, in its result and by status. A folder that is too large to
be brought anywhere is an error, and so is one that was not copied whole.
compute-sanitizer is a stand-in that runs the command.

With --brief one case is packed, and its program's correctness is all that is run.
"""

import argparse
import glob
import json
import os
import shutil
import stat
import sys

import programs
from programs import expect, run

# For tools/test --changed: what is packed and run, and what pack.py takes from the build.
INPUTS = ["test/gpu/*", "test/golden/*", "build/test/gpu/compile-cubin", "build/test/gpu/nccl-smoke",
          "build/test/codegen/cuda/library/CudaLibraryOracleTest", "build/test/codegen/cuda/library/CudaLibraryTest"]

# Of the family whose speed is measured, so that its graph is judged, too.
GRAPH_CASES = ["llama3-rope"]

SANITIZER = """#!/bin/sh
shift 4
"$@" || exit 99
echo "========= ERROR SUMMARY: 0 errors"
"""


def figures(result):
    """Keys that only a measurement has."""
    return set(result) & {"milliseconds", "best", "median", "seconds_by_variant", "costs"}


SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu")


def test_brief(arguments, scratch):
    folder, out = os.path.join(scratch, "packed"), os.path.join(scratch, "results.json")
    run([sys.executable, os.path.join(SCRIPTS, "pack.py"), arguments.batonc, folder, "--target=cuda:emulated",
         "--cases", arguments.case, "--trained-cases", "--shapes", "--trained"])
    part = f"correct/{arguments.case}/baton"
    run([sys.executable, os.path.join(folder, "run.py"), "--out", out, "--only", part],
        env=dict(os.environ, TMPDIR=scratch))
    with open(out) as file:
        parts = json.load(file)["parts"]
    expect(parts[part]["verdict"] == "right", f"{parts}")
    report = run([sys.executable, os.path.join(folder, "report.py"), out], check=False)
    expect(report.returncode == 1 and report.stderr == "error: nothing was measured: this was a dry run\n",
           f"a report of a dry run: {report.stdout}{report.stderr}")


def test(arguments, scratch):
    folder, out = os.path.join(scratch, "packed"), os.path.join(scratch, "results.json")
    run([sys.executable, os.path.join(SCRIPTS, "pack.py"), arguments.batonc, folder,
         "--target=cuda:emulated", "--cases", arguments.case, *GRAPH_CASES, "--trained-cases", arguments.case, "--shapes", "tiny",
         "--trained", "tiny-gpt2"])
    large = os.path.join(scratch, "large")
    result = run([sys.executable, os.path.join(SCRIPTS, "pack.py"), arguments.batonc, large, "--target=cuda:emulated",
                  "--cases", "--shapes", "--trained", "--most-bytes", 1000], check=False)
    expect(result.returncode == 1 and "more than the 1000 of --most-bytes" in result.stderr.splitlines()[-1],
           f"a folder that is too large: status {result.returncode}, {result.stderr}")
    bin = os.path.join(scratch, "bin")
    os.makedirs(bin)
    with open(os.path.join(bin, "compute-sanitizer"), "w") as file:
        file.write(SANITIZER)
        os.chmod(file.name, os.stat(file.name).st_mode | stat.S_IXUSR)
    environment = dict(os.environ, TMPDIR=scratch, BATON_CUBLASLT=arguments.cublaslt, BATON_NCCL=arguments.nccl,
                       PATH=bin + os.pathsep + os.environ["PATH"])
    script = [sys.executable, os.path.join(folder, "run.py"), "--out", out]
    # Rounds repeat; racecheck is memcheck's command.
    only = ["--only", "^(?!sanitizer/racecheck|.*/(1024|8192|32768|2048)/)", "--rounds", "1"]

    first = run(script + only + ["--minutes", "0.1"], check=False, env=environment)
    expect(first.returncode == 2 and "time is up" in first.stdout,
           f"a run that is cut: status {first.returncode}, {first.stdout}{first.stderr}")
    # However slow this machine is.
    result = run(script + only + ["--minutes", "600"], check=False, env=environment)
    expect(result.returncode == 0, f"status {result.returncode}: {result.stdout}{result.stderr}")
    with open(out) as file:
        parts = json.load(file)["parts"]
    for name, part in parts.items():
        expect(part["verdict"] == "right" or part["verdict"].startswith("skipped: "),
               f"{name}: {part}")
        expect(not figures(part), f"{name} has figures of a dry run: {part}")
        if name.startswith(("bodies/", "sanitizer/", f"correct/{arguments.case}", "correct/train/",
                            f"ranks/{arguments.case}")):
            expect(part["verdict"] == "right", f"{name}: {part}")
        if name.startswith(("floors/", "prefill/", "operators/", "decode/", "train/")):
            expect(part["verdict"].startswith("skipped: "), f"{name} is measured: {part}")
    expect(parts[f"correct/{GRAPH_CASES[0]}/graph"].get("is_persistent_bit_for_bit")
           and {f"{kind}/tiny/{size}/1/{engine}" for kind, size in (("decode", 128), ("prefill", 512))
                for engine in ("baton", "unfused", "graph")} <= set(parts), f"the graph's parts: {list(parts)}")
    judged = parts[f"correct/{GRAPH_CASES[0]}/cublaslt"]
    expect(judged["verdict"] == "right" and judged["repeats_in_one_chunk"] and "prefill/tiny/512/1/cublaslt" in parts
           and "decode/tiny/128/1/cublaslt" not in parts, f"cuBLASLt's parts: {judged}, {list(parts)}")
    listed = run(script + only + ["--list"]).stdout.split()
    expect(sorted(listed) == sorted(parts), f"parts are missing: {set(listed) - set(parts)}")
    again = run(script + only, env=environment).stdout
    expect(again == "a dry run: nothing is measured\n",
           f"the second run does not see the first one's results: {again}")

    # A folder that was not copied whole.
    half = os.path.join(scratch, "half")
    shutil.copytree(folder, half)
    os.truncate(os.path.join(half, "payload.tar.xz"), 5000)
    before = set(os.listdir(scratch))
    result = run([sys.executable, os.path.join(half, "run.py"), "--out", os.path.join(scratch, "half.json")],
                 check=False, env=environment)
    expect(result.returncode == 1 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
           and set(os.listdir(scratch)) == before, f"half an archive: status {result.returncode}, {result.stderr}")

    report = run([sys.executable, os.path.join(folder, "report.py"), out], check=False)
    expect(report.returncode == 1 and report.stderr == "error: nothing was measured: this was a dry run\n",
           f"a report of a dry run: {report.stdout}{report.stderr}")

    checkpoints = glob.glob(os.path.join(scratch, "baton-gpu-*", "cases", arguments.case, "checkpoint"))
    os.truncate(os.path.join(checkpoints[0], "model.safetensors"), 1000)
    damaged = f"correct/{arguments.case}/baton"
    result = run(script + ["--only", damaged, "--again", damaged], check=False, env=environment)
    with open(out) as file:
        part = json.load(file)["parts"][damaged]
    expect(result.returncode == 1 and part["verdict"] == "failed" and part["tries"] == 2,
           f"a damaged checkpoint: status {result.returncode}, {part}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--cublaslt", required=True, help="what stands for the library")
    parser.add_argument("--nccl", required=True, help="libnccl-whole.so")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("case")
    arguments = parser.parse_args()
    programs.main(lambda scratch: (test_brief if arguments.brief else test)(arguments, scratch))

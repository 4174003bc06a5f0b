"""Kernels for GPUs, compiled by NVRTC; no GPU is needed.

- a kernel compiles for sm_80 and sm_90a, and no register is spilled;
- the same input gives the same executable;
- where there is no CUDA driver the program says so, in one line.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import glob
import json
import os
import sys

import programs
from programs import Program, expect, run


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    for architecture in ("sm_80", "sm_90a"):
        target = f"--target=cuda:{architecture}"
        result = run([arguments.batonc, arguments.folder, "-o", path("program"), "--quiet", target],
                     check=False)
        if "NVRTC" in result.stderr and "was not found" in result.stderr:
            print(result.stderr.strip())
            sys.exit(77)
        expect(result.returncode == 0, result.stderr)
        program = path("program")
        device = json.loads(run([program, "info", "--json"]).stdout)["device"]
        print(architecture, device)
        expect(device["kind"] == f"cuda:{architecture}", "info names another device")
        expect(len(device["kernels"]) == 2, "not one kernel for few rows and one for many")
        for kernel in device["kernels"]:
            expect(kernel["registers"] > 0, "NVRTC says nothing of registers")
            expect(kernel["spilled_bytes"] == 0, f"{architecture}: registers are spilled")
        again = Program(arguments.batonc, arguments.folder, path("again"), target, "--no-cache")
        with open(program, "rb") as one, open(again.path, "rb") as other:
            expect(one.read() == other.read(), f"{architecture}: two compilations differ")

    if not glob.glob("/dev/nvidia[0-9]*"):
        result = run([program, "generate", "--weights", arguments.folder, "--tokens", "1,2",
                      "--max-new-tokens", 1, "--no-cache", "--quiet"], check=False)
        expect(result.returncode == 1 and result.stderr.startswith("error: this program runs on an "
                                                                   "NVIDIA GPU")
               and result.stderr.count("\n") == 1, f"without a GPU: {result.stderr}")

    result = run([arguments.batonc, arguments.folder, "-o", path("unknown"), "--quiet",
                  "--target=cuda:sm_10"], check=False)
    expect(result.returncode == 1 and "cuda:sm_10" in result.stderr
           and result.stderr.count("\n") == 1, f"an unknown architecture: {result.stderr}")
    expect(not os.path.exists(path("unknown")), "an executable in spite of an error")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

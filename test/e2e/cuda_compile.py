"""Kernels for GPUs, compiled by NVRTC; no GPU is needed.

- a kernel compiles for the architectures (both that there are, without
  --architecture), and no register is spilled, nor with
  products by cuBLASLt; with --train that of a program that trains, in F32 (where the
  loop around the phases' calls may) and in BF16, and with --launch=graph those of its
  graph (of decoding's, cuda_graph_driver.py looks at them); with --quantised those of a GGUF file whose layers
  differ in their formats; with --max-batch those of many sequences;
- multiplications by warpgroups overlap in all of them: ptxas says so where not;
- the same input gives the same executable (with --again, for the last of them);
- where there is no CUDA driver the program says so, in one line.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import glob
import json
import os
import sys

import gguf_writer
import programs
import quantised
from programs import USUAL, Program, expect, run


def expect_fast(device, what, most_spilled=0):
    """Nothing of what ptxas says makes a kernel slow."""
    for kernel in device["kernels"]:
        expect(kernel["registers"] > 0, f"{what}: NVRTC says nothing of registers")
        expect(kernel["spilled_bytes"] <= most_spilled,
               f"{what}: {kernel['name']} spills {kernel['spilled_bytes']} bytes of registers")
        expect(kernel["serialized_multiplications"] == 0,
               f"{what}: multiplications by warpgroups do not overlap in {kernel['name']}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    model = arguments.folder
    if arguments.quantised:
        model = path("model.gguf")
        gguf_writer.llama(model, quantised.mixed)
    for architecture in arguments.architecture:
        target = f"--target=cuda:{architecture}"
        # One type each: kernels of training take long to compile.
        graph = arguments.launch == "graph"
        dtype = {"sm_80": "bf16" if graph else "f32", "sm_90a": "bf16"}[architecture]
        mode = [f"--launch={arguments.launch}",
                *(["--cublaslt=always", "--dtype=bf16"] if arguments.cublaslt else []),
                *([f"--activations={arguments.activations}"] if arguments.activations else []),
                *([f"--max-batch={arguments.max_batch}", f"--kv-type={arguments.kv_type}"] if arguments.max_batch
                  else []),
                *(["--mode=train", f"--dtype={dtype}"] if arguments.train else [])]
        result = run([arguments.batonc, model, "-o", path("program"), "--quiet", target, *mode],
                     check=False)
        if "NVRTC" in result.stderr and "was not found" in result.stderr:
            print(result.stderr.strip())
            sys.exit(77)
        expect(result.returncode == 0, result.stderr)
        program = path("program")
        device = json.loads(run([program, "info", "--json"]).stdout)["device"]
        print(architecture, device)
        expect(device["kind"] == f"cuda:{architecture}", "info names another device")
        expect(len(device["kernels"]) == (1 if arguments.train else 2),
               "not one kernel for few rows and one for many")
        # In F32 a phase may take all registers, and the loop around it puts its addresses
        # away (docs/cuda.md).
        expect_fast(device, architecture, most_spilled=24 if arguments.train and dtype == "f32" else 0)
        if not arguments.again or architecture != arguments.architecture[-1]:
            continue
        again = Program(arguments.batonc, model, path("again"), target, *mode, USUAL, "--no-cache")
        with open(program, "rb") as one, open(again.path, "rb") as other:
            expect(one.read() == other.read(), f"{architecture}: two compilations differ")

    if not glob.glob("/dev/nvidia[0-9]*"):
        with open(path("tokens.u16"), "wb") as file:
            file.write(bytes(200))
        command = ["train", "--data", path("tokens.u16"), "--batch", 1, "--seq", 8,
                   "--steps", 1, "--warmup", 0, "--out", path("run")] if arguments.train else \
                  ["generate", "--tokens", "1,2", "--max-new-tokens", 1, "--no-cache"]
        result = run([program, *command, "--weights", model, "--quiet"], check=False)
        expect(result.returncode == 1 and result.stderr.startswith("error: this program runs on an "
                                                                   "NVIDIA GPU")
               and result.stderr.count("\n") == 1, f"without a GPU: {result.stderr}")
    if arguments.train:
        return

    result = run([arguments.batonc, arguments.folder, "-o", path("unknown"), "--quiet",
                  "--target=cuda:sm_10"], check=False)
    expect(result.returncode == 1 and "cuda:sm_10" in result.stderr
           and result.stderr.count("\n") == 1, f"an unknown architecture: {result.stderr}")
    expect(not os.path.exists(path("unknown")), "an executable in spite of an error")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--launch", default="persistent")
    parser.add_argument("--architecture", nargs="+", default=["sm_80", "sm_90a"])
    parser.add_argument("--cublaslt", action="store_true")
    parser.add_argument("--quantised", action="store_true")
    parser.add_argument("--activations")
    parser.add_argument("--max-batch")
    parser.add_argument("--kv-type", default="f32")
    parser.add_argument("--again", action="store_true", help="compile twice")
    parser.add_argument("--folder", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)

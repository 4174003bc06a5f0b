"""What a program with --cublaslt=always asks of the CUDA driver (graph_driver.cpp) and of
cuBLASLt (cublaslt.cpp), in order.

A step of many rows is launched in parts, of the persistent kernel or kernel by kernel;
between two of them, for each product, come the kernel that lays its sides out and the
call, with the step's rows. Its own phase begins the next part. A step of one row is as
without cuBLASLt.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import json
import os
import sys

import programs
from programs import QUICK, expect, run


def expected_lines(kernel, launch, rows, past, number, early):
    """A step of so many rows, as the driver and the library write it down."""
    places = [(first + phase, iteration)
              for first, segment in zip([sum(s["phases"] for s in kernel["order"][:i])
                                         for i in range(len(kernel["order"]))], kernel["order"])
              for iteration in range(segment["repeat"]) for phase in range(segment["phases"])]
    products = {product["phase"]: product for product in kernel["products"]}
    lines, begun = [], 0

    def part(end):
        if launch == "persistent":
            lines.append(["cooperative", kernel["name"], 3, kernel["threads"], kernel["shared_bytes"], begun, end,
                          rows, past])
            return
        phases = [phase for segment in kernel["segments"] for phase in segment["phases"]]
        for place in range(begun, end):
            phase, iteration = places[place]
            lines.append(["launch", phases[phase]["name"], min(3, phases[phase]["tiles"]), kernel["threads"],
                          phases[phase]["shared_bytes"], int(early and place > 0), number, iteration])

    for place, (phase, iteration) in enumerate(places):
        if phase in products:
            part(place)
            begun = place
            product = products[phase]
            lines.append(["launch", product["kernel"], 24, kernel["threads"], 0, 0, number, iteration])
            lines.append(["multiply", rows, product["depth"], product["columns"]])
    part(len(places))
    return [list(map(str, line)) for line in lines], len(places)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    for launch, architecture in (("persistent", "sm_90a"), ("graph", "sm_90a"), ("graph", "sm_80")):
        result = run([arguments.batonc, arguments.folder, "-o", path("program"), "--quiet", QUICK, f"--launch={launch}",
                      "--dtype=bf16", "--cublaslt=always", f"--target=cuda:{architecture}"], check=False)
        if "NVRTC" in result.stderr and "was not found" in result.stderr:
            print(result.stderr.strip())
            sys.exit(77)
        expect(result.returncode == 0, result.stderr)
        device = json.loads(run([path("program"), "info", "--json"]).stdout)["device"]
        kernel = device["kernels"][0]
        log = path(f"{launch}-{architecture}.log")
        early = architecture == "sm_90a"
        expected, places = [], None
        for number, (rows, past) in enumerate(((3, 0), (2, 3))):
            lines, places = expected_lines(kernel, launch, rows, past, number if launch == "graph" else 0, early)
            expected += lines
        environment = dict(os.environ, LD_LIBRARY_PATH=arguments.driver, FAKE_DRIVER_LOG=log, CUBLASLT_LOG=log,
                           BATON_CUBLASLT=os.path.join(arguments.libraries, "libcublasLt-whole.so"),
                           FAKE_DRIVER_PLACES=str(places))
        answer = json.loads(run([path("program"), "generate", "--weights", arguments.folder, "--tokens", "1,2,3,4,5",
                                 "--prefill-chunk", 3, "--max-new-tokens", 4, "--json", "--quiet", "--no-cache",
                                 "--workers", 3], env=environment).stdout)
        expect(answer["tokens"] == [7, 7, 7, 7], f"the driver's tokens: {answer}")
        with open(log) as file:
            lines = [line.split() for line in file if not line.startswith("kernel")]
        prompt = lines[:len(expected)]
        for i, (found, wanted) in enumerate(zip(prompt, expected)):
            expect(found == wanted, f"{launch}, {architecture}, line {i}: {found}, expected {wanted}")
        behind = lines[len(expected):]
        if launch == "persistent":
            decode = device["kernels"][1]
            wanted = [["cooperative", decode["name"], "3", str(decode["threads"]), str(decode["shared_bytes"]), "0",
                       "all", "1", "5"]]
        else:
            wanted = [["step", str(2 + number % 2), "1", str(past)] for number, past in ((2, 5), (3, 6), (4, 7))]
        expect(behind == wanted, f"{launch}, {architecture}: behind the prompt {behind}, expected {wanted}")
        count = sum(line[0] == "multiply" for line in prompt)
        expect(count == 2 * sum(kernel["order"][1]["repeat"] for _ in kernel["products"]), f"{count} products")
        print(f"{launch}, {architecture}: {len(prompt)} launches and calls for a prompt, {count} products")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--driver", required=True, help="folder with libcuda.so.1")
    parser.add_argument("--libraries", required=True, help="folder of libcublasLt-whole.so")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

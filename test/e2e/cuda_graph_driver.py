"""What a program with --launch=graph asks of the CUDA driver (graph_driver.cpp).

For each of its kernels for few and for many rows it captures the launches of a step
twice, for steps of even and of odd numbers: all phases in order, those of a layer once
for each, with no more blocks than tiles, on sm_90a each but the first allowed to start
early. Then a graph is launched for each step, of the rows that it has. No kernel spills.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import json
import os
import sys

import programs
from cuda_compile import expect_fast
from programs import expect, run


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    for architecture, early in (("sm_90a", True), ("sm_80", False)):
        result = run([arguments.batonc, arguments.folder, "-o", path("program"), "--quiet", "--launch=graph",
                      f"--target=cuda:{architecture}"], check=False)
        if "NVRTC" in result.stderr and "was not found" in result.stderr:
            print(result.stderr.strip())
            sys.exit(77)
        expect(result.returncode == 0, result.stderr)
        log = path(f"{architecture}.log")
        environment = dict(os.environ, LD_LIBRARY_PATH=arguments.driver, FAKE_DRIVER_LOG=log)
        answer = json.loads(run([path("program"), "generate", "--weights", arguments.folder, "--tokens", "1,2,3,4,5",
                                 "--prefill-chunk", 3, "--max-new-tokens", 4, "--json", "--quiet", "--no-cache",
                                 "--workers", 5], env=environment).stdout)
        expect(answer["tokens"] == [7, 7, 7, 7], f"the driver's tokens: {answer}")
        with open(log) as file:
            lines = [line.split() for line in file]

        device = json.loads(run([path("program"), "info", "--json"]).stdout)["device"]
        expect(device["kind"] == f"cuda:{architecture}", "info names another device")
        expect_fast(device, architecture)
        expected, graph = [], 0
        for kernel in device["kernels"]:
            launches = [(phase, iteration) for segment in kernel["segments"]
                        for iteration in range(segment["repeat"]) for phase in segment["phases"]]
            for number in range(2):
                for i, (phase, iteration) in enumerate(launches):
                    expected.append(["kernel", graph, phase["name"], min(5, phase["tiles"]), kernel["threads"],
                                     phase["shared_bytes"], int(early and i > 0), number, iteration])
                graph += 1
        captured = [line for line in lines if line[0] == "kernel"]
        expected = [list(map(str, line)) for line in expected]
        expect(captured == expected, f"{architecture}: captured {captured}, expected {expected}")
        expect({line[3] for line in captured} >= {"1", "5"}, "blocks are always as many")

        # Graphs 0 and 1 are of many rows, 2 and 3 of one.
        steps = [list(map(int, line[1:])) for line in lines if line[0] == "step"]
        expect(steps == [[0, 3, 0], [1, 2, 3], [2, 1, 5], [3, 1, 6], [2, 1, 7]], f"{architecture}: steps {steps}")
        result = run([path("program"), "generate", "--weights", arguments.folder, "--tokens", "1", "--no-cache",
                      "--max-new-tokens", 1, "--workers", 97, "--quiet"], check=False, env=environment)
        expect(result.returncode == 1 and "--workers: 97 blocks" in result.stderr and "96" in result.stderr,
               f"workers: {result}")
        print(f"{architecture}: {len(captured)} launches captured in {graph} graphs, {len(steps)} steps")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--driver", required=True, help="folder with libcuda.so.1")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

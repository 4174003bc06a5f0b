"""What the kit does on the host, with a driver that has no GPU (fake_driver.c).

floors.py finds its sum, and says WRONG when a word of the memory is another; the
tests of the task library send their arguments and fail when no kernel runs, those of
tensor cores too, whose shapes that have no kernel do not count; errors are one line.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **environment})


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", required=True, help="folder with libcuda.so.1")
    parser.add_argument("--bodies", required=True, help="CudaLibraryOracleTest")
    parser.add_argument("--twins", required=True, help="CudaLibraryTest")
    arguments = parser.parse_args()
    fake = {"LD_LIBRARY_PATH": arguments.driver}
    with tempfile.TemporaryDirectory() as scratch:
        cubin = os.path.join(scratch, "x.cubin")
        with open(cubin, "wb") as file:
            file.write(b"\x7fELF")
        floors = [sys.executable, os.path.join(HERE, "floors.py"), "read", cubin, "--gib", "0.0001",
                  "--repeat", "2"]
        result = run(*floors, **fake)
        expect(result.returncode == 0, result.stderr)
        answer = json.loads(result.stdout)
        expect(answer["verdict"] == "right" and len(answer["seconds"]) == 7, answer)
        expect(answer["best"] == answer["bytes"] / 1e-3, f"a rate that does not follow: {answer}")

        answer = json.loads(run(*floors, **fake, FAKE_DRIVER_FAULT="1").stdout)
        expect(answer["verdict"].startswith("WRONG: stream_read_async, 1"), answer)

        with open(cubin, "wb") as file:
            file.write(b"no cubin")
        result = run(*floors, **fake)
        expect(result.returncode == 1 and result.stderr.startswith(f"error: loading {cubin}: ")
               and result.stderr.count("\n") == 1, f"no cubin: {result.stderr}")

        with open(cubin, "wb") as file:
            file.write(b"\x7fELF")
        result = run(arguments.bodies, "--gtest_filter=RmsNorm.*", **fake, BATON_TEST_BODIES=cubin)
        expect(result.returncode == 1 and "exception" not in result.stdout
               and "instead of" in result.stdout, f"kernels that do nothing: {result.stdout}")
        for suite, shapes in (("Matrix", 12), ("ProductMatrix", 8)):
            result = run(arguments.twins, f"--gtest_filter=Library/{suite}.NonfiniteNumbers*", **fake,
                         BATON_TEST_BODIES=cubin)
            failed = re.findall(r"^\[  FAILED  \] Library/\S+/(\S+?),.*\(\d+ ms\)$", result.stdout, re.MULTILINE)
            skipped = re.search(r"\[  SKIPPED \] (\d+) test", result.stdout)
            expect(result.returncode == 1 and "exception" not in result.stdout and skipped
                   and failed and all(shape.startswith("256_") for shape in failed)
                   and len(failed) + int(skipped[1]) == shapes, f"kernels that do nothing: {result.stdout}")
        for suite in ("MatrixAttention", "SequenceMatrix"):
            result = run(arguments.twins, f"--gtest_filter={suite}.MatchesOracle", **fake, BATON_TEST_BODIES=cubin)
            expect(result.returncode == 1 and "exception" not in result.stdout
                   and "nan" in result.stdout, f"kernels that do nothing: {result.stdout}")
        result = run(arguments.bodies, "--gtest_filter=RmsNorm.*", **fake,
                     BATON_TEST_BODIES=cubin + ".not")
        expect(result.returncode == 1 and "cannot be read" in result.stdout, result.stdout)


main()

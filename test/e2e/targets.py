"""--target-cpu: every CPU gets an object, and those that run here the same bits.

The task library's arithmetic is spelled with fused multiply-adds, so that the
width of vectors, and whether the CPU fuses in hardware, change nothing. With --few, two of them
are compiled as users do, the others quickly.
"""

import argparse
import os

import programs
from programs import QUICK, USUAL, Program, expect, run

PORTABLE, WITH_AVX2 = "x86-64", "x86-64-v3"
WITH_AVX512 = ("x86-64-v4", "znver4", "sapphirerapids")  # the last two have AVX512-BF16


def has(*features):
    """Whether this machine's CPU has all of these features."""
    with open("/proc/cpuinfo") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    return all(feature in flags for feature in features)


def test(arguments, scratch):
    case = programs.golden(arguments.folder)
    path = lambda name: os.path.join(scratch, name)

    runnable = ["native", PORTABLE]
    if has("avx2", "fma", "f16c", "bmi2", "movbe"):
        runnable.append(WITH_AVX2)
    if has("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"):
        runnable.append(WITH_AVX512[0])
    # Those that run here are programs below.
    for cpu in {PORTABLE, WITH_AVX2, *WITH_AVX512} - set(runnable):
        run([arguments.batonc, arguments.folder, f"--target-cpu={cpu}", "--emit=object", QUICK,
             "-o", path("object.o")])
        with open(path("object.o"), "rb") as file:
            expect(file.read(4) == b"\x7fELF", f"{cpu}: no object file")

    logits = {}
    for cpu in runnable:
        usual = [USUAL] if not arguments.few or cpu in ("native", PORTABLE) else []
        program = Program(arguments.batonc, arguments.folder, path(cpu), *usual, f"--target-cpu={cpu}")
        logits[cpu] = program.logits(case["tokens"], path("logits.npy"), "--workers", 2)
        print(f"{cpu}:", programs.check(path("logits.npy"), arguments.folder))
        expect(logits[cpu] == logits["native"], f"{cpu}: other bits than native")
        name = run([program.path, "info", "--json"]).stdout
        expect(cpu == "native" or f'"{cpu}"' in name, f"{cpu}: info does not name the CPU")

    result = run([arguments.batonc, arguments.folder, "--target-cpu=abacus", "-o", path("none")],
                 check=False)
    lines = result.stderr.splitlines()
    expect(result.returncode == 1 and len(lines) == 1 and "abacus" in lines[0]
           and result.stdout == "", f"unknown CPU: {result}")
    expect(not os.path.exists(path("none")), "an unknown CPU left a file")
    print("unknown:", lines[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

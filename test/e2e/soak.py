"""Decodes many tokens in one process; its memory must not grow.

    test/e2e/soak.py --batonc build/bin/batonc [--tokens 1000000] CHECKPOINT

Sequences as long as the program takes follow one another. While they run, the
resident memory is sampled; the second half's largest sample may not exceed the
first half's, but for the pages that an allocator may still touch first.
"""

import argparse
import os
import re
import subprocess
import time

import programs
from programs import expect, run

ALLOWANCE = 256 << 10


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status") as file:
        match = re.search(r"VmRSS:\s*(\d+) kB", file.read())
    return int(match[1]) * 1024 if match else None


def test(arguments, scratch):
    program = os.path.join(scratch, "program")
    run([arguments.batonc, arguments.folder, "-o", program, "--quiet"])
    prompt, answer = 6, 250
    repeat = -(-arguments.tokens // answer)
    log = os.path.join(scratch, "log")
    start = time.monotonic()
    with open(log, "w") as errors:
        process = subprocess.Popen([program, "bench", "--weights", arguments.folder, "--no-cache", "--prefill", str(prompt),
                                    "--decode", str(answer), "--repeat", str(repeat), "--workers", str(arguments.workers),
                                    "--json"], stdout=subprocess.PIPE, stderr=errors, text=True)
    samples = []
    stage = ""
    # What comes after these runs takes memory for other purposes.
    while process.poll() is None and "timing layers" not in stage:
        with open(log) as file:
            stage = file.read()
        resident = resident_bytes(process)
        if "measuring the program" in stage and "timing layers" not in stage and resident:
            samples.append(resident)
        time.sleep(0.005)
    seconds = time.monotonic() - start
    report = programs.json.loads(process.communicate()[0] or "{}")
    expect(process.returncode == 0, f"status {process.returncode}: {stage}")
    expect(report["runs"] == repeat, f"{report['runs']} runs instead of {repeat}")
    expect(len(samples) >= 20, f"only {len(samples)} samples of memory")
    # Everything is touched once in the first sequence.
    samples = samples[len(samples) // 10:]
    half = len(samples) // 2
    first, second = max(samples[:half]), max(samples[half:])
    print(f"{repeat * answer} tokens in {seconds:.1f} s: at most {first / 2**20:.2f} MiB in the first half, "
          f"{second / 2**20:.2f} MiB in the second; {len(samples)} samples; {report['verdict']}")
    expect(second <= first + ALLOWANCE, "memory grows")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

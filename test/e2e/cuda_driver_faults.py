"""Where a driver or a GPU does not suffice, a program says so in one line.

With a driver without a GPU (graph_driver.cpp), of compute capability 9.0, 3
multiprocessors and 2 blocks of a persistent kernel on each: no GPU, another
architecture, no memory left, more blocks than run at the same time, and a driver that
is too old.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import os
import re
import subprocess
import sys

import programs
from programs import QUICK, expect, run


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    result = run([arguments.batonc, arguments.folder, "-o", path("program"), "--quiet", QUICK, "--target=cuda:sm_80"],
                 check=False)
    if "NVRTC" in result.stderr and "was not found" in result.stderr:
        print(result.stderr.strip())
        sys.exit(77)
    expect(result.returncode == 0, result.stderr)

    def ends(what, status, said, *flags, driver=arguments.driver, fault=""):
        environment = dict(os.environ, LD_LIBRARY_PATH=driver, FAKE_DRIVER_LOG=path("log"), FAKE_DRIVER_FAULT=fault)
        result = run([path("program"), "generate", "--weights", arguments.folder, "--tokens", "1",
                      "--max-new-tokens", 2, "--quiet", "--no-cache", *flags], check=False, env=environment)
        expect(result.returncode == status and re.fullmatch(said, result.stderr),
               f"{what}: status {result.returncode}, {result.stderr!r}, expected {said!r}")
        expect(status == 0 or not result.stdout, f"{what}: tokens in spite of an error: {result.stdout!r}")
        print(f"{what}: {result.stderr.strip()}")

    ends("nothing is amiss", 0, "")
    ends("no GPU", 1, r"error: this program runs on an NVIDIA GPU, and the CUDA driver sees none\n", fault="devices")
    ends("another architecture", 1,
         r"error: this program is compiled for cuda:sm_80, and fake has compute capability 9\.0; compile it with "
         r"the --target for that, of those that batonc --help lists\n", fault="architecture")
    listed = run([arguments.batonc, "--help"]).stdout
    expect("cuda:sm_80" in listed and "cuda:sm_90a" in listed, f"batonc --help lists no architectures: {listed}")
    ends("no memory", 1, r'error: fake has no \d+\.\d\d GiB left for [^\n]+: 0\.00 GiB of 1\.00 GiB are free; '
                         r"compile with a smaller --max-seq or another --dtype\n", fault="memory")
    ends("as many blocks as fit", 0, "", "--workers", 6)
    ends("too many blocks", 1, r"error: --workers: 7 blocks do not run at the same time on fake, at most 6 do\n",
         "--workers", 7)

    # One that has nothing but what every library has.
    os.mkdir(path("old"))
    subprocess.run([arguments.compiler, "-shared", "-x", "c++", "/dev/null", "-o", path("old/libcuda.so.1")],
                   check=True)
    ends("an old driver", 1, r"error: the CUDA driver is too old: it lacks cuInit; this program needs one for "
                             r"CUDA 12\n", driver=path("old"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--driver", required=True, help="folder with libcuda.so.1")
    parser.add_argument("--compiler", required=True, help="of C++")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

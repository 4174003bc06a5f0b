"""What was compiled before is not compiled again, on the CPU and in emulation.

- the second compilation says where its code came from, and gives the same bytes; so does
  --no-cache, which looks nowhere and keeps nothing;
- other options, another CPU, another task library or another header is other code, and
  so is a plan that differs in one number;
- a damaged entry is compiled again, silently, and replaced;
- without a place to write, compiling goes on;
- two compilations at once give the same program.
"""

import argparse
import os
import shutil
import subprocess

import programs
from kernel_cache import MODEL
from programs import QUICK, expect, run


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(path("model.mlir"), "w") as file:
        file.write(MODEL)
    # An installation of which files can be changed.
    os.makedirs(path("baton/bin"))
    shutil.copy(arguments.batonc, path("baton/bin/batonc"))
    shutil.copytree(arguments.installation, path("baton/lib/baton"))
    cache = os.environ["BATON_CACHE_DIR"]

    def command(output, *flags):
        return [path("baton/bin/batonc"), path("model.mlir"), "-o", path(output), *flags]

    def compile(output, *flags, environment=None):
        """Whether all code came from the cache, and the executable's bytes."""
        result = run(command(output, *flags), env=environment)
        expect(result.stderr.count("\n") == 1, f"{output}: {result.stderr}")
        with open(path(output), "rb") as file:
            return "from the cache" in result.stderr, file.read()

    for flags, suffix in (([QUICK], "code from the cache"),
                          ([QUICK, "--target=cuda:emulated"], "kernels from the cache")):
        known = len(os.listdir(cache)) if os.path.isdir(cache) else 0
        cached, fresh = compile("fresh", "--no-cache", *flags)
        kept = len(os.listdir(cache)) if os.path.isdir(cache) else 0
        expect(not cached and kept == known, f"{flags}: --no-cache keeps something")
        cached, first = compile("first", *flags)
        expect(not cached and first == fresh, f"{flags}: the first compilation is not that without a cache")
        again = run(command("again", *flags)).stderr
        expect(again.rstrip().endswith(suffix), f"{flags}: {again}")
        with open(path("again"), "rb") as file:
            expect(file.read() == first, f"{flags}: the second compilation is not the first one's")

        entries = [os.path.join(cache, name) for name in sorted(os.listdir(cache))]
        whole = {}
        for entry in entries:
            with open(entry, "rb") as file:
                whole[entry] = file.read()
            with open(entry, "wb") as file:
                file.write(whole[entry][:len(whole[entry]) // 2])
        cached, repaired = compile("repaired", *flags)
        expect(not cached and repaired == first, f"{flags}: of a damaged entry")
        cached, _ = compile("repaired", *flags)
        expect(cached, f"{flags}: what was damaged is not kept again")

    def differs(what, *flags):
        cached, _ = compile("other", *flags)
        expect(not cached, f"{what} is not other code")
        cached, _ = compile("other", *flags)
        expect(cached, f"{what} is not kept")

    differs("another level", "--optimize=2")
    differs("another CPU", QUICK, "--target-cpu=x86-64-v3")
    differs("a sanitizer", QUICK, "--sanitize=address")
    with open(path("model.mlir"), "w") as file:
        file.write(MODEL.replace("131", "132"))
    differs("another model", QUICK)
    differs("another model's kernel", QUICK, "--target=cuda:emulated")

    # Other names of values in it: no other code, but other bytes.
    library = path("baton/lib/baton/cpu-library.bc")
    run([arguments.opt, "-passes=instnamer", library, "-o", path("named.bc")])
    shutil.move(path("named.bc"), library)
    differs("another task library", QUICK)
    with open(path("baton/lib/baton/include/codegen/cuda/library/softmax.h"), "a") as file:
        file.write("// Changed.\n")
    differs("another header", QUICK, "--target=cuda:emulated")

    shutil.rmtree(cache)
    both = [subprocess.Popen(command(f"both{i}", QUICK), stderr=subprocess.PIPE, text=True) for i in range(2)]
    said = [process.communicate()[1] for process in both]
    expect(all(process.returncode == 0 for process in both), said)
    with open(path("both0"), "rb") as one, open(path("both1"), "rb") as other:
        expect(one.read() == other.read(), "two compilations at once differ")

    with open(path("file"), "w"):
        pass
    cached, _ = compile("unkept", QUICK, environment=dict(os.environ, BATON_CACHE_DIR=path("file")))
    expect(not cached, "code from a file that is no folder")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--installation", required=True)
    parser.add_argument("--opt", required=True, help="LLVM's opt")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)

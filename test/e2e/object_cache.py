"""What was compiled before is not compiled again, on the CPU and in emulation.

- the second compilation says where its code came from, and gives the same bytes; so does
  --no-cache, which looks nowhere and keeps nothing;
- other options or another CPU is other code, and so is a plan that differs in one number;
  with --more, another task library, too, and another header (as in kernel_cache);
- a damaged entry is compiled again, silently, and replaced;
- without a place to write, compiling goes on;
- two compilations at once give the same program.

Of these, in emulation: that the second compilation takes kernels from the cache; the rest
with --more.
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

    def bytes_of(name):
        with open(path(name), "rb") as file:
            return file.read()

    def check_second(first, suffix, flags):
        again = run(command("again", *flags)).stderr
        expect(again.rstrip().endswith(suffix), f"{flags}: {again}")
        expect(bytes_of("again") == first, f"{flags}: the second compilation is not the first one's")

    def check_kept(suffix, *flags):
        known = len(os.listdir(cache)) if os.path.isdir(cache) else 0
        cached, fresh = compile("fresh", "--no-cache", *flags)
        kept = len(os.listdir(cache)) if os.path.isdir(cache) else 0
        expect(not cached and kept == known, f"{flags}: --no-cache keeps something")
        cached, first = compile("first", *flags)
        expect(not cached and first == fresh, f"{flags}: the first compilation is not that without a cache")
        check_second(first, suffix, flags)

        entries = [os.path.join(cache, name) for name in sorted(os.listdir(cache))]
        for entry in entries:
            with open(entry, "rb") as file:
                whole = file.read()
            with open(entry, "wb") as file:
                file.write(whole[:len(whole) // 2])
        cached, repaired = compile("repaired", *flags)
        expect(not cached and repaired == first, f"{flags}: of a damaged entry")
        cached, _ = compile("repaired", *flags)
        expect(cached, f"{flags}: what was damaged is not kept again")

    def differs(what, *flags):
        cached, _ = compile("other", *flags)
        expect(not cached, f"{what} is not other code")
        cached, _ = compile("other", *flags)
        expect(cached, f"{what} is not kept")

    emulated = [QUICK, "--target=cuda:emulated"]
    if arguments.more:
        check_kept("kernels from the cache", *emulated)
        with open(path("model.mlir"), "w") as file:
            file.write(MODEL.replace("131", "132"))
        differs("another model's kernel", *emulated)
        with open(path("baton/lib/baton/include/codegen/cuda/library/softmax.h"), "a") as file:
            file.write("// Changed.\n")
        differs("another header", *emulated)
        # Other names of values in it: no other code, but other bytes.
        library = path("baton/lib/baton/cpu-library.bc")
        compile("other", QUICK)
        run([arguments.opt, "-passes=instnamer", library, "-o", path("named.bc")])
        shutil.move(path("named.bc"), library)
        differs("another task library", QUICK)
        return

    check_kept("code from the cache", QUICK)
    differs("another level", "--optimize=2")
    differs("another CPU", QUICK, "--target-cpu=x86-64-v3")
    differs("a sanitizer", QUICK, "--sanitize=address")
    cached, first = compile("first", *emulated)
    expect(not cached, "a kernel from a cache without kernels")
    check_second(first, "kernels from the cache", emulated)
    with open(path("model.mlir"), "w") as file:
        file.write(MODEL.replace("131", "132"))
    differs("another model", QUICK)

    shutil.rmtree(cache)
    both = [subprocess.Popen(command(f"both{i}", QUICK), stderr=subprocess.PIPE, text=True) for i in range(2)]
    said = [process.communicate()[1] for process in both]
    expect(all(process.returncode == 0 for process in both), said)
    expect(bytes_of("both0") == bytes_of("both1"), "two compilations at once differ")

    with open(path("file"), "w"):
        pass
    cached, _ = compile("unkept", QUICK, environment=dict(os.environ, BATON_CACHE_DIR=path("file")))
    expect(not cached, "code from a file that is no folder")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--installation", required=True)
    parser.add_argument("--opt", required=True, help="LLVM's opt")
    parser.add_argument("--more", action="store_true", help="what each run leaves out")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)

"""Kernels that were compiled before are not compiled again.

- the second compilation takes kernels from the cache, says so, and gives the same
  bytes, from any working directory;
- another header is another kernel;
- a damaged entry is compiled again, silently, and replaced;
- what none of a program's kernels compiles with is said once, in one line.

With --more instead:

- --no-cache looks nowhere and keeps nothing, and another architecture is another kernel;
- without a place to write, compiling goes on;
- two compilations at once, with another header, give the same program.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import os
import shutil
import subprocess
import sys

import programs
from programs import QUICK, expect, run

# What is kept, and under which key, does not depend on the model; compiling does.
MODEL = """model.program @tiny max_seq 64 family "llama" {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : !model.tensor<131 x 64 x f32>
  %embedded = model.embedding %tokens, %table
      : (!model.tensor<rows x i32>, !model.tensor<131 x 64 x f32>) -> !model.tensor<rows x 64 x f32>
  %last = model.last_rows %embedded : (!model.tensor<rows x 64 x f32>) -> !model.tensor<outputs x 64 x f32>
  %head = model.parameter ["head"] : !model.tensor<131 x 64 x f32>
  %logits = model.linear %last, %head
      : (!model.tensor<outputs x 64 x f32>, !model.tensor<131 x 64 x f32>) -> !model.tensor<outputs x 131 x f32>
  model.return %logits : !model.tensor<outputs x 131 x f32>
}
"""


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(path("model.mlir"), "w") as file:
        file.write(MODEL)
    # An installation of which a header can be changed.
    os.makedirs(path("baton/bin"))
    shutil.copy(arguments.batonc, path("baton/bin/batonc"))
    shutil.copytree(arguments.installation, path("baton/lib/baton"))
    cache = os.environ["BATON_CACHE_DIR"]

    def command(output, *flags):
        return [path("baton/bin/batonc"), path("model.mlir"), "-o", path(output), QUICK, *flags]

    def compile(output, *flags, target="--target=cuda:sm_90a", environment=None, cwd=None):
        """Whether the kernel came from the cache, and the executable's bytes."""
        result = run(command(output, target, *flags), check=False, env=environment, cwd=cwd)
        if "NVRTC" in result.stderr and "was not found" in result.stderr:
            print(result.stderr.strip())
            sys.exit(77)
        expect(result.returncode == 0 and result.stderr.count("\n") == 1,
               f"{output}: {result.stderr}")
        with open(path(output), "rb") as file:
            return "kernels from the cache" in result.stderr, file.read()

    cached, first = compile("first")
    expect(not cached, "a kernel from an empty cache")
    kept = os.listdir(cache)
    # One for few rows, one for many.
    expect(len(kept) == 2, f"the cache holds {kept}")
    if not arguments.more:
        cached, again = compile("again", cwd=scratch)
        expect(cached and again == first, "the second compilation is not the first one's")

        entry = os.path.join(cache, kept[0])
        with open(entry, "rb") as file:
            whole = file.read()
        with open(entry, "wb") as file:
            file.write(whole[:len(whole) // 2])
        cached, repaired = compile("repaired")
        with open(entry, "rb") as file:
            expect(not cached and repaired == first and file.read() == whole,
                   "a damaged entry is not replaced")

    header = path("baton/lib/baton/include/codegen/cuda/library/softmax.h")
    with open(header, "a") as file:
        file.write("// Changed.\n")
    if not arguments.more:
        cached, _ = compile("changed")
        expect(not cached and len(os.listdir(cache)) == 4, f"another header is not another kernel: {os.listdir(cache)}")
        with open(header, "a") as file:
            file.write("#error out of order\n")
        result = run(command("broken", "--target=cuda:sm_90a"), check=False)
        expect(result.returncode == 1 and result.stderr.count("\n") == 1 and result.stderr.startswith("error: ")
               and result.stderr.count("out of order") == 1 and not os.path.exists(path("broken")),
               f"what both kernels fail with is not one line: {result.stderr}")
        return

    both = [subprocess.Popen(command(f"both{i}", "--target=cuda:sm_90a"),
                             stderr=subprocess.PIPE, text=True) for i in range(2)]
    said = [process.communicate()[1] for process in both]
    expect(all(process.returncode == 0 for process in both), said)
    expect("from the cache" not in said[0] or "from the cache" not in said[1],
           "another header is not another kernel")
    expect(len(os.listdir(cache)) == 4, f"the cache holds {os.listdir(cache)}")
    with open(path("both0"), "rb") as one, open(path("both1"), "rb") as other:
        bits = one.read()
        expect(bits == other.read(), "two compilations at once differ")
    cached, _ = compile("changed")
    expect(cached, "the kernel with the other header is not kept")
    cached, fresh = compile("fresh", "--no-cache", cwd="/")
    expect(not cached and fresh == bits, "--no-cache, in another folder, gives other bytes")
    expect(len(os.listdir(cache)) == 4, "--no-cache keeps something")
    cached, _ = compile("older", target="--target=cuda:sm_80")
    expect(not cached and len(os.listdir(cache)) == 6, "another architecture is not another kernel")

    with open(path("file"), "w"):
        pass
    cached, _ = compile("unkept", environment=dict(os.environ, BATON_CACHE_DIR=path("file")))
    expect(not cached, "a kernel from a file that is no folder")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--installation", required=True)
    parser.add_argument("--more", action="store_true", help="what each run leaves out")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)

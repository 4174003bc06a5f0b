"""Executes the steps of a page of docs: they are a patch, applied to a copy of the tree.

    guides.py --build build --folder build/test/guides adding-an-op

The copy is built, and what the page adds is run, on the CPU and in emulation. The page
shows the patch's lines and nothing else as code, and says how many files they touch. The
copy stays, so that the next run compiles only what has changed since.
"""

import argparse
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from checks.tree import Tree  # noqa: E402
from programs import Failure, Program, expect, main, run  # noqa: E402
from training import lines_of, read_tensors, write_tokens  # noqa: E402

INPUTS = ["CMakeLists.txt", "cmake/*", "codegen/*", "compiler/*", "dialects/*", "docs/adding-an-op.md",
          "docs/CMakeLists.txt", "models/*", "passes/*", "runtime/*", "tools/*", "test/every/guides/*",
          "test/e2e/programs.py", "test/e2e/training.py", "test/oracle/*", "test/codegen/cpu/library/*",
          "test/passes/training/*", "build/bin/batonc"]
# Settings of this build that the copy's has, too. It is not optimised, since it
# compiles a few small programs.
SETTINGS = re.compile(r"^(CMAKE_(?:BUILD_TYPE|MAKE_PROGRAM|C_COMPILER|CXX_COMPILER|\w+_COMPILER_LAUNCHER|"
                      r"\w+_LINKER_FLAGS)|MLIR_DIR):\w+=(.+)$", re.MULTILINE)
UNOPTIMISED = "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"


# The page and its patch --------------------------------------------------------------


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def patched_files(patch):
    return re.findall(r"^\+\+\+ b/(.+)$", patch, re.MULTILINE)


def check_page(name, page, patch):
    """The page's code is what the patch adds, whatever the order, and nothing more. Blocks
    without a language are commands."""
    lines = lambda text: [line for line in text.splitlines() if line.strip()]
    added = [line[1:] for line in lines(patch) if line.startswith("+") and not line.startswith("+++")]
    added = "\n".join(lines("\n".join(added))) + "\n"
    left = added
    for indent, block in re.findall(r"^( *)```\w+\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL):
        code = "\n".join(line.removeprefix(indent) for line in lines(block)) + "\n"
        expect(code in added, f"docs/{name}.md shows what test/every/guides/{name}.patch does not add:\n{code}")
        left = left.replace(code, "", 1)
    expect(not left, f"docs/{name}.md does not show what test/every/guides/{name}.patch adds:\n{left}")


def stated_files(page):
    (count,) = re.findall(r"(\d+) files", " ".join(page.split()))
    return int(count)


# The copy ----------------------------------------------------------------------------


def patched(patch, scratch):
    """What the files of a patch are with it."""
    for name in patched_files(patch):
        path = os.path.join(scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(os.path.join(ROOT, name)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(read(ROOT, name))
    # With less context than it shows, so that what is beside it may change.
    applied = subprocess.run(["git", "apply", "-C1", "-"], cwd=scratch, input=patch, text=True,
                             capture_output=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": scratch})
    expect(applied.returncode == 0, f"the patch does not apply: {applied.stderr}")
    return {name: read(scratch, name).encode() for name in patched_files(patch)}


def copy_tree(copy, changes):
    """Writes the files that the copy has otherwise, and takes away what the tree has not."""
    names = set(Tree(ROOT).files) | set(changes)
    for name in sorted(names):
        path = os.path.join(copy, name)
        original = os.path.join(ROOT, name)
        if name in changes:
            content = changes[name]
        else:
            with open(original, "rb") as file:
                content = file.read()
        old = None
        if os.path.isfile(path):
            with open(path, "rb") as file:
                old = file.read()
        if old != content:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        if os.path.exists(original):
            os.chmod(path, os.stat(original).st_mode)
    for folder, folders, files in os.walk(copy):
        if folder == copy:
            folders[:] = [name for name in folders if name != "build"]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), copy)
            if path not in names and "__pycache__" not in path:
                os.remove(os.path.join(folder, name))


def build(arguments, copy, *targets):
    folder = os.path.join(copy, "build")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        settings = SETTINGS.findall(read(arguments.build, "CMakeCache.txt"))
        run(["cmake", "-G", "Ninja", "-S", copy, "-B", folder, UNOPTIMISED,
             *(f"-D{name}={value}" for name, value in settings)])
    run(["cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", *targets])
    return folder


def touched_files(copy):
    """Files of the tree that the copy has otherwise, and new ones."""
    def differs(name):
        with open(os.path.join(copy, name), "rb") as one:
            if not os.path.exists(os.path.join(ROOT, name)):
                return True
            with open(os.path.join(ROOT, name), "rb") as other:
                return one.read() != other.read()
    return [name for name in Tree(copy).files if differs(name)]


# What is run -------------------------------------------------------------------------


VOCABULARY, WIDTH, INSIDE = 11, 12, 20
MODEL = """
!embedded = !model.tensor<rows x 12 x f32>
!wide = !model.tensor<rows x 20 x f32>
!last = !model.tensor<outputs x 12 x f32>
!table = !model.tensor<11 x 12 x f32>
model.program @guide max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["embedding"] : !table
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !table) -> !embedded
  %up = model.parameter ["up"] : !model.tensor<20 x 12 x f32>
  %wide = model.linear %x, %up : (!embedded, !model.tensor<20 x 12 x f32>) -> !wide
  %active = model.squared_relu %wide : (!wide) -> !wide
  %down = model.parameter ["down"] : !model.tensor<12 x 20 x f32>
  %narrow = model.linear %active, %down : (!wide, !model.tensor<12 x 20 x f32>) -> !embedded
  %sum = model.add %x, %narrow : (!embedded, !embedded) -> !embedded
  %last = model.last_rows %sum : (!embedded) -> !last
  %head = model.parameter ["head"] : !table
  %logits = model.linear %last, %head : (!last, !table) -> !model.tensor<outputs x 11 x f32>
  model.return %logits : !model.tensor<outputs x 11 x f32>
}
"""
SHAPES = {"embedding": (VOCABULARY, WIDTH), "up": (INSIDE, WIDTH), "down": (WIDTH, INSIDE),
          "head": (VOCABULARY, WIDTH)}


def write_weights(folder):
    """Random numbers of F32, and what they are."""
    generator = random.Random(1)
    header, data, weights = {}, b"", {}
    for name, (rows, columns) in SHAPES.items():
        numbers = struct.pack(f"<{rows * columns}f",
                              *(generator.uniform(-1, 1) for _ in range(rows * columns)))
        header[name] = {"dtype": "F32", "shape": [rows, columns],
                        "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
        values = struct.unpack(f"<{rows * columns}f", numbers)
        weights[name] = [values[i * columns:(i + 1) * columns] for i in range(rows)]
    os.makedirs(folder)
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return weights


def product(matrix, vector):
    return [math.fsum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def transposed(matrix):
    return list(zip(*matrix))


class Reference:
    """The model of one token, since it has no attention, in F64."""

    def __init__(self, weights, token):
        self.weights, self.token = weights, token
        self.x = weights["embedding"][token]
        self.wide = product(weights["up"], self.x)
        self.active = [max(value, 0.0) ** 2 for value in self.wide]
        self.sum = [a + b for a, b in zip(self.x, product(weights["down"], self.active))]
        self.logits = product(weights["head"], self.sum)

    def loss(self, target):
        return math.log(math.fsum(map(math.exp, self.logits))) - self.logits[target]

    def add_gradients(self, target, share, gradients):
        """Adds those of `share` of the loss."""
        total = math.fsum(map(math.exp, self.logits))
        dlogits = [share * (math.exp(logit) / total - (i == target)) for i, logit in enumerate(self.logits)]
        dsum = product(transposed(self.weights["head"]), dlogits)
        dwide = [gradient * 2 * max(value, 0.0)
                 for gradient, value in zip(product(transposed(self.weights["down"]), dsum), self.wide)]
        dx = [a + b for a, b in zip(dsum, product(transposed(self.weights["up"]), dwide))]
        for name, left, right in (("head", dlogits, self.sum), ("down", dsum, self.active), ("up", dwide, self.x)):
            for i, a in enumerate(left):
                for j, b in enumerate(right):
                    gradients[name][i][j] += a * b
        for j, b in enumerate(dx):
            gradients["embedding"][self.token][j] += b


def expect_close(found, expected, what):
    largest = max(map(abs, expected))
    error = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    expect(error <= 1e-5 * largest, f"{what} differ by {error:.2e}, the largest is {largest:.2e}")


def check_decoding(batonc, model, weights_folder, weights, scratch):
    tokens = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    expected = [number for token in tokens for number in Reference(weights, token).logits]
    greedy, last = [], tokens[-1]
    for _ in range(12):
        logits = Reference(weights, last).logits
        last = logits.index(max(logits))
        greedy.append(last)
    files = []
    for target in ("cpu", "cuda:emulated"):
        program = Program(batonc, model, os.path.join(scratch, "decode"), f"--target={target}")
        program.weights = weights_folder
        file = program.logits(tokens, os.path.join(scratch, "logits.npy"))
        numbers = file[file.index(b"\n") + 1:]
        expect_close(struct.unpack(f"<{len(numbers) // 4}f", numbers), expected, f"{target}: logits")
        found = program.generate(tokens, len(greedy))["tokens"]
        expect(found == greedy, f"{target}: tokens {found}, expected {greedy}")
        files.append(file)
    expect(files[0] == files[1], "logits of the CPU and of the emulation have other bits")
    print(f"decodes: {len(tokens)} rows of logits and {len(greedy)} tokens, on the CPU and in emulation")


def check_training(batonc, model, weights_folder, weights, scratch):
    tokens = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    steps = len(tokens) - 1
    write_tokens(os.path.join(scratch, "tokens.u16"), tokens)
    gradients = {name: [[0.0] * columns for _ in range(rows)] for name, (rows, columns) in SHAPES.items()}
    losses = []
    for token, target in zip(tokens, tokens[1:]):
        reference = Reference(weights, token)
        losses.append(reference.loss(target))
        reference.add_gradients(target, 1 / steps, gradients)
    for target in ("cpu", "cuda:emulated"):
        path = lambda name: os.path.join(scratch, name)
        run([batonc, model, "--mode=train", "--optimize=1", "--quiet", f"--target={target}", "-o", path("trainer")])
        result = run([path("trainer"), "train", "--weights", weights_folder, "--data", path("tokens.u16"),
                      "--out", path(f"run-{target}"), "--seq", steps, "--batch", 1, "--steps", 1,
                      "--validation-fraction", 0, "--gradients", path("gradients"), "--quiet"])
        (line,) = lines_of(result.stdout)
        expect_close([line["loss"]], [math.fsum(losses) / steps], f"{target}: losses")
        found = read_tensors(path("gradients"))
        for name, rows in gradients.items():
            expect_close(found[name][2], [number for row in rows for number in row], f"{target}: gradients of {name}")
    print(f"trains: gradients of {len(SHAPES)} tensors, on the CPU and in emulation")


def check_op(build_folder, scratch):
    batonc = os.path.join(build_folder, "bin/batonc")
    model, weights_folder = os.path.join(scratch, "model.mlir"), os.path.join(scratch, "weights")
    with open(model, "w", encoding="utf-8") as file:
        file.write(MODEL)
    weights = write_weights(weights_folder)
    check_decoding(batonc, model, weights_folder, weights, scratch)
    check_training(batonc, model, weights_folder, weights, scratch)


def run_unit_tests(folder, *executables):
    for executable in executables:
        run([os.path.join(folder, "test", executable), "--gtest_brief=1", "--gtest_filter=Elementwise*"])


def test(arguments, scratch):
    name = arguments.page
    page, patch = read(ROOT, "docs", name + ".md"), read(ROOT, "test/every/guides", name + ".patch")
    check_page(name, page, patch)
    copy = os.path.join(os.path.abspath(arguments.folder), name)
    with tempfile.TemporaryDirectory() as folder:
        copy_tree(copy, patched(patch, folder))
    folder = build(arguments, copy, "batonc", "update-reference", "CpuLibraryTest", "BatonTrainingPassesTests")
    touched = touched_files(copy)
    expect(len(touched) == stated_files(page),
           f"docs/{name}.md states {stated_files(page)} files, these are touched: {' '.join(touched)}")
    print(f"{len(touched)} files: {' '.join(touched)}")
    run_unit_tests(folder, "codegen/cpu/library/CpuLibraryTest", "passes/training/BatonTrainingPassesTests")
    check_op(folder, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="whose settings the copy's build takes")
    parser.add_argument("--folder", required=True, help="where copies go")
    parser.add_argument("page", choices=("adding-an-op",))
    arguments = parser.parse_args()
    main(lambda scratch: test(arguments, scratch))

"""Executes the steps of a page of docs: they are a patch, applied to a copy of the tree.

    guides.py --build build --folder build/test/guides adding-an-op
    guides.py --pages

The copy is built, and what the page adds is run, on the CPU and in emulation. The page
shows the patch's lines and nothing else as code, and says how many files they touch. The
copy stays, so that the next run compiles only what has changed since. --pages builds no
copy: of all pages, it holds the code against the patches, and these against the tree.
"""

import argparse
import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from checks.tree import Tree  # noqa: E402
from guide_models import Exaone4, RoundedLlama, SquaredRelu  # noqa: E402
from programs import Program, expect, main, run  # noqa: E402
from training import lines_of, read_tensors, write_tokens  # noqa: E402

INPUTS = ["CMakeLists.txt", "cmake/*", "codegen/*", "compiler/*", "dialects/*", "docs/adding-a*.md",
          "docs/CMakeLists.txt", "models/*", "passes/*", "runtime/*", "tools/*", "test/every/guides/*",
          "test/e2e/programs.py", "test/e2e/training.py", "test/oracle/*", "test/codegen/cpu/library/*",
          "test/models/*", "test/passes/training/*", "build/bin/batonc"]
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


def content_of(path):
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def digest_of(content):
    return content and hashlib.sha256(content).hexdigest()


def copy_tree(copy, changes):
    """Writes the files that the copy has otherwise, and takes away what the tree has not.
    Digests of the tree's files, by name."""
    digests = {}
    for name in sorted(set(Tree(ROOT).files) | set(changes)):
        path, original = os.path.join(copy, name), os.path.join(ROOT, name)
        content = content_of(original)
        digests[name] = digest_of(content)
        content = changes.get(name, content)
        if content_of(path) != content:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        if os.path.exists(original):
            os.chmod(path, os.stat(original).st_mode)
    for name in set(Tree(copy).files) - set(digests):
        os.remove(os.path.join(copy, name))
    return digests


def build(arguments, copy, *targets):
    folder = os.path.join(copy, "build")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        settings = SETTINGS.findall(read(arguments.build, "CMakeCache.txt"))
        run(["cmake", "-G", "Ninja", "-S", copy, "-B", folder, UNOPTIMISED,
             *(f"-D{name}={value}" for name, value in settings)])
    run(["cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", *targets])
    return folder


def touched_files(copy, digests):
    """Files of the copy that the tree, as it was then, has otherwise or not at all."""
    return [name for name in Tree(copy).files
            if digest_of(content_of(os.path.join(copy, name))) != digests.get(name)]


# What is run -------------------------------------------------------------------------


class Guide:
    """A page: what the copy builds of it, unit tests with their filter, and what is checked of
    its batonc."""

    def __init__(self, targets, unit_tests, check):
        self.targets, self.unit_tests, self.check = targets, unit_tests, check


TARGETS = ("cpu", "cuda:emulated")


def expect_close(found, expected, what):
    largest = max(map(abs, expected))
    error = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    expect(error <= 2e-5 * largest, f"{what} differ by {error:.2e}, the largest is {largest:.2e}")


def check_decoding(batonc, model, scratch):
    reference = model(os.path.join(scratch, "model"))
    prompt = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    rows = reference.logits(prompt)
    text = prompt + [rows[-1].index(max(rows[-1]))]
    for _ in range(7):
        last = reference.logits(text)[-1]
        text.append(last.index(max(last)))
    files = []
    for target in TARGETS:
        program = Program(batonc, reference.model, os.path.join(scratch, "decode"), f"--target={target}",
                          *reference.FLAGS)
        program.weights = reference.folder
        file = program.logits(prompt, os.path.join(scratch, "logits.npy"))
        numbers = file[file.index(b"\n") + 1:]
        expect_close(struct.unpack(f"<{len(numbers) // 4}f", numbers), sum(rows, []), f"{target}: logits")
        found = program.generate(prompt, len(text) - len(prompt))["tokens"]
        expect(prompt + found == text, f"{target}: tokens {found}, expected {text[len(prompt):]}")
        files.append(file)
    expect(files[0] == files[1], "logits of the CPU and of the emulation have other bits")
    print(f"decodes: {len(rows)} rows of logits and {len(text) - len(prompt)} tokens, on the CPU and in emulation")


def check_training(batonc, model, scratch):
    reference = model(os.path.join(scratch, "model"))
    tokens = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), tokens)
    loss, gradients = reference.train(tokens)
    for target in TARGETS:
        run([batonc, reference.model, "--mode=train", "--optimize=1", "--quiet", f"--target={target}",
             "-o", path("trainer")])
        result = run([path("trainer"), "train", "--weights", reference.folder, "--data", path("tokens.u16"),
                      "--out", path(f"run-{target}"), "--seq", len(tokens) - 1, "--batch", 1, "--steps", 1,
                      "--validation-fraction", 0, "--gradients", path("gradients"), "--quiet"])
        (line,) = lines_of(result.stdout)
        expect_close([line["loss"]], [loss], f"{target}: losses")
        found = read_tensors(path("gradients"))
        for name, expected in gradients.items():
            expect_close(found[name][2], expected, f"{target}: gradients of {name}")
    print(f"trains: gradients of {len(gradients)} tensors, on the CPU and in emulation")


def check_op(batonc, scratch):
    check_decoding(batonc, SquaredRelu, scratch)
    check_training(batonc, SquaredRelu, scratch)


def check_target(batonc, scratch):
    """The new target's plan is another one, and its programs' tokens are the CPU's."""
    plans, tokens = [], []
    for target in ("cpu", "cpu-small"):
        flag, model = f"--target={target}", os.path.join(ROOT, "test/golden/llama-gqa")
        plans.append(run([batonc, model, "--emit=event", flag, "--quiet"]).stdout)
        program = Program(batonc, model, os.path.join(scratch, "decode"), flag)
        tokens.append(program.generate([3, 1, 4, 1, 5, 9, 2, 6], 12)["tokens"])
    expect(plans[0] != plans[1], "both targets have the same plan")
    expect(tokens[0] == tokens[1] and len(tokens[0]) == 12, f"tokens are {tokens[1]}, of the CPU {tokens[0]}")
    print("decodes: 12 tokens, of another plan than the CPU's")


GUIDES = {
    "adding-an-op": Guide(["update-reference"],
                          {"codegen/cpu/library/CpuLibraryTest": "Elementwise*",
                           "passes/training/BatonTrainingPassesTests": "Elementwise*"}, check_op),
    "adding-a-model": Guide([], {"models/BatonModelsTests": "*"},
                            lambda batonc, scratch: check_decoding(batonc, Exaone4, scratch)),
    "adding-a-target": Guide([], {"compiler/BatonCompilerTests": "ThirdTarget.*"}, check_target),
    "adding-a-weight-format": Guide(["update-reference"], {"codegen/cuda/library/CudaLibraryTest": "*linear_i8*"},
                                    lambda batonc, scratch: check_decoding(batonc, RoundedLlama, scratch)),
}


def check_against_tree(name, scratch):
    """Holds a page against its patch, and that against the tree. Files that it changes, as
    they are with it, and how many the page states."""
    page, patch = read(ROOT, "docs", name + ".md"), read(ROOT, "test/every/guides", name + ".patch")
    check_page(name, page, patch)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        return patched(patch, folder), stated_files(page)


def check_pages(scratch):
    for name, guide in GUIDES.items():
        changes, stated = check_against_tree(name, scratch)
        # What a command writes of the patch is stated, too.
        expect(len(changes) == stated or (len(changes) < stated and guide.targets),
               f"docs/{name}.md states {stated} files, its patch has {len(changes)}")
        print(f"docs/{name}.md: {len(changes)} files")


def test(arguments, scratch):
    name, guide = arguments.page, GUIDES[arguments.page]
    changes, stated = check_against_tree(name, scratch)
    copy = os.path.join(os.path.abspath(arguments.folder), name)
    digests = copy_tree(copy, changes)
    folder = build(arguments, copy, "batonc", *guide.targets, *map(os.path.basename, guide.unit_tests))
    touched = touched_files(copy, digests)
    expect(len(touched) == stated,
           f"docs/{name}.md states {stated} files, these are touched: {' '.join(touched)}")
    print(f"{len(touched)} files: {' '.join(touched)}")
    for executable, cases in guide.unit_tests.items():
        run([os.path.join(folder, "test", executable), "--gtest_brief=1", f"--gtest_filter={cases}"])
    guide.check(os.path.join(folder, "bin/batonc"), scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="whose settings the copy's build takes")
    parser.add_argument("--folder", help="where copies go")
    parser.add_argument("--pages", action="store_true", help="hold all pages against patches and tree")
    parser.add_argument("page", nargs="?", choices=GUIDES)
    arguments = parser.parse_args()
    if not arguments.pages and not (arguments.page and arguments.build and arguments.folder):
        parser.error("expected a page, --build and --folder, or --pages")
    main(check_pages if arguments.pages else lambda scratch: test(arguments, scratch))

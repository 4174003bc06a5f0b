"""The long tests, those that ctest has with -C every only: in parts, and none twice."""

import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys

from .graph import Graph
from .tests import Reader, listed, numbers_of

FILTER = "--gtest_filter="
PASSED = re.compile(r"^\s*\d+/\d+ Test\s+#(\d+): (\S+) \.*\s+Passed\s")


class Inputs:
    """What tests depend on, as one word each: the content of files, not their times."""

    def __init__(self, root, build):
        self.root, self.build = root, build
        self._known = {}

    def of(self, path):
        if path not in self._known:
            digest = hashlib.sha256()
            for name in sorted(self._files(path)):
                digest.update(os.path.relpath(name, path).encode() + b"\0")
                with open(name, "rb") as file:
                    digest.update(hashlib.sha256(file.read()).digest())
            self._known[path] = digest.hexdigest()
        return self._known[path]

    @staticmethod
    def _files(path):
        if os.path.isfile(path):
            return [path]
        found = []
        for folder, folders, names in os.walk(path):
            folders[:] = [name for name in folders if name not in (".git", "__pycache__", ".baton", "build")]
            found += [os.path.join(folder, name) for name in names]
        return [name for name in found if os.path.isfile(name)]

    def fingerprint(self, test):
        paths = {os.path.join(self.root, name) for name in test.files} | test.nodes | (test.folders - {self.build})
        if test.everything:
            paths.add(self.root)
        if test.everything or any(os.path.basename(node) in ("batonc", "emit-unproved") for node in test.nodes):
            paths |= {os.path.join(self.build, "bin"), os.path.join(self.build, "lib/baton")}
        digest = hashlib.sha256(json.dumps(test.command).encode())
        for path in sorted(paths):
            digest.update(f"\0{path}\0{self.of(path)}".encode())
        return digest.hexdigest()


def long_tests(build, reader):
    """Without the cases of unit tests, which are entries of their own there, but for those
    that the one entry of each run leaves out."""
    usual = listed(build)
    names = {name for _, name, _ in usual}
    left_out = {command[0]: patterns_of(command) for _, name, command in usual
                if command and name.startswith("unit.")}

    def is_long(command):
        if command[0] not in left_out or not command[1:2] or not command[1].startswith(FILTER):
            return command[0] not in left_out or len(command) > 1
        case = command[1].removeprefix(FILTER)
        return any(fnmatch.fnmatchcase(case, pattern) for pattern in left_out[command[0]])

    return reader.read([entry for entry in listed(build, "-C", "every")
                        if entry[1] not in names and entry[2] and is_long(entry[2])])


def patterns_of(command):
    """Of cases of a GoogleTest executable that an entry of ctest leaves out."""
    return [pattern for word in command if word.startswith(FILTER + "-")
            for pattern in word.removeprefix(FILTER + "-").split(":")]


def part_of(tests, part):
    """The Kth of N parts: by name, so that a part is the same on each machine."""
    if not part:
        return tests
    match = re.fullmatch(r"(\d+)/(\d+)", part)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        sys.exit(f"error: --part {part}: expected K/N, the Kth of N parts")
    k, n = int(match[1]), int(match[2])
    return [test for i, test in enumerate(sorted(tests, key=lambda test: test.name)) if i % n == k - 1]


def read_passed(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def write_passed(path, passed):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(passed, file, indent=1, sort_keys=True)
    os.replace(path + ".new", path)


def run_tests(build, tests, keys, memory, passed):
    """Through ctest; what passes is kept at once, so that nothing is lost when it is
    interrupted."""
    numbers = os.path.join(build, "test", "selected-every.txt")
    os.makedirs(os.path.dirname(numbers), exist_ok=True)
    with open(numbers, "w", encoding="utf-8") as file:
        file.write(numbers_of(tests))
    command = ["ctest", "--test-dir", build, "-C", "every", "--output-on-failure",
               "--parallel", str(os.cpu_count()), "-I", numbers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if match := PASSED.match(line):
                passed[match[2]] = keys[match[2]]
                write_passed(memory, passed)
    return process.returncode


def run(root, build, part):
    build = os.path.realpath(build)
    subprocess.run([os.path.join(root, "tools/build"), "release", "all", "baton-every"], check=True)
    subprocess.run([os.path.join(root, "tools/install-cuda")], check=False)
    reader = Reader(root, build, Graph.of(build))
    tests = part_of(long_tests(build, reader), part)
    inputs = Inputs(reader.root, build)
    keys = {test.name: inputs.fingerprint(test) for test in tests}
    memory = os.path.join(build, "test", "every.json")
    passed = read_passed(memory)
    waiting = [test for test in tests if passed.get(test.name) != keys[test.name]]
    print(f"{len(tests)} long tests, of which {len(tests) - len(waiting)} passed before with the same inputs",
          flush=True)
    return run_tests(build, waiting, keys, memory, passed) if waiting else 0

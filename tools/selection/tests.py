"""The tests that ctest knows, and the files that each of them uses."""

import json
import os
import re
import subprocess

from . import rules
from .scripts import Scripts

# Of programs that batonc writes.
SCRIPTS = ("test/e2e/", "test/golden/bits.py", "test/golden/quantized.py")
TOOLS = ("baton-opt", "batonc", "check-plan", "diff-run")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


class Test:
    def __init__(self, number, name, command, configuration=""):
        self.number, self.name, self.command = number, name, command
        self.files = set()       # of the sources; folders stand for all that is below
        self.nodes = set()       # of the build
        self.folders = set()     # of the build: all that is below
        self.everything = command is None
        self.script = None
        self.features = None     # None: nobody knows
        self.models = set()
        # Whether it runs programs that batonc writes.
        self.runs_programs = name not in rules.JUDGE_PLANS
        self.prints_bodies = False


def listed(build, *words):
    run = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *words],
                         capture_output=True, text=True, check=True)
    return [(number, entry["name"], entry.get("command"))
            for number, entry in enumerate(json.loads(run.stdout)["tests"], 1)]


def numbers_of(tests):
    """A file for ctest -I, which reads a number up to what follows it."""
    return "0,0,0," + ",".join(str(number) for number in sorted(test.number for test in tests)) + "\n"


class Reader:
    """Finds what tests use: in their commands, in scripts, in what executables were
    compiled with."""

    def __init__(self, root, build, graph):
        self.root, self.build, self.graph = os.path.realpath(root), os.path.realpath(build), graph
        self.scripts = Scripts(self.root)
        self.executables = {}
        self._closures = {}
        self._by_name = {}
        for output in graph.outputs:
            self._by_name.setdefault(os.path.basename(output), output)
        golden = os.path.join(self.root, "test/golden")
        self.golden = {name for name in (os.listdir(golden) if os.path.isdir(golden) else ())
                       if os.path.isfile(os.path.join(golden, name, "config.json"))}

    def read(self, entries):
        return [self._test(*entry) for entry in entries]

    def _test(self, number, name, command):
        test = Test(number, name, command)
        if name in rules.DECLARED:
            test.everything = False
            for path in rules.DECLARED[name]:
                self._use_input(test, path)
            return test
        if command is None:
            # An executable that is not there yet.
            if node := self._by_name.get(name.removesuffix("_NOT_BUILT").removeprefix("unit.")):
                test.everything = False
                self._use_built(test, node)
            return test
        if any(word.endswith("/lit.py") for word in command):
            test.runs_programs = False
            self._use_lit(test, command[-1])
            return test
        words = set()
        scripts = [self.relative(word) for word in command[:3] if self.relative(word)
                   and self.scripts.is_script(self.relative(word))]
        if scripts:
            test.script = scripts[0]
            files, words, everything = self._closure(test.script)
            test.everything |= everything
            for path in files:
                self._use_input(test, path)
        declared = test.script is not None and self.scripts.declares(test.script)
        for word in command:
            # Where headers are, and where a test writes.
            if word.startswith(("-I", "-artifact_prefix=", "--artifacts=")):
                continue
            self._use_word(test, word.partition("=")[2] if word.startswith("-") else word, declared)
        test.runs_programs &= test.script not in rules.WRITES_NO_PROGRAMS
        given = {word for word in command[1:] if word != test.script}
        if test.script and test.script.startswith(SCRIPTS):
            # The script's own name says nothing: it is a path.
            own = {os.path.basename(word) if "/" in word else word for word in given} | {name}
            test.features = rules.features_in(words | own)
            if rules.matches(os.path.basename(test.script), rules.RUNS_SCRIPTS):
                test.features |= set(rules.COMMANDS)
        test.models = {model for model in self.golden for word in given if f"test/golden/{model}" in word}
        return test

    def _closure(self, script):
        if script not in self._closures:
            self._closures[script] = self.scripts.closure(script)
        return self._closures[script]

    def relative(self, path):
        """A path below the top folder; "" for that itself, None for others."""
        if not path.startswith("/"):
            return None
        # The build folder may be a part of the tree, and is none of the sources.
        path = os.path.normpath(path)
        if path == self.build or path.startswith(self.build + "/"):
            return None
        if path == self.root:
            return ""
        return path[len(self.root) + 1:] if path.startswith(self.root + "/") else None

    def _use_input(self, test, path):
        if path.startswith("build/"):
            self._use_word(test, os.path.join(self.build, path[6:]), False)
        elif os.path.basename(path) in TOOLS and path.startswith("tools/"):
            # Beside the sources of a tool no script means these.
            self._use_built(test, os.path.join(self.build, "bin", os.path.basename(path)))
        else:
            test.files.add(path)

    def _use_word(self, test, word, declared):
        if not word.startswith("/"):
            return
        path = os.path.normpath(word)
        if path == self.build:
            if not declared:
                test.folders.add(self.build)
        elif path.startswith(self.build + "/"):
            if path in self.graph.outputs:
                self._use_built(test, path)
            else:
                test.folders.add(path)
        elif (name := self.relative(path)) == "":
            test.everything |= not declared
        elif name is not None:
            test.files.add(name)
            if name.endswith((".cu", ".cpp", ".c")):
                self._use_includes(test, name)

    def _use_includes(self, test, name):
        """Sources that a test compiles by itself."""
        waiting, seen = [name], set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            test.files.add(current)
            try:
                with open(os.path.join(self.root, current), encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            for included in INCLUDE.findall(text):
                for path in (os.path.join(os.path.dirname(current), included), included):
                    if os.path.isfile(os.path.join(self.root, path)):
                        waiting.append(os.path.normpath(path))

    def _use_built(self, test, node):
        """An executable, and what its sources were told the paths of."""
        test.nodes.add(node)
        if node not in self.executables:
            self.executables[node] = []
            if os.path.basename(node) not in TOOLS and "/lib" not in os.path.basename(node):
                made = self.graph.closure(node)
                self.executables[node] = sorted({path for output in made
                                                 for path in self.graph.strings.get(output, ())})
        for path in self.executables[node]:
            if os.path.normpath(path) not in (self.root, node):
                self._use_word(test, path, True)

    def _use_lit(self, test, folder):
        below = os.path.relpath(folder, self.build)
        test.files |= {below, "test/lit.cfg.py", "test/lit.site.cfg.py.in"}
        for path, _, names in os.walk(os.path.join(self.root, below)):
            for name in names:
                if not name.endswith((".mlir", ".test")):
                    continue
                with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                    lines = re.findall(r"RUN:(.*)", file.read())
                runs = " ".join(lines)
                test.prints_bodies |= "--emit=llvm" in runs
                test.runs_programs |= any(re.search(r"(^|[;&|(]|\bnot\b|\benv\b.*)\s*%t\S*(\s|$)", line) for line in lines)
                for tool in TOOLS:
                    if re.search(rf"(^|[\s|(]){tool}\b", runs):
                        self._use_built(test, os.path.join(self.build, "bin", tool))
                for mark, place in (("golden", "test/golden"), ("optimizers", "compiler/optimizers"),
                                    ("examples", "models/examples")):
                    for rest in re.findall(rf"%{mark}((?:/[\w.+-]+)*)", runs):
                        test.files.add(place + rest)
                for script in re.findall(r"%python\s+(\S+)", runs):
                    # Below %S it is a file of the test's own folder.
                    test.everything |= not re.fullmatch(r"-c?|%S/\w[\w/.]*", script)
                for parent in re.findall(r"%S/((?:\.\./)+[\w./-]+)", runs):
                    relative = os.path.relpath(os.path.join(path, parent), self.root)
                    test.files.add(relative)

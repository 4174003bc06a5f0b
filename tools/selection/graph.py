"""What a build makes of what: build.ninja, and the headers that ninja has recorded."""

import os
import re
import subprocess

# Edges whose order-only inputs are there when a test runs what they make: batonc's
# installation, programs that a unit test starts. Where sources are compiled, such
# inputs are generated headers, of which ninja records the ones that are read.
LINKED = re.compile(r"_(EXECUTABLE|MODULE_LIBRARY|SHARED_LIBRARY)_LINKER__")
BEFORE_COMPILING = "cmake_object_order_depends_target_"
COMPILED = re.compile(r"\.(c|cc|cpp|cu|h|hpp|hxx|inc|def|td)$")


def unescaped(text):
    """The paths of a list in build.ninja."""
    return [re.sub(r"\$([ :$])", r"\1", word) for word in re.findall(r"(?:\$.|[^\s$])+", text)]


def sections(text):
    """Outputs, rule, inputs and order-only inputs of an edge's first line."""
    text = text.replace("${cmake_ninja_workdir}", "")
    match = re.match(r"build ((?:\$.|[^:$])*): ?(\S+)(.*)", text)
    outputs, rule, rest = match.groups()
    parts = re.split(r"(?<!\S)(\|\|?@?|\|@)(?!\S)", rest)
    inputs, later = unescaped(parts[0]), []
    for mark, names in zip(parts[1::2], parts[2::2]):
        (inputs if mark == "|" else later).extend(unescaped(names))
    return [name for name in unescaped(outputs) if name != "|"], rule, inputs, later


class Graph:
    """Files by absolute path; `users` leads from a file to what is made of it."""

    def __init__(self, build, text, rules="", recorded=""):
        self.build = build
        self.users = {}
        self.outputs = set()
        self.strings = {}     # output -> paths that it was compiled with as strings
        self.configured = set()
        self.unrecorded = set()
        recording = set()
        for name, body in re.findall(r"^rule (\S+)\n((?:[ ]+.*\n)*)", rules + text, re.M):
            if re.search(r"^\s+deps = ", body, re.M):
                recording.add(name)
        records = self._records(recorded)
        for head, variables in re.findall(r"^(build .*)\n((?:[ ]+.*\n)*)", text.replace("$\n", ""), re.M):
            outputs, rule, inputs, later = sections(head)
            if rule == "RERUN_CMAKE":
                self.configured.update(map(self.path, inputs))
                continue
            if LINKED.search(rule) or rule == "phony" and not outputs[0].startswith(BEFORE_COMPILING):
                inputs = inputs + later
            if rule == "phony" and outputs[0].startswith(BEFORE_COMPILING):
                continue
            # "all" is no file that a test runs.
            if rule == "phony" and outputs[0].rsplit("/", 1)[-1] in ("all", "test", "install"):
                continue
            outputs = [self.path(name) for name in outputs]
            self.outputs.update(outputs)
            for name in inputs:
                self._add(name, outputs)
            strings = re.findall(r'=\\?"(/[^"\\]+)\\?"', variables) if "DEFINES" in variables else []
            for output in outputs if strings else ():
                self.strings[output] = strings
            if rule in recording or re.search(r"^\s+deps = ", variables, re.M):
                for output in outputs:
                    if output not in records:
                        self.unrecorded.add(output)
                    for name in records.get(output, ()):
                        self._add(name, [output])

    @classmethod
    def of(cls, build):
        build = os.path.realpath(build)
        def text(name):
            try:
                with open(os.path.join(build, name), encoding="utf-8") as file:
                    return file.read()
            except FileNotFoundError:
                return ""
        recorded = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True).stdout
        return cls(build, text("build.ninja"), text("CMakeFiles/rules.ninja"), recorded)

    def path(self, name):
        return os.path.normpath(os.path.join(self.build, name))

    def _add(self, name, outputs):
        self.users.setdefault(self.path(name), set()).update(outputs)

    def _records(self, text):
        records, current = {}, None
        for line in text.splitlines():
            if line.startswith("    "):
                if current is not None:
                    current.append(line[4:])
            elif match := re.match(r"(.+): #deps \d+, .*\((VALID|STALE)\)$", line):
                current = records.setdefault(self.path(match[1]), []) if match[2] == "VALID" else None
        return records

    def knows(self, path):
        return path in self.users or path in self.outputs

    def reach(self, paths, is_last=lambda output: False):
        """What is made of files, directly or not: output -> what it is made of there. What
        is made of an output that is a last one is not looked for."""
        reached, waiting = {}, list(paths)
        starts = set(waiting)
        if any(COMPILED.search(path) for path in starts):
            # Of what was never compiled nobody knows what it reads.
            for output in self.unrecorded:
                reached[output] = next(iter(starts))
                waiting.append(output)
        while waiting:
            path = waiting.pop()
            for output in self.users.get(path, ()):
                if output not in reached and output not in starts:
                    reached[output] = path
                    if not is_last(output):
                        waiting.append(output)
        return reached

    def closure(self, path):
        """All files that one is made of."""
        if not hasattr(self, "_makers"):
            self._makers = {}
            for name, outputs in self.users.items():
                for output in outputs:
                    self._makers.setdefault(output, []).append(name)
        found, waiting = {path}, [path]
        while waiting:
            for name in self._makers.get(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return found

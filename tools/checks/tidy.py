"""C++ has no bug that clang-tidy 19 sees, with the list of checks in .clang-tidy, nor a
function of more than 100 lines, but in tests and task libraries: in files that changed,
or in all with --all."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time

from .includes import included_by
from .tree import CPP, Missing, in_parallel, program

CLANG_TIDY = "clang-tidy-19"
KEPT = 10000  # files that passed and are remembered


def configure(tree):
    """Makes what clang-tidy takes from a build folder: how each file is compiled, and
    the headers that TableGen writes."""
    folder = tree.build
    if not tree.build_is_given:
        # One of its own, in which each file is compiled by itself.
        folder = os.path.join(folder, "tidy")
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            print("tidy       configures build/tidy and generates its headers", flush=True)
            run_quietly(["cmake", "--preset", "release", "-B", folder, "-DBATON_UNITY=OFF"], tree.root)
    database = os.path.join(folder, "compile_commands.json")
    if not os.path.exists(database):
        raise Missing(f"{database} is missing; cmake writes it")
    listed = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True)
    if generated := re.findall(r"^(\w+IncGen): phony", listed.stdout, re.M):
        run_quietly(["ninja", "-C", folder, *generated], tree.root)
    if not tree.build_is_given:
        # A hash of libraries, which are not built here: any text parses as well.
        with open(os.path.join(folder, "compiler/CodeGenerator.inc"), "w") as file:
            file.write('""')
    with open(database) as file:
        return json.load(file)


def run_quietly(command, folder):
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise Missing(f"{' '.join(command[:4])} fails:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")


def plain(words):
    """A command that needs no precompiled header, and fails for errors only."""
    kept, i = [], 0
    while i < len(words):
        if words[i:i + 2] == ["-Xclang", "-include-pch"]:
            i += 4
        elif words[i:i + 2] == ["-Xclang", "-include"]:
            kept += ["-include", words[i + 3]]
            i += 4
        elif words[i:i + 2] == ["-Xclang", "-fno-pch-timestamp"]:
            i += 2
        else:
            if words[i] not in ("-Winvalid-pch", "-Werror"):
                kept.append(words[i])
            i += 1
    return kept


def commands_of(tree, entries):
    """One command for each file of the tree; of several, not a sanitizer's."""
    chosen = {}
    for entry in entries:
        name = os.path.relpath(os.path.realpath(os.path.join(entry["directory"], entry["file"])), tree.root)
        words = entry.get("arguments") or shlex.split(entry["command"])
        rank = (any("-fsanitize" in word for word in words), len(words))
        if name in tree.names and (name not in chosen or rank < chosen[name][0]):
            chosen[name] = (rank, {"directory": entry["directory"], "file": tree.path(name),
                                   "arguments": plain(words)})
    return {name: command for name, (_, command) in chosen.items()}


def include_graph(tree):
    return {name: {target for _, _, target in included_by(tree, name) if target in tree.names}
            for name in tree.find(*CPP, ".inc")}


def closure(graph, name):
    reached, waiting = {name}, [name]
    while waiting:
        for target in graph.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def units(tree, compiled, reached):
    """The files to parse, and the headers that are judged within each."""
    chosen = tree.find(*CPP) if tree.everything else [
        name for name in tree.changed if name in set(tree.find(*CPP))]
    found = {name: set() for name in chosen if name in compiled}
    left_out = []
    for name in chosen:
        if name in compiled:
            continue
        stem = os.path.splitext(name)[0]
        includers = [unit for unit in compiled if name in reached[unit]] if name.endswith(".h") else []
        # Its own file, one that is parsed anyway, or the one that includes least.
        includers.sort(key=lambda unit: (os.path.splitext(unit)[0] != stem, unit not in found, len(reached[unit]), unit))
        if includers:
            found.setdefault(includers[0], set()).add(name)
        else:
            left_out.append(name)
    return found, len(chosen), left_out


def fingerprint(tree, unit, headers, command, reached, rest):
    digest = hashlib.sha256(rest)
    digest.update(repr((sorted(headers), command["arguments"])).encode())
    for name in sorted(reached):
        digest.update(f"\0{name}\0{tree.text(name)}".encode())
    return digest.hexdigest()


def read_passed(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def check(tree):
    scope = "all files" if tree.everything else f"files changed since {tree.since}"
    if not tree.everything and not any(name.endswith(CPP) for name in tree.changed):
        return f"no {scope}", []
    compiled = commands_of(tree, configure(tree))
    graph = include_graph(tree)
    reached = {name: closure(graph, name) for name in compiled}
    wanted, count, left_out = units(tree, compiled, reached)

    folder = os.path.join(tree.build, "check")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "compile_commands.json"), "w") as file:
        json.dump([compiled[name] for name in sorted(wanted)], file)
    version = subprocess.run([program(CLANG_TIDY), "--version"], capture_output=True).stdout
    rest = version + "".join(tree.text(name) for name in tree.files
                             if name.endswith((".td", ".clang-tidy"))).encode()
    memory = os.path.join(folder, "passed.json")
    passed = read_passed(memory)
    keys = {unit: fingerprint(tree, unit, headers, compiled[unit], reached[unit], rest)
            for unit, headers in wanted.items()}
    waiting = [unit for unit in sorted(wanted) if keys[unit] not in passed]

    def judge(unit):
        headers = "|".join(re.escape(tree.path(name)) for name in sorted(wanted[unit]))
        run = subprocess.run([CLANG_TIDY, "-p", folder, "--quiet",
                              f"--header-filter={f'^({headers})$' if headers else '^$'}", tree.path(unit)],
                             cwd=tree.root, capture_output=True, text=True)
        found = []
        for file, line, text in re.findall(r"^(\S[^:\n]*):(\d+):\d+: (?:warning|error): (.*)$", run.stdout, re.M):
            path = os.path.realpath(os.path.join(compiled[unit]["directory"], file))
            found.append(f"{os.path.relpath(path, tree.root)}:{line}: {text}")
        if not found and (run.returncode or re.search("(warning|error): ", run.stdout)):
            found = [f"{unit}:1: {CLANG_TIDY} fails: {(run.stdout + run.stderr).strip()[-300:]}"]
        return found

    findings = []
    for unit, found in zip(waiting, in_parallel(judge, waiting)):
        findings += [finding for finding in found if finding not in findings]
        if not found:
            passed[keys[unit]] = time.time()
    for unit in wanted:
        if keys[unit] in passed:
            passed[keys[unit]] = time.time()
    newest = sorted(passed.items(), key=lambda entry: -entry[1])[:KEPT]
    with open(memory, "w") as file:
        json.dump(dict(newest), file)
    what = f"{count} {scope}: {len(waiting)} parsed, {len(wanted) - len(waiting)} passed before"
    if left_out:
        what += f"; {len(left_out)} that CMake does not compile are left out"
    return what, findings

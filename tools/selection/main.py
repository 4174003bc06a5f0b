"""tools/test                       installs what is missing, checks, builds, runs all tests
tools/test -R e2e                arguments go to ctest
tools/test --changed [REV]       builds and runs what the changes since REV can reach; since
                                 main without REV, or, on main, since the last commit; what is
                                 not committed counts always
tools/test --every [--part K/N]  the long tests, or the Kth of N parts of them; what passed
                                 with the same inputs before is not run again
"""

import argparse
import os
import shutil
import subprocess
import sys

from checks.tree import Missing, Tree

from . import every, probes
from .graph import Graph
from .select import Selector
from .tests import Reader, listed, numbers_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Of the build: the compiler with which all tests passed last.
KEPT = "test/passed"
# What CMake has in each folder beside what is built there: install, test and such do
# something instead.
COMMANDS = ("CMakeFiles", "all", "clean", "edit_cache", "install", "list_install_components", "preinstall",
            "rebuild_cache", "test")
# Longer than this, and what fails soonest is run before the rest.
SOON = 180


def parse():
    parser = argparse.ArgumentParser(prog="tools/test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changed", nargs="?", const="", metavar="REV", help="what changes since REV can reach")
    parser.add_argument("--list", action="store_true", help="--changed: neither build nor run; without the "
                        "built compiler nobody knows which plans change, and all are taken to")
    parser.add_argument("--explain", action="store_true", help="--changed: say of each test why it is selected")
    parser.add_argument("--files", nargs="+", metavar="FILE",
                        help="--changed: take these for the files that changed")
    parser.add_argument("--every", action="store_true", help="the long tests")
    parser.add_argument("--part", metavar="K/N", help="--every: the Kth of N parts")
    # tools/test itself, once all tests passed.
    parser.add_argument("--keep-compiler", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--build", metavar="FOLDER", default=os.path.join(ROOT, "build"), help=argparse.SUPPRESS)
    parser.add_argument("--root", metavar="FOLDER", default=ROOT, help=argparse.SUPPRESS)
    return parser.parse_args()


def say(text):
    print(text, flush=True)


def call(*command):
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        sys.exit(status)


def seconds(value):
    return f"{value:.0f} s" if value < 100 else f"{value / 60:.0f} minutes"


def costs_of(build):
    """Seconds that each test took, as ctest has recorded them."""
    costs = {}
    try:
        with open(os.path.join(build, "Testing/Temporary/CTestCostData.txt"), encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if len(words) == 3:
                    costs[words[0]] = float(words[2])
    except OSError:
        pass
    return costs


def waves(chosen, costs):
    """Where all takes long, what is quick and one test of each script first."""
    if sum(costs.get(test.name, 0) for test in chosen) / (os.cpu_count() or 1) < SOON:
        return [chosen]
    first, scripts = [], set()
    for test in sorted(chosen, key=lambda test: costs.get(test.name, 0)):
        if test.script is None or test.script not in scripts:
            first.append(test)
            scripts.add(test.script)
    rest = [test for test in chosen if test not in first]
    return [first, rest] if rest else [first]


def targets_of(chosen, graph, build):
    """What to build for tests; None for everything."""
    targets = set()
    for test in chosen:
        if test.everything or build in test.folders:
            return None
        targets |= test.nodes
        for folder in test.folders:
            targets |= {output for output in graph.outputs
                        if output.startswith(folder + "/")
                        and output[len(folder) + 1:].split("/")[0] not in COMMANDS}
    return sorted(os.path.relpath(target, build) for target in targets if target in graph.outputs)


def make(build, targets):
    if targets == []:
        return
    names = [] if targets is None else targets
    say(f"builds {'everything' if targets is None else f'{len(targets)} targets'}")
    call("ninja", "-C", build, "--quiet", "-j", str(os.cpu_count()), *names)


class Changed:
    def __init__(self, arguments, names):
        self.arguments, self.names = arguments, names
        self.root, self.build = os.path.realpath(arguments.root), os.path.realpath(arguments.build)
        self.memory = os.path.join(self.build, "test", "plans.json")
        self.plans = None

    def select(self):
        self.graph = Graph.of(self.build)
        self.tests = Reader(self.root, self.build, self.graph).read(listed(self.build))
        self.selector = Selector(self.root, self.build, self.graph, self.tests, self.names, self.plans)
        return self.selector.selected()

    def ask_plans(self):
        make(self.build, ["bin/batonc"])
        asked = probes.all_probes(self.root, self.tests)
        now = probes.run(self.root, os.path.join(self.build, "bin/batonc"), asked)
        before = self.plans_before(asked)
        self.plans = probes.Plans(asked, now, before)
        if before is None:
            say(f"{len(asked)} plans asked; there is nothing to compare them with until all tests passed once")
        else:
            say(f"{len(self.plans.changed)} of {len(asked)} plans are others than when tests passed last")

    def plans_before(self, asked):
        """Of the compiler that was kept when tests passed last: it is asked once, when its
        plans are wanted."""
        kept = os.path.join(self.build, KEPT, "bin/batonc")
        if os.path.isfile(kept):
            say("asks for the plans of the compiler that passed the tests")
            probes.write(self.memory, probes.run(ROOT, kept, asked))
            shutil.rmtree(os.path.join(self.build, KEPT))
        return probes.read(self.memory)

    def report(self, chosen):
        costs = costs_of(self.build)
        for change in self.selector.changes:
            count = sum(self.selector.reason(change, test) is not None for test in self.tests)
            say(f"  {change.name}: {count} tests")
        unknown = sum(test.name not in costs for test, _, _ in chosen)
        total = sum(costs.get(test.name, 0) for test, _, _ in chosen) / (os.cpu_count() or 1)
        say(f"{len(chosen)} of {len(self.tests)} tests, about {seconds(total)}"
            + (f" without {unknown} that never ran" if unknown else ""))
        if self.arguments.explain or self.arguments.list:
            for test, change, reason in chosen:
                say(f"    {test.name}: {change}: {reason}" if self.arguments.explain else f"    {test.name}")

    def run(self):
        chosen = self.select()
        if self.arguments.list:
            self.report(chosen)
            return 0
        if self.selector.asks_plans():
            self.ask_plans()
            chosen = self.select()
        for _ in range(3):
            make(self.build, targets_of([test for test, _, _ in chosen], self.graph, self.build))
            # Entries of ctest, and what sources include, are known once they are built.
            names = {test.name for test, _, _ in chosen}
            chosen = self.select()
            if {test.name for test, _, _ in chosen} <= names:
                break
        self.report(chosen)
        if not chosen:
            say("no test can tell these changes from none")
            return 0
        costs = costs_of(self.build)
        for wave in waves([test for test, _, _ in chosen], costs):
            numbers = os.path.join(self.build, "test", "selected.txt")
            with open(numbers, "w", encoding="utf-8") as file:
                file.write(numbers_of(wave))
            status = subprocess.run(["ctest", "--test-dir", self.build, "--output-on-failure", "--parallel",
                                     str(os.cpu_count()), "-I", numbers], cwd=ROOT).returncode
            if status:
                return status
        # Files that did not change say nothing about those that did.
        if self.selector.settles_plans() and not self.arguments.files:
            probes.write(self.memory, self.plans.now)
        return 0


def changed(arguments):
    tree = Tree(ROOT, since=arguments.changed or None)
    names = arguments.files or sorted({*tree.changed, *tree.removed})
    say(f"{len(names)} files changed since {tree.since}" if not arguments.files else f"{len(names)} files")
    if not names:
        return 0
    if not arguments.list:
        call("tools/check", *([arguments.changed] if arguments.changed else []))
        call("tools/install-dependencies")
        subprocess.run(["tools/install-cuda"], cwd=ROOT)
    if not arguments.list or not os.path.isfile(os.path.join(arguments.build, "build.ninja")):
        result = subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stdout + result.stderr)
    return Changed(arguments, names).run()


def keep_compiler(build):
    """What the plans of a compiler depend on: itself, and the descriptions that it reads."""
    kept = os.path.join(build, KEPT)
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(os.path.join(kept, "bin"))
    shutil.copy2(os.path.join(build, "bin/batonc"), os.path.join(kept, "bin"))
    for folder in ("lib/baton/optimizers", "lib/baton/targets"):
        shutil.copytree(os.path.join(build, folder), os.path.join(kept, folder))
    return 0


def main():
    arguments = parse()
    try:
        if arguments.keep_compiler:
            return keep_compiler(os.path.realpath(arguments.build))
        if arguments.every:
            return every.run(ROOT, arguments.build, arguments.part)
        if arguments.changed is not None:
            return changed(arguments)
    except Missing as missing:
        sys.exit(f"error: {missing}")
    sys.exit("error: expected --changed or --every; see tools/test --help")


if __name__ == "__main__":
    sys.exit(main())

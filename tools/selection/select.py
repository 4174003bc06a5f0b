"""Which tests a change can reach, and why."""

import os

from . import rules

COMPILERS = ("bin/batonc", "test/e2e/emit-unproved")
INSTALLED = "lib/baton/"
# All of that, for who has it beside itself.
INSTALLATION = "baton-installation"


class Change:
    """One file, and what is made of it."""

    def __init__(self, name, graph, root, build):
        self.name = name
        self.path = os.path.join(root, name)
        self.feature = rules.feature_of(name)
        self.judges = rules.judges_of(name)
        self.shown = rules.matches(name, rules.SHOWN_IN_PLANS)
        self.bodies = set()
        if rules.matches(name, (rules.BODIES,)) and os.path.isfile(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.bodies = set(rules.BODY.findall(file.read()))
        self.reached = graph.reach([self.path])
        # What cmake copies is no edge of the build.
        self.copied = False
        if self.path in graph.configured:
            copies = [os.path.join(build, INSTALLED, place) for place in
                      ("include/" + name, name.removeprefix("compiler/"))]
            copies = [copy for copy in copies if os.path.isfile(copy)]
            if copies:
                self.copied = True
                for copy in copies:
                    self.reached.setdefault(copy, self.path)
                    self.reached.update(graph.reach([copy]))
                for tool in COMPILERS:
                    self.reached.setdefault(os.path.join(build, tool), copies[0])
        # What batonc links into programs, and nothing else does but unit tests.
        self.in_programs = None
        if rules.matches(name, rules.IN_PROGRAMS):
            installed = os.path.join(build, INSTALLED)
            is_installed = lambda output: (output.startswith(installed)
                                           or os.path.basename(output) == INSTALLATION)
            self.in_programs = {output for output in graph.reach([self.path], is_installed)
                                if not is_installed(output)}
        self.everything = rules.matches(name, rules.ALL_TESTS)
        if self.path in graph.configured and not self.copied and not graph.knows(self.path):
            self.everything = True

    @property
    def asks_plans(self):
        return self.shown or bool(self.bodies)


class Selector:
    def __init__(self, root, build, graph, tests, names, plans=None):
        self.root, self.build = os.path.realpath(root), os.path.realpath(build)
        self.graph, self.tests, self.plans = graph, tests, plans
        self.changes = [Change(name, graph, self.root, self.build) for name in names]
        self.compilers = {os.path.join(self.build, tool) for tool in COMPILERS}
        for change in self.changes:
            used = graph.knows(change.path) or change.copied or any(
                self._names(test, change.name) for test in tests)
            if not used and not rules.matches(change.name, rules.NO_TEST):
                change.everything = True

    def asks_plans(self):
        """Whether the choice depends on what batonc makes now."""
        return any(change.asks_plans and self._compilers_of(change) for change in self.changes)

    def _compilers_of(self, change):
        return self.compilers & set(change.reached)

    def _names(self, test, name):
        """The file or folder in a test's inputs that a name lies in."""
        for path in test.files:
            if name == path or name.startswith(path + "/") or ("*" in path and rules.matches(name, (path,))):
                return path
        return None

    def reason(self, change, test):
        """Why a test must run after a change; None if it need not."""
        if change.everything:
            return "nobody knows what it reaches"
        if (test.everything or self.build in test.folders) and rules.matches(change.name, rules.NO_TEST):
            return None  # tools/check has held it already
        if test.everything:
            return "nobody knows what the test reads"
        if path := self._names(test, change.name):
            return f"reads {path}"
        nodes = {node for node in test.nodes if node in change.reached}
        for folder in test.folders:
            nodes |= {node for node in change.reached if node.startswith(folder + "/")}
        if change.in_programs is not None and not test.runs_programs and not (change.bodies and test.prints_bodies):
            nodes &= change.in_programs
        if (rules.matches(os.path.basename(test.script or ""), rules.SEE_COMMANDS) and change.name.startswith("runtime/")
                and not rules.matches(change.name, rules.COMMANDS_OF_PROGRAMS)):
            return None
        if not nodes:
            return None
        if rules.matches(change.name, rules.NOT_ABOUT.get(test.name, ())):
            return None
        by = {node for node in nodes if node not in self.compilers
              and not node.startswith(os.path.join(self.build, INSTALLED))}
        if by and test.name in rules.JUDGE_PLANS and self._shows_only_in_plans(change):
            changed = self.plans.changed
            return f"a plan changed: {changed[0].name}" if changed else None
        if by:
            return f"runs {os.path.relpath(sorted(by)[0], self.build)}"
        return self._through_compiler(change, test)

    def _shows_only_in_plans(self, change):
        return change.shown and self.plans is not None and not rules.matches(change.name, rules.PROOF)

    def _through_compiler(self, change, test):
        """What is left where the only way to a test is batonc and what it links."""
        if (change.judges is not None and rules.matches(test.name, rules.JUDGED)
                and not rules.matches(test.name, change.judges)):
            return None
        if test.features is None:
            return "runs bin/batonc"
        if change.feature:
            return f"does what is about {change.feature}" if change.feature in test.features else None
        sees = rules.sees_of(test)
        if not change.asks_plans or sees is None or self.plans is None:
            return "runs bin/batonc"
        if change.bodies:
            calling = self.plans.calling(change.bodies)
            if not calling:
                return "runs bin/batonc, and no plan tells who calls the body"
            probe = self.plans.reaches(test, calling, sees)
            return f"a plan like its own calls the body: {probe.name}" if probe else None
        probe = self.plans.reaches(test, self.plans.changed, sees)
        return f"a plan like its own changed: {probe.name}" if probe else None

    def missed(self, test):
        """Why a test must run after changes that are not among these: plans that differ
        from those of the last pass were never tested."""
        if not self.plans or self.plans.before is None or not self.plans.changed:
            return None
        if test.features is None or not test.nodes & self.compilers:
            return None
        sees = rules.sees_of(test)
        if sees is None:
            return "plans changed since tests passed last"
        probe = self.plans.reaches(test, self.plans.changed, sees)
        return f"a plan like its own changed since tests passed last: {probe.name}" if probe else None

    def _stand_ins(self, change):
        """Of the tests that a change reaches by programs, those that one of them stands for:
        they differ from it in their model alone, of the same type."""
        if not rules.matches(change.name, rules.MODELS_ALIKE) or change.everything:
            return set()
        groups = {}
        for test in self.tests:
            if change.bodies and rules.matches(os.path.basename(test.script or ""), rules.AGAINST_PYTORCH):
                continue
            if len(test.models) == 1 and rules.sees_of(test) == rules.GIVEN and not self._names(test, change.name):
                (model,) = test.models
                words = tuple(word.replace(f"test/golden/{model}", "") for word in test.command if word != "--quick")
                alike = test.script, words, rules.type_of(self.root, model)
                if self.reason(change, test):
                    groups.setdefault(alike, []).append((model != rules.ONE_MODEL, test.name))
        return {name for group in groups.values() for _, name in sorted(group)[1:]}

    def selected(self):
        """(test, what changed, reason) of what must run."""
        found = []
        stood_for = {change: self._stand_ins(change) for change in self.changes}
        for test in self.tests:
            for change in self.changes:
                if test.name in stood_for[change]:
                    continue
                if reason := self.reason(change, test):
                    found.append((test, change.name, reason))
                    break
            else:
                if reason := self.missed(test):
                    found.append((test, "before", reason))
        return found

    def settles_plans(self):
        """Whether what the probes say now is tested once the selection passed."""
        return self.plans is not None and (self.plans.before is not None or any(
            change.everything or change.shown and self._compilers_of(change) for change in self.changes))

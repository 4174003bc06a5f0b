"""What tools/test selects.

- graph: a small build: libraries, precompiled headers, what is compiled but not recorded,
  what must be there when a test runs;
- scripts: modules, files and declared inputs of scripts;
- plans: which tests a changed plan reaches, and which a body that plans call;
- judges: when what judges plans by the proof runs;
- every: parts are all, and none twice; what passed is known again until an input changes;
- long: what each run leaves out, and what stands for it there, are as test/long.txt says;
- build: this build, and a change in each of many files of different kinds: the tests that
  must run are selected, and those that cannot tell are not.
"""

import argparse
import os
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools"))
from selection import every, probes, rules  # noqa: E402
from selection.graph import Graph  # noqa: E402
from selection.main import targets_of  # noqa: E402
from selection.scripts import Scripts  # noqa: E402
from selection.select import Selector  # noqa: E402
from selection.tests import Reader, Test, listed  # noqa: E402

# For tools/test --changed: selection itself; the build's graph is read as it is.
INPUTS = ["tools/selection/*", "tools/checks/tree.py", "tools/test", "test/long.txt"]


def expect(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


NINJA = """
rule CXX_COMPILER__A_Release
  deps = gcc
rule CXX_STATIC_LIBRARY_LINKER__A_Release
rule CXX_EXECUTABLE_LINKER__A_Release
build cmake_object_order_depends_target_A: phony || generated.h
build headers.pch: CXX_COMPILER__A_Release /s/headers.cpp
build a.o: CXX_COMPILER__A_Release /s/a.cpp | headers.pch || cmake_object_order_depends_target_A
  DEFINES = -DGOLDEN=\\"/s/golden\\"
build b.o: CXX_COMPILER__A_Release /s/b.cpp || cmake_object_order_depends_target_A
build new.o: CXX_COMPILER__A_Release /s/new.cpp
build generated.h | ${cmake_ninja_workdir}generated.h: CUSTOM_COMMAND /s/ops.td
build libA.a: CXX_STATIC_LIBRARY_LINKER__A_Release a.o || libB.a
build libB.a: CXX_STATIC_LIBRARY_LINKER__A_Release b.o
build installed/lib.bc: CUSTOM_COMMAND /s/body$ one.cpp
build installation: phony installed/lib.bc
build tool: CXX_EXECUTABLE_LINKER__A_Release main.o | libA.a || installation libA.a
build other: CXX_EXECUTABLE_LINKER__A_Release new.o
build all: phony tool other
build everything: phony all
"""
DEPS = """headers.pch: #deps 1, deps mtime 1 (VALID)
    /s/common.h

a.o: #deps 2, deps mtime 1 (VALID)
    /s/a.cpp
    ../s/a.h

b.o: #deps 2, deps mtime 1 (VALID)
    /s/b.cpp
    generated.h
"""


def test_graph(_):
    graph = Graph("/b", NINJA, recorded=DEPS)
    reach = lambda name: {path.removeprefix("/b/") for path in graph.reach([name])}
    # Of new.o nothing is recorded: any source may be in it.
    unknown = {"new.o", "other"}
    expect(reach("/s/a.cpp") == {"a.o", "libA.a", "tool"} | unknown, reach("/s/a.cpp"))
    expect(reach("/s/a.h") == {"a.o", "libA.a", "tool"} | unknown, reach("/s/a.h"))
    expect(reach("/s/common.h") == {"headers.pch", "a.o", "libA.a", "tool"} | unknown, reach("/s/common.h"))
    # Generated before a.cpp is compiled, but read by b.cpp only; no archive is made of another.
    expect(reach("/s/ops.td") == {"generated.h", "b.o", "libB.a"} | unknown, reach("/s/ops.td"))
    # What the tool finds when it runs.
    expect({"installed/lib.bc", "installation", "tool"} <= reach("/s/body one.cpp"), reach("/s/body one.cpp"))
    expect(reach("/s/page.md") == set(), reach("/s/page.md"))
    expect(graph.strings["/b/a.o"] == ["/s/golden"], graph.strings)
    expect("/s/a.h" in graph.closure("/b/tool") and "/s/b.cpp" not in graph.closure("/b/tool"), "closure")
    # A record that is not of the object which is there is none.
    stale = Graph("/b", NINJA, recorded=DEPS.replace("(VALID)", "(STALE)"))
    expect("/b/a.o" in stale.reach(["/s/x.h"]), "a record that is out of date")


def write(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)


def test_scripts(_):
    with tempfile.TemporaryDirectory() as root:
        write(root, {
            "test/e2e/programs.py": "def golden():\n    join('..', '../golden/check.py')\nLOGITS = 'logits'\n",
            "test/e2e/shared.py": "TRAIN = '--mode=train'\n",
            "test/e2e/one.py": '"""Of zero."""\nimport os\nimport programs\nfrom shared import TRAIN\n'
                               "tool = os.path.join(os.path.dirname(__file__), '../../tools/make')\n",
            "test/e2e/top.py": "import os\nroot = os.path.join(os.path.dirname(__file__), '../..')\n",
            "test/e2e/said.py": "import os\nroot = os.path.join(os.path.dirname(__file__), '../..')\nINPUTS = ['pages/*.md']\n",
            "test/golden/check.py": "", "tools/make": "#!/bin/sh\n", "pages/a.md": ""})
        scripts = Scripts(root)
        files, words, everything = scripts.closure("test/e2e/one.py")
        expect({"test/e2e/one.py", "test/e2e/programs.py", "test/e2e/shared.py", "tools/make"} <= files, files)
        expect(not everything and rules.features_in(words) == {"train"}, (everything, rules.features_in(words)))
        expect(scripts.closure("test/e2e/top.py")[2], "a script that reads the top folder reads everything")
        files, _, everything = scripts.closure("test/e2e/said.py")
        expect("pages/a.md" in files and not everything, files)


class MadeUp:
    """Tests and probes of no build."""

    @staticmethod
    def test(name, script, features, model=None):
        test = Test(0, name, ["python3"])
        test.script, test.features = f"test/e2e/{script}.py", set(features.split())
        test.nodes = {"/b/bin/batonc"}
        test.models = {model} if model else set()
        return test

    def __init__(self):
        self.tests = [self.test("decode.a", "decode", "decode unfused", "a"),
                      self.test("decode.b", "decode", "decode unfused", "b"),
                      self.test("zero.a", "tensor_parallel", "decode train ranks tensor zero", "a"),
                      self.test("train.b", "train_gradients", "train", "b"),
                      self.test("layouts", "layouts", "decode"), self.test("errors", "errors", "decode train")]
        self.probes = [probes.Probe("decode", "test/golden/a", ()), probes.Probe("decode", "test/golden/b", ()),
                       probes.Probe("train", "test/golden/a", ("--mode=train",)),
                       probes.Probe("train zero", "test/golden/a", ("--zero=1",))]
        self.before = {probe.name: {"plan": probe.name, "calls": ["linear_f32"]} for probe in self.probes}

    def selected(self, name, changed=(), calls=(), before=True):
        now = {key: dict(value) for key, value in self.before.items()}
        for i in changed:
            now[self.probes[i].name]["plan"] = "other"
        for i in calls:
            now[self.probes[i].name]["calls"] = ["rope"]
        plans = probes.Plans(self.probes, now, self.before if before else None)
        with tempfile.TemporaryDirectory() as root:
            write(root, {name: "void baton_task_rope() {}\n"})
            root = os.path.realpath(root)
            graph = Graph("/b", "rule X\nbuild bin/batonc: X " + os.path.join(root, name) + "\n")
            selector = Selector(root, "/b", graph, self.tests, [name], plans)
            expect(selector.asks_plans() == name.startswith(("passes/", "codegen/cpu/library/")), f"{name} asks for plans")
            return {test.name for test, _, _ in selector.selected()}


def test_plans(_):
    made = MadeUp()
    everyone = {test.name for test in made.tests}
    one_pass, body = "passes/fusion/One.cpp", "codegen/cpu/library/rope.cpp"
    # What sees more of batonc than plans always runs, and all do where nothing is known.
    expect(made.selected(one_pass) == {"errors"}, made.selected(one_pass))
    expect(made.selected(one_pass, before=False) == everyone, made.selected(one_pass, before=False))
    expect(made.selected("codegen/cpu/Emit.cpp") == everyone, "code generation shows in no plan")
    found = made.selected(one_pass, changed=[0])
    expect(found == {"decode.a", "zero.a", "layouts", "errors"}, found)
    # No plan of b's shows training: a's stands for it.
    found = made.selected(one_pass, changed=[2])
    expect(found == {"zero.a", "train.b", "errors"}, found)
    expect(made.selected(one_pass, changed=[3]) == {"zero.a", "errors"}, made.selected(one_pass, changed=[3]))
    found = made.selected(body, calls=[1])
    expect(found == {"decode.b", "layouts", "errors"}, found)
    # Another change, of which nobody told, but which nobody tested either.
    found = made.selected(body, calls=[1], changed=[3])
    expect(found == {"decode.b", "zero.a", "layouts", "errors"}, found)
    expect(made.selected(body) == everyone, "a body that no plan calls by name")
    expect(made.selected("runtime/train/batches.cpp") == {"zero.a", "train.b", "errors"},
           made.selected("runtime/train/batches.cpp"))


def test_judges(_):
    """What judges plans by the proof runs where a plan or the proof changes."""
    made = MadeUp()
    judge = Test(0, "fuzz.proof", ["fuzz-proof"])
    judge.nodes = {"/b/fuzz-proof"}
    other = Test(0, "unit.Other", ["other"])
    other.nodes = {"/b/other"}

    def selected(name, changed):
        now = {key: {"plan": "other" if changed else value["plan"], "calls": []} for key, value in made.before.items()}
        with tempfile.TemporaryDirectory() as root:
            root = os.path.realpath(root)
            write(root, {name: ""})
            graph = Graph("/b", f"rule X\nbuild fuzz-proof other: X {root}/{name}\n")
            selector = Selector(root, "/b", graph, [judge, other], [name], probes.Plans(made.probes, now, made.before))
            return {test.name for test, _, _ in selector.selected()}

    both = {"fuzz.proof", "unit.Other"}
    expect(selected("passes/fusion/One.cpp", changed=False) == {"unit.Other"}, "a judge runs for plans that did not change")
    expect(selected("passes/fusion/One.cpp", changed=True) == both, "a judge does not run for plans that changed")
    expect(selected("passes/proof/One.cpp", changed=False) == both, "a judge does not run for another proof")
    expect(selected("dialects/Event/One.cpp", changed=False) == both, "what shows in no plan")


def test_every(_):
    tests = [Test(i, f"every.{i}", ["true"]) for i in range(7)]
    parts = [every.part_of(tests, f"{k}/3") for k in (1, 2, 3)]
    expect(sorted(test.name for part in parts for test in part) == [test.name for test in tests], "parts")
    expect(every.part_of(tests, None) == tests, "no part")
    with tempfile.TemporaryDirectory() as root:
        write(root, {"s/test/a.py": "1", "s/other": "1", "b/bin/batonc": "1", "b/lib/baton/x": "1"})
        source, build = os.path.join(root, "s"), os.path.join(root, "b")
        test = Test(1, "a", ["python3", "a.py"])
        test.files, test.nodes = {"test/a.py"}, {os.path.join(build, "bin/batonc")}
        key = lambda: every.Inputs(source, build).fingerprint(test)
        first = key()
        write(root, {"s/other": "2"})
        expect(key() == first, "a file that it does not read")
        keys = {first}
        for name in ("s/test/a.py", "b/bin/batonc", "b/lib/baton/x"):
            write(root, {name: "2"})
            keys.add(key())
        expect(len(keys) == 4, "each input is one")
        # What passes is kept when it does, what fails is not.
        write(root, {"b/CTestTestfile.cmake": "add_test(good true)\nadd_test(bad false)\n"})
        good, bad = Test(1, "good", ["true"]), Test(2, "bad", ["false"])
        memory = os.path.join(build, "test", "every.json")
        status = every.run_tests(build, [good, bad], {"good": "g", "bad": "b"}, memory, {})
        expect(status != 0 and every.read_passed(memory) == {"good": "g"}, every.read_passed(memory))


# For a change in a file: tests that must run, and tests that cannot tell. A name that
# ends with a dot stands for all that begin with it.
PLANTED = [
    ("passes/fusion/NormRewrites.cpp",
     ["lit.passes.fusion", "e2e.decode.llama-gqa", "e2e.errors.mlir", "e2e.train_gradients.", "e2e.sanitize."],
     ["unit.BatonTokenizerTests", "golden.check", "fuzz.safetensors", "docs.reference.model"]),
    ("passes/proof/Passes.td", ["docs.reference.passes", "lit.passes.proof", "unit.BatonProofTests"],
     ["docs.reference.event", "unit.BatonDecodeTests", "tokenizers."]),
    ("dialects/Model/ModelOps.td", ["docs.reference.model", "lit.dialects.Model", "lit.passes.sharding", "e2e.cuda."],
     ["unit.BatonWeightsTests", "fuzz.tokenizer", "golden.check"]),
    ("codegen/cpu/library/rope.cpp",
     ["unit.CpuLibraryTest", "e2e.decode.", "e2e.train_gradients.llama-gqa", "e2e.train_gradients.qwen3-norms",
      "e2e.train_f64.gpt2-small", "unit.CudaLibraryTest", "lit.codegen.cpu"],
     ["lit.passes.", "unit.BatonModelsTests", "docs.reference.event", "tokenizers.", "fuzz.proof",
      "e2e.cuda_graph.gemma2-caps"]),
    ("codegen/cuda/library/rope.h", ["CudaLibrary.planted", "unit.CudaLibraryTest", "e2e.cuda.", "e2e.cuda_train.", "CudaLibrary.scopes"],
     ["e2e.decode.", "e2e.recompute.", "unit.CpuLibraryTest"]),
    # Of models whose weights have one type, one stands for the others.
    ("runtime/train/batches.cpp",
     ["unit.BatonTrainingTests", "e2e.train", "e2e.train_gradients.llama-gqa", "e2e.train_gradients.llama-bias-f16",
      "e2e.train_gradients.deepseekv3-yarn", "e2e.demo", "e2e.mesh_parallel."],
     ["e2e.decode.", "unit.BatonWeightsTests", "lit.", "e2e.attention_split.", "e2e.train_gradients.qwen3-norms",
      "fuzz.proof", "unit.BatonProofTests", "e2e.tune", "e2e.cuda_compile."]),
    ("runtime/decode/sampler.h",
     ["unit.BatonDecodeTests", "e2e.generate", "e2e.decode.llama-gqa", "e2e.decode.deepseekv3-yarn", "e2e.demo"],
     ["unit.BatonTokenizerTests", "lit.", "fuzz.config", "e2e.decode.qwen3-norms", "e2e.train_f64."]),
    ("runtime/execute/host_execution.cpp", ["e2e.decode.llama-gqa", "e2e.train_f64.gpt2-small", "e2e.endings."],
     ["lit.", "fuzz.proof", "e2e.decode.qwen3-norms", "e2e.gpu_scripts.", "e2e.bench_scripts", "e2e.tune",
      "e2e.object_cache", "e2e.exported.", "fuzz.accepted.", "unit.CudaLibraryTest"]),
    ("runtime/comm/message_passing.cpp",
     ["unit.BatonCommunicationTests", "unit.BatonTrainRanksTests", "e2e.train_ranks.", "e2e.decode_ranks.llama-gqa",
      "e2e.zero.llama-gqa", "e2e.zero.blocks.llama-gqa", "e2e.pipeline_parallel.llama-gqa", "e2e.cuda_ranks.faults"], ["e2e.decode.", "e2e.tune", "e2e.cuda.", "lit."]),
    ("runtime/main/bench_command.cpp", ["e2e.bench_scripts", "e2e.gpu_scripts.", "e2e.generate"], ["e2e.train_f64.", "lit."]),
    ("runtime/main/memory_check.cpp", ["e2e.touched_memory", "e2e.debugging"], ["e2e.decode.", "e2e.train_f64."]),
    ("runtime/execute/value_dump.cpp", ["e2e.diff_run", "e2e.debugging", "e2e.generate"], ["e2e.train_gradients."]),
    # The compiler has it, too.
    ("runtime/step_sequence.h", ["lit.passes.pipeline", "unit.BatonProofTests", "e2e.pipeline_parallel."], []),
    # Weights differ from model to model.
    ("runtime/weights/convert.cpp", ["unit.BatonWeightsTests", "e2e.decode.", "e2e.train_gradients."], ["lit."]),
    ("test/golden/llama3-rope/logits.npy", ["e2e.decode.llama3-rope", "e2e.cuda.llama3-rope", "unit.BatonModelsTests"],
     ["e2e.decode.llama-gqa", "e2e.cuda.gpt2-small", "lit.passes.fusion", "fuzz."]),
    ("test/e2e/recompute.py", ["e2e.recompute."], ["e2e.decode.", "unit.", "lit.", "e2e.train_gradients."]),
    ("test/e2e/programs.py", ["e2e.decode.", "e2e.train", "e2e.errors.", "e2e.every_mesh."], ["unit.", "lit.", "docs.reference."]),
    ("test/e2e/training.py", ["e2e.train_gradients.", "e2e.zero.", "e2e.mesh_parallel."], ["e2e.decode.llama-gqa", "lit."]),
    ("docs/optimizers.md", ["e2e.train_optimizers.signs"], ["e2e.decode.", "unit.", "lit.", "docs.reference."]),
    ("docs/adding-a-target.md", ["guides.pages"], ["e2e.", "unit.", "lit.", "fuzz.", "docs."]),
    ("docs/sharding.md", [], ["e2e.", "unit.", "lit.", "fuzz.", "docs.", "check."]),
    ("docs/reference/model.md", ["docs.reference.model"], ["docs.reference.event", "e2e.", "lit."]),
    ("test/passes/fusion/norms.mlir", ["lit.passes.fusion"], ["lit.passes.tiling", "e2e.decode.", "unit."]),
    ("compiler/targets/cpu.json", ["e2e.loss_parts.", "e2e.decode.", "lit.compiler.schedule"],
     ["unit.BatonTokenizerTests", "golden.check", "fuzz.safetensors"]),
    # gpu_scripts packs the CUDA library's tests, which the oracle judges.
    ("test/oracle/hyper.cpp", ["unit.CpuLibraryTest", "e2e.gpu_scripts"], ["e2e.decode.", "e2e.train_f64.", "lit.", "fuzz.safetensors"]),
    ("test/fuzz/corpus/plan/anything", ["fuzz.plan"], ["fuzz.config", "e2e.", "unit."]),
    # Nobody knows what these reach.
    ("CMakeLists.txt", ["e2e.", "unit.", "lit.", "fuzz.", "docs.", "golden.check"], []),
    ("new/folder/file.xyz", ["e2e.", "unit.", "lit.", "fuzz.", "docs.", "golden.check"], []),
]


# The same where no probe's plan changed: what sees more of batonc than plans and programs runs.
UNCHANGED = [
    ("passes/fusion/NormRewrites.cpp",
     ["lit.passes.fusion", "lit.codegen.cpu", "e2e.errors.", "e2e.explain", "e2e.schedules", "e2e.random_schedules.",
      "e2e.debugging", "unit.BatonCompilerTests", "fuzz.accepted.", "docs.commands"],
     ["e2e.decode.", "e2e.decode_ranks.", "e2e.zero.", "e2e.pipeline_parallel.", "e2e.demo", "e2e.bench_scripts",
      "e2e.gpu_scripts.", "e2e.cuda_bodies", "e2e.exported.", "e2e.endings.", "e2e.deferred_norms",
      "unit.BatonProofTests", "fuzz.proof", "e2e.python_program"]),
    ("passes/proof/PlanVerifier.cpp", ["unit.BatonProofTests", "fuzz.proof", "lit.passes.proof"], ["e2e.zero.", "e2e.demo"]),
    ("compiler/schedule/ScheduleOps.cpp", ["lit.compiler.schedule", "e2e.schedules", "e2e.random_schedules."],
     ["e2e.decode.", "e2e.demo", "fuzz.proof"]),
]


def test_build(arguments):
    graph = Graph.of(arguments.build)
    entries = listed(arguments.build, "-C", "every")
    tests = Reader(ROOT, arguments.build, graph).read(entries)
    names = {test.name for test in tests}
    for test in tests:
        if test.script and test.script.startswith("test/e2e/"):
            expect(test.features, f"{test.name}: does nothing that is known")
    # A test of which nobody knows what it reads runs always: few may.
    unknown = [test.name for test in tests if test.everything]
    expect(all(name.startswith("check.every") for name in unknown),
           f"what do these read? {unknown}; see INPUTS in docs/testing.md")
    # The compiler with all of it instrumented is built for long tests only.
    accepted = [test for test in tests if test.name == "fuzz.accepted.plan"]
    targets = targets_of(accepted, graph, os.path.realpath(arguments.build))
    expect("test/fuzz/fuzz-plan" in targets and "bin/batonc" in targets
           and not any("every" in target or "Fuzzed" in target for target in targets),
           f"for fuzz.accepted.plan {targets} are built")
    runtime = [test for test in tests if os.path.join(os.path.realpath(arguments.build), "lib/baton") in test.folders]
    targets = targets_of(runtime, graph, os.path.realpath(arguments.build))
    expect(runtime and not any(os.path.basename(target) in ("install", "test") for target in targets), targets)
    sees = {name for name in rules.SEES_PROGRAMS
            if not any(os.path.isfile(os.path.join(ROOT, f"test/{folder}/{name}.py")) for folder in ("e2e", "golden"))}
    expect(not sees, f"there are no scripts {sees}")
    expect(set(rules.DECLARED) <= names, f"there is no test of {set(rules.DECLARED) - names}")
    for pattern in (*rules.SHOWN_IN_PLANS, *(pattern for pattern, _ in rules.ONLY_WITH), rules.BODIES):
        expect(any(rules.matches(name, (pattern,)) for name in sources()), f"nothing is {pattern}")
    for pattern, judges in rules.JUDGES:
        expect(any(rules.matches(name, (pattern,)) for name in sources()), f"nothing is {pattern}")
        for judge in judges:
            expect(any(rules.matches(name, (judge,)) for name in names), f"{pattern}: there is no test {judge}")
    expect(set(rules.NOT_ABOUT) <= names, f"there is no test of {set(rules.NOT_ABOUT) - names}")
    asked = probes.all_probes(ROOT, tests)
    expect(len({probe.name for probe in asked}) == len(asked), "each probe has a name of its own")

    # What was never built, such as that of the long tests, any source reaches.
    unbuilt = graph.unrecorded | set(graph.reach(graph.unrecorded))
    blurred = {test.name for test in tests if test.nodes & unbuilt}
    same = {probe.name: {"plan": probe.name, "calls": []} for probe in asked}
    unchanged = probes.Plans(asked, same, same)
    for (name, must, must_not), plans in [*((case, None) for case in PLANTED), *((case, unchanged) for case in UNCHANGED)]:
        selector = Selector(ROOT, arguments.build, graph, tests, [name], plans)
        found = {test.name for test, _, _ in selector.selected()}
        matching = lambda wanted: {test for test in names if test == wanted or wanted.endswith(".") and test.startswith(wanted)}
        for wanted in must:
            meant = matching(wanted)
            expect(meant, f"there is no test {wanted}")
            expect(meant <= found, f"{name}: {sorted(meant - found)} not selected")
        for wanted in must_not:
            meant = matching(wanted)
            expect(meant, f"there is no test {wanted}")
            wrong = meant & found - blurred
            expect(not wrong, f"{name}: {sorted(wrong)} selected")
        print(f"{name}: {len(found)} of {len(tests)} tests")


def test_long(arguments):
    usual = {name for _, name, _ in listed(arguments.build)}
    every_name = {name for _, name, _ in listed(arguments.build, "-C", "every")}
    with open(os.path.join(ROOT, "test/long.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    names = [line[0].removesuffix(":") for line in lines]
    expect(len(set(names)) == len(names), "a test is there twice")
    for name, (_, *instead) in zip(names, lines):
        expect(name in every_name - usual, f"{name}: expected in ctest with -C every, and there only")
        expect(instead and set(instead) <= usual, f"{name}: {set(instead) - usual} are in no run")
    print(f"{len(names)} long tests, {len(usual)} in each run")


def sources():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("test", choices=("graph", "scripts", "plans", "judges", "every", "long", "build"))
    arguments = parser.parse_args()
    globals()[f"test_{arguments.test}"](arguments)


main()

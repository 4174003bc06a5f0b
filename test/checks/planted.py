"""tools/check reports faults that are planted in a small tree, each where it stands,
and nothing in the tree without them; tools/format mends what it says that it does.

    planted.py --compiler clang++-19 commands|format|includes|links|python|shell|tidy|whole
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# For tools/test --changed: the checks themselves, which judge trees of this test's own.
INPUTS = ["tools/check", "tools/format", "tools/checks/*", ".clang-format", ".clang-tidy", ".flake8"]

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))

DESIGN = """# Design

## Where things are

| folder | what | may include |
|---|---|---|
| compiler/ | compiles | dialects |
| compiler/library | is embedded | runtime/program.h, no LLVM |
| dialects/ | says | nothing |
| runtime/ | runs | nothing, no LLVM |
| tools/ | commands | compiler |

## Next

[above](#where-things-are), [the program](../runtime/program.h), `runtime/program.h`

## Circles

| circle | why it stays |
|---|---|
| compiler/Walk, compiler/walk | they are one walk |
"""

README = """# Read me

[design](docs/design.md#where-things-are)

```
build/bin/batonc MODEL -o llama --mode=train    # --not-a-flag
build/bin/batonc explain MODEL \\
  --html plan.html && ./llama generate --prompt "a --b" | grep -E x
mpirun -n 2 ./llama train ...
tools/measure --rounds 3 docs/design.md
baton-opt model.mlir --tile-tasks --canonicalize
```

`./llama info --json`, `bench --profile`, `--mode=train`, `tools/{measure,quote}`
"""

CLEAN = {
    "README.md": README,
    "docs/design.md": DESIGN,
    "compiler/Plan.h": "int plan();\n",
    "compiler/Plan.cpp": '#include "compiler/Plan.h"\n#include "dialects/Ops.h"\n#include <llvm/ADT/StringRef.h>\n',
    "compiler/Walk.h": '#include "compiler/walk/Rules.h"\n',
    "compiler/walk/Rules.h": "int rules();\n",
    "compiler/walk/Rules.cpp": '#include "compiler/walk/Rules.h"\n#include "compiler/Walk.h"\n',
    "compiler/walk/Steps.h": '#include "compiler/walk/Tree.h"\n',
    "compiler/walk/Tree.h": "int tree();\n",
    "compiler/library/body.h": '#include "runtime/program.h"\n',
    "dialects/Kinds.h": "int kinds();\n",
    "dialects/Ops.h": "int ops();\n",
    "dialects/Ops.cpp": '#include "dialects/Ops.h"\n#include "dialects/Kinds.h"\n',
    "runtime/program.h": "int program();\n",
    "runtime/start.cpp": '#include "program.h"\n',
    "tools/tool.cpp": '#include "compiler/Plan.h"\n#include "dialects/Ops.h"\n',
    "tools/batonc/batonc.cpp": 'auto flags = {"-o", "--mode"};\n',
    "tools/batonc/compile_flags.cpp": 'auto shared = {"--target"};\n',
    "tools/batonc/explain.cpp": 'auto explain = {"--html"};\n',
    "tools/batonc/pipeline.cpp": 'auto pipeline = {"--stages"};\n',
    "runtime/main/command_line.cpp": "".join(
        f'auto {name} = add_subcommand("{name}");\n' for name in ("generate", "train", "bench", "info"))
        + 'auto flags = {"--prompt", "--json", "--profile"};\n',
    "passes/Passes.td": 'def TileTasks : Pass<"tile-tasks", "Plan"> {}\n',
    "tools/measure": '#!/usr/bin/env python3\nimport sys\n\nprint(sys.argv[1:] == ["--rounds"])\n',
    "tools/quote": '#!/usr/bin/env bash\nls "$1"\n',
    ".clang-format": "BasedOnStyle: LLVM\n",
}

# Check, file, what is written in place of what, and what has to be said. Nothing
# in place of None: at the end.
FAULTS = [
    ("format", "compiler/Plan.h", "int plan", "int  plan", r"compiler/Plan\.h:1: clang-format-19"),
    ("format", "README.md", "# Read me", "# Read me ", r"README\.md:1: blanks"),
    ("format", "tools/quote", None, "\n", r"tools/quote:\d: the file does not end"),
    ("format", ".clang-format", "LLVM\n", "LLVM", r"\.clang-format:1: the file does not end"),
    ("includes", "dialects/Ops.h", None, '#include "compiler/Plan.h"\n',
     r"dialects/Ops\.h:2: includes compiler/Plan\.h; row dialects \(docs/design\.md:9\) says: nothing"),
    ("includes", "compiler/Plan.cpp", None, '#include "../runtime/program.h"\n',
     r"compiler/Plan\.cpp:4: includes runtime/program\.h; row compiler"),
    ("includes", "compiler/Plan.cpp", None, "#include <runtime/made/by/the/build.inc>\n",
     r"compiler/Plan\.cpp:4: includes runtime/made/by/the/build\.inc"),
    ("includes", "tools/tool.cpp", None, '#  include "compiler/library/body.h"\n',
     r"tools/tool\.cpp:3: includes compiler/library/body\.h"),
    ("includes", "runtime/start.cpp", None, "#include <llvm/ADT/StringRef.h>\n",
     r"runtime/start\.cpp:2: includes llvm/ADT/StringRef\.h; .* says: nothing, no LLVM"),
    ("includes", "compiler/library/body.h", None, '#include "runtime/start.cpp"\n', r"body\.h:2: includes"),
    ("includes", "elsewhere/new.h", None, "int i;\n", r"elsewhere/new\.h:1: docs/design\.md has no row for elsewhere"),
    ("includes", "docs/design.md", "| dialects |", "| dialect |", r"docs/design\.md:7: there is no dialect$"),
    ("includes", "docs/design.md", "## Where", "## Here", r"has no section"),
    ("includes", "dialects/Kinds.h", None, '#include "dialects/Ops.h"\n',
     r"dialects/Kinds\.h:2: a circle of 2 files, .* no reason: .* dialects/Ops\.cpp:2 includes dialects/Kinds$"),
    ("includes", "compiler/walk/Tree.h", None, '#include "compiler/walk/Steps.h"\n', r"a circle of 2 files"),
    ("includes", "docs/design.md", "/Walk, compiler/walk |", "/Walk |", r"compiler/Walk\.h:1: a circle of 2 files"),
    ("includes", "docs/design.md", "they are one walk", "", r"compiler/Walk\.h:1: a circle of 2 files"),
    ("includes", "docs/design.md", "compiler/walk |", "compiler/walk, dialects |",
     r"docs/design\.md:21: dialects is in no circle$"),
    ("includes", "compiler/walk/Rules.cpp", '#include "compiler/Walk.h"\n', "",
     r"docs/design\.md:21: compiler/Walk is in no circle$"),
    ("links", "README.md", "docs/design.md#where", "docs/designs.md#where", r"README\.md:3: .*there is no docs/designs"),
    ("links", "README.md", "#where-things-are", "#where", r"README\.md:3: .* has no heading #where$"),
    ("links", "docs/design.md", "(#where-things-are)", "(#else)", r"docs/design\.md:15: #else"),
    ("links", "tools/tool.cpp", None, "// docs/gone.md\n", r"tools/tool\.cpp:3: there is no docs/gone\.md"),
    ("commands", "README.md", "--mode=train    #", "--moode=train    #", r"README\.md:6: batonc has no flag --moode"),
    ("commands", "README.md", "--html", "--mode=train", r"README\.md:7: batonc explain has no flag --mode"),
    ("commands", "README.md", "llama generate", "llama say", r"README\.md:7: a program has no command say"),
    ("commands", "README.md", "--prompt", "--text", r"README\.md:7: a program generate has no flag --text"),
    ("commands", "README.md", "llama train", "llama learn", r"README\.md:9: a program has no command learn"),
    ("commands", "README.md", "--rounds", "--round", r"README\.md:10: tools/measure has no flag --round"),
    ("commands", "README.md", "tools/measure --", "tools/measured --", r"README\.md:10: there is no tools/measured"),
    ("commands", "README.md", "docs/design.md\n", "docs/none.md\n", r"README\.md:10: there is no docs/none\.md"),
    ("commands", "README.md", "info --json", "info --jason", r"README\.md:14: a program info has no flag --jason"),
    ("commands", "README.md", "bench --profile", "bench --profil", r"README\.md:14: a program bench has no flag --profil"),
    ("commands", "README.md", "{measure,quote}", "{measure,quoted}", r"README\.md:14: there is no tools/quoted"),
    ("commands", "README.md", "--tile-tasks", "--tile-task", r"README\.md:11: baton-opt has no flag --tile-task$"),
    ("commands", "README.md", "--canonicalize", "--canonise", r"README\.md:11: baton-opt has no flag --canonise"),
    ("commands", "README.md", "`--mode=train`", "`--moode=train`", r"README\.md:14: nothing has a flag --moode"),
    ("commands", "docs/design.md", "`runtime/program.h`", "`runtime/programs.h`",
     r"docs/design\.md:15: there is no runtime/programs\.h"),
    ("python", "tools/measure", "import sys", "import sys, os", r"tools/measure:2:.*F401.*'os'"),
    ("python", "tools/measure", "sys.argv", "system.argv", r"tools/measure:4:.*F821"),
    ("python", "tools/measure", "print(", "print((", r"tools/measure:\d:.*E9"),
    ("shell", "tools/quote", '"$1"', "$1", r"tools/quote:2:.*SC2086"),
    ("shell", "tools/quote", "ls", "x=1; ls", r"tools/quote:2:.*SC2034"),
]

# What built tools say, the first word being a command of theirs or --help. Only they
# know of which command of a program a flag is.
HELP = {
    "bin/batonc": {"--help": "  -o TEXT   where\n  --mode TEXT   what\n", "explain": "  --html OUT   a page\n",
                   "names": "  --json   an array\n", "tune": "  --minutes M   how long\n",
                   "compare": "  --data TEXT   what is foretold\n", "quantize": "  --format F   which\n",
                   "check-body": "  --shapes N   shapes\n", "pipeline": "  --stages INT   stages\n"},
    "bin/diff-run": {"--help": "  --all   all\n"},
    "bin/check-plan": {"--help": "  --json  one object\n"},
    "bin/baton-opt": {"--help": "      --tile-tasks   -   tiles\n      --canonicalize   -   as it says\n"},
    "test/runtime/main/baton-toy-program": {
        "--help": "Options:\n  -h,--help   this\n\nSubcommands:\n  generate   a text\n  train   a model\n"
                  "  bench   speed\n  info   facts\n",
        "generate": "  --prompt TEXT   a text\n", "train": "", "bench": "  --profile   phases\n",
        "info": "  --json   an object\n"},
}

# Of clang-tidy: a fault in a file, and one in a header that it includes.
MOVED = """#include <string>
#include <utility>

std::string twice(std::string text) {
  std::string first = std::move(text);
  return first + text;
}
"""
CONDITION = "inline bool both(int a) { return a > 1 && a > 1; }\n"
LONG = "int length(int a) {\n" + "  a += 1;\n" * 99 + "  return a;\n}\n"


def expect(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def write(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)


def run(root, script, *words, status):
    result = subprocess.run([sys.executable, os.path.join(ROOT, "tools", script), "--root", root, *words],
                            capture_output=True, text=True)
    expect(result.returncode == status, f"{script} {' '.join(words)} ended with {result.returncode}, "
           f"expected {status}:\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def git(root, *words):
    subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                   capture_output=True)


def plant(root, name, old, new):
    path = os.path.join(root, name)
    text = CLEAN.get(name, "")
    expect(old is None or old in text, f"{name} has no {old}")
    write(root, {name: text + new if old is None else text.replace(old, new, 1)})
    return path


def test_faults(root, check):
    if check == "python":
        shutil.copy(os.path.join(ROOT, ".flake8"), root)
    write(root, CLEAN)
    run(root, "check", check, status=0)
    for _, name, old, new, said in (fault for fault in FAULTS if fault[0] == check):
        path = plant(root, name, old, new)
        output = run(root, "check", check, status=1)
        expect(re.search(said, output, re.M), f"{name} with {new!r}: expected {said}, not\n{output}")
        if check == "format":
            expect(name in run(root, "format", status=0).split(), f"tools/format does not name {name}")
            with open(path) as file:
                expect(file.read() == CLEAN[name], f"tools/format does not mend {name}")
        if name in CLEAN:
            write(root, {name: CLEAN[name]})
        else:
            shutil.rmtree(os.path.dirname(path))
        print(f"reported: {said}")
    run(root, "check", check, status=0)
    if check == "commands":
        test_tools(root)


def test_tools(root):
    """Flags that the sources have, and the tools not."""
    for path, texts in HELP.items():
        cases = "".join(f"{word}) cat <<'END'\n{text}END\n;;\n" for word, text in texts.items())
        write(root, {f"build/{path}": f"#!/bin/sh\ncase $1 in\n{cases}esac\n"})
        os.chmod(os.path.join(root, "build", path), 0o755)
    words = ["--tools", os.path.join(root, "build"), "commands"]
    run(root, "check", *words, status=0)
    plant(root, "README.md", "info --json", "info --profile")
    run(root, "check", "commands", status=0)
    output = run(root, "check", *words, status=1)
    expect("README.md:14: a program info has no flag --profile" in output, output)


def test_whole(root):
    """All findings, of all checks, in one run; also where there is a history."""
    write(root, CLEAN)
    shutil.copy(os.path.join(ROOT, ".flake8"), root)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=first")
    checks = ["format", "includes", "links", "commands", "python", "shell"]
    run(root, "check", *checks, status=0)
    faults = [next(fault for fault in FAULTS if fault[0] == check) for check in checks]
    for _, name, old, new, _ in faults:
        path = os.path.join(root, name)
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text + new if old is None else text.replace(old, new, 1))
    output = run(root, "check", *checks, status=1)
    for check, name, _, _, said in faults:
        expect(re.search(said, output, re.M), f"{check}: expected {said}, not\n{output}")
    # What git ignores is no part of the tree.
    git(root, "reset", "--quiet", "--hard")
    write(root, {".gitignore": "/mine/\n", "mine/bad.py": "import os\n"})
    run(root, "check", *checks, status=0)
    expect("neither a check nor a commit" in run(root, "check", "no-such-commit", status=1), "a wrong commit")


def test_tidy(root, compiler):
    files = {"runtime/a.cpp": MOVED, "runtime/b.cpp": '#include "runtime/b.h"\n', "runtime/b.h": CONDITION,
             "runtime/c.cpp": "int c = 1;\n"}
    clean = {"runtime/a.cpp": "", "runtime/b.h": "", "runtime/c.cpp": "", "runtime/b.cpp": files["runtime/b.cpp"]}
    write(root, clean)
    shutil.copy(os.path.join(ROOT, ".clang-tidy"), root)
    build = os.path.join(root, "build")
    write(root, {"build/compile_commands.json": json.dumps([
        {"directory": root, "file": f"runtime/{name}.cpp", "command":
         f"{compiler} -I{root} -std=c++20 -Xclang -include-pch -Xclang none.pch -c runtime/{name}.cpp"}
        for name in "abc"] + [{"directory": root, "file": "test/d.cpp", "command": f"{compiler} -std=c++20 -c test/d.cpp"}]), "build/build.ninja": "", ".gitignore": "/build/\n"})
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=first")
    check = lambda status, *words: run(root, "check", "--build", build, "tidy", *words, status=status)
    expect("no files changed" in check(0), "nothing has changed")

    # Whole, and of what is not committed.
    write(root, files)
    for words in ((), ("--all",)):
        output = check(1, *words)
        expect(re.search(r"runtime/a\.cpp:6: .*bugprone-use-after-move", output), output)
        expect(re.search(r"runtime/b\.h:1: .*misc-redundant-expression", output), output)
    # A file that passed is not looked at again, unless it or a header changed.
    write(root, {"runtime/a.cpp": ""})
    check(1)
    write(root, {"runtime/b.h": "int b();\n"})
    expect("1 parsed, 1 passed before" in (output := check(0)), output)
    expect("0 parsed, 2 passed before" in (output := check(0)), output)
    # A commit on main is held against the one before; on a branch, against main.
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=second")
    expect("2 files changed since HEAD~1" in (output := check(0)), output)
    git(root, "checkout", "--quiet", "-b", "branch")
    write(root, {"runtime/c.cpp": CONDITION})
    git(root, "commit", "--quiet", "--all", "--message=third")
    output = check(1)
    expect("1 files changed since main" in output and "runtime/c.cpp:1: " in output, output)
    # A function has 100 lines at most, but a test's.
    os.mkdir(os.path.join(root, "test"))
    shutil.copy(os.path.join(ROOT, "test/.clang-tidy"), os.path.join(root, "test"))
    write(root, {"runtime/c.cpp": LONG.replace("  a += 1;\n", "", 1), "test/d.cpp": LONG})
    check(0)
    write(root, {"runtime/c.cpp": LONG})
    expect(re.search(r"runtime/c\.cpp:1: function 'length' exceeds", output := check(1)), output)
    # What cannot be parsed is no silence.
    write(root, {"runtime/c.cpp": "int c = d;\n"})
    expect(re.search(r"runtime/c\.cpp:1: .*undeclared", check(1)), check(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("check")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        root = os.path.realpath(root)
        if arguments.check == "tidy":
            test_tidy(root, arguments.compiler)
        elif arguments.check == "whole":
            test_whole(root)
        else:
            test_faults(root, arguments.check)


main()

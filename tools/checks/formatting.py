"""C++ is as clang-format 19 formats it; no text has blanks at the end of a line, and
each ends with one end of line."""

import re
import subprocess

from .tree import CPP, DATA, in_parallel, pieces, program

# Versions format differently.
CLANG_FORMAT = "clang-format-19"
GENERATED = "docs/reference/"
TEXTS = CPP + (".cmake", ".css", ".def", ".html", ".in", ".js", ".json", ".md", ".mlir", ".py", ".td", ".test",
               ".txt", ".yml", ".clang-format", ".clang-tidy", ".flake8", ".gitignore")


def texts(tree):
    scripts = set(tree.scripts("(bash|python3|sh)"))
    return [name for name in tree.files if (name.endswith(TEXTS) or name in scripts)
            and not DATA.match(name) and not name.startswith(GENERATED)]


def mended(text):
    """A text without what blanks() reports."""
    text = re.sub(r"[ \t\r]+$", "", text, flags=re.M)
    return text.rstrip("\n") + "\n" if text.strip("\n") else ""


def blanks(tree, name):
    found = [f"{name}:{number}: blanks at the end of the line"
             for number, line in enumerate(tree.lines(name), 1) if line != line.rstrip(" \t\r")]
    text = tree.text(name)
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        found.append(f"{name}:{len(tree.lines(name))}: the file does not end with one end of line")
    return found


def unformatted(tree, files):
    """The first line that clang-format would write otherwise, of each file."""
    if not files:
        return {}
    run = subprocess.run([program(CLANG_FORMAT), "--dry-run", *files], cwd=tree.root, capture_output=True, text=True)
    lines = {}
    for line in run.stderr.splitlines():
        if match := re.match(r"(.+?):(\d+):\d+: warning: code should be clang-formatted", line):
            lines.setdefault(match[1], int(match[2]))
    if run.returncode and not lines:
        lines[files[0]] = run.stderr.strip().splitlines()[0]
    return lines


def check(tree):
    names = tree.find(*CPP)
    findings = []
    for lines in in_parallel(lambda some: unformatted(tree, some), pieces(names, 20)):
        findings += [f"{name}:{line}: {CLANG_FORMAT} formats this otherwise; tools/format does it"
                     for name, line in lines.items()]
    checked = texts(tree)
    for name in checked:
        findings += blanks(tree, name)
    return f"{len(names)} files of C++, line ends of {len(checked)}", findings

"""A file includes headers only of the folders that the table of docs/design.md,
"Where things are", lets its own folder include. Files that include one another in a
circle have a reason there, in "Circles"."""

import os
import re

from . import circles
from .tree import CPP

DOCUMENT, HEADING = "docs/design.md", "## Where things are"
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# What "no LLVM" in a row means.
LLVM = re.compile(r"^(llvm|llvm-c|mlir|mlir-c|clang)/")


class Row:
    """Folders, and what each of them may include."""

    def __init__(self, number, folders, cell):
        self.number, self.folders, self.cell = number, folders, cell
        words = {word.strip().rstrip("/") for word in cell.split(",")}
        self.without_llvm = "no LLVM" in words
        self.everything = "everything" in words
        self.allowed = words - {"nothing", "no LLVM", "everything"}


def read_table(tree):
    """The rows, and complaints about the table."""
    rows, findings = [], []
    lines = tree.lines(DOCUMENT) if DOCUMENT in tree.names else []
    if HEADING not in lines:
        return rows, [f'{DOCUMENT}:1: has no section "{HEADING.strip("# ")}"']
    for number, line in enumerate(lines[lines.index(HEADING) + 1:], lines.index(HEADING) + 2):
        if line.startswith("#"):
            break
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] != "folder" and not cells[0].startswith("-"):
            rows.append(Row(number, [folder.strip().rstrip("/") for folder in cells[0].split(",")], cells[2]))
    for row in rows:
        for name in row.folders + sorted(row.allowed):
            if not any(file == name or file.startswith(name + "/") for file in tree.files):
                findings.append(f"{DOCUMENT}:{row.number}: there is no {name}")
    return rows, findings


def holder(rows, name):
    """The row and the folder that a file belongs to: the longest that holds it."""
    found = [(len(folder), row, folder) for row in rows for folder in row.folders if name.startswith(folder + "/")]
    return max(found, key=lambda entry: entry[0])[1:] if found else (None, None)


def reach(rows, row):
    """What a row's folders may include: what it names, and what that may in turn.
    A name without a row stands for the rows right below it."""
    reached, waiting = set(), set(row.allowed)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        meant = [other for other in rows if name in other.folders] or [
            other for other in rows if any(os.path.dirname(folder) == name for folder in other.folders)]
        for other in meant:
            waiting |= other.allowed - reached
    return reached


def permits(rows, reached, target):
    """Whether one of the names that were reached stands for a file."""
    _, folder = holder(rows, target)
    for name in reached:
        if name in (target, folder) or (
                target.startswith(name + "/") and len(name) > len(folder or "")):
            return True
        if folder and os.path.dirname(folder) == name and not any(name in row.folders for row in rows):
            return True
    return False


def resolve(tree, name, included):
    """The file of the tree that an #include means, made by the build or not; None
    for those from outside."""
    beside = os.path.normpath(os.path.join(os.path.dirname(name), included))
    for candidate in (beside, included):
        if candidate in tree.names:
            return candidate
    return included if "/" in included and included.split("/")[0] in tree.folders else None


def included_by(tree, name):
    """Line, text and file of each #include."""
    for number, line in enumerate(tree.lines(name), 1):
        if match := INCLUDE.match(line):
            text = match[1] or match[2]
            yield number, text, resolve(tree, name, text)


def check(tree):
    rows, findings = read_table(tree)
    names = tree.find(*CPP, ".inc")
    includes = []
    for name in names if rows else ():
        row, own = holder(rows, name)
        if not row:
            findings.append(f"{name}:1: {DOCUMENT} has no row for {os.path.dirname(name) or 'the top folder'}")
            continue
        if row.everything:
            continue
        allowed = reach(rows, row)
        for number, text, target in included_by(tree, name):
            if target in tree.names:
                includes.append((name, number, target))
            says = f"row {', '.join(row.folders)} ({DOCUMENT}:{row.number}) says: {row.cell}"
            if target is None:
                if row.without_llvm and LLVM.match(text):
                    findings.append(f"{name}:{number}: includes {text}; {says}")
            elif holder(rows, target) != (row, own) and not permits(rows, allowed, target):
                findings.append(f"{name}:{number}: includes {target}; {says}")
    findings += circles.judge(tree, includes)
    return f"{len(names)} files against {len(rows)} rows of {DOCUMENT}", findings

"""Links in Markdown lead to a file of the tree, and to a heading of it; pages of docs/
that any text names are there."""

import os
import re

from .formatting import texts
from .markdown import Page

LINK = re.compile(r"\[[^]\[]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
DEFINITION = re.compile(r"^\s*\[[^]]+\]:\s*(\S+)")
DOCUMENT = re.compile(r"(?<![\w/.])docs/[\w/.-]*\w\.md\b")


def check(tree):
    pages = {name: Page(tree.text(name)) for name in tree.find(".md")}
    anchors = {name: set(page.anchors()) for name, page in pages.items()}
    findings, links = [], 0
    for name, page in pages.items():
        for number, line in page.without_code():
            for target in LINK.findall(line) + DEFINITION.findall(line):
                links += 1
                if re.match(r"[a-z][a-z+.-]*:", target):
                    continue
                file, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), file)) if file else name
                if path not in tree.names and path not in tree.folders:
                    findings.append(f"{name}:{number}: {target}: there is no {path}")
                elif anchor and path in anchors and anchor not in anchors[path]:
                    findings.append(f"{name}:{number}: {target}: {path} has no heading #{anchor}")
    for name in texts(tree):
        # Where faults are planted, they are no faults.
        if name.startswith("test/checks/") or "docs/" not in tree.text(name):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            findings += [f"{name}:{number}: there is no {document}"
                         for document in DOCUMENT.findall(line) if document not in tree.names]
    return f"{links} links in {len(pages)} pages", findings

"""Python compiles, imports what it uses and nothing else, and uses names that exist
(flake8, with the list of checks in .flake8)."""

import subprocess

from .tree import program


def check(tree):
    files = tree.scripts("python3?", ".py")
    if not files:
        return "0 files", []
    run = subprocess.run([program("flake8"), *files], cwd=tree.root, capture_output=True, text=True)
    findings = run.stdout.splitlines()
    if run.returncode and not findings:
        findings = run.stderr.strip().splitlines()[-1:]
    return f"{len(files)} files", findings

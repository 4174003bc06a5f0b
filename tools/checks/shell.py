"""Shell scripts quote what they expand, and have no other trap that shellcheck knows."""

import subprocess

from .tree import program


def check(tree):
    files = tree.scripts("(bash|sh)", ".sh")
    if not files:
        return "0 files", []
    # What is less is style.
    run = subprocess.run([program("shellcheck"), "--severity=info", "--format=gcc", *files], cwd=tree.root,
                         capture_output=True, text=True)
    findings = run.stdout.splitlines()
    if run.returncode and not findings:
        findings = run.stderr.strip().splitlines()[-1:]
    return f"{len(files)} files", findings

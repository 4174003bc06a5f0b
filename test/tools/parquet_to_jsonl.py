"""tools/parquet-to-jsonl writes rows of Parquet files as lines that programs read.

Skipped (77) where this Python has no pyarrow; what it says then is checked first.
"""

import datetime
import decimal
import json
import os
import subprocess
import sys
import tempfile

INPUTS = ["tools/parquet-to-jsonl"]
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/parquet-to-jsonl")


def run(*words, **options):
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, **options)


def fails(result, text):
    lines = result.stderr.splitlines()
    assert result.returncode == 1 and len(lines) == 1 and text in lines[0], f"{result}, expected one line with {text!r}"


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main(scratch):
    path = lambda name: os.path.join(scratch, name)
    # A module of this name that cannot be imported.
    os.mkdir(path("without"))
    with open(path("without/pyarrow.py"), "w") as file:
        file.write("raise ImportError('none')\n")
    fails(run("x.parquet", env={**os.environ, "PYTHONPATH": path("without")}), "pip install pyarrow")
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        sys.exit(77)

    rows = [{"messages": [{"role": "user", "content": "Hi\nthere"}, {"role": "assistant", "content": "ä", "tools": ["x"]}],
             "score": 0.5, "day": datetime.date(2024, 2, 3), "price": decimal.Decimal("1.50"), "raw": b"bytes"},
            {"messages": [], "score": float("nan"), "day": None, "price": decimal.Decimal("2.00"), "raw": b"\xff"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path("data.parquet"))
    result = run(path("data.parquet"))
    assert result.returncode == 0 and result.stdout == f"2 lines in {path('data.jsonl')}\n", result
    # Parquet gives each message a list of tools.
    expected = [{"messages": [{"role": "user", "content": "Hi\nthere"}, {"role": "assistant", "content": "ä", "tools": ["x"]}],
                 "score": 0.5, "day": "2024-02-03", "price": 1.5, "raw": "bytes"},
                {"messages": [], "score": None, "price": 2, "raw": "/w=="}]
    assert lines_of(path("data.jsonl")) == expected, lines_of(path("data.jsonl"))

    # Folders, columns, more rows than are in memory at a time.
    os.makedirs(path("all/b"))
    for name, first in (("all/b/one.parquet", 0), ("all/two.parquet", 6000)):
        parquet.write_table(pyarrow.table({"text": [f"text {i}" for i in range(first, first + 6000)], "n": range(6000)}), path(name))
    assert run(path("all"), "--out", path("all.jsonl"), "--columns", "text").returncode == 0
    assert lines_of(path("all.jsonl")) == [{"text": f"text {i}"} for i in range(12000)]

    before = lines_of(path("data.jsonl"))
    fails(run(path("data.parquet")), "is there already; --force")
    assert run(path("data.parquet"), "--force").returncode == 0 and lines_of(path("data.jsonl")) == before
    fails(run(path("all")), "--out is missing")
    fails(run(path("data.parquet"), "--out", path("no.jsonl"), "--columns", "text"), "has no column 'text'")
    with open(path("data.parquet"), "rb") as file:
        cut = file.read()[:-20]
    with open(path("cut.parquet"), "wb") as file:
        file.write(cut)
    fails(run(path("cut.parquet")), "cut.parquet: cannot be read as Parquet")
    fails(run(path("nowhere.parquet")), "nowhere.parquet: cannot be read")
    os.mkdir(path("empty"))
    fails(run(path("empty"), "--out", path("no.jsonl")), "no .parquet file")
    assert not [name for name in os.listdir(scratch) if "part" in name or name in ("no.jsonl", "cut.jsonl")], os.listdir(scratch)
    print("rows of Parquet are lines of JSON")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)

"""A trace in Perfetto's trace processor: it holds what the file holds.

Every slice, its row, its length and its place under the slice around it; and the
trace processor has nothing to complain about. It does complain about a trace
that is cut off, and about one with two tasks of a worker at a time.
"""

import argparse
import collections
import json
import os
import sys

import programs
from programs import Program, expect
from trace_processor import TraceProcessor, Unavailable

SKIPPED = 77
SLICES = """select t.name, s.name, s.ts, s.dur, s.depth
            from slice s join thread_track k on s.track_id = k.id join thread t using (utid)"""
COMPLAINTS = """select name, value from stats
                where value > 0 and (severity = 'error' or severity = 'data_loss')"""


def look(arguments, trace):
    """The rows of SLICES, and what the trace processor complains about."""
    with TraceProcessor(arguments.cache) as processor:
        error = processor.load(trace)
        if error:
            return [], [error]
        return processor.query(SLICES), processor.query(COMPLAINTS)


def slices(events):
    """What the rows of SLICES should be, but for depth: counts of (row, name, length in ns)."""
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return collections.Counter((rows[e["tid"]], e["name"], round(e["dur"] * 1000)) for e in events if e["ph"] == "X")


def test(arguments, scratch):
    program = Program(arguments.batonc, arguments.folder, os.path.join(scratch, "program"))
    path = os.path.join(scratch, "trace.json")
    program.generate([1, 5, 2, 7, 3], 4, "--workers", 3, "--prefill-chunk", 3, "--trace", path)
    with open(path, "rb") as file:
        trace = file.read()
    events = json.loads(trace)["traceEvents"]

    rows, complaints = look(arguments, trace)
    expect(not complaints, f"the trace processor complains: {complaints}")
    found = collections.Counter((row, name, length) for row, name, _, length, _ in rows)
    wanted = slices(events)
    expect(found == wanted, f"slices differ: {list((found - wanted).items())[:3]}, {list((wanted - found).items())[:3]}")
    waits = {name for _, name, _, _, depth in rows if depth > 0}
    expect(waits == {"wait"}, f"under other slices stand {waits}")

    expect(look(arguments, trace[:len(trace) // 2])[1], "a trace that is cut off goes unnoticed")
    tasks = [e for e in events if e.get("cat") == "task"]
    tasks[1].update(tid=tasks[0]["tid"], ts=tasks[0]["ts"] + tasks[0]["dur"] / 2, dur=tasks[0]["dur"])
    planted = json.dumps({"traceEvents": events}).encode()
    rows, complaints = look(arguments, planted)
    found = collections.Counter((row, name, length) for row, name, _, length, _ in rows)
    expect(complaints or found != slices(events), "two tasks of a worker at a time go unnoticed")
    print(f"{sum(wanted.values())} slices")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--cache", required=True, help="folder for Perfetto's engine")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    try:
        programs.main(lambda scratch: test(arguments, scratch))
    except Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()

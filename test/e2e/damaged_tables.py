"""Tables of a step of many sequences that are not what the plan's proof takes for granted.

One entry of a step is changed behind the check of its tables, so that rows of two tasks write the same place:
the check would have said so, and the thread sanitizer sees the race (damaged_tables.cpp, linked in the place of
the runtime's main).

In another program, whose plan nobody proved, attention looks up each row's pages in the line of the first
sequence. The pages are there, so that only --check-memory sees that the task does not declare them.
"""

import argparse
import json
import os
import re

import programs
from arrivals import use_linker
from programs import Program, expect, run

CAPACITIES = ["--max-batch=5", "--max-rows=24", "--kv-type=f32"]
ENVIRONMENT = dict(os.environ, TSAN_OPTIONS="halt_on_error=1")


def check_entry(arguments, path):
    """An entry that the check would refuse is a race."""
    use_linker(arguments, path("linker"))
    program = Program(arguments.batonc, arguments.folder, path("program"), *CAPACITIES, "--sanitize=thread")
    command = [program.path, arguments.folder]
    for _ in range(3):
        run([*command, "none"], env=ENVIRONMENT)
    # Whether the sanitizer still knows of the other access is up to the system: try again.
    for _ in range(20):
        result = run([*command, "slot"], check=False, env=ENVIRONMENT)
        expect("24 rows: " in result.stdout and "slot" in result.stdout, f"the check: {result}")
        if result.returncode:
            break
    found = re.search(r"SUMMARY: ThreadSanitizer: data race .* in baton_phase_layers\.self_attn\.[kv]_state$",
                      result.stderr, re.MULTILINE)
    expect(result.returncode == 66 and found, f"no race in spite of a slot that two rows have: {result}")
    print(result.stdout.strip())
    print(found[0])


def check_page(arguments, path):
    """A page that a task does not declare."""
    os.environ.pop("BATON_CLANGXX")
    plan = run([arguments.batonc, arguments.folder, *CAPACITIES, "--emit=event"]).stdout
    # Of a page table of 5 lines of 4 pages.
    other, count = re.subn(r'(event\.call "paged_attention" .*?\(0\)>, 20, )4,', r"\g<1>0,", plan)
    expect(count, "the plan has no attention to pages")
    with open(path("requests.jsonl"), "w") as file:
        # So that the second one, in chunks, has tasks of its own beside the first one's rows.
        for name, length in (("a", 3), ("b", 60)):
            request = {"id": name, "tokens": [7 * i % 97 for i in range(length)], "max_new_tokens": 4}
            file.write(json.dumps(request) + "\n")
    for text, status in ((plan, 0), (other, 1)):
        with open(path("plan.mlir"), "w") as file:
            file.write(text)
        run([arguments.emit_unproved, path("plan.mlir"), path("planned"), "cpu", "address", arguments.installation])
        command = [path("planned"), "batch", "--weights", arguments.folder, "--requests", path("requests.jsonl"),
                   "--quiet", "--no-cache", "--workers", 2, "--out"]
        # The wrong page is memory of the program's own.
        run([*command, path("unwatched.jsonl")])
        result = run([*command, path(f"watched-{status}.jsonl"), "--check-memory", path("memory.json")], check=False)
        os.remove(path("unwatched.jsonl"))
        expect(result.returncode == status, f"{result}")
    error = result.stderr.strip().splitlines()[-1]
    expect(re.fullmatch(r'error: layers\.self_attn\.attention, layer \d, task \d+ reads bytes \d+ to \d+ of storage '
                        r'"[^"]+", which its phase does not declare', error), error)
    print(error)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    check_entry(arguments, path)
    check_page(arguments, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--compiler", required=True, help="clang++")
    parser.add_argument("--driver", required=True, help="the object of damaged_tables.cpp")
    parser.add_argument("--emit-unproved", required=True)
    parser.add_argument("--installation", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

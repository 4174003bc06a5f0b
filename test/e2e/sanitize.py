"""`batonc --sanitize=thread|address` on one golden checkpoint.

- logits with 1, 3 and 4 workers and chunks of 7 and 64, and a generation, end
  without a report, and with the bits of the program without a sanitizer;
- the sanitizers are awake: in a plan without one of its waits the thread
  sanitizer reports a race, in a plan with a wrong index of a buffer or of a
  parameter the address sanitizer reports an overflow, all inside a task body;
- a program that carries a plan without one of its waits judges it before the
  first step, and says which tasks nothing orders.
"""

import argparse
import os
import re

import programs
from programs import Program, expect, run

WORKERS, CHUNKS = (1, 3, 4), (7, 64)
# Of the sanitizers: the first report is enough, and worth 66 as exit status.
ENVIRONMENT = {
    **os.environ,
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
    "ASAN_OPTIONS": "exitcode=66",
}


def clean(arguments, case, sanitizer, plain, path):
    """An instrumented program computes what the plain one does, in silence."""
    program = Program(arguments.batonc, arguments.folder, path(sanitizer),
                      f"--sanitize={sanitizer}")
    reference = plain.logits(case["tokens"], path("plain.npy"))
    for workers in WORKERS:
        for chunk in CHUNKS:
            bits = program.logits(case["tokens"], path("logits.npy"), "--workers", workers,
                                  "--prefill-chunk", chunk)
            expect(bits == reference,
                   f"{sanitizer}, {workers} workers, chunks of {chunk}: the logits' bits differ")
    prompt, count = case["greedy"]["prompt"], len(case["greedy"]["new_tokens"])
    tokens = plain.generate(prompt, count)["tokens"]
    for workers in WORKERS:
        answer = program.generate(prompt, count, "--workers", workers, "--prefill-chunk", 7)
        expect(answer["tokens"] == tokens, f"{sanitizer}, {workers} workers: other tokens")
    print(f"{sanitizer}: nothing to report, and the bits of the plain program")


def without_wait(plan, phase, event):
    """The plan, of whose phases one no longer waits for an event."""
    lines = plan.split("\n")
    index = next(i for i, line in enumerate(lines) if f'event.phase "{phase}"' in line)
    wait = re.compile(r'#event\.wait<@"?' + re.escape(event) + r'"?[ ,].*?(?=, #event\.wait|\] notifies|\] \{)')
    lines[index], count = wait.subn("", lines[index], count=1)
    expect(count == 1, f"phase {phase} does not wait for {event}")
    lines[index] = lines[index].replace("waits []", "").replace("[, ", "[")
    return "\n".join(lines)


def substitute(pattern, replacement, text):
    """Edits the first match; there has to be one."""
    text, count = re.subn(pattern, replacement, text, count=1)
    expect(count == 1, f"nothing matches {pattern}")
    return text


def planted(arguments, case, sanitizer, what, plan, report, path):
    """Runs an edited plan until the sanitizer reports it."""
    with open(path("planted.mlir"), "w") as file:
        file.write(plan)
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cpu", sanitizer,
         arguments.installation])
    tokens = ",".join(map(str, case["tokens"]))
    # Whether workers are where they can race is up to the system: try again.
    for attempt in range(20):
        result = run([path("planted"), "logits", "--weights", arguments.folder,
                      "--tokens", tokens, "--out", path("planted.npy"), "--no-cache",
                      "--quiet", "--workers", 4, "--prefill-chunk", 64],
                     check=False, env=ENVIRONMENT)
        if result.returncode != 0:
            break
    expect(result.returncode == 66 and report in result.stderr,
           f"{what}: no '{report}', but status {result.returncode} and\n{result.stderr}")
    frames = re.findall(r"#\d+ (?:0x\w+ in )?(baton_(?:phase|task)_\S+)", result.stderr)
    expect(frames, f"{what}: no task body in the report\n{result.stderr}")
    print(f"{what}: {report} in {frames[0]}")


def judged(arguments, case, plan, names, path):
    """A program of an edited plan does not run its first step."""
    with open(path("planted.mlir"), "w") as file:
        file.write(plan)
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cpu", "address",
         arguments.installation, "judged"])
    result = run([path("planted"), "logits", "--weights", arguments.folder, "--tokens",
                  ",".join(map(str, case["tokens"])), "--out", path("planted.npy"), "--no-cache",
                  "--quiet", "--workers", 4, "--prefill-chunk", 64], check=False, env=ENVIRONMENT)
    expect(result.returncode == 1 and "error: the program's plan is wrong: " in result.stderr
           and all(name in result.stderr for name in names),
           f"a wrong plan is not judged: status {result.returncode} and\n{result.stderr}")
    expect(not os.path.exists(path("planted.npy")), "a wrong plan left a file")
    print(f"judged: {result.stderr.strip()}")


def test(arguments, scratch):
    case = programs.golden(arguments.folder)
    path = lambda name: os.path.join(scratch, name)
    plain = Program(arguments.batonc, arguments.folder, path("exe"))
    plan = run([arguments.batonc, arguments.folder, "--emit=event"]).stdout
    for sanitizer in ("thread", "address"):
        clean(arguments, case, sanitizer, plain, path)

    phases = re.findall(r'event\.phase "([^"]+)"(?:.*?waits \[#event\.wait<@"?([^" ,]+))?', plan)
    waiting = [(phase, event) for phase, event in phases if event]
    expect(len(waiting) > 5, "the plan's phases could not be read")
    attention = next(pair for pair in waiting if pair[0].endswith("attention"))
    planted(arguments, case, "thread", f"{attention[0]} without its wait for {attention[1]}",
            without_wait(plan, *attention), "ThreadSanitizer: data race", path)

    judged(arguments, case, without_wait(plan, *attention), [attention[0], "nothing orders them"], path)

    # Of the 16 rows that the logits have room for.
    below = substitute(r"(#event\.address<@lm_head, .*?-> \()", r"\g<1>16 + ", plan)
    planted(arguments, case, "address", "logits 16 rows too far", below,
            "AddressSanitizer: use-after-poison", path)
    beyond = substitute(r'(#event\.weight<@"?[\w.+]+\.residual\.weight"?, .*?-> \()', r"\g<1>64 + ", plan)
    planted(arguments, case, "address", "a weight 64 elements too far", beyond,
            "AddressSanitizer: use-after-poison", path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--emit-unproved", required=True)
    parser.add_argument("--installation", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

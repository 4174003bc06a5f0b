"""Ranks are compared while they train, and their log says the same later.

- A run has the bits and lines that it has without, on threads and processes, also of
  stages; its log has every step, rank and indicator, and the parts of a step fit into it.
- A rank whose process has a fourth of a core is named, with its indicator, in a warning and
  in a line of JSON, and batonc health finds the same in the log.
- What cannot be compared is refused.

Where there is no mpirun, ranks are threads only, and what passes counts as skipped (77).
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys

import programs
from programs import MPI, QUICK, expect, run
from training import read_bytes, write_tokens

STEPS = 6
PLAIN = ["compute", "inputs", "wait.collectives", "wait.border", "step"]
STAGES = ["compute", "forward", "backward", "update", "inputs", "wait.collectives", "wait.messages", "wait.border", "step"]


class Fixture:
    def __init__(self, arguments, scratch):
        self.folder, self.batonc, self.scratch = arguments.folder, arguments.batonc, scratch
        self.tokens = self.path("tokens.u16")
        write_tokens(self.tokens, [(7 * i + i // 13) % 97 for i in range(8192)])

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *flags):
        run([self.batonc, self.folder, "--mode=train", QUICK, "--quiet", "-o", self.path(name), *flags])

    def train(self, program, out, *more):
        usual = {"--weights": self.folder, "--data": self.tokens, "--batch": 4, "--seq": 32, "--lr": 3e-3,
                 "--steps": STEPS, "--out": self.path(out)}
        flags = [word for flag, value in usual.items() if flag not in more for word in (flag, value)]
        return [str(word) for word in (self.path(program), "train", *flags, *more)]

    def health(self, *words):
        return json.loads(run([self.batonc, "health", *words, "--json"]).stdout)


def read_log(path):
    """(step, rank, indicator) -> seconds, and what is said of each rank."""
    values, ranks = {}, {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = (int(row["step"]), int(row["rank"]), row["indicator"])
            expect(key not in values, f"{key} twice")
            values[key] = float(row["value"])
            if row["work"]:
                expect(key[1] not in ranks, f"rank {key[1]} is said twice")
                ranks[key[1]] = (row["work"], row["host"])
    return values, ranks


def expect_log(fixture, path, steps, ranks, indicators):
    values, said = read_log(path)
    expect(set(values) == {(step, rank, name) for step in steps for rank in range(ranks) for name in indicators},
           f"{path}: has other values: {sorted(values)}")
    for step in steps:
        for rank in range(ranks):
            of = lambda name: values[step, rank, name]
            parts = sum(of(name) for name in indicators if name not in ("step", "forward", "backward", "update"))
            expect(0 < of("compute") and parts <= of("step") * 1.001, f"{path}: step {step}, rank {rank}: {parts}")
            if "forward" in indicators:
                expect(abs(of("forward") + of("backward") + of("update") - of("compute")) < 1e-7
                       and of("forward") > 0 and of("backward") > 0 and of("update") > 0,
                       f"{path}: step {step}, rank {rank}: programs are not what is computed")
    expect(sorted(said) == list(range(ranks)) and all(host == os.uname().nodename for _, host in said.values()),
           f"{path}: {said}")
    judged = fixture.health(path)
    expect(judged["steps"] == len(steps) and [rank["work"] for rank in judged["ranks"]]
           == [said[rank][0] for rank in range(ranks)], f"batonc health: {judged}")
    return judged


def same(fixture):
    """Bits and lines with and without, and what a log has."""
    fixture.compile("two", "--mesh=dp=2")
    fixture.compile("four", "--mesh=dp=2,pp=2", "--microbatches=2")

    def results(program, out, *more, launcher=()):
        found = run([*launcher, *fixture.train(program, out, "--json", *more)])
        expect("slow" not in found.stderr, found.stderr)
        lines = [json.loads(line) for line in found.stdout.splitlines()]
        steps = [{key: value for key, value in line.items() if key != "tokens_per_s"} for line in lines if "step" in line]
        return steps, read_bytes(fixture.path(f"{out}/step-{STEPS}/model.safetensors"))

    # Steps of two microbatches, with a checkpoint between them: every border counts.
    for program, ranks, indicators, flags in (("two", 2, PLAIN, ("--accumulate", 2, "--save-every", 4)),
                                              ("four", 4, STAGES, ())):
        without = results(program, program + "-without", "--no-health", *flags)
        expect(len(without[0]) == STEPS, without)
        expect(results(program, program + "-with", "--health-log", *flags) == without, f"{program}: other bits")
        expect(not os.path.exists(fixture.path(program + "-without/health-1.csv")), "a log that nobody asked for")
        judged = expect_log(fixture, fixture.path(program + "-with/health-1.csv"), range(1, STEPS + 1), ranks, indicators)
        expect(judged["windows"] == 0 and judged["events"] == [], judged)
        peers = [rank["peers"] for rank in judged["ranks"]]
        # Ranks of a stage are peers: pp is the last axis.
        expect(peers == ([[1], [0]] if ranks == 2 else [[2], [3], [0], [1]]), f"{program}: peers {peers}")
        if shutil.which("mpirun"):
            by_mpi = results(program, program + "-mpi", "--health-log", *flags, launcher=[*MPI, "-n", ranks])
            expect(by_mpi == without, f"{program}: processes have other bits")
            expect_log(fixture, fixture.path(program + "-mpi/health-1.csv"), range(1, STEPS + 1), ranks, indicators)
    # A run that goes on has a log of its own.
    more = fixture.train("two", "two-with", "--accumulate", 2, "--resume", "--health-log", "--quiet", "--steps", STEPS + 2)
    del more[more.index("--weights"):more.index("--weights") + 2]
    run(more)
    expect_log(fixture, fixture.path(f"two-with/health-{STEPS + 1}.csv"), range(STEPS + 1, STEPS + 3), 2, PLAIN)
    print("the same bits; logs have every step, rank and indicator")


def slow_rank(fixture):
    """A process that has a fourth of its core, since another one has the rest, is a slow rank."""
    if not shutil.which("mpirun"):
        return
    cores = sorted(os.sched_getaffinity(0))
    command = fixture.train("two", "slow", "--json", "--health-log", "--batch", 32, "--workers", 2, "--steps", 1000000)
    ranks = [*MPI, "--bind-to", "none", "-n", "1", "taskset", "-c", str(cores[-1]), *command,
             ":", "-n", "1", "taskset", "-c", str(cores[0]), "nice", "-n", "5", *command]
    event = None
    with open(fixture.path("slow.stderr"), "w") as stderr, \
            subprocess.Popen(["taskset", "-c", str(cores[0]), sys.executable, "-c", "while True: pass"]) as other, \
            subprocess.Popen(ranks, stdout=subprocess.PIPE, stderr=stderr, text=True) as job:
        try:
            for line in job.stdout:
                if event := json.loads(line).get("health"):
                    break
        finally:
            other.kill()
            job.terminate()
            job.stdout.read()
    warned = read_bytes(fixture.path("slow.stderr")).decode()
    expect(event and event["event"] == "slow" and event["rank"] == 1 and event["host"] == os.uname().nodename
           and event["peers"] == [0] and event["indicators"][0]["name"] == "compute"
           and event["indicators"][0]["excess"] > 0.2, f"{event}, {warned}")
    expect(f"warning: rank 1 ({os.uname().nodename}) is slow since step {event['since']}: compute takes " in warned
           and "longer than that of rank 0, its only peer" in warned, warned)
    log = fixture.path("slow/health-1.csv")
    events = fixture.health(log)["events"]
    expect(events and events[0] == event, f"{events}, while it ran {event}")
    text = run([fixture.batonc, "health", log, "--html", fixture.path("page.html")]).stdout
    expect(f"step {event['step']}: rank 1 (" in text, text)
    expect(b"is slow since step" in read_bytes(fixture.path("page.html")), "the page does not say so")
    print(f"a slow rank is found at step {event['step']}, by {event['indicators'][0]['excess'] * 100:.0f} %")


def refusals(fixture):
    fixture.compile("one")

    def refused(message, command):
        found = run(command, check=False)
        lines = [line for line in found.stderr.splitlines() if line.startswith("error: ")]
        expect(found.returncode != 0 and len(lines) == 1 and message in lines[0], f"expected '{message}', got {found}")

    refused("--health-log: is for ranks, which are compared, and this program has one",
            fixture.train("one", "refused", "--health-log"))
    refused("--health-threshold: is for ranks", fixture.train("one", "refused", "--health-threshold", 0.1))
    refused("--health-threshold: expected a number above 0", fixture.train("two", "refused", "--health-threshold", 0))
    refused("--health-log and --no-health: give one of the two",
            fixture.train("two", "refused", "--health-log", "--no-health"))
    expect(not os.path.exists(fixture.path("refused")), "a folder of a run that was refused")
    # Ranks tell one another, or none does.
    if shutil.which("mpirun"):
        refused("rank 1 is refused: it differs from rank 0 in --no-health",
                [*MPI, "-n", "1", *fixture.train("two", "differ", "--quiet"), ":",
                 "-n", "1", *fixture.train("two", "differ", "--quiet", "--no-health")])
    print("what cannot be compared is refused")


def test(arguments, scratch):
    fixture = Fixture(arguments, scratch)
    same(fixture)
    slow_rank(fixture)
    refusals(fixture)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
    if not shutil.which("mpirun"):
        print("skipped for processes: there is no mpirun")
        sys.exit(77)

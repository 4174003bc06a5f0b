"""Training on several ranks is training on one, and ends as well as that.

- Losses, norms and gradients of data-parallel ranks are near those of one rank, of
  the same global batch; threads, processes under mpirun, any number of workers and
  every repetition have the same bits. A checkpoint goes on with another number of
  ranks. What is counted is what the formulas say.
- Ranks that differ are refused. One that fails, stalls or dies, a signal, and numbers
  that are not finite end the run with one line; the last checkpoint is as it was.

Where there is no mpirun, ranks are threads only, and what passes counts as skipped (77).
"""

import argparse
import functools
import json
import math
import os
import shutil
import signal
import subprocess
import sys

import programs
from programs import MPI, QUICK, expect, run
from train_endings import checkpoint, edit_weights, steps_of
from training import read_bytes, read_tensors, write_tokens

STEPS = 6


class Fixture:
    def __init__(self, arguments, scratch):
        self.golden = arguments.folder
        self.scratch = scratch
        self.ranks = arguments.ranks
        self.tokens = self.path("tokens.u16")
        write_tokens(self.tokens, [(7 * i + i // 13) % 97 for i in range(4096)])
        self.batonc = arguments.batonc
        self.has_mpi = shutil.which("mpirun") is not None

    @functools.cached_property
    def one(self):
        """The program of one rank."""
        return self.compile("one")

    @functools.cached_property
    def many(self):
        return self.compile("many", f"--mesh=dp={self.ranks}")

    def compile(self, name, *flags):
        program = self.path(name)
        run([self.batonc, self.golden, "--mode=train", QUICK, "--quiet", "-o", program, *flags])
        return program

    def path(self, name):
        return os.path.join(self.scratch, name)

    def train(self, program, out, *more, weights=None, steps=STEPS):
        usual = {"--weights": weights or self.golden, "--data": self.tokens, "--batch": 4, "--accumulate": 2,
                 "--seq": 32, "--lr": 3e-3, "--steps": steps, "--out": self.path(out)}
        flags = [word for flag, value in usual.items() if flag not in more for word in (flag, value)]
        return [str(word) for word in (program, "train", *flags, "--quiet", *more)]

    def mpi(self, command, ranks=None):
        return [*MPI, "-n", str(ranks or self.ranks), *command]

    def refused(self, message, command, only=True):
        """Ends in one line of Baton's that holds the message; returns it. mpirun adds lines of its own."""
        return self.one_line(message, command, run(command, check=False, timeout=300))

    def one_line(self, message, command, result):
        """The same of a run that has ended."""
        lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        expect(result.returncode != 0 and len(lines) == 1 and message in lines[0]
               and (command[0] == "mpirun" or (result.returncode == 1 and len(result.stderr.splitlines()) == 1)),
               f"expected '{message}', got {result}")
        return lines[0]


def parse(text):
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.pop("tokens_per_s", None)
    return lines


def near(one, other, bound=1e-5):
    return abs(one - other) <= bound * abs(one)


def expect_near(one, other, what):
    expect(len(one) == len(other), f"{what}: {len(other)} lines of {len(one)}")
    for a, b in zip(one, other):
        expect(a.keys() == b.keys() and all(near(a[key], b[key]) for key in a), f"{what}: {b}, one rank has {a}")


def expect_near_tensors(one, other, what):
    one, other = read_tensors(one), read_tensors(other)
    expect(one.keys() == other.keys(), f"{what}: {sorted(other)}")
    worst = 0
    for name, (kind, shape, values) in one.items():
        expect(other[name][:2] == (kind, shape), f"{what}: {name} is {other[name][:2]}")
        norm = math.sqrt(sum(value * value for value in values))
        error = math.sqrt(sum((a - b) ** 2 for a, b in zip(values, other[name][2])))
        worst = max(worst, error / norm)
        expect(error <= 1e-5 * norm, f"{what}: {name} is off by {error / norm}")
    return worst


def same(fixture):
    """The same steps, on any engine, by any number of workers."""
    flags = ("--validate-every", 4, "--save-every", 3)

    def results(program, out, *more, mpi=False):
        command = fixture.train(program, out, *flags, "--gradients", fixture.path(out + ".gradients"), *more)
        lines = parse(run(fixture.mpi(command) if mpi else command).stdout)
        files = {f"{folder}/{name}": read_bytes(fixture.path(f"{out}/{folder}/{name}"))
                 for folder in ("step-3", "step-6") for name in ("model.safetensors", "optimizer.safetensors")}
        files["gradients"] = read_bytes(fixture.path(out + ".gradients"))
        return lines, files

    one, _ = results(fixture.one, "one-run")
    many = results(fixture.many, "many-run", "--ranks", fixture.ranks)
    expect_near(one, many[0], f"{fixture.ranks} ranks")
    worst = expect_near_tensors(fixture.path("one-run.gradients"), fixture.path("many-run.gradients"),
                                f"gradients of {fixture.ranks} ranks")
    print(f"{fixture.ranks} ranks: gradients within {worst:.1e} of one rank's")
    others = [("--workers", 1), ("--workers", 2 * fixture.ranks), ()]
    for number, more in enumerate(others):
        expect(results(fixture.many, f"again-{number}", *more) == many, f"other bits with {more}")
    if fixture.has_mpi:
        expect(results(fixture.many, "mpi-run", mpi=True) == many, "processes have other bits than threads")
        expect(results(fixture.many, "mpi-workers", "--workers", 2 * fixture.ranks, mpi=True) == many,
               "processes have other bits with more workers")
    print("the same bits on every engine, by any number of workers")

    # From the checkpoint in the middle, with the same number of ranks and another.
    def resumed(source, out, program):
        shutil.copytree(fixture.path(source), fixture.path(out))
        shutil.rmtree(fixture.path(out + "/step-6"))
        return parse(run(fixture.train(program, out, *flags, "--resume")).stdout)

    expect(resumed("many-run", "many-on", fixture.many) == many[0][3:], "a resumed run is another one")
    expect(checkpoint(fixture.path("many-on/step-6")) == checkpoint(fixture.path("many-run/step-6")),
           "a resumed run ends with another checkpoint")
    expect_near(one[3:], resumed("many-run", "many-to-one", fixture.one), "on one rank, after several")
    expect_near(one[3:], resumed("one-run", "one-to-many", fixture.many), "on several ranks, after one")
    print("goes on with any number of ranks")


def counters(fixture):
    """What is counted, against what the compiler says and what collectives are."""
    steps, accumulate = 3, 2
    described = {entry["name"]: entry for entry in
                 json.loads(run([fixture.many, "info", "--json"]).stdout)["collectives"]}
    command = fixture.train(fixture.many, "counted", "--json", steps=steps)
    for mpi in (False, True) if fixture.has_mpi else (False,):
        result = parse(run(fixture.mpi(command) if mpi else command).stdout)[-1]["communication"]
        shutil.rmtree(fixture.path("counted"))
        expect(result["engine"] == ("mpi" if mpi else "threads") and result["ranks"] == fixture.ranks, f"{result}")
        expect([entry["name"] for entry in result["collectives"]] == list(described), f"{result}")
        gathered = 0
        for entry in result["collectives"]:
            what = described[entry["name"]]
            calls = steps * what["iterations"] * (accumulate if what["every_step"] else 1)
            expect(entry["calls"] == calls, f"{entry['name']}: {entry['calls']} calls, expected {calls}")
            # Products and sums of numbers only.
            payload = sum(math.prod(map(int, product.split("*"))) for product in what["payload"].split("+"))
            expect(entry["payload"] == payload and entry["formula"] == what["payload"],
                   f"{entry['name']}: {entry['payload']} bytes, expected {what['payload']}")
            # Of each tensor (n - 1) parts of n go out, on all ranks together n times.
            expect(sum(entry["sent"]) == (fixture.ranks - 1) * payload * calls,
                   f"{entry['name']}: {entry['sent']} bytes sent of {payload} in {calls} calls")
            if payload >= 1 << 16:
                share = payload * calls * (fixture.ranks - 1) / fixture.ranks
                expect(all(abs(sent - share) <= 0.02 * share for sent in entry["sent"]),
                       f"{entry['name']}: {entry['sent']} bytes sent, expected about {share} on each rank")
            if entry["kind"] == "all_gather" and entry["operation"] != "loss":
                gathered += payload * what["iterations"]
        print(f"{len(described)} collectives on {result['engine']}: {gathered} bytes gathered in a step")
    weights = sum(4 * math.prod(shape) for _, shape, _ in
                  read_tensors(os.path.join(fixture.golden, "model.safetensors")).values())
    expect(gathered == weights, f"{gathered} bytes gathered for {weights} bytes of weights")


def refusals(fixture):
    """Ranks that are too many or do not agree."""
    train = lambda *more: fixture.train(fixture.many, "refused", *more)
    fixture.refused(f"--ranks {fixture.ranks + 1}: the program is compiled for {fixture.ranks} ranks",
                    train("--ranks", fixture.ranks + 1))
    fixture.refused("--ranks 2: the program is compiled for 1 rank", fixture.train(fixture.one, "refused", "--ranks", 2))
    fixture.refused(f"--batch {fixture.ranks + 1}: its sequences do not divide by the {fixture.ranks} ranks",
                    train("--batch", fixture.ranks + 1))
    fixture.refused("--engine=nccl: the program runs on the CPU, where there are threads and mpi", train("--engine=nccl"))
    fixture.refused("--engine=gloo: expected threads or mpi, or nccl on GPUs", train("--engine=gloo"))
    fixture.refused("--rank-timeout", train("--rank-timeout", -1))
    fixture.refused(f"--engine=mpi: start the program with mpirun -n {fixture.ranks}", train("--engine=mpi"))
    if fixture.has_mpi:
        fixture.refused(f"mpirun has started {fixture.ranks + 1} ranks, and the program is compiled for "
                        f"{fixture.ranks} ranks (dp={fixture.ranks})", fixture.mpi(train(), fixture.ranks + 1))
        fixture.refused("--data", fixture.mpi(train("--data", fixture.path("nothing"))))

        def mixed(*last):
            return [*MPI, "-n", str(fixture.ranks - 1), *train(), ":", "-n", "1", *last]

        last = f"rank {fixture.ranks - 1} is refused: it differs from rank 0 in "
        fixture.refused(last + "--lr, 0.001 and not 0.003", mixed(*train("--lr", 1e-3)))
        fixture.refused(last + "seed, 9 and not 0", mixed(*train("--seed", 9)))
        other = fixture.path("other.u16")
        write_tokens(other, [(7 * i + i // 13) % 97 for i in range(1, 4097)])
        fixture.refused(last + "data, ", mixed(*train("--data", other)))
        name = "model.layers.1.mlp.down_proj.weight"
        edited = edit_weights(fixture, name, lambda values, shape: [values[0] * 2, *values[1:]])
        fixture.refused(last + "weights, ",
                        mixed(*fixture.train(fixture.many, "refused", weights=edited)))
        fixture.refused(last + "executable, ",
                        mixed(*fixture.train(fixture.compile("full", f"--mesh=dp={fixture.ranks}", "--recompute=full"),
                                             "refused")))
    expect(not os.path.exists(fixture.path("refused")) or not steps_of(fixture.path("refused")), "leaves a checkpoint")
    print("ranks that do not agree are refused")


def faults(fixture):
    """A rank that fails, stalls or dies."""
    whole = parse(run(fixture.train(fixture.many, "whole", "--save-every", 1)).stdout)
    collectives = [entry["name"] for entry in json.loads(run([fixture.many, "info", "--json"]).stdout)["collectives"]]
    cases = [("fail", False), ("stall", False)]
    if fixture.has_mpi:
        cases += [("fail", True), ("stall", True), ("die", True)]
    for kind, mpi in cases:
        out = f"{kind}-{mpi}"
        command = fixture.train(fixture.many, out, "--save-every", 1, "--keep", 0, "--rank-timeout", 2,
                                "--rank-fault", f"1:4:{kind}", "--trace", fixture.path("trace.json"))
        # mpirun may end rank 0, which waits, before it can say that rank 1 is gone.
        for _ in range(5 if kind == "die" else 1):
            shutil.rmtree(fixture.path(out), ignore_errors=True)
            result = run(fixture.mpi(command) if mpi else command, check=False, timeout=300)
            if "error: " in result.stderr or "process rank 1" not in result.stderr:
                break
        said = fixture.one_line("rank 1", command if not mpi else fixture.mpi(command), result)
        expect(any(f"step 4, {name}" in said for name in collectives), f"names none of {collectives}: {said}")
        expect(steps_of(fixture.path(out)) == [1, 2, 3], f"{out}: leaves {os.listdir(fixture.path(out))}")
        left = [name for _, _, names in os.walk(fixture.scratch) for name in names if name.endswith(".temporary")]
        expect(not left, f"{out}: leaves {left}")
        rest = parse(run(fixture.train(fixture.many, out, "--save-every", 1, "--keep", 0, "--resume")).stdout)
        expect(rest == whole[3:] and checkpoint(fixture.path(f"{out}/step-6")) == checkpoint(fixture.path("whole/step-6")),
               f"{out}: goes on as another run")
        print(f"{out}: {said}")

    process = subprocess.Popen(fixture.train(fixture.many, "stopped", steps=100000),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=300)[1]
    expect(process.returncode == 1 and said == "error: interrupted\n", f"{process.returncode}, {said}")

    # Numbers that are not finite, in a parameter and in an op.
    def planted(values, shape):
        values[3 * shape[1] + 7] = math.nan
        return values

    name = "model.layers.1.mlp.down_proj.weight"
    for what, edit in ((f"the parameter {name} holds nan at [3, 7]", planted),
                       ("all parameters are finite",
                        lambda values, shape: [3e38 if value > 0 else -3e38 for value in values])):
        weights = edit_weights(fixture, name, edit)
        command = fixture.train(fixture.many, "nan", weights=weights)
        expected = fixture.refused(what, fixture.train(fixture.one, "nan-one", weights=weights))
        said = fixture.refused(what, command)
        expect(said.split(", whose result")[0] == expected.split(", whose result")[0], f"{said}, one rank: {expected}")
        if fixture.has_mpi:
            expect(fixture.refused(what, fixture.mpi(command)) == said, said)
        print(said)


def scaled(fixture):
    """Products in F16, whose losses are scaled by too much at first: all ranks skip the same steps."""
    flags = ("--loss-scale", 2 ** 24, "--accumulate", 1)
    one = parse(run(fixture.train(fixture.compile("half", "--dtype=f16"), "half-one", *flags)).stdout)
    many = fixture.compile("half-many", "--dtype=f16", f"--mesh=dp={fixture.ranks}")
    lines = parse(run(fixture.train(many, "half-threads", *flags)).stdout)
    expect(0 < sum("skipped" in line for line in lines) < STEPS, f"no step is skipped, or all are: {lines}")
    for a, b in zip(one, lines, strict=True):
        expect(all(a.get(key) == b.get(key) for key in ("skipped", "loss_scale")) and near(a["loss"], b["loss"], 1e-3),
               f"{b}, one rank has {a}")
    if fixture.has_mpi:
        expect(parse(run(fixture.mpi(fixture.train(many, "half-mpi", *flags))).stdout) == lines, "processes differ")
    with open(fixture.path("half-threads/step-6/state.json")) as file:
        expect(json.load(file)["extra"]["loss_scale"]["skipped_steps"] == sum("skipped" in line for line in lines),
               "the checkpoint counts other steps")
    print(f"{sum('skipped' in line for line in lines)} steps skipped by all ranks")


def sanitized(fixture):
    """Under both sanitizers: silence, and the same lines."""
    flags = ("--workers", 2 * fixture.ranks, "--save-every", 3, "--validate-every", 4)
    plain = parse(run(fixture.train(fixture.many, "plain", *flags)).stdout)
    for sanitizer in ("thread", "address"):
        program = fixture.compile(sanitizer, f"--mesh=dp={fixture.ranks}", f"--sanitize={sanitizer}")
        result = run(fixture.train(program, sanitizer + "-run", *flags))
        expect(not result.stderr and parse(result.stdout) == plain, f"{sanitizer}: {result}")
    # One report, of one rank.
    touched = fixture.path("touched.json")
    run(fixture.train(program, "touched", "--workers", fixture.ranks, "--check-memory", touched, steps=1))
    with open(touched) as file:
        report = json.load(file)
    expect(0 < report["touched"] <= report["planned"], f"touches {report}")
    print("silence under both sanitizers")


def expect_overlap(tasks):
    """What a rank exchanges of the last layer begins before the first layer's backward ends."""
    backward = [task for task in tasks if task["args"]["segment"].startswith("layers.backward")]
    last = max(task["args"]["layer"] for task in backward)
    expect(last > 0 and all(task["args"]["layer"] == last - task["args"]["iteration"] for task in backward),
           "the backward's layers do not descend")
    begin = min(task["ts"] for task in backward
                if task["args"]["layer"] == last and task["name"].endswith(".exchange"))
    end = max(task["ts"] + task["dur"] for task in backward
              if task["args"]["layer"] == 0 and not task["name"].endswith(".exchange"))
    expect(begin < end, f"layer {last} is exchanged from {begin}, layer 0's backward ends at {end}")


def trace(fixture):
    """A process of the trace for each rank; exchanges overlap with the backward."""
    for mpi in (False, True) if fixture.has_mpi else (False,):
        path = fixture.path("trace.json")
        command = fixture.train(fixture.many, "traced", "--trace", path, steps=1)
        run(fixture.mpi(command) if mpi else command)
        shutil.rmtree(fixture.path("traced"))
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        expect(sorted(names) == list(range(1, fixture.ranks + 1))
               and all(name.endswith(f", rank {pid - 1}") for pid, name in names.items()), f"processes {names}")
        for pid in names:
            expect_overlap([event for event in events if event.get("cat") == "task" and event["pid"] == pid])
        tasks = [sorted((event["name"], event["args"]["task"], event["args"].get("layer", 0))
                        for event in events if event.get("cat") == "task" and event["pid"] == pid) for pid in names]
        expect(tasks[0] and all(other == tasks[0] for other in tasks), "ranks ran other tasks")
    print(f"{len(tasks[0])} tasks of each of {fixture.ranks} ranks in a trace")


CASES = {case.__name__: case for case in (same, counters, refusals, faults, scaled, sanitized, trace)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("folder")
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    programs.main(lambda scratch: CASES[arguments.case](Fixture(arguments, scratch)))
    if not shutil.which("mpirun"):
        print("skipped for processes: there is no mpirun")
        sys.exit(77)

"""Training on several ranks, each on an emulated device of its own, with an NCCL of the
host's in its place (nccl.cpp), which moves bytes between threads and processes.

- A run is the CPU's of the same mesh bit for bit, whatever is cut along it: losses,
  gradients, weights and the optimizer's states, for any number of workers and order of
  threads, in both forms of a step, for threads and processes. What is counted is the same,
  too.
- Where NCCL is not found, too old, does not start, fails, or another rank does not come,
  a run ends with one line that names rank, step and collective.

Processes need mpirun; without it they are left out. Of a model in MLIR weights are random.
"""

import argparse
import csv
import json
import math
import os
import shutil

import programs
from bottleneck_parallel import write_weights
from programs import MPI, QUICK, expect, run
from sanitize import ENVIRONMENT
from training import lines_of, read_bytes, write_tokens

STEPS = 2
# A block's threads are fibers, which meet at each barrier: with a fourth of them ranks exchange
# the same, and emulation takes half the time. cuda_train.py and cuda.py have all.
THREADS = 64


class Fixture:
    def __init__(self, arguments, scratch):
        self.arguments = arguments
        self.scratch = scratch
        self.ranks = math.prod(int(axis.split("=")[1]) for axis in arguments.mesh.split(","))
        write_tokens(self.path("tokens.u16"), [(7 * i + i // 13) % 97 for i in range(2048)])
        os.mkdir(self.path("messages"))
        self.model = self.weights = arguments.model
        if os.path.isfile(self.model):
            with open(self.model) as file:
                text = "".join(line for line in file if not line.startswith("dist.mesh"))
            self.model, self.weights = self.path("model.mlir"), self.path("weights")
            with open(self.model, "w") as file:
                file.write(text)
            os.mkdir(self.weights)
            write_weights(text, self.weights)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *flags):
        if any(flag.startswith("--target=cuda") for flag in flags):
            usual = os.path.join(os.path.dirname(self.arguments.batonc), "../lib/baton/targets/cuda.json")
            flags = [*flags, programs.changed_target(usual, self.path("target.json"), threads=THREADS)]
        run([self.arguments.batonc, self.model, "--mode=train", QUICK, "--quiet", "-o", self.path(name),
             f"--mesh={self.arguments.mesh}", *self.arguments.both, *flags])

    def start(self, program, out, *more, library="whole", fault="", seed=0, mpi=False, log="", **options):
        usual = {"--steps": STEPS, "--batch": 2 * self.ranks, "--accumulate": 2}
        flags = [word for flag in usual if flag not in more for word in (flag, usual[flag])]
        command = [self.path(program), "train", "--weights", self.weights, "--data",
                   self.path("tokens.u16"), "--seq", 20, "--lr", 3e-3, "--out", self.path(out), "--quiet", *flags,
                   *more]
        path = os.path.join(self.arguments.libraries, f"libnccl-{library}.so") if library in ("whole", "old") \
            else library
        environment = dict(ENVIRONMENT, BATON_NCCL=path, NCCL_FAULT=fault, BATON_EMULATION_SEED=str(seed),
                           TMPDIR=self.path("messages"), **({"NCCL_LOG": self.path(log)} if log else {}))
        return run([*MPI, "-n", self.ranks, *command] if mpi else command, check=False, timeout=1800,
                   env=environment, **options)

    def train(self, program, out, *more, **options):
        """The lines of a run, and the bits that it leaves."""
        result = self.start(program, out, "--gradients", self.path("gradients"), "--save-every", 1, "--json", *more,
                            **options)
        expect(result.returncode == 0 and not result.stderr, f"{out}: {result}")
        lines = lines_of(result.stdout, "tokens_per_s")
        files = {name: read_bytes(self.path(f"{out}/{name}.safetensors"))
                 for name in (f"step-{step}/{kind}" for step in (1, STEPS) for kind in ("model", "optimizer"))}
        files["gradients"] = read_bytes(self.path("gradients"))
        expect(not os.listdir(self.path("messages")), f"{out}: leaves {os.listdir(self.path('messages'))}")
        return lines[:-1], files, lines[-1]["communication"]

    def expect_same(self, found, expected, what):
        expect(found[0] == expected[0], f"{what}: {found[0]}, expected {expected[0]}")
        for name, bits in expected[1].items():
            expect(found[1][name] == bits, f"{what}: {name} is not that of the CPU")
        expect(found[2]["engine"] == "nccl" and found[2]["collectives"] == expected[2]["collectives"],
               f"{what}: moved {found[2]}, on the CPU {expected[2]}")

    def refused(self, message, *more, program="device", **options):
        result = self.start(program, "refused", *more, **options)
        lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        expect(result.returncode == 1 and len(lines) == 1 and message in lines[0]
               and (options.get("mpi") or len(result.stderr.splitlines()) == 1),
               f"expected '{message}', got {result}")
        shutil.rmtree(self.path("refused"), ignore_errors=True)
        shutil.rmtree(self.path("messages"))
        os.mkdir(self.path("messages"))
        return lines[0]


def expect_waits(fixture, path):
    """That the host has seen exchanges begin and end, within steps."""
    with open(path, newline="") as file:
        rows = [(int(row["rank"]), row["indicator"], float(row["value"])) for row in csv.DictReader(file)]
    for rank in range(fixture.ranks):
        of = lambda *names: sum(value for own, name, value in rows if own == rank and name in names)
        expect(0 < of("wait.collectives") and 0 < of("compute")
               and of("compute", "inputs", "wait.collectives", "wait.border") <= of("step") * 1.001,
               f"{path}: times of rank {rank}: {rows}")


def same(fixture):
    flags = fixture.arguments.flags
    fixture.compile("host")
    expected = fixture.train("host", "host-run", "--validate-every", 2)
    expect("validation_loss" in expected[0][1] and len(expected[0]) == STEPS, f"steps: {expected[0]}")
    fixture.compile("device", *flags)
    for workers, seed in ((fixture.ranks, 0), (3 * fixture.ranks, 7)):
        found = fixture.train("device", f"run-{workers}", "--validate-every", 2, "--workers", workers, "--health-log",
                              seed=seed, log=f"log-{workers}")
        fixture.expect_same(found, expected, f"{workers} workers")
        expect_waits(fixture, fixture.path(f"run-{workers}/health-1.csv"))
    print("losses, gradients, weights, states and counters are the CPU's")

    # Each rank has been connected once to those of each set of axes, before all that it sends.
    with open(fixture.path(f"log-{fixture.ranks}")) as file:
        calls = [line.split() for line in file]
    described = json.loads(run([fixture.path("device"), "info", "--json"]).stdout)
    groups = len({tuple(entry["axes"]) for entry in described["collectives"]})
    # Ranks are named by their places among these: one set, and they are the job's.
    for rank in range(fixture.ranks if groups == 1 else 0):
        own = [call[1] for call in calls if int(call[0]) == rank]
        expect(own[0] == "init" and own.count("init") == 1, f"rank {rank}: {own[:3]}")
    device, overlapped = described["device"], "--exchanges=overlapped" in flags
    expect(device["exchanges"] == ("overlapped" if overlapped else "borders") and device["kernels"][0].get("takes_part")
           == ((device["launch"] == "persistent" and not overlapped) or None), f"info: {device}")
    inits = [call for call in calls if call[1] == "init"]
    blocks = device.get("nccl_multiprocessors", -2 ** 31)
    expect(len(inits) == groups * fixture.ranks and all(int(call[3]) == blocks for call in inits),
           f"multiprocessors for NCCL: {inits}, expected {blocks}")
    if overlapped:
        expect(len(described["proof"]["obligations"]) == 4, f"proof: {described['proof']}")
        # The emulated device has room for 256 blocks.
        fixture.refused(f"--workers: {256 // fixture.ranks} blocks do not run at the same time on the emulated "
                        f"device, at most {256 - blocks} do", "--workers", 256)

    if shutil.which("mpirun") and not fixture.arguments.threads:
        found = fixture.train("device", "processes", "--validate-every", 2, "--workers", fixture.ranks, mpi=True)
        fixture.expect_same(found, expected, "processes")
        print("processes have the same bits")


def faults(fixture):
    fixture.compile("device", *fixture.arguments.flags)
    usual = ("--workers", fixture.ranks, "--rank-timeout", 3)
    refuse = lambda message, *more, **options: print(fixture.refused(message, *usual, *more, **options))
    refuse(f"NCCL, by which ranks on GPUs exchange tensors, was not found ({fixture.path('nowhere.so')}); BATON_NCCL",
           library=fixture.path("nowhere.so"))
    refuse("is too old: it is 2.12.0; this program needs 2.18.0", library="old")
    refuse("--engine=mpi: the program runs on a GPU, where ranks exchange tensors by nccl", "--engine=mpi")
    refuse("on the emulated device: ncclCommInitRankConfig: invalid usage (NCCL result 5): Duplicate GPU detected : "
           "rank 1 and rank 0 both on CUDA device 1000", "--engine=nccl", fault="1:init")
    names = [entry["name"] for entry in json.loads(run([fixture.path("device"), "info", "--json"]).stdout)
             ["collectives"]]
    # The first groups of calls are those before the first step.
    refuse("rank 1: before the first step, ", fault="1:send:1")
    group = len(names) + 12
    for what, said in (("send", "ncclGroupEnd: internal error (NCCL result 3): connection refused by peer"),
                       ("async", "NCCL: remote process exited (NCCL result 6)"),
                       ("stall", "NCCL does not finish, as another rank does not come; after 3 s (--rank-timeout)")):
        line = fixture.refused(said, *usual, fault=f"1:{what}:{group}")
        expect(line.startswith("error: rank ") and any(f": step 1, {name}" in line for name in names),
               f"names none of {names}: {line}")
        print(line)
    # And a rank that does not come to its collective, or says why.
    for kind, said in (("stall", "another rank does not come"), ("fail", "rank 1: step 2, ")):
        line = fixture.refused(said, *usual, "--rank-fault", f"1:2:{kind}")
        expect(any(f": step 2, {name}" in line for name in names), f"names none of {names}: {line}")
        print(line)
    if shutil.which("mpirun"):
        print(fixture.refused("another rank does not come", *usual, "--rank-fault", "1:2:stall", mpi=True))


def sanitized(fixture):
    fixture.compile("host")
    expected = fixture.train("host", "host-run")
    for sanitizer in ("thread", "address"):
        fixture.compile(sanitizer, *fixture.arguments.flags, f"--sanitize={sanitizer}")
        found = fixture.train(sanitizer, sanitizer + "-run", "--workers", 2 * fixture.ranks, seed=3)
        fixture.expect_same(found, expected, sanitizer)
    print("silence under both sanitizers")


CASES = {case.__name__: case for case in (same, faults, sanitized)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--libraries", required=True, help="folder of libnccl-whole.so and libnccl-old.so")
    parser.add_argument("--mesh", default="dp=2")
    parser.add_argument("--both", action="append", default=[], help="for batonc, of the CPU's program, too")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("--threads", action="store_true", help="leave processes out")
    parser.add_argument("model")
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    programs.main(lambda scratch: CASES[arguments.case](Fixture(arguments, scratch)))

"""What a program of two ranks asks of the CUDA driver (graph_driver.cpp) and of NCCL
(nccl.cpp), in order, as the plan has it: between launches of the kernel up to each
exchange, or on a stream beside one launch, each behind a wait for its epoch and before
the write of its event's word. Every exchange is made once before the first launch.

Without the driver a program says so; with it, an installed NCCL is opened, and its words
about a driver that has no GPU end the program in one line, and so does a GPU that has too
few multiprocessors. The kit's smoke test (test/gpu/nccl_smoke.cpp) finds that this driver
holds no stream back.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda, or there
is no mpirun.
"""

import argparse
import json
import os
import shutil
import sys

import programs
from programs import QUICK, expect, run
from training import write_tokens

STEPS, ACCUMULATE = 2, 2
TOOLKITS = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ] + ["/usr/local/cuda"]


def plan_of(info):
    """The phases of a step, in order, as pairs of a name and an iteration."""
    places, phases = [], info["phases"]
    while phases:
        count = next((i for i, phase in enumerate(phases) if phase["segment"] != phases[0]["segment"]), len(phases))
        places += [(phase["name"], iteration) for iteration in range(phases[0]["repeat"]) for phase in phases[:count]]
        phases = phases[count:]
    return places


def expected_events(info, overlapped):
    """Launches and exchanges from the start to the end of a run."""
    places = plan_of(info)
    collectives = {entry["name"]: entry for entry in info["collectives"]}
    epoch, events = 0, []
    # Each once, before the first step.
    events += [("exchange", name) for name, _ in places if name in collectives]
    for number in range(STEPS * ACCUMULATE):
        updates = number % ACCUMULATE == ACCUMULATE - 1
        begun = reached = 0
        if overlapped and number == 0:
            events.append(("launch", "0", "all"))
        for place, (name, _) in enumerate(places):
            if name not in collectives or not (updates or collectives[name]["every_step"]):
                continue
            if overlapped:
                epoch += 1
                events += [("wait", str(epoch)), ("exchange", name), ("notify",)]
                continue
            if place != reached:
                events.append(("launch", str(begun), str(place)))
                begun = reached = place
            events.append(("exchange", name))
            reached += 1
        if not overlapped:
            events.append(("launch", str(begun), str(len(places))))
    return events


def found_events(path):
    """The same of a log, in which marks enclose NCCL's calls; and on which streams they are."""
    events, streams, mark, calls = [], {"mark": set(), "other": set()}, 0, None
    with open(path) as file:
        lines = [line.split() for line in file]
    for line in lines:
        if line[0] == "cooperative":
            events.append(("launch", line[5], line[6]))
        elif line[0] == "write" and int(line[2]) == mark + 1 and (calls is not None or mark % 2 == 0):
            mark += 1
            streams["mark"].add(line[1])
            if mark % 2:
                calls = []
            else:
                events.append(("exchange", calls))
                calls = None
        elif line[0] in ("write", "wait"):
            streams["other"].add(line[1])
            events.append(("notify",) if line[0] == "write" else ("wait", line[2]))
        elif line[1] != "init":
            expect(calls is not None, f"a call outside of an exchange: {line}")
            calls.append(line[1:])
    return events, streams


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    if not shutil.which("mpirun"):
        print("there is no mpirun")
        sys.exit(77)
    write_tokens(path("tokens.u16"), [(7 * i + i // 13) % 97 for i in range(1024)])
    os.mkdir(path("messages"))
    standin = os.path.join(arguments.libraries, "libnccl-whole.so")
    for exchanges in ("borders", "overlapped"):
        overlapped = exchanges == "overlapped"
        more = ["--nccl-sms=1"] if overlapped else []
        result = run([arguments.batonc, arguments.folder, "-o", path("program"), "--quiet", QUICK, "--mode=train",
                      "--mesh=dp=2", "--target=cuda:sm_90a", f"--exchanges={exchanges}", *more], check=False)
        if "NVRTC" in result.stderr and "was not found" in result.stderr:
            print(result.stderr.strip())
            sys.exit(77)
        expect(result.returncode == 0, result.stderr)
        info = json.loads(run([path("program"), "info", "--json"]).stdout)
        train = [path("program"), "train", "--weights", arguments.folder, "--data", path("tokens.u16"), "--seq", 20,
                 "--batch", 4, "--accumulate", ACCUMULATE, "--steps", STEPS, "--quiet", "--workers", 4]

        def environment(rank, library, **variables):
            return dict({"LD_LIBRARY_PATH": arguments.driver, "FAKE_DRIVER_LOG": path(f"{exchanges}-{rank}.log"),
                         "FAKE_DRIVER_PLACES": str(len(plan_of(info))), "NCCL_LOG": path(f"{exchanges}-{rank}.log"),
                         "BATON_NCCL": library, "TMPDIR": path("messages")}, **variables)

        # Processes, each with a log of its own.
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
        for rank in range(2):
            command += [":"] * (rank > 0) + ["-n", 1, "env", *(f"{name}={value}" for name, value in
                                                               environment(rank, standin).items()),
                                             *train, "--out", path(f"{exchanges}-run")]
        lines = [json.loads(line) for line in run(command, timeout=600).stdout.splitlines()]
        expect(len(lines) == STEPS, f"{exchanges}: {lines}")
        expected = expected_events(info, overlapped)
        kinds = {entry["name"]: entry["kind"] for entry in info["collectives"]}
        for rank in range(2):
            found, streams = found_events(path(f"{exchanges}-{rank}.log"))
            expect(len(found) == len(expected), f"{exchanges}, rank {rank}: {len(found)} events of {len(expected)}")
            for number, (one, other) in enumerate(zip(found, expected)):
                if other[0] != "exchange":
                    expect(one == other, f"{exchanges}, rank {rank}, {number}: {one}, expected {other}")
                    continue
                entry = next(entry for entry in info["collectives"] if entry["name"] == other[1])
                calls = one[1] if one[0] == "exchange" else []
                # A tensor goes to, and comes from, each of two ranks; small ones have no second part.
                words = {call[0].split("_")[-1] for call in calls}
                expect(words == {"send", "receive"} and len(calls) <= 4 * len(entry["tensors"]),
                       f"{exchanges}, rank {rank}, {number}: {one}, expected {other}")
                moved = sum(int(call[1]) for call in calls if call[0].endswith("receive"))
                if kinds[other[1]] == "all_gather":
                    expect(moved == entry["payload_bytes"], f"{other}: {moved} bytes of {entry['payload_bytes']}")
            expect(len(streams["mark"]) == 1 and streams["other"] in (set(), streams["mark"]),
                   f"{exchanges}: streams {streams}")
        print(f"{exchanges}: {len(expected)} launches, waits, exchanges and writes in order")

        def ends(what, status, said, library, **variables):
            result = run([*train, "--out", path("refused"), "--ranks", 2], check=False, timeout=600,
                         env=dict(os.environ, **environment("refused", library, **variables)))
            expect(result.returncode == status and result.stderr.count("\n") == 1
                   and result.stderr.startswith("error: ") and said in result.stderr, f"{what}: {result}")
            print(f"{what}: {result.stderr.strip()}")

        ends("no driver", 1, "this machine has no CUDA driver", standin, LD_LIBRARY_PATH="")
        installed = next((f"{toolkit}/lib64/libnccl.so.2" for toolkit in TOOLKITS
                          if os.path.exists(f"{toolkit}/lib64/libnccl.so.2")), None)
        if installed:
            ends("an installed NCCL", 1, "NCCL 2.", installed)
        if overlapped:
            run([arguments.batonc, arguments.folder, "-o", path("program"), "--quiet", QUICK, "--mode=train",
                 "--mesh=dp=2", "--target=cuda:sm_90a", "--exchanges=overlapped", "--nccl-sms=3"])
            ends("no multiprocessor is left", 1, "fake has 3 multiprocessors, of which the program leaves 3 to NCCL",
                 standin)


def test_smoke(arguments, scratch):
    for fault, said in (("", "error: WRONG: the stream does not wait for the word\n"),
                        ("0:send:1", "error: ncclGroupEnd: internal error (NCCL result 3): connection refused by peer\n")):
        result = run([arguments.smoke], check=False, env=dict(
            os.environ, LD_LIBRARY_PATH=arguments.driver, TMPDIR=scratch, NCCL_FAULT=fault,
            FAKE_DRIVER_LOG=os.path.join(scratch, "smoke.log"),
            BATON_NCCL=os.path.join(arguments.libraries, "libnccl-whole.so")))
        expect(result.returncode == 1 and result.stderr == said and not result.stdout, f"expected {said}, got {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--driver", required=True, help="folder with libcuda.so.1")
    parser.add_argument("--libraries", required=True, help="folder of libnccl-whole.so")
    parser.add_argument("--smoke", required=True, help="nccl-smoke")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: (test_smoke(arguments, scratch), test(arguments, scratch)))

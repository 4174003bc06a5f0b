#!/usr/bin/env python3
"""Tries Baton on a GPU: correctness first, then speed.

    run.py [--out results.json] [--minutes 9] [--only REGEX] [--rounds 2]
    run.py --list

Runs in the folder that pack.py made, and needs nothing outside it but Python and a
driver; parts that use PyTorch or compute-sanitizer are skipped, with a line, where
these are missing. Every part adds its result, with all samples, to one JSON file as
soon as it is done. Parts that are there already are left out, so that a run that was
cut short, by the minutes or by a crash, is continued by the same command:

    run.py --only 'bodies|correct'         first: is it right?
    run.py --only 'floors|/1/'             then one round of speed ...
    run.py --rounds 3                      ... and two more, and the rest
    run.py --again 'decode/llama-3.2-1b'   measures these anew
    report.py results.json > table.md      what it comes to

A part that fails is tried once more, behind all others. No part starts that took
longer than what is left of the minutes when one of its kind was last run.
Exits with 0 when everything was right, 1 when something was wrong or failed, 2 when
there is more to do.
"""

import argparse
import datetime
import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import parts as kit_parts

HERE = os.path.dirname(os.path.abspath(__file__))
TRIES = 2
QUERY = ("name", "driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem",
         "power.draw", "power.limit", "temperature.gpu")


def nvidia_smi():
    """What the GPU says of itself; None without nvidia-smi."""
    try:
        text = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--id=0",
                               "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    fields = [field.strip() for field in text.stdout.strip().split(",")]
    return dict(zip(QUERY, fields)) if text.returncode == 0 and len(fields) == len(QUERY) else None


def unpacked():
    """The folder of the archive's contents, kept for the next call."""
    archive = os.path.join(HERE, "payload.tar.xz")
    with open(archive, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    folder = os.path.join(tempfile.gettempdir(), f"baton-gpu-{os.getuid()}-{digest}")
    if not os.path.isdir(folder):
        partial = tempfile.mkdtemp(prefix="baton-gpu-")
        try:
            with tarfile.open(archive) as file:
                file.extractall(partial, filter="data")
        except BaseException:
            shutil.rmtree(partial)
            raise
        try:
            os.rename(partial, folder)
        except OSError:  # another call was faster
            shutil.rmtree(partial)
    return folder


class Results:
    """The JSON file: written as a whole, under another name first."""

    def __init__(self, path, about):
        self.path = path
        self.data = {"about": about, "calls": [], "parts": {}}
        if os.path.exists(path):
            with open(path) as file:
                self.data = json.load(file)
            if self.data["about"]["commit"] != about["commit"]:
                sys.exit(f"error: {path} is of commit {self.data['about']['commit'][:12]}, this "
                         f"folder of {about['commit'][:12]}; choose another --out")
        self.parts = self.data["parts"]

    def save(self):
        with open(self.path + ".part", "w") as file:
            json.dump(self.data, file, indent=1)
            file.write("\n")
        os.replace(self.path + ".part", self.path)

    def seconds(self, name):
        """How long the longest part of the kind took, rounds aside."""
        kind = lambda name: re.sub(r"/\d+/(?=[^/]*$)", "/", name)
        return max((part["seconds"] for other, part in self.parts.items()
                    if kind(other) == kind(name) and "error" not in part), default=0)


def short(result):
    """A part's result in a line."""
    words = [result.get("error") or result["verdict"]]
    words += [f"{key} {value:.3g}" for key, value in result.items() if isinstance(value, float)
              and key not in ("seconds",)]
    return ", ".join(words)


def todo(listed, results, again):
    """Those without a result; behind them those that have failed, here or before."""
    for part in listed:
        if part[0] not in results.parts or again and re.search(again, part[0]):
            yield part
    for part in listed:
        if 0 < results.parts[part[0]].get("tries", 0) < TRIES:
            yield part


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results.json")
    parser.add_argument("--minutes", type=float, default=9, help="of this call")
    parser.add_argument("--only", default="", help="parts whose names match, anywhere")
    parser.add_argument("--again", default="", help="parts to be run anew")
    parser.add_argument("--rounds", type=int, default=2, help="of every measurement")
    parser.add_argument("--list", action="store_true", help="the parts' names, and nothing else")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.minutes * 60
    with open(os.path.join(HERE, "about.json")) as file:
        about = json.load(file)
    listed = [part for part in kit_parts.parts(about, arguments.rounds)
              if re.search(arguments.only, part[0])]
    if arguments.list:
        print("\n".join(name for name, _ in listed))
        return
    results = Results(arguments.out, about)
    kit = kit_parts.Kit(unpacked(), about, deadline)
    if kit.dry:
        print("a dry run: nothing is measured", flush=True)
    results.data["calls"].append({
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": sys.argv, "gpu": nvidia_smi(), "machine": platform.platform(),
        "processors": os.cpu_count(), "dry_run": kit.dry})
    for name, work in todo(listed, results, arguments.again):
        left = deadline - time.monotonic()
        if left < max(5, results.seconds(name) * 1.1):
            print(f"time is up before {name}; the same command continues")
            sys.exit(2)
        tries = results.parts.get(name, {}).get("tries", 0) + 1
        start, before = time.monotonic(), nvidia_smi()
        try:
            result = work(kit)
        except (kit_parts.PartError, OSError, KeyError, ValueError) as error:
            result = {"verdict": "failed", "error": str(error) or type(error).__name__, "tries": tries}
        results.parts[name] = {
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "seconds": time.monotonic() - start, "gpu_before": before, "gpu_after": nvidia_smi(),
            **result}
        results.save()
        print(f"{name}: {short(result)}", flush=True)
    bad = [name for name, _ in listed if re.match("WRONG|failed", results.parts[name]["verdict"])]
    if bad:
        print(f"{len(bad)} of {len(listed)} parts are wrong or failed: {', '.join(bad)}")
    sys.exit(1 if bad else 0)


try:
    main()
except (OSError, ValueError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
    # A full disk, a folder that was not copied whole, results of something else.
    sys.exit(f"error: {error}")

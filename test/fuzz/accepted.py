"""What the compiler accepts runs clean: whatever config is imported, whatever IR
passes the verifiers and the proof, is compiled with the address sanitizer, and
its program is run; that of a plan is only compiled.

    test/fuzz/accepted.py --batonc build/bin/batonc --target build/test/fuzz/fuzz-plan
                          [--runs N | --seconds S] [--most M] CORPUS...

The fuzz target mutates the corpus and keeps what is accepted. All of the corpus
that is accepted, and at most M of the rest, are compiled and run with random
weights. The only other ends that are allowed are one line that begins with
"error:", from the compiler or from the program, and status 1.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FUZZER_ENVIRONMENT = {
    # MLIR itself is not instrumented, which containers and pools cannot know.
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0:"
                    "allocator_may_return_null=1",
}
PATIENCE = 300
# Of a program's weights and memory; larger ones are compiled only.
MOST_BYTES = 512 << 20


def collect(arguments, corpus, scratch, name, limits):
    """The accepted inputs among a corpus and what becomes of it, by name."""
    accepted, found = os.path.join(scratch, "accepted-" + name), os.path.join(scratch, "found-" + name)
    os.mkdir(accepted)
    os.mkdir(found)
    result = subprocess.run([arguments.target, *limits, "-seed=1", "-len_control=0", "-max_len=65536", "-timeout=60",
                             "-rss_limit_mb=4096", f"-artifact_prefix={arguments.artifacts}/", found, *corpus],
                            env={**os.environ, **FUZZER_ENVIRONMENT, "BATON_FUZZ_ACCEPTED": accepted},
                            capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        sys.exit(f"FAILED: the fuzz target ended with {result.returncode}\n{result.stderr[-4000:]}")
    return {entry: os.path.join(accepted, entry) for entry in sorted(os.listdir(accepted))}


def ends(command, **options):
    """Status, output, and what is wrong with this end, if anything."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, **options)
    except subprocess.TimeoutExpired:
        return None, "", f"{command}: no end after {PATIENCE} seconds"
    clean = result.returncode == 0 and not result.stderr
    refused = result.returncode == 1 and re.fullmatch(r"error: [^\n]*\n", result.stderr)
    said = "" if clean or refused else f"{command}: status {result.returncode}\n{result.stderr[:4000]}"
    return result.returncode, result.stdout, said


def judge(arguments, path, scratch):
    """One word on an accepted input, and what is wrong."""
    with open(path, errors="replace") as file:
        is_plan = "event.program" in file.read()
    program = os.path.join(scratch, os.path.basename(path) + ".exe")
    if path.endswith(".json"):
        folder = program + ".folder"
        os.mkdir(folder)
        shutil.copy(path, os.path.join(folder, "config.json"))
        path = folder
    status, _, said = ends([arguments.batonc, path, "-o", program, "--sanitize=address", "--quiet"])
    if said or status != 0:
        return "refused", said
    try:
        status, text, said = ends([program, "info", "--json"])
        if said or status != 0:
            return "silent", said or "info fails"
        info = json.loads(text)
        # That bodies touch only what their accesses state is what the proof of a
        # plan assumes; tiling rules see to it, and a plan by hand may not.
        if is_plan:
            return "compiled", ""
        if sum(info["memory"].values()) > MOST_BYTES:
            return "large", ""
        positions = info["max_seq"]
        prefill = min(3, max(1, positions - 1))
        decode = max(1, min(3, positions - prefill))
        status, _, said = ends([program, "bench", "--prefill", str(prefill), "--decode", str(decode), "--repeat", "1",
                                "--workers", "2", "--quiet", "--json"])
        return ("ran" if status == 0 else "stopped"), said
    finally:
        os.remove(program)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--target", required=True, help="the fuzz target: fuzz-plan or fuzz-config")
    parser.add_argument("--runs", type=int, default=100, help="inputs that are tried")
    parser.add_argument("--seconds", type=int, help="seconds to try inputs for, instead")
    parser.add_argument("--most", type=int, default=10, help="inputs that are run beside the corpus")
    parser.add_argument("--artifacts", default=".", help="where bad inputs are kept")
    parser.add_argument("corpus", nargs="+")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="baton-accepted-") as scratch:
        own = collect(arguments, arguments.corpus, scratch, "corpus", ["-runs=0"])
        limits = [f"-max_total_time={arguments.seconds}"] if arguments.seconds else [f"-runs={arguments.runs}"]
        grown = collect(arguments, arguments.corpus, scratch, "grown", limits)
        new = [name for name in grown if name not in own]
        # Names are hashes: the first of them are any.
        chosen = list(own.values()) + [grown[name] for name in new[: arguments.most]]
        counts, failures = {}, []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, (word, said) in zip(chosen, pool.map(lambda path: judge(arguments, path, scratch), chosen)):
                counts[word] = counts.get(word, 0) + 1
                if said:
                    kept = os.path.join(arguments.artifacts, "accepted-" + os.path.basename(path))
                    shutil.copy(path, kept)
                    failures.append(f"{kept}\n{said}")
        print(f"{len(own)} inputs of the corpus and {len(new)} new ones are accepted; of {len(chosen)}: "
              + ", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
        if counts.get("ran", 0) < len(own) // 2:
            failures.append("hardly a program ran")
        if failures:
            sys.exit("FAILED: " + "\n".join(failures))


if __name__ == "__main__":
    main()

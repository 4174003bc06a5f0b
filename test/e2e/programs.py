"""Compiles and runs programs for the end-to-end tests (standard library only)."""

import array
import ast
import atexit
import fcntl
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile


# Flags of batonc. Quick: LLVM takes an eighth of the time, and programs have the
# same bits (train.py, decode.py). Usual: what it does without either.
QUICK, USUAL = "--optimize=1", "--optimize=3"


def quickly(flags):
    """Flags for batonc: these, and QUICK if none of them is USUAL."""
    return flags if USUAL in flags else [QUICK, *flags]


# Ranks as processes. Each script has a session folder of its own: two that begin at the same
# moment may fail over the one that is otherwise the user's.
SESSIONS = os.path.join(tempfile.gettempdir(), f"baton-mpi-{os.getpid()}")
atexit.register(shutil.rmtree, SESSIONS, ignore_errors=True)
MPI = ["mpirun", "--mca", "orte_tmpdir_base", SESSIONS, "--allow-run-as-root", "--oversubscribe"]


class Failure(Exception):
    """A test's verdict, in words."""


def run(command, check=True, **options):
    """Runs a command; its output is text. Fails unless it exits with 0."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )
    if check and result.returncode != 0:
        raise Failure(
            f"{' '.join(map(str, command))}\nexited with {result.returncode}\n"
            f"{result.stdout}{result.stderr}"
        )
    return result


def rows_of(npy):
    """The rows of a two-dimensional float32 .npy file."""
    length = struct.unpack("<H", npy[8:10])[0]
    _, width = ast.literal_eval(npy[10:10 + length].decode())["shape"]
    values = array.array("f", npy[10 + length:]).tolist()
    return [values[i:i + width] for i in range(0, len(values), width)]


class Program:
    """An executable made from a checkpoint folder or an .mlir file, quickly unless USUAL is
    a flag."""

    def __init__(self, batonc, model, output, *flags):
        self.path = output
        self.weights = model
        run([batonc, model, "-o", output, "--quiet", *quickly(flags)])

    def logits(self, tokens, out, *flags, launcher=(), environment=None):
        """Logits of every position, as the bytes of a .npy file."""
        text = ",".join(map(str, tokens))
        run([*launcher, self.path, "logits", "--weights", self.weights, "--tokens", text,
             "--out", out, "--no-cache", "--quiet", *flags], env=environment)
        with open(out, "rb") as file:
            return file.read()

    def generate(self, tokens, count, *flags):
        """The JSON that `generate` prints."""
        text = ",".join(map(str, tokens))
        result = run([self.path, "generate", "--weights", self.weights, "--tokens", text,
                      "--max-new-tokens", count, "--json", "--no-cache", "--quiet", *flags])
        return json.loads(result.stdout)


def golden(folder):
    with open(os.path.join(folder, "golden.json")) as file:
        return json.load(file)


def check(*arguments):
    """Compares with a golden case; see test/golden/check.py."""
    here = os.path.dirname(os.path.abspath(__file__))
    script = os.path.join(here, "..", "golden", "check.py")
    return run([sys.executable, script, *arguments]).stdout.strip()


def quick_batonc(batonc, path):
    """A command that compiles quickly, for scripts that say nothing of optimization."""
    with open(path, "w") as file:
        file.write(f"""#!/bin/sh
case "$*" in
  check-body* | explain* | merge* | names* | tune* | *--optimize=*) exec {batonc} "$@" ;;
esac
exec {batonc} "$@" {QUICK}
""")
    os.chmod(path, 0o755)
    return path


def changed_target(usual, path, **fields):
    """A flag for batonc: a target's description in which some fields differ."""
    with open(usual) as file:
        description = json.load(file)
    with open(path, "w") as file:
        json.dump(description | fields, file)
    return f"--target-file={path}"


def in_memory(folder):
    """Whether its files take memory."""
    kind = subprocess.run(["stat", "--file-system", "--format=%T", folder], capture_output=True, text=True).stdout
    return kind.strip() in ("tmpfs", "ramfs")


def expect(condition, message):
    if not condition:
        raise Failure(message)


def take_core():
    """Runs this script and its programs on one core: a free one, if there is one. A program has
    as many workers as cores; beside another test its workers would wait, spinning, for some that
    do not run, and the test take twice the processor time. Returns what keeps the core taken."""
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        lock = open(os.path.join(tempfile.gettempdir(), f"baton-test-{os.getuid()}-core-{core}"), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        os.sched_setaffinity(0, {core})
        return lock
    os.sched_setaffinity(0, {random.choice(cores)})
    return None


def main(test, own_cache=False, all_cores=False):
    """Runs `test(folder)` in a scratch folder and turns failures into status 1.

    What was compiled before, by other tests, is not compiled again, unless the test is
    about compiling. Below ctest, which runs others beside it, the test has one core, unless
    it is about the whole machine."""
    core = None if all_cores or "BATON_TEST_CACHE" not in os.environ else take_core()
    # Below nohup, programs would ignore what tests send them.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="baton-e2e-") as scratch:
        # Not the user's. ctest names the tests' common one.
        own = os.path.join(scratch, "cache")
        os.environ["BATON_CACHE_DIR"] = own if own_cache else os.environ.get("BATON_TEST_CACHE", own)
        try:
            test(scratch)
        except Failure as failure:
            print(f"FAILED: {failure}", file=sys.stderr)
            sys.exit(1)
        finally:
            if core:
                core.close()

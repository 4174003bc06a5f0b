"""However a program ends, it ends in good order: signals, closed pipes, full
disks, kills, checkpoints that change or cannot be written to.

What holds at every end: a status that is no signal, at most one line of
complaint, no temporary file, no half-written output, and the next run works.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

import programs
from programs import QUICK, expect, run

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TOKENS = ["--tokens", "1,2,3"]


def read(path):
    with open(path) as file:
        return file.read()


class Fixture:
    """A checkpoint large enough that packing takes a while, and its program."""

    def __init__(self, arguments, scratch):
        self.batonc = os.path.abspath(arguments.batonc)
        self.scratch = scratch
        self.weights = os.path.join(scratch, "weights")
        # Where another user can look, for whom a folder is not writable.
        os.chmod(scratch, 0o755)
        tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/random-checkpoint")
        run([sys.executable, tool, self.weights, "--hidden", 512, "--layers", 4])
        self.store = os.path.join(self.weights, ".baton")
        self.program = os.path.join(scratch, "program")
        run([self.batonc, self.weights, "-o", self.program, "--quiet", QUICK])
        self.expected = self.tokens("--no-cache")

    def generate(self, *flags, weights=None):
        return [self.program, "generate", "--weights", weights or self.weights, *TOKENS,
                "--max-new-tokens", "8", "--json", *flags]

    def tokens(self, *flags, **options):
        return json.loads(run(self.generate("--quiet", *flags, **options)).stdout)["tokens"]

    def entries(self, weights=None):
        store = os.path.join(weights or self.weights, ".baton")
        return sorted(os.listdir(store)) if os.path.isdir(store) else []

    def empty_store(self):
        shutil.rmtree(self.store, ignore_errors=True)

    def expect_sound(self, what, count=1, weights=None):
        """The next run reads or writes one entry, and computes what is right."""
        result = run(self.generate(weights=weights))
        expect(json.loads(result.stdout)["tokens"] == self.expected, f"{what}: then other tokens")
        expect("damaged" not in result.stderr, f"{what}: then {result.stderr}")
        entries = self.entries(weights)
        expect(len(entries) == count and all(name.endswith(".packed") for name in entries),
               f"{what}: then {entries} in the cache")

    def work(self):
        folder = os.path.join(self.scratch, "work")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        return folder


def unless_ended(process, condition, what):
    """Waits until the condition holds; False when the process ends before."""
    while not condition():
        if process.poll() is not None:
            return False
    return True


def handles(process, number):
    """Whether the process has said what is to happen on a signal. (A thread of
    its own may be waiting for it: then it is blocked in the main one.)"""
    try:
        with open(f"/proc/{process.pid}/status") as file:
            status = file.read()
    except OSError:
        return False
    mask = 1 << (number - 1)
    return any(int(re.search(rf"{name}:\s*(\w+)", status)[1], 16) & mask for name in ("SigCgt", "SigBlk"))


def interrupt(command, work, number, moment, twice=False):
    """Sends a signal at a moment: seconds, or a condition. Returns whether it
    came before the end. What is left is complete."""
    process = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    unless_ended(process, lambda: handles(process, number), command)
    if callable(moment):
        unless_ended(process, moment, command)
    else:
        time.sleep(moment)
    for _ in range(2 if twice else 1):
        process.send_signal(number)
    said = process.communicate(timeout=300)[1]
    what = f"{' '.join(command[:2])}, {number.name} at {moment}: status {process.returncode}, {said!r}"
    expect((process.returncode, said) in ((0, ""), (1, "error: interrupted\n")), what)
    left = os.listdir(work)
    # It may come between the last rename and the end.
    expect(set(left) <= {"out", "dump", "trace"}, f"{what}, left {left}")
    if "dump" in left:
        dumped = os.listdir(os.path.join(work, "dump"))
        with open(os.path.join(work, "dump", "index.json")) as file:
            values = [value["file"] for value in json.load(file)["values"]]
        expect(sorted(dumped) == sorted(values + ["index.json"]), f"{what}, left half a dump")
    return process.returncode == 1


def temporary_below(folder):
    return lambda: any(name.endswith(".temporary") for _, _, files in os.walk(folder) for name in files)


def interrupts(fixture):
    """Every command, from its first moment to its last."""
    common = ["--weights", fixture.weights, "--quiet"]
    long_text = ["--tokens", ",".join(str(i % 250) for i in range(700))]
    commands = {
        "generate": [fixture.program, "generate", *common, *TOKENS, "--max-new-tokens", "900", "--trace", "trace"],
        "logits": [fixture.program, "logits", *common, *long_text, "--out", "out", "--dump", "dump"],
        "bench": [fixture.program, "bench", *common, "--prefill", "64", "--decode", "64", "--repeat", "1",
                  "--trace", "trace"],
    }
    for name, command in commands.items():
        for cached in (False, True):
            interrupted = 0
            work = fixture.work()
            moments = [0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8]
            # A file that is there for a moment is there to be left.
            moments.append(temporary_below(work if cached else fixture.store))
            for index, moment in enumerate(moments):
                if not cached:
                    fixture.empty_store()
                work = fixture.work()
                interrupted += interrupt(command, work, SIGNALS[index % 3], moment, twice=index % 2 == 1)
                temporary = [entry for entry in fixture.entries() if not entry.endswith(".packed")]
                expect(not temporary, f"{name}, interrupted at {moment}: left {temporary}")
            expect(interrupted > 1, f"{name} was interrupted {interrupted} times only")
            fixture.expect_sound(f"{name}, interrupted")

    # Nobody reads what is generated: the program waits, and still ends.
    process = subprocess.Popen([fixture.program, "generate", *common, *TOKENS, "--max-new-tokens", "2000"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096)
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    status = process.wait()
    process.stdout.close()
    expect((status, said) == (1, "error: interrupted\n"), f"nobody reads: status {status}, {said!r}")


def linkers(folder):
    """Processes that link something in the folder."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = read(f"/proc/{process}/cmdline")
        except OSError:
            continue
        if folder in command and "ld.lld" in command:
            found.append(process)
    return found


def compiler(fixture):
    """Signals to batonc, its linker running or not, and kills."""
    for stage, moments in (("exe", [0, 0.1, 0.5, 1]), ("llvm", [0, 0.1])):
        command = [fixture.batonc, fixture.weights, "-o", "out", f"--emit={stage}", "--quiet"]
        interrupted = 0
        work = fixture.work()
        for index, moment in enumerate([*moments, lambda: os.listdir(work)]):
            interrupted += interrupt(command, fixture.work(), SIGNALS[index % 3], moment)
        expect(interrupted, f"batonc --emit={stage} was never interrupted")
    # While it links: the linker ends, too. It is fast, and may be done before the signal comes.
    for number in SIGNALS:
        for _ in range(20):
            work = fixture.work()
            if interrupt([fixture.batonc, fixture.weights, "-o", "out", "--quiet"], work, number,
                         lambda: linkers(work)):
                break
        else:
            expect(False, "the linker was never met")
        expect(not linkers(work), "the linker goes on")
        expect(not os.listdir(work), f"the linker left {os.listdir(work)}")
    work = fixture.work()
    process = subprocess.Popen([fixture.batonc, fixture.weights, "-o", "out"], cwd=work, stderr=subprocess.DEVNULL)
    unless_ended(process, lambda: os.listdir(work), "batonc")
    process.kill()
    process.wait()
    expect("out" not in os.listdir(work) or process.returncode == 0, "a killed compiler left its output")


def streams(fixture):
    """Standard streams that are closed or full."""
    def ends(what, command, status, said, redirect):
        work = fixture.work()
        result = subprocess.run(["bash", "-c", f'"$@" {redirect}', "-", *command], cwd=work, timeout=300,
                                capture_output=True, text=True, errors="replace")
        expect(result.returncode == status and re.fullmatch(said, result.stderr),
               f"{what} {redirect}: status {result.returncode}, {result.stderr!r}")
        return os.listdir(work)

    lost = r"error: standard output cannot be written: [\w ]+\n"
    commands = {
        "generate": fixture.generate("--quiet")[:-2] + ["--quiet"],
        "generate --json": fixture.generate("--quiet"),
        "info": [fixture.program, "info"],
        "help": [fixture.program, "generate", "--help"],
    }
    bench = [fixture.program, "bench", "--brief", "--prefill", "4", "--decode", "4", "--repeat", "1", "--quiet"]
    ends("bench", bench, 1, lost, ">&-")
    ends("bench", bench, 0, "", "2>&-")
    for cached in (False, True):
        for name, command in commands.items():
            for redirect in (">&-", "> /dev/full", "0<&- >&-"):
                # What is packed must not take the place of standard output.
                if not cached:
                    fixture.empty_store()
                ends(name, command, 1, lost, redirect)
        fixture.expect_sound("closed output")
    for name, command in commands.items():
        for redirect in ("2>&-", "2> /dev/full", "0<&- 2>&-"):
            fixture.empty_store()
            ends(name, command, 0, "", redirect)
            if name != "help":
                ends(name, [*command, "--frobnicate"], 1, "", redirect)
    fixture.empty_store()
    logits = [fixture.program, "logits", "--weights", fixture.weights, *TOKENS, "--out", "out.npy"]
    whole = os.path.join(fixture.scratch, "whole.npy")
    run(logits[:-1] + [whole])
    for redirect in ("", ">&-", "2>&-", "0<&- >&- 2>&-"):
        fixture.empty_store()
        expect(ends("logits", logits, 0, "", redirect) == ["out.npy"], f"logits {redirect}: other files")
        with open(whole, "rb") as expected, open(os.path.join(fixture.scratch, "work/out.npy"), "rb") as file:
            expect(file.read() == expected.read(), f"logits {redirect}: other logits")
        fixture.expect_sound(f"logits {redirect}")

    # What is opened later must not take the place of a stream that is closed.
    for closed in (1, 2):
        process = subprocess.Popen(["bash", "-c", f'exec "$@" {closed}>&-', "-", fixture.program, "bench", "--quiet"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def occupied():
            try:
                flags = int(re.search(r"flags:\s*(\d+)", read(f"/proc/{process.pid}/fdinfo/{closed}"))[1], 8)
                return (os.readlink(f"/proc/{process.pid}/fd/{closed}") == "/dev/null"
                        and flags & os.O_ACCMODE == os.O_RDONLY)
            except OSError:
                return False

        expect(unless_ended(process, occupied, "bench"), f"{closed}>&-: not occupied")
        process.kill()
        process.wait()

    # A reader that has enough.
    generate = [fixture.program, "generate", "--weights", fixture.weights, *TOKENS, "--max-new-tokens", "1500",
                "--quiet"]
    ends("generate", generate, 1, lost, "| head -c1; exit ${PIPESTATUS[0]}")
    for stage, redirect in (("event", ">&-"), ("event", "> /dev/full"), ("llvm", "| head -c1; exit ${PIPESTATUS[0]}")):
        ends("batonc", [fixture.batonc, fixture.weights, f"--emit={stage}"], 1,
             r"error: cannot write to standard output: [\w ]+\n", redirect)
    for redirect in ("2>&-", "2> /dev/full", "0<&- >&- 2>&-"):
        left = ends("batonc", [fixture.batonc, fixture.weights, "-o", "out"], 0, "", redirect)
        expect(left == ["out"], f"batonc {redirect}: {left}")
        expect(json.loads(run([os.path.join(fixture.scratch, "work/out"), "info", "--json"]).stdout),
               f"batonc {redirect}: the program does not run")
        ends("batonc", [fixture.batonc, "nowhere", "-o", "out"], 1, "", redirect)


def packing(fixture):
    """Many processes pack the same checkpoint; some are killed meanwhile."""
    for count in (2, 8):
        fixture.empty_store()
        processes = [subprocess.Popen(fixture.generate("--workers", "2"), stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) for _ in range(count)]
        for process in processes:
            answer, said = process.communicate(timeout=300)
            expect(process.returncode == 0 and "warning" not in said, f"{count} at once: {said!r}")
            expect(json.loads(answer)["tokens"] == fixture.expected, f"{count} at once: other tokens")
        fixture.expect_sound(f"{count} at once")

    killed = 0
    for moment in (0, 0.02, 0.05, 0.1, temporary_below(fixture.store)):
        fixture.empty_store()
        process = subprocess.Popen(fixture.generate(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if callable(moment):
            unless_ended(process, moment, "packing")
        else:
            time.sleep(moment)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        left = [name for name in fixture.entries() if not name.endswith(".packed")]
        fixture.expect_sound(f"killed at {moment}", 1 + len(left)) if not left else None
        # What is left is ignored, and gone once it is clear that nobody writes.
        for name in left:
            path = os.path.join(fixture.store, name)
            expect(fixture.tokens() == fixture.expected, f"killed at {moment}: then other tokens")
            os.utime(path, (1, 1))
        if left:
            for name in fixture.entries():
                if name.endswith(".packed"):
                    os.remove(os.path.join(fixture.store, name))
            fixture.expect_sound(f"killed at {moment}")
    expect(killed, "nobody was killed while packing")


class SmallDisk:
    """A disk that is too small: a file system of its own where that is allowed,
    otherwise a limit on the size of files."""

    def __init__(self, fixture, mebibytes):
        self.folder = os.path.join(fixture.scratch, "disk")
        self.bytes = mebibytes << 20
        os.makedirs(self.folder, exist_ok=True)
        mount = f"mount -t tmpfs -o size={mebibytes}m,mode=777 tmpfs {self.folder}"
        self.namespace = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--mount", "--map-root-user"]
        self.mount = mount
        self.real = subprocess.run([*self.namespace, "bash", "-c", mount], capture_output=True).returncode == 0

    def run(self, before, command, work):
        """Runs a command, after a line of shell, and lists what is in `work`."""
        script = f'{before}\n"$@"; status=$?; echo "left:" >&2; ls -A {work} >&2; exit $status'
        options = {}
        if self.real:
            script = self.mount + "\n" + script
            prefix = self.namespace
        else:
            prefix = []
            # The shell must survive it, as the program has to.
            options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (self.bytes, self.bytes))
        result = subprocess.run([*prefix, "bash", "-c", script, "-", *command], capture_output=True, text=True,
                                timeout=300, **options)
        said, _, left = result.stderr.rpartition("left:\n")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)
        return result.returncode, result.stdout, said, left.split()


def disk(fixture):
    small = SmallDisk(fixture, 4)
    print("a small file system" if small.real else "a limit on the size of files")
    folder = small.folder
    # The checkpoint lies elsewhere; only its cache is on the small disk.
    copy = f"mkdir -p {folder}/w && for f in {fixture.weights}/*; do ln -s $f {folder}/w; done"
    status, answer, said, left = small.run(copy, fixture.generate(weights=f"{folder}/w")[:-1] + ["--json"],
                                           f"{folder}/w/.baton")
    warnings = [line for line in said.splitlines() if "tokens/s" not in line]
    expect(status == 0 and json.loads(answer)["tokens"] == fixture.expected, f"full disk: {status}, {said}")
    expect(len(warnings) == 1 and re.match("warning: packed weights are not kept.*(space|large)", warnings[0]),
           f"full disk: {warnings}")
    expect(not left, f"full disk: left {left}")

    tokens = ["--tokens", ",".join(["7"] * 2000)]
    logits = [fixture.program, "logits", "--weights", fixture.weights, "--quiet", *tokens, "--out", f"{folder}/out"]
    for flags in ([], ["--dump", f"{folder}/dump"], ["--trace", f"{folder}/trace"]):
        if not flags:
            before = f"head -c {small.bytes - (1 << 20)} /dev/zero > {folder}/filler" if small.real else ":"
            if not small.real:
                continue  # 2 MB of logits are within the limit
        else:
            before = ":"
        status, _, said, left = small.run(before, logits + flags, folder)
        expect(status == 1 and re.fullmatch(r"error: \S+: cannot be written: [\w ]+\n", said),
               f"full disk, logits {flags}: {status}, {said}")
        expect(left in ([], ["filler"]), f"full disk, logits {flags}: left {left}")

    tiny = SmallDisk(fixture, 1)
    for stage in ("exe", "llvm"):
        before = f"head -c {tiny.bytes - (64 << 10)} /dev/zero > {folder}/filler" if tiny.real else ":"
        status, _, said, left = tiny.run(before, [fixture.batonc, fixture.weights, "-o", f"{folder}/out",
                                                 f"--emit={stage}"], folder)
        if stage == "llvm" and not tiny.real:
            continue  # short enough for the limit
        expect(status == 1 and re.fullmatch("error: .*\n", said), f"full disk, batonc: {status}, {said}")
        expect(left in ([], ["filler"]), f"full disk, batonc: left {left}")


def changed(fixture):
    """A checkpoint that is another one, though its size is the same."""
    weights = os.path.join(fixture.scratch, "changed")
    shutil.copytree(fixture.weights, weights, ignore=shutil.ignore_patterns(".baton"))
    path = os.path.join(weights, "model.safetensors")
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))

    def answer():
        cached = fixture.tokens(weights=weights)
        expect(cached == fixture.tokens("--no-cache", weights=weights), "the cache holds other weights")
        return cached

    def negate(name):
        begin, end = header[name]["data_offsets"]
        with open(path, "r+b") as file:
            file.seek(8 + size + begin)
            data = bytearray(file.read(end - begin))
            data[3::4] = bytes(byte ^ 0x80 for byte in data[3::4])
            file.seek(8 + size + begin)
            file.write(data)

    answers = [answer()]
    expect(answers[0] == fixture.expected, "a copy gives other tokens")
    times = os.stat(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**9))
    expect(answer() == answers[0], "another time gives other tokens")
    expect(len(fixture.entries(weights)) == 2, f"another time: {fixture.entries(weights)}")
    negate("lm_head.weight")
    answers.append(answer())
    expect(answers[1] != answers[0], "other weights give the same tokens")
    # Another file in its place, whose time of modification is the old one's.
    times = os.stat(path)
    shutil.copy(path, path + ".new")
    os.replace(path + ".new", path)
    negate("model.layers.1.mlp.up_proj.weight")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    answers.append(answer())
    expect(answers[2] not in answers[:2], "a replaced file gives the same tokens")

    # Cut short while it is mapped. Embeddings are read where they lie.
    process = subprocess.Popen([fixture.program, "generate", "--weights", weights, *TOKENS, "--max-new-tokens",
                                "2000", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace")
    process.stdout.read(1)
    os.truncate(path, 8 + size)
    said = process.communicate(timeout=300)[1]
    expect(process.returncode == 1 and re.fullmatch("error: a file was cut short.*\n", said),
           f"cut short: status {process.returncode}, {said!r}")


def read_only(fixture):
    """A checkpoint that may be read and not written to."""
    weights = os.path.join(fixture.scratch, "read-only")
    shutil.copytree(fixture.weights, weights, ignore=shutil.ignore_patterns(".baton"))
    os.chmod(weights, 0o555)
    # Nothing is forbidden to root.
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    command = [*user, *fixture.generate(weights=weights)]
    for _ in range(2):
        result = run(command)
        warnings = [line for line in result.stderr.splitlines() if "tokens/s" not in line]
        expect(json.loads(result.stdout)["tokens"] == fixture.expected, "read-only: other tokens")
        expect(len(warnings) == 1 and warnings[0].startswith("warning: packed weights are not kept"),
               f"read-only: {warnings}")
        expect(not fixture.entries(weights), "read-only: written to")
    expect(run(command + ["--no-cache"]).stderr.count("warning") == 0, "read-only, --no-cache: a warning")
    os.chmod(weights, 0o755)
    # What is packed already is used.
    fixture.tokens(weights=weights)
    for path in (weights, os.path.join(weights, ".baton")):
        os.chmod(path, 0o555)
    result = run(command)
    expect("warning" not in result.stderr and json.loads(result.stdout)["tokens"] == fixture.expected,
           f"read-only, packed: {result.stderr}")
    os.chmod(weights, 0o755)


def main():
    groups = {group.__name__: group for group in
              (interrupts, compiler, streams, packing, disk, changed, read_only)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("groups", nargs="*", choices=[*groups, []])
    arguments = parser.parse_args()

    def test(scratch):
        fixture = Fixture(arguments, scratch)
        for name in arguments.groups or groups:
            start = time.monotonic()
            groups[name](fixture)
            print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)

    programs.main(test, own_cache=True)


if __name__ == "__main__":
    main()

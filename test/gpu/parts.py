"""What run.py runs: parts, by name, each of which gives a dictionary of results.

Correctness: `bodies/...`, `correct/...`, `ranks/...` (rank_parts.py), `sanitizer/...`. Speed: `floors/WHAT/ROUND`,
`prefill/SHAPE/TOKENS/ROUND/ENGINE`, `operators/SHAPE/TOKENS/ROUND` (a prompt's time by what
it is spent on), `decode/SHAPE/CONTEXT/ROUND/ENGINE` and
`train/SHAPE/BATCHxSEQ/ROUND/ENGINE` (training_parts.py); engines
follow one another within a round, in another order each time, so that what changes
with time changes for all. Every result has a "verdict": "right", "skipped: ...", or
begins with "WRONG".
"""

import array
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import rank_parts
import training_parts

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXTS = (128, 1024, 8192, 32768)
PROMPTS = (512, 2048)
DECODED = 64
# Of the largest logit, as in test/golden/check.py.
TOLERANCE = 2e-4
# Of prompts with BF16 weights: tensor cores round activations to BF16.
ROUNDED_TOLERANCE = 5e-2
NOTHING = "skipped: a dry run, nothing was measured"
TORCH_CASES = ("llama-gqa", "llama3-rope", "qwen3-norms")
TORCH_FORMS = ("compile", "graph")
# Small ones: a sanitizer is slow. Their families cover norms, rotary embedding,
# grouped queries and the ring of BF16 weights.
SANITIZED = ("gpt2-bf16", "llama3-rope", "qwen3-norms")


class PartError(Exception):
    """Why a part gives no result, in one line."""


class Kit:
    """What pack.py has packed, unpacked in `work`, and what is left of the time."""

    def __init__(self, work, about, deadline):
        self.work, self.about, self.deadline = work, about, deadline
        self.dry = about["target"] == "cuda:emulated"

    def path(self, *names):
        return os.path.join(self.work, *names)

    def run(self, *words, check=True, environment=None):
        """A command's result; its process and all of its children end in time."""
        words = [str(word) for word in words]
        left = max(1.0, self.deadline - time.monotonic())
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True,
                                   env={**os.environ, **(environment or {})})
        try:
            out, err = process.communicate(timeout=left)
        except BaseException as reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(reason, subprocess.TimeoutExpired):
                raise PartError(f"{os.path.basename(words[0])} {words[1]}: not done in the "
                                f"{left:.0f} s that were left") from None
            raise
        if check and process.returncode:
            text = err.strip() or out.strip()
            raise PartError(f"{os.path.basename(words[0])} {words[1]}: status {process.returncode}: "
                            f"{text[-500:]}")
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def json(self, *words, **options):
        """The object that a command prints last. A wrong result has status 1."""
        result = self.run(*words, check=False, **options)
        try:
            return json.loads(result.stdout.strip().splitlines()[-1])
        except (ValueError, IndexError):
            text = (result.stderr.strip() or result.stdout.strip() or "no output").splitlines()[-1]
            raise PartError(f"{os.path.basename(str(words[0]))} {words[1]}: status "
                            f"{result.returncode}: {text[-500:]}") from None

    def script(self, name, *words):
        return self.json(sys.executable, os.path.join(HERE, name), *words)


# Correctness -----------------------------------------------------------------

def numbers(path):
    """The F32 numbers of a .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    values = array.array("f")
    values.frombytes(data[data.index(b"\n") + 1:])
    return values


def difference(one, other):
    """The largest difference, as a fraction of the largest number of `other`; NaN
    if anything is."""
    differences = [abs(a - b) for a, b in zip(one, other, strict=True)]
    # max() alone does not see every NaN; a sum does.
    return max(differences) / max(map(abs, other)) + 0 * sum(differences)


def cublaslt_file():
    """That of PyTorch's packages, where no toolkit is installed."""
    for folder in sys.path:
        for version in (13, 12):
            for place in ("cublas", f"cu{version}"):
                file = os.path.join(folder, "nvidia", place, "lib", f"libcublasLt.so.{version}")
                if os.path.exists(file):
                    return file
    return None


def without_cublaslt(kit, *command):
    """A verdict where a program has no cuBLASLt to run with."""
    if "BATON_CUBLASLT" not in os.environ and (file := cublaslt_file()):
        os.environ["BATON_CUBLASLT"] = file
    result = kit.run(*command, check=False)
    line = result.stderr.strip()
    absent = "cuBLASLt was not found" in line or (kit.dry and "does not start on the emulated device" in line)
    return {"verdict": f"skipped: {line.removeprefix('error: ')}"} if result.returncode and absent else None


def correct(kit, name, variant):
    """A golden checkpoint's program against the reference, the CPU's program, and
    itself."""
    folder, checkpoint = kit.path("cases", name), kit.path("cases", name, "checkpoint")
    with open(os.path.join(checkpoint, "golden.json")) as file:
        case = json.load(file)
    # Emulation is slow.
    length, count = (24, 8) if kit.dry else (len(case["tokens"]), len(case["greedy"]["new_tokens"]))
    tokens, out = ",".join(map(str, case["tokens"][:length])), kit.path("logits.npy")
    program = os.path.join(folder, variant)

    def logits(*flags, program=program):
        kit.run(program, "logits", "--weights", checkpoint, "--tokens", tokens, "--out", out,
                "--no-cache", "--quiet", *flags)
        return numbers(out)

    if variant == "cublaslt" and (missing := without_cublaslt(kit, program, "logits", "--weights", checkpoint,
                                                              "--tokens", tokens, "--out", out, "--no-cache",
                                                              "--quiet")):
        return missing
    golden, host = (numbers(file) for file in (os.path.join(checkpoint, "logits.npy"),
                                               os.path.join(folder, "host.npy")))
    golden, host = (values[:len(values) // len(case["tokens"]) * length] for values in (golden, host))
    whole, decoded = logits(), logits("--prefill-chunk", 1)
    rounded = (variant != "invariant"
               and kit.json(program, "info", "--json")["model"]["dtype"] == "bf16")
    greedy = case["greedy"]
    # A rounded prompt may choose another of two close tokens.
    answer = kit.json(program, "generate", "--weights", checkpoint, "--tokens",
                      ",".join(map(str, greedy["prompt"])), "--max-new-tokens", count, "--json", "--no-cache", "--quiet",
                      *(["--prefill-chunk", 1] if rounded else []))
    small = {"difference_from_golden": (difference(whole, golden),
                                        ROUNDED_TOLERANCE if rounded else TOLERANCE),
             "difference_from_golden_decoded": (difference(decoded, golden),
                                                ROUNDED_TOLERANCE if rounded and variant == "batch" else TOLERANCE)}
    true = {"greedy_tokens": answer["tokens"] == greedy["new_tokens"][:count],
            "repeats": logits("--prefill-chunk", 1) == decoded,
            "same_with_3_workers": logits("--prefill-chunk", 1, "--workers", 3) == decoded}
    result = {"difference_from_host": difference(whole, host), "is_host_bit_for_bit": whole == host}
    if variant == "graph":
        persistent = os.path.join(folder, "baton")
        true["is_persistent_bit_for_bit"] = (logits(program=persistent) == whole and
                                             logits("--prefill-chunk", 1, program=persistent) == decoded)
    if variant == "cublaslt":
        own = os.path.join(folder, "baton")
        true["repeats_in_one_chunk"] = logits() == whole
        true["same_in_one_chunk_with_3_workers"] = logits("--workers", 3) == whole
        true["decodes_as_without"] = logits("--prefill-chunk", 1, program=own) == decoded
        result["difference_from_own_bodies"] = difference(whole, logits(program=own))
    if variant == "invariant":
        true["same_in_chunks_of_7"] = logits("--prefill-chunk", 7) == whole
        # Sine and cosine are each platform's own.
        if kit.about["cases"][name]["model_type"] == "gpt2":
            true["is_host_bit_for_bit"] = whole == host
    if variant == "batch":
        true["same_in_chunks_of_16"] = logits("--prefill-chunk", 16) == decoded
        # By warpgroups, whose sums may have an order of their own.
        result["same_in_chunks_of_64"] = logits("--prefill-chunk", 64) == decoded
    wrong = [key for key, (value, bound) in small.items() if not value <= bound]
    small = {key: value for key, (value, _) in small.items()}
    wrong += [key for key, value in true.items() if not value]
    return result | small | true | {"verdict": "WRONG: " + ", ".join(wrong) if wrong else "right"}


def bodies(kit, test, gtest_filter):
    """The task library's tests, with their bodies on the GPU. Shapes of which the cubin
    has no kernel are skipped, and not counted as passed."""
    place = "copies" if kit.dry else kit.path(f"CompiledBodies-{kit.about['target'][5:]}.cubin")
    environment = {"BATON_TEST_BODIES": place}
    if kit.dry:
        # Emulated attention takes a minute, and the rest is tested without scripts.
        gtest_filter += ("" if "-" in gtest_filter else "-") + ":Attention.*:*baton_task_attention"
        environment |= {"GTEST_TOTAL_SHARDS": "8", "GTEST_SHARD_INDEX": "0"}
    result = kit.run(kit.path(test), f"--gtest_filter={gtest_filter}", "--gtest_brief=1",
                     check=False, environment=environment)
    passed = re.search(r"\[  PASSED  \] (\d+) test", result.stdout)
    failed = re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", result.stdout, re.MULTILINE)
    broken = re.search('C\\+\\+ exception with description "(.*?)"', result.stdout)
    if broken:  # the GPU or the driver, not a number
        raise PartError(f"{test}: {broken[1]}")
    if not passed and not failed:
        raise PartError(f"{test}: status {result.returncode}: "
                        f"{(result.stderr or result.stdout).strip()[-500:]}")
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", result.stdout)
    count = int(passed[1]) if passed else 0
    right = result.returncode == 0 and count > 0
    return {"passed": count, "skipped": int(skipped[1]) if skipped else 0, "failed": failed,
            "where": os.path.basename(place),
            "first_failure": "" if right else result.stdout.strip()[:1000],
            "verdict": "right" if right else "WRONG: " + (", ".join(failed[:8]) or "nothing ran")}


def has_torch():
    return importlib.util.find_spec("torch") is not None


def torch_correct(kit, name, dtype):
    if not has_torch():
        return {"verdict": "skipped: torch cannot be imported"}
    return kit.script("torch_baseline.py", "check", kit.path("cases", name, "checkpoint"),
                      "--dtype", dtype, "--device", "cpu" if kit.dry else "cuda")


def sanitizer_path():
    toolkit = "/usr/local/cuda/bin/compute-sanitizer"
    return shutil.which("compute-sanitizer") or (toolkit if os.access(toolkit, os.X_OK) else None)


def sanitized(kit, tool, *command, environment=None):
    """A command under compute-sanitizer."""
    sanitizer = sanitizer_path()
    if not sanitizer:
        return {"verdict": "skipped: compute-sanitizer is not on the PATH"}
    result = kit.run(sanitizer, "--tool", tool, "--error-exitcode", 99, *command, check=False,
                     environment=environment)
    text = result.stdout + result.stderr
    lines = [line for line in text.splitlines() if line.startswith("=========")]
    # Where the sanitizer cannot work it says so and finds nothing.
    if not any("SUMMARY" in line for line in lines):
        raise PartError(f"compute-sanitizer: status {result.returncode}: {text.strip()[-500:]}")
    right = result.returncode == 0
    return {"tool": tool, "summary": lines[-1].strip("= "), "findings": [] if right else lines[:40],
            "verdict": "right" if right else f"WRONG: {lines[-1].strip('= ')}"}


def sanitized_case(kit, tool, name):
    checkpoint = kit.path("cases", name, "checkpoint")
    return sanitized(kit, tool, kit.path("cases", name, "baton"), "generate", "--weights", checkpoint,
                     "--tokens", "1,2,3,4,5", "--max-new-tokens", 3, "--workers", 4, "--no-cache",
                     "--quiet")


def sanitized_bodies(kit, tool, gtest_filter):
    place = "copies" if kit.dry else kit.path(f"CompiledBodies-{kit.about['target'][5:]}.cubin")
    return sanitized(kit, tool, kit.path("CudaLibraryOracleTest"), f"--gtest_filter={gtest_filter}",
                     environment={"BATON_TEST_BODIES": place})


# Speed -----------------------------------------------------------------------

def floor(kit, what):
    if kit.dry:
        return {"verdict": NOTHING}
    if what == "matmul" and not has_torch():
        return {"verdict": "skipped: torch cannot be imported"}
    return kit.script("floors.py", *(["matmul"] if what == "matmul" else
                                     ["read", kit.path(f"stream_read-{kit.about['target'][5:]}.cubin")]))


def program_speed(kit, shape, variant, kind, size):
    """A program's own bench, on weights that it makes itself."""
    program = kit.path("shapes", shape, variant)
    costs = kit.json(program, "info", "--json")["costs"]
    if variant == "cublaslt" and (missing := without_cublaslt(
            kit, program, "bench", "--json", "--quiet", "--prefill", 8, "--decode", 1, "--repeat", 1)):
        return missing
    sizes = {"--prefill": size, "--decode": DECODED if kind == "decode" else 8,
             "--repeat": 1 if kind == "decode" else 4}
    if kit.dry:
        sizes = {"--prefill": 8, "--decode": 8, "--repeat": 1}
    result = kit.run(program, "bench", "--json", "--quiet",
                     *(word for pair in sizes.items() for word in pair))
    answer = json.loads(result.stdout)
    verdict = "right" if answer["verdict"].startswith("bit-identical") else "WRONG"
    if kit.dry:
        return {"verdict": verdict if verdict == "WRONG" else NOTHING}
    seconds = answer["decode_seconds" if kind == "decode" else "prefill_seconds"]
    return {"milliseconds": [second * 1e3 for second in seconds], "workers": answer["workers"],
            "program_says": answer["verdict"], "costs": costs, "verdict": verdict}


def operators(kit, shape, size):
    """Where the program's time goes in a prompt: seconds of its linears and of its
    attention."""
    program = kit.path("shapes", shape, "baton")
    costs = kit.json(program, "info", "--json")["costs"]
    answer = kit.json(program, "bench", "--json", "--quiet", "--profile", "--repeat", 1, "--decode", 1,
                      "--prefill", 8 if kit.dry else size)
    if not answer.get("verdict", "").startswith("bit-identical"):
        return {"verdict": "WRONG"}
    seconds = {kind: sum(phase["prefill_s"] for phase in answer["profile"] if phase["phase"] in names)
               for kind, names in kit.about["shapes"][shape]["kinds"].items()}
    missing = [kind for kind, value in seconds.items() if not value > 0]
    if missing:
        return {"verdict": f"WRONG: no time for {' and '.join(missing)}"}
    return {"verdict": NOTHING} if kit.dry else {"seconds": seconds, "costs": costs, "verdict": "right"}


def torch_speed(kit, shape, form, kind, size):
    if not has_torch():
        return {"verdict": "skipped: torch cannot be imported"}
    result = kit.script("torch_baseline.py", "bench", kit.path("shapes", shape, "config.json"),
                        "--context" if kind == "decode" else "--prefill", size, "--form", form,
                        *(["--dry-run"] if kit.dry else []))
    if kit.dry and result["verdict"] != "WRONG":
        return {"verdict": NOTHING}
    return result


def speed(kit, kind, shape, size, engine):
    if engine.startswith("torch-"):
        return torch_speed(kit, shape, engine.removeprefix("torch-"), kind, size)
    return program_speed(kit, shape, engine, kind, size)


def engines(about, shape, turn):
    """In the order of the `turn`th round."""
    names = about["shapes"][shape]["variants"] + [f"torch-{form}" for form in TORCH_FORMS]
    turn %= len(names)
    return names[turn:] + names[:turn]


def judges(about, shape, engine):
    """The correctness parts that have to be right before an engine's speed counts."""
    family = about["shapes"][shape]["model_type"]
    cases = [name for name, case in about["cases"].items() if case["model_type"] == family]
    if engine.startswith("torch-"):
        return [f"correct/torch/{name}/{dtype}" for name in TORCH_CASES if name in cases
                for dtype in ("float32", "bfloat16")]
    # cuBLASLt multiplies in BF16 only.
    if engine == "cublaslt":
        cases = [name for name in cases if engine in about["cases"][name]["variants"]] or cases
    return ["bodies/oracle", "bodies/twins"] + [f"correct/{name}/{engine}" for name in cases]


def parts(about, rounds):
    """(name, function of a Kit) in order."""
    yield "bodies/oracle", lambda kit: bodies(kit, "CudaLibraryOracleTest", "*")
    # Sine and cosine are each platform's own, so that these tables differ.
    yield "bodies/twins", lambda kit: bodies(
        kit, "CudaLibraryTest", "Library/*:MatrixAttention.*:SequenceMatrix.*:-*baton_task_rope_table:*rope_table_at")
    for name, case in about["cases"].items():
        for variant in case["variants"]:
            yield f"correct/{name}/{variant}", lambda kit, a=(name, variant): correct(kit, *a)
    for name in TORCH_CASES:
        for dtype in ("float32", "bfloat16"):
            if name in about["cases"]:
                yield (f"correct/torch/{name}/{dtype}",
                       lambda kit, a=(name, dtype): torch_correct(kit, *a))
    for name, case in about["cases"].items():
        if case.get("trained"):
            yield f"correct/train/{name}", lambda kit, name=name: training_parts.correct(kit, name)
    yield from rank_parts.parts(about)
    for tool in ("memcheck", "racecheck"):
        yield f"sanitizer/{tool}/bodies", lambda kit, tool=tool: sanitized_bodies(
            kit, tool, "*MatchesOracle*:Rope.*:Elementwise.*-*Layout*:*EveryLayout*")
        for name in SANITIZED:
            if name in about["cases"]:
                yield (f"sanitizer/{tool}/{name}",
                       lambda kit, a=(tool, name): sanitized_case(kit, *a))
    for turn in range(rounds):
        for what in ("read", "matmul"):
            yield f"floors/{what}/{turn + 1}", lambda kit, what=what: floor(kit, what)
        for shape in about["shapes"]:
            for kind, sizes in (("prefill", PROMPTS), ("decode", CONTEXTS)):
                for size in sizes:
                    for engine in engines(about, shape, turn):
                        # It decodes as without.
                        if kind == "decode" and engine == "cublaslt":
                            continue
                        yield (f"{kind}/{shape}/{size}/{turn + 1}/{engine}",
                               lambda kit, a=(kind, shape, size, engine): speed(kit, *a))
                    if kind == "prefill":
                        yield (f"operators/{shape}/{size}/{turn + 1}",
                               lambda kit, a=(shape, size): operators(kit, *a))
        for shape, trained in about["trained"].items():
            names = list(training_parts.PROGRAMS) + [f"torch-{numbers}" for numbers in training_parts.NUMBERS]
            for i in range(len(names)):
                engine = names[(i + turn) % len(names)]
                yield (f"train/{shape}/{trained['batch']}x{trained['seq']}/{turn + 1}/{engine}",
                       lambda kit, a=(shape, (trained["batch"], trained["seq"]), engine):
                       training_parts.speed(kit, *a, has_torch, NOTHING))

"""batonc tune: what it finds computes the default's bits; nothing is said of how fast
anything is.

- the schedule that it writes compiles, decides all, and has the default's logits;
- a candidate with other bits, one that is not proved, and one that changes nothing are
  told apart, and none of them is taken;
- a search that is interrupted leaves its journal only, and goes on;
- what it cannot measure, and schedules that leave something open elsewhere, are refused
  in one line.

Without --more: a search among right and wrong candidates, on one worker, and what `bench`
gives it.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import time

import programs
from explain import FIGURES, json_of
from programs import Program, expect, run
from schedules import END, HEADER, MODEL, PLAN, body

# Of the plan only: quick, and of the same bits.
PLANS = HEADER + PLAN + """    %ropes = transform.baton.match named "layers.self_attn.{q,k}_rope" in %plan
    %both = transform.baton.merge %ropes or not
    transform.baton.prefetch %both 0 optional
    %phases = transform.baton.match in %plan
    transform.baton.distribute %phases "by_work" or "cyclic" // Which one?
    transform.baton.events %phases "per_tile" or "per_phase"
""" + END

# The default, with two bodies beside the ops that they would replace.
def wrong(or_not):
    other = body("other").replace("%r = arith.mulf %s, %b : f32", "%r = arith.addf %s, %b : f32")
    return HEADER + other + body("narrow", columns=10) + MODEL + f"""    %softmaxes = transform.baton.match ["model.softmax"] in %program
    %fused = transform.baton.fuse %softmaxes or not
    %other = transform.baton.match ["model.activate", "model.mul"] named "layers.mlp.*" in %program
    %kept = transform.baton.replace %other with @other{or_not}
    %narrow = transform.baton.replace %kept with @narrow or not
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.tile %sums [16] or [4]
""" + END


class Tuner:
    def __init__(self, batonc, folder, path, workers):
        self.workers = f"{workers} worker" + "s" * (workers > 1)
        self.batonc, self.folder, self.path = os.path.abspath(batonc), os.path.abspath(folder), path
        usual = json_of(os.path.join(os.path.dirname(self.batonc), "../lib/baton/targets/cpu.json"))
        os.makedirs(path("work"))
        self.flags = [f"--target-file={self.write('cpu.json', json.dumps(usual | FIGURES))}", "--optimize=1",
                      "--prefill=24", "--decode=4", f"--workers={workers}", "--max-seq=64"]

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def command(self, *flags):
        """Of flags that are there twice, the last."""
        last = {flag.split("=")[0]: flag for flag in [*self.flags, *flags]}
        return [self.batonc, "tune", self.folder, "-o", self.path("work/fast.mlir"), *last.values()]

    def tune(self, *flags, check=True):
        return run(self.command(*flags), check=check)

    def left(self):
        return sorted(os.listdir(self.path("work")))


def check_result(tuner, usual, tokens, result):
    """What was written is a schedule like any other, with the default's bits."""
    with open(tuner.path("work/fast.mlir")) as file:
        text = file.read()
    comments = [line for line in text.splitlines() if line.startswith("// - ")]
    expect(re.match(r"// Found by batonc tune on \d{4}-\d\d-\d\d, on \d+ cores? of ", text)
           and any(f"for a prompt of 24 tokens and 4 decoded after it, on {tuner.workers}" in line for line in comments), text)
    expect(any(line.startswith("// - noise: the default beside itself ") for line in comments)
           and result["noise"]["rounds"] == 12, text)
    if result["speedup"]:
        expect(any(re.fullmatch(r"// - \d+\.\d{3} times as fast \(\d+\.\d{3} to \d+\.\d{3}, 12 rounds\) as the default, "
                                r"with 95 % confidence", line) for line in comments), text)
        speedup = result["speedup"]
        expect(speedup["low"] <= speedup["median"] <= speedup["high"] and speedup["rounds"] == 12
               and result["faster"] == (speedup["low"] > 1), f"{speedup}")
    else:
        expect(not result["faster"], f"{result}")
    program = Program(tuner.batonc, tuner.folder, tuner.path("found"), f"--schedule={tuner.path('work/fast.mlir')}",
                      "--max-seq=64")
    expect(program.logits(tokens, tuner.path("logits.npy"), "--workers", 3) == usual, "the best has other bits")
    return text


def check_plans(tuner, usual, tokens):
    """Decisions that keep bits: all of them run, unless the plan is the same."""
    schedule = tuner.write("plans.mlir", PLANS)
    done = tuner.tune(f"--schedule={schedule}", "--prune=1000", "--json")
    result = json.loads(done.stdout)
    expect([(each["decision"], each["line"], each["alternatives"]) for each in result["decisions"]] == [
        ("merge %ropes", 4, ["yes", "not"]), ("distribute %phases", 7, ['"by_work"', '"cyclic"']),
        ("events %phases", 8, ['"per_tile"', '"per_phase"'])], f"{result['decisions']}")
    first = result["candidates"][:3]
    expect([(each["decision"], each["alternative"]) for each in first]
           == [(0, "yes"), (1, '"cyclic"'), (2, '"per_phase"')] and result["complete"], f"{first}")
    for each in result["candidates"]:
        expect(each["verdict"] == "measured" and each["predicted_us"] > 0 and each["speedup"]["rounds"] in (6, 12, 18),
               f"{each}")
    expect(tuner.left() == ["fast.mlir"], f"left: {tuner.left()}")
    for line in ("3 decisions, for a prompt of 24 tokens and 4 decoded after it", "merge %ropes (line 4), so far not",
                 "3 measured, 0 pruned, 0 without effect, 0 refused"):
        # Where something was taken, a second pass measures more.
        expect(line in done.stderr or "is taken" in done.stderr, done.stderr)
    text = check_result(tuner, usual, tokens, result)
    if result["faster"]:
        expect(" or " not in text.split("\n}\n")[0].split("%ropes", 1)[1] and "// Which one?" in text, text)


def check_pruned(tuner):
    """Predictions: nothing may take longer than the best by a fraction that everything exceeds."""
    schedule = tuner.write("plans.mlir", PLANS)
    pruned = json.loads(tuner.tune(f"--schedule={schedule}", "--prune=1", "--json", "--quiet").stdout)
    verdicts = {each["verdict"] for each in pruned["candidates"]}
    expect("refused" not in verdicts and verdicts <= {"measured", "pruned", "same"}, f"{verdicts}")
    expect(all("times as long" in each["why"] for each in pruned["candidates"] if each["verdict"] == "pruned"),
           f"{pruned['candidates']}")


def check_wrong(tuner, usual, tokens):
    """Planted: a body that computes something else, one that is not proved, attention that sums
    in another order."""
    schedule = tuner.write("wrong.mlir", wrong(" or not"))
    done = tuner.tune(f"--schedule={schedule}", "--prune=1000", "--json")
    result = json.loads(done.stdout)
    chosen = {each["decision"]: each["chosen"] for each in result["decisions"]}
    expect((chosen["fuse %softmaxes"], chosen["replace %other"], chosen["replace %kept"]) == ("yes", "not", "not"),
           f"a wrong candidate is taken: {chosen}")
    names = [each["decision"] for each in result["decisions"]]
    verdicts = {(names[each["decision"]], each["alternative"]): (each["verdict"], each["why"])
                for each in result["candidates"]}
    bits = r"computes other bits than the default: \d+ of \d+ logits; the first is -?\d.* instead of -?\d.*, " \
           r"of token \d+ behind the prompt's token \d+"
    for decision, alternative, pattern in [
            ("fuse %softmaxes", "not", bits), ("replace %other", "yes", bits),
            ("replace %kept", "yes", r".*which no task\s*before it writes.*")]:
        verdict, why = verdicts[decision, alternative]
        expect(verdict == "refused" and re.fullmatch(pattern, why), f"{decision}: {verdict}, {why}")
        expect(f"{alternative}: refused: {why}" in done.stderr, done.stderr)
    expect(tuner.left() == ["fast.mlir"], f"left: {tuner.left()}")
    check_result(tuner, usual, tokens, result)
    os.remove(tuner.path("work/fast.mlir"))


def check_all_wrong(tuner):
    """Where all candidates are wrong there is nothing to begin with."""
    schedule = tuner.write("all-wrong.mlir", wrong(""))
    result = tuner.tune(f"--schedule={schedule}", check=False)
    expect(result.returncode == 1 and re.search(r"^error: .*all-wrong.mlir: the schedule that the search begins with "
                                                r"computes other bits than the default: .*; begin with alternatives that do as "
                                                r"the default does, or say 'or not'$", result.stderr, re.M)
           and not tuner.left(), f"{result}, {tuner.left()}")


def check_interruption(tuner):
    """The journal stays; a second run goes on, of the same search only."""
    schedule = tuner.write("plans.mlir", PLANS)
    flags = [f"--schedule={schedule}", "--prune=1000", "--rounds=10"]
    process = subprocess.Popen(tuner.command(*flags), stderr=subprocess.PIPE, text=True)
    journal = tuner.path("work/fast.mlir.tune")
    while not os.path.exists(journal) and process.poll() is None:
        time.sleep(.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    if process.returncode == 0:
        print("the search was over before it was interrupted")
        os.remove(tuner.path("work/fast.mlir"))
        return
    expect(process.returncode == 1 and "error: interrupted" in said and tuner.left() == ["fast.mlir.tune"],
           f"{said}, {tuner.left()}")
    races = len(json_of(journal)["races"])
    expect(races >= 1, "an empty journal")
    for other in (["--decode=5"], ["--rounds=11"], ["--batch-invariant", "--prune=2"]):
        result = tuner.tune(*flags, *other, check=False)
        expect(result.returncode == 1 and "fast.mlir.tune, in which a search is kept that was not finished, is of another "
               "model, schedule, machine, or workload; remove it, or name another -o" in result.stderr
               and tuner.left() == ["fast.mlir.tune"], f"{other}: {result}")
    done = tuner.tune(*flags, "--json")
    expect(f"going on after {races} comparison" in done.stderr and tuner.left() == ["fast.mlir"], done.stderr)
    result = json.loads(done.stdout)
    kept = {(each["decision"], each["alternative"]) for each in result["candidates"]}
    expect(result["complete"] and {(0, "yes"), (1, '"cyclic"'), (2, '"per_phase"')} <= kept, f"{result}")
    os.remove(tuner.path("work/fast.mlir"))


def check_derived(tuner, usual, tokens):
    """Without a schedule: alternatives for what the model has; out of time, what there is."""
    text = tuner.tune("--print").stdout
    for line in ("transform.baton.group %linears or not optional", "transform.baton.tile %wide [48, 64] or [48, 32] or ",
                 "transform.baton.tile %gated [48, 32] or ", "transform.baton.tile %attentions [16] or [8] or ",
                 'named "{layers.self_attn.q_rope,layers.self_attn.k_rope}" in %plan',
                 'transform.baton.distribute %linears "by_work" or "blocked" or "cyclic"'):
        expect(line in text, f"'{line}' is not in {text}")
    gpt2 = run([tuner.batonc, "tune", os.path.join(tuner.folder, "..", "gpt2-small"), "--print"]).stdout
    expect("%gated [48, 32] optional" in gpt2, "a model without gates gets alternatives for them")
    cuda = run([tuner.batonc, "tune", tuner.folder, "--print", "--target=cuda:sm_90a"]).stdout
    few = cuda[cuda.index("@few_rows_model"):]
    expect("%wide [1, 16] or " in few and "%attentions [1, 128] or " in few and "or not or" not in cuda, few)
    expect(not tuner.left(), f"--print leaves {tuner.left()}")
    weights = shutil.copytree(tuner.folder, tuner.path("weights"), ignore=shutil.ignore_patterns(".baton"))
    done = tuner.tune("--minutes=.02", "--json", f"--weights={weights}", "--no-cache")
    result = json.loads(done.stdout)
    expect(not result["complete"] and "the time was over before all decisions were looked at" in done.stderr, f"{result}")
    check_result(tuner, usual, tokens, result)
    expect(not os.path.exists(os.path.join(weights, ".baton")), "--no-cache packs weights")
    if "fast.mlir.tune" in tuner.left():
        expect("the same command goes on from" in done.stderr, done.stderr)


def check_refusals(tuner, scratch):
    def refuses(pattern, command):
        result = run(command, check=False, cwd=scratch)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and re.match("error: " + pattern, lines[0])
               and result.stdout == "", f"{command}: expected /{pattern}/, got {result}")

    schedule = tuner.write("plans.mlir", PLANS)
    tune = lambda *flags: [tuner.batonc, "tune", tuner.folder, *flags]
    output = ["-o", tuner.path("none.mlir"), *tuner.flags]
    prompt = [flag for flag in output if not flag.startswith("--prefill")]
    refuses("-o is missing", tune())
    refuses("output .* is a folder", tune("-o", "."))
    refuses("tune: --target=cuda:emulated: times of the emulation say nothing about a GPU",
            tune("-o", "x.mlir", "--target=cuda:emulated"))
    refuses("--mode=train: tune measures programs that decode", tune("-o", "x.mlir", "--mode=train"))
    refuses("--mesh: stages of a pipeline", tune("-o", "x.mlir", "--mesh=pp=2"))
    refuses("--sanitize=thread: times of programs that check themselves", tune("-o", "x.mlir", "--sanitize=thread"))
    refuses("--minutes 0 is out of range", tune(*output, "--minutes=0"))
    refuses("--rounds 0 is out of range", tune(*output, "--rounds=0"))
    refuses("--prune 0.5 is out of range", tune(*output, "--prune=.5"))
    refuses("--prefill 61 and --decode 4 do not fit into the program's 64 positions",
            tune(*prompt, "--prefill=61"))
    refuses("the default's program failed: error: .*nowhere", tune(*output, "--weights=nowhere"))
    refuses(".*did you mean --minutes", tune(*output, "--minute=5"))
    plan = tuner.path("plan.mlir")
    run([tuner.batonc, tuner.folder, "--emit=event", "-o", plan])
    refuses(".*plan.mlir: holds a plan, of which all is decided", [tuner.batonc, "tune", plan, "-o", "x.mlir"])
    decided = tuner.path("decided.mlir")
    run([tuner.batonc, tuner.folder, "--emit=schedule", "-o", decided])
    refuses(".*decided.mlir: leaves nothing open; alternatives are written with 'or'",
            tune(*output, f"--schedule={decided}"))
    bad = tuner.write("bad.mlir", PLANS.replace('"cyclic"', '"sideways"'))
    refuses(".*bad.mlir:7:5: .*'sideways' is no worker map", tune(*output, f"--schedule={bad}"))
    # Elsewhere nothing may be open.
    for command in ([tuner.batonc, tuner.folder, "-o", tuner.path("none")], [tuner.batonc, "explain", tuner.folder],
                    [tuner.batonc, "names", tuner.folder]):
        refuses(r".*plans.mlir:4:13: .*transform.baton.merge' op has alternatives \('or'\), among which only batonc "
                "tune chooses; keep one of them", [*command, f"--schedule={schedule}"])
    if not os.path.exists("/dev/nvidiactl"):
        refuses("tune: --target=cuda:sm_90a: measuring takes a machine with a GPU, and here the CUDA driver",
                tune("-o", "x.mlir", "--target=cuda:sm_90a"))
    expect(not [name for name in os.listdir(scratch) if name.startswith(("x.mlir", "none"))], "something is left")


def check_bench(program, path):
    """What it is measured by: times alone, and logits that are the program's."""
    texts = []
    for workers in (1, 3):
        result = json.loads(run([program.path, "bench", "--brief", "--json", "--quiet", "--repeat=1", "--prefill=5",
                                 "--decode=3", f"--workers={workers}", f"--logits={path('bench.npy')}"]).stdout)
        expect(result["read_bandwidth"] is None and result["decode_by_layers_tokens_per_s"] is None
               and len(result["decode_seconds"]) == 3 and result["verdict"].startswith("bit-identical"), f"{result}")
        with open(path("bench.npy"), "rb") as file:
            texts.append(file.read())
    expect(texts[0] == texts[1] and b"'shape': (4, 131" in texts[0], "the logits of bench")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    # Below ctest a script has one core, on which a second worker spins.
    tuner = Tuner(arguments.batonc, arguments.folder, path, 2 if arguments.more else 1)
    tokens = programs.golden(arguments.folder)["tokens"][:60]
    default = Program(arguments.batonc, tuner.folder, path("default"), "--max-seq=64")
    usual = default.logits(tokens, path("logits.npy"))
    if arguments.more:
        check_refusals(tuner, scratch)
        check_plans(tuner, usual, tokens)
        check_pruned(tuner)
        os.remove(path("work/fast.mlir"))
        check_all_wrong(tuner)
        check_interruption(tuner)
        check_derived(tuner, usual, tokens)
        return
    check_bench(default, path)
    check_wrong(tuner, usual, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("--more", action="store_true",
                        help="decisions of plans, predictions, interruptions, searches without a schedule, refusals")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()

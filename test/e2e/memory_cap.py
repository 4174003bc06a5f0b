"""Programs that obey a cap on memory: batonc --memory.

Losses and files are those of a program without a cap, bit for bit, on any number of workers,
whichever layers stay, with accumulation, validation and a run that goes on; what the process has
resident stays below the cap; what it foresees of its layers is the region's high-water mark to the
byte; and what batonc plan memory chooses is compiled and runs as foreseen. A cap that cannot hold
ends in one line.

Without --more: the tightest cap, one with a layer that stays, and what is refused.
"""

import argparse
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import programs
from programs import QUICK, expect, in_memory, run
from training import lines_of, write_tokens

LAYERS = 6
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 320, "intermediate_size": 1344, "num_hidden_layers": LAYERS,
    "num_attention_heads": 5, "num_key_value_heads": 5, "head_dim": 64, "vocab_size": 256,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}
MIB = 2**20
FILES = ("model.safetensors", "optimizer.safetensors")


def test(arguments, scratch):
    if in_memory(scratch):
        print(f"skipped: {scratch} is in memory, where files save none")
        sys.exit(77)
    path = lambda *names: os.path.join(scratch, *names)
    os.mkdir(path("model"))
    with open(path("model", "config.json"), "w") as file:
        json.dump(CONFIG, file)
    write_tokens(path("tokens.u16"), ((i * i + 3 * i) % 251 for i in range(900)))

    def compiled(program, *flags, model=None):
        return run([arguments.batonc, model or path("model"), "--mode=train", QUICK, "--quiet", "--dtype=f32", *flags,
                    "-o", path(program)])

    def command(out, steps, *more, program="capped"):
        usual = {"--batch": "1", "--workers": "2", "--validation-fraction": "0"}
        given = [word for flag, value in usual.items() if flag not in more for word in (flag, value)]
        return [path(program), "train", "--init-seed", "3", "--model", path("model"), "--data", path("tokens.u16"),
                *given, "--seq", "32", "--lr", "1e-3", "--lr-schedule", "constant", "--quiet", "--json",
                "--steps", str(steps), "--out", path(out), *more]

    def train(*given, **how):
        """The lines of its steps, what it says of its layers, and the most bytes that it had resident."""
        process = subprocess.Popen(command(*given, **how), stdout=subprocess.PIPE, text=True)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        expect(process.returncode == 0, f"status {process.returncode} of {given}")
        lines = [json.loads(line) for line in text.splitlines()]
        tiers = [line["tiers"] for line in lines if "tiers" in line]
        steps = [line for line in lines if "step" in line]
        print(f"{given[0]}: {32 / max(line['tokens_per_s'] for line in steps):.3f} s a step, "
              f"{usage.ru_maxrss / 1024:.1f} MiB")
        return (lines_of("\n".join(map(json.dumps, steps)), "tokens_per_s"), tiers[0] if tiers else None,
                usage.ru_maxrss * 1024)

    def dry_run(*more, program="capped"):
        return json.loads(run([path(program), "train", "--dry-run", "--json", "--batch", "1", "--seq", "32",
                               "--workers", "2", *more]).stdout)

    def same(one, other, step):
        # Piece by piece: what this process has in memory counts as what its children had.
        for name in FILES:
            expect(filecmp.cmp(path(one, f"step-{step}", name), path(other, f"step-{step}", name), shallow=False),
                   f"{other}: step {step} has another {name}")

    compiled("free")
    lines, _, whole = train("whole", 3, "--save-every", "2", program="free")

    # The tightest cap that holds is told by who is refused.
    compiled("capped", "--memory=1MiB")
    result = subprocess.run(command("refused", 1), capture_output=True, text=True)
    expect(result.returncode == 1 and result.stderr.count("\n") == 1 and
           "--memory: 1.00 MiB is too little for a step of 1 times 32 tokens" in result.stderr, str(result))
    print(result.stderr.strip())
    least = result.stderr.split("give at least ")[1].split(",")[0]
    cap = float(least.split()[0]) * MIB
    expect(least.endswith("MiB") and cap < 0.7 * whole, f"{least} is hardly less than {whole / MIB:.1f} MiB")

    tight, large = ["--memory", least.replace(" ", "")], ["--memory", "1GiB"]

    def check_tight():
        found, tiers, most = train("least", 3, "--save-every", "2", *tight)
        expect(found == lines, f"{found}, expected {lines}")
        same("whole", "least", 2)
        same("whole", "least", 3)
        expect(most <= cap, f"{most / MIB:.1f} MiB are resident under a cap of {least}")
        expect(tiers["persistent_layers"] == 0 and tiers["swapped_layers"] > 0, str(tiers))
        expect(tiers["fetched_bytes"] > 0, str(tiers))
        print(f"{most / MIB:.1f} MiB resident under a cap of {least}, {whole / MIB:.1f} without")
        foreseen = dry_run(*tight)
        expect(tiers["peak_bytes"] == tiers["layer_bytes"] == foreseen["tiers"]["layer_bytes"],
               f"{tiers}, foreseen {foreseen['tiers']}")
        expect(sorted(os.listdir(path("least"))) == sorted(os.listdir(path("whole"))), "a file is left")

    def check_layers(stay, swapped):
        flags = [*large, "--persistent-layers", str(stay), "--swapped-layers", str(swapped)]
        name = f"stay-{stay}-{swapped}"
        found, tiers, _ = train(name, 3, *flags, "--workers", str(1 + stay % 3))
        expect(found == lines, f"{name}: {found}, expected {lines}")
        same("whole", name, 3)
        expect(tiers["peak_bytes"] == tiers["layer_bytes"], f"{name}: {tiers}")
        expect(tiers["fetched_bytes"] > 0 or stay == LAYERS, f"{name}: {tiers}")
    def refused(message, *words):
        result = subprocess.run(words, capture_output=True, text=True)
        expect(result.returncode == 1 and result.stderr.count("\n") == 1 and message in result.stderr,
               f"{words}: {result}")
        print(result.stderr.strip())

    def check_refusals():
        refused("this program keeps all in memory; compile one that obeys a cap with batonc --memory=SIZE",
                *command("refused", 1, "--persistent-layers", "1", program="free"))
        refused("--state-memory: this program obeys a cap", *command("refused", 1, *large, "--state-memory", "64MiB"))
        refused("--persistent-layers 7: the program has 6 layers", *command("refused", 1, *large, "--persistent-layers", "7"))
        refused("is too little for 6 layers that stay", *command("refused", 1, *tight, "--persistent-layers", "6"))
        for message, *flags in (("--memory=6GiB is for --mode=train", "--memory=6GiB"),
                                ("expected a size such as 512MiB", "--mode=train", "--memory=much"),
                                ("is not built yet", "--mode=train", "--memory=6GiB", "--mesh=dp=2"),
                                ("has no tiers of memory", "--mode=train", "--memory=6GiB", "--target=cuda:emulated"),
                                ("--memory-slots is for --memory", "--mode=train", "--memory-slots=2"),
                                ("out of range, expected 1 to 64", "--mode=train", "--memory=6GiB", "--memory-slots=65")):
            refused(message, arguments.batonc, path("model"), *flags, "-o", path("none"))

    if not arguments.more:
        check_tight()
        check_layers(3, 2)
        plan = run([arguments.batonc, path("model"), "--mode=train", "--memory=1GiB", "--emit=event"]).stdout
        for name in ("layers.fetch", "layers.release"):
            expect(f'event.phase "{name}"' in plan, f"no phase {name}")
        check_refusals()
        return

    for stay, swapped in ((0, LAYERS), (2, LAYERS), (0, 3), (3, 2), (LAYERS, 0)):
        check_layers(stay, swapped)
    print("any layers may stay")

    # What else a run does.
    more = ["--accumulate", "2", "--validation-fraction", "0.2", "--validate-every", "2"]
    expected, _, _ = train("more-whole", 4, "--save-every", "2", *more, program="free")
    found, _, _ = train("more", 4, "--save-every", "2", *more, *tight)
    expect(found == expected, f"{found}, expected {expected}")
    same("more-whole", "more", 4)
    shutil.rmtree(path("more", "step-4"))
    found, _, _ = train("more", 4, "--resume", *more, *tight)
    expect(found == expected[2:], f"resumed: {found}, expected {expected[2:]}")
    same("more-whole", "more", 4)
    print("with accumulation and validation, and resumed")

    # A judge that shares no code with the proof.
    for flags in (["--memory-slots=1"], ["--memory-slots=3", "--recompute=full"]):
        compiled("judged", "--memory=1GiB", *flags)
        found, _, _ = train("judged-run", 1, program="judged")
        expect(found == lines[:1], f"{flags}: {found}, expected {lines[:1]}")
        shutil.rmtree(path("judged-run"))
        compiled("plan.json", "--memory=1GiB", *flags, "--emit=plan-json")
        run([os.path.join(os.path.dirname(arguments.batonc), "check-plan"), path("plan.json"), "--rows", "17",
             "--workers", "2"])

    # What batonc plan memory finds.
    planned = json.loads(run([arguments.batonc, "plan", "memory", path("model"), "--memory", least.replace(" ", ""),
                              "--batch", "1", "--seq", "32", "--workers", "2", "--dtype", "f32", "--offload-dir", scratch,
                              "--json", "-o", path("chosen.json"), "--html", path("chosen.html")]).stdout)
    best = planned["best"]
    with open(path("chosen.html")) as file:
        pictures = [ElementTree.fromstring(picture) for picture in re.findall(r"<svg.*?</svg>", file.read(), re.S)]
    moves = sum(element.tag.endswith("circle") for element in pictures[-1].iter())
    expect(len(pictures) == 3 and moves == 2 * best["layers"], f"{len(pictures)} pictures, {moves} layers that come")
    run([arguments.batonc, path("model"), QUICK, "--quiet", f"--plan={path('chosen.json')}", "-o", path("chosen")])
    flags = [f"{flag}={value}" for flag, value in best["train"].items() if flag not in ("--batch", "--seq", "--workers")]
    foreseen = dry_run(*flags, program="chosen")
    expect(foreseen["ranks"][0]["bytes"] == best["bytes"], f"{foreseen['ranks'][0]}, planned {best}")
    found, tiers, most = train("chosen-run", 3, *flags, program="chosen")
    expect(found == lines, f"the chosen plan: {found}, expected {lines}")
    expect(tiers["peak_bytes"] == best["layer_bytes"] and most <= cap, f"{tiers}, {most / MIB:.1f} MiB, planned {best}")
    print(f"planned: {best['seconds']:.3f} s a step, {best['bytes'] / MIB:.1f} MiB, {planned['plans']}")
    refused("--memory: 8.00 MiB is too little", arguments.batonc, "plan", "memory", path("model"), "--memory", "8MiB",
            "--batch", "1", "--seq", "32", "--offload-dir", scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true",
                        help="more layers that stay, what else a run does, batonc plan memory")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

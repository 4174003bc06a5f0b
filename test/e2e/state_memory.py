"""The optimizer's states, of which only a part is in memory.

A run with --state-memory prints the losses and saves the files of one without, bit for bit,
also when it goes on after a checkpoint, and on ranks; what the process has resident is less
by what the limit leaves out. A folder that cannot have the file ends in one line.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys

import programs
from programs import QUICK, expect, in_memory, run
from training import lines_of, read_bytes, write_tokens

# Wide, of few rows a step: states outweigh activations.
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 256,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}
MIB = 2**20
LIMIT = 16
FILES = ("model.safetensors", "optimizer.safetensors")


def test(arguments, scratch):
    if in_memory(scratch):
        print(f"skipped: {scratch} is in memory, where files save none")
        sys.exit(77)
    path = lambda *names: os.path.join(scratch, *names)
    for name, changes in (("model", {}), ("small", {"hidden_size": 128, "intermediate_size": 256, "head_dim": 32})):
        os.mkdir(path(name))
        with open(path(name, "config.json"), "w") as file:
            json.dump(CONFIG | changes, file)
    write_tokens(path("tokens.u16"), ((i * i + 3 * i) % 251 for i in range(600)))
    compiled = lambda program, model, *flags: run([arguments.batonc, path(model), "--mode=train", QUICK, "--quiet",
                                                   "--dtype=f32", *flags, "-o", path(program)])
    compiled("program", "model")

    def command(out, steps, *more, program="program", model="model"):
        return [path(program), "train", "--init-seed", "3", "--model", path(model), "--data", path("tokens.u16"),
                *(() if "--batch" in more else ("--batch", "1")), "--seq", "16", "--lr", "1e-3", "--lr-schedule", "constant", "--quiet",
                "--workers", "2", "--validation-fraction", "0", "--steps", str(steps), "--out", path(out), *more]

    def train(*given, **how):
        """The lines of its steps, and the most bytes that it had resident. Prints its shortest step."""
        process = subprocess.Popen(command(*given, **how), stdout=subprocess.PIPE, text=True)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        expect(process.returncode == 0, f"status {process.returncode} of {given}")
        fastest = max(json.loads(line).get("tokens_per_s", 0) for line in text.splitlines())
        print(f"{given[0]}: a step takes {16 / fastest:.3f} s")
        return lines_of(text, "tokens_per_s"), usage.ru_maxrss * 1024

    def same(one, other, step):
        for name in FILES:
            expect(read_bytes(path(one, f"step-{step}", name)) == read_bytes(path(other, f"step-{step}", name)),
                   f"{other}: step {step} has another {name}")

    states = json.loads(run([path("program"), "info", "--json"]).stdout)["training_memory"]["optimizer"]
    paged = ["--state-memory", f"{LIMIT}MiB"]
    lines, whole = train("whole", 4, "--save-every", "2")
    found, part = train("part", 4, "--save-every", "2", *paged)
    expect(found == lines, f"{found}, expected {lines}")
    same("whole", "part", 2)
    same("whole", "part", 4)
    expect(states > 8 * LIMIT * MIB, f"states of {states} bytes are too few")
    # What is not of the states is the same in both but for a little.
    most = whole - states + LIMIT * MIB + 4 * MIB
    expect(part <= most, f"{part / MIB:.1f} MiB are resident, of {whole / MIB:.1f} without a limit: "
           f"expected {most / MIB:.1f} at most, as states have {states / MIB:.1f}")
    print(f"states of {states / MIB:.1f} MiB within {LIMIT}: {part / MIB:.1f} MiB resident in place of {whole / MIB:.1f}")
    expect(sorted(os.listdir(path("part"))) == sorted(os.listdir(path("whole"))), "a file of states is left")

    # Goes on with a limit, or without one, and with a file elsewhere.
    os.mkdir(path("elsewhere"))
    for name, more in (("limited", paged), ("unlimited", []), ("elsewhere-run", [*paged, "--offload-dir", path("elsewhere")])):
        shutil.copytree(path("part"), path(name))
        shutil.rmtree(path(name, "step-4"))
        rest, _ = train(name, 4, "--resume", *more)
        expect(rest == lines[2:], f"{name}: {rest}, expected {lines[2:]}")
        same("whole", name, 4)
    print("a resumed run has the same bits")

    # The GPU's, of which the emulation has the host's: what is beyond the limit, all of it.
    compiled("device", "small", "--target=cuda:emulated")
    how = {"program": "device", "model": "small"}
    expected, _ = train("device-whole", 1, **how)
    for limit in ("0", "2MiB"):
        found, _ = train(f"device-{limit}", 1, "--state-memory", limit, **how)
        expect(found == expected, f"a device with {limit}: {found}, expected {expected}")
        same("device-whole", f"device-{limit}", 1)

    compiled("ranks", "small", "--mesh=dp=2", "--zero=1")
    how["program"] = "ranks"
    expected, _ = train("ranks-whole", 2, "--batch", "2", **how)
    found, _ = train("ranks-part", 2, "--batch", "2", *paged, **how)
    expect(found == expected, f"ranks: {found}, expected {expected}")
    same("ranks-whole", "ranks-part", 2)
    print("ranks that have parts of the states, too")

    def refused(message, *more, limit=None):
        result = subprocess.run(command("refused", 1, *more), capture_output=True, text=True,
                                preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
        expect(result.returncode == 1 and result.stderr.count("\n") == 1 and message in result.stderr,
               f"{more}: {result}")
        print(result.stderr.strip())

    refused("is too little for tiles of 2 workers; give at least 8.00 MiB", "--state-memory", "1MiB")
    refused("is not a size", "--state-memory", "much")
    refused("--offload-dir: is where states lie that --state-memory leaves out", "--offload-dir", path("elsewhere"))
    refused(f"in a file of folder '{path('nowhere')}': No such file or directory", *paged, "--offload-dir", path("nowhere"))
    if in_memory("/dev/shm"):
        refused("in a file of folder '/dev/shm': it is in memory", *paged, "--offload-dir", "/dev/shm")
    # As a disk that is full, before the first step.
    refused("in a file of folder", *paged, "--offload-dir", path("elsewhere"), limit=MIB)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

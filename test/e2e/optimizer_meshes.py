"""Small states, in blocks or of rows and columns, on meshes whose ranks have parts of matrices,
or layers.

A run goes on with a checkpoint of one rank's and comes to its states, as near as gradients
are; and one rank goes on with the mesh's. A part of a matrix that begins within a block is
refused in one line, which names the parameter, and so is any part by a rule with sums.
Blocks of another shape come from a file of one's own. With --few: one mesh with stages, and one
that cuts matrices.
"""

import argparse
import json
import os
import shutil

import programs
from programs import QUICK, expect, run
from training import lines_of, read_tensors, write_optimizer_weights, write_tokens

# Halves of heads, of feed-forward layers and of the vocabulary have whole blocks.
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 80, "intermediate_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 128,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}


def test(arguments, scratch):
    path = lambda *names: os.path.join(scratch, *names)
    for name, changes in (("model", {}), ("narrow", {"intermediate_size": 96})):
        os.mkdir(path(name))
        with open(path(name, "config.json"), "w") as file:
            json.dump(CONFIG | changes, file)
    write_tokens(path("tokens.u16"), ((i * i + 3 * i) % 127 for i in range(800)))

    def compiled(name, *flags, model="model", optimizer=arguments.optimizer, check=True):
        return run([arguments.batonc, path(model), "--mode=train", QUICK, "--quiet", "--dtype=f32",
                    f"--optimizer={optimizer}", *flags, "-o", path(name)], check=check)

    own = []
    if arguments.optimizer == "small_fc_lopt":
        own = ["--optimizer-weights", path("network.safetensors")]
        write_optimizer_weights(own[1])

    def train(program, out, steps, *flags):
        result = run([path(program), "train", *(flags or ("--init-seed", 3, "--model", path("model"))), "--data",
                      path("tokens.u16"), "--batch", 2, "--accumulate", 2, "--seq", 24, "--lr", 1e-3,
                      "--lr-schedule", "constant", "--quiet", "--validation-fraction", 0, "--steps", steps,
                      "--out", path(out), *own])
        return lines_of(result.stdout, "tokens_per_s")

    def states(out, step):
        return read_tensors(path(out, f"step-{step}", "optimizer.safetensors"), codes=True)

    compiled("one")
    lines = train("one", "one-run", 4)
    train("one", "begun", 2)
    wanted = states("one-run", 4)
    meshes = [("pp=2", "--microbatches=2"), ("dp=2,pp=2", "--microbatches=2", "--zero=3")]
    in_blocks = arguments.optimizer == "adamw_8bit"
    meshes += [("tp=2",), ("dp=2,tp=2", "--zero=1")] if in_blocks else [("dp=2", "--zero=1")]
    if arguments.few:
        meshes = [one for one in meshes if one[0] in ("dp=2,pp=2", "dp=2,tp=2")]
    for number, (mesh, *flags) in enumerate(meshes):
        compiled(f"mesh-{number}", f"--mesh={mesh}", *flags)
        shutil.copytree(path("begun"), path(f"run-{number}"))
        found = train(f"mesh-{number}", f"run-{number}", 3, "--resume")
        found += train("one", f"run-{number}", 4, "--resume")
        for mine, line in zip(found, lines[2:], strict=True):
            expect(abs(mine["loss"] / line["loss"] - 1) < 1e-4, f"{mesh}: {mine}, one rank has {line}")
        other = states(f"run-{number}", 4)
        expect({name: (kind, shape) for name, (kind, shape, _) in other.items()} ==
               {name: (kind, shape) for name, (kind, shape, _) in wanted.items()}, f"{mesh}: other states")
        codes = differ = 0
        for name, (kind, _, values) in wanted.items():
            if kind == "F32":
                # Of a mean of what has a sign, little may be left.
                least = 1e-5 * max(map(abs, values)) if "momentum" in name else 0
                far = [pair for pair in zip(other[name][2], values, strict=True)
                       if not abs(pair[0] - pair[1]) <= 1e-3 * abs(pair[1]) + least]
                expect(not far, f"{mesh}: {name} has others than expected: {far[:4]}")
                continue
            far = [abs(a - b) for a, b in zip(other[name][2], values, strict=True)]
            expect(max(far) <= 1, f"{mesh}: a code of {name} is off by {max(far)}")
            codes, differ = codes + len(far), differ + sum(far)
        # Those of which a sum's order decides.
        expect((codes > 0) == in_blocks and differ <= codes / 100, f"{mesh}: {differ} of {codes} codes are others")
        print(f"{mesh}: goes on with one rank's states and gives them back; {differ} of {codes} codes are others")

    if not in_blocks:
        result = compiled("refused", "--mesh=tp=2", check=False)
        expect(result.returncode == 1 and result.stderr.count("error:") == 1 and "cannot be tiled for embed_tokens.weight: "
               "it is of the whole parameter, of which each rank of" in result.stderr, f"refused: {result}")
        return print(result.stderr.strip())

    # A block for each row, of 64 columns, and for 64 elements of a vector.
    with open(os.path.join(arguments.optimizers, "adamw_8bit.mlir")) as file:
        text = file.read().replace("blocks [32, 32]", "blocks [1, 64]")
    with open(path("own.mlir"), "w") as file:
        file.write(text)
    compiled("rows", optimizer=path("own.mlir"))
    found = train("rows", "rows-run", 4)
    for mine, line in zip(found, lines, strict=True):
        expect(abs(mine["loss"] / line["loss"] - 1) < 1e-2, f"blocks of rows: {mine}, others have {line}")
    saved = {name: shape for name, (_, shape, _) in states("rows-run", 4).items()}
    for name, (rows, columns) in saved.items():
        if not name.endswith(".scale"):
            expect(saved[f"{name}.scale"] == [rows, -(-columns // 64)],
                   f"blocks of rows: {name} has scales {saved[f'{name}.scale']}")
    print("blocks of rows: a scale for each 64 columns")

    result = compiled("refused", "--mesh=tp=2", model="narrow", check=False)
    expect(result.returncode == 1 and result.stderr.count("error:") == 1 and
           "have parts of 96 rows that begin at multiples of 48, and @adamw_8bit keeps states in blocks of 32; "
           "give the parameter another rule by an update.group, or use another mesh" in result.stderr and
           "_proj.weight" in result.stderr, f"refused: {result}")
    print(result.stderr.strip())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("optimizer", choices=("adamw_8bit", "adafactor", "small_fc_lopt"))
    parser.add_argument("optimizers", help="the folder of those that come with batonc")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

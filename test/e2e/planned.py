"""A model as batonc plan shard places it, on several ranks, against one rank.

What plan shard writes is compiled with the mesh that it was planned for. Decoded tokens
are one rank's, and logits near them; a training step has one rank's losses and gradients
to 1e-5. Bytes that ranks exchange within a step are the predicted ones exactly. What
cannot be planned is refused in one line that names what binds.
"""

import argparse
import json
import math
import os
import re
import struct

import programs
from data_parallel import LENGTH, Trainer, compare
from programs import QUICK, expect, run
from training import read_bytes, write_tokens

PROMPT = [5, 99, 1, 42, 42, 7, 64, 3, 18, 77, 2, 11]
SEQUENCES, STEPS = 4, 2
# Of a machine with slow products beside its links, where small models are worth cutting.
DEVICE = {
    "name": "slow products", "source": "a test", "uncertainty": 0.1, "memory_gb": 1,
    "memory_gb_per_s": 1000, "stream_fraction": 1, "dropout_fraction": 1, "matmul_tflops": 0.001,
    "matmul_fraction": 1, "attention_fraction": 1, "multiprocessors": 1, "kernel_us": 1,
    "devices_per_node": 8, "link_gb_per_s": 10, "link_us": 1, "network_gb_per_s": 10, "network_us": 1,
}


def logits(path):
    data = read_bytes(path)
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def ranks_of(mesh):
    return math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))


class PlannedTrainer(Trainer):
    """Trains the folder's weights with a program that is made of a file."""

    def __init__(self, arguments, scratch, name, model, *flags):
        self.arguments, self.scratch, self.name, self.runs = arguments, scratch, name, 0
        self.program = os.path.join(scratch, name)
        run([arguments.batonc, model, "--mode=train", QUICK, "--quiet", "-o", self.program, *flags])


def check_cut(what, plan, expected):
    """Placements by the ends of parameters' names."""
    found = {entry["name"]: entry["placement"] for entry in plan["parameters"]}
    for end, placement in expected.items():
        names = [name for name in found if name.endswith(end)]
        expect(names, f"{what}: no parameter {end} among {list(found)}")
        for name in names:
            expect(found[name] == placement, f"{what}: {name} lies in {found[name]}, expected {placement}")


COLUMNS, ROWS = "[shard(tp), replicate]", "[replicate, shard(tp)]"
MEGATRON = {
    "llama": {"q_proj.weight": COLUMNS, "k_proj.weight": COLUMNS, "v_proj.weight": COLUMNS,
              "o_proj.weight": ROWS, "gate_proj.weight": COLUMNS, "up_proj.weight": COLUMNS,
              "down_proj.weight": ROWS},
    "gpt2": {"attn.c_attn.weight": COLUMNS, "attn.c_attn.bias": "[shard(tp)]", "attn.c_proj.weight": ROWS,
             "attn.c_proj.bias": "whole", "mlp.c_fc.weight": COLUMNS, "mlp.c_fc.bias": "[shard(tp)]",
             "mlp.c_proj.weight": ROWS, "mlp.c_proj.bias": "whole"},
}


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    with open(path("device.json"), "w") as file:
        json.dump(DEVICE, file)

    def plan(mesh, rows, *flags):
        """The answer, and the file with the placements."""
        file = path(f"planned-{len(os.listdir(scratch))}.mlir")
        result = run([arguments.batonc, "plan", "shard", arguments.folder, f"--mesh={mesh}", "--dtype=f32",
                      "--device", path("device.json"), "--rows", rows, "-o", file, "--json", *flags])
        answer = json.loads(result.stdout)
        expect(answer["counted_payload_bytes"] == answer["payload_bytes"] > 0, f"{mesh}: {answer}")
        check_cut(mesh, answer, MEGATRON[arguments.family])
        return answer, file

    # Decoding.
    def score(program):
        tokens = ["--weights", arguments.folder, "--tokens", ",".join(map(str, PROMPT))]
        run([program, "logits", *tokens, "--out", path("logits.npy"), "--quiet"])
        generated = run([program, "generate", *tokens, "--max-new-tokens", 16, "--json", "--quiet"])
        return logits(path("logits.npy")), json.loads(generated.stdout)["tokens"]

    run([arguments.batonc, arguments.folder, "--dtype=f32", QUICK, "--quiet", "-o", path("one")])
    wanted, tokens = score(path("one"))
    for mesh in arguments.meshes:
        _, file = plan(mesh, 64)
        run([arguments.batonc, file, f"--mesh={mesh}", QUICK, "--quiet", "-o", path("many")])
        found, generated = score(path("many"))
        worst = max(abs(a - b) for a, b in zip(found, wanted, strict=True)) / max(map(abs, wanted))
        print(f"{mesh}: logits are off by {worst:.1e}")
        expect(worst < 1e-5 and generated == tokens, f"{mesh}: logits are off by {worst}, tokens {generated}")

    # Training.
    write_tokens(path("tokens.u16"), ((11 * i * i + i // 7) % config["vocab_size"]
                                      for i in range(4 * SEQUENCES * (LENGTH + 1))))
    batch = ["--batch", SEQUENCES]
    alone = Trainer(arguments, scratch, "one-trains").train(STEPS, *batch)
    for mesh in arguments.training or arguments.meshes:
        answer, file = plan(mesh, SEQUENCES * LENGTH, "--mode=train")
        many = PlannedTrainer(arguments, scratch, "trains-" + mesh.replace(",", "-"), file, f"--mesh={mesh}")
        result = many.train(STEPS, *batch)
        compare(f"{mesh}, steps", alone, result, 1e-4)
        sent = sum(sum(collective["sent"]) for collective in result[3]["collectives"]
                   if collective["operation"] == "all_reduce" and collective["axes"] == ["tp"])
        within = answer["sent_bytes"] * ranks_of(mesh) * STEPS
        # Gradients over dp are exchanged in buckets, of whole cache lines.
        if "dp" in mesh:
            continue
        print(f"{mesh}: {sent} bytes sent, predicted {within}")
        expect(sent == within, f"{mesh}: ranks sent {sent} bytes, predicted are {within}: "
               f"{[(c['name'], c['operation'], c['axes'], c['sent']) for c in result[3]['collectives']]}")

    # What binds.
    def refused(message, *command):
        result = run([arguments.batonc, *command], check=False)
        expect(result.returncode == 1 and len(result.stderr.splitlines()) == 1 and
               re.search(message, result.stderr), f"expected {message}: {result}")

    usual = ["plan", "shard", arguments.folder, "--mesh=tp=2"]
    refused(r"cannot be placed in 1000 bytes of memory on each rank: along axis 'tp' of 2 ranks the least is \d+",
            *usual, "--memory-gb", 1e-6)
    refused("--mesh: plan shard chooses what tp and tq shard; add tp=N", "plan", "shard", arguments.folder)
    refused("axis pp is none that plan shard knows", *usual[:3], "--mesh=tp=2,pp=2")
    refused("--device: there is no 'h1000'; there are .*h100-80gb", *usual, "--device", "h1000")
    refused("--rows is out of range", *usual, "--rows", 0)
    mesh = arguments.meshes[0]
    refused(f"is of ranks {mesh}; compile it with --mesh={mesh}", plan(mesh, 64)[1], "-o", path("none"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("family", choices=MEGATRON)
    parser.add_argument("meshes", nargs="+", help="of programs that decode, and train without others")
    parser.add_argument("--training", action="append", help="a mesh of programs that train")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

"""train --dry-run: operations against formulas, memory against what a run has resident.

The run that is measured has small and large steps, all parameters or an adapter's, and
each time its largest resident memory is within a tenth of what was said. Nothing is
read or written: neither data nor weights are there.

Without --more: operations, tasks, the memory of one run on one rank, states beyond a limit, and
refusals.
"""

import argparse
import functools
import json
import os
import subprocess

import programs
from programs import QUICK, expect, run
from training import write_tokens

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 1408,
          "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64,
          "vocab_size": 4096, "max_position_embeddings": 1024, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
          "tie_word_embeddings": False, "torch_dtype": "float32"}
# Of 65 billion parameters, in 4 bits.
LARGE = CONFIG | {"hidden_size": 8192, "intermediate_size": 22016, "num_hidden_layers": 80, "num_attention_heads": 64,
                  "num_key_value_heads": 64, "head_dim": 128, "vocab_size": 32000, "max_position_embeddings": 2048,
                  "torch_dtype": "bfloat16",
                  "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True,
                                          "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True,
                                          "bnb_4bit_quant_storage": "uint8", "bnb_4bit_compute_dtype": "bfloat16"}}
MARGIN = 0.1


def layer_weights(config):
    hidden, width = config["hidden_size"], config["head_dim"]
    heads, pairs = config["num_attention_heads"], config["num_key_value_heads"]
    return 2 * hidden * heads * width + 2 * hidden * pairs * width + 3 * hidden * config["intermediate_size"]


def linear_weights(config):
    return config["num_hidden_layers"] * layer_weights(config) + config["hidden_size"] * config["vocab_size"]


def pair_weights(config, rank):
    """Of pairs beside all linears of the layers."""
    hidden, width, inner = config["hidden_size"], config["head_dim"], config["intermediate_size"]
    queries, keys = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    sides = [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden), (hidden, inner), (hidden, inner),
             (inner, hidden)]
    return config["num_hidden_layers"] * rank * sum(map(sum, sides))


def resident(command):
    """The largest resident memory of a command. (wait4 gives no less than what its parent has:
    a shell in between has little.)"""
    script = "import resource, subprocess, sys\n" \
             "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n" \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\nsys.exit(code)"
    result = subprocess.run(["python3", "-S", "-c", script, *map(str, command)], capture_output=True, text=True)
    expect(result.returncode == 0, f"{command}: {result.stderr}")
    return int(result.stdout)


def resident_in_steps(command, lines):
    """The same of a command that is killed behind so many lines: before a checkpoint, for which
    rank 0 collects what ranks have parts of."""
    script = "import resource, subprocess, sys\n" \
             "process = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)\n" \
             "read = [process.stdout.readline() for _ in range(int(sys.argv[1]))]\n" \
             "process.kill()\nprocess.wait()\n" \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 if read[-1] else 0)"
    result = subprocess.run(["python3", "-S", "-c", script, str(lines), *map(str, command)], capture_output=True, text=True)
    expect(result.returncode == 0 and int(result.stdout), f"{command}: {result.stderr}")
    return int(result.stdout)


class Bench:
    def __init__(self, batonc, scratch, config):
        self.batonc, self.scratch, self.config, self.ratios = batonc, scratch, config, []
        self.folder = self.path("model")
        self.write_config(self.folder, config)
        write_tokens(self.path("tokens.u16"), ((7 * i) % 4001 for i in range(40000)))
        self.begin = ["--init-seed", 1, "--model", self.folder, "--data", self.path("tokens.u16")]
        self.whole = self.compiled("whole")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write_config(self, folder, config):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)

    def compiled(self, name, *flags, model=None):
        run([self.batonc, model or self.folder, "--mode=train", QUICK, "--quiet", "-o", self.path(name), *flags])
        return self.path(name)

    @functools.cache
    def plan(self, program, *flags):
        """What is said, which measures the machine each time that it is asked."""
        return json.loads(run([program, "train", "--dry-run", "--json", *flags]).stdout)

    def check_resident(self, program, batch, length, lines=None):
        """Of two steps, or of as many as write so many lines."""
        flags = ["--batch", batch, "--seq", length]
        said = self.plan(program, *flags)["bytes"]
        command = [program, "train", *self.begin, *flags, "--steps", 1000 if lines else 2,
                   "--out", self.path(f"run-{len(self.ratios)}"), "--quiet"]
        found = resident_in_steps(command, lines) if lines else resident(command)
        self.ratios.append(found / said)
        expect(abs(self.ratios[-1] - 1) < MARGIN, f"{program}, {flags}: {said} bytes said, {found} resident")


def check_operations(bench):
    # Operations: three products for each weight, and of attention two forward, three and four
    # in the adjoints, for each pair of a row and one that it sees.
    def attention(config, batch, length):
        pairs = batch * length * (length + 1) // 2 * config["num_attention_heads"]
        return config["num_hidden_layers"] * pairs * 2 * config["head_dim"] * (2 + 3 + 4)

    for batch, length, accumulate in ((2, 64, 1), (8, 256, 3)):
        more = ["--accumulate", accumulate] if accumulate > 1 else []
        said = bench.plan(bench.whole, "--batch", batch, "--seq", length, *more)
        tokens = batch * length * accumulate
        expect(said["plan"]["tokens"] == tokens and said["plan"]["ranks"] == 1, said["plan"])
        expected = {"products": 6 * tokens * linear_weights(bench.config),
                    "attention": accumulate * attention(bench.config, batch, length)}
        for kind, flops in expected.items():
            found = said["kinds"][kind]["flops"]
            expect(abs(found / flops - 1) < 1e-6, f"{kind}: {found} operations, expected {flops}")
        expect(said["flops"] >= sum(expected.values()), said)
        least = sum(expected.values()) / said["machine"]["flops_per_s"]
        expect(said["seconds_at_least"] >= least, said)
        # A step reads and writes weights, gradients and two states once at least.
        expect(said["kinds"]["updates"]["bytes"] >= 7 * 4 * linear_weights(bench.config), said["kinds"])
        expect(said["bytes"] == said["process_bytes"] + sum(rank["bytes"] for rank in said["ranks"]), said)


def check_tasks(bench):
    """As many tasks as a trace has."""
    run([bench.whole, "train", *bench.begin, "--batch", 2, "--seq", 64,
         "--steps", 1, "--out", bench.path("traced"), "--trace", bench.path("trace.json"), "--quiet"])
    with open(bench.path("trace.json")) as file:
        traced = sum(1 for event in json.load(file)["traceEvents"] if event.get("cat") == "task")
    said = bench.plan(bench.whole, "--batch", 2, "--seq", 64)
    expect(said["ranks"][0]["tasks"] == traced, f"{said['ranks'][0]['tasks']} tasks, a trace has {traced}")


def check_states(bench):
    """States beyond a limit are not in memory."""
    flags = ["--batch", 4, "--seq", 128, "--workers", 1]
    all_said, said = bench.plan(bench.whole, *flags), bench.plan(bench.whole, *flags, "--state-memory", "4MiB")
    memory, limited = all_said["ranks"][0]["memory"], said["ranks"][0]["memory"]
    states = memory["optimizer's states"]
    expect(states > 16 << 20 and limited == memory | {"optimizer's states": 4 << 20}, [memory, limited])
    # The program itself is among all bytes, and never takes as many pages twice.
    expect(abs(all_said["bytes"] - said["bytes"] - states + (4 << 20)) < 1 << 20, [all_said["bytes"], said["bytes"], states])


def check_refusals(bench):
    """What a run would refuse, so does its plan; and what a run needs, it needs."""
    bench.write_config(bench.path("large"), LARGE)
    for flags, message in ((["--batch", 4096, "--seq", 256], "--batch 4096 with --seq 256: a step takes at most"),
                           (["--seq", 5000], "--seq 5000: the model takes sequences of at most"),
                           (["--weights", bench.path("large")], "'vocab_size' is 32000, but"),
                           (["--ranks", 2], "--ranks 2: the program is compiled for 1 rank")):
        result = run([bench.whole, "train", "--dry-run", *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{flags}: {result}")
    result = run([bench.whole, "train", "--weights", bench.folder], check=False)
    expect(result.returncode and "--data is required" in result.stderr, f"{result}")


def check_ranks(bench):
    """Of several ranks, and of stages, each has a part."""
    one = bench.plan(bench.whole, "--batch", 8, "--seq", 64)
    parts = bench.plan(bench.compiled("parts", "--mesh=tp=2"), "--batch", 8, "--seq", 64)
    expect(parts["ranks"][0]["alike"] == 2, parts["ranks"])
    # Ranks that have parts of the vocabulary make logits twice: for their maximum, and for their sum.
    products, head = one["kinds"]["products"]["flops"], 2 * 512 * CONFIG["hidden_size"] * CONFIG["vocab_size"]
    found = parts["kinds"]["products"]["flops"]
    expect(abs(found / (products + head) - 1) < 1e-6, f"{found} operations along tp, {products} of one rank")
    expect(parts["ranks"][0]["memory"]["weights"] < 0.6 * one["ranks"][0]["memory"]["weights"], parts["ranks"])
    stages = bench.plan(bench.compiled("stages", "--mesh=pp=2", "--microbatches=4"), "--batch", 2, "--seq", 64)
    expect(len(stages["ranks"]) == 2 and stages["plan"]["microbatches"] == 4, stages)
    found = stages["kinds"]["products"]["flops"]
    expect(products * (1 - 1e-6) < found < (products + head) * (1 + 1e-6),
           f"{found} operations on stages, {products} of one rank")

    for name in ("parts", "stages"):
        bench.check_resident(bench.path(name), 4, 128, lines=3)


def check_large(bench):
    """What no machine of tests could train, from nothing but its config.json."""
    bench.write_config(bench.path("large"), LARGE)
    large = bench.compiled("large.trainer", "--adapter=lora:r=16", "--recompute=full", model=bench.path("large"))
    said = bench.plan(large, "--batch", 1, "--seq", 512)
    weights, pairs = linear_weights(LARGE), pair_weights(LARGE, 16)
    memory = said["ranks"][0]["memory"]
    blocks = LARGE["num_hidden_layers"] * layer_weights(LARGE)
    head = LARGE["hidden_size"] * LARGE["vocab_size"]
    # Four bits, and a factor for 64 of them.
    expect(4.2 * blocks < 8 * memory["frozen weights"] - 16 * head < 4.8 * blocks, memory)
    for what in ("weights", "gradients"):
        expect(4 * pairs <= memory[what] < 4.1 * pairs, [what, pairs, memory])
    expect(8 * pairs <= memory["optimizer's states"] < 8.2 * pairs, memory)
    # A row's input of a layer is computed forward, again, and backward; a pair also has its own gradients.
    tokens = 512
    least, most = tokens * (4 * weights + 6 * pairs), tokens * (6 * weights + 8 * pairs)
    expect(least <= said["kinds"]["products"]["flops"] <= most, [least, said["kinds"]["products"], most])
    text = run([large, "train", "--dry-run", "--batch", 1, "--seq", 512]).stdout
    for part in ("frozen weights", "it fits" if said["bytes"] <= said["machine"]["free_bytes"] else "it does not fit",
                 "a step takes at least"):
        expect(part in text, text)


def test(arguments, scratch):
    bench = Bench(arguments.batonc, scratch, CONFIG if arguments.more else CONFIG | {"num_hidden_layers": 3})
    if arguments.more:
        bench.check_resident(bench.whole, 8, 256)
        bench.check_resident(bench.compiled("adapting", "--adapter=lora:r=4", "--recompute=selective"), 4, 256)
        check_ranks(bench)
        check_large(bench)
    else:
        check_operations(bench)
        check_tasks(bench)
        bench.check_resident(bench.whole, 2, 64)
        check_states(bench)
        check_refusals(bench)
    print("resident / said: " + ", ".join(f"{ratio:.3f}" for ratio in bench.ratios))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true",
                        help="longer steps, an adapter, ranks and stages, 65 billion parameters")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

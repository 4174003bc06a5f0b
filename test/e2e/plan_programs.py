"""batonc plan train --framework=baton: the search, its forecasts, and programs made of its plans.

The fastest plans are those of all splits, described one by one, also under a limit of memory. An interrupted
search has the best so far.
Plans compile as they are written (batonc --plan), programs foresee the memory that the plan
has, to the byte, and a step that is watched touches as many pages (--check-memory). The devices'
facts are a file here: plans are the same on every machine.

Without --more: of a model of one layer, whose heads cannot be cut, all splits of two ranks are
those of data, ZeRO and recomputing; the fastest one is compiled. Each split takes a third of a
second to describe.
"""

import argparse
import json
import os
import signal
import subprocess
import time

import programs
from programs import QUICK, expect, run
from training import write_tokens

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 64,
          "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 96,
          "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
          "hidden_act": "silu", "torch_dtype": "float32"}
# Slow links, so that plans differ in what ranks exchange.
DEVICE = {"name": "toy", "source": "None.", "memory_gb": 1, "memory_gb_per_s": 10, "stream_fraction": 0.6,
          "dropout_fraction": 0.6, "matmul_tflops": 0.05, "matmul_fraction": 0.5, "attention_fraction": 0.25,
          "multiprocessors": 1, "kernel_us": 1, "devices_per_node": 4, "link_gb_per_s": 1, "link_us": 20,
          "network_gb_per_s": 1, "network_us": 20, "uncertainty": 0.3}
# Of one layer with three heads: data parallel only.
SMALL = CONFIG | {"num_hidden_layers": 1, "hidden_size": 48, "num_attention_heads": 3, "num_key_value_heads": 1}
LENGTH = 64


class Planner:
    def __init__(self, batonc, scratch, config):
        self.batonc, self.scratch, self.folder = batonc, scratch, os.path.join(scratch, "model")
        os.makedirs(self.folder)
        for name, content in (("model/config.json", config), ("device.json", DEVICE)):
            self.write(name, content)
        write_tokens(self.path("tokens.u16"), ((7 * i) % 89 for i in range(20000)))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, content):
        with open(self.path(name), "w") as file:
            json.dump(content, file)

    def command(self, model, *flags):
        return [self.batonc, "plan", "train", "--model", model, "--framework", "baton", "--target", "cpu",
                "--device", self.path("device.json"), "--sequence", LENGTH, *flags]

    def plan(self, *flags, check=True):
        result = run(self.command(self.folder, "--dtype", "bf16", "--workers", 1, *flags), check=check)
        return json.loads(result.stdout) if check else result

    def all_plans(self, ways, *flags):
        """All splits of two ranks: `ways`, with everything beside."""
        everything = self.plan("--devices", 2, "--global-batch", 2, "--top", 1000, "--json", *flags)
        every = everything["plans"]
        expect(everything["complete"] and len(every) == everything["fitting"] == everything["described"] and
               everything["described"] + sum(everything["refusals"].values()) == everything["splits"], everything)
        expect(every == sorted(every, key=lambda found: found["seconds"]), "plans are not by time")
        for part, values in ways.items():
            seen = {found["split"][part] for found in every}
            expect(seen == values, f"{part}: {seen}; refused: {everything['refusals']}")
        front = everything["front"]
        expect(front[-1]["seconds"] == every[0]["seconds"] and
               front[0]["memory"] == min(found["memory"]["total"] for found in every), front)
        return everything

    def check_program(self, name, first):
        """Of a plan in a file: what the program foresees is what was planned, and it trains."""
        path = self.path(name)
        said = run([self.batonc, self.folder, "--plan", f"{path}.json", QUICK, "-o", path]).stderr
        with open(f"{path}.json") as file:
            written = json.load(file)
        expect(written["compile"] == first["compile"] and written["train"] == first["train"], written)
        told = [f"{flag}={value}" for flag, value in written["train"].items()]
        expect(f"planned for: {path} train {' '.join(told)}" in said, said)
        ranks = first["split"]["data"] * first["split"]["tensor"] * first["split"]["pipeline"]
        own = json.loads(run([path, "train", "--dry-run", "--json", "--workers", ranks, *told]).stdout)
        largest = max(own["ranks"], key=lambda rank: rank["bytes"])
        expect(largest["bytes"] == first["memory"]["total"] == written["forecast"]["bytes_of_a_rank"] and
               all(first["memory"][part] == size for part, size in largest["memory"].items()), [own, first])
        run([path, "train", "--init-seed", 1, "--model", self.folder, "--data", self.path("tokens.u16"), "--steps", 2,
             "--out", self.path(f"run-{name}"), "--quiet", *told])
        print(f"{name}: {first['flags']}, {first['memory']['total']} bytes of a rank")

    def refuses(self, message, command):
        result = run(command, check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{command}: {result}, expected {message}")


def key(found):
    return found["seconds"], found["memory"]["total"]


def check_touched(planner):
    """One rank, whose step has as many rows as there may be: what tasks touch is what was planned."""
    one = run(planner.command(planner.folder, "--dtype", "bf16", "--devices", 1, "--global-batch", 64, "--top", 100,
                              "--json"))
    whole = next(found for found in json.loads(one.stdout)["plans"]
                 if found["split"]["microbatches"] == 1 and found["split"]["recompute"] == "full")
    run([planner.batonc, planner.folder, "--sanitize=address", "-o", planner.path("watched"), "--quiet",
         *whole["flags"].split()])
    run([planner.path("watched"), "train", "--init-seed", 1, "--model", planner.folder, "--data",
         planner.path("tokens.u16"), "--steps", 1, "--validation-fraction", 0, "--out", planner.path("run-watched"),
         "--quiet", "--check-memory", planner.path("touched.json"),
         *(f"{flag}={value}" for flag, value in whole["train"].items())])
    with open(planner.path("touched.json")) as file:
        touched = json.load(file)
    # A plan counts whole pages of each storage.
    pages = 4096 * len(touched["storages"])
    expect(touched["touched"] == touched["planned"] and
           0 <= whole["memory"]["activations"] - touched["touched"] <= pages, [touched["touched"], whole])


def check_files(planner):
    """A plan that says something else than the command line, and files that are none."""
    for flags, content, message in (
            (["--max-seq", 32], None, f"the plan says --max-seq={LENGTH}, the command line --max-seq=32; leave one"),
            ([], {"format": 2}, "is no plan; batonc plan train -o FILE writes one"),
            ([], {"format": 1, "compile": {"--warp": "9"}, "train": {}}, "there is no flag --warp"),
            ([], {"format": 1, "compile": {"--max-seq": True}, "train": {}}, "--max-seq has no value"),
            ([], {"format": 1, "compile": {"--sequence-parallel": "2"}, "train": {}}, "--sequence-parallel takes no value"),
            ([], {"format": 1, "compile": {"--max-seq": "many"}, "train": {}}, "--max-seq=many: "),
            ([], {"format": 1, "compile": {"--zero": 3}, "train": {}}, "--zero is neither text nor true"),
            ([], {"format": 1, "compile": {"--mode": "train", "--zero": "7"}, "train": {}}, "--zero=7 is unknown")):
        name = "two.json"
        if content is not None:
            name = "wrong.json"
            planner.write(name, content)
        planner.refuses(message, [planner.batonc, planner.folder, "--plan", planner.path(name), "-o", planner.path("none"),
                                  *flags])
    run([planner.batonc, planner.folder, "--plan", planner.path("two.json"), "--max-seq", LENGTH, "--emit=event", "-o",
         planner.path("plan.mlir")])


def check_refusals(planner):
    """What cannot be planned, before anything is described."""
    one, two = ["--devices", 1, "--global-batch", 1], ["--devices", 2, "--global-batch", 2]
    os.makedirs(planner.path("large"))
    planner.write("large/config.json", CONFIG | {"hidden_size": 1024, "intermediate_size": 4096})
    for model, flags, message in (
            (planner.folder, [*one, "--dtype", "f8"], "--dtype=f8 is unknown"),
            (planner.folder, [*one, "--dtype", "f32"],
             "has the rate of products of 16-bit numbers, and the program computes in f32"),
            (planner.path("large"), [*one, "--memory-gb", 0.1], "what layers keep of rows are larger"),
            (planner.folder, ["--devices", 5, "--global-batch", 2, "--workers", 1], "5 devices: no split has whole parts"),
            (planner.folder, [*two, "--workers", 1, "--measured", "x.csv", "--calibrate", 1], "--measured: batonc's own")):
        planner.refuses(message, planner.command(model, *flags))


def check_interrupted(planner):
    """The best so far, whenever the search ends; where nothing is known yet it says so."""
    command = planner.command(planner.folder, "--dtype", "bf16", "--workers", 1, "--devices", 12, "--global-batch", 48,
                              "--top", 1000, "--json")
    for seconds in (1, 2, 4, 8, 16, 32):
        search = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(seconds)
        search.send_signal(signal.SIGINT)
        output, errors = search.communicate()
        if search.returncode == 0:
            break
        expect(search.returncode == 1 and errors == "error: interrupted\n", [search.returncode, errors])
    stopped = json.loads(output)
    expect(not stopped["complete"] and stopped["plans"] and stopped["described"] < stopped["splits"], stopped)


def test_more(planner):
    everything = planner.all_plans({
        "tensor": {1, 2}, "pipeline": {1, 2}, "data": {1, 2}, "zero": {0, 1, 2, 3},
        "recompute": {"none", "selective", "full"}, "sequence_parallel": {False, True},
        "schedule": {None, "1f1b", "gpipe", "zb-h1", "zb-h2", "interleaved"}})
    every, two = everything["plans"], ["--devices", 2, "--global-batch", 2]
    some = planner.plan(*two, "--top", 3, "--json", "-o", planner.path("two.json"))
    expect([key(found) for found in some["plans"]] == [key(found) for found in every[:3]], [some["plans"], every[:3]])
    expect(some["described"] < everything["described"], "the bound spares nothing")
    # Under a limit of memory that the fastest do not keep to.
    limit = sorted(found["memory"]["total"] for found in every)[len(every) // 4]
    fitting = [found for found in every if found["memory"]["total"] <= limit]
    expect(0 < len(fitting) < len(every) and every[0] not in fitting, limit)
    small = planner.plan(*two, "--top", 1, "--json", "--memory-gb", limit / 1e9)
    expect(key(small["plans"][0]) == key(fitting[0]), [small["plans"], fitting[0]])

    # The fastest one of two ranks, as it is written, and the fastest one that has stages.
    planner.check_program("two", some["plans"][0])
    first = next(found for found in every if found["split"]["pipeline"] == 2)
    planner.write("stages.json", {"format": 1, "compile": first["compile"], "train": first["train"],
                                  "forecast": {"bytes_of_a_rank": first["memory"]["total"]}})
    planner.check_program("stages", first)
    check_touched(planner)
    check_interrupted(planner)
    planner.refuses("the split that takes least",
                    planner.command(planner.folder, "--dtype", "bf16", "--workers", 1, *two, "--memory-gb", 1e-3))


def test(arguments, scratch):
    planner = Planner(arguments.batonc, scratch, CONFIG if arguments.more else SMALL)
    if arguments.more:
        test_more(planner)
        return
    everything = planner.all_plans({
        "tensor": {1}, "pipeline": {1}, "data": {2}, "zero": {0, 1, 2, 3},
        "recompute": {"none", "selective", "full"}, "schedule": {None}}, "-o", planner.path("two.json"))
    planner.check_program("two", everything["plans"][0])
    check_files(planner)
    check_refusals(planner)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true", help="all kinds of splits, and limits of memory")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

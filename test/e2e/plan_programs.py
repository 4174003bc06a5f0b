"""batonc plan train --framework=baton: the search, its forecasts, and programs made of its plans.

The fastest plans are those of all splits, described one by one, also under a limit of memory.
Plans compile as they are written (batonc --plan), programs foresee the memory that the plan
has, to the byte, and a step that is watched touches as many pages (--check-memory). The devices'
facts are a file here: plans are the same on every machine.
"""

import argparse
import json
import os

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
LENGTH = 64


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = path("model")
    os.makedirs(folder)
    for name, content in (("model/config.json", CONFIG), ("device.json", DEVICE)):
        with open(path(name), "w") as file:
            json.dump(content, file)
    write_tokens(path("tokens.u16"), ((7 * i) % 89 for i in range(20000)))

    def plan(*flags, check=True):
        result = run([arguments.batonc, "plan", "train", "--model", folder, "--framework", "baton", "--target", "cpu",
                      "--device", path("device.json"), "--dtype", "bf16", "--workers", 1, "--sequence", LENGTH,
                      *flags], check=check)
        return json.loads(result.stdout) if check else result

    def key(found):
        return found["seconds"], found["memory"]["total"]

    # All splits of two ranks: data, tensor and pipeline parallel, with everything beside.
    everything = plan("--devices", 2, "--global-batch", 2, "--top", 1000, "--json")
    every = everything["plans"]
    expect(everything["complete"] and len(every) == everything["fitting"] == everything["described"] and
           everything["described"] + sum(everything["refusals"].values()) == everything["splits"], everything)
    expect(every == sorted(every, key=lambda found: found["seconds"]), "plans are not by time")
    for part, values in (("tensor", {1, 2}), ("pipeline", {1, 2}), ("data", {1, 2}), ("zero", {0, 1, 2, 3}),
                         ("recompute", {"none", "selective", "full"}), ("sequence_parallel", {False, True}),
                         ("schedule", {None, "1f1b", "gpipe", "zb-h1", "zb-h2", "interleaved"})):
        seen = {found["split"][part] for found in every}
        expect(seen == values, f"{part}: {seen}; refused: {everything['refusals']}")
    some = plan("--devices", 2, "--global-batch", 2, "--top", 3, "--json")
    expect([key(found) for found in some["plans"]] == [key(found) for found in every[:3]], [some["plans"], every[:3]])
    expect(some["described"] < everything["described"], "the bound spares nothing")
    # Under a limit of memory that the fastest do not keep to.
    limit = sorted(found["memory"]["total"] for found in every)[len(every) // 4]
    fitting = [found for found in every if found["memory"]["total"] <= limit]
    expect(0 < len(fitting) < len(every) and every[0] not in fitting, limit)
    small = plan("--devices", 2, "--global-batch", 2, "--top", 1, "--json", "--memory-gb", limit / 1e9)
    expect(key(small["plans"][0]) == key(fitting[0]), [small["plans"], fitting[0]])
    front = everything["front"]
    expect(front[-1]["seconds"] == every[0]["seconds"] and
           front[0]["memory"] == min(found["memory"]["total"] for found in every), front)

    # Plans as files, and as programs: what these foresee is what was planned.
    def compiled(name, *flags):
        return run([arguments.batonc, folder, "--plan", path(f"{name}.json"), QUICK, "-o", path(name), *flags])

    # The fastest one of two ranks, as it is written, and the fastest one that has stages.
    stages = next(found for found in every if found["split"]["pipeline"] == 2)
    for name in ("two", "stages"):
        if name == "two":
            first = plan("--devices", 2, "--global-batch", 2, "--top", 1, "--json", "-o", path("two.json"))["plans"][0]
        else:
            first = stages
            with open(path("stages.json"), "w") as file:
                json.dump({"format": 1, "compile": first["compile"], "train": first["train"],
                           "forecast": {"bytes_of_a_rank": first["memory"]["total"]}}, file)
        said = compiled(name).stderr
        with open(path(f"{name}.json")) as file:
            written = json.load(file)
        expect(written["compile"] == first["compile"] and written["train"] == first["train"], written)
        told = [f"{flag}={value}" for flag, value in written["train"].items()]
        expect(f"planned for: {path(name)} train {' '.join(told)}" in said, said)
        ranks = first["split"]["data"] * first["split"]["tensor"] * first["split"]["pipeline"]
        own = json.loads(run([path(name), "train", "--dry-run", "--json", "--workers", ranks, *told]).stdout)
        largest = max(own["ranks"], key=lambda rank: rank["bytes"])
        expect(largest["bytes"] == first["memory"]["total"] == written["forecast"]["bytes_of_a_rank"] and
               all(first["memory"][part] == size for part, size in largest["memory"].items()), [own, first])
        run([path(name), "train", "--init-seed", 1, "--model", folder, "--data", path("tokens.u16"), "--steps", 2,
             "--out", path(f"run-{name}"), "--quiet", *told])
        print(f"{name}: {first['flags']}, {first['memory']['total']} bytes of a rank")

    # One rank, whose step has as many rows as there may be: what tasks touch is what was planned.
    one = run([arguments.batonc, "plan", "train", "--model", folder, "--framework", "baton", "--target", "cpu",
               "--device", path("device.json"), "--dtype", "bf16", "--devices", 1, "--global-batch", 64, "--sequence", LENGTH, "--top", 100,
               "--json"])
    whole = next(found for found in json.loads(one.stdout)["plans"]
                 if found["split"]["microbatches"] == 1 and found["split"]["recompute"] == "full")
    run([arguments.batonc, folder, "--sanitize=address", "-o", path("watched"), "--quiet", *whole["flags"].split()])
    run([path("watched"), "train", "--init-seed", 1, "--model", folder, "--data", path("tokens.u16"), "--steps", 1,
         "--validation-fraction", 0, "--out", path("run-watched"), "--quiet", "--check-memory", path("touched.json"),
         *(f"{flag}={value}" for flag, value in whole["train"].items())])
    with open(path("touched.json")) as file:
        touched = json.load(file)
    # A plan counts whole pages of each storage.
    pages = 4096 * len(touched["storages"])
    expect(touched["touched"] == touched["planned"] and
           0 <= whole["memory"]["activations"] - touched["touched"] <= pages, [touched["touched"], whole])

    # A plan that says something else than the command line, and files that are none.
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
            with open(path(name), "w") as file:
                json.dump(content, file)
        result = run([arguments.batonc, folder, "--plan", path(name), "-o", path("none"), *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{flags}, {content}: {result}")
    run([arguments.batonc, folder, "--plan", path("two.json"), "--max-seq", LENGTH, "--emit=event", "-o", path("plan.mlir")])

    # What cannot be planned.
    os.makedirs(path("large"))
    with open(path("large/config.json"), "w") as file:
        json.dump(CONFIG | {"hidden_size": 1024, "intermediate_size": 4096}, file)
    for model, flags, message in (
            (folder, ["--dtype", "f8"], "--dtype=f8 is unknown"),
            (folder, ["--dtype", "f32"], "has the rate of products of 16-bit numbers, and the program computes in f32"),
            (path("large"), ["--memory-gb", 0.1], "what layers keep of rows are larger")):
        result = run([arguments.batonc, "plan", "train", "--model", model, "--framework", "baton", "--target", "cpu",
                      "--device", path("device.json"), "--devices", 1, "--global-batch", 1, "--sequence", LENGTH, *flags],
                     check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1, f"{flags}: {result}")
    for flags, message in ((["--devices", 2, "--global-batch", 2, "--memory-gb", 1e-3], "the split that takes least"),
                           (["--devices", 5, "--global-batch", 2], "5 devices: no split has whole parts"),
                           (["--devices", 2, "--global-batch", 2, "--measured", "x.csv", "--calibrate", 1], "--measured: batonc's own")):
        result = plan(*flags, check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1, f"{flags}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

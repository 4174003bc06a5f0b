"""bench --dry-run: what a program that decodes takes, against formulas and a run."""

import argparse
import json
import os
import sys

import programs
from programs import QUICK, expect, run
from train_dry_run import CONFIG, MARGIN, linear_weights, resident

INPUTS = ["tools/random-checkpoint"]
HERE = os.path.dirname(os.path.abspath(__file__))


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    os.makedirs(path("model"))
    with open(path("model/config.json"), "w") as file:
        json.dump(CONFIG, file)

    def compiled(name, *flags):
        run([arguments.batonc, path("model"), QUICK, "--quiet", "-o", path(name), *flags])
        return path(name)

    def plan(program, *flags):
        return json.loads(run([program, "bench", "--dry-run", "--json", *flags]).stdout)

    layers, heads, width = (CONFIG[name] for name in ("num_hidden_layers", "num_attention_heads", "head_dim"))
    hidden, head = CONFIG["hidden_size"], CONFIG["hidden_size"] * CONFIG["vocab_size"]
    linears = linear_weights(CONFIG)
    position = 2 * layers * CONFIG["num_key_value_heads"] * width * 4

    def close(found, wanted, what):
        expect(abs(found / wanted - 1) < 1e-6, f"{what}: {found}, expected {wanted}")

    one = compiled("one")
    said = alone = plan(one, "--prefill", 512, "--decode", 8)
    # Two products of attention, of each row with all rows up to it; the last row alone has logits.
    close(said["prompt"]["flops"], 2 * (512 * (linears - head) + head) + layers * heads * 4 * width * 512 * 513 / 2, "the prompt")
    (token,) = said["decoding"]
    close(token["flops"], 2 * linears + layers * heads * 4 * width * 516, "a token's operations")
    close(token["bytes"], 4 * linears + 516 * position, "a token's bytes")
    close(token["seconds_at_least"], max(token["bytes"] / said["machine"]["read_bytes_per_s"],
                                         token["flops"] / said["machine"]["flops_per_s"]), "its time")
    # In pages, of which each layer has its own.
    most = 520 * position + 2 * layers * 2**21
    expect(520 * position <= said["memory"]["keys and values"] <= most, [said["memory"], most])
    # A region of such pages, too.
    expect(0 <= said["memory"]["weights"] + said["memory"]["tables"] - 4 * (linears + head + hidden * (2 * layers + 1)) < 2**21 + 1e5,
           said["memory"])
    # (bench itself runs twice, for its verdict.)
    run([sys.executable, os.path.join(HERE, "../../tools/random-checkpoint"), path("weights"), "--like", path("model/config.json")])
    found = resident([one, "generate", "--weights", path("weights"), "--tokens", ",".join(str(i % 97) for i in range(512)),
                      "--max-new-tokens", 8, "--no-cache", "--quiet"])
    ratio = found / said["bytes"]
    expect(abs(ratio - 1) < MARGIN, f"{said['bytes']} bytes said, {found} resident: {said['memory']}")

    many = compiled("many", "--max-batch=4")
    said = plan(many, "--prefill", 64, "--decode", 64, "--batch", "1,4")
    expect([at["sequences"] for at in said["decoding"]] == [1, 4], said)
    # Weights are read once for all; pages are of 64 positions.
    close(said["decoding"][1]["bytes"] - said["decoding"][0]["bytes"], 3 * 96 * position, "three sequences more")
    close(said["memory"]["keys and values"], 4 * 128 * position, "pages of four sequences")
    halves = plan(compiled("halves", "--mesh=tp=2"), "--prefill", 512, "--decode", 8)
    expect(halves["ranks"] == 2 and halves["memory"]["weights"] < 0.6 * alone["memory"]["weights"], halves)
    # Each rank makes all logits.
    close(halves["decoding"][0]["flops"], token["flops"] + 2 * head, "a token's operations on two ranks")
    text = run([one, "bench", "--dry-run"]).stdout
    for part in ("keys and values", "a token of 1 sequence takes at least", "tokens/s at most"):
        expect(part in text, text)
    for program, flags, message in ((one, ["--prefill", 5000], "do not fit into the program's"),
                                    (one, ["--steps", 2], "--steps prints what programs read: give --json"),
                                    (many, ["--batch", 5], "--batch 5: the program decodes at most 4 sequences at once")):
        result = run([program, "bench", "--dry-run", *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1, f"{flags}: {result}")
    print(f"resident / said: {ratio:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

"""batonc explain of programs that train: operations against formulas, times of a
trace, and what is refused.
"""

import argparse
import json
import os
import struct

import programs
from programs import QUICK, expect, run


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = os.path.abspath(arguments.folder)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    explain = [os.path.abspath(arguments.batonc), "explain", folder, "--mode=train"]
    explained = json.loads(run([*explain, "--rows", 96, "--json"]).stdout)
    (step,) = explained["steps"]
    expect((step["name"], step["rows"], step["past"], step["outputs"]) == ("training", 96, 0, 1), step)

    # Every weight of a linear takes part in three products, the output
    # projection's among them.
    hidden, heads, kv = (config[name] for name in
                         ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    width, layers = config["head_dim"], config["num_hidden_layers"]
    linear = layers * (2 * hidden * heads * width + 2 * hidden * kv * width
                       + 3 * hidden * config["intermediate_size"])
    calls = lambda phase: set(phase["calls"])

    def total(*bodies):
        return sum(at["flops"] for phase, at in zip(explained["phases"], step["phases"])
                   if calls(phase) & set(bodies))

    def close(found, wanted, what):
        expect(abs(found / wanted - 1) < 1e-9, f"{what}: {found}, expected {wanted}")

    close(total("product", "product_gradient"),
          3 * 2 * 96 * (linear + hidden * config["vocab_size"]), "linears")
    # As if all rows were one sequence: rows see 1, 2, ... of them; two products
    # in the forward step, three and four in the adjoints.
    pairs = layers * heads * 96 * 97 / 2
    close(total("sequence_attention"), 2 * pairs * 2 * width, "attention")
    close(total("attention_query_gradient"), 2 * pairs * 3 * width, "its adjoint for queries")
    close(total("attention_key_value_gradient"), 2 * pairs * 4 * width, "its other adjoint")
    updates = [phase["name"] for phase in explained["phases"] if phase["name"].endswith(".adamw")]
    # Only what an update's body costs is unknown; these call bodies that the
    # others do not.
    golden = os.path.dirname(folder)
    for case in (os.path.basename(folder), "gpt2-small", "qwen3-elementwise", "llama-hyper-sinkhorn"):
        other = json.loads(run([*explain[:2], os.path.join(golden, case), "--mode=train", "--optimizer=sgd", "--rows", 32,
                                "--json"]).stdout)
        for phase, at in zip(other["phases"], other["steps"][0]["phases"]):
            expect(at["flops_known"] != phase["name"].endswith(".sgd"),
                   f"{case}: {phase['name']} is of unknown cost, or known: {phase['calls']}")
    # Weights, gradients, two states: F32.
    parameters = linear + hidden * (2 * layers + 1) + 2 * hidden * config["vocab_size"]
    kept = explained["memory"]["kept"]
    expect(0 <= kept - 16 * parameters < 2**17, f"{kept} bytes kept of {parameters} parameters")
    expect(explained["memory"]["states"] == 0, "keys and values of a program that trains")

    # On a target with tensor cores products go through them in 16 bits only.
    for dtype, on_tensor_cores in (("f32", False), ("bf16", True), ("f16", True)):
        device = json.loads(run([*explain, "--target=cuda:sm_90a", f"--dtype={dtype}", "--rows", 96, "--json"]).stdout)
        (step,) = device["steps"]
        peak, tensor = (device["machine"][name]["value"] for name in ("fma_gflop_s", "tensor_bf16_gflop_s"))
        for phase, at in zip(device["phases"], step["phases"]):
            rate = tensor if on_tensor_cores and phase["calls"][0].startswith("product") else peak
            expect(abs(at["compute_us"] - at["flops"] / rate / 1e3) < 2e-3,
                   f"{dtype}: {phase['name']} computes for {at['compute_us']} us")

    program = path("program")
    run([arguments.batonc, folder, "--mode=train", QUICK, "--quiet", "-o", program])
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack("<400H", *[(7 * i) % 97 for i in range(400)]))
    run([program, "train", "--weights", folder, "--data", path("tokens.u16"), "--batch", 2, "--seq",
         24, "--accumulate", 2, "--steps", 2, "--workers", 2, "--out", path("out"), "--quiet",
         "--trace", path("trace.json")])
    measured = json.loads(run([*explain, "--trace", path("trace.json"), "--json"]).stdout)
    (step,) = measured["steps"]
    expect((step["rows"], step["outputs"]) == (48, 1), f"the trace's step: {step['rows']}")
    # (One that is short may take no time that the clock can tell.)
    times = [at["measured_us"] for at in step["phases"]]
    expect(all(time is not None and time >= 0 for time in times) and sum(times) > 0, f"{times}")
    text = run([*explain, "--trace", path("trace.json")]).stdout
    expect("training step: 48 rows\n" in text, text[:600])
    run([*explain, "--optimizer=muon", "--rows", 32, "--html", path("page.html")])
    with open(path("page.html")) as file:
        expect("muon" in file.read(), "the page does not show the optimizer's phases")

    for flags, message in ((["--rows", 0], "--rows 0 is out of range"),
                           (["--rows", 4097], "--rows 4097 is out of range, expected 1 to 4096"),
                           (["--context", 3], "--context is for programs that decode"),
                           (["--prefill", 3], "--prefill is for programs that decode"),
                           (["--measure"], "--measure with --mode=train is not built yet"),
                           (["--optimizer=none"], "--optimizer=none is unknown; there is adafactor, adamw,")):
        result = run([*explain, *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr, f"{flags}: {result}")
    result = run([*explain[:3], "--rows", 3], check=False)
    expect(result.returncode == 1 and "--rows is for --mode=train" in result.stderr, f"{result}")
    print(f"{len(updates)} updates, {len(explained['phases'])} phases")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

"""batonc explain: costs held against formulas, reasons against the plan, measured
times against the trace, and the page opened in a browser if there is one.

The formulas are those of the golden case's architecture, written down here
again; padding of packed weights to 16 columns included.

With --more instead: every golden case has bodies of known cost; figures that `--measure` and
this machine give; the page in a browser; what is refused.
"""

import argparse
import collections
import html.parser
import json
import os
import re
import shutil
import subprocess
import zlib

import gguf_writer
import programs
from programs import expect, run

# For tools/test --changed: what batonc runs.
INPUTS = ["build/lib/baton/machine-speed"]

HIDDEN, INNER, HEADS, GROUPS, WIDTH, VOCABULARY, LAYERS = 60, 100, 6, 2, 16, 131, 3
FLOAT = 4


# A server with 16 cores.
FIGURES = {"workers": 16, "read_bandwidth_gb_s": 100, "fma_gflop_s_per_worker": 80, "event_us": 0.5}


def json_of(path):
    with open(path) as file:
        return json.load(file)


def padded(columns):
    return -(-columns // 16) * 16


def linear(rows, k, n, norm, row_tiles=1):
    """Floating-point operations and bytes of weights, of one layer."""
    flops = 2 * rows * k * n + (4 * rows * k if norm else 0)
    return flops, (padded(n) * k + (k if norm else 0)) * FLOAT


def expected_costs(rows, past):
    """Of one layer: operations, weights, bytes of the state read and written."""
    seen = sum(past + row + 1 for row in range(rows))
    state = GROUPS * WIDTH * FLOAT
    gate_up = linear(rows, HIDDEN, 2 * INNER, True)
    costs = {
        "embed_tokens": (rows * HIDDEN, rows * HIDDEN * FLOAT, 0, 0),
        "rotary_emb": (5 * rows * WIDTH // 2, WIDTH // 2 * FLOAT, 0, 0),
        "layers.self_attn.q_proj+k_proj+v_proj": (*linear(rows, HIDDEN, (HEADS + 2 * GROUPS) * WIDTH, True), 0, 0),
        "layers.self_attn.q_rope": (6 * rows * HEADS * WIDTH // 2, 0, 0, 0),
        "layers.self_attn.k_rope": (6 * rows * GROUPS * WIDTH // 2, 0, 0, 0),
        "layers.self_attn.k_state": (0, 0, 0, rows * state),
        "layers.self_attn.v_state": (0, 0, 0, rows * state),
        "layers.self_attn.attention": (2 * seen * HEADS * (WIDTH + WIDTH), 0, 2 * (past + rows) * state, 0),
        "layers.self_attn.o_proj.residual": (*linear(rows, HEADS * WIDTH, HIDDEN, False), 0, 0),
        # Gate and up are padded each by itself.
        "layers.mlp.gate_up": (gate_up[0], (2 * padded(INNER) * HIDDEN + HIDDEN) * FLOAT, 0, 0),
        "layers.mlp.down_proj.residual": (*linear(rows, INNER, HIDDEN, False), 0, 0),
        # One row gets logits.
        "lm_head": (*linear(1, HIDDEN, VOCABULARY, True), 0, 0),
        "advance": (0, 0, 0, 0),
    }
    return costs


class Explainer:
    """Of one machine, whatever runs the test: the CPU's description with figures."""

    def __init__(self, batonc, path):
        self.batonc = os.path.abspath(batonc)
        self.usual = json_of(os.path.join(os.path.dirname(self.batonc), "../lib/baton/targets/cpu.json"))
        self.target = path("cpu.json")
        with open(self.target, "w") as file:
            json.dump(self.usual | FIGURES, file)

    def flags(self, flags):
        own = any(str(flag).startswith(("--target=", "--target-file=")) for flag in flags)
        return [*flags] if own else [f"--target-file={self.target}", *flags]

    def json(self, model, *flags):
        return json.loads(run([self.batonc, "explain", model, "--json", *self.flags(flags)]).stdout)

    def text(self, model, *flags):
        return run([self.batonc, "explain", model, *self.flags(flags)]).stdout


def close(found, expected, what):
    expect(abs(found - expected) <= 1e-3 + 1e-6 * abs(expected), f"{what}: {found}, expected {expected}")


def check_costs(explainer, folder):
    for flags, rows, past in [(["--context", 128], 1, 128), (["--context", 0], 1, 0),
                              (["--prefill", 100, "--past", 50], 100, 50)]:
        (step,) = (explained := explainer.json(folder, *flags))["steps"]
        expect((step["rows"], step["past"], step["outputs"]) == (rows, past, 1), f"{flags}: {step}")
        expected = expected_costs(rows, past)
        expect([phase["name"] for phase in explained["phases"]] == list(expected), "phases")
        for phase, at in zip(explained["phases"], step["phases"]):
            name, repeat = phase["name"], phase["repeat"]
            flops, weights, read, written = (repeat * cost for cost in expected[name])
            expect(at["flops_known"], name)
            close(at["flops"], flops, f"{flags} {name} FLOP")
            close(at["bytes"]["weights"], weights, f"{flags} {name} weights")
            close(at["bytes"]["state_read"], read, f"{flags} {name} state read")
            close(at["bytes"]["state_written"], written, f"{flags} {name} state written")
    # A residual, the rows of x and a result: one byte of each counts once.
    (step,) = explainer.json(folder, "--prefill", 100)["steps"]
    at = step["phases"][8]
    close(at["bytes"]["activations_read"], LAYERS * 100 * (HEADS * WIDTH + HIDDEN) * FLOAT, "o_proj reads")
    close(at["bytes"]["activations_written"], LAYERS * 100 * HIDDEN * FLOAT, "o_proj writes")


def check_streams(explainer, folder):
    """Between two sublayers the streams are read once and written once."""
    rows, layers, streams, width, iterations = 100, 3, 4, 44, 10
    maps = streams * streams + 2 * streams
    row = streams * width
    explained = explainer.json(folder, "--prefill", rows)
    (step,) = explained["steps"]
    found = {phase["name"]: at for phase, at in zip(explained["phases"], step["phases"])}
    # The product and the squares; sigmoids; sums and divisions; what is read.
    enter = 2 * row * (maps + 1) + 2 * row + 12 * streams + (2 + 4 * iterations) * streams**2
    post = 2 * row * (streams + 1)
    weights = (maps * row + 3 + maps) * FLOAT
    written = maps - streams
    for name, flops, parameters, read, made in (
        ("layers.attn_hc.pre", enter, weights, row, width + maps),
        ("layers.mlp_hc.pre", enter + post, weights, row + width + written, row + width + maps),
        ("layers.mlp_hc.post", post, 0, row + width + written, row),
    ):
        at = found[name]
        close(at["flops"], layers * rows * flops, f"{name} FLOP")
        close(at["bytes"]["weights"], layers * parameters, f"{name} weights")
        close(at["bytes"]["activations_read"], layers * rows * read * FLOAT, f"{name} reads")
        close(at["bytes"]["activations_written"], layers * rows * made * FLOAT, f"{name} writes")
    (apart,) = explainer.json(folder, "--prefill", rows, "--disable-pass=hyper-fusion")["steps"]
    moved = lambda step: sum(at["bytes"]["activations_read"] + at["bytes"]["activations_written"]
                             for at in step["phases"])
    # Two readings for the maps and one of what is written between sublayers less,
    # and no logits, written and read; at the end one row and one map less.
    less = layers * (3 * row + 4 * maps + 2 * streams) * rows + row + 3 * streams
    close(moved(apart) - moved(step), less * FLOAT, "hyper-fusion saves")


def tasks_of_workers(timeline):
    """How many tasks of a phase each worker runs."""
    counts = collections.Counter()
    for entry in timeline["runs"]:
        counts[entry[0], entry[1]] += entry[6]
    return counts


def check_predictions(explainer, folder):
    flags = ["--workers", 2, "--bandwidth", 10, "--peak", 50, "--event-us", 2]
    explained = explainer.json(folder, *flags)
    machine = {name: (figure["value"], figure["from"]) for name, figure in explained["machine"].items()}
    expect(machine == {"workers": (2, "flag"), "read_bandwidth_gb_s": (10, "flag"),
                       "fma_gflop_s": (50, "flag"), "event_us": (2, "flag")}, f"{machine}")
    expect([(step["name"], step["rows"], step["past"]) for step in explained["steps"]]
           == [("decode", 1, 128), ("prefill", 128, 0)], "the steps shown without flags")
    for step in explained["steps"]:
        for phase, at in zip(explained["phases"], step["phases"]):
            name = phase["name"]
            close(at["memory_us"], sum(at["bytes"].values()) / 10e3, name)
            close(at["compute_us"], at["flops"] / 50e3, name)
            close(at["predicted_us"], max(at["memory_us"], at["compute_us"]) + at["imbalance_us"] + at["events_us"] + at["boundary_us"], name)
            close(at["events_us"], 2 * phase["repeat"] if phase["waits"] else 0, name)
            expect(-(-at["tasks"] // 2) <= at["rounds"] <= at["tasks"] and 0 < at["busy"] <= 1, f"{name}: {at}")
        close(step["predicted_us"], sum(at["predicted_us"] for at in step["phases"]), "step")
        runs = step["simulated"]["runs"]
        expect(sum(run[6] for run in runs) == sum(at["tasks"] * phase["repeat"] for phase, at in
                                                  zip(explained["phases"], step["phases"])), "simulated tasks")
        close(max(run[5] for run in runs), step["simulated_us"], "the simulation's end")
        for worker in range(2):
            ends = [(run[3], run[5]) for run in runs if run[0] == worker]
            expect(all(first[1] <= second[0] + 1e-3 for first, second in zip(ends, ends[1:])), "tasks overlap")
    # Workers' shares are of equal rows: of 4 tiles of 48 rows and 4 of 12, half of
    # the rows is nearest to the third tile's end.
    (step,) = explainer.json(folder, "--prefill", 60, "--workers", 2)["steps"]
    names = [phase["name"] for phase in explained["phases"]]
    counts = tasks_of_workers(step["simulated"])
    expect([counts[worker, names.index("layers.mlp.gate_up")] for worker in (0, 1)]
           == [3 * LAYERS, 5 * LAYERS], f"shares: {counts}")
    # As small as a program gets.
    (decode, prefill) = explainer.json(folder, "--max-seq", 1)["steps"]
    expect((decode["rows"], decode["past"], prefill["rows"]) == (1, 0, 1), "a program of one position")
    default = explainer.json(folder)["machine"]
    expect(all(figure["from"] == "cpu.json" for figure in default.values()), f"{default}")


def check_reasons(explainer, folder):
    text = explainer.text(folder)
    expect(max(map(len, text.splitlines())) <= 120, "lines of more than 120 columns")
    plan = run([explainer.batonc, folder, "--emit=event"]).stdout
    for name in re.findall(r'event\.phase "(.*?)"', plan):
        expect(f"\n{name}  (" in text, f"{name} is not explained")

    def reasons(name):
        block = re.search(rf"\n{re.escape(name)}  .*?\n(.*?)(\n\n|$)", text, re.S)[1]
        return re.sub(r"\s+", " ", block)

    for name, pattern in [
        ("layers.self_attn.q_proj+k_proj+v_proj", r"one product reads its rows once for .*q_proj.*k_proj.*v_proj"),
        ("layers.self_attn.q_proj+k_proj+v_proj", r"keeps columns \(j\): `self_attn.q_rope` waits for \[0, 2\) only"),
        ("layers.self_attn.q_proj+k_proj+v_proj", r"rms_norm of @embed_tokens is no phase of its own"),
        ("layers.self_attn.q_proj+k_proj+v_proj", r"3 tasks on 16 workers: 1 round, \d+ % busy \(13 workers without a task\)"),
        ("layers.self_attn.attention", r"counts columns \(j\), 2: `self_attn.o_proj.residual` reads \[0, 96\)"),
        ("layers.self_attn.attention", r"dealt out in turn, because tiles read boxes of different sizes"),
        ("layers.self_attn.attention", r"8 words of 2 notifications"),
        ("layers.self_attn.k_rope", r"may run beside `self_attn.q_rope` and `self_attn.v_state`"),
        ("layers.self_attn.o_proj.residual", r"into the bytes of @layers.self_attn.q_rope"),
        ("layers.self_attn.o_proj.residual", r"reads what `embed_tokens` writes, and needs no wait"),
        ("layers.self_attn.o_proj.residual", r"adds @embed_tokens"),
        ("layers.mlp.gate_up", r"half of linear_columns"),
        ("lm_head", r"counts rows \(i\), outputs ceildiv 48: `advance` reads \[0, outputs\)"),
    ]:
        expect(re.search(pattern, reasons(name)), f"{name}: no /{pattern}/ in {reasons(name)}")
    # A plan states its tiles itself, and unfused ops are phases.
    unfused = explainer.text(folder, "--disable-pass=attention-fusion")
    expect("softmax" in unfused and "no score is stored" not in unfused and "unknown" not in unfused,
           "the unfused plan is not explained")


def check_windows(explainer, folder):
    """Positions before a window are neither computed with nor read."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    window, context = config["sliding_window"], config["max_position_embeddings"] - 1
    expect(window < context, "the case has no window to test")
    (step,) = (explained := explainer.json(folder, "--context", context))["steps"]
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    for phase, at in zip(explained["phases"], step["phases"]):
        if "attention" in phase["calls"]:
            close(at["flops"], phase["repeat"] * 4 * window * heads * width, phase["name"])
            close(at["bytes"]["state_read"], phase["repeat"] * 2 * window * groups * width * FLOAT, phase["name"])


def check_blocks(explainer, path):
    """Of quantised weights the bytes are those of their blocks, and bodies and forms say which."""
    width, inner, layers, vocabulary = 256, 512, 3, 96
    bits = {"q4_k": 4.625, "q6_k": 6.5625, "q8_0": 8.5}
    model = path("blocks.gguf")
    gguf_writer.llama(model, lambda layer, name: "Q6_K" if layer is None or (name, layer) == ("attn_v", 1) else
                      "Q8_0" if name == "attn_v" else "Q4_K", layers=layers, width=width, inner=inner, vocabulary=vocabulary)

    def matrix(kind, outputs, inputs):
        return padded(outputs) * inputs * bits[kind] / 8

    norm = width * FLOAT
    # A panel of several formats begins with 64 bytes that say which.
    heads = padded(width // 2) / 16 * 64
    expected = {
        "embed_tokens": ("embedding_panels_q6_k", width * bits["q6_k"] / 8),
        "layers.self_attn.q_proj+k_proj": ("linear_q4_k", layers * (matrix("q4_k", width + width // 2, width) + norm)),
        "layers.self_attn.v_proj": ("linear_mixed", sum(matrix(kind, width // 2, width) + heads + norm
                                                           for kind in ("q8_0", "q6_k", "q8_0"))),
        "layers.self_attn.o_proj.residual": ("linear_q4_k", layers * matrix("q4_k", width, width)),
        "layers.mlp.gate_up": ("gated_linear_q4_k", layers * (matrix("q4_k", 2 * inner, width) + norm)),
        "layers.mlp.down_proj.residual": ("linear_q4_k", layers * matrix("q4_k", width, inner)),
        "lm_head": ("linear_q6_k", matrix("q6_k", vocabulary, width) + norm)}
    decode, *_ = (explained := explainer.json(model))["steps"]
    found = {phase["name"]: (phase["calls"], at["bytes"]["weights"]) for phase, at in zip(explained["phases"], decode["phases"])}
    for name, (call, size) in expected.items():
        expect(name in found and any(each.startswith(call) for each in found[name][0]), f"{name} does not call {call}: {found}")
        close(found[name][1], size, f"{name}: bytes of weights")
    plan = run([explainer.batonc, model, "--emit=event"]).stdout
    for form in ('"q4_k", 256 by 512', '"q8_0|q6_k", 128 by 256', '"q6_k", 96 by 256'):
        expect(f"#event.blocks<{form}" in plan, f"no form is {form}")


def check_split(explainer, folder, path):
    """Parts of attention cost together what it costs in one task."""
    with open(path("split.json"), "w") as file:
        json.dump({"max_rows": 1, "max_outputs": 1, "linear_rows": 16, "linear_columns": 64, "attention_rows": 16,
                   "plain_rows": 16, "attention_split": 64}, file)
    flags = ["--context", 200, "--workers", 2, "--bandwidth", 10, "--peak", 50, "--event-us", 2]
    found = []
    for more in ([], [f"--target-file={path('split.json')}"]):
        (step,) = (explained := explainer.json(folder, *flags, *more))["steps"]
        found.append({phase["calls"][0]: at for phase, at in zip(explained["phases"], step["phases"])
                      if any("attention" in call for call in phase["calls"])})
    whole, parts = found[0]["attention"], found[1]["attention_partial"]
    expect(parts["tasks"] == 4 * whole["tasks"], f"{parts['tasks']} tasks compute parts")
    close(parts["flops"], whole["flops"], "operations of all parts")
    close(parts["bytes"]["state_read"], whole["bytes"]["state_read"], "keys and values of all parts")
    expect(found[1]["attention_merge"]["flops"] > 0, "merging costs nothing")
    text = explainer.text(folder, *flags, f"--target-file={path('split.json')}")
    expect("1 block (attention_split, 64 positions each)" in " ".join(text.split()), "no reason for the parts")


def write_trace(program, path):
    program.generate([1, 5, 2, 7, 3, 4], 6, "--workers", 3, "--prefill-chunk", 4, "--trace", path("trace.json"))


def check_trace(explainer, program, folder, path):
    info = json.loads(run([program.path, "info", "--json"]).stdout)["costs"]
    flops, weights = 0, 0
    for flag in ("--context",):
        (step,) = (explained := explainer.json(folder, flag, 10))["steps"]
        for phase, at in zip(explained["phases"], step["phases"]):
            if any("linear" in call for call in phase["calls"]):
                norm = "rms_norm" in phase["calls"]
                flops += at["flops"] - (phase["repeat"] * 4 * HIDDEN if norm else 0)
                weights += at["bytes"]["weights"] - (phase["repeat"] * HIDDEN * FLOAT if norm else 0)
    expect((flops, weights) == (info["flops_per_token"], info["weight_bytes_per_token"]),
           f"explain says {flops}, {weights}; info {info}")

    with open(path("trace.json")) as file:
        events = json.load(file)["traceEvents"]
    explained = explainer.json(folder, "--trace", path("trace.json"), "--context", 8, "--prefill", 2, "--past", 4)
    expect(explained["machine"]["workers"] == {"value": 3, "from": "the trace"}, "workers of the trace")
    decode, prefill = explained["steps"]
    expect((prefill["rows"], prefill["past"]) == (2, 4) and (decode["rows"], decode["outputs"]) == (1, 1),
           "the steps of the trace")
    for step in (decode, prefill):
        (slice_,) = [e for e in events if e.get("cat") == "step" and
                     all(e["args"][name] == step[name] for name in ("rows", "past", "outputs"))]
        tasks = [e for e in events if e.get("cat") == "task" and e["args"]["step"] == slice_["args"]["step"]]
        end = max(e["ts"] + e["dur"] for e in tasks) - slice_["ts"]
        expect(abs(step["measured_us"] - end) < .01, f"measured {step['measured_us']}, in the trace {end}")
        expect(abs(sum(at["measured_us"] for at in step["phases"]) - end) < .1, "phases do not add up to the step")
        for phase, at in zip(explained["phases"], step["phases"]):
            busy = sum(e["dur"] - e["args"]["wait_us"] for e in tasks if e["name"] == phase["name"])
            expect(abs(at["measured_busy_us"] - busy) < .1, f"{phase['name']}: {at} {busy}")
        expect(sum(run[6] for run in step["measured"]["runs"]) == len(tasks), "tasks of the measured timeline")
        expect(tasks_of_workers(step["measured"]) == tasks_of_workers(step["simulated"]),
               "a worker runs other tasks than explain says")
    chosen = explainer.json(folder, "--trace", path("trace.json"))["steps"]
    expect([(step["name"], step["rows"], step["past"] > 0) for step in chosen]
           == [("decode", 1, True), ("prefill", 4, False)] and all(step["measured_us"] for step in chosen),
           "the steps chosen from a trace")
    text = explainer.text(folder, "--trace", path("trace.json"), "--prefill", 3)
    expect("not measured: the trace has no step of 3 rows" in text, "nothing says that a step is not in the trace")
    text = explainer.text(folder, "--trace", path("trace.json"), "--context", 8)
    expect("ratio" in text and max(map(len, text.splitlines())) <= 120, "the table with measured times")


def check_devices(explainer, folder, bf16, path):
    """A target with tensor cores, through which products with BF16 weights go."""
    cuda = "--target=cuda:sm_90a"
    explained = explainer.json(bf16, cuda)
    machine = {name: (figure["value"], figure["from"]) for name, figure in explained["machine"].items()}
    expect(machine["workers"] == (132, "cuda.json") and machine["read_bandwidth_gb_s"] == (4800, "cuda.json"),
           f"{machine}")
    peak, tensor = machine["fma_gflop_s"][0], machine["tensor_bf16_gflop_s"][0]
    # The data sheet's figures, to four digits.
    expect(abs(peak - 67000) < 10 and abs(tensor - 989000) < 100, f"{machine}")
    products = 0
    for step in explained["steps"]:
        for phase, at in zip(explained["phases"], step["phases"]):
            if any(call.startswith("linear") for call in phase["calls"]):
                products += 1
                expect(any(call == "linear_bf16" for call in phase["calls"]), f"{phase['calls']}")
                least, most = at["flops"] / tensor / 1e3, at["flops"] / peak / 1e3
                # Norms in front of them do not.
                rest = 0 if len(phase["calls"]) == 1 else .2
                expect(least - 2e-3 <= at["compute_us"] <= least + rest * (most - least) + 2e-3,
                       f"{phase['name']}: {at['compute_us']}, expected {least}")
            else:
                close(at["compute_us"], at["flops"] / peak / 1e3, phase["name"])
    expect(products > 4, "no products")
    ordinary = explainer.json(folder, cuda, "--peak", 50, "--tensor-peak", 500)
    for step in ordinary["steps"]:
        for phase, at in zip(ordinary["phases"], step["phases"]):
            close(at["compute_us"], at["flops"] / 50e3, phase["name"])
    text = explainer.text(bf16, cuda)
    expect("GFLOP/s of BF16 products (cuda.json)" in " ".join(text.split())
           and max(map(len, text.splitlines())) <= 120, f"the text of a device's plan: {text}")
    run([explainer.batonc, "explain", bf16, cuda, "--html", path("device.html")])
    with open(path("device.html")) as file:
        expect(json.loads(Page(file.read()).scripts["data"]) == explained, "the page of a device's plan")


# What a machine says of itself, and how often it was asked.
STAND_IN = """#!/bin/sh
echo asked >> %s
echo '{"workers": 4, "read_bandwidth_gb_s": 20, "fma_gflop_s_per_worker": 30, "event_us": 0.25}'
"""


def check_host(explainer, folder, path):
    """What nobody states of the machine at hand is measured, once."""
    os.makedirs(path("baton/bin"))
    os.makedirs(path("baton/lib/baton"))
    batonc = shutil.copy(explainer.batonc, path("baton/bin/batonc"))
    installed = os.path.join(os.path.dirname(explainer.batonc), "../lib/baton")
    for name in os.listdir(installed):
        if name != "machine-speed":
            os.symlink(os.path.abspath(os.path.join(installed, name)), os.path.join(path("baton/lib/baton"), name))
    program = path("baton/lib/baton/machine-speed")

    def stand_in(text):
        with open(program, "w") as file:
            file.write(text)
        os.chmod(program, 0o755)

    stand_in(STAND_IN % path("asked"))
    cache = dict(os.environ, BATON_CACHE_DIR=path("figures"))

    def ask(*flags, environment=cache, check=True):
        """The machine, as value and source; what was said; how often was measured by now."""
        result = run([batonc, "explain", folder, "--json", *flags], env=environment, check=check)
        asked = open(path("asked")).read().count("asked") if os.path.exists(path("asked")) else 0
        machine = json.loads(result.stdout)["machine"] if result.stdout else {}
        return {name: (figure["value"], figure["from"]) for name, figure in machine.items()}, result.stderr, asked

    machine, said, asked = ask()
    source = machine["workers"][1]
    expect(re.fullmatch(r"measured here on \d{4}-\d\d-\d\d", source) and asked == 1, f"{machine}")
    expect(machine == {"workers": (4, source), "read_bandwidth_gb_s": (20, source), "fma_gflop_s": (120, source),
                       "event_us": (.25, source)}, f"{machine}")
    expect(re.fullmatch(r"measuring this machine, \d+ cores? of .+: about two seconds\n"
                        rf"its figures are kept in {re.escape(path('figures'))}\n", said), said)
    (kept,) = os.listdir(path("figures"))
    expect(ask() == (machine, "", 1), "what was kept is measured again")
    again, said, asked = ask("--no-cache")
    expect(again == machine and asked == 2 and "kept" not in said, f"--no-cache: {said}")
    # Stated by flags and by the file: only the rest is the machine's.
    with open(path("stated.json"), "w") as file:
        json.dump(explainer.usual | {"read_bandwidth_gb_s": 77, "workers": 3}, file)
    stated, said, asked = ask(f"--target-file={path('stated.json')}", "--event-us", 2)
    expect(stated == {"workers": (3, "stated.json"), "read_bandwidth_gb_s": (77, "stated.json"),
                      "fma_gflop_s": (90, source), "event_us": (2, "flag")} and asked == 2 and not said, f"{stated}")
    # All of it stated: nothing is looked for.
    os.remove(os.path.join(path("figures"), kept))
    _, said, asked = ask(f"--target-file={explainer.target}")
    expect(asked == 2 and not said and not os.listdir(path("figures")), "a machine is measured that nobody asks for")
    # Damaged, and without a place to write.
    ask("--quiet")
    with open(os.path.join(path("figures"), kept), "r+") as file:
        file.truncate(90)
    again, said, asked = ask("--quiet")
    expect(again == machine and asked == 4 and not said, f"a damaged entry: {again}, {said}")
    _, said, _ = ask(environment=dict(os.environ, BATON_CACHE_DIR="/dev/null"))
    expect("not kept: cannot write to /dev/null" in said, said)
    # No plan depends on the machine, and no compilation asks for it.
    plans = []
    for figures in ({}, FIGURES):
        with open(path("figured.json"), "w") as file:
            json.dump(explainer.usual | figures, file)
        plans.append(run([batonc, folder, "--emit=event", f"--target-file={path('figured.json')}"],
                         env=dict(cache, BATON_CACHE_DIR=path("plans"))).stdout)
    expect(plans[0] == plans[1] and not os.path.exists(path("plans")), "a plan depends on the machine's figures")
    for text, pattern in [("#!/bin/sh\necho '{}'\n", "states no figures"),
                          ("#!/bin/sh\necho error: no memory >&2\nexit 1\n", "error: no memory")]:
        stand_in(text)
        _, said, _ = ask("--no-cache", "--quiet", check=False)
        expect(re.fullmatch(rf"error: cannot measure this machine: .*machine-speed: {pattern}; --workers, --bandwidth, "
                            r"--peak and --event-us state it\n", said), said)
    # The program itself: figures that are positive numbers.
    found = json.loads(run([os.path.join(installed, "machine-speed")]).stdout)
    expect(list(found) == list(FIGURES) and all(value > 0 for value in found.values()), f"{found}")


def check_measure(explainer, folder):
    explained = explainer.json(folder, "--measure", "--workers", 2)
    for step in explained["steps"]:
        expect(step["measured_us"] and step["measured_us"] > 0, f"{step['name']} is not measured")
    sources = {name: figure["from"] for name, figure in explained["machine"].items()}
    expect(sources["read_bandwidth_gb_s"] == sources["fma_gflop_s"] == "measured by bench"
           and sources["event_us"] == "cpu.json", f"{sources}")
    measured = explainer.json(folder, "--target=cuda:emulated", "--measure", "--workers", 2, "--context", 3)
    sources = {name: figure["from"] for name, figure in measured["machine"].items()}
    expect(sources == {"workers": "flag", "read_bandwidth_gb_s": "cuda.json", "fma_gflop_s": "cuda.json",
                       "event_us": "cuda.json", "tensor_bf16_gflop_s": "cuda.json"}
           and measured["steps"][0]["measured_us"] > 0, f"{sources}")


class Page(html.parser.HTMLParser):
    """The texts of a page's scripts, by their id."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.current, self.addresses = {}, None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.addresses += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "script":
            self.current = attributes.get("id", "")

    def handle_data(self, data):
        if self.current is not None:
            self.scripts[self.current] = self.scripts.get(self.current, "") + data

    def handle_endtag(self, tag):
        if tag == "script":
            self.current = None


def is_blank(png):
    """Whether all pixels of a screenshot are the same."""
    expect(png[:8] == b"\x89PNG\r\n\x1a\n", "no PNG")
    at, data = 8, b""
    while at < len(png):
        size = int.from_bytes(png[at:at + 4], "big")
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + size]
        at += 12 + size
    # Filtered rows of one colour hold a handful of values; a drawing does not.
    return len(set(zlib.decompress(data))) < 16


def check_browser(page, phases, path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        print("SKIPPED: no chromium here, so the page was not opened in a browser")
        return
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               f"--user-data-dir={path('profile')}", "--virtual-time-budget=5000", "--window-size=1400,1800"]

    def browse(*flags):
        return subprocess.run([*command, *flags, "file://" + page], capture_output=True, text=True, timeout=180)

    dom = browse("--dump-dom").stdout
    expect('data-rendered="yes"' in dom, f"the page was not drawn: {dom[-2000:]}")
    expect('id="error"' not in dom, "the page's script failed")
    for index in range(phases):
        expect(f'id="phase-{index}"' in dom and f'data-phase="{index}"' in dom, f"phase {index} was not drawn")
    browse(f"--screenshot={path('page.png')}")
    with open(path("page.png"), "rb") as file:
        expect(not is_blank(file.read()), "the page is blank")
    print("the page was opened in", os.path.basename(browser))


def check_page(explainer, folder, path, browser):
    # A name that would end the data's element.
    model = path("a & b<")
    shutil.copytree(folder, os.path.join(model, "script><!--"), ignore=shutil.ignore_patterns(".baton"))
    model = os.path.join(model, "script><!--")
    result = run([explainer.batonc, "explain", model, *explainer.flags(["--html", path("page.html"), "--trace", path("trace.json")])])
    expect(result.stdout == "", "--html prints to standard output too")
    with open(path("page.html")) as file:
        text = file.read()
    page = Page(text)
    expect(not page.addresses and "http://www.w3.org/2000/svg" in text
           and len(re.findall("https?://", text)) == 1, f"the page refers to others: {page.addresses}")
    embedded = json.loads(page.scripts["data"])
    expect(embedded == explainer.json(model, "--trace", path("trace.json")), "the page's data is not --json's")
    expect(embedded["model"] == "script><!--", embedded["model"])
    if browser:
        check_browser(path("page.html"), len(embedded["phases"]), path)


# relu(gate)^2 * up, times the down projection: 16 columns a task.
FUSED_DOWN = """module attributes {transform.with_named_sequence} {
  event.body @down grid ()[rows, past, outputs] -> (rows ceildiv 16, 4)
      accesses [#event.access<read @gate, (t, c)[rows, past, outputs] -> (t * 16, 0) to (t, c)[rows, past, outputs] -> (t * 16 + 16, 100)>,
                #event.access<read @up, (t, c)[rows, past, outputs] -> (t * 16, 0) to (t, c)[rows, past, outputs] -> (t * 16 + 16, 100)>,
                #event.access<read @w, (t, c)[rows, past, outputs] -> (c * 16, 0) to (t, c)[rows, past, outputs] -> (c * 16 + 16, 100)>,
                #event.access<write @y, (t, c)[rows, past, outputs] -> (t * 16, c * 16) to (t, c)[rows, past, outputs] -> (t * 16 + 16, c * 16 + 16)>] {
  ^bb0(%gate: memref<?x?xf32, strided<[?, ?]>>, %up: memref<?x?xf32, strided<[?, ?]>>,
       %w: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%y : memref<?x?xf32, strided<[?, ?]>>)
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, k)>,
                                     affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%gate, %up, %w : memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?]>>)
        outs(%y : memref<?x?xf32, strided<[?, ?]>>) {
    ^bb0(%g: f32, %u: f32, %weight: f32, %sum: f32):
      %positive = arith.maximumf %g, %zero : f32
      %square = arith.mulf %positive, %positive : f32
      %product = arith.mulf %square, %u : f32
      %term = arith.mulf %product, %weight : f32
      %next = arith.addf %sum, %term : f32
      linalg.yield %next : f32
    }
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %ops = transform.baton.match ["model.activate", "model.mul", "model.linear"] named "layers.mlp.{act_fn,gate_up,down_proj}" in %program
    transform.baton.replace %ops with @down
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    transform.yield
  }
}
"""


def check_own_body(explainer, folder, path):
    """A body of the user's reads of a weight what it states: all tasks together read it once."""
    with open(path("down.mlir"), "w") as file:
        file.write(FUSED_DOWN)
    explained = explainer.json(folder, f"--schedule={path('down.mlir')}", "--prefill", 100)
    (step,) = explained["steps"]
    ((phase, at),) = [(phase, at) for phase, at in zip(explained["phases"], step["phases"])
                      if phase["name"] == "layers.mlp.down_proj"]
    close(at["bytes"]["weights"], LAYERS * HIDDEN * INNER * FLOAT, "weights of a body")
    # Each of seven tiles of rows reads them.
    text = explainer.text(folder, f"--schedule={path('down.mlir')}", "--prefill", 100)
    expect(re.search(r"a task reads 6.25 KiB of weights; all tiles together read each byte 7\s+times", text),
           "what a task of an own body reads")


def check_ranks(explainer, folder):
    """A rank has a half of the weights; what exchanges keep is no weight."""
    one, half = explainer.json(folder)["memory"], explainer.json(folder, "--mesh=tp=2")["memory"]
    expect(one["exchanges"] == one["kept"] == half["kept"] == 0 < half["exchanges"], f"{half}")
    expect(0.45 < half["weights"] / one["weights"] < 0.75 and 2 * half["states"] == one["states"], f"{one} {half}")
    explained = explainer.json(folder, "--mesh=tp=2", "--context", 9)
    expect(all(at["flops_known"] for at in explained["steps"][0]["phases"]), "operations of a rank")
    text = explainer.text(folder, "--mesh=tp=2")
    expect(re.search(r"\nmemory .* weights, .* keys and values, .* for exchanges, ", text), text[:300])


def check_batches(explainer, folder):
    """A row of each sequence, inputs that are no exchanges, and a note about what is not counted."""
    explained = explainer.json(folder, "--max-batch=4", "--max-rows=32", "--max-seq=200")
    expect((explained["sequences"], explained["max_rows"], explained["max_seq"]) == (4, 32, 200), f"{explained}")
    decode, prefill = explained["steps"]
    shapes = [(step["rows"], step["past"], step["outputs"]) for step in (decode, prefill)]
    expect(shapes == [(4, 0, 4), (32, 0, 1)], f"{shapes}")
    memory, page = explained["memory"], 2 * 64 * GROUPS * WIDTH * FLOAT * LAYERS
    expect((memory["states"], memory["exchanges"]) == (page, 0), f"{memory}")
    expect(all("only a step knows" in step["notes"][0] for step in (decode, prefill)), f"{decode['notes']}")
    text = explainer.text(folder, "--max-batch=4", "--max-rows=32", "--max-seq=200")
    for line in ("at most 32 rows a step of 4 sequences, each of at most 200 positions", "decode step: 4 rows, 4 rows of logits",
                 "keys and values of a page"):
        expect(line in text, f"no '{line}' in {text[:600]}")


def check_plans(explainer, folder, path):
    """A plan as IR; a body that the task library does not have."""
    plan = run([explainer.batonc, folder, "--emit=event"]).stdout
    with open(path("plan.mlir"), "w") as file:
        file.write(plan.replace('event.call "append_values"', 'event.call "transmogrify"', 1))
    (step,) = (explained := explainer.json(path("plan.mlir"), "--context", 9))["steps"]
    known = {phase["name"]: at["flops_known"] for phase, at in zip(explained["phases"], step["phases"])}
    expect([name for name in known if not known[name]] == ["layers.self_attn.v_state"], f"{known}")
    text = explainer.text(path("plan.mlir"))
    expect("unknown" in text and "linear_rows" not in text, "a given plan's tiles come from no description")

    # What a pass remarks of an op stands under the op's phase. Attention with another
    # function of its scores is not fused.
    model = run([explainer.batonc, folder, "--emit=primitive"]).stdout
    line, scores, kind = re.search(r"\n.* = model\.mask (%\w+) .*: \((!model\.tensor<[^>]*>)\).*", model).group(0, 1, 2)
    with open(path("capped.mlir"), "w") as file:
        file.write(model.replace(line, f"\n%capped = model.tanh {scores} : ({kind}) -> {kind}"
                                       + line.replace(scores, "%capped", 1)))
    text = explainer.text(path("capped.mlir"))
    expect(re.search(r"\nlayers\.self_attn\.weighted_values  .*\n  fusion  .*a tanh of the scores", text), f"no remark at the product: {text}")


def check_errors(explainer, folder, path):
    def refuses(pattern, *flags, model=folder):
        work = path("work")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        result = run([explainer.batonc, "explain", model, *flags], check=False, cwd=work)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and lines[0].startswith("error: ")
               and re.search(pattern, lines[0]) and result.stdout == "" and not os.listdir(work),
               f"{flags}: expected /{pattern}/, got {result} and {os.listdir(work)}")

    trace = path("trace.json")
    refuses("nowhere.json.*cannot be read", "--trace", "nowhere.json")
    refuses("no trace", "--trace", os.path.join(folder, "config.json"))
    refuses("no trace", "--trace", os.path.join(folder, "logits.npy"))
    refuses("another program: it has no task of phase", "--trace", trace, "--disable-pass=norm-rewrites")
    refuses("another program: the plan has no phase", "--trace", trace, model=os.path.join(folder, "..", "gpt2-small"))
    refuses("another program", "--trace", trace, "--max-seq=5")
    with open(trace) as file:
        events = json.load(file)
    for name, change, pattern in [
        ("steps", lambda e: e.get("cat") != "step", "no steps"), ("tasks", lambda e: e.get("cat") != "task", "no steps"),
        ("half", lambda e: e["name"] != "advance", "no whole step"),
    ]:
        with open(path(name), "w") as file:
            json.dump({"traceEvents": list(filter(change, events["traceEvents"]))}, file)
        refuses(pattern, "--trace", path(name))
    with open(path("types"), "w") as file:
        json.dump({"traceEvents": [{"cat": "step", "args": 3}]}, file)
    refuses("no trace of a Baton program", "--trace", path("types"))
    refuses("--trace and --measure", "--trace", trace, "--measure")
    refuses("--workers 4.*3 workers", "--trace", trace, "--workers", 4)
    refuses("missing/page.html", "--html", "missing/page.html")
    refuses("cannot write", "--html", "/dev/null/page.html")
    refuses("is a folder", "--html", ".")
    refuses("--json and --html", "--json", "--html", "page.html")
    refuses("--past.*--prefill", "--past", 3)
    refuses("--context 256 is out of range", "--context", 256)
    refuses("--prefill 257 is out of range", "--prefill", 257)
    refuses("--prefill 0 is out of range", "--prefill", 0)
    refuses("--past 250 is out of range", "--prefill", 16, "--past", 250)
    refuses("no multiple of --prefill 16", "--prefill", 16, "--past", 8, "--measure")
    refuses("no room to decode", "--prefill", 128, "--past", 128, "--measure")
    for flag, value in [("--workers", 0), ("--workers", 1.5), ("--bandwidth", -1), ("--peak", 0), ("--tensor-peak", 0), ("--event-us", "x")]:
        refuses(flag, flag, value)
    refuses("--frobnicate", "--frobnicate")
    refuses("MODEL is a checkpoint folder", model="nowhere")
    refuses("--schedule=dynamic is not built yet", "--schedule=dynamic")
    with open(path("target.json"), "w") as file:
        json.dump({name: 16 for name in ("max_rows", "max_outputs", "linear_rows", "linear_columns",
                                         "attention_rows", "plain_rows")}, file)
    refuses("--event-us is missing.*target.json", f"--target-file={path('target.json')}", "--target=cuda:sm_90a",
            "--workers", 2, "--bandwidth", 10, "--peak", 50)
    with open("/dev/full", "w") as full:
        result = subprocess.run([explainer.batonc, "explain", folder, *explainer.flags([])], stdout=full, stderr=subprocess.PIPE, text=True)
    expect(result.returncode == 1 and "standard output" in result.stderr, f"full disk: {result}")
    result = run([explainer.batonc, "explain", "--help"])
    for word in ("--context", "--trace", "--measure", "--html", "--bandwidth", "--max-seq", "Examples:"):
        expect(word in result.stdout, f"--help lacks {word}")

    # A model whose folder has the command's name.
    shutil.copytree(folder, path("explain"), ignore=shutil.ignore_patterns(".baton"))
    for command in (["./explain", "--emit=event"], ["explain", "explain"]):
        expect("layers.mlp.gate_up" in run([explainer.batonc, *command], cwd=path("")).stdout, f"{command}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = os.path.abspath(os.path.join(arguments.golden, "llama-gqa"))
    explainer = Explainer(arguments.batonc, path)
    program = programs.Program(arguments.batonc, folder, path("program"))
    write_trace(program, path)
    check_page(explainer, folder, path, browser=arguments.more)
    if arguments.more:
        test_more(explainer, arguments.golden, folder, path)
        return
    check_costs(explainer, folder)
    check_streams(explainer, os.path.join(arguments.golden, "llama-hyper-sinkhorn"))
    check_predictions(explainer, folder)
    check_reasons(explainer, folder)
    check_windows(explainer, os.path.join(arguments.golden, "mistral-window"))
    check_blocks(explainer, path)
    check_split(explainer, folder, path)
    check_own_body(explainer, folder, path)
    check_ranks(explainer, folder)
    check_batches(explainer, folder)
    check_plans(explainer, folder, path)
    check_trace(explainer, program, folder, path)
    check_devices(explainer, folder, os.path.join(arguments.golden, "gpt2-bf16"), path)


def test_more(explainer, golden, folder, path):
    check_split(explainer, os.path.join(golden, "mistral-window"), path)
    for case in sorted(os.listdir(golden)):
        if os.path.exists(os.path.join(golden, case, "logits.npy")):
            explained = explainer.json(os.path.join(golden, case))
            expect(all(at["flops_known"] for step in explained["steps"] for at in step["phases"]),
                   f"{case} has bodies of unknown cost")
    check_errors(explainer, folder, path)
    check_measure(explainer, folder)
    check_host(explainer, folder, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("--more", action="store_true", help="what each run leaves out")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))

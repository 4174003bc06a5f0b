#!/usr/bin/env python3
"""Writes what run.py has measured as a page of Markdown.

    report.py results.json > FOLDER/2026-01-31-h200.md

A figure stands there only where its own verdict and all verdicts that it depends on
are right: those of the library's bodies and of every golden checkpoint of the same
family and variant. Medians are of all samples of all rounds. The fraction of the read
bandwidth counts the weights and the cached positions that a step has to read, as the
program's `info` says, over the best streaming read that was measured in the same
run; that of the matmul rate counts a prompt's operations over the median of PyTorch's
fastest BF16 product. Of PyTorch's forms the faster one is shown.
"""

import argparse
import json
import statistics
import sys

import parts

WINDOW = 8
# Operations a second of an H200, by its data sheet; dense.
PEAKS = {"f32": 67e12, "tf32": 494e12, "bf16": 989e12}


def verdict(results, names):
    """"right" if all are, or what is not."""
    for name in names:
        found = results["parts"].get(name, {"verdict": "not run"})["verdict"]
        if found != "right":
            return f"{name}: {found}"
    return "right" if names else "nothing judges it"


def floors(results):
    """(bytes per second, operations per second) of the fastest round, each None where
    not measured."""
    def fastest(what, key):
        return max((part[key] for name, part in results["parts"].items()
                    if name.startswith(f"floors/{what}/") and part["verdict"] == "right"),
                   default=None)
    return fastest("read", "best"), fastest("matmul", "median")


def step_bytes(costs, context):
    """That a step of decoding reads, in the middle of the tokens that were timed."""
    return (costs["weight_bytes_per_token"]
            + costs["kv_bytes_per_position"] * (context + parts.DECODED / 2))


def prompt_operations(costs, tokens):
    """{kind of phase: floating-point operations}"""
    attention = 0
    for entry in costs["attention"]:
        growing = min(entry["window"] or tokens, tokens)
        pairs = growing * (growing + 1) / 2 + (tokens - growing) * entry["window"]
        attention += pairs * entry["flops_per_position"]
    return {"linear": tokens * (costs["flops_per_token"] - costs["flops_per_output"]) + costs["flops_per_output"],
            "attention": attention}


def samples(results, kind, shape, size):
    """{engine: milliseconds of all rounds, or a verdict that forbids to show them};
    and the costs."""
    found, costs = {}, None
    for name, part in results["parts"].items():
        words = name.split("/")
        if words[:3] != [kind, shape, str(size)]:
            continue
        engine = words[4]
        costs = part.get("costs", costs)
        if part["verdict"] != "right":
            found[engine] = part["verdict"]
        elif isinstance(found.setdefault(engine, []), list):
            found[engine] = found[engine] + part["milliseconds"]
    for engine, values in found.items():
        judged = verdict(results, parts.judges(results["about"], shape, engine))
        if isinstance(values, list) and judged != "right":
            found[engine] = judged
    torch = {engine: values for engine, values in found.items()
             if engine.startswith("torch-") and isinstance(values, list)}
    if torch:
        slower = sorted(torch, key=lambda engine: statistics.median(torch[engine]))[1:]
        found = {engine: values for engine, values in found.items() if engine not in slower}
    return found, costs


def best_window(milliseconds):
    """The mean of the best consecutive ones."""
    size = min(WINDOW, len(milliseconds))
    return min(sum(milliseconds[i:i + size]) / size for i in range(len(milliseconds) - size + 1))


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def percent(value, limit):
    return f"{value / limit:.1%}" if value and limit else "–"


def speed_table(results, kind, sizes):
    bandwidth, rate = floors(results)
    decode = kind == "decode"
    yield row("model", "context" if decode else "prompt", "engine",
              "ms/token, median" if decode else "ms, median",
              "ms/token, best 8" if decode else "ms, best", "tokens/s",
              "of read bandwidth" if decode else "of matmul rate")
    yield row(*["---"] * 3, *["---:"] * 4)
    for shape in results["about"]["shapes"]:
        for size in sizes:
            found, costs = samples(results, kind, shape, size)
            for engine, values in found.items():
                if not isinstance(values, list):
                    yield row(shape, size, engine, values, "", "", "")
                    continue
                median = statistics.median(values)
                best = best_window(values) if decode else min(values)
                if decode:
                    fraction = percent(costs and step_bytes(costs, size) / median * 1e3, bandwidth)
                else:
                    fraction = percent(costs and sum(prompt_operations(costs, size).values()) / median * 1e3, rate)
                yield row(shape, size, engine, f"{median:.3f}", f"{best:.3f}",
                          f"{(1 if decode else size) / median * 1e3:.1f}", fraction)


def operator_table(results):
    """Of a prompt's time, from the end of the phase before to that of each."""
    _, rate = floors(results)
    yield row("model", "prompt", "operator", "ms, median", "of matmul rate")
    yield row(*["---"] * 3, *["---:"] * 2)
    for shape in results["about"]["shapes"]:
        judged = verdict(results, parts.judges(results["about"], shape, "baton"))
        for size in parts.PROMPTS:
            found = [part for name, part in results["parts"].items()
                     if name.startswith(f"operators/{shape}/{size}/")]
            wrong = next((part["verdict"] for part in found if part["verdict"] != "right"), judged)
            if found and wrong != "right":
                yield row(shape, size, wrong, "", "")
                continue
            for kind in found[0]["seconds"] if found else []:
                median = statistics.median(part["seconds"][kind] for part in found)
                operations = prompt_operations(found[0]["costs"], size)[kind]
                yield row(shape, size, kind, f"{median * 1e3:.3f}", percent(operations / median, rate))


def training_table(results):
    """Fractions are of the data sheet's peaks for what an engine computes in."""
    yield row("model", "tokens a step", "engine", "ms a step, median", "tokens/s", "TFLOP/s",
              "of an H200's peak")
    yield row(*["---"] * 3, *["---:"] * 4)
    for shape, trained in results["about"]["trained"].items():
        size = f"{trained['batch']}x{trained['seq']}"
        tokens, found = trained["batch"] * trained["seq"], {}
        for name, part in results["parts"].items():
            words = name.split("/")
            if words[:3] == ["train", shape, size]:
                found.setdefault(words[4], []).append(part)
        for engine, rounds in found.items():
            judged = "right"
            if engine.startswith("baton"):
                judged = verdict(results, ["bodies/oracle", "bodies/twins"]
                                 + [f"correct/train/{name}" for name, case in results["about"]["cases"].items()
                                    if case.get("trained")])
            judged = next((part["verdict"] for part in rounds if part["verdict"] != "right"), judged)
            if judged != "right":
                yield row(shape, size, engine, judged, "", "", "")
                continue
            median = statistics.median(value for part in rounds for value in part["milliseconds"])
            rate = trained["operations"] * tokens / median * 1e3
            peak = PEAKS["f32" if engine == "baton" else engine.split("-")[1]]
            yield row(shape, size, engine, f"{median:.2f}", f"{tokens / median * 1e3:.0f}",
                      f"{rate / 1e12:.1f}", percent(rate, peak))


def verdict_list(results):
    for name, part in results["parts"].items():
        if name.split("/")[0] in ("bodies", "correct", "sanitizer"):
            text = part.get("error", part["verdict"])
            if part["verdict"] != "right":
                yield f"- {name}: {text}"
    right = sum(part["verdict"] == "right" for name, part in results["parts"].items()
                if name.split("/")[0] in ("bodies", "correct", "sanitizer"))
    yield f"- right: {right}"


def page(results):
    call = results["calls"][-1]
    gpu = call["gpu"] or {}
    about = results["about"]
    bandwidth, rate = floors(results)
    yield f"# {gpu.get('name', 'A GPU that nvidia-smi does not name')}, {call['date'][:10]}"
    yield ""
    yield (f"Commit {about['commit']}{' with changes' if about['changed'] else ''}, compiled for "
           f"{about['target']}.")
    for key, value in gpu.items():
        if key != "name":
            yield f"- {key}: {value}"
    for name, value, unit in (("streaming read, best", bandwidth, "GB/s"),
                              ("BF16 matmul, median", rate, "GFLOP/s")):
        yield f"- {name}: " + (f"{value / 1e9:.0f} {unit}" if value else "not measured")
    yield f"- by `{' '.join(call['command'])}`, {len(results['calls'])} calls"
    yield from ["", "## Correctness", ""]
    yield from verdict_list(results)
    yield from ["", "## Decode", ""]
    yield from speed_table(results, "decode", parts.CONTEXTS)
    yield from ["", "## Prefill", ""]
    yield from speed_table(results, "prefill", parts.PROMPTS)
    yield ""
    yield from operator_table(results)
    if results["about"]["trained"]:
        yield from ["", "## Training", ""]
        yield from training_table(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    arguments = parser.parse_args()
    try:
        with open(arguments.results) as file:
            results = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {arguments.results}: {error}")
    if any(call["dry_run"] for call in results["calls"]):
        sys.exit("error: nothing was measured: this was a dry run")
    print("\n".join(page(results)))


if __name__ == "__main__":
    main()

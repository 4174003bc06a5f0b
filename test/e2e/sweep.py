"""batonc calibrate and sweep: a machine is measured, planned with, and compared with its file.

Times are this machine's, and nobody's to judge here. What is planted is: a file that says that
the machine was ten thousand times as fast, or as slow, and files of other machines. A tolerance
of a hundred times lets through what other tests on the machine do meanwhile. With --brief: without
the sweep that finds all as it was, and the signal.
"""

import argparse
import itertools
import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import programs
from programs import expect, run

INPUTS = ["build/lib/baton/calibrate", "build/lib/baton/plan", "tools/plan/devices/h200.json"]
HERE = os.path.dirname(os.path.abspath(__file__))
DATA_SHEET = os.path.join(HERE, "../../tools/plan/devices/h200.json")
CONFIG = {"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 8,
          "num_key_value_heads": 2, "num_hidden_layers": 3, "vocab_size": 512, "tie_word_embeddings": False}
AXES = {"linear": ["rows", "outputs", "inputs"], "gated_linear": ["rows", "outputs", "inputs"],
        "attention": ["rows", "positions", "key_heads", "group", "head_size"], "rope": ["rows", "width"],
        "append": ["rows", "width"], "embedding": ["rows", "width"], "elementwise": ["bytes"], "step": ["rows"],
        "exchange": ["ranks", "bytes"]}


def check_file(device):
    """Whole grids of times above 0, and what a data sheet has."""
    with open(DATA_SHEET, encoding="utf-8") as file:
        sheet = json.load(file)
    expect(list(device)[:len(sheet)] == list(sheet), f"{list(device)}")
    expect(list(device)[len(sheet):] == ["measured", "tables"], f"{list(device)}")
    expect(device["source"].startswith("Measured by batonc calibrate on "), device["source"])
    measured = device["measured"]
    expect(measured["cores"] >= 1 and measured["types"] == ["bf16"] and measured["rounds"] == 1 and measured["quick"], measured)
    found = {(table["op"], table["type"]) for table in device["tables"]}
    expect(found == {("linear", "bf16"), ("gated_linear", "bf16"), ("attention", "f32"), ("rope", "f32"), ("append", "f32"),
                     ("embedding", "f32"), ("elementwise", "f32"), ("step", "one_sequence"),
                     ("exchange", "all_to_all"), ("exchange", "all_gather")}, found)
    for table in device["tables"]:
        expect(list(table["axes"]) == AXES[table["op"]], table)
        points = list(itertools.product(*table["axes"].values()))
        expect(len(points) == len(table["seconds"]) == len(table["spread"]), table)
        expect(all(0 < seconds < 60 for seconds in table["seconds"]), table)
        times = dict(zip(points, table["seconds"]))
        # Sixteen times the weights take longer, whatever else the machine does.
        if table["op"] == "linear":
            expect(all(times[rows, 1024, 1024] > times[rows, 256, 256] for rows in (1, 8, 64)), table)


def planted(device, path, change):
    changed = json.loads(json.dumps(device))
    change(changed)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(changed, file)
    return path


def pictures(page):
    """Elements of a page's pictures; the page needs no other file."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    expect("http:" not in text.replace("http://www.w3.org/2000/svg", ""), f"{page} needs more than itself")
    return [list(ElementTree.fromstring(picture).iter()) for picture in re.findall(r"<svg.*?</svg>", text, re.S)], text


def titles(picture):
    return [element.text for element in picture if element.tag.endswith("title")]


def scaled(factor):
    """All times, so many times as long."""
    def change(device):
        for table in device["tables"]:
            table["seconds"] = [factor * seconds for seconds in table["seconds"]]
    return change


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    here = path("here.json")
    calibrate = [arguments.batonc, "calibrate", "--quick", "--rounds=1", "--dtype=bf16", "--quiet"]
    run([*calibrate, "-o", here, "--html", path("here.html")])
    with open(here, encoding="utf-8") as file:
        device = json.load(file)
    check_file(device)
    (linears,), text = pictures(path("here.html"))
    sizes, = (table["seconds"] for table in device["tables"] if table["op"] == "linear")
    expect(len(titles(linears)) == len(sizes) + 1, f"{len(titles(linears))} points of {len(sizes)} linears and a peak")
    expect(text.count("<table>") == 1 + len(device["tables"]), "a table of the device is on no page")

    # What was measured is planned with.
    with open(path("config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    train = [arguments.batonc, "plan", "train", "--model", path("config.json"), "--devices", 2, "--global-batch", 2,
             "--sequence", 64, "--json", "--quiet", "--device"]
    seconds = lambda file: json.loads(run([*train, file]).stdout)["plans"][0]["seconds"]
    slow = planted(device, path("slow.json"), scaled(1e4))
    expect(seconds(slow) > 2 * seconds(here), "plan train does not read tables")
    decode = [arguments.batonc, "plan", "decode", "--model", path("config.json"), "--dtype=bf16", "--positions", 64, "--json", "--device"]
    (one, many) = json.loads(run([*decode, here, "--rows=1,64"]).stdout)["steps"]
    run([*decode, here, "--rows=1,64", "--html", path("decode.html")])
    (bars,), text = pictures(path("decode.html"))
    wanted = {part["part"] for part in one["parts"]}
    expect({title.rsplit(" ", 2)[0] for title in titles(bars)} == wanted, f"bars of {titles(bars)}")
    expect(all(f"{each['seconds'] * 1e6:.1f}" in text for each in (one, many)), "a step's time is on no page")
    (slow_one,) = json.loads(run([*decode, slow, "--rows=1"]).stdout)["steps"]
    expect(abs(slow_one["seconds"] / one["seconds"] - 1e4) < 1, f"{slow_one['seconds']} and {one['seconds']}")
    tables = {(table["op"], table["type"]): table for table in device["tables"]}
    linear = tables["linear", "bf16"]
    # A point of the grid is what was measured: the outputs of the MLP are between, so those of 512 inputs are not.
    parts = {part["part"]: part for part in one["parts"]}
    attention = tables["attention", "f32"]
    place = list(itertools.product(*attention["axes"].values())).index((1, 64, 2, 4, 64))
    expect(parts["attention"]["seconds"] == attention["seconds"][place] and parts["attention"]["measured"], parts["attention"])
    low, high = min(linear["seconds"]), max(linear["seconds"])
    expect(all(low <= parts[name]["seconds"] <= high and parts[name]["measured"] for name in ("qkv", "output", "down")), parts)
    expect(len(many["parts"]) == len(one["parts"]), many)
    said = run([*(word for word in decode if word != "--dtype=bf16"), here, "--dtype=q4_k"], check=False)
    expect(said.returncode == 1 and "no table of linear q4_k" in said.stderr, said.stderr)

    # As fast as the file, slower, and faster.
    sweep = [arguments.batonc, "sweep", "--rounds=1", "--quiet", "--tolerance=100"]
    if not arguments.brief:
        found = json.loads(run([*sweep, here, "--json"]).stdout)
        expect(found["slower"] == 0 and found["tolerance"] == 100, found)

    def mixed(device):
        for table in device["tables"]:
            if table["op"] in ("linear", "attention"):
                factor = 1e-4 if table["op"] == "linear" else 1e4
                table["seconds"] = [factor * seconds for seconds in table["seconds"]]
    said = run([*sweep, planted(device, path("mixed.json"), mixed), "--json", "--html", path("sweep.html")], check=False)
    verdicts = {each["indicator"]: each["verdict"] for each in json.loads(said.stdout)["indicators"]}
    (bars,), text = pictures(path("sweep.html"))
    expect(len(titles(bars)) == len(verdicts) and all(name in text for name in verdicts), f"bars of {titles(bars)}")
    names = list(verdicts)
    expect(names[:2] == ["multiply-add peak", "memory, read"] and "linear bf16, 1 row" in names
           and "attention f32, 64 rows" in names and "exchange all to all" in names, names)
    expect(said.returncode == 2, said)
    expect({verdicts[f"linear bf16, {rows}"] for rows in ("1 row", "8 rows", "64 rows")} == {"slower"}, verdicts)
    expect({verdicts[f"attention f32, {rows}"] for rows in ("1 row", "64 rows")} == {"faster"}, verdicts)
    expect(list(verdicts.values()).count("slower") == 3 == json.loads(said.stdout)["slower"], verdicts)

    # Of other machines nothing is measured.
    other = planted(device, path("other.json"), lambda device: device["measured"].update(processor="Another One"))
    more = planted(device, path("more.json"), lambda device: device["measured"].update(cores=device["measured"]["cores"] + 1))
    for file, words in ((other, "of Another One, and this machine has "), (more, ", and this machine has "),
                        (DATA_SHEET, "is from data sheets, and has nothing measured"), (path("none.json"), "cannot be read")):
        said = run([*sweep, file], check=False)
        expect(said.returncode == 1 and said.stderr.startswith(f"error: {file}") and words in said.stderr and said.stderr.count("\n") == 1,
               said.stderr)
    broken = planted(device, path("broken.json"), lambda device: device["tables"][0]["seconds"].pop())
    said = run([*sweep, broken], check=False)
    expect(said.returncode == 1 and "broken.json: table " in said.stderr and "points" in said.stderr, said.stderr)

    # Flags that are wrong.
    for flags, words in ((["--dtype=f31"], "there is no type of weights 'f31'"), (["--dtype=f32,f32"], "names f32 twice"),
                         (["--target=cuda:sm_90a"], "only the CPU that this runs on is measured"), (["--rounds=0"], "--rounds")):
        said = run([*calibrate, "-o", path("wrong.json"), *flags], check=False)
        expect(said.returncode == 1 and words in said.stderr, said.stderr)
    said = run([arguments.batonc, "sweep", here, "--tolerance=no"], check=False)
    expect(said.returncode == 1 and "--tolerance=no is no part above 0" in said.stderr, said.stderr)

    if arguments.brief:
        return
    # A signal leaves nothing.
    before = sorted(os.listdir(scratch))
    child = subprocess.Popen([*map(str, calibrate), "-o", path("never.json")], stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    expect(child.returncode == 1 and errors == "error: interrupted; nothing was written\n", f"{child.returncode}: {errors}")
    expect(sorted(os.listdir(scratch)) == before, f"left: {os.listdir(scratch)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--brief", action="store_true")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), all_cores=True)
